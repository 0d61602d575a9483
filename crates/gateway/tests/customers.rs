//! Customers of a file in the kernel's maps: whose a packet is, on which terms, and what an import keeps.

use tidegate_gateway::control::now_ns;
use tidegate_gateway::customer::Terms;
use tidegate_gateway::customer_file::{self, Record};
use tidegate_gateway::maps::{Direction, Maps, Pins, Sizes, word};
use tidegate_gateway::prefix::{Prefix, mapped};
use tidegate_gateway::programs;
use tidegate_gateway::register::{Change, Import, Saved, Wanted};
use tidegate_gateway::reload;
use tidegate_gateway::saved_state::SavedState;
use tidegate_gateway::settings::Settings;
use tidegate_mechanisms::fixed_point::NEVER_Q24;

use crate::kernel::{Loaded, SIZES, is_skipped};
use crate::packets::{HOUR_NS, from_ipv4, from_ipv6, pass_or_drop};

fn records(lines: &str) -> Vec<Record> {
    let text = format!("id,addresses,reference_rate,ceiling\n{lines}");
    customer_file::read(text.as_bytes()).expect("it is right")
}

fn wanted(lines: &str) -> Wanted {
    reload::wanted(&Settings::read("", &[]).expect("defaults"), records(lines))
}

fn import(maps: &mut Maps, lines: &str) -> Change {
    let import = Import::plan(maps, &wanted(lines), maps.names.len()).expect("there is room");
    import.apply(maps).expect("the maps take it");
    let again = Import::plan(maps, &wanted(lines), maps.names.len()).expect("there is room");
    assert_eq!(again.change, Change { before: again.change.before, ..Change::default() });
    import.change
}

fn loaded(name: &str) -> Loaded {
    let mut loaded = Loaded::new(name, &Settings::read("", &[]).expect("defaults"), 14);
    loaded.maps.set_word(word::HAS_FILE, 1).expect("the map takes it");
    loaded.maps.set_word(word::HAS_PREFIXES, 1).expect("the map takes it");
    loaded.set_signal(NEVER_Q24, HOUR_NS);
    loaded
}

/// Packets and t₀ ahead of the last packet, by name.
fn known(maps: &Maps) -> Vec<(String, u32, u64)> {
    let known = maps.listed().map(|(slot, one)| {
        let up = one.usage[Direction::Upload as usize];
        (maps.name(slot), up.packets, up.zero_ns.saturating_sub(one.seen_ns))
    });
    let mut known: Vec<_> = known.collect();
    known.sort();
    known
}

#[test]
fn each_address_and_prefix_leads_to_its_customer_and_its_reference_rate() {
    if is_skipped() {
        return;
    }
    let mut loaded = loaded("file");
    import(
        &mut loaded.maps,
        "one,10.0.0.1 2001:db8:0:7::/64,50 kb/s,\nwide,10.9.0.0/16 2001:db8:1::/48,200 kb/s,\n",
    );
    for _ in 0..3 {
        for frame in [from_ipv4([10, 0, 0, 1]), from_ipv6("2001:db8:0:7::5")] {
            assert_eq!(loaded.run(Direction::Upload, &frame).0, pass_or_drop(true));
        }
    }
    for frame in [from_ipv4([10, 9, 200, 3]), from_ipv6("2001:db8:1:ff::1")] {
        assert_eq!(loaded.run(Direction::Upload, &frame).0, pass_or_drop(true));
    }
    loaded.run(Direction::Upload, &from_ipv4([10, 0, 0, 2]));
    let known = known(&loaded.maps);
    let counts: Vec<_> = known.iter().map(|(name, packets, _)| (name.as_str(), *packets)).collect();
    assert_eq!(counts, [("one", 6), ("wide", 2)]);
    let counted = loaded.maps.counts(Direction::Upload);
    assert_eq!(
        counted[8].packets, 1,
        "an address that is in no line is no customer's: {counted:?}"
    );
    // Four times the reference rate makes a packet weigh a quarter.
    let weight = |at: usize| known[at].2 as f64 / f64::from(known[at].1);
    let ratio = weight(0) / weight(1);
    assert!((3.0..5.0).contains(&ratio), "{ratio}: {known:?}");
}

/// 100 kb/s with a bucket of 250 ms: 3125 B, and one packet more.
#[test]
fn packets_beyond_a_ceiling_are_dropped_while_a_control_loop_is_there() {
    if is_skipped() {
        return;
    }
    let mut loaded = loaded("ceiling");
    import(&mut loaded.maps, "slow,10.0.0.1,1 kb/s,10 kb/s\nfast,10.0.0.2,,\n");
    let (slow, fast) = (from_ipv4([10, 0, 0, 1]), from_ipv4([10, 0, 0, 2]));
    let passed = |loaded: &mut Loaded, frame: &[u8]| {
        (0..100).filter(|_| loaded.run(Direction::Upload, frame).0 == pass_or_drop(true)).count()
    };
    // 312 B, and the packet that empties the bucket; a slow machine may run for some milliseconds.
    let most = 312_usize.div_ceil(slow.len());
    let first = passed(&mut loaded, &slow);
    assert!((most..most + 3).contains(&first), "{first} for {most}");
    assert_eq!(passed(&mut loaded, &fast), 100);
    let limited: Vec<_> = loaded.maps.listed().map(|(_, one)| one.usage[0].limited).collect();
    assert_eq!(limited.iter().sum::<u32>() as usize, 100 - first);
    // The other direction has a bucket of its own; observing and the end of the loop let everything pass.
    assert_eq!(loaded.maps.counts(Direction::Upload)[13].packets as usize, 100 - first);
    loaded.maps.set_word(word::ENFORCE, 0).expect("the map takes it");
    assert_eq!(passed(&mut loaded, &slow), 100);
    assert!(loaded.maps.counts(Direction::Upload)[14].packets > 90);
    loaded.maps.set_word(word::ENFORCE, 1).expect("the map takes it");
    loaded.set_signal(NEVER_Q24, 0);
    assert_eq!(passed(&mut loaded, &slow), 100);
}

#[test]
fn an_import_keeps_what_is_known_of_customers_that_stay() {
    if is_skipped() {
        return;
    }
    let mut loaded = loaded("import");
    let first = import(&mut loaded.maps, "a,10.0.0.1,,\nb,10.0.0.2,,\nc,10.0.0.3 10.3.0.0/24,,\n");
    assert_eq!(first, Change { added: 3, ..Change::default() });
    for last in 1..=3 {
        loaded.run(Direction::Upload, &from_ipv4([10, 0, 0, last]));
    }
    let before = known(&loaded.maps);
    // b leaves, d has its address; c has another one instead of its prefix; a moves.
    let lines = "d,10.0.0.2,,\nc,10.0.0.3 10.0.0.4,,\na,10.0.0.9,,\n";
    let change = import(&mut loaded.maps, lines);
    assert_eq!(change, Change { before: 3, added: 1, removed: 1, changed: 2 });
    loaded.run(Direction::Upload, &from_ipv4([10, 0, 0, 2]));
    loaded.run(Direction::Upload, &from_ipv4([10, 0, 0, 9]));
    let counts: Vec<_> =
        known(&loaded.maps).into_iter().map(|(name, packets, _)| (name, packets)).collect();
    assert_eq!(before.iter().map(|one| one.1).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(counts, [("a".into(), 2), ("c".into(), 1), ("d".into(), 1)]);
    // An address that one customer gives to another changes both.
    let change = import(&mut loaded.maps, "d,10.0.0.2 10.0.0.4,,\nc,10.0.0.3,,\na,10.0.0.9,,\n");
    assert_eq!((change.changed, change.share() > 0.5), (2, true));
    // All others: the slots are given on.
    let many: String = (0..60).map(|n| format!("n{n},10.5.0.{n},,\n")).collect();
    assert_eq!(import(&mut loaded.maps, &many).removed, 3);
    assert!(known(&loaded.maps).is_empty());
    assert_eq!(loaded.maps.addresses.keys().count(), 60);
}

#[test]
fn maps_that_are_too_small_are_replaced_and_keep_what_they_hold() {
    if is_skipped() {
        return;
    }
    let mut loaded = loaded("growth");
    import(&mut loaded.maps, "a,10.0.0.1,,10 Mb/s\n");
    loaded.run(Direction::Upload, &from_ipv4([10, 0, 0, 1]));
    let before = known(&loaded.maps);
    let lines: String =
        (0..500).map(|n| format!("n{n},10.5.{}.{},,\n", n / 250, n % 250)).collect();
    let lines = format!("a,10.0.0.1,,10 Mb/s\n{lines}");
    let sizes = wanted(&lines).sizes(1_024).expect("they fit");
    assert!(Saved::take(loaded.pins(), SIZES).expect("they can be read").is_none());
    let saved = Saved::take(loaded.pins(), sizes).expect("they can be read").expect("too small");
    loaded.load_again(Sizes { learned: SIZES.learned, ..sizes });
    saved.restore(&mut loaded.maps).expect("there is room");
    assert_eq!(known(&loaded.maps), before);
    let change = import(&mut loaded.maps, &lines);
    assert_eq!(change, Change { before: 1, added: 500, ..Change::default() });
    loaded.run(Direction::Upload, &from_ipv4([10, 0, 0, 1]));
    assert_eq!(known(&loaded.maps)[0].1, 2);
    // They do not shrink.
    assert!(Saved::take(loaded.pins(), SIZES).expect("they can be read").is_none());
}

#[test]
fn prefixes_whose_addresses_are_learned_go_beside_a_file() {
    if is_skipped() {
        return;
    }
    let mut loaded = loaded("beside");
    let mut wanted = wanted("a,10.0.0.1,,\n");
    wanted.learned = vec![Prefix::parse("10.7.0.0/16").expect("a prefix")];
    let import = Import::plan(&loaded.maps, &wanted, 64).expect("there is room");
    import.apply(&mut loaded.maps).expect("the maps take it");
    loaded.run(Direction::Upload, &from_ipv4([10, 7, 0, 1]));
    loaded.run(Direction::Upload, &from_ipv4([10, 0, 0, 1]));
    let learned = loaded.maps.customer(mapped([10, 7, 0, 1].into())).expect("it is learned");
    assert_eq!(learned.usage[0].packets, 1);
    assert_eq!(known(&loaded.maps).len(), 1);
    assert_eq!(loaded.maps.customers().len(), 1);
    let terms = Terms::from_words(Terms::LEARNED.words());
    assert_eq!(terms, Terms::LEARNED);
}

#[test]
fn pins_of_another_size_or_version_are_named() {
    if is_skipped() {
        return;
    }
    let loaded = loaded("misfits");
    let pins: &Pins = loaded.pins();
    assert!(pins.remove_misfits(SIZES).is_empty());
    assert_eq!(pins.remove_misfits(Sizes { learned: 2_048, ..SIZES }), ["customers"]);
    assert_eq!(programs::PROGRAMS.len(), 2);
}

/// A switch, a reload and the control loop write words of the same value.
#[test]
fn words_that_several_write_at_once_are_all_kept() {
    if is_skipped() {
        return;
    }
    let loaded = loaded("words");
    const ROUNDS: u64 = 20_000;
    let writers = [word::ENFORCE, word::HAS_FILE, word::UPLINK].map(|place| {
        let pins = loaded.pins().clone();
        std::thread::spawn(move || {
            let mut maps = Maps::open(&pins).expect("they can be opened").expect("they are there");
            (1..=ROUNDS).all(|round| {
                maps.set_word(place, round).expect("the map takes it");
                maps.settings()[place] == round
            })
        })
    });
    let kept = writers.map(|writer| writer.join().expect("it ends"));
    assert_eq!(kept, [true; 3]);
}

/// As after a reboot: the maps are new, and the kernel's clock may be any.
#[test]
fn activities_go_on_in_new_maps_where_they_would_be_by_now() {
    if is_skipped() {
        return;
    }
    const STATE: &str = "a,10.0.0.1,,\nb,10.0.0.2,,\n";
    let mut before = loaded("reboot-before");
    let mut wanted = wanted(STATE);
    wanted.learned = vec![Prefix::parse("10.7.0.0/16").expect("a prefix")];
    let install = |loaded: &mut Loaded| {
        let import = Import::plan(&loaded.maps, &wanted, 64).expect("there is room");
        import.apply(&mut loaded.maps).expect("the maps take it");
    };
    install(&mut before);
    for _ in 0..200 {
        before.run(Direction::Upload, &from_ipv4([10, 0, 0, 1]));
        before.run(Direction::Upload, &from_ipv4([10, 7, 0, 1]));
    }
    let merged = before.maps.merge_averages(Direction::Upload).expect("the map takes it");
    before.maps.set_average(Direction::Upload, merged.expect("packets came")).expect("the same");
    let saved = SavedState::take(&before.maps, now_ns(), 1_000.0, Default::default());
    assert_eq!((saved.learned.len(), saved.listed.len()), (1, 1));
    let average = saved.averages_q36[0];
    drop(before);
    let ahead = |maps: &Maps, now_ns: u64| {
        let learned = maps.customer(mapped([10, 7, 0, 1].into()));
        let learned = learned.map_or(0, |one| one.usage[0].zero_ns.saturating_sub(now_ns));
        let listed = known(maps).iter().map(|one| one.2).sum::<u64>();
        [learned, listed]
    };
    let mut after = loaded("reboot-after");
    install(&mut after);
    // Nobody is there who is not in the settings any more.
    let mut with_others = saved.clone();
    with_others.learned.push(("192.0.2.1".parse().expect("one"), [1 << 40, 0]));
    with_others.listed.push(("c".to_owned(), [1 << 40, 0]));
    let (now, age_ns) = (now_ns(), 100_000_000);
    let restored = with_others.restore(&mut after.maps, now, 1_000.1).expect("the maps take it");
    assert_eq!(restored, 2);
    assert_eq!(after.maps.average_q36(Direction::Upload), average);
    let want = [saved.learned[0].1[0] - age_ns, saved.listed[0].1[0] - age_ns];
    for (got, want) in ahead(&after.maps, now).into_iter().zip(want) {
        // The wall clock is a floating number.
        assert!(got.abs_diff(want) < 1_000, "{got}, expected {want}");
    }
    // What the maps know counts more.
    assert_eq!(saved.restore(&mut after.maps, now, 1_000.0).expect("the maps take it"), 0);
    assert_eq!(saved.restore(&mut loaded("reboot-late").maps, now, 1_024.1).expect("too old"), 0);
}
