//! Tests of congestion policing queues: decisions on packets, and charges.

use super::scheduler::tests::place;
use super::tests::arrival;
use super::*;
use crate::units::{QueueLength, Rate, Share};

/// RED whose average equals the queue: no signal below 10 packets, 10 % just below 30.
fn red() -> Aqm {
    let params = RedParams {
        min_threshold: QueueLength::Packets(10),
        max_threshold: QueueLength::Packets(30),
        max_probability: Share(0.1),
        weight: Share(1.0),
        gentle: false,
        spacing: RedSpacing::Geometric,
        hard_drop: true,
        marks_below: None,
        mean_packet: None,
    };
    Aqm::new(AqmParams::Red(params), &place(100)).expect("fits anywhere")
}

/// Buckets of 3000 B without inflow.
const FILL_RATE: Rate = Rate::from_bps(0);
const DEPTH: Bytes = Bytes::new(3000);

fn judge(differentiation: Differentiation) -> Judge {
    Judge { aqm: red(), differentiation }
}

/// Timeline: bucket of 3000 B, full; no time passes.
///
/// ```text
/// 20 packets  draw 0.9   pass               p = 0.05
/// 20 packets  draw 0.0   dropped by RED     1500 B left
/// 20 packets  draw 0.0   dropped by RED     nothing left
/// 20 packets  no draw    policed
///  0 packets  no draw    policed            whatever the queue
/// ```
#[test]
fn icp_stops_a_customer_whose_drops_have_emptied_its_bucket() {
    let params =
        IcpParams { fill_rate: FILL_RATE, depth: DEPTH, curve: IcpCurve::Step, start: Share(0.5) };
    let mut judge = judge(Differentiation::Icp(Icp::new(params)));
    assert_eq!(judge.signal(&arrival(20, 0.0), || 0.9), Signal::None);
    assert_eq!(judge.signal(&arrival(20, 0.0), || 0.0), Signal::Congestion);
    assert_eq!(judge.signal(&arrival(20, 0.0), || 0.0), Signal::Congestion);
    let no_draw = || panic!("the verdict is certain");
    for packets in [20, 0] {
        let policed = Signal::Policed { may_mark: false };
        assert_eq!(judge.signal(&arrival(packets, 0.0), no_draw), policed);
    }
    let other = Arrival { user: 1, ..arrival(0, 0.0) };
    assert_eq!(judge.signal(&other, no_draw), Signal::None);
}

#[test]
fn icp_charges_what_a_full_buffer_loses() {
    let params =
        IcpParams { fill_rate: FILL_RATE, depth: DEPTH, curve: IcpCurve::Step, start: Share(0.5) };
    let mut judge = judge(Differentiation::Icp(Icp::new(params)));
    for want in [Signal::None, Signal::None, Signal::Policed { may_mark: false }] {
        assert_eq!(judge.signal(&arrival(0, 0.0), || 0.5), want);
        judge.on_overflow(0, Time::ZERO, Bytes::new(1500));
    }
}

/// At p = 0.05 a full packet costs 75 B: 3000 B pay for 40 packets, with variant b for more.
#[test]
fn afcp_polices_after_what_the_bucket_pays_for() {
    for (variant, forwarded) in [(Charged::All, 40), (Charged::Passed, 44)] {
        let params = AfcpParams { fill_rate: FILL_RATE, depth: DEPTH, variant };
        let mut judge = judge(Differentiation::Afcp(Afcp::new(params)));
        let verdicts: Vec<Signal> = (0..50)
            .map(|n| judge.signal(&arrival(20, 0.0), || if n % 10 == 5 { 0.0 } else { 0.9 }))
            .collect();
        let policed = Signal::Policed { may_mark: false };
        assert_eq!(verdicts.iter().position(|&v| v == policed), Some(forwarded));
    }
}

/// A full bucket doubles the thresholds: the probability then begins at 20 packets.
#[test]
fn aicp_a_spares_the_customer_with_a_full_bucket() {
    let mut judge = judge(Differentiation::AicpA(AicpA::new(AicpAParams {
        fill_rate: FILL_RATE,
        depth: DEPTH,
        charge: Charge::Aqm,
        charge_dropped: false,
    })));
    let no_draw = || panic!("a full bucket leaves no doubt at 19 packets");
    assert_eq!(judge.signal(&arrival(19, 0.0), no_draw), Signal::None);
    // 60 packets are above both thresholds, 35 above the plain one only.
    assert_eq!(judge.signal(&arrival(60, 0.0), no_draw), Signal::Policed { may_mark: false });
    assert_eq!(judge.signal(&arrival(35, 0.0), || 0.9), Signal::None); // costs 1500 B
    assert_eq!(judge.signal(&arrival(35, 0.0), || 0.9), Signal::None); // and as much
    assert_eq!(judge.signal(&arrival(35, 0.0), no_draw), Signal::Policed { may_mark: false });
    assert_eq!(judge.signal(&arrival(20, 0.0), || 0.04), Signal::Policed { may_mark: true });
}

/// 35 packets are above RED's own thresholds, where a packet costs all of its 1500 B, and below those that a bucket of
/// 3000 B raises to 60; there p is 0.0375, and 0.1 once it is forced.
#[test]
fn aicp_a_charges_what_a_packet_risked_or_what_red_would_have_had_it_risk() {
    for (charge, first_forced) in [(Charge::Aqm, 2..3), (Charge::Own, 25..40)] {
        let mut judge = judge(Differentiation::AicpA(AicpA::new(AicpAParams {
            fill_rate: FILL_RATE,
            depth: DEPTH,
            charge,
            charge_dropped: false,
        })));
        let forced = (0..100)
            .map(|_| judge.signal(&arrival(35, 0.0), || 0.99))
            .position(|signal| signal == Signal::Policed { may_mark: false });
        assert!(forced.is_some_and(|n| first_forced.contains(&n)), "{charge:?}: {forced:?}");
    }
}

/// 60 packets are above all thresholds: both packets are dropped, and empty a bucket of 3000 B if drops are charged.
#[test]
fn a_dropped_packet_costs_aicp_a_tokens_if_it_is_to() {
    let forced = Signal::Policed { may_mark: false };
    for (charge_dropped, then) in [(false, Signal::None), (true, forced)] {
        let mut judge = judge(Differentiation::AicpA(AicpA::new(AicpAParams {
            fill_rate: FILL_RATE,
            depth: DEPTH,
            charge: Charge::Own,
            charge_dropped,
        })));
        (0..2).for_each(|_| assert_eq!(judge.signal(&arrival(60, 0.0), || 0.9), forced));
        assert_eq!(judge.signal(&arrival(35, 0.0), || 0.9), then, "{charge_dropped}");
    }
}

/// A bucket of 40 packets at 75 B is empty: 0.5 is added, but not where RED sees no congestion.
#[test]
fn aicp_b_may_leave_a_queue_below_the_threshold_alone() {
    let mut judge = judge(Differentiation::AicpB(AicpB::new(AicpBParams {
        fill_rate: FILL_RATE,
        depth: DEPTH,
        start: Share(0.25),
        max_probability: Share(0.5),
        charge: Charge::Aqm,
        charge_dropped: false,
        only_in_congestion: true,
    })));
    (0..40).for_each(|_| assert_eq!(judge.signal(&arrival(20, 0.0), || 0.6), Signal::None));
    let policed = Signal::Policed { may_mark: true };
    assert_eq!(judge.signal(&arrival(20, 0.0), || 0.49), policed);
    let no_draw = || panic!("9 packets are no congestion");
    assert_eq!(judge.signal(&arrival(9, 0.0), no_draw), Signal::None);
}

#[test]
fn aicp_b_squares_the_probability_of_a_customer_that_has_tokens() {
    let params = AicpBParams {
        fill_rate: FILL_RATE,
        depth: DEPTH,
        start: Share(0.25),
        max_probability: Share(0.5),
        charge: Charge::Aqm,
        charge_dropped: false,
        only_in_congestion: false,
    };
    let mut judge = judge(Differentiation::AicpB(AicpB::new(params)));
    // p = 0.05, squared 0.0025.
    assert_eq!(judge.signal(&arrival(20, 0.0), || 0.002), Signal::Policed { may_mark: true });
    (0..40).for_each(|_| assert_eq!(judge.signal(&arrival(20, 0.0), || 0.6), Signal::None));
    // 40 packets at 75 B have emptied the bucket: 0.5 is added, even without a queue.
    assert_eq!(judge.signal(&arrival(0, 0.0), || 0.49), Signal::Policed { may_mark: true });
    assert_eq!(judge.signal(&arrival(0, 0.0), || 0.51), Signal::None);
}
