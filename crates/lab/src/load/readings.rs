//! Counters and samples of a flow, and their evaluation.

use super::cbr::CbrCounts;
use super::datagrams;
use super::report::FlowReport;
use super::tcp_info::{TcpCounts, TcpInfo};

/// All counters of a flow at one point in time.
#[derive(Clone, Copy)]
pub enum FlowReading {
    /// Bytes received, and the sender's counters.
    Tcp(u64, TcpCounts),
    /// Counts of both ends.
    Cbr(CbrCounts),
    /// Counts of both ends of a video or of calls.
    Datagrams(datagrams::DatagramCounts),
    /// Reported at the end.
    Iperf3,
}

/// Sums over the samples of the measured time.
#[derive(Clone, Copy, Default)]
pub struct Means {
    cwnd: (f64, u32),
    srtt: (f64, u32),
}

impl Means {
    /// Adds a sample.
    pub fn add(&mut self, info: &TcpInfo) {
        add(&mut self.cwnd, info.cwnd_packets.into());
        if let Some(srtt_s) = info.srtt_s {
            add(&mut self.srtt, srtt_s);
        }
    }
}

/// Returns the differences between two readings; `None` if neither this crate nor the kernel has counted.
pub fn flow_report(before: FlowReading, after: FlowReading, means: &Means) -> Option<FlowReport> {
    match (before, after) {
        (FlowReading::Tcp(bytes_before, before), FlowReading::Tcp(bytes, after)) => {
            let counts = after.since(before);
            Some(FlowReport {
                goodput_bytes: bytes - bytes_before,
                sent: Some(counts.sent),
                retransmits: Some(counts.retransmits),
                timeouts: counts.timeouts,
                lost: None,
                mean_srtt_s: mean(means.srtt),
                mean_cwnd_packets: mean(means.cwnd),
            })
        }
        (FlowReading::Cbr(before), FlowReading::Cbr(after)) => {
            let counts = after.since(before);
            let lost = counts.expected.saturating_sub(counts.received);
            let report = of_udp(counts.received_bytes, counts.sent);
            Some(FlowReport { lost: Some(lost), ..report })
        }
        (FlowReading::Datagrams(before), FlowReading::Datagrams(after)) => {
            let counts = after.since(before);
            Some(of_udp(counts.received_bytes, counts.sent))
        }
        _ => None,
    }
}

/// Returns the report of a UDP flow, which retransmits nothing.
fn of_udp(goodput_bytes: u64, sent: u64) -> FlowReport {
    FlowReport {
        goodput_bytes,
        sent: Some(sent),
        retransmits: Some(0),
        timeouts: Some(0),
        ..FlowReport::default()
    }
}

fn add((sum, count): &mut (f64, u32), value: f64) {
    *sum += value;
    *count += 1;
}

fn mean((sum, count): (f64, u32)) -> Option<f64> {
    (count > 0).then(|| sum / f64::from(count))
}
