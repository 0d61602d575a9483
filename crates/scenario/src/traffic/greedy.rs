//! Greedy TCP traffic.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::units::Span;

use super::TrafficParams;

parameters! {
    /// TCP that always has data to send.
    pub struct Greedy {
        /// Time during which the flow sends. Data not sent by then are discarded. Default: to the end of the run.
        pub lasts: Option<Span>,
    }
}

impl TrafficParams for Greedy {}
