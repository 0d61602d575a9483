//! What happens to a packet at the ingress.

use crate::units::{Bytes, Rate, Span};

/// Parameters of the activity meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivityMeterParams {
    /// Reference rate R_r.
    pub reference_rate: Rate,
    /// Inertia I.
    pub inertia: Span,
    /// Burst allowance B.
    pub burst_allowance: Bytes,
    /// Step g to which activity is rounded up; `None` keeps it exact.
    pub granularity: Option<f64>,
}
