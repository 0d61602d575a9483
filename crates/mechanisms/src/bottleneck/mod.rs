//! What happens to a packet at a bottleneck: a signal (how congested) and a differentiation (who
//! it falls on).

/// Parameters of the piecewise-linear AQM.
#[derive(Clone, Debug, PartialEq)]
pub struct PiecewiseLinearParams {
    /// Points (queue length in packets, probability), ascending in the queue length.
    pub points: Vec<(f64, f64)>,
}

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq)]
pub struct RedParams {
    /// No signal below this average queue, in the unit of `mode`.
    pub min_threshold: f64,
    /// Signal every packet from this average queue on (unless gentle).
    pub max_threshold: f64,
    /// Probability just below `max_threshold`.
    pub max_probability: f64,
    /// Weight of the moving average.
    pub weight: f64,
    /// Whether the queue is counted in packets or bytes.
    pub mode: QueueUnit,
    /// Rise linearly from `max_probability` to 1 between `max_threshold` and its double.
    pub gentle: bool,
    /// How signals are spaced.
    pub spacing: RedSpacing,
    /// Time of a typical packet on the link, for the decay of the average while idle.
    pub mean_packet_time: crate::units::Span,
}

/// What a queue length is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueUnit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// Spacing of RED's signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedSpacing {
    /// Independent draws.
    Geometric,
    /// p / (1 − count p): gaps uniform on 1..1/p (Floyd and Jacobson 1993).
    Uniform,
    /// Gaps uniform on 1/p..2/p (ns-2's and ns-3's `wait`).
    Wait,
}

/// Parameters of ABC's differentiation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbcParams {
    /// Differentiation factor γ.
    pub gamma: f64,
    /// Weight w_A of the moving average of activity.
    pub weight: f64,
}
