//! Video server: writes the first 40 s as fast as the socket accepts it, then chunk by chunk.
//!
//! ```text
//! burst        bytes = rate · burst
//! throttling   a chunk every chunk/(speed · rate)
//! ```
//!
//! If the socket buffer is full, the server retries a little later; delayed chunks delay those that follow. After a
//! congestion episode, the socket's backlog is sent at full speed.

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan;

/// Polling interval of a full socket. A buffer of 2 MB takes longer to send at 200 Mb/s.
const LOOKS_EVERY: Span = Span::from_millis(50);

/// Remaining data of the video.
#[derive(Clone, Debug)]
pub struct VideoServer {
    left: u64,
    burst_left: u64,
    chunk: u64,
    interval: Span,
    socket_buffer: u64,
    due: Time,
}

impl VideoServer {
    /// Returns a server that has sent nothing.
    pub fn new(plan: &plan::Video) -> Self {
        let left = plan.size_bytes();
        let throttled_bps = plan.speed.0 * plan.rate.as_bps() as f64;
        VideoServer {
            left,
            burst_left: plan.bytes_of(plan.burst).min(left),
            chunk: plan.chunk.get(),
            interval: Span::from_secs_f64(plan.chunk.as_bits() as f64 / throttled_bps),
            socket_buffer: plan.socket_buffer.get(),
            due: Time::ZERO,
        }
    }

    /// Returns the time of its next action.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Whether data remain.
    pub fn has_more(&self) -> bool {
        self.left > 0
    }

    /// Returns the bytes written now to a socket that has `waiting` bytes unsent.
    pub fn serve(&mut self, waiting: Bytes, now: Time) -> Bytes {
        let room = self.socket_buffer.saturating_sub(waiting.get());
        let piece = if self.burst_left > 0 {
            let piece = self.burst_left.min(room);
            self.burst_left -= piece;
            let wait = if self.burst_left > 0 { LOOKS_EVERY } else { self.interval };
            self.due = now + wait;
            piece
        } else {
            let piece = self.chunk.min(self.left);
            let fits = piece <= room;
            self.due = now + if fits { self.interval } else { LOOKS_EVERY };
            if fits { piece } else { 0 }
        };
        self.left -= piece;
        if self.left == 0 {
            self.due = Time::NEVER;
        }
        Bytes::new(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::video::player::tests::video;

    /// Serves a socket of this rate for some time. Returns the total bytes written by the end of each second.
    fn handed_over(server: &mut VideoServer, sent_bps: u64, seconds: u64) -> Vec<u64> {
        let (mut handed, mut sent, mut by_second) = (0, 0, Vec::new());
        for ms in 0..seconds * 1_000 {
            sent = (sent + sent_bps / 8_000).min(handed);
            let now = Time::ZERO + Span::from_millis(ms);
            if server.due() <= now && server.has_more() {
                handed += server.serve(Bytes::new(handed - sent), now).get();
            }
            if ms % 1_000 == 999 {
                by_second.push(handed);
            }
        }
        by_second
    }

    /// Sanhaji et al. 2015, section VI-A: 40 s at 1128 kb/s are 5.64 MB; then 1.25 times the rate.
    #[test]
    fn forty_seconds_go_at_once_and_the_rest_at_one_and_a_quarter_of_the_rate() {
        let handed = handed_over(&mut VideoServer::new(&video()), 100_000_000, 60);
        assert_eq!(handed[0], 5_640_000 + 65_536, "100 Mb/s send that in half a second");
        let bps = 8.0 * (handed[59] - handed[9]) as f64 / 50.0;
        assert!((bps / (1.25 * 1_128_000.0) - 1.0).abs() < 0.01, "{bps}");
    }

    #[test]
    fn the_socket_holds_no_more_than_its_buffer() {
        let handed = handed_over(&mut VideoServer::new(&video()), 800_000, 60);
        assert_eq!(handed[0], 2_000_000 + 95_000, "and what has left by the last look");
        for (second, handed) in handed.iter().enumerate() {
            let sent = (second as u64 + 1) * 100_000;
            assert!(*handed <= 2_000_000 + sent, "second {second}: {handed} B");
        }
    }

    #[test]
    fn everything_is_handed_over_in_the_end() {
        let mut server = VideoServer::new(&video());
        let handed = handed_over(&mut server, 100_000_000, 260);
        assert_eq!(handed[259], 42_300_000);
        assert_eq!((server.has_more(), server.due()), (false, Time::NEVER));
        // 260 s of video after the burst take 208 s.
        assert!(handed[206] < 42_300_000 && handed[209] == 42_300_000);
    }
}
