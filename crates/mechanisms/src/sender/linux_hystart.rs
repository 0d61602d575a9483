//! HyStart of Linux: leaves slow start when the ACKs of one window arrive in a train as long as half the round trip, or
//! when the round-trip time rises. S. Ha and I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks
//! 55(9), 2011; constants and details as in Linux 5.5 and later.
//!
//! From a window of 16 segments on, with d the minimum round-trip time of the connection, slow start ends (ssthresh ←
//! cwnd) as soon as one of these conditions holds:
//!
//! ```text
//! ACK train  ACKs at most 2 ms apart, the last of them more than (d + 1 ms)/2 after the round began
//! delay      8 samples seen in this round, and its smallest round-trip time
//!            > d + clamp(d/8, 4 ms, 16 ms)
//! ```
//!
//! An ACK more than 2 ms after the previous one ends the train for the rest of the round. The eighth sample completes
//! the minimum, which is first evaluated at the ninth. The 1 ms is Linux's allowance for bursts of segmentation offload
//! below 2 Gb/s.
//!
//! Differs from the paper, as Linux does: half of the round trip instead of an estimate of the one-way delay, and the
//! minimum of the round's samples instead of their mean. For senders without pacing.

use super::Ack;
use super::slow_start::{SlowStartAction, WatchSlowStart};
use crate::mechanism::About;
use crate::parameters;
use crate::units::{Span, Time};

const LOW_WINDOW: f64 = 16.0;
const MIN_SAMPLES: u32 = 8;
const ACK_SPACING: Span = Span::from_millis(2);
const BURST: Span = Span::from_millis(1);
const MIN_DELAY_THRESH: Span = Span::from_millis(4);
const MAX_DELAY_THRESH: Span = Span::from_millis(16);

parameters! {
    /// Linux's own HyStart, over every slow start from nothing.
    pub struct LinuxHyStartParams {}
}

/// Detector of the end of slow start.
#[derive(Clone, Debug, Default)]
pub struct LinuxHyStart {
    /// Minimum round-trip time of the connection.
    delay_min: Option<Span>,
    /// Start of this round.
    round_start: Time,
    /// Time of the last ACK of the train.
    train_end: Time,
    /// Minimum round-trip time of this round.
    round_min: Option<Span>,
    /// Number of samples in this round, up to [`MIN_SAMPLES`].
    samples: u32,
}

impl WatchSlowStart for LinuxHyStart {
    type Params = LinuxHyStartParams;

    const ABOUT: About = About {
        name: "linux-hystart",
        title: "HyStart as in Linux",
        source: "Ha and Rhee, Computer Networks 55(9), 2011; Linux 5.5",
        usage: r#"tcp.congestion_control = { kind = "cubic", slow_start_exit = "linux-hystart" }"#,
        file: "sender/linux_hystart.rs",
        text: crate::mechanism::source_text!("linux_hystart.rs"),
    };

    fn new(_: &LinuxHyStartParams) -> Self {
        LinuxHyStart::default()
    }

    fn on_ack(&mut self, ack: &Ack, cwnd: f64) -> SlowStartAction {
        SlowStartAction { segments: None, exit: self.ends(ack, cwnd) }
    }
}

impl LinuxHyStart {
    /// Whether slow start ends with this ACK.
    fn ends(&mut self, ack: &Ack, cwnd: f64) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        let delay_min = self.delay_min.map_or(rtt, |min| min.min(rtt));
        self.delay_min = Some(delay_min);
        if ack.round_start {
            self.round_start = ack.now;
            self.train_end = ack.now;
            self.round_min = None;
            self.samples = 0;
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        let train = self.train_is_long(ack.now, delay_min);
        let delay = self.delay_has_risen(rtt, delay_min);
        train || delay
    }

    fn train_is_long(&mut self, now: Time, delay_min: Span) -> bool {
        if now.since(self.train_end) > ACK_SPACING {
            return false;
        }
        self.train_end = now;
        now.since(self.round_start).as_nanos() > (delay_min + BURST).as_nanos() / 2
    }

    fn delay_has_risen(&mut self, rtt: Span, delay_min: Span) -> bool {
        let round_min = self.round_min.map_or(rtt, |min| min.min(rtt));
        self.round_min = Some(round_min);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let eighth = Span::from_nanos(delay_min.as_nanos() / 8);
        round_min > delay_min + eighth.clamp(MIN_DELAY_THRESH, MAX_DELAY_THRESH)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;

    /// Runs a round of `acks` ACKs `spacing_us` apart. Returns the number of the one that ends slow start.
    fn round(
        hystart: &mut LinuxHyStart,
        start_ms: u64,
        acks: u64,
        spacing_us: u64,
        rtt_us: u64,
        cwnd: f64,
    ) -> Option<u64> {
        (0..acks).find(|n| {
            let now = Time::from_nanos(start_ms * 1_000_000 + n * spacing_us * 1_000);
            let rtt = Some(Span::from_micros(rtt_us));
            hystart.ends(&Ack { now, rtt, round_start: *n == 0, ..ack_at(0) }, cwnd)
        })
    }

    /// RTT 100 ms, an ACK every 1.2 ms: (100 + 1)/2 = 50.5 ms are exceeded by the 43rd after the first.
    #[test]
    fn a_train_of_acks_as_long_as_half_the_round_trip_ends_slow_start() {
        let mut hystart = LinuxHyStart::default();
        assert_eq!(round(&mut hystart, 0, 20, 1_200, 100_000, 20.0), None);
        assert_eq!(round(&mut hystart, 100, 80, 1_200, 100_000, 80.0), Some(43));
    }

    /// As with delayed ACKs at 10 Mb/s: 2.4 ms.
    #[test]
    fn acks_more_than_two_milliseconds_apart_are_no_train() {
        let mut hystart = LinuxHyStart::default();
        assert_eq!(round(&mut hystart, 0, 40, 2_400, 90_000, 80.0), None);
    }

    #[test]
    fn the_ninth_sample_of_a_round_is_the_first_to_detect_a_rise() {
        for (base_ms, threshold_ms) in [(10, 4), (80, 10), (400, 16)] {
            let ends_at = |rise_us: u64| {
                let mut hystart = LinuxHyStart::default();
                round(&mut hystart, 0, 10, 3_000, base_ms * 1_000, 10.0);
                round(&mut hystart, 500, 20, 3_000, base_ms * 1_000 + rise_us, 20.0)
            };
            assert_eq!(ends_at(threshold_ms * 1_000), None, "base {base_ms} ms");
            assert_eq!(ends_at(threshold_ms * 1_000 + 1), Some(8), "base {base_ms} ms");
        }
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut hystart = LinuxHyStart::default();
        round(&mut hystart, 0, 10, 1_000, 10_000, 10.0);
        assert_eq!(round(&mut hystart, 100, 40, 1_000, 90_000, 15.0), None);
    }
}
