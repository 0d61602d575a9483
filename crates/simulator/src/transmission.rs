//! Transmission of a packet on a link.

use tidegate_mechanisms::units::{Span, Time};

/// End of a transmission, and its net sending time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// End of the transmission.
    pub ends: Time,
    /// Time in which the link sends, without outages.
    pub sending: Span,
}
