//! How far ACKs come in lumps: what is acknowledged beyond the estimated bandwidth (`bbr_update_ack_aggregation`), since
//! Linux 5.1.

use crate::units::{Span, Time};

/// Round trips after which the older of the two maxima is forgotten.
const WINDOW_ROUNDS: u32 = 5;
/// Segments after which counting begins anew.
const MOST_ACKED: u32 = 1 << 20;
/// No more is added to the window than arrives in this time at the estimated bandwidth.
const MOST: Span = Span::from_millis(100);

/// Segments acknowledged beyond the estimated bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregation {
    /// When counting began.
    since: Time,
    /// Segments acknowledged since.
    acked: u32,
    /// Largest excess of the present round trips and of those before.
    most: [u32; 2],
    present: usize,
    /// Age of the present round trips.
    rounds: u32,
}

impl Aggregation {
    /// Begins to count.
    pub fn begin(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0);
    }

    /// An ACK of so many segments at an estimated bandwidth in segments per second.
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

    /// What is added to the window, segments.
    pub fn allowance(&self, bandwidth: f64) -> u32 {
        let [present, before] = self.most;
        present.max(before).min((bandwidth * MOST.as_secs()) as u32)
    }
}
