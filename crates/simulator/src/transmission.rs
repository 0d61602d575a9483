//! How long a packet takes to leave a link.

use tidegate_mechanisms::units::{Span, Time};

/// When a transmission ends, and for how long the link sends until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// When it ends.
    pub ends: Time,
    /// For how long the link sends, without outages.
    pub sending: Span,
}
