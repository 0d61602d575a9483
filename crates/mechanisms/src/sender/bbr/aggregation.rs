//! Estimation of ACK aggregation: segments acknowledged in excess of the estimated bandwidth
//! (`bbr_update_ack_aggregation`), since Linux 5.1.

use crate::units::{Span, Time};

/// Number of round trips after which the older of the two maxima is discarded.
const WINDOW_ROUNDS: u32 = 5;
/// Number of segments after which counting restarts.
const MOST_ACKED: u32 = 1 << 20;
/// Time for which the estimated bandwidth bounds the addition to the window.
const MOST: Span = Span::from_millis(100);

/// Segments acknowledged in excess of the estimated bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregation {
    /// Start of counting.
    since: Time,
    /// Number of segments acknowledged since then.
    acked: u32,
    /// Largest excess in the current window of round trips and in the previous one.
    most: [u32; 2],
    present: usize,
    /// Age of the current window, round trips.
    rounds: u32,
}

impl Aggregation {
    /// Starts counting.
    pub fn begin(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0);
    }

    /// Processes an ACK of `acked` segments at an estimated bandwidth in segments per second.
    pub fn on_ack(&mut self, acked: u32, bandwidth: f64, cwnd: u32, round_start: bool, now: Time) {
        if acked == 0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                (self.rounds, self.present) = (0, 1 - self.present);
                self.most[self.present] = 0;
            }
        }
        let mut expected = (bandwidth * now.since(self.since).as_secs()) as u32;
        if self.acked <= expected || self.acked + acked >= MOST_ACKED {
            self.begin(now);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(MOST_ACKED - 1);
        let excess = (self.acked - expected).min(cwnd);
        self.most[self.present] = self.most[self.present].max(excess);
    }

    /// Returns the addition to the window, segments.
    pub fn allowance(&self, bandwidth: f64) -> u32 {
        let [present, before] = self.most;
        present.max(before).min((bandwidth * MOST.as_secs()) as u32)
    }
}
