//! PC2, REM's second price rule: the price of a link is its queue above a target.
//! S. Athuraliya, S. Low, "Optimization flow control, II: implementation", 2000; equation numbers from S. Zimmermann,
//! "Congestion pricing as scalable, efficient and stable congestion control for future IP networks", dissertation,
//! 2005, sections 4.2.2 and 5.2.1.
//!
//! ```text
//! λ ← max(0, γ (b − b₀))                      every T     (5.2.4)
//! ```
//!
//! An arriving packet gets the price λ, encoded by the scenario's `price_encoding` as a mark with a probability or as a
//! value. Nothing is dropped for a price.
//!
//! The queue is the waiting packets, without the one in transmission, as in ns-2.

use super::sampled_price::{PriceQueue, PriceRule, Rule};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, too_short};
use crate::units::{Factor, QueueLength, Span};

parameters! {
    /// Price of a link in proportion to its queue above a target. Needs price_encoding.
    pub struct Pc2Params {
        /// γ: price of a packet above the target.
        pub gamma: Factor = "0.001",
        /// b₀: target queue, packets or bytes.
        pub target: QueueLength,
        /// T: interval of the price's computation.
        pub interval: Span = "1 ms",
    }
    check takes_time;
}

fn takes_time(params: &Pc2Params) -> Vec<ParameterError> {
    too_short(&[("interval", params.interval)])
}

/// A queue with this rule.
pub type Pc2 = PriceQueue<Pc2Params>;

impl PriceRule for Pc2Params {
    const ENTRY: About = About {
        name: "pc2",
        title: "PC2",
        source: "Athuraliya and Low 2000; Zimmermann 2005, equation (5.2.4)",
        usage: r#"bottleneck.aqm = { kind = "pc2", gamma = 0.1, target = "18 packets" }"#,
        file: "bottleneck/pc2.rs",
        text: crate::mechanism::source_text!("pc2.rs"),
    };

    fn rule(&self) -> (Rule, f64, Span) {
        let Pc2Params { gamma, target, interval } = *self;
        (Rule::Pc2 { target }, gamma.0, interval)
    }
}
