//! Short transfers that arrive regardless of the completion of others.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Factor, Share, Span};

use super::TrafficParams;

parameters! {
    /// TCP transfers of a given size that arrive as a renewal process with gamma distributed intervals (a Poisson
    /// process by default), each on a new connection, also while others are in progress.
    pub struct ShortFlows {
        /// Payload of one transfer.
        pub size: Bytes,
        /// Mean time between two arrivals.
        pub every: Span,
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
    let checks = [
        (flows.size == Bytes::ZERO, "size", "a transfer has at least 1 B"),
        (flows.every == Span::ZERO, "every", "must not be zero"),
        (flows.shape.0 < 0.01, "shape", "must be at least 0.01; with 1 times are exponential"),
    ];
    let failed = checks.into_iter().filter(|(fails, ..)| *fails);
    failed.map(|(_, key, message)| (key, message.to_owned())).collect()
}

impl TrafficParams for ShortFlows {}
