use super::*;
use crate::stage::re_ecn_policer::{BucketScope, Outside, Sanction, Signals, Taken};
use crate::stage::{Declared, Ecn, Enodeb, EnodebParams, ReEcn, TunnelReport};
use crate::token_bucket::TokenBucketParams;
use crate::units::{Factor, Probability, Rate, Share, Span, TokenRate, Tokens, Whole};
use proptest::bool::weighted;
use proptest::prelude::*;

const USER: u32 = 3;
const END: u32 = 5;

fn params() -> PdnGatewayParams {
    PdnGatewayParams {
        policers: Tables(Vec::new()),
        ecn_rules: EcnRules::ReEcn,
        radio: Radio::Apart,
        handover: Handover::Keep,
        re_inserts: true,
        conex_option: ConexOption::Inner,
        mtu: Bytes::new(1600),
    }
}

/// A bucket of `depth` packets with almost no inflow, which positive packets empty.
fn bucket(depth: u64) -> ReEcnPolicerParams {
    ReEcnPolicerParams {
        fill_rate: TokenRate::Packets { thousandths_per_sec: 1 },
        depth: Tokens::Packets { thousandths: 1000 * depth },
        initial: None,
        buckets: BucketScope::ByUser,
        tokens: Taken::Positive,
        sanction: Sanction::Discard,
        charge_dropped: false,
        k: Factor(1.0),
        round_trip: None,
        measures: false,
        signals: Signals::Each,
        weight: Share(0.125),
        outside: Outside::Drop,
        memory: Bytes::new(1_000_000),
    }
}

fn packet() -> Passing {
    Passing { tunnel_end: Some(END), ..Passing::of_user(USER) }
}

fn pass(gateway: &mut PdnGateway, packet: &mut Passing) -> Passage {
    gateway.pass(packet, || panic!("drew"))
}

/// Sends packets. Returns the number dropped by the policers.
fn send(gateway: &mut PdnGateway, packets: u32) -> u32 {
    (0..packets).filter(|_| pass(gateway, &mut packet()) != Passage::On).count() as u32
}

fn count(gateway: &PdnGateway, name: &str) -> u64 {
    let mut found = None;
    gateway.counts(&mut |user, what, count| {
        if (user, what) == (USER, name) {
            found = Some(count);
        }
    });
    found.expect("is counted")
}

fn level(gateway: &PdnGateway, name: &str) -> f64 {
    let mut found = None;
    gateway.levels(USER, Time::ZERO, &mut |what, level| {
        if what == name {
            found = Some(level);
        }
    });
    found.expect("has it")
}

fn reported(tunnel: TunnelReport) -> Report {
    Report { user: USER, tunnel: Some(Box::new(tunnel)), ..Report::default() }
}

/// Returns a report on the first packets of the first tunnel.
fn tunnel_report(received: u32, marked_before: u32, dropped_before: u32) -> TunnelReport {
    TunnelReport {
        from: END,
        teid: 1,
        last_sequence: (received + dropped_before).wrapping_sub(1) as u16,
        received,
        marked_before,
        dropped_before,
        ..TunnelReport::default()
    }
}

#[test]
fn a_packet_gets_a_header_a_number_and_what_its_own_says_stays_inside() {
    let conex = Declared { conex: true, loss: true, mark: true, credit: true, re: true };
    for rules in [EcnRules::Rfc6040, EcnRules::ReEcn] {
        let mut gateway = PdnGateway::new(PdnGatewayParams { ecn_rules: rules, ..params() });
        for (sequence, inner) in (0..).zip([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]) {
            let mut own = Passing { ecn: inner, declared: conex, ..packet() };
            assert_eq!(pass(&mut gateway, &mut own), Passage::On);
            let tunnel = Tunnel { teid: 1, sequence, inner_ecn: inner, re_inserted: Some(false) };
            let (ecn, len, tunnel) = (rules.encapsulate(inner), Bytes::new(1544), Some(tunnel));
            assert_eq!(own, Passing { ecn, len, tunnel, declared: conex, ..packet() });
        }
    }
    let mut without = PdnGateway::new(PdnGatewayParams { re_inserts: false, ..params() });
    let mut own = packet();
    pass(&mut without, &mut own);
    assert_eq!(
        (own.len, own.tunnel.and_then(|tunnel| tunnel.re_inserted)),
        (Bytes::new(1540), None)
    );
}

/// RFC 7837, section 7: the inner option stays unchanged, for any tunnel header.
#[test]
fn n6_the_inner_conex_option_is_neither_copied_nor_overwritten() {
    let declared = Declared { conex: true, mark: true, ..Declared::default() };
    let mut gateway = PdnGateway::new(params());
    let mut end = enodeb(0.0);
    send(&mut gateway, 1);
    gateway.take(&reported(tunnel_report(1, 1, 0)));
    let mut own = Passing { declared, ..packet() };
    pass(&mut gateway, &mut own);
    assert_eq!(own.tunnel.and_then(|tunnel| tunnel.re_inserted), Some(true));
    end.pass(&mut own, || 1.0);
    assert_eq!(own, Passing { declared, ..packet() });
}

/// RFC 7778, section 3.2.1, if configured: a packet that declares a loss or a mark also says so in the tunnel's header,
/// and other packets carry the debt. No packet becomes longer, and the eNodeB ignores the copy.
#[test]
fn n6_a_copy_of_the_conex_option_is_made_where_that_is_asked_for() {
    let nothing = Declared { conex: true, ..Declared::default() };
    let all = [
        (nothing, false),
        (Declared { credit: true, ..nothing }, false),
        (Declared { mark: true, ..nothing }, true),
        (Declared { loss: true, ..nothing }, true),
        (Declared { loss: true, mark: true, ..Declared::default() }, false),
        (Declared { re: true, ..Declared::default() }, false),
    ];
    for conex_option in [ConexOption::Inner, ConexOption::Copied] {
        let mut gateway = PdnGateway::new(PdnGatewayParams { conex_option, ..params() });
        let mut end = enodeb(0.0);
        for (declared, says) in all {
            let mut own = Passing { declared, ..packet() };
            pass(&mut gateway, &mut own);
            let copied = says && conex_option == ConexOption::Copied;
            assert_eq!(own.tunnel.and_then(|tunnel| tunnel.re_inserted), Some(copied));
            assert_eq!(own.len, packet().len + Tunnel::overhead(true));
            end.pass(&mut own, || 1.0);
            assert_eq!(own, Passing { declared, ..packet() });
        }
        assert_eq!(count(&gateway, "re_inserted"), 0, "declared by the sender, not by the gateway");
    }
    let owed = PdnGatewayParams { conex_option: ConexOption::Copied, ..params() };
    let mut gateway = PdnGateway::new(owed);
    send(&mut gateway, 1);
    gateway.take(&reported(tunnel_report(1, 1, 0)));
    let mark = Declared { mark: true, ..nothing };
    let says = [mark, nothing, nothing].map(|declared| {
        let mut own = Passing { declared, ..packet() };
        pass(&mut gateway, &mut own);
        own.tunnel.and_then(|tunnel| tunnel.re_inserted)
    });
    assert_eq!(says, [Some(true), Some(true), Some(false)], "what is owed waits for a packet");
}

#[test]
fn a_copy_needs_the_room_that_re_inserting_has() {
    let copied = PdnGatewayParams { conex_option: ConexOption::Copied, ..params() };
    let without = PdnGatewayParams { re_inserts: false, ..copied.clone() };
    let keys = |params: &PdnGatewayParams| {
        params.errors().into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!((keys(&copied), keys(&without)), (vec![], vec!["conex_option"]));
}

#[test]
fn what_is_reported_is_re_inserted_once_and_the_policer_takes_it_for_positive() {
    let policers = Tables(vec![bucket(10)]);
    let mut gateway = PdnGateway::new(PdnGatewayParams { policers, ..params() });
    assert_eq!(send(&mut gateway, 20), 0);
    gateway.take(&reported(tunnel_report(17, 4, 3)));
    let mut marked = 0;
    for _ in 0..20 {
        let mut own = packet();
        assert_eq!(pass(&mut gateway, &mut own), Passage::On);
        if own.tunnel.is_some_and(|tunnel| tunnel.re_inserted == Some(true)) {
            marked += 1;
        }
    }
    assert_eq!((marked, count(&gateway, "re_inserted")), (7, 7));
    assert!((level(&gateway, "fill") - 3.0).abs() < 0.01, "{}", level(&gateway, "fill"));
}

/// Headers written by senders, including the re-inserted mark, have no effect.
#[test]
fn a_user_that_declares_or_builds_its_own_tunnel_changes_no_bucket() {
    let policers = Tables(vec![bucket(10)]);
    let mut gateway = PdnGateway::new(PdnGatewayParams { policers, ..params() });
    send(&mut gateway, 1);
    let before = level(&gateway, "fill");
    let says = [ReEcn::Positive, ReEcn::Credit, ReEcn::Cancelled, ReEcn::Outside];
    for says in says {
        let mut own = Passing { tunnel_end: Some(END), user: USER, ..Passing::in_re_ecn(says) };
        assert_eq!(pass(&mut gateway, &mut own), Passage::On);
        assert_eq!(own.tunnel.and_then(|tunnel| tunnel.re_inserted), Some(false));
    }
    let forged = Tunnel { teid: 1, sequence: 9, inner_ecn: Ecn::Ect0, re_inserted: Some(true) };
    let mut nested = Passing { tunnel: Some(forged), ..packet() };
    assert_eq!(pass(&mut gateway, &mut nested), NESTED);
    assert!((level(&gateway, "fill") - before).abs() < 1e-9);
}

#[test]
fn reports_that_are_not_to_be_believed_are_counted_by_reason_and_change_no_bucket() {
    let policers = Tables(vec![bucket(10)]);
    let mut gateway = PdnGateway::new(PdnGatewayParams { policers, ..params() });
    // The next number is 2, and all numbers have been used once.
    send(&mut gateway, 65_538);
    let good = TunnelReport { last_sequence: 1, ..tunnel_report(65_530, 2, 8) };
    gateway.take(&reported(good.clone()));
    send(&mut gateway, 1);
    let state = |gateway: &PdnGateway| {
        let user = gateway.users.get(USER).expect("has sent");
        let bucket = ["fill", "declared_share"].map(|name| level(gateway, name));
        (gateway.tunnels[0].clone(), (user.owed, user.charged), bucket, user.tunnels.clone())
    };
    let before = state(&gateway);
    assert_eq!((before.1, before.2[0]), ((9, 9), 9.0), "ten were met, and one has taken a token");
    let good = || good.clone();
    let cases = [
        ("reports_on_no_tunnel", TunnelReport { teid: 0, ..good() }),
        ("reports_on_no_tunnel", TunnelReport { teid: 2, ..good() }),
        ("reports_on_no_tunnel", TunnelReport { teid: u32::MAX, ..good() }),
        ("reports_from_strangers", TunnelReport { from: END + 1, ..good() }),
        ("reports_replayed", good()),
        ("reports_old", TunnelReport { last_sequence: 0, ..tunnel_report(65_529, 2, 8) }),
        // It reports a number that was never sent,
        ("reports_forged", TunnelReport { last_sequence: 3, ..tunnel_report(65_532, 2, 8) }),
        // omits or invents packets,
        ("reports_forged", TunnelReport { last_sequence: 2, ..tunnel_report(65_530, 2, 8) }),
        ("reports_forged", TunnelReport { last_sequence: 2, ..tunnel_report(65_531, 2, 9) }),
        // has more marks than packets, or revokes marks.
        ("reports_forged", TunnelReport { last_sequence: 2, ..tunnel_report(65_531, 4, 8) }),
        ("reports_forged", TunnelReport { last_sequence: 2, ..tunnel_report(65_531, 1, 8) }),
        // It predates the wrap of the numbers.
        ("reports_forged", TunnelReport { last_sequence: 1, ..tunnel_report(2, 0, 0) }),
    ];
    for (number, (reason, report)) in cases.into_iter().enumerate() {
        let refused = count(&gateway, reason);
        gateway.take(&reported(report));
        assert_eq!(count(&gateway, reason), refused + 1, "case {number}: {reason}");
        assert_eq!(state(&gateway), before, "case {number}");
    }
    assert_eq!(count(&gateway, "reports"), 1);
}

/// For any number of users behind a customer's tunnel: its bucket passes the same number of packets, and marks are
/// charged to all of them.
#[test]
fn many_users_behind_one_tunnel_have_one_bucket() {
    let passed = |flows: u32| {
        let mut gateway =
            PdnGateway::new(PdnGatewayParams { policers: Tables(vec![bucket(5)]), ..params() });
        assert_eq!(send(&mut gateway, 20), 0, "nothing is declared yet");
        gateway.take(&reported(tunnel_report(20, 15, 0)));
        let own = |number: u32| Passing { flow: number % flows, ..packet() };
        (0..40).filter(|number| pass(&mut gateway, &mut own(*number)) == Passage::On).count()
    };
    let alone = passed(1);
    assert!((5..40).contains(&alone), "{alone} of 40 pass");
    assert_eq!([2, 10, 40].map(passed), [alone; 3]);
}

/// Congestion of one user takes tokens from all if they share a bucket, and from no other if each has its own. A report
/// on one tunnel makes no packets of other users positive.
#[test]
fn a_bucket_of_all_together_is_emptied_by_what_any_of_them_has_met() {
    let left = |buckets| {
        let policers = Tables(vec![ReEcnPolicerParams { buckets, ..bucket(10) }]);
        let mut gateway = PdnGateway::new(PdnGatewayParams { policers, ..params() });
        let other = || Passing { user: USER + 1, flow: 1, ..packet() };
        let others = |gateway: &mut PdnGateway| {
            (0..10).filter(|_| pass(gateway, &mut other()) == Passage::On).count()
        };
        assert_eq!((send(&mut gateway, 10), others(&mut gateway)), (0, 10), "nothing is met yet");
        gateway.take(&reported(tunnel_report(10, 10, 0)));
        assert_eq!(others(&mut gateway), 10, "they declare nothing of it");
        assert_eq!(send(&mut gateway, 10), 0, "each of them takes a token");
        (send(&mut gateway, 10), others(&mut gateway))
    };
    assert_eq!(left(BucketScope::Together), (10, 0), "dropped and passed");
    assert_eq!(left(BucketScope::ByUser), (10, 10));
}

/// Reports are per tunnel, and its flows are charged by their share of packets: the one that sends three of four
/// packets is charged three of four marks.
#[test]
fn marks_of_a_tunnel_are_charged_to_its_flows_by_their_share_of_packets() {
    let policers = Tables(vec![ReEcnPolicerParams { buckets: BucketScope::ByFlow, ..bucket(100) }]);
    let mut gateway = PdnGateway::new(PdnGatewayParams { policers, ..params() });
    let own = |flow| Passing { flow, ..packet() };
    let send = |gateway: &mut PdnGateway, rounds: u32| {
        for flow in (0..rounds).flat_map(|_| [1, 1, 2, 1]) {
            assert_eq!(pass(gateway, &mut own(flow)), Passage::On);
        }
    };
    send(&mut gateway, 25);
    gateway.take(&reported(tunnel_report(95, 35, 5)));
    send(&mut gateway, 25);
    assert_eq!(count(&gateway, "re_inserted"), 40);
    for (flow, charged) in [(1, 30.0), (2, 10.0)] {
        // The level is that of the flow seen last.
        assert_eq!(pass(&mut gateway, &mut own(flow)), Passage::On);
        let fill = level(&gateway, "fill");
        assert!((fill - (100.0 - charged)).abs() < 0.01, "flow {flow}: {fill}");
    }
}

/// Each flow has its own bucket: emptying it leaves the other's unchanged.
#[test]
fn a_flow_whose_bucket_is_empty_costs_no_other_of_its_user_anything() {
    let policers = Tables(vec![ReEcnPolicerParams { buckets: BucketScope::ByFlow, ..bucket(10) }]);
    let mut gateway = PdnGateway::new(PdnGatewayParams { policers, ..params() });
    assert_eq!(send(&mut gateway, 10), 0);
    gateway.take(&reported(tunnel_report(10, 10, 0)));
    let mut passes = |flow| pass(&mut gateway, &mut Passing { flow, ..packet() }) == Passage::On;
    assert!((0..10).all(|_| passes(1)), "each takes a token");
    assert!(!passes(1));
    assert!((0..10).all(|_| passes(2)));
}

/// A report on another user's tunnel is not attributed to this user.
#[test]
fn a_report_on_the_tunnel_of_another_user_is_on_none() {
    let mut gateway = PdnGateway::new(params());
    pass(&mut gateway, &mut Passing { user: 4, ..packet() });
    gateway.take(&reported(tunnel_report(1, 1, 0)));
    assert_eq!(count(&gateway, "reports_on_no_tunnel"), 1);
    assert_eq!(count(&gateway, "reported_marked"), 0);
}

#[test]
fn a_user_that_moves_keeps_its_bucket_or_gets_another_by_handover() {
    for (handover, wanted) in [(Handover::Keep, 0.0), (Handover::Anew, 10.0)] {
        let policers = Tables(vec![bucket(10)]);
        let mut gateway = PdnGateway::new(PdnGatewayParams { policers, handover, ..params() });
        send(&mut gateway, 10);
        gateway.take(&reported(tunnel_report(10, 10, 0)));
        send(&mut gateway, 10);
        assert_eq!(send(&mut gateway, 1), 1, "nothing is left");
        let mut moved = Passing { tunnel_end: Some(END + 1), ..packet() };
        let passage = pass(&mut gateway, &mut moved);
        assert_eq!(passage == Passage::On, handover == Handover::Anew);
        assert!((level(&gateway, "fill") - wanted).abs() < 0.01, "{}", level(&gateway, "fill"));
        // Packets in the previous tunnel are still reported, and charged.
        gateway.take(&reported(tunnel_report(19, 11, 1)));
        assert!((level(&gateway, "owed") - 2.0).abs() < 1e-9);
        assert_eq!((count(&gateway, "handovers"), gateway.tunnels.len()), (1, 2));
    }
}

#[test]
fn a_packet_that_does_not_fit_the_path_is_reported_with_the_largest_that_does() {
    let small = PdnGatewayParams { mtu: Bytes::new(1500), ..params() };
    assert_eq!(PdnGateway::validate(&small, Bytes::new(1456)), None);
    let (key, message) = PdnGateway::validate(&small, Bytes::new(1457)).expect("does not fit");
    assert_eq!(key, "mtu");
    assert!(
        message.contains("1501 B in the tunnel") && message.contains("at most 1456 B"),
        "{message}"
    );
    let shallow = PdnGatewayParams { policers: Tables(vec![byte_bucket(1000)]), ..params() };
    let (key, message) = PdnGateway::validate(&shallow, Bytes::new(1500)).expect("does not fit");
    assert_eq!(key, "policers");
    assert!(message.contains("depth: 1 kB do not hold a packet"), "{message}");
}

fn byte_bucket(depth: u64) -> ReEcnPolicerParams {
    let TokenBucketParams { fill_rate, depth, .. } =
        TokenBucketParams::of_bytes(Rate::from_bps(1_000_000), Bytes::new(depth));
    ReEcnPolicerParams { fill_rate, depth, ..bucket(1) }
}

fn enodeb(radio_loss: f64) -> Enodeb {
    Enodeb::new(EnodebParams {
        interval: Span::from_nanos(1),
        ecn_rules: EcnRules::ReEcn,
        radio_loss: Probability(radio_loss),
        radio_attempts: Whole(1),
    })
}

/// Fate of a packet between the two ends, and of the report that it causes.
#[derive(Clone, Copy, Debug)]
struct Fortune {
    lost: bool,
    marked: bool,
    /// Number of later packets that overtake it.
    held_back: usize,
    report_lost: bool,
}

fn fortune() -> impl Strategy<Value = Fortune> {
    let held_back = prop_oneof![3 => Just(0), 1 => 1..40usize];
    (weighted(0.2), weighted(0.3), held_back, weighted(0.5)).prop_map(
        |(lost, marked, held_back, report_lost)| Fortune { lost, marked, held_back, report_lost },
    )
}

proptest! {
    /// For any losses, marks and reordering, any lost reports, and any wrap of the numbers: the gateway's counts equal
    /// the actual ones, up to the packet that the last report covers.
    #[test]
    fn reports_and_truth_agree_after_every_loss_pattern(
        before in prop_oneof![Just(0u32), 65_400..65_540u32],
        fortunes in prop::collection::vec(fortune(), 1..300),
    ) {
        let (mut gateway, mut end) = (PdnGateway::new(params()), enodeb(0.0));
        let mut clock = Time::ZERO;
        let mut send = |gateway: &mut PdnGateway| {
            clock += Span::from_millis(1);
            let mut own = Passing { now: clock, ..packet() };
            assert_eq!(pass(gateway, &mut own), Passage::On);
            own
        };
        let mut arrive = |gateway: &mut PdnGateway, mut packet: Passing, lost: bool| {
            if let Passage::Report(report) = end.pass(&mut packet, || 1.0) && !lost {
                gateway.take(&report);
            }
        };
        for _ in 0..before {
            let packet = send(&mut gateway);
            arrive(&mut gateway, packet, true);
        }
        // Arrivals, ordered by time.
        let mut in_transit = Vec::new();
        for (number, fortune) in fortunes.iter().enumerate() {
            let mut packet = send(&mut gateway);
            if fortune.marked {
                packet.ecn = Ecn::Ce;
            }
            if !fortune.lost {
                in_transit.push((number + fortune.held_back, number, packet));
            }
        }
        in_transit.sort_by_key(|(there, number, _)| (*there, *number));
        for (there, number, packet) in &in_transit {
            let packet = Passing { now: packet.now + Span::from_secs(1 + *there as u64), ..*packet };
            arrive(&mut gateway, packet, fortunes[*number].report_lost);
        }
        // The last two arrive, and so does the report on the last: the first arrival causes no report.
        for seconds in [9_998, 9_999] {
            let last = send(&mut gateway);
            let last = Passing { now: last.now + Span::from_secs(seconds), ..last };
            arrive(&mut gateway, last, false);
        }
        let all = |holds: fn(&Fortune) -> bool| {
            fortunes.iter().filter(|fortune| holds(fortune)).count() as u64
        };
        let lost = all(|fortune| fortune.lost);
        let received = u64::from(before) + fortunes.len() as u64 - lost + 2;
        prop_assert_eq!(count(&gateway, "reported_received"), received);
        let dropped = count(&gateway, "reported_dropped") - count(&gateway, "reported_taken_back");
        prop_assert_eq!(dropped, lost);
        prop_assert_eq!(count(&gateway, "reported_marked"), all(|own| own.marked && !own.lost));
        let refused: u64 = ["reports_replayed", "reports_forged"].map(|name| count(&gateway, name)).iter().sum();
        prop_assert_eq!(refused, 0);
    }
}

/// Losses on the radio are reported separately, and charged only if configured.
#[test]
fn wireless_loss_is_no_congestion_unless_it_is_said_to_be() {
    for (radio, owed) in [(Radio::Apart, 0.0), (Radio::Congestion, 5.0)] {
        let mut gateway = PdnGateway::new(PdnGatewayParams { radio, ..params() });
        let mut end = enodeb(0.5);
        let draws = [0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9];
        for (ms, draw) in (1..).zip(draws) {
            let now = Time::ZERO + Span::from_millis(ms);
            let mut own = Passing { now, ..packet() };
            pass(&mut gateway, &mut own);
            if let Passage::Report(report) = end.pass(&mut own, || draw) {
                gateway.take(&report);
            }
        }
        assert_eq!((count(&gateway, "reported_here"), count(&gateway, "reported_dropped")), (5, 0));
        assert!((level(&gateway, "owed") - owed).abs() < 1e-9, "{radio:?}");
    }
}

#[test]
fn a_gateway_remembers_144_bytes_of_a_user_and_40_of_a_tunnel() {
    assert!(size_of::<Option<User>>() <= 144 && size_of::<TunnelLedger>() <= 40);
}
