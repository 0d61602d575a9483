//! Measurements of the hosts in a run.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_simulator::output::{ApplicationSeries, ApplicationTable, FlowSeries};

/// Measurements of the hosts.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// Reports by flow, in the plan's order.
    pub flows: Vec<FlowReport>,
    /// Finished and unfinished transfers, in the order of their ends.
    pub transfers: Vec<TransferReport>,
    /// Window and round-trip time of the first flows of each group, at the plan's step.
    pub flow_series: FlowSeries,
    /// Metrics of videos and calls.
    pub applications: ApplicationTable,
    /// State of videos and calls, at the plan's step.
    pub application_series: ApplicationSeries,
    /// Lateness of UDP packets at their source, over the whole run.
    pub lateness: Lateness,
    /// Longest time that a due action of the applications had to wait, in the measured time.
    pub stall: Span,
}

/// Flow over the measured time; `None` is what the kernel or the generator does not report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowReport {
    /// Payload that reached the server's application, bytes.
    pub goodput_bytes: u64,
    /// Data packets, retransmissions included.
    pub sent: Option<u64>,
    /// Retransmitted packets.
    pub retransmits: Option<u64>,
    /// Retransmission timeouts.
    pub timeouts: Option<u64>,
    /// For UDP at a constant rate: packets sent before the last one that arrived, and not arrived themselves.
    pub lost: Option<u64>,
    /// Smoothed round-trip time, seconds: a time average of at least ten samples a second.
    pub mean_srtt_s: Option<f64>,
    /// Congestion window in segments, a time average.
    pub mean_cwnd_packets: Option<f64>,
}

/// Transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferReport {
    /// Index of the flow.
    pub flow: u32,
    /// Time at which the connection was requested.
    pub start: Time,
    /// Application bytes.
    pub size_bytes: u64,
    /// Time until the sender knew that the receiver had all data; `None` if it never did.
    pub completion: Option<Span>,
}

/// Lateness of sent packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their lateness.
    pub total: Span,
    /// Maximum lateness.
    pub max: Span,
}

impl Lateness {
    /// Adds a packet.
    pub fn add(&mut self, late: Span) {
        self.packets += 1;
        self.total = self.total + late;
        self.max = self.max.max(late);
    }

    /// Returns the mean lateness, seconds; `None` without packets.
    pub fn mean_s(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.total.as_secs() / self.packets as f64)
    }
}
