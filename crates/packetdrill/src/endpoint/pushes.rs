//! Positions of PSH in the data that an application writes, which follow from Linux's buffers (`tcp_sendmsg_locked`,
//! `forced_push`).
//!
//! ```text
//! buffer   as many full segments as fit into half of the largest window that the peer has offered
//! pushed   the last buffer of a write, and one that is full, if more than half of that window has been
//!          written since the last push
//! ```
//!
//! During a write, segments are sent from the first buffer within the window, and the freed space is filled before
//! another buffer is begun.

use std::collections::BTreeSet;

/// Maximum size of a buffer that an interface segments, bytes.
const MOST_BYTES: u64 = 65_535;

/// Bounds of a write, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Payload of a full segment.
    pub mss: u64,
    /// Largest window that the peer has advertised.
    pub largest_window: u64,
    /// End of the data sent so far, from the start of the stream.
    pub sent: u64,
    /// End of the data that may be sent now.
    pub may_go: u64,
    /// Size of a burst.
    pub piece: u64,
}

/// Positions of PSH in the stream.
#[derive(Debug, Default)]
pub struct Pushes {
    /// Ends of buffers with PSH.
    ends: BTreeSet<u64>,
    /// Start of the last buffer.
    start: u64,
    /// End of the data written at the last PSH.
    pushed: u64,
}

impl Pushes {
    /// Whether a segment with this end has PSH.
    pub fn contains(&self, end: u64) -> bool {
        self.ends.contains(&end)
    }

    /// Writes the bytes from `at` to `end`.
    pub fn write(&mut self, mut at: u64, end: u64, bounds: Bounds) {
        let Bounds { mss, largest_window, mut sent, may_go, piece } = bounds;
        let half = largest_window / 2;
        let buffer = (half.min(MOST_BYTES) / mss).max(1) * mss;
        self.start = self.start.max(sent);
        let mut forced = false;
        if at > self.start && at - self.start < buffer {
            // The last buffer is filled up, and its PSH moves to the new end.
            self.ends.remove(&at);
        }
        while at < end {
            if at - self.start >= buffer {
                if core::mem::take(&mut forced) {
                    self.ends.insert(at);
                }
                self.start = at;
            }
            at = end.min(self.start + buffer);
            if at < end && at > self.pushed + half {
                (forced, self.pushed) = (true, at);
                sent = sent.max(may_go.min(at));
            } else if at < end && self.start <= sent {
                sent = sent.max(may_go.min(sent + piece).min(at));
            }
            self.start = self.start.max(sent);
        }
        self.ends.insert(end);
        self.pushed = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(pushes: &Pushes) -> Vec<u64> {
        pushes.ends.iter().copied().collect()
    }

    const SMALL: Bounds =
        Bounds { mss: 1_000, largest_window: 32_896, sent: 2_000, may_go: 4_000, piece: 1_000 };

    /// Half of the window is 16448 B, a buffer 16000 B. Two segments are sent while the first is filled.
    #[test]
    fn a_full_buffer_is_pushed_if_half_the_window_was_written_since_the_last_push() {
        let mut pushes = Pushes { pushed: 2_000, ..Pushes::default() };
        pushes.write(2_000, 110_000, SMALL);
        assert_eq!(ends(&pushes), [20_000, 36_000, 68_000, 100_000, 110_000]);
    }

    #[test]
    fn a_write_that_is_added_to_a_buffer_moves_its_push() {
        let mut pushes = Pushes::default();
        let waits = Bounds { sent: 0, may_go: 1_000, ..SMALL };
        pushes.write(0, 3_000, waits);
        pushes.write(3_000, 5_000, Bounds { sent: 1_000, ..waits });
        assert_eq!(ends(&pushes), [5_000]);
        pushes.write(5_000, 6_000, Bounds { sent: 5_000, may_go: 9_000, ..waits });
        assert_eq!(ends(&pushes), [5_000, 6_000], "what has left stays as it was");
    }
}
