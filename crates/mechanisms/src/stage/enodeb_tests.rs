use super::*;
use crate::units::Bytes;

const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

fn params() -> EnodebParams {
    EnodebParams {
        interval: Span::from_millis(100),
        ecn_rules: EcnRules::ReEcn,
        radio_loss: Probability(0.0),
        radio_attempts: Whole(1),
    }
}

/// Returns a packet of 1500 B in tunnel 7 of user 3.
fn tunnelled(sequence: u16, outer: Ecn, inner_ecn: Ecn) -> Passing {
    let tunnel = Tunnel { teid: 7, sequence, inner_ecn, re_inserted: Some(false) };
    let (len, tunnel) = (Bytes::new(1544), Some(tunnel));
    Passing { len, ecn: outer, tunnel, tunnel_end: Some(5), ..Passing::of_user(3) }
}

fn at(ms: u64, packet: Passing) -> Passing {
    Passing { now: Time::ZERO + Span::from_millis(ms), ..packet }
}

fn pass(enodeb: &mut Enodeb, packet: &mut Passing) -> Passage {
    enodeb.pass(packet, || panic!("drew"))
}

fn count(enodeb: &Enodeb, name: &str) -> u64 {
    let mut found = None;
    enodeb.counts(&mut |_, what, count| {
        if what == name {
            found = Some(count);
        }
    });
    found.expect("is counted")
}

#[test]
fn a_packet_leaves_its_tunnel_with_its_length_and_the_ecn_field_of_the_rules() {
    for rules in [EcnRules::Rfc6040, EcnRules::ReEcn] {
        for (inner, outer) in ALL.into_iter().flat_map(|inner| ALL.map(|outer| (inner, outer))) {
            let mut enodeb = Enodeb::new(EnodebParams { ecn_rules: rules, ..params() });
            let mut packet = tunnelled(0, outer, inner);
            let passage = pass(&mut enodeb, &mut packet);
            match rules.decapsulate(inner, outer) {
                None => assert_eq!(passage, MARKED),
                Some(ecn) => {
                    assert_eq!(passage, Passage::On);
                    let wanted = Passing { ecn, tunnel_end: Some(5), ..Passing::of_user(3) };
                    assert_eq!(packet, wanted);
                    let kept = outer == Ecn::Ce && ecn != Ecn::Ce;
                    assert_eq!(count(&enodeb, "marks_not_copied"), u64::from(kept));
                }
            }
            let marked = [inner, outer].contains(&Ecn::Ce);
            assert_eq!(
                count(&enodeb, "marked_before"),
                u64::from(marked),
                "{inner:?} in {outer:?}"
            );
        }
    }
}

#[test]
fn a_report_has_the_last_number_all_counters_and_the_fate_of_packets_since_the_last() {
    let mut enodeb = Enodeb::new(EnodebParams { radio_loss: Probability(0.5), ..params() });
    let mut last = Passage::On;
    for (ms, sequence, outer, draw) in [
        (0, 0, Ecn::Ect0, 0.9),
        (10, 3, Ecn::Ce, 0.9),
        (20, 2, Ecn::Ect0, 0.1),
        (100, 4, Ecn::Ect0, 0.9),
    ] {
        last = enodeb.pass(&mut at(ms, tunnelled(sequence, outer, Ecn::Ect0)), || draw);
    }
    let Passage::Report(report) = last else { panic!("{last:?}") };
    assert_eq!((report.user, report.number, report.len), (3, 1, Bytes::new(71 + 3 * 4)));
    let wanted = TunnelReport {
        from: 5,
        teid: 7,
        last_sequence: 4,
        received: 4,
        marked_before: 1,
        dropped_before: 1,
        dropped_here: 1,
        entries: vec![(1, Fate::DroppedBefore), (3, Fate::MarkedBefore), (2, Fate::DroppedHere)],
    };
    assert_eq!(*report.tunnel.expect("is of a tunnel"), wanted);
    let late = enodeb.pass(&mut at(110, tunnelled(1, Ecn::Ect0, Ecn::Ect0)), || 0.9);
    assert_eq!(late, Passage::On, "not before the interval is over");
    let missed = ["missed", "came_late"].map(|what| count(&enodeb, what));
    assert_eq!(missed, [2, 2], "two came late, and were not lost; no count shrinks");
}

#[test]
fn lists_are_as_long_as_a_packet_has_room_and_counters_count_all() {
    let mut enodeb = Enodeb::new(params());
    pass(&mut enodeb, &mut at(0, tunnelled(0, Ecn::Ect0, Ecn::Ect0)));
    let last = pass(&mut enodeb, &mut at(100, tunnelled(30_000, Ecn::Ce, Ecn::Ect0)));
    let Passage::Report(report) = last else { panic!("{last:?}") };
    assert!(report.len <= Bytes::new(1500));
    let reported = report.tunnel.expect("is of a tunnel");
    assert_eq!(
        (reported.entries.len(), reported.dropped_before),
        (TunnelReport::MAX_ENTRIES, 29_999)
    );
}

/// The user's first packet establishes its tunnel; packets with another number are in none.
#[test]
fn what_is_in_no_tunnel_of_the_user_or_comes_twice_is_dropped_and_counts_for_nothing() {
    let mut enodeb = Enodeb::new(params());
    let good = tunnelled(0, Ecn::Ect0, Ecn::Ect0);
    assert_eq!(pass(&mut enodeb, &mut good.clone()), Passage::On);
    assert_eq!(pass(&mut enodeb, &mut good.clone()), TWICE);
    let tunnel = good.tunnel.map(|tunnel| Tunnel { teid: 8, sequence: 9, ..tunnel });
    assert_eq!(pass(&mut enodeb, &mut Passing { tunnel, ..good }), FOREIGN);
    let mut plain = Passing { tunnel: None, ..good };
    assert_eq!(pass(&mut enodeb, &mut plain), Passage::On);
    assert_eq!(plain.len, good.len, "what is in no tunnel is left alone");
    assert_eq!(count(&enodeb, "not_in_tunnel"), 1);
    assert_eq!((count(&enodeb, "received"), count(&enodeb, "missed")), (1, 0));
}

#[test]
fn the_radio_loses_what_all_its_attempts_lose() {
    let radio = EnodebParams { radio_loss: Probability(0.1), radio_attempts: Whole(2), ..params() };
    let mut enodeb = Enodeb::new(radio);
    for (sequence, draw) in (0..).zip([0.0099, 0.0101]) {
        let lost = enodeb.pass(&mut tunnelled(sequence, Ecn::Ect0, Ecn::Ect0), || draw) == RADIO;
        assert_eq!(lost, draw < 0.01);
    }
    assert_eq!((count(&enodeb, "dropped_here"), count(&enodeb, "missed")), (1, 0));
}

#[test]
fn an_enodeb_remembers_no_more_than_256_bytes_of_a_user() {
    let row = size_of::<Option<Row>>() + size_of::<Option<[u64; OTHERS.len()]>>();
    assert!(row <= 256, "{row}");
}
