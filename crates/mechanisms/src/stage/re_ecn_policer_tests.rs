//! Tests of the re-ECN policer: the paper's numbers, timelines, and laws.

use super::*;
use crate::parameters::Parameters;
use crate::stage::Sequence;
use crate::units::Rate;
use proptest::prelude::*;

const P: f64 = 0.01;
const ROUND_TRIP: Span = Span::from_millis(100);
const PACKET: f64 = 1500.0;

/// T = 100 ms, ten packets deep, and a fill rate above all allowances.
fn params() -> ReEcnPolicerParams {
    ReEcnPolicerParams {
        fill_rate: TokenRate::Bits(Rate::from_bps(1_000_000_000)),
        depth: Tokens::Bytes(Bytes::new(15_000)),
        initial: None,
        buckets: BucketScope::ByFlow,
        tokens: Taken::Data,
        sanction: Sanction::Discard,
        charge_dropped: false,
        k: Factor(MOST_K),
        round_trip: Some(ROUND_TRIP),
        measures: false,
        signals: Signals::Events,
        weight: Share(0.125),
        outside: Outside::Police,
        memory: Bytes::new(64_000_000),
    }
}

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

fn packet(seconds: f64, says: ReEcn) -> Passing {
    Passing { now: at(seconds), ..Passing::in_re_ecn(says) }
}

/// Sends a packet. Returns whether it passes for any draw.
fn send(policer: &mut ReEcnPolicer, packet: Passing) -> bool {
    policer.pass(&mut { packet }, || panic!("drew")) == Passage::On
}

/// Returns the share dropped of a sender at a rate [B/s] that declares each n-th packet, after its measurements have
/// settled.
fn lost_share(params: ReEcnPolicerParams, bytes_per_sec: f64, n: u64) -> f64 {
    let mut policer = ReEcnPolicer::new(params);
    let (mut lost, mut all, mut seed) = (0, 0, 1_u64);
    for number in 1..=200_000_u64 {
        let says = if number % n == 0 { ReEcn::Positive } else { ReEcn::Neutral };
        let packet = packet(number as f64 * PACKET / bytes_per_sec, says);
        let draw = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        let passed = policer.pass(&mut { packet }, draw) == Passage::On;
        if number > 20_000 {
            all += 1;
            if !passed {
                lost += 1;
            }
        }
    }
    f64::from(lost) / f64::from(all)
}

fn level(policer: &ReEcnPolicer, name: &str) -> f64 {
    let mut found = f64::NAN;
    policer.levels(0, Time::ZERO, &mut |what, level| {
        if what == name {
            found = level;
        }
    });
    found
}

fn count(policer: &ReEcnPolicer, name: &str) -> Option<u64> {
    let mut found = None;
    policer.counts(&mut |_, what, count| {
        if what == name {
            found = Some(count);
        }
    });
    found
}

/// Section II: k = √1.5, s = 1500 B, T = 0.1 s, p = 0.01.
#[test]
fn what_is_allowed_is_the_paper_s_rate_and_classes_are_as_one_over_the_root_of_p() {
    let allowed = |p| tcp_fair_bytes_per_sec(MOST_K, PACKET, 0.1, p);
    assert_eq!(allowed(P).round(), 183_712.0);
    for (p, share) in [(0.01, 1.0), (0.05, 0.447), (0.1, 0.316), (0.2, 0.224)] {
        assert!((allowed(p) / allowed(0.01) - share).abs() < 0.001, "{p}");
    }
}

/// Section II: −s + k s Δt/(T √p).
#[test]
fn a_packet_takes_its_size_and_brings_what_came_in_since_the_last() {
    for (elapsed_ms, p) in [(0, 0.01), (5, 0.01), (10, 0.04), (20, 0.25)] {
        let elapsed = Span::from_millis(elapsed_ms);
        let change = ReEcnPolicer::change_bytes(&params(), Bytes::new(1500), elapsed, p, false);
        let fair = tcp_fair_bytes_per_sec(MOST_K, PACKET, 0.1, p);
        let want = fair * elapsed.as_secs() - PACKET;
        assert!((change - want).abs() < 0.01, "{elapsed:?}, {p}: {change}, not {want}");
    }
}

/// By hand. The fill rate is B₁ = √1.5 · 1500/0.1 = 18,371 B/s with N = 1, √N times as much with another N; the very
/// first packet is the first event, n packets after the last event N ← N + (n − N)/8, and before that as soon as n > N.
#[test]
fn a_bucket_in_time_as_its_owner_declares_and_is_silent() {
    let fill_rate = TokenRate::Bits(Rate::from_bps(1_200_000));
    let [depth, initial] = [30_000, 20_000].map(|bytes| Tokens::Bytes(Bytes::new(bytes)));
    let given = ReEcnPolicerParams { fill_rate, depth, initial: Some(initial), ..params() };
    let mut policer = ReEcnPolicer::new(given);
    let (positive, neutral) = (ReEcn::Positive, ReEcn::Neutral);
    for (seconds, says, fill, interval) in [
        (0.0, positive, 18_500.0, 1.0),
        // The inflow is 918.6 B; declarations within a round trip are the same event.
        (0.05, positive, 17_918.6, 1.0),
        // 2755.7 B. Two packets without an event exceed N.
        (0.2, neutral, 19_174.2, 1.125),
        // 1948.6 B, at √1.125 times the rate. The next event comes three packets after the previous one.
        (0.3, positive, 19_622.8, 1.25),
        // 205.4 B, at √1.25 times the rate.
        (0.31, neutral, 18_328.2, 1.25),
        // More than the depth.
        (2.0, neutral, 28_500.0, 1.34375),
    ] {
        assert!(send(&mut policer, packet(seconds, says)));
        let found = (level(&policer, "fill"), 1.0 / level(&policer, "declared_share"));
        let is_close = (found.0 - fill).abs() < 0.1 && (found.1 - interval).abs() < 1e-6;
        assert!(is_close, "at {seconds} s: {found:?}, not {:?}", (fill, interval));
    }
}

#[test]
fn an_unresponsive_sender_at_twice_what_is_allowed_loses_half() {
    let allowed = tcp_fair_bytes_per_sec(MOST_K, PACKET, 0.1, P);
    for sanction in [Sanction::Discard, Sanction::Probability] {
        for (times, want) in [(0.9, 0.0), (2.0, 0.5), (4.0, 0.75)] {
            let depth = Tokens::Bytes(Bytes::new(150_000));
            let given = ReEcnPolicerParams { sanction, depth, ..params() };
            let lost = lost_share(given, times * allowed, 100);
            assert!((lost - want).abs() < 0.02, "{sanction:?} at {times} B: {lost}, not {want}");
        }
    }
}

/// A sender that declares nothing, outside re-ECN or not, gets exactly the fill rate.
#[test]
fn a_sender_that_declares_nothing_has_what_comes_in() {
    let rate = TokenRate::Bits(Rate::from_bps(1_200_000));
    for says in [ReEcn::Neutral, ReEcn::Outside] {
        let mut policer = ReEcnPolicer::new(ReEcnPolicerParams { fill_rate: rate, ..params() });
        let all = (0..20_000).map(|number| packet(f64::from(number) * 0.001, says));
        let passed = all.filter(|packet| send(&mut policer, *packet)).count();
        assert!((passed as f64 - 2_010.0).abs() <= 1.0, "{says:?}: {passed} of 10 + 2000");
        assert_eq!(count(&policer, "until_sanction_us"), Some(11_000), "ten, and one that came in");
    }
}

/// The rate is B's as long as declarations come, and rises gradually to the fill rate when they do not.
#[test]
fn a_sender_that_stops_to_declare_is_believed_little_by_little() {
    let fill_rate = TokenRate::Bits(Rate::from_bps(8_000_000));
    let mut policer = ReEcnPolicer::new(ReEcnPolicerParams { fill_rate, ..params() });
    for number in 1..=2_000 {
        let says = if number % 100 == 0 { ReEcn::Positive } else { ReEcn::Neutral };
        policer.pass(&mut packet(f64::from(number) * 0.01, says), || 0.5);
    }
    let allowed = tcp_fair_bytes_per_sec(MOST_K, PACKET, 0.1, P) * 8.0;
    assert!((level(&policer, "allowed_bps") / allowed - 1.0).abs() < 1e-4);
    let mut after = |more: i32| {
        for number in 1..=more {
            policer.pass(&mut packet(20.0 + f64::from(number) * 0.01, ReEcn::Neutral), || 0.5);
        }
        level(&policer, "allowed_bps")
    };
    assert!((after(100) / allowed - 1.0).abs() < 1e-4, "as rare as before");
    let later = after(400) / allowed;
    assert!(later > 1.2 && later < 1.6, "{later}");
    assert_eq!(after(100_000), 8e6);
}

/// TCP reacts once a round trip: declarations within one are one event; otherwise each counts.
#[test]
fn what_is_declared_within_a_round_trip_is_one_event() {
    for (signals, want) in [(Signals::Events, 0.01), (Signals::Each, 0.05)] {
        let mut policer = ReEcnPolicer::new(ReEcnPolicerParams { signals, ..params() });
        for number in 1..=20_000 {
            // Five in a row, of a hundred packets.
            let says = if number % 100 < 5 { ReEcn::Positive } else { ReEcn::Neutral };
            policer.pass(&mut packet(f64::from(number) * 0.01, says), || 0.5);
        }
        let share = level(&policer, "declared_share");
        assert!((share / want - 1.0).abs() < 0.25, "{signals:?}: {share}, not {want}");
    }
}

/// As in the paper's sentence, only positive packets use tokens; credit does as well.
#[test]
fn positive_packets_and_credit_alone_take_positive_tokens() {
    let packets = |n: u64| Tokens::Packets { thousandths: 1000 * n };
    let given = ReEcnPolicerParams {
        tokens: Taken::Positive,
        fill_rate: TokenRate::Packets { thousandths_per_sec: 0 },
        depth: packets(3),
        round_trip: None,
        ..params()
    };
    let mut policer = ReEcnPolicer::new(given);
    for (says, left) in [
        (ReEcn::Neutral, 3.0),
        (ReEcn::Negative, 3.0),
        (ReEcn::Outside, 3.0),
        (ReEcn::Positive, 2.0),
        (ReEcn::Credit, 1.0),
        (ReEcn::Cancelled, 0.0),
    ] {
        assert!(send(&mut policer, packet(0.0, says)), "{says:?}");
        assert_eq!(level(&policer, "fill"), left, "{says:?}");
    }
    assert!(!send(&mut policer, packet(0.0, ReEcn::Neutral)), "nothing is left for anybody");
}

/// A flow's request and its first data give its round trip; the configured one is a lower bound.
#[test]
fn a_round_trip_is_measured_from_request_to_data() {
    for (data_at, want_s) in [(0.3, 0.3), (0.001, 0.1)] {
        let mut policer = ReEcnPolicer::new(ReEcnPolicerParams { measures: true, ..params() });
        send(&mut policer, Passing { is_request: true, ..packet(0.0, ReEcn::Outside) });
        for number in 0..10_000 {
            let says = if number % 100 == 99 { ReEcn::Positive } else { ReEcn::Neutral };
            policer.pass(&mut packet(data_at + f64::from(number) * 0.01, says), || 0.5);
        }
        let want = 8.0 * tcp_fair_bytes_per_sec(MOST_K, PACKET, want_s, P);
        let allowed = level(&policer, "allowed_bps");
        assert!((allowed / want - 1.0).abs() < 1e-3, "{allowed} of {want}");
    }
}

/// Until data has answered a request, only r bounds the fill rate, for any declarations, and no more passes.
#[test]
fn a_round_trip_that_is_measured_alone_bounds_nothing_before_it_is_known() {
    let alone = ReEcnPolicerParams { round_trip: None, measures: true, ..params() };
    assert_eq!(alone.errors(), []);
    let r = 8.0 * 100_000.0;
    let alone =
        ReEcnPolicerParams { fill_rate: TokenRate::Bits(Rate::from_bps(r as u64)), ..alone };
    let declaring = |policer: &mut ReEcnPolicer, from: f64| {
        for number in 0..10_000 {
            let says = if number % 100 == 99 { ReEcn::Positive } else { ReEcn::Neutral };
            policer.pass(&mut packet(from + f64::from(number) * 0.02, says), || 0.5);
        }
        level(policer, "allowed_bps")
    };
    let request = |seconds: f64| Passing { is_request: true, ..packet(seconds, ReEcn::Outside) };
    let mut policer = ReEcnPolicer::new(alone);
    assert_eq!(declaring(&mut policer, 0.0), r, "nothing was requested");
    send(&mut policer, request(300.0));
    let fair = 8.0 * tcp_fair_bytes_per_sec(MOST_K, PACKET, 0.5, P);
    let allowed = declaring(&mut policer, 300.5);
    assert!(fair < r && (allowed / fair - 1.0).abs() < 1e-3, "{allowed} of {fair}");
    send(&mut policer, request(600.0));
    assert_eq!(declaring(&mut policer, 600.0), r, "data does not wait for an answer");
}

#[test]
fn a_user_has_one_bucket_for_all_its_flows() {
    let rate = TokenRate::Bits(Rate::from_bps(0));
    for (buckets, want) in [(BucketScope::ByUser, 10), (BucketScope::ByFlow, 50)] {
        let given = ReEcnPolicerParams { fill_rate: rate, buckets, ..params() };
        let mut policer = ReEcnPolicer::new(given);
        let all = (0..500).map(|n| Passing { flow: n % 5, ..packet(0.0, ReEcn::Neutral) });
        assert_eq!(all.filter(|packet| send(&mut policer, *packet)).count(), want);
    }
}

#[test]
fn all_inconsistent_parameters_are_reported_together() {
    let invalid = ReEcnPolicerParams {
        k: Factor(1.3),
        round_trip: None,
        initial: Some(Tokens::Bytes(Bytes::new(15_001))),
        memory: Bytes::new(1),
        ..params()
    };
    let keys: Vec<_> = invalid.errors().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["initial", "k", "round_trip", "memory"]);
    assert!(Parameters::errors(&params()).is_empty());
    let user = ReEcnPolicerParams { buckets: BucketScope::ByUser, measures: true, ..params() };
    assert_eq!(user.errors()[0].0, "measures");
}

#[test]
fn a_policer_remembers_56_bytes_of_a_flow() {
    assert_eq!(size_of::<Option<Account>>(), 56);
}

/// A million flows with a packet each, besides an honest one that continues.
#[test]
fn a_million_identities_fit_and_an_honest_flow_stays_known() {
    let mut policer = ReEcnPolicer::new(params());
    let honest = |n: u32| {
        let says = if n.is_multiple_of(50) { ReEcn::Positive } else { ReEcn::Neutral };
        Passing { flow: 7, ..packet(f64::from(n) * 0.02, says) }
    };
    let mut lost = 0;
    for n in 1..=1_000_000_u32 {
        let sequence = Some(Sequence { connection: n, number: 0, sent: Time::ZERO });
        let now = at(f64::from(n) * 1e-4);
        policer.pass(&mut Passing { now, sequence, ..packet(0.0, ReEcn::Neutral) }, || 0.5);
        if n % 200 == 0 && !send(&mut policer, honest(n / 200)) {
            lost += 1;
        }
    }
    assert_eq!(lost, 0);
    assert!((level(&policer, "declared_share") - 0.02).abs() < 1e-6, "of the honest flow");
    assert!(policer.state_bytes() < 64 << 20, "{} B", policer.state_bytes());
}

proptest! {
    /// For any declarations, no more passes than the depth and the maximum inflow.
    #[test]
    fn no_more_passes_than_the_depth_and_what_comes_in(
        steps in prop::collection::vec((0..30_u32, 0..6_usize), 1..400),
    ) {
        let fill_rate = TokenRate::Bits(Rate::from_bps(2_000_000));
        let mut policer = ReEcnPolicer::new(ReEcnPolicerParams { fill_rate, ..params() });
        let kinds = [ReEcn::Outside, ReEcn::Neutral, ReEcn::Positive, ReEcn::Negative,
                     ReEcn::Cancelled, ReEcn::Credit];
        let (mut now, mut passed) = (0.0, 0.0);
        for (ms, kind) in steps {
            now += f64::from(ms) / 1e3;
            if send(&mut policer, packet(now, kinds[kind])) {
                passed += PACKET;
            }
            prop_assert!(passed <= 15_000.0 + 250_000.0 * now + 1e-3, "{passed} by {now} s");
        }
    }
}

/// Ten tokens and one a second: thirty positive packets at once, and neutral ones afterwards. Where dropped packets cost
/// nothing, a second pays for all of them; otherwise the bucket owes its depth, and stops all packets for eleven seconds.
#[test]
fn a_congestion_bucket_stops_all_packets_until_their_congestion_is_paid() {
    for (charge_dropped, open_at_s) in [(false, 1.0), (true, 11.0)] {
        let mut policer = ReEcnPolicer::new(ReEcnPolicerParams {
            fill_rate: TokenRate::Packets { thousandths_per_sec: 1_000 },
            depth: Tokens::Packets { thousandths: 10_000 },
            tokens: Taken::Positive,
            round_trip: None,
            charge_dropped,
            ..params()
        });
        let passed = (0..30).filter(|_| send(&mut policer, packet(0.0, ReEcn::Positive))).count();
        assert_eq!(passed, 10);
        for (seconds, passes) in [(0.5, false), (open_at_s - 0.01, false), (open_at_s + 0.01, true)]
        {
            assert_eq!(send(&mut policer, packet(seconds, ReEcn::Neutral)), passes, "{seconds} s");
        }
    }
}

#[test]
fn packets_that_are_dropped_cost_only_where_congestion_does() {
    let errors = |tokens| ReEcnPolicerParams { tokens, charge_dropped: true, ..params() }.errors();
    assert_eq!(
        errors(Taken::Data).iter().map(|(key, _)| *key).collect::<Vec<_>>(),
        ["charge_dropped"]
    );
    assert_eq!(errors(Taken::Positive), []);
}
