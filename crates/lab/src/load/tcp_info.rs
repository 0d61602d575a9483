//! Kernel's information about a connection: `TCP_INFO` (linux/tcp.h, `struct tcp_info`).
//!
//! Fields are read by offset, because the structure grows with the kernel: fields beyond the returned length are
//! `None`, not zero.

use std::io;
use std::os::fd::AsFd;

use crate::system;

const RTT_US: usize = 68;
const SND_CWND: usize = 80;
const TOTAL_RETRANS: usize = 100;
const DATA_SEGS_OUT: usize = 156;
/// Since Linux 6.7.
const TOTAL_RTO: usize = 240;
/// Buffer for all of the above and future fields, bytes.
const ROOM: usize = 512;

/// Counters of a connection, or the sum over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Segments with data and SYNs, including retransmissions. The kernel does not count SYNs:
    /// [`TcpCounts::with_requests`].
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: Option<u64>,
}

/// A reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpInfo {
    /// Counts since the connection began.
    pub counts: TcpCounts,
    /// Smoothed round-trip time, seconds; `None` before the first sample.
    pub srtt_s: Option<f64>,
    /// Congestion window, segments.
    pub cwnd_packets: u32,
}

impl TcpInfo {
    /// Reads the information of a socket.
    pub fn read(socket: impl AsFd) -> io::Result<TcpInfo> {
        let mut bytes = [0; ROOM];
        let len = system::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        TcpInfo::parse(&bytes[..len])
            .ok_or_else(|| io::Error::other("the kernel is too old: TCP_INFO counts no segments"))
    }

    fn parse(bytes: &[u8]) -> Option<TcpInfo> {
        let word = |at: usize| {
            Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().expect("four bytes")))
        };
        let half = |at: usize| {
            Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().expect("two bytes")))
        };
        let srtt_us = word(RTT_US)?;
        Some(TcpInfo {
            counts: TcpCounts {
                sent: word(DATA_SEGS_OUT)?.into(),
                retransmits: word(TOTAL_RETRANS)?.into(),
                timeouts: half(TOTAL_RTO).map(u64::from),
            },
            srtt_s: (srtt_us > 0).then(|| f64::from(srtt_us) / 1e6),
            cwnd_packets: word(SND_CWND)?,
        })
    }
}

impl TcpCounts {
    /// Adds the connection's SYNs: the first, and the retransmitted ones.
    pub fn with_requests(self, repeated: u64) -> TcpCounts {
        TcpCounts { sent: self.sent + 1 + repeated, ..self }
    }

    /// Returns the sum with the counts of another connection.
    pub fn plus(self, other: TcpCounts) -> TcpCounts {
        TcpCounts {
            sent: self.sent + other.sent,
            retransmits: self.retransmits + other.retransmits,
            timeouts: self.timeouts.zip(other.timeouts).map(|(a, b)| a + b),
        }
    }

    /// Returns the difference to `before`.
    pub fn since(self, before: TcpCounts) -> TcpCounts {
        TcpCounts {
            sent: self.sent - before.sent,
            retransmits: self.retransmits - before.retransmits,
            timeouts: self.timeouts.zip(before.timeouts).map(|(a, b)| a - b),
        }
    }

    /// Counts without any connection.
    pub const NONE: TcpCounts = TcpCounts { sent: 0, retransmits: 0, timeouts: Some(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernel_reports_less_and_never_zero_instead() {
        let mut bytes = [0; 248];
        bytes[RTT_US..][..4].copy_from_slice(&20_000u32.to_ne_bytes());
        bytes[SND_CWND] = 10;
        bytes[DATA_SEGS_OUT..][..2].copy_from_slice(&300u16.to_ne_bytes());
        bytes[TOTAL_RTO] = 2;
        let new = TcpInfo::parse(&bytes).expect("long enough");
        assert_eq!((new.srtt_s, new.cwnd_packets), (Some(0.02), 10));
        assert_eq!((new.counts.sent, new.counts.timeouts), (300, Some(2)));
        let old = TcpInfo::parse(&bytes[..232]).expect("long enough");
        assert_eq!(old.counts.timeouts, None);
        assert_eq!(TcpInfo::parse(&bytes[..100]), None);
    }
}
