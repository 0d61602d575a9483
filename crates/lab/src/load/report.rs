//! What the hosts themselves can tell about a run.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_simulator::output::{ApplicationSeries, ApplicationTable, FlowSeries};

/// What the hosts have sent, received and seen.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// By the plan's flows.
    pub flows: Vec<FlowReport>,
    /// Finished and unfinished, in the order of their ends.
    pub transfers: Vec<TransferReport>,
    /// Window and round-trip time of the first flows of each group, at the plan's step.
    pub flow_series: FlowSeries,
    /// What videos and calls tell of themselves.
    pub applications: ApplicationTable,
    /// What they have, at the plan's step.
    pub application_series: ApplicationSeries,
    /// How late UDP packets left their source, over the whole run.
    pub lateness: Lateness,
    /// The longest that the applications stood still when something was due, in the measured time.
    pub stall: Span,
}

/// One flow over the measured time; `None` is what the kernel or the generator does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowReport {
    /// Payload that reached the server's application.
    pub goodput_bytes: u64,
    /// Data packets, retransmissions included.
    pub sent: Option<u64>,
    /// Packets sent again.
    pub retransmits: Option<u64>,
    /// Retransmission timeouts.
    pub timeouts: Option<u64>,
    /// UDP at a constant rate alone: packets sent before the last one that arrived, and not arrived themselves.
    pub lost: Option<u64>,
    /// Smoothed round-trip time, seconds: a mean over time, of ten samples a second or more.
    pub mean_srtt_s: Option<f64>,
    /// Congestion window in segments, a mean over time.
    pub mean_cwnd_packets: Option<f64>,
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferReport {
    /// Index of the flow.
    pub flow: u32,
    /// When the connection was requested.
    pub start: Time,
    /// Application bytes.
    pub size_bytes: u64,
    /// Until the sender knew that the receiver had it all; `None` if it never did.
    pub completion: Option<Span>,
}

/// How late packets were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Packets.
    pub packets: u64,
    /// Together.
    pub total: Span,
    /// Of the latest.
    pub max: Span,
}

impl Lateness {
    /// Takes note of one packet.
    pub fn add(&mut self, late: Span) {
        self.packets += 1;
        self.total = self.total + late;
        self.max = self.max.max(late);
    }

    /// Of the mean packet, seconds; `None` without packets.
    pub fn mean_s(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.total.as_secs() / self.packets as f64)
    }
}
