//! Tests of the re-ECN dropper: a timeline, laws for honest flows and cheats, and its memory.

use super::*;
use crate::parameters::Parameters;
use crate::stage::Sequence;
use proptest::prelude::*;

fn dropper() -> ReEcnDropper {
    ReEcnDropper::new(ReEcnDropperParams { memory: Bytes::new(16_000_000) })
}

fn packet(flow: u32, says: ReEcn) -> Passing {
    Passing { flow, ..Passing::in_re_ecn(says) }
}

fn passes(dropper: &mut ReEcnDropper, flow: u32, says: ReEcn) -> bool {
    dropper.pass(&mut packet(flow, says), || panic!("drew")) == Passage::On
}

fn balance(dropper: &mut ReEcnDropper, flow: u32) -> i32 {
    let key = FlowKey::of(&packet(flow, ReEcn::Neutral));
    dropper.flows.find(key).expect("is known").balance
}

#[test]
fn a_negative_flow_loses_packets_until_its_balance_is_zero_and_no_other_does() {
    let mut dropper = dropper();
    for (says, want, left) in [
        (ReEcn::Credit, true, 1500),
        (ReEcn::Negative, true, 0),
        (ReEcn::Neutral, true, 0),
        (ReEcn::Negative, true, -1500),
        (ReEcn::Neutral, false, -1500),
        (ReEcn::Negative, false, -1500),
        (ReEcn::Cancelled, true, -1500),
        (ReEcn::Positive, true, 0),
        (ReEcn::Neutral, true, 0),
        (ReEcn::Positive, true, 1500),
        (ReEcn::Negative, true, 0),
    ] {
        assert_eq!(passes(&mut dropper, 1, says), want, "{says:?}");
        assert_eq!(balance(&mut dropper, 1), left, "{says:?}");
    }
    passes(&mut dropper, 1, ReEcn::Negative);
    assert!(!passes(&mut dropper, 1, ReEcn::Neutral));
    passes(&mut dropper, 2, ReEcn::Credit);
    assert!(passes(&mut dropper, 2, ReEcn::Neutral), "others have balances of their own");
}

#[test]
fn what_is_outside_passes_marked_or_not() {
    let mut dropper = dropper();
    passes(&mut dropper, 9, ReEcn::Negative);
    assert!(!passes(&mut dropper, 9, ReEcn::Neutral), "somebody else owes");
    for says in [ReEcn::Outside, ReEcn::Cancelled] {
        assert!(passes(&mut dropper, 1, says), "{says:?}");
    }
    let ack = Passing { is_ack: true, ..packet(9, ReEcn::Neutral) };
    assert_eq!(dropper.pass(&mut { ack }, || panic!("drew")), Passage::On);
}

/// A flow without declarations loses nearly all packets from the first mark on; a new flow for every ten packets does
/// not help.
#[test]
fn a_sender_that_declares_nothing_loses_a_hundred_packets_for_each_mark() {
    for flows in [1, 1_000] {
        let mut dropper = dropper();
        let marked = |n: u32| if n.is_multiple_of(100) { ReEcn::Negative } else { ReEcn::Neutral };
        let all = (0..10_000).filter(|&n| passes(&mut dropper, n / 10 % flows, marked(n)));
        assert!(all.count() <= 1);
    }
}

#[test]
fn a_memory_of_nothing_is_refused() {
    let keys = |memory| ReEcnDropperParams { memory: Bytes::new(memory) }.errors().map(|m| m.0);
    assert_eq!(keys(10), Some("memory"));
    assert_eq!(Parameters::errors(&ReEcnDropperParams { memory: Bytes::new(200) }), []);
}

#[test]
fn a_dropper_remembers_sixteen_bytes_of_a_flow() {
    assert_eq!(size_of::<Option<Flow>>(), 16);
}

/// A million flows that declare once, besides an honest one that continues.
#[test]
fn a_million_identities_fit_and_an_honest_flow_stays_known() {
    let mut dropper = dropper();
    passes(&mut dropper, 7, ReEcn::Credit);
    for n in 1..=1_000_000_u32 {
        let now = Time::from_nanos(u64::from(n) * 1_000_000);
        let sequence = Some(Sequence { connection: n, number: 0, sent: Time::ZERO });
        dropper.pass(&mut Passing { now, sequence, ..packet(1, ReEcn::Credit) }, || 0.5);
        if n % 100 == 0 {
            let honest = Passing { now, ..packet(7, ReEcn::Neutral) };
            assert_eq!(dropper.pass(&mut { honest }, || 0.5), Passage::On);
        }
    }
    assert_eq!(balance(&mut dropper, 7), 1500);
    assert!(dropper.state_bytes() <= 16 << 20, "{} B", dropper.state_bytes());
}

proptest! {
    /// An honest sender, with credit for its data in flight, loses nothing for any marks; at the end, when everything
    /// is declared, its balance is its credit.
    #[test]
    fn an_honest_flow_loses_nothing_and_its_balance_is_its_credit(
        marks in prop::collection::vec(any::<bool>(), 1..300),
        window in 1..40_usize,
    ) {
        let mut dropper = dropper();
        for _ in 0..window {
            prop_assert!(passes(&mut dropper, 1, ReEcn::Credit));
        }
        let (mut met, mut owed) = (std::collections::VecDeque::from(vec![false; window]), 0);
        let quiet = vec![false; 2 * window + marks.len()];
        for marked in marks.into_iter().chain(quiet) {
            // Marks of one window ago are known now.
            if met.pop_front() == Some(true) {
                owed += 1;
            }
            let declares = owed > 0;
            owed -= u32::from(declares);
            let says = match (declares, marked) {
                (true, true) => ReEcn::Cancelled,
                (true, false) => ReEcn::Positive,
                (false, true) => ReEcn::Negative,
                (false, false) => ReEcn::Neutral,
            };
            met.push_back(marked);
            prop_assert!(passes(&mut dropper, 1, says), "{says:?}");
        }
        prop_assert_eq!(balance(&mut dropper, 1), 1500 * window as i32);
    }
}
