//! A constant bit rate.

use tidegate_mechanisms::units::{Probability, Rate, Span};
use tidegate_mechanisms::{choice, parameters};

use super::Application;

parameters! {
    /// It takes part (X) and declares shares of its packets, whatever becomes of them: nobody tells it.
    pub struct Blind {
        /// Of its packets, those that declare a loss (L).
        pub losses: Probability = "0.0",
        /// Those that declare a mark (E).
        pub marks: Probability = "0.0",
        /// Those that give credit (C).
        pub credit: Probability = "0.0",
    }
}

parameters! {
    /// It takes part in re-ECN, ECT(1) with the RE bit, though it heeds no mark, and never has anything to declare.
    pub struct BlindReEcn {}
}

choice! {
    /// What a sender that gets no feedback declares of congestion (ConEx).
    pub enum BlindConex as BlindConex {
        /// Nothing: it stays outside.
        Off = "off";
        Blind(Blind) = "blind";
        ReEcn(BlindReEcn) = "re-ecn";
    }
}

parameters! {
    /// UDP at a constant bit rate, in full packets.
    pub struct Cbr {
        /// Bits on the wire per second.
        pub rate: Rate,
        /// Its packets are ECN-capable, ECT(0), though it heeds no mark.
        pub ecn: bool = "false",
        /// What it declares of congestion.
        pub conex: BlindConex = "off",
        /// For so long. Default: to the end.
        pub lasts: Option<Span>,
    }
}

impl Application for Cbr {
    fn is_over_tcp(&self) -> bool {
        false
    }
}
