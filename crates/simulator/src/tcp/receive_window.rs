//! Dynamic right-sizing of the receive window. M. Fisk and W. Feng, "Dynamic right-sizing in TCP", LACSI 2001; as in
//! Linux 6.
//!
//! ```text
//! once per round trip    x = bytes that arrived in it; if x > x_max:
//!                        limit ← max(limit, 2x (1 + 2 (x − x_max)/x_max)),  x_max ← x
//! segment in order       window ← min(window + 2 MSS, limit)
//! ```
//!
//! The window is at least twice the data of a round trip, so it does not limit a sender that doubles its window each
//! round trip; this model does not enforce it. It only changes the time of acknowledgements: Linux acknowledges at once
//! while the window grows, which turns delayed ACKs into bursts of ACKs.
//!
//! The receiver's estimate of the round trip is the forward delay by the segment's timestamp plus the reverse delay of
//! the handshake, in whole milliseconds. It falls at once and rises by an eighth of the difference, at most once per
//! millisecond.

use core::hint::select_unpredictable;

use tidegate_mechanisms::units::{Span, Time};

use super::Answered;

/// Initial window of a kernel, 64 KiB, bytes.
const FIRST_WINDOW: u64 = 64_240;
/// Initial limit of the window, bytes: 157/256 of 128 KiB, the part of the default buffer left for data in packets of
/// 1500 bytes.
const FIRST_LIMIT: u64 = 80_384;
/// Segments expected in the first round trip.
const FIRST_SEGMENTS: u64 = 10;
/// Resolution of timestamps.
const TICK: Span = Span::from_millis(1);

/// Receive window, bytes.
#[derive(Clone, Debug)]
pub struct ReceiveWindow {
    mss: u64,
    window: u64,
    limit: u64,
    /// Maximum of the bytes received per round trip, x_max.
    most_bytes: u64,
    /// Bytes received at the start of the present measurement.
    from_bytes: u64,
    since: Time,
    reverse_delay: Span,
    rtt: Span,
    sampled: Time,
}

impl ReceiveWindow {
    /// Returns the window of a new connection.
    pub fn new(mss: u64) -> Self {
        ReceiveWindow {
            mss,
            window: FIRST_WINDOW,
            limit: FIRST_LIMIT,
            most_bytes: FIRST_SEGMENTS * mss,
            from_bytes: 0,
            since: Time::ZERO,
            reverse_delay: Span::ZERO,
            rtt: Span::ZERO,
            sampled: Time::ZERO,
        }
    }

    /// Starts at the first segment, a round trip after the SYN/ACK. After several SYN/ACKs, the reverse delay is
    /// assumed to equal the forward delay.
    pub fn begin(&mut self, answered: Answered, at: Time, stamp: Time) {
        let forward_delay = at.since(stamp);
        self.rtt = answered.round_trip(at).unwrap_or(forward_delay * 2);
        self.reverse_delay =
            Span::from_nanos(self.rtt.as_nanos().saturating_sub(forward_delay.as_nanos()));
        self.since = answered.at();
        self.sampled = at;
    }

    /// Handles a segment in order; `received_bytes` is the total so far. Returns whether the window grows.
    pub fn on_segment(&mut self, at: Time, stamp: Time, received_bytes: u64) -> bool {
        if at.since(self.sampled) >= TICK {
            self.sampled = at;
            self.note_round_trip(at.since(stamp) + self.reverse_delay);
        }
        let grows = self.window < self.limit;
        if grows {
            self.window = (self.window + 2 * self.mss).min(self.limit);
        }
        // Whether the round trip is over is unpredictable, but whether it has exceeded the maximum is not.
        let over = at.since(self.since) >= self.rtt;
        let bytes = select_unpredictable(over, received_bytes - self.from_bytes, 0);
        if bytes > self.most_bytes {
            self.note_bytes(bytes);
        }
        self.from_bytes = select_unpredictable(over, received_bytes, self.from_bytes);
        self.since = select_unpredictable(over, at, self.since);
        grows
    }

    fn note_round_trip(&mut self, rtt: Span) {
        let rtt = Span::from_nanos(rtt.as_nanos() / TICK.as_nanos() * TICK.as_nanos());
        // The branch is unpredictable.
        let (before, now) = (self.rtt.as_nanos(), rtt.as_nanos());
        let risen = before - before / 8 + now / 8;
        self.rtt = Span::from_nanos(select_unpredictable(now < before, now, risen));
    }

    /// Records a new maximum of bytes per round trip.
    #[cold]
    fn note_bytes(&mut self, bytes: u64) {
        let most = self.most_bytes;
        let twice = 2 * bytes;
        let ahead = (u128::from(twice) * u128::from(2 * (bytes - most)) / u128::from(most)) as u64;
        self.limit = self.limit.max(twice + ahead);
        self.most_bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    /// Delivers segments `first..last` in order, 1 ms apart from `start_ms`, each 50 ms after it was sent. Returns the
    /// number of segments at which the window grows.
    fn arrive(window: &mut ReceiveWindow, first: u64, last: u64, start_ms: u64) -> usize {
        let grows = |n: u64| {
            let at = ms(start_ms + n - first);
            window.on_segment(at, ms(start_ms + n - first - 50), (n + 1) * 1448)
        };
        (first..last).map(grows).filter(|grows| *grows).count()
    }

    /// By hand: 80384 − 64240 = 16144 B take 6 steps of 2 · 1448 B. The first round trip delivers no more than
    /// expected; the second 20 segments, 28960 B: the limit is 2 · 28960 · (1 + 2) = 173760 B, 93376 B more, 33 steps.
    #[test]
    fn the_window_grows_ahead_of_what_arrives() {
        let mut window = ReceiveWindow::new(1448);
        window.begin(Answered::once(ms(100)), ms(200), ms(150));
        assert_eq!(arrive(&mut window, 0, 10, 200), 6);
        assert_eq!(arrive(&mut window, 10, 30, 300), 0);
        assert_eq!(window.limit, FIRST_LIMIT);
        assert_eq!(arrive(&mut window, 30, 70, 400), 33);
        assert_eq!(window.limit, 173_760);
    }

    #[test]
    fn a_steady_stream_leaves_it_as_it_is() {
        let mut window = ReceiveWindow::new(1448);
        window.begin(Answered::once(ms(100)), ms(200), ms(150));
        for round in 2..20 {
            arrive(&mut window, (round - 2) * 20, (round - 1) * 20, 100 * round);
        }
        assert_eq!(arrive(&mut window, 360, 460, 2_000), 0);
    }
}
