//! Short transfers that begin whether or not others have ended.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Factor, Share, Span};

use super::Application;

parameters! {
    /// TCP transfers of a given size that begin whether or not others have ended, each on a connection of
    /// its own.
    pub struct ShortFlows {
        /// Application bytes of a transfer.
        pub size: Bytes,
        /// From the beginning of one to that of the next, on average. Gamma distributed.
        pub every: Span,
        /// Shape of that distribution: with 1 it is exponential, and the larger the more regular.
        pub shape: Factor = "1.0",
        /// Of the transfers that begin so often, each is this flow's with this probability; the others are
        /// somebody else's.
        pub share: Share = "1.0",
        /// Each has a row in the table of transfers. Else they are counted alone, so that memory does not grow
        /// with them.
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
    let wrong = checks.into_iter().filter(|(wrong, ..)| *wrong);
    wrong.map(|(_, key, message)| (key, message.to_owned())).collect()
}

impl Application for ShortFlows {}
