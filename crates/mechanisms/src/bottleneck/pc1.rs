//! PC1, REM's first price rule: the price of a link rises while the arrival rate exceeds the capacity, regardless of
//! the queue. S. Athuraliya, S. Low, "Optimization flow control, II: implementation", 2000; equation numbers from S.
//! Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP networks",
//! dissertation, 2005, sections 4.2.2 and 5.2.1.
//!
//! ```text
//! ŷ ← (1 − δ) ŷ + δ (packets that arrived in T)           (4.2.5), packets of average size
//! λ ← max(0, λ + γ (ŷ − c))                   every T     (5.2.3), c in packets per T
//! ```
//!
//! An arriving packet gets the price λ, encoded by the scenario's `price_encoding` as a mark with a probability or as a
//! value. Nothing is dropped for a price.
//!
//! The queue is the waiting packets, without the one in transmission, as in ns-2.
//!
//! Differs from the dissertation: its (4.2.5) divides by the interval T, which would give packets per second. In
//! packets per interval, as in its text, its printed numbers are reproduced.

use super::sampled_price::{PriceQueue, PriceRule, Rule};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, too_short};
use crate::units::{Factor, Share, Span};

parameters! {
    /// Price of a link that rises while the arrival rate exceeds the capacity. Needs price_encoding.
    pub struct Pc1Params {
        /// γ: step of the price, per packet.
        pub gamma: Factor = "0.001",
        /// δ: weight of a new sample in the estimate of the rate.
        pub weight: Share = "0.9",
        /// T: interval of the price's computation.
        pub interval: Span = "1 ms",
    }
    check takes_time;
}

fn takes_time(params: &Pc1Params) -> Vec<ParameterError> {
    too_short(&[("interval", params.interval)])
}

/// A queue with this rule.
pub type Pc1 = PriceQueue<Pc1Params>;

impl PriceRule for Pc1Params {
    const ENTRY: About = About {
        name: "pc1",
        title: "PC1",
        source: "Athuraliya and Low 2000; Zimmermann 2005, equation (5.2.3)",
        usage: r#"bottleneck.aqm = { kind = "pc1", gamma = 0.001 }"#,
        file: "bottleneck/pc1.rs",
        text: crate::mechanism::source_text!("pc1.rs"),
    };

    fn rule(&self) -> (Rule, f64, Span) {
        let Pc1Params { gamma, weight, interval } = *self;
        (Rule::Pc1 { weight: weight.0 }, gamma.0, interval)
    }
}
