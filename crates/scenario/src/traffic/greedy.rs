//! Always something to send.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::units::Span;

use super::Application;

parameters! {
    /// TCP that always has data to send.
    pub struct Greedy {
        /// For so long; what has not left by then never does. Default: to the end.
        pub lasts: Option<Span>,
    }
}

impl Application for Greedy {}
