//! Detection of a policing token bucket and of its rate (`bbr_lt_bw_sampling`; T. Flach et al., "An Internet-wide
//! analysis of traffic policing", SIGCOMM 2016).
//!
//! ```text
//! interval: from a loss to another, 4 to 16 round trips long, in which lost ≥ 50/256 · delivered
//! two in a row whose rates differ by ≤ 1/8, or by ≤ 4 kbit/s: policed at their mean, for 48 round trips
//! ```

use crate::sender::path_model::Totals;

/// Minimum length of an interval, round trips.
const LEAST_ROUNDS: u32 = 4;
/// Minimum ratio of lost to delivered segments in an interval with policing.
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;
/// Maximum relative difference of two equal rates.
const RATIO: f64 = 1.0 / 8.0;
/// Maximum absolute difference of two equal rates, bytes per second.
const DIFFERENCE: f64 = 4_000.0 / 8.0;
/// Number of round trips for which the rate is used.
const USED_ROUNDS: u32 = 48;

/// Result of an ACK for the detection of a policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicerFinding {
    /// No change.
    None,
    /// A policer is detected.
    Policed,
    /// The detected rate has been used for long enough.
    Over,
}

/// State of the detection. Rates are in segments per second.
#[derive(Clone, Copy, Debug, Default)]
pub struct LongTerm {
    sampling: bool,
    rounds: u32,
    used: bool,
    rate: f64,
    /// Totals at the start of the interval.
    start: Totals,
}

/// Input from an ACK.
#[derive(Clone, Copy, Debug)]
pub struct PolicerSample {
    /// Segments delivered and lost.
    pub totals: Totals,
    /// Whether the ACK reports a loss.
    pub losses: bool,
    /// Whether the application limited the flow.
    pub app_limited: bool,
    /// Whether a round trip begins.
    pub round_start: bool,
    /// Whether the flow is in ProbeBW.
    pub in_probe_bw: bool,
    /// Payload of a segment, bytes.
    pub mss: f64,
}

impl LongTerm {
    /// Returns the rate of the detected policer.
    pub fn rate(&self) -> Option<f64> {
        self.used.then_some(self.rate)
    }

    /// Restarts the detection.
    pub fn reset(&mut self, totals: Totals) {
        *self = LongTerm { start: totals, ..LongTerm::default() };
    }

    fn begin_interval(&mut self, totals: Totals) {
        (self.start, self.rounds) = (totals, 0);
    }

    /// Processes an ACK.
    pub fn on_sample(&mut self, sample: &PolicerSample) -> PolicerFinding {
        let totals = sample.totals;
        if self.used {
            if sample.in_probe_bw && sample.round_start {
                self.rounds += 1;
                if self.rounds >= USED_ROUNDS {
                    self.reset(totals);
                    return PolicerFinding::Over;
                }
            }
            return PolicerFinding::None;
        }
        if !self.sampling {
            if !sample.losses {
                return PolicerFinding::None;
            }
            self.begin_interval(totals);
            self.sampling = true;
        }
        if sample.app_limited {
            self.reset(totals);
            return PolicerFinding::None;
        }
        self.rounds += u32::from(sample.round_start);
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(totals);
            return PolicerFinding::None;
        }
        if self.rounds < LEAST_ROUNDS || !sample.losses {
            return PolicerFinding::None;
        }
        let lost = (totals.lost - self.start.lost) as f64;
        let delivered = (totals.delivered - self.start.delivered) as f64;
        // Linux counts the time of an interval in integer milliseconds.
        let ms = |totals: Totals| totals.delivered_at.as_nanos() / 1_000_000;
        let length_ms = ms(totals) - ms(self.start);
        if delivered == 0.0 || lost < LOSS_THRESHOLD * delivered || length_ms < 1 {
            return PolicerFinding::None;
        }
        self.end_interval(1e3 * delivered / length_ms as f64, totals, sample.mss)
    }

    fn end_interval(&mut self, rate: f64, totals: Totals, mss: f64) -> PolicerFinding {
        let difference = (rate - self.rate).abs();
        let agrees = difference <= RATIO * self.rate || difference * mss <= DIFFERENCE;
        if self.rate > 0.0 && agrees {
            self.rate = f64::midpoint(rate, self.rate);
            (self.used, self.rounds) = (true, 0);
            return PolicerFinding::Policed;
        }
        self.rate = rate;
        self.begin_interval(totals);
        PolicerFinding::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Span, Time};

    /// Runs round trips of 100 ms with these numbers of delivered and lost segments, with losses at the end of each.
    fn rounds(search: &mut LongTerm, from: u64, all: &[(u64, u64)]) -> Vec<PolicerFinding> {
        let mut totals = Totals { delivered: from, lost: from, delivered_at: Time::ZERO };
        totals.delivered_at += Span::from_millis(from);
        let each = |&(delivered, lost): &(u64, u64)| {
            totals.delivered += delivered;
            totals.lost += lost;
            totals.delivered_at += Span::from_millis(100);
            search.on_sample(&PolicerSample {
                totals,
                losses: lost > 0,
                app_limited: false,
                round_start: true,
                in_probe_bw: true,
                mss: 1_448.0,
            })
        };
        all.iter().map(each).collect()
    }

    /// The loss that begins the first interval does not count in it.
    #[test]
    fn two_intervals_with_losses_and_the_same_rate_show_a_policer() {
        let mut search = LongTerm::default();
        let lossy = [(100, 25); 9];
        let found = rounds(&mut search, 0, &lossy);
        assert!(found[..7].iter().all(|one| *one == PolicerFinding::None), "{found:?}");
        assert_eq!(found[7], PolicerFinding::Policed, "{found:?}");
        let rate = search.rate().expect("it is used");
        assert!((rate / 1_000.0 - 1.0).abs() < 0.01, "{rate}");
        let found = rounds(&mut search, 10_000, &[(100, 0); 48]);
        assert_eq!(found.iter().position(|one| *one == PolicerFinding::Over), Some(46));
        assert_eq!(search.rate(), None);
    }

    #[test]
    fn few_losses_or_rates_that_differ_show_none() {
        for all in [vec![(100, 19); 40], [[(100, 25); 4], [(140, 40); 4]].concat().repeat(5)] {
            let mut search = LongTerm::default();
            let found = rounds(&mut search, 0, &all);
            assert!(found.iter().all(|one| *one == PolicerFinding::None), "{found:?}");
        }
    }
}
