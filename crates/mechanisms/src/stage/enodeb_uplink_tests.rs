use super::*;
use crate::stage::pdn_gateway::Handover;
use crate::stage::re_ecn_policer::{BucketScope, Outside, Sanction, Signals, Taken};
use crate::units::{Factor, Rate, Share, Span, TokenRate, Tokens};

/// Three eNodeBs, by hand.
#[test]
fn no_two_enodebs_give_a_number_twice() {
    let given = [0, 1, 2].map(|place| {
        let teids = Teids { place, of: 3 };
        [1, 2, 3].map(|own| teids.outside(own))
    });
    assert_eq!(given, [[1, 4, 7], [2, 5, 8], [3, 6, 9]]);
    for (place, all) in given.iter().enumerate() {
        let teids = Teids { place: place as u32, of: 3 };
        let own: Vec<_> = (0..=9).filter_map(|outside| teids.own(outside)).collect();
        assert_eq!(own, [1, 2, 3]);
        assert!(all.iter().all(|outside| teids.beginning(*outside) == place as u32));
    }
    assert_eq!([1, 2].map(|own| Teids::ALONE.outside(own)), [1, 2]);
}

const USER: u32 = 3;

/// A bucket of ten packets with almost no inflow.
fn enodeb(buckets: BucketScope) -> EnodebUplink {
    let policer = ReEcnPolicerParams {
        fill_rate: TokenRate::Bits(Rate::from_bps(1)),
        depth: Tokens::Bytes(Bytes::new(15_000)),
        initial: None,
        buckets,
        tokens: Taken::Data,
        sanction: Sanction::Discard,
        charge_dropped: false,
        k: Factor(1.0),
        round_trip: Some(Span::from_millis(100)),
        measures: false,
        signals: Signals::Events,
        weight: Share(0.125),
        outside: Outside::Police,
        memory: Bytes::new(1_000_000),
    };
    let policers = Tables(vec![policer]);
    EnodebUplink::new(EnodebUplinkParams { policers, ..EnodebUplinkParams::plain(EcnRules::ReEcn) })
}

/// Whether a flow belongs to a user.
fn owns(user: u32, flow: u32) -> bool {
    flow / 10 == user
}

/// Sends packets of a user. Returns how many pass.
fn send(enodeb: &mut EnodebUplink, user: u32, packets: u32) -> usize {
    let own = Passing { tunnel_end: Some(9), flow: 10 * user + 1, ..Passing::of_user(user) };
    let passes = |_: &u32| enodeb.pass(&mut own.clone(), || panic!("drew")) == Passage::On;
    (0..packets).filter(passes).count()
}

fn level(enodeb: &EnodebUplink, name: &str) -> Option<f64> {
    let mut found = None;
    enodeb.levels(USER, Time::ZERO, &mut |what, level| {
        found = if what == name { Some(level) } else { found };
    });
    found
}

fn walk(from: &mut EnodebUplink, to: &mut EnodebUplink) {
    to.import_user(USER, from.export_user(USER, &|flow| owns(USER, flow)));
}

/// Its fill moves from one eNodeB to the next and back. A user that does not move has its own.
#[test]
fn a_moving_user_keeps_its_bucket_and_gets_no_others() {
    for buckets in [BucketScope::ByUser, BucketScope::ByFlow] {
        let [mut first, mut next] = [(); 2].map(|()| enodeb(buckets));
        assert_eq!([send(&mut first, USER, 6), send(&mut first, USER + 1, 5)], [6, 5]);
        walk(&mut first, &mut next);
        assert_eq!([send(&mut next, USER, 2), send(&mut next, USER + 1, 20)], [2, 10]);
        walk(&mut next, &mut first);
        assert_eq!([send(&mut first, USER, 20), send(&mut first, USER + 1, 20)], [2, 5]);
        assert_eq!(level(&next, "fill"), None, "it is elsewhere");
    }
}

/// No part of a common bucket moves with a user.
#[test]
fn a_bucket_of_all_together_stays() {
    let [mut first, mut next] = [(); 2].map(|()| enodeb(BucketScope::Together));
    send(&mut first, USER, 6);
    walk(&mut first, &mut next);
    assert_eq!([send(&mut next, USER, 20), send(&mut first, USER + 1, 20)], [10, 4]);
}

/// The debt moves with the user, and a report on an earlier tunnel is charged where the user is.
#[test]
fn debts_move_with_the_user_and_later_reports_follow() {
    let [mut first, mut next] = [(); 2].map(|()| enodeb(BucketScope::ByUser));
    send(&mut first, USER, 5);
    let reported = |received, marked_before| {
        let last_sequence = received as u16 - 1;
        let tunnel = TunnelReport {
            from: 9,
            teid: 1,
            last_sequence,
            received,
            marked_before,
            ..TunnelReport::default()
        };
        Report { user: USER, tunnel: Some(Box::new(tunnel)), ..Report::default() }
    };
    first.take(&reported(3, 2));
    assert_eq!(level(&first, "owed"), Some(2.0));
    walk(&mut first, &mut next);
    assert_eq!([level(&first, "owed"), level(&next, "owed")], [Some(0.0), Some(2.0)]);
    first.take(&reported(5, 3));
    walk(&mut first, &mut next);
    assert_eq!([level(&first, "owed"), level(&next, "owed")], [Some(0.0), Some(3.0)]);
    assert_eq!(level(&next, "fill"), Some(7_500.0), "a report brings no bucket");
    send(&mut next, USER, 2);
    assert_eq!(level(&next, "owed"), Some(1.0));
    // A mark that is charged affects p at once.
    assert!(level(&next, "declared_share").is_some_and(|p| p > 0.0));
}

#[test]
fn buckets_follow_unless_handover_says_otherwise() {
    let plain = EnodebUplinkParams::plain(EcnRules::ReEcn);
    assert!(EnodebUplink::hands_over(&plain));
    assert!(!EnodebUplink::hands_over(&EnodebUplinkParams { handover: Handover::Anew, ..plain }));
}
