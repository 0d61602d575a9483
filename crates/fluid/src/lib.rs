//! Links as a fluid: windows and queues as smooth functions of time, with delays that follow the queues.
//!
//! The equations are (6.4.1) to (6.4.7) of the dissertation "Congestion Pricing as Scalable, Efficient and
//! Stable Congestion Control for Future IP Networks", for groups g of N_g equal sources over the links l of
//! their path:
//!
//! ```text
//! W_g' = g(W_g(t), p_g(t − R_g/2), R_g(t)) · x_g(t − R_g)      what an ACK does, times the ACKs
//! b_l' = Σ N_g x_g(t − R_g/2) − c_l                             over who passes l; x_g = W_g / R_g
//! R_g(t) = d_g + Σ b_l(t)/c_l,    1 − p_g = Π (1 − p_l)         over its path
//! ```
//!
//! with all delays taken at the present R_g(t), in packets and seconds. Each link is half a round trip from the source,
//! and queues do not smooth the rates. A link may treat groups differently ([`Policy`]). These are delay differential
//! equations whose lags depend on their state. [`run`] takes steps of a fixed length, short compared with the shortest
//! lag, by Heun's method, and interpolates the history linearly between steps.

#![forbid(unsafe_code)]

mod flow;
mod past;
mod policy;
mod price;
mod red;
mod signal_law;
mod source;
mod trajectory;

pub use policy::{AbcPolicy, AfcpPolicy, Policy, TwoQueues};
pub use price::Price;
pub use red::{FluidRed, RedAdaptation, Spacing};
pub use signal_law::{FluidQueue, PiController, SignalLaw, SignalState};
pub use source::{Customer, Law, SourceGroup};
pub use trajectory::{FluidError, Integration, Trajectory, run};

/// Links, and the sources whose packets pass them.
#[derive(Clone, Debug)]
pub struct FluidNetwork {
    /// Links with queues.
    pub links: Vec<FluidLink>,
    /// Groups of sources.
    pub groups: Vec<SourceGroup>,
    /// Whether queues may become negative, as in the dissertation; a real one stays empty.
    pub free_queue: bool,
}

/// A link with its queue and signal.
#[derive(Clone, Debug)]
pub struct FluidLink {
    /// Its rate, in packets/s.
    pub capacity_pps: f64,
    /// Signal law of its queue.
    pub signal: SignalLaw,
    /// Differentiation of groups.
    pub policy: Policy,
}

#[cfg(test)]
mod tests;
