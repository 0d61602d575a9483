//! A link with departures known in advance compared with one whose departures are events: for every AQM and
//! differentiation, both treat and count every packet alike.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tidegate_mechanisms::bottleneck::scheduler::Scheduler;
use tidegate_mechanisms::bottleneck::{
    Aqm, AqmParams, Differentiation, DifferentiationParams, Judge,
};
use tidegate_mechanisms::parameters::Choice;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::LinkPlan;

use crate::link::{Link, Written};
use crate::owner::Owner;
use crate::packet::{PackedPacket, Packet, flags};
use crate::station::Station;

/// Outcome of a packet: arrival time at the far end, whether it is marked there, whether it was marked here first, and
/// its payload word; `None` if it is lost.
type Outcome = Option<(Time, bool, bool, u32)>;

#[derive(Clone, Debug)]
struct Offered {
    gap_ns: u64,
    len: u16,
    flags: u32,
    user: u32,
    activity: f32,
}

impl Offered {
    fn packed(&self, number: u64) -> PackedPacket {
        let &Offered { len, flags, activity, .. } = self;
        let payload = activity.to_bits();
        PackedPacket::of(&Packet { number, len, flags, payload, ..Packet::default() })
    }
}

fn in_advance(plan: &LinkPlan, offered: &[Offered]) -> (Link, Vec<Outcome>) {
    let mut link = Link::with_station(plan, None, 1, 1);
    let mut now = Time::ZERO;
    let mut outcome = |packet: &Offered| {
        now += Span::from_nanos(packet.gap_ns);
        let owner = Owner { user: packet.user, ..Owner::default() };
        let packed = packet.packed(0);
        let passed = link.offer(&packed, now, owner).ok()?;
        let (marked_before, marked) = (packed.has(flags::CE), passed.written == Written::Mark);
        let payload = match passed.written {
            Written::Payload => link.reported(),
            _ => packed.payload(),
        };
        Some((passed.at, marked || marked_before, marked && !marked_before, payload))
    };
    let outcomes = offered.iter().map(&mut outcome).collect();
    (link, outcomes)
}

fn as_events(plan: &LinkPlan, offered: &[Offered]) -> (Link, Vec<Outcome>) {
    let place = plan.place();
    let judge = Judge {
        aqm: Aqm::new(plan.aqm.clone(), &place).expect("fits anywhere"),
        differentiation: Differentiation::new(plan.differentiation.clone()),
    };
    let station = Station::holding(Scheduler::fifo(judge, place.capacity), plan, 1);
    let mut link = Link::with_station(plan, Some(station), 1, 1);
    let mut outcomes = vec![None; offered.len()];
    let (mut now, mut done) = (Time::ZERO, None);
    let mut depart_until = |now: Time, link: &mut Link, done: &mut Option<Time>| {
        while let Some(at) = done.filter(|at| *at <= now) {
            let (departed, next) = link.depart(at);
            let departed = departed.expect("it was sending");
            let number = departed.packed.number() as usize;
            if !departed.lost_on_wire {
                let marked = departed.packed.has(flags::CE);
                let first_here = marked && offered[number].flags & flags::CE == 0;
                outcomes[number] =
                    Some((departed.at, marked, first_here, departed.packed.payload()));
            }
            *done = next;
        }
    };
    for (number, packet) in offered.iter().enumerate() {
        now += Span::from_nanos(packet.gap_ns);
        depart_until(now, &mut link, &mut done);
        let owner = Owner { user: packet.user, ..Owner::default() };
        let set_to_work = link.arrive(packet.packed(number as u64), owner, now);
        done = done.or(set_to_work);
        while link.take_lost().is_some() {}
    }
    depart_until(Time::NEVER, &mut link, &mut done);
    (link, outcomes)
}

const AQMS: [&str; 9] = [
    r#"{ kind = "drop-tail" }"#,
    r#"{ kind = "red", min_threshold = "2 packets", max_threshold = "6 packets", weight = 0.2, gentle = true }"#,
    r#"{ kind = "red", min_threshold = "1 packets", max_threshold = "3 packets", weight = 0.2, spacing = "wait" }"#,
    r#"{ kind = "adaptive-red", min_threshold = "2 packets", max_threshold = "6 packets", weight = 0.2, interval = "5 ms" }"#,
    r#"{ kind = "piecewise-linear", points = [[1, 0.0], [7, 1.0]] }"#,
    r#"{ kind = "csfq", averaging = "20 ms", link_averaging = "10 ms", window = "10 ms" }"#,
    r#"{ kind = "pc1", gamma = 0.1, interval = "3 ms" }"#,
    r#"{ kind = "pc2", gamma = 0.1, target = "2 packets", interval = "1.2 ms" }"#,
    r#"{ kind = "pc3", gamma = 0.1, target = "3 kB", interval = "1 ms" }"#,
];

const ENCODINGS: [&str; 3] =
    [r#"{ kind = "explicit" }"#, r#"{ kind = "four-bit" }"#, r#"{ kind = "one-bit", base = 1.5 }"#];

const DIFFERENTIATIONS: [&str; 6] = [
    r#"{ kind = "none" }"#,
    r#"{ kind = "abc" }"#,
    r#"{ kind = "icp", depth = "66 kB" }"#,
    r#"{ kind = "afcp", depth = "66 kB" }"#,
    r#"{ kind = "aicp-a", depth = "66 kB" }"#,
    r#"{ kind = "aicp-b", depth = "66 kB" }"#,
];

/// Returns the link of a scenario; `None` for an incompatible pair.
fn planned(aqm: &str, differentiation: &str, encoding: &str, more: &str) -> Option<LinkPlan> {
    let text = format!(
        "version = 1\nprice_encoding = {encoding}\n[bottleneck]\nrate = \"10 Mb/s\"\n{more}\naqm = {aqm}\n\
         differentiation = {differentiation}\n[users.all]\n"
    );
    Some(Scenario::parse(&text, &[]).ok()?.plan().links[0].clone())
}

fn any_plan() -> impl Strategy<Value = LinkPlan> {
    let more = (
        prop::sample::select(vec!["5 packets", "12 packets", "9 kB"]),
        prop::sample::select(vec![0.0, 0.1]),
        prop::sample::select(vec![(false, false), (true, false), (true, true)]),
    );
    let more = more.prop_map(|(buffer, loss, (ecn, all))| {
        format!("buffer = \"{buffer}\"\nloss = {loss:?}\necn = {ecn}\necn_marks_all = {all}")
    });
    let kinds = (
        prop::sample::select(&AQMS[..]),
        prop::sample::select(&DIFFERENTIATIONS[..]),
        prop::sample::select(&ENCODINGS[..]),
    );
    let plan = |((aqm, differentiation, encoding), more): ((_, _, _), String)| {
        planned(aqm, differentiation, encoding, &more)
    };
    (kinds, more).prop_filter_map("mechanisms that go together", plan)
}

fn any_offered() -> impl Strategy<Value = Vec<Offered>> {
    let gap_ns = prop_oneof![Just(0), 0..2_000_000u64, Just(1_200_000u64), 0..20_000_000u64];
    let len = prop_oneof![3 => Just(1500u16), 1 => 40..=1500u16];
    let flags = prop::sample::select(vec![0, flags::ECT, flags::ECT | flags::CE, flags::ACK]);
    let one = (gap_ns, len, flags, 0..3u32, 0.0..4.0f32).prop_map(
        |(gap_ns, len, flags, user, activity)| Offered { gap_ns, len, flags, user, activity },
    );
    prop::collection::vec(one, 1..300)
}

/// New mechanisms have to be added to the lists above.
#[test]
fn all_mechanisms_that_can_run_in_both_do() {
    let missing = |kind: &str, list: &[&str]| {
        let entry = format!("kind = \"{kind}\"");
        !list.iter().any(|text| text.contains(&entry))
    };
    let aqms: Vec<_> = AqmParams::KINDS.iter().map(|kind| kind.0).collect();
    let left: Vec<_> = aqms.into_iter().filter(|kind| missing(kind, &AQMS)).collect();
    let sees_departures = ["pie", "codel", "virtual-queue", "sbrm-queue"];
    assert_eq!(left, sees_departures, "they see departures");
    for (kind, ..) in DifferentiationParams::KINDS {
        assert!(!missing(kind, &DIFFERENTIATIONS), "{kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        rng_seed: RngSeed::Fixed(23),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_link_and_a_station_do_the_same_and_count_it_alike(
        plan in any_plan(),
        offered in any_offered(),
    ) {
        let (link, outcomes) = in_advance(&plan, &offered);
        let (station, want) = as_events(&plan, &offered);
        prop_assert_eq!(&outcomes, &want);
        let counts = |link: &Link| {
            let (accepted, probe) = (link.accepted, link.probe().expect("a bottleneck"));
            let monitor = probe.monitor.as_ref().expect("a bottleneck");
            let group = monitor.groups[0];
            let of_group = (group.accepted, group.refused, group.drops, group.marks);
            (accepted, probe.marks, probe.drops, monitor.most_bytes, of_group)
        };
        prop_assert_eq!(counts(&link), counts(&station));
        // A mark counts if the packet has passed, whether or not it was marked before.
        let passed = outcomes.iter().flatten().count() as u64;
        let first_here = outcomes.iter().flatten().filter(|(_, _, first, _)| *first).count() as u64;
        let probe = link.probe().expect("a bottleneck");
        prop_assert!(probe.marks <= passed, "{} of {passed}", probe.marks);
        prop_assert!(probe.marks >= first_here);
        prop_assert_eq!(offered.len() as u64, passed + probe.drops.iter().sum::<u64>());
    }
}
