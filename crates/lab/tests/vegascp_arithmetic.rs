//! Mark reading and window changes of the kernel program `tg_vegascp` (`bpf/vegascp.h`), compared with the source of
//! the simulator.

use crate::compiled;

use compiled::answers;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tidegate_mechanisms::price::{Encoding, Renewal};
use tidegate_mechanisms::sender::{
    Ack, Control, Marks, Moves, RateBy, VegasCp, VegasCpParams, Window,
};
use tidegate_mechanisms::units::{Demand, Span, Time, Whole};

const Q20: f64 = (1 << 20) as f64;
const Q24: f64 = (1 << 24) as f64;

/// Inputs of a source up to the end of a round trip.
#[derive(Clone, Debug)]
struct Round {
    cwnd: u32,
    history: u32,
    ln_base_q24: u32,
    willingness_q20: u32,
    rtt_us: u32,
    may_grow: bool,
    /// Packets delivered, and marked packets of them.
    acks: Vec<(u32, u32)>,
}

impl Round {
    fn line(&self) -> String {
        let Round { cwnd, history, ln_base_q24, willingness_q20, rtt_us, may_grow, acks } = self;
        let reported: Vec<_> = acks.iter().map(|(all, marked)| format!("{all} {marked}")).collect();
        format!(
            "round {cwnd} {history} {ln_base_q24} {willingness_q20} {rtt_us} {} {} {}",
            u8::from(*may_grow),
            acks.len(),
            reported.join(" ")
        )
    }

    /// Returns the simulated source's window, and whether the charge is so close to the payment that rounding decides.
    fn simulated(&self) -> (f64, bool) {
        let willingness = f64::from(self.willingness_q20) / Q20;
        let params = VegasCpParams {
            willingness_to_pay: Demand(willingness),
            history: Whole(self.history),
            renewal: Renewal::Sliding,
            rate_by: RateBy::Rtt,
            moves: Moves::AtOnce,
            slow_start: false,
        };
        let (mut source, mut window) =
            (VegasCp::new(params), Window { cwnd: f64::from(self.cwnd), ssthresh: 1.0 });
        source.set_price_encoding(Encoding::OneBit(f64::from(self.ln_base_q24) / Q24));
        let (now, rtt) = (Time::ZERO, Span::from_micros(self.rtt_us.into()));
        for &(delivered, marked) in &self.acks {
            let (prices, una, nxt, in_recovery) = (0, 0, 0, false);
            let reported = Marks { now, delivered, marked, prices, una, nxt, in_recovery };
            source.on_marks(&mut window, &reported);
        }
        let charge = source.path_price().unwrap_or(0.0) * window.cwnd / rtt.as_secs();
        let close = (charge / willingness - 1.0).abs() < 1e-4;
        let ack = Ack {
            now,
            acked: 1,
            delivered_bytes: 0,
            marked: 0,
            rtt: Some(rtt),
            one_way_delay: None,
            srtt: Some(rtt),
            in_flight: self.cwnd,
            window_limited: self.may_grow,
            round_start: true,
        };
        source.on_ack(&mut window, &ack);
        (window.cwnd, close)
    }
}

fn rounds() -> impl Strategy<Value = Round> {
    let acks = prop::collection::vec((0..6_u32, any::<prop::sample::Index>()), 0..40);
    (1..200_u32, 1..=64_u32, 10_000..10_000_000_u32, 1 << 16..u32::MAX, 1_000..500_000_u32, acks)
        .prop_map(|(cwnd, history, ln_base_q24, willingness_q20, rtt_us, acks)| Round {
            cwnd,
            history,
            ln_base_q24,
            // The same number of each length in bits, so that some charges are above the payment.
            willingness_q20: willingness_q20 >> (willingness_q20 % 17),
            rtt_us,
            may_grow: rtt_us % 3 != 0,
            acks: acks
                .into_iter()
                .map(|(all, some)| (all, some.index(all as usize + 1) as u32))
                .collect(),
        })
}

#[test]
fn a_round_trip_moves_the_window_as_it_moves_the_simulated_sources() {
    let mut runner = TestRunner::deterministic();
    let strategy = rounds();
    let rounds: Vec<Round> = (0..20_000)
        .map(|_| strategy.new_tree(&mut runner).expect("nothing is rejected").current())
        .collect();
    let Some(windows) = answers(&rounds.iter().map(Round::line).collect::<Vec<_>>()) else {
        return;
    };
    assert_eq!(windows.len(), rounds.len());
    let (mut up, mut down, mut undecided) = (0, 0, 0);
    for (round, window) in rounds.iter().zip(windows) {
        let (want, close) = round.simulated();
        if close {
            undecided += 1;
            continue;
        }
        assert!((window as f64 - want).abs() < 1e-9, "{round:?}: {window}, expected {want}");
        match (window as u32).cmp(&round.cwnd) {
            core::cmp::Ordering::Greater => up += 1,
            core::cmp::Ordering::Less => down += 1,
            core::cmp::Ordering::Equal => {}
        }
    }
    assert!(up > 1_000 && down > 1_000 && undecided < 100, "{up} up, {down} down, {undecided} not");
}

/// By hand, with base e: of 50 packets 25 are marked, so that the price is ln 2 = 0.69315; ten packets in 100 ms are
/// charged 69.3 a second. Only the last packets count, and if all are marked, half a packet counts as unmarked.
#[test]
fn a_window_of_ten_follows_what_half_the_marks_cost() {
    let line = |w: f64, acks: &str| {
        format!("round 10 50 {} {} 100000 1 {acks}", 1 << 24, (w * Q20) as u32)
    };
    let half = "2 25 0 25 25";
    let cases = [
        (line(69.4, half), 11),
        (line(69.2, half), 9),
        (line(69.2, "3 40 40 25 0 25 25"), 9),
        // All fifty marked: ln 100 is 4.605, 460.5 a second.
        (line(460.6, "1 50 50"), 11),
        (line(460.4, "1 70 70"), 9),
        // No packets, no change; no marks, no charge.
        (line(69.2, "0"), 10),
        (line(0.1, "1 1 0"), 11),
    ];
    let Some(got) = answers(&cases.each_ref().map(|(line, _)| line.clone())) else { return };
    assert_eq!(got, cases.map(|(_, want)| want));
}
