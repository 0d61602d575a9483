//! HyStart++: leaves slow start when the round-trip time rises, before packets are lost.
//! RFC 9406, section 4; constants from section 4.3.
//!
//! Per round trip the minimum of the round-trip samples is kept. In slow start:
//!
//! ```text
//! cwnd ← cwnd + min(N, L)                                    N segments acknowledged
//! RttThresh = clamp(lastRoundMinRTT/8, 4 ms, 16 ms)
//! 8 samples seen and currentRoundMinRTT ≥ lastRoundMinRTT + RttThresh:  enter CSS,
//!                                                            cssBaselineMinRtt ← currentRoundMinRTT
//! ```
//!
//! In conservative slow start (CSS), to distinguish a persistent rise from jitter:
//!
//! ```text
//! cwnd ← cwnd + min(N, L)/4
//! 8 samples seen and currentRoundMinRTT < cssBaselineMinRtt:  back to slow start
//! after 5 rounds (the one it began in included):              ssthresh ← cwnd
//! ```
//!
//! L = 8, as for senders without pacing. Only the first slow start of a connection is monitored; on congestion the
//! controller drops the detector.
//!
//! Not specified by the RFC: the ACK that starts a round belongs to the new round.

use super::Ack;
use super::slow_start::{SlowStartAction, WatchSlowStart};
use crate::mechanism::About;
use crate::parameters;
use crate::units::Span;

const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// Maximum number of segments that one ACK counts for, L.
const GROWTH_LIMIT: u32 = 8;

parameters! {
    /// HyStart++, RFC 9406, over the first slow start of a connection.
    pub struct HyStartParams {}
}

/// Detector of the end of slow start.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    phase: Phase,
    /// lastRoundMinRTT.
    last_round_min: Option<Span>,
    /// currentRoundMinRTT.
    current_round_min: Option<Span>,
    /// rttSampleCount.
    samples: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    SlowStart,
    /// Conservative slow start.
    Css { baseline_min: Span, rounds: u32 },
}

impl WatchSlowStart for HyStart {
    type Params = HyStartParams;

    const ABOUT: About = About {
        name: "hystart",
        title: "HyStart++",
        source: "RFC 9406",
        usage: r#"tcp.congestion_control = { kind = "cubic", slow_start_exit = "hystart" }"#,
        file: "sender/hystart.rs",
        text: crate::mechanism::source_text!("hystart.rs"),
    };

    fn new(_: &HyStartParams) -> Self {
        HyStart::default()
    }

    fn on_ack(&mut self, ack: &Ack, _: f64) -> SlowStartAction {
        if ack.round_start {
            self.start_round();
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min = Some(self.current_round_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        let counted = f64::from(ack.acked.min(GROWTH_LIMIT));
        let segments = match self.phase {
            Phase::SlowStart => counted,
            Phase::Css { .. } => counted / CSS_GROWTH_DIVISOR,
        };
        self.compare_rounds();
        let exit = matches!(self.phase, Phase::Css { rounds, .. } if rounds >= CSS_ROUNDS);
        SlowStartAction { segments: Some(if exit { 0.0 } else { segments }), exit }
    }
}

impl HyStart {
    fn start_round(&mut self) {
        self.last_round_min = self.current_round_min.take();
        self.samples = 0;
        if let Phase::Css { rounds, .. } = &mut self.phase {
            *rounds += 1;
        }
    }

    /// Switches between slow start and CSS, once a round has enough samples.
    fn compare_rounds(&mut self) {
        let Some(current) = self.current_round_min.filter(|_| self.samples >= N_RTT_SAMPLE) else {
            return;
        };
        match self.phase {
            Phase::SlowStart => {
                if self.last_round_min.is_some_and(|last| current >= last + threshold(last)) {
                    self.phase = Phase::Css { baseline_min: current, rounds: 0 };
                }
            }
            Phase::Css { baseline_min, .. } => {
                if current < baseline_min {
                    self.phase = Phase::SlowStart;
                }
            }
        }
    }

    /// Whether growth is reduced by conservative slow start.
    pub fn in_conservative_slow_start(&self) -> bool {
        self.phase != Phase::SlowStart
    }
}

/// Returns RttThresh.
fn threshold(last_round_min: Span) -> Span {
    Span::from_nanos(last_round_min.as_nanos() / MIN_RTT_DIVISOR)
        .clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    /// Runs a round of `acks` ACKs of one segment with the same round-trip time. Returns the growth in segments, and
    /// whether slow start ended.
    fn round(hystart: &mut HyStart, acks: u32, rtt_ms: u64) -> (f64, bool) {
        let mut gained = 0.0;
        for n in 0..acks {
            let rtt = Some(Span::from_millis(rtt_ms));
            let growth = hystart.on_ack(&Ack { rtt, round_start: n == 0, ..ack_at(0) }, 100.0);
            gained += growth.segments.expect("says how many");
            if growth.exit {
                return (gained, true);
            }
        }
        (gained, false)
    }

    #[test]
    fn a_steady_round_trip_time_keeps_slow_start_going() {
        let mut hystart = HyStart::default();
        for acks in [10, 20, 40, 80, 160] {
            assert_eq!(round(&mut hystart, acks, 100), (f64::from(acks), false));
        }
    }

    /// RttThresh is an eighth of the last round's, between 4 and 16 ms.
    #[test]
    fn a_rise_by_the_threshold_slows_growth_and_one_below_it_does_not() {
        for (base_ms, threshold_ms) in [(10, 4), (80, 10), (400, 16)] {
            let slowed_by = |rise_ms: u64| {
                let mut hystart = HyStart::default();
                round(&mut hystart, 10, base_ms);
                round(&mut hystart, 10, base_ms + rise_ms);
                hystart.in_conservative_slow_start()
            };
            assert!(!slowed_by(threshold_ms - 1), "base {base_ms} ms");
            assert!(slowed_by(threshold_ms), "base {base_ms} ms");
        }
    }

    #[test]
    fn fewer_than_eight_samples_decide_nothing() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 7, 50);
        round(&mut hystart, 7, 90);
        assert!(!hystart.in_conservative_slow_start());
        round(&mut hystart, 8, 150);
        assert!(hystart.in_conservative_slow_start());
    }

    /// 8 ACKs at full growth until CSS starts; the round's other 12 grow by a quarter, as do four whole rounds after
    /// it; the start of the next ends slow start.
    #[test]
    fn a_lasting_rise_ends_slow_start_after_five_rounds_of_a_quarter_of_the_growth() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 20, 50);
        assert_eq!(round(&mut hystart, 20, 60), (8.0 + 12.0 / 4.0, false));
        for _ in 0..4 {
            assert_eq!(round(&mut hystart, 20, 60), (5.0, false));
        }
        assert_eq!(round(&mut hystart, 20, 60), (0.0, true));
    }

    #[test]
    fn a_passing_rise_resumes_slow_start() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 20, 50);
        round(&mut hystart, 20, 60);
        assert!(hystart.in_conservative_slow_start());
        round(&mut hystart, 20, 55); // below the baseline of 60 ms
        assert!(!hystart.in_conservative_slow_start());
        assert_eq!(round(&mut hystart, 20, 55), (20.0, false));
    }

    #[test]
    fn an_ack_for_many_segments_counts_for_eight() {
        let growth = HyStart::default().on_ack(&Ack { acked: 30, ..ack_at(0) }, 100.0);
        assert_eq!(growth, SlowStartAction { segments: Some(8.0), exit: false });
    }
}
