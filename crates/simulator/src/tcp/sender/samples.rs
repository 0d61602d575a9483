//! Round-trip samples of an ACK, for senders that keep the send time of each segment.

use tidegate_mechanisms::units::{Span, Time};

use crate::tcp::send_times::SendTimes;

/// Round-trip times of an ACK, of segments that were sent once.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    /// Round-trip times of the first and the last segment acknowledged.
    acked: Option<(Span, Span)>,
    /// Round-trip times of the first and the last segment sacked.
    sacked: Option<(Span, Span)>,
    /// Whether a retransmitted segment was among those acknowledged.
    ambiguous: bool,
    /// First arrived segment that was sent once; [`u64::MAX`] for none.
    pub first_original: u64,
    /// Send time and number of the most recently sent segment that has arrived.
    pub newest: (Time, u64),
    /// Round-trip time of the last segment that the ACK reports, retransmitted or not.
    pub latest: Option<Span>,
}

impl Default for Samples {
    fn default() -> Self {
        Samples {
            acked: None,
            sacked: None,
            ambiguous: false,
            first_original: u64::MAX,
            newest: (Time::ZERO, 0),
            latest: None,
        }
    }
}

/// How an ACK reports a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// By its acknowledgement number.
    ByNumber,
    /// In a SACK block.
    InBlock,
}

/// Context of reading an ACK: arrival time, minimum RTT so far, and timestamp echo.
#[derive(Clone, Copy, Debug)]
pub struct AckReading {
    /// Current time.
    pub now: Time,
    /// Minimum RTT: a retransmission that seems to have taken less is not what arrived.
    pub min_rtt: Span,
    /// Timestamp echo, if ACKs have one: what was acknowledged had been sent by then.
    pub echo: Option<Time>,
}

impl Samples {
    /// Adds a segment that the ACK reports as arrived.
    pub fn arrive(&mut self, times: &SendTimes, segment: u64, named: NamedBy, reading: AckReading) {
        let (at, again) = times.of(segment);
        let rtt = reading.now.since(at);
        if again {
            let acknowledged = named == NamedBy::ByNumber;
            self.ambiguous |= acknowledged;
            // Linux: `tcp_rack_advance`; `tcp_skb_spurious_retrans`, which looks at acknowledged segments alone.
            let earlier = acknowledged && reading.echo.is_some_and(|echo| echo < at);
            if rtt < reading.min_rtt || earlier {
                return;
            }
        } else {
            let pair = match named {
                NamedBy::ByNumber => &mut self.acked,
                NamedBy::InBlock => &mut self.sacked,
            };
            *pair = Some((pair.map_or(rtt, |(first, _)| first), rtt));
            self.first_original = self.first_original.min(segment);
        }
        self.latest = Some(rtt);
        self.newest = self.newest.max((at, segment));
    }

    /// Returns the sample for the smoothed round-trip time.
    #[inline]
    pub fn for_estimate(&self) -> Option<Span> {
        self.of_acknowledged().or(self.sacked).map(|(first, _)| first)
    }

    /// Returns the sample without the receiver's delay: of the segment that triggered the ACK.
    #[inline]
    pub fn of_path(&self) -> Option<Span> {
        self.sacked.or(self.of_acknowledged()).map(|(_, last)| last)
    }

    /// Returns the round-trip time of the first segment sacked.
    #[inline]
    pub fn of_first_sacked(&self) -> Option<Span> {
        self.sacked.map(|(first, _)| first)
    }

    #[inline]
    fn of_acknowledged(&self) -> Option<(Span, Span)> {
        self.acked.filter(|_| !self.ambiguous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    /// Segments 0 to 3 were sent at 0, 1, 2, 3 ms; 0 again at 50 ms.
    fn times() -> SendTimes {
        let mut times = SendTimes::default();
        (0..4).for_each(|n| times.note(0, n, ms(n), false));
        times.note(0, 0, ms(50), true);
        times
    }

    fn read(now_ms: u64, arrived: &[(u64, NamedBy)]) -> Samples {
        let reading = AckReading { now: ms(now_ms), min_rtt: Span::from_millis(20), echo: None };
        let (times, mut samples) = (times(), Samples::default());
        arrived.iter().for_each(|(n, named)| samples.arrive(&times, *n, *named, reading));
        samples
    }

    /// RFC 6298, section 3 (Karn), except that sacked segments were sent once.
    #[test]
    fn a_segment_that_was_sent_again_gives_no_sample() {
        let samples = read(100, &[(0, NamedBy::ByNumber), (1, NamedBy::ByNumber)]);
        assert_eq!((samples.for_estimate(), samples.of_path()), (None, None));
        assert_eq!(samples.latest, Some(Span::from_millis(99)), "but a time to wait for others");
        let samples =
            read(100, &[(0, NamedBy::ByNumber), (2, NamedBy::InBlock), (3, NamedBy::InBlock)]);
        assert_eq!(samples.for_estimate(), Some(Span::from_millis(98)));
        assert_eq!(samples.of_path(), Some(Span::from_millis(97)));
        assert_eq!((samples.newest, samples.first_original), ((ms(50), 0), 2));
    }

    #[test]
    fn a_repetition_that_seems_faster_than_the_path_was_not_what_arrived() {
        assert_eq!(read(60, &[(0, NamedBy::InBlock)]).latest, None);
        assert_eq!(read(80, &[(0, NamedBy::InBlock)]).latest, Some(Span::from_millis(30)));
    }
}
