//! Transfers that arrive regardless of the completion of others.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Factor, Probability, Share, Span};

use super::{ArrivalTimes, FlowSize, TrafficParams};

parameters! {
    /// TCP transfers, of one size or of sizes from a distribution, each on a new connection, also while others are in
    /// progress. They arrive as a renewal process with gamma distributed intervals (a Poisson process by default), or
    /// at times from a file.
    pub struct ShortFlows {
        /// Payload of one transfer: a size, or a distribution of sizes, such as "web-search".
        pub size: FlowSize,
        /// Mean time between two arrivals of each flow of the group.
        pub every: Option<Span>,
        /// Instead of every: offered load of the group, in bits on the wire (payload and headers), as a share of the rate
        /// of the slowest shared link on its path, such as "60 %". All flows of the group together offer it.
        pub load: Option<Probability>,
        /// Instead of every: the times of the arrivals, after the start of the flow. Name of a CSV file, seen from the
        /// scenario's, or its text: a time in seconds in each line, ascending. The flows of the group take them in turn.
        /// Flows then start at 0 s, unless the group has a start.
        pub arrivals: Option<ArrivalTimes>,
        /// Shape of the gamma distribution: 1 is exponential, larger values are more regular.
        pub shape: Factor = "1.0",
        /// Probability that an arrival belongs to this flow; the others are discarded.
        pub share: Share = "1.0",
        /// Each transfer has a row in the table of transfers. If false, transfers are only counted, and memory does not
        /// grow with their number.
        pub listed: bool = "true",
    }
    check begins_something;
}

fn begins_something(flows: &ShortFlows) -> Vec<ParameterError> {
    let ShortFlows { size, every, load, arrivals, shape, share, .. } = flows;
    let given = [every.is_some(), load.is_some(), arrivals.is_some()];
    let given = given.into_iter().filter(|given| *given).count();
    let later = if arrivals.is_some() { "arrivals" } else { "load" };
    let is_thinned = shape.0.to_bits() != 1f64.to_bits() || share.0.to_bits() != 1f64.to_bits();
    let checks = [
        (*size == FlowSize::Fixed(Bytes::ZERO), "size", "a transfer has at least 1 B"),
        (*every == Some(Span::ZERO), "every", "must not be zero"),
        (
            given == 0,
            "every",
            "is missing: write the mean time between two arrivals, or load = \"60 %\", or arrivals from a file",
        ),
        (given > 1, later, "give one of every, load and arrivals"),
        (load.is_some_and(|load| load.0 == 0.0), "load", "must be above 0"),
        (shape.0 < 0.01, "shape", "must be at least 0.01; with 1 times are exponential"),
        (
            arrivals.is_some() && is_thinned,
            "arrivals",
            "the file has all times: remove shape and share",
        ),
        (
            load.is_some() && share.0 < 1.0,
            "share",
            "has no meaning with load, which is that of all flows of the group",
        ),
    ];
    let failed = checks.into_iter().filter(|(fails, ..)| *fails);
    let mut errors: Vec<ParameterError> =
        failed.map(|(_, key, message)| (key, message.to_owned())).collect();
    if let Some(error) = arrivals.as_ref().and_then(ArrivalTimes::error) {
        errors.push(("arrivals", error.to_owned()));
    }
    errors
}

impl ShortFlows {
    /// Returns the mean number of transfers that a flow of the group starts per second.
    ///
    /// # Panics
    ///
    /// If a load has not been turned into a time between arrivals.
    pub fn starts_per_second(&self, run: Span, flows: f64) -> f64 {
        match (&self.arrivals, self.every) {
            (Some(arrivals), _) => {
                let in_run = arrivals.times().partition_point(|time| *time < run);
                in_run as f64 / flows / run.as_secs()
            }
            (None, every) => self.share.0 / every.expect("has been computed").as_secs(),
        }
    }

    /// Returns the mean time between two arrivals of each of so many flows, for this load of a link.
    pub fn every_at(&self, load: f64, link_bps: f64, flows: f64, sizes: PacketSizes) -> Span {
        let PacketSizes { full, headers } = sizes;
        let bytes = self.size.mean() + headers * self.size.mean_packets(full - headers);
        Span::from_secs_f64(8.0 * bytes * flows / (load * link_bps))
    }
}

/// Sizes of a full packet and of the headers in it, bytes.
#[derive(Clone, Copy, Debug)]
pub struct PacketSizes {
    /// A full packet on the wire.
    pub full: f64,
    /// Its headers.
    pub headers: f64,
}

impl TrafficParams for ShortFlows {}
