//! Segments that leave together, as Linux's segmentation offload has them (`tcp_tso_autosize`,
//! `tcp_tso_should_defer`): a device gets a millisecond's worth of them at once, two at least.
//!
//! ```text
//! most = max(2, gain · cwnd / srtt · 1/1024 s + (64 KiB ≫ min_rtt / 512 µs) / MSS)
//! gain = 2 below half the slow-start threshold, 1.2 above
//! ```
//!
//! (What a short round trip adds, only where the sender knows its smallest: with loss detection by time.)
//!
//! The last segment of such a burst is pushed (PSH), so that the receiver acknowledges it without delay. A
//! burst that the window cuts short waits for the next ACK, if that is due within a millisecond.

use tidegate_mechanisms::units::{Span, Time};

use super::{Sender, State};
use crate::tcp::Door;

/// The largest burst: as much as fits into one packet before it is cut into segments.
const MOST_BYTES: u64 = 65_536;
const MILLISECOND: Span = Span::from_millis(1);
/// Of the window: as much room as this lets a burst go.
const WINDOW_DIVISOR: u32 = 3;

impl Sender {
    /// Sends a burst of new segments into `room` for so many. Returns whether it did.
    pub(super) fn send_burst(&mut self, room: u32, door: &mut Door) -> bool {
        let most = self.most_at_once();
        let cut_short = room < most && self.stream.ready(self.nxt) > u64::from(room);
        if cut_short && self.awaits_ack(room, door.now) {
            return false;
        }
        let count = room.min(most);
        for left in (0..count).rev() {
            self.send_new(left == 0 && count > 1, door);
        }
        true
    }

    fn most_at_once(&self) -> u32 {
        let Some(srtt) = self.round_trip.srtt() else { return 2 };
        let gain = if self.window.cwnd < self.window.ssthresh / 2.0 { 2.0 } else { 1.2 };
        let in_time = gain * self.window.cwnd * (1e9 / 1024.0) / srtt.as_nanos() as f64;
        let near = self.rack.as_ref().map_or(u64::MAX, |rack| rack.min_rtt_us() >> 9);
        let more = if near < 32 { (MOST_BYTES >> near) / self.sizes.mss() } else { 0 };
        let limit = (MOST_BYTES / self.sizes.mss()) as u32;
        (in_time as u32 + more as u32).min(limit).max(2)
    }

    /// Whether it is better to wait for the next ACK than to send less than a burst.
    fn awaits_ack(&self, room: u32, now: Time) -> bool {
        let (Some(rack), Some(srtt)) = (&self.rack, self.round_trip.srtt()) else { return false };
        if !matches!(self.state, State::Open | State::Reducing)
            || now.since(rack.last_sent) > MILLISECOND
            || WINDOW_DIVISOR * room >= self.window.cwnd as u32
            || self.una == self.nxt
        {
            return false;
        }
        let soon = now + MILLISECOND.min(Span::from_nanos(srtt.as_nanos() / 2));
        rack.times.of(self.una).0 + srtt <= soon
    }
}
