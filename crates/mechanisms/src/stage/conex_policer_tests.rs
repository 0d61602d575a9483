//! Tests of the ConEx policer: curves of figure 6, timelines, and laws.

use super::*;
use crate::parameters::Parameters;
use crate::stage::Ecn;
use crate::units::{Rate, Span, TokenRate};
use proptest::prelude::*;

/// The paper's default, 45 packets deep.
fn params(curve: PolicerCurve) -> ConexPolicerParams {
    ConexPolicerParams {
        fill_rate: TokenRate::Packets { thousandths_per_sec: 3_000 },
        depth: packets(45),
        tokens: CountedAs::Packets,
        curve,
        floor: None,
        initial: None,
        buckets: Buckets::ByUser,
        action: PolicerAction::Drop,
        drops: Stopped::All,
        charge_dropped: true,
        judged: Judged::OncePaid,
        charge_credit: true,
        upstream: Upstream::Ignore,
        not_conex: NotConex::Police,
        not_conex_rate: None,
        not_conex_burst: Bytes::new(15_000),
    }
}

fn packets(n: u64) -> Tokens {
    Tokens::Packets { thousandths: 1000 * n }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

const CONEX: Declared =
    Declared { conex: true, loss: false, mark: false, credit: false, re: false };
const MARK: Declared = Declared { mark: true, ..CONEX };
const LOSS: Declared = Declared { loss: true, ..CONEX };
const CREDIT: Declared = Declared { credit: true, ..CONEX };
const OUTSIDE: Declared = Declared { conex: false, ..CONEX };

fn packet(ms: u64, declared: Declared) -> Passing {
    Passing { now: at(ms), declared, ..Passing::of_user(0) }
}

/// Sends a packet with a draw of one half. Returns whether it passes.
fn send(policer: &mut ConexPolicer, packet: Passing) -> bool {
    policer.pass(&mut { packet }, || 0.5) == Passage::On
}

/// While there are tokens, packets without declarations take the fast path, which has the same result as the full one.
#[test]
fn most_packets_take_the_fast_path_and_are_counted() {
    let (mut policer, mut other) = (ConexPolicer::new(params(PolicerCurve::Mild)), 0);
    let marked = Passing { ecn: Ecn::Ce, ..packet(0, CONEX) };
    let packets = [packet(0, CONEX), packet(0, MARK), marked, packet(0, OUTSIDE)];
    for packet in packets.into_iter().cycle().take(200) {
        let before = policer.clone();
        let verdict = policer.fast_path(&packet.summary());
        let mut passed = before.clone();
        let passage = passed.pass(&mut { packet }, || 0.5);
        match verdict {
            FastVerdict::Pass => {
                assert_eq!((passage, format!("{passed:?}")), (Passage::On, format!("{policer:?}")));
                other += 1;
            }
            _ => {
                assert_eq!(
                    (verdict, format!("{before:?}")),
                    (FastVerdict::Full, format!("{policer:?}"))
                );
                policer = passed;
            }
        }
    }
    assert!((40..50).contains(&other), "{other} of fifty: as long as there are tokens");
}

fn fill(policer: &ConexPolicer, user: u32, ms: u64) -> f64 {
    let mut fill = f64::NAN;
    policer.levels(user, at(ms), &mut |_, level| fill = level);
    fill
}

fn count(policer: &ConexPolicer, user: u32, name: &str) -> u64 {
    let mut found = None;
    policer.counts(&mut |of, what, count| {
        if (of, what) == (user, name) {
            found = Some(count);
        }
    });
    found.expect("is counted")
}

/// Figure 6: drop probability as a function of the fill, from −1.5 d to d, at its corners and half-way between them.
#[test]
fn drop_functions_are_those_of_figure_6() {
    for (curve, points) in [
        (PolicerCurve::Strict, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
        (PolicerCurve::Mild, [1.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0]),
        (PolicerCurve::Soft, [1.0, 1.0, 0.5, 0.1, 0.05, 0.0, 0.0, 0.0]),
        (PolicerCurve::Observe, [0.0; 8]),
    ] {
        let shares = [-1.5, -1.0, -0.5, -0.1, -0.05, 0.0, 0.001, 1.0];
        for (share, want) in shares.into_iter().zip(points) {
            let got = curve.probability_at(share);
            assert!((got - want).abs() < 1e-9, "{curve:?} at {share} d: {got}, not {want}");
        }
    }
}

/// 45 declarations empty the bucket; the next ones follow the curve.
#[test]
fn timeline_of_each_curve() {
    for (curve, passed_in_a_row, lowest) in [
        (PolicerCurve::Strict, 44, -45.0),   // the 45th empties it
        (PolicerCurve::Mild, 47, -4.5),      // p > 0.5 from 2.25 below on: the 48th
        (PolicerCurve::Soft, 67, -45.0),     // p > 0.5 from 22.5 below on: the 68th
        (PolicerCurve::Observe, 200, -45.0), // all
    ] {
        let mut policer = ConexPolicer::new(params(curve));
        let passed = (0..200).take_while(|_| send(&mut policer, packet(0, MARK))).count();
        assert_eq!(passed, passed_in_a_row, "{curve:?}");
        for _ in 0..200 {
            send(&mut policer, packet(0, MARK));
        }
        assert_eq!(fill(&policer, 0, 0), lowest, "{curve:?}");
        assert_eq!(fill(&policer, 0, 2_000), lowest + 6.0, "{curve:?}: 3 packets/s come in");
        let paid_back = (-lowest / 3.0 * 1e3) as u64 + 1;
        assert!(send(&mut policer, packet(paid_back, CONEX)), "{curve:?}: it is open again");
    }
}

/// Where it would drop, a policer that deprioritises lets the packet pass as lower effort, and charges the same.
#[test]
fn what_would_be_dropped_becomes_lower_effort_instead() {
    for curve in [PolicerCurve::Strict, PolicerCurve::Mild, PolicerCurve::Soft] {
        let mut drops = ConexPolicer::new(params(curve));
        let action = PolicerAction::Deprioritise;
        let mut deprioritises = ConexPolicer::new(ConexPolicerParams { action, ..params(curve) });
        let mut lowered = 0;
        for n in 0..400 {
            let declared = [MARK, CONEX, OUTSIDE, LOSS][n as usize % 4];
            let mut packet = packet(10 * n, declared);
            let passes = send(&mut drops, packet);
            assert_eq!(deprioritises.pass(&mut packet, || 0.5), Passage::On);
            assert_eq!(packet.lower_effort, !passes, "{curve:?}: packet {n}");
            lowered += u64::from(packet.lower_effort);
            assert_eq!(fill(&drops, 0, 10 * n), fill(&deprioritises, 0, 10 * n), "{curve:?}: {n}");
        }
        assert!(lowered > 100, "{curve:?}: {lowered}");
        assert_eq!(count(&deprioritises, 0, "deprioritised_packets"), lowered);
        assert_eq!(count(&deprioritises, 0, "deprioritised_bytes"), 1500 * lowered);
    }
}

/// The last token passes one more declaration if the fill before charging decides.
#[test]
fn the_fill_decides_that_a_packet_leaves_or_the_one_that_it_finds() {
    for (judged, passed_in_a_row) in [(Judged::OncePaid, 44), (Judged::AsFound, 45)] {
        let strict = ConexPolicerParams { judged, ..params(PolicerCurve::Strict) };
        let mut policer = ConexPolicer::new(strict);
        let passed = (0..200).take_while(|_| send(&mut policer, packet(0, MARK))).count();
        assert_eq!(passed, passed_in_a_row, "{judged:?}");
        assert!(
            !send(&mut policer, packet(0, CONEX)),
            "{judged:?}: what declares nothing is stopped, too"
        );
    }
}

#[test]
fn only_what_is_declared_costs_and_each_declaration_once() {
    let mut policer = ConexPolicer::new(params(PolicerCurve::Mild));
    let both = Declared { loss: true, ..MARK };
    for (declared, left) in [
        (CONEX, 45.0),
        (MARK, 44.0),
        (LOSS, 43.0),
        (both, 41.0),
        (CREDIT, 40.0),
        (Declared { mark: true, ..OUTSIDE }, 40.0), // X = 0: L, E and C are ignored
    ] {
        assert!(send(&mut policer, packet(0, declared)));
        assert_eq!(fill(&policer, 0, 0), left, "{declared:?}");
    }
    assert_eq!(count(&policer, 0, "tokens_taken_packets"), 5);
    assert_eq!(count(&policer, 0, "declared_loss_packets"), 2);
    assert_eq!(count(&policer, 0, "declared_mark_bytes"), 3000);
    assert_eq!(count(&policer, 0, "not_conex_packets"), 1);
    let free = ConexPolicerParams { charge_credit: false, ..params(PolicerCurve::Mild) };
    let mut policer = ConexPolicer::new(free);
    send(&mut policer, packet(0, CREDIT));
    assert_eq!(fill(&policer, 0, 0), 45.0);
}

/// RFC 7713: in bytes, a declaration costs the size of the packet that carries it.
#[test]
fn in_bytes_a_declaration_costs_the_size_of_its_packet() {
    let mut policer = ConexPolicer::new(in_bytes(8_000, 64_000));
    send(&mut policer, Passing { len: Bytes::new(400), ..packet(0, MARK) });
    send(&mut policer, packet(0, LOSS));
    assert_eq!(fill(&policer, 0, 0), 64_000.0 - 1_900.0);
    assert_eq!(fill(&policer, 0, 1_000), 64_000.0 - 900.0);
    assert_eq!(count(&policer, 0, "tokens_taken_bytes"), 1_900);
}

fn in_bytes(bits_per_sec: u64, depth: u64) -> ConexPolicerParams {
    ConexPolicerParams {
        fill_rate: TokenRate::Bits(Rate::from_bps(bits_per_sec)),
        depth: Tokens::Bytes(Bytes::new(depth)),
        tokens: CountedAs::Bytes,
        ..params(PolicerCurve::Mild)
    }
}

/// The same declared bytes cost the same in packets of any size.
#[test]
fn a_large_packet_declares_no_cheaper_than_small_ones() {
    let taken = |len: u64| {
        let mut policer = ConexPolicer::new(in_bytes(8_000, 90_000));
        for _ in 0..36_000 / len {
            send(&mut policer, Passing { len: Bytes::new(len), ..packet(0, MARK) });
        }
        count(&policer, 0, "tokens_taken_bytes")
    };
    assert_eq!([taken(1_500), taken(9_000)], [36_000, 36_000]);
}

#[test]
fn a_rate_in_another_unit_than_the_tokens_is_an_error() {
    for (params, words) in [
        (
            ConexPolicerParams { tokens: CountedAs::Bytes, ..params(PolicerCurve::Mild) },
            "3 packets/s where tokens are bytes",
        ),
        (
            ConexPolicerParams { tokens: CountedAs::Packets, ..in_bytes(8_000, 64_000) },
            "where tokens are packets",
        ),
    ] {
        let errors = Parameters::errors(&params);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].0 == "fill_rate" && errors[0].1.contains(words), "{errors:?}");
    }
}

/// Nobody but the user stands upstream of a user's ingress: CE that packets have there is the user's own.
#[test]
fn a_mark_that_a_user_sets_pays_for_nothing() {
    let mut policer = ConexPolicer::new(params(PolicerCurve::Mild));
    for left in [44.0, 43.0, 42.0] {
        send(&mut policer, Passing { ecn: Ecn::Ce, ..packet(0, MARK) });
        assert_eq!(fill(&policer, 0, 0), left);
    }
    assert_eq!(count(&policer, 0, "marked_upstream_packets"), 3);
}

/// The charge is the congestion of the rest of the path (P2): declarations less upstream marks.
#[test]
fn behind_another_network_a_mark_pays_for_one_that_is_declared_later() {
    let behind = ConexPolicerParams { upstream: Upstream::Credit, ..params(PolicerCurve::Mild) };
    let mut policer = ConexPolicer::new(behind);
    let marked = |declared| Passing { ecn: Ecn::Ce, ..packet(0, declared) };
    for (sent, left) in [
        (marked(CONEX), 45.0),
        (packet(0, MARK), 45.0),
        (packet(0, MARK), 44.0),
        (marked(LOSS), 43.0), // a mark pays for marks
        (packet(0, LOSS), 42.0),
        (packet(0, MARK), 42.0),
    ] {
        send(&mut policer, sent);
        assert_eq!(fill(&policer, 0, 0), left);
    }
    assert_eq!(count(&policer, 0, "marked_upstream_packets"), 2);
}

/// Returns a policer whose buckets have reached the lowest fill of mild.
fn exhausted(params: ConexPolicerParams) -> ConexPolicer {
    let mut policer = ConexPolicer::new(params);
    for _ in 0..200 {
        send(&mut policer, packet(0, MARK));
    }
    policer
}

#[test]
fn what_is_stopped_is_all_packets_or_those_that_declare() {
    let open = |params: ConexPolicerParams| {
        let mut policer = exhausted(params);
        [CONEX, MARK, OUTSIDE].map(|declared| send(&mut policer, packet(0, declared)))
    };
    let all = params(PolicerCurve::Mild);
    assert_eq!(open(all.clone()), [false, false, false]);
    let declared = ConexPolicerParams { drops: Stopped::Declared, ..all };
    assert_eq!(open(declared), [true, false, true]);
}

#[test]
fn packets_outside_conex_have_a_policy_of_their_own() {
    let open = |not_conex: NotConex, rate: Option<u64>| {
        let not_conex_rate = rate.map(Rate::from_bps);
        let params = ConexPolicerParams { not_conex, not_conex_rate, ..params(PolicerCurve::Mild) };
        assert!(params.errors().is_empty());
        let mut policer = exhausted(params);
        (0..20).filter(|_| send(&mut policer, packet(1, OUTSIDE))).count()
    };
    assert_eq!(open(NotConex::Police, None), 0);
    assert_eq!(open(NotConex::Pass, None), 20);
    assert_eq!(open(NotConex::Drop, None), 0);
    assert_eq!(open(NotConex::Limit, Some(8_000)), 10, "15 kB at once, then 1 kB/s");
}

#[test]
fn a_dropped_declaration_costs_its_tokens_unless_it_is_free() {
    let strict = |charge_dropped| {
        let params = ConexPolicerParams { charge_dropped, ..params(PolicerCurve::Strict) };
        let policer = exhausted(params);
        [fill(&policer, 0, 0), count(&policer, 0, "tokens_taken_packets") as f64]
    };
    assert_eq!(strict(true), [-45.0, 90.0]);
    assert_eq!(strict(false), [1.0, 44.0], "who cannot pay does not pass, and owes nothing");
}

#[test]
fn users_have_buckets_of_their_own_or_share_one() {
    let left = |buckets| {
        let mut policer =
            ConexPolicer::new(ConexPolicerParams { buckets, ..params(PolicerCurve::Mild) });
        for user in [7, 3, 7] {
            send(&mut policer, Passing { user, ..packet(0, MARK) });
        }
        [fill(&policer, 3, 0), fill(&policer, 7, 0)]
    };
    assert_eq!(left(Buckets::ByUser), [44.0, 43.0]);
    assert_eq!(left(Buckets::One), [42.0, 42.0]);
}

#[test]
fn errors_are_reported_together() {
    let invalid = ConexPolicerParams {
        depth: Tokens::Bytes(Bytes::new(64_000)),
        initial: Some(Tokens::Bytes(Bytes::new(1))),
        not_conex: NotConex::Limit,
        ..params(PolicerCurve::Mild)
    };
    let keys: Vec<_> = Parameters::errors(&invalid).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["depth", "initial", "not_conex_rate"]);
    let shallow = ConexPolicerParams { depth: Tokens::Packets { thousandths: 500 }, ..invalid };
    let validate = ConexPolicer::validate(&shallow, Bytes::new(1500));
    assert_eq!(validate.expect("holds no packet").0, "depth");
}

/// Any packets: time, user, declarations, upstream mark.
fn any_packets() -> impl Strategy<Value = Vec<Passing>> {
    let one = (0..2_000u64, 0..3u32, any::<[bool; 5]>(), 64..1500u64);
    prop::collection::vec(one, 1..300).prop_map(|all| {
        let mut ms = 0;
        let packet = |(gap, user, flags, len): (u64, u32, [bool; 5], u64)| {
            let [conex, loss, mark, credit, marked] = flags;
            ms += gap;
            let declared = Declared { conex, loss, mark, credit, re: false };
            let ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
            Passing { user, ecn, len: Bytes::new(len), ..packet(ms, declared) }
        };
        all.into_iter().map(packet).collect()
    })
}

fn any_curve() -> impl Strategy<Value = PolicerCurve> {
    use PolicerCurve::{Mild, Observe, Soft, Strict};
    prop::sample::select(vec![Strict, Mild, Soft, Observe])
}

proptest! {
    /// No user is charged more than the inflow, the initial fill and the permitted debt: r t + d + e.
    #[test]
    fn tokens_taken_never_exceed_what_came_in_the_depth_and_the_floor(
        all in any_packets(), curve in any_curve(), draw in 0.0..1.0f64,
    ) {
        let mut policer = ConexPolicer::new(params(curve));
        let floor = if curve == PolicerCurve::Mild { 4.5 } else { 45.0 };
        for mut packet in all {
            policer.pass(&mut packet, || draw);
            let bound = 3.0 * packet.now.as_secs() + 45.0 + floor;
            prop_assert!(count(&policer, packet.user, "tokens_taken_packets") as f64 <= bound);
            let left = fill(&policer, packet.user, 0);
            prop_assert!((-floor..=45.0).contains(&left), "{left}");
        }
    }

    /// An observing policer drops nothing and writes into no packet; neither does any whose buckets never become empty.
    #[test]
    fn observing_changes_nothing(all in any_packets()) {
        let deep = ConexPolicerParams { depth: packets(1_000), ..params(PolicerCurve::Strict) };
        for params in [params(PolicerCurve::Observe), deep] {
            let mut policer = ConexPolicer::new(params);
            for before in &all {
                let mut packet = *before;
                prop_assert_eq!(policer.pass(&mut packet, || 0.0), Passage::On);
                prop_assert_eq!(packet, *before);
            }
        }
    }

    /// Users with equal traffic are treated equally, for any traffic and any other users.
    #[test]
    fn equal_users_stay_equal(all in any_packets(), curve in any_curve(), draw in 0.0..1.0f64) {
        let mut policer = ConexPolicer::new(params(curve));
        for packet in all {
            let of = |user| Passing { user, ..packet };
            let passages = [3, 9].map(|user| policer.pass(&mut of(user), || draw));
            prop_assert_eq!(&passages[0], &passages[1]);
            policer.pass(&mut of(5 + packet.user), || draw);
        }
        prop_assert_eq!(fill(&policer, 3, 1_000_000), fill(&policer, 9, 1_000_000));
    }

    /// For any history, a packet without declarations changes no bucket.
    #[test]
    fn what_declares_nothing_is_invisible_to_the_bucket(all in any_packets()) {
        let mut policer = ConexPolicer::new(params(PolicerCurve::Soft));
        let mut sparse = policer.clone();
        for packet in all {
            policer.pass(&mut { packet }, || 0.5);
            policer.pass(&mut Passing { declared: CONEX, ecn: Ecn::Ect0, ..packet }, || 0.5);
            sparse.pass(&mut { packet }, || 0.5);
            let user = packet.user;
            prop_assert_eq!(fill(&policer, user, 0), fill(&sparse, user, 0));
        }
    }
}
