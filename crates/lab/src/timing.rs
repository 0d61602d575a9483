//! Timing report: whether the machine kept up, since a late forwarder does not emulate the scenario's network.
//!
//! The network's own times are computed, not measured, so a late forwarder changes neither rates nor the AQM's view. It
//! changes when packets reach hosts: lateness is a longer round trip. A packet counts as late when its lateness exceeds
//! [`TOLERANCE`] times the shortest round trip of the scenario. A run is invalid with more than [`LATE_SHARE`] late
//! packets, with a packet that was dropped because it was not read in time, or with applications that stalled for
//! longer than [`MAX_STALL_S`].

use hdrhistogram::Histogram;
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::Plan;

/// Share of the shortest round-trip time by which a packet may be late.
pub const TOLERANCE: f64 = 0.05;
/// Minimum lateness that counts: scheduling alone takes tens of microseconds.
pub const MIN_LATE: Span = Span::from_micros(250);
/// Maximum stall of applications: less than the smallest retransmission timeout of Linux.
pub const MAX_STALL_S: f64 = 0.1;
/// Share of packets that may be late.
pub const LATE_SHARE: f64 = 0.01;

/// Range of the histogram of lateness that is allocated initially, an hour, ns.
const USUAL_NS: u64 = 3_600_000_000_000;

/// Lateness of a forwarder, over the measured time.
pub struct LatenessMeter {
    late_after: Span,
    late: u64,
    lateness_ns: Histogram<u64>,
}

/// Timing report of the forwarder.
#[derive(Clone, Debug, Default)]
pub struct TimingReport {
    /// Packets delivered to hosts in the measured time.
    pub packets: u64,
    /// Packets later than [`TimingReport::nominal_late_s`].
    pub late_packets: u64,
    /// Lateness above which a packet counts as late.
    pub nominal_late_s: f64,
    /// Mean lateness.
    pub lateness_mean_s: f64,
    /// 99th percentile of the lateness.
    pub lateness_p99_s: f64,
    /// Maximum lateness.
    pub lateness_max_s: f64,
    /// Packets dropped by the kernel because the forwarder did not read them in time.
    pub overruns: u64,
    /// Ratio of the forwarder thread's CPU time to elapsed time.
    pub cpu_share: f64,
    /// Packets that could not be parsed, or whose options could not.
    pub malformed: u64,
    /// Packets with inconsistent declarations, which were ignored.
    pub inconsistent: u64,
    /// Packets that belong to no flow.
    pub unclassified: u64,
    /// Packets that passed a stage without room for what it wrote: an activity, a declaration.
    pub without_room: u64,
    /// Packets rejected by a host.
    pub rejected: u64,
    /// Messages received by tunnel nodes, by kind and error.
    pub messages: Vec<String>,
    /// Whether the thread had real-time priority.
    pub realtime: bool,
    /// Longest time that a due action of the hosts' applications had to wait.
    pub stall_s: f64,
}

impl LatenessMeter {
    /// Returns a meter without measurements.
    ///
    /// # Panics
    ///
    /// Never: the bounds of the histogram are valid.
    pub fn new(plan: &Plan) -> Self {
        let tolerated = shortest_round_trip(plan).as_secs() * TOLERANCE;
        let mut lateness_ns = Histogram::new_with_max(USUAL_NS, 2).expect("bounds are valid");
        lateness_ns.auto(true);
        LatenessMeter {
            late_after: Span::from_secs_f64(tolerated).max(MIN_LATE),
            late: 0,
            lateness_ns,
        }
    }

    /// Records the lateness of a delivered packet.
    pub fn record(&mut self, lateness: Span) {
        self.lateness_ns.record(lateness.as_nanos()).expect("the histogram grows");
        self.late += u64::from(lateness > self.late_after);
    }

    /// Returns the report.
    pub fn report(&self) -> TimingReport {
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let quantile = |q| seconds(self.lateness_ns.value_at_quantile(q));
        TimingReport {
            packets: self.lateness_ns.len(),
            late_packets: self.late,
            nominal_late_s: self.late_after.as_secs(),
            lateness_mean_s: self.lateness_ns.mean() * 1e-9,
            lateness_p99_s: quantile(0.99),
            lateness_max_s: seconds(self.lateness_ns.max()),
            ..TimingReport::default()
        }
    }
}

impl TimingReport {
    /// Returns the reasons why the run is invalid; empty if it is valid.
    pub fn objections(&self) -> Vec<String> {
        let mut objections = Vec::new();
        let share = self.late_packets as f64 / (self.packets.max(1)) as f64;
        if share > LATE_SHARE {
            objections.push(format!(
                "{:.1} % of packets more than {:.2} ms late (at most {:.0} % may be)",
                100.0 * share,
                1e3 * self.nominal_late_s,
                100.0 * LATE_SHARE
            ));
        }
        if self.overruns > 0 {
            objections.push(format!("{} packets not fetched in time", self.overruns));
        }
        if self.rejected > 0 {
            objections.push(format!("{} packets not taken by a host", self.rejected));
        }
        if self.stall_s > MAX_STALL_S {
            objections.push(format!("the applications stood still for {:.2} s", self.stall_s));
        }
        objections
    }
}

/// Returns the propagation delay of the shortest path of any flow, in both directions.
fn shortest_round_trip(plan: &Plan) -> Span {
    let delay = |route: &[u32]| -> u64 {
        route.iter().map(|&link| plan.links[link as usize].delay.as_nanos()).sum()
    };
    let round_trips = plan.flows.iter().map(|flow| delay(&flow.forward) + delay(&flow.reverse));
    Span::from_nanos(round_trips.min().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_scenario::Scenario;

    /// Shortest round trip: 2 x (5 + 5) ms, so that 1 ms is late.
    fn lateness() -> LatenessMeter {
        let text = "version = 1\n[bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n\
                    [access]\ndelay = \"5 ms\"\n[users.one]\n";
        LatenessMeter::new(&Scenario::parse(text, &[]).expect("the scenario is valid").plan())
    }

    #[test]
    fn lateness_counts_from_a_share_of_the_round_trip() {
        let mut lateness = lateness();
        for us in [10, 990, 1010] {
            lateness.record(Span::from_micros(us));
        }
        let report = lateness.report();
        assert_eq!((report.packets, report.late_packets), (3, 1));
        assert!((report.lateness_mean_s - 0.00067).abs() < 1e-5);
        assert_eq!(report.objections().len(), 1, "a third of the packets was late");
    }

    #[test]
    fn a_run_on_time_has_no_objection_and_a_lost_packet_is_one() {
        let mut lateness = lateness();
        (0..1000).for_each(|_| lateness.record(Span::from_micros(40)));
        lateness.record(Span::from_millis(20));
        assert!(lateness.report().objections().is_empty(), "one in a thousand may be late");
        let overrun = TimingReport { overruns: 1, ..lateness.report() };
        assert_eq!(overrun.objections(), ["1 packets not fetched in time"]);
        let stalled = TimingReport { stall_s: 0.25, ..lateness.report() };
        assert_eq!(stalled.objections(), ["the applications stood still for 0.25 s"]);
    }
}
