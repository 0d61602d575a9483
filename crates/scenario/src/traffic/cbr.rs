//! A constant bit rate.

use tidegate_mechanisms::parameters;
use tidegate_mechanisms::units::Rate;

use super::Application;

parameters! {
    /// UDP at a constant bit rate, in full packets.
    pub struct Cbr {
        /// Bits on the wire per second.
        pub rate: Rate,
    }
}

impl Application for Cbr {
    fn is_over_tcp(&self) -> bool {
        false
    }
}
