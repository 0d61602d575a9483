//! Pacing by the queue `fq` of the host's interface: each burst of new data is sent when the previous one has been
//! transmitted at the sender's rate (Linux, `tcp_update_skb_after_send`).
//!
//! ```text
//! rate   = gain · max(cwnd, in flight) · MSS / srtt      gain 2 below half of ssthresh, else 1.2
//! piece  = rate · 1/1024 s + 64 KiB ≫ (min_rtt / 512 µs),  whole segments, 2 at least
//! next   = departure + len/rate − min(time idle before, len/rate / 2)     from the tenth segment on
//! ```
//!
//! Linux passes up to two bursts on in advance, with their times; here each is sent at its time.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_simulator::host::SenderInfo;

use super::{Endpoint, State};

/// Number of segments sent without pacing at the start of a connection.
const UNPACED: u64 = 10;
/// Maximum size of a burst, bytes.
const MOST_BYTES: u64 = 65_536;

/// Departure time of the next burst.
#[derive(Clone, Copy, Debug)]
pub struct WritePacing {
    next: Time,
}

impl WritePacing {
    /// Creates pacing whose first burst is sent immediately.
    pub fn new() -> Self {
        WritePacing { next: Time::ZERO }
    }

    /// Records a burst of `bytes` bytes sent now.
    fn on_sent(&mut self, now: Time, bytes: u64, bytes_per_s: u64, segments_sent: u64) {
        let idle = now.since(self.next).as_nanos();
        self.next = self.next.max(now);
        if segments_sent >= UNPACED && bytes_per_s > 0 {
            let length = (u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s)) as u64;
            self.next += Span::from_nanos(length - idle.min(length / 2));
        }
    }
}

/// Returns the pacing rate, bytes/s; 0 without a round-trip time.
fn rate(info: &SenderInfo, mss: u64) -> u64 {
    let Some(srtt) = info.srtt else { return 0 };
    let slow_start = info.ssthresh.is_none_or(|ssthresh| info.cwnd < ssthresh / 2);
    let percent = if slow_start { 200 } else { 120 };
    let segments = u64::from(info.cwnd.max(info.unacked));
    let rate =
        u128::from(mss * segments * percent) * 10_000_000 / u128::from(srtt.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Returns the number of segments in a burst.
fn piece(info: &SenderInfo, rate: u64, mss: u64, least: u32) -> u64 {
    let near = info.min_rtt.map_or(u64::MAX, |rtt| (rtt.as_nanos() / 1000) >> 9);
    let more = if near < 32 { MOST_BYTES >> near } else { 0 };
    let most = MOST_BYTES / mss;
    (((rate >> 10) + more).min(MOST_BYTES) / mss).max(u64::from(least)).min(most.max(1))
}

impl Endpoint {
    /// Returns the time of the next burst if it waits for pacing only.
    pub(super) fn pace_at(&self) -> Option<Time> {
        let out = &self.out;
        let waits = out.given == out.cuts.end() && self.may_give() > out.given;
        let pacing = self.pacing.filter(|_| waits && self.state == State::Open)?;
        // A burst that is due waits for the congestion window.
        Some(pacing.next).filter(|next| *next > self.now)
    }

    /// Sends the bursts that are due.
    pub(super) fn pace(&mut self) {
        while let (Some(pacing), Some(info)) = (self.pacing, self.info()) {
            let sent = self.out.cuts.end();
            let free = u64::from(info.cwnd.saturating_sub(info.in_flight()));
            let end = self.may_give();
            if self.now < pacing.next || self.out.given > sent || end <= sent || free == 0 {
                return;
            }
            let mss = u64::from(self.agreed.mss);
            let rate = rate(&info, mss);
            let segments = piece(&info, rate, mss, self.settings.min_burst).min(free);
            let end = end.min(sent + segments * mss);
            let Some(host) = &mut self.host else { return };
            host.write(end - self.out.given, end == self.out.written);
            host.at(self.now).send();
            self.out.given = end;
            self.hand_over_now();
            let bytes = self.out.cuts.end() - sent;
            if bytes == 0 {
                return;
            }
            if let Some(pacing) = &mut self.pacing {
                pacing.on_sent(self.now, bytes, rate, self.out.cuts.count());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A burst of 10 ms: idle time before it is subtracted, up to half the burst.
    #[test]
    fn a_piece_holds_the_next_up_by_its_length() {
        for (idle_ms, next_ms) in [(0, 110), (2, 108), (50, 105)] {
            let mut pacing = WritePacing { next: ms(100 - idle_ms) };
            pacing.on_sent(ms(100), 1000, 100_000, 10);
            assert_eq!(pacing.next, ms(next_ms), "idle for {idle_ms} ms");
        }
        let mut pacing = WritePacing { next: ms(100) };
        pacing.on_sent(ms(100), 1000, 100_000, 9);
        assert_eq!(pacing.next, ms(100), "the first segments leave at once");
    }
}
