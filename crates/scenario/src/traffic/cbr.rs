//! A constant bit rate.

use tidegate_mechanisms::units::{Bytes, Probability, Rate, Span};
use tidegate_mechanisms::{choice, parameters, words};

use super::TrafficParams;

parameters! {
    /// Packets are ConEx-capable (X), and fixed shares of them carry declarations, regardless of the congestion.
    pub struct Blind {
        /// Share of the packets that declare a loss (L).
        pub losses: Probability = "0.0",
        /// Share of the packets that declare a mark (E).
        pub marks: Probability = "0.0",
        /// Share of the packets that give credit (C).
        pub credit: Probability = "0.0",
        /// Packets leave marked CE, as those of no honest sender do.
        pub ce: bool = "false",
    }
}

parameters! {
    /// Packets are ConEx-capable (X), and declare the congestion that the receiver reports. The sender keeps its rate.
    pub struct Reported {
        /// Share of the marked bytes that is declared.
        pub marks: Probability = "1.0",
        /// Share of the lost bytes that is declared.
        pub losses: Probability = "1.0",
        /// Time from the arrival that shows a mark or a loss until it may be declared. Reports take no packets.
        pub late: Span = "100 ms",
        /// Credit given in advance.
        pub credit: Bytes = "0 B",
    }
}

parameters! {
    /// Packets use re-ECN: ECT(1) with the RE bit. The sender keeps its rate, and by default declares nothing.
    pub struct ReportedReEcn {
        /// Share of the marked bytes that is declared.
        pub marks: Probability = "0.0",
        /// Share of the lost bytes that is declared.
        pub losses: Probability = "0.0",
        /// Time from the arrival that shows a mark or a loss until it may be declared. Reports take no packets.
        pub late: Span = "100 ms",
        /// Credit given in advance.
        pub credit: Bytes = "0 B",
    }
}

choice! {
    /// Congestion that an unresponsive sender declares (ConEx).
    pub enum BlindConex as BlindConex {
        /// Nothing; packets are not ConEx-capable.
        Off = "off";
        Blind(Blind) = "blind";
        Reported(Reported) = "reported";
        ReEcn(ReportedReEcn) = "re-ecn";
    }
}

words! {
    /// Codec of a call.
    pub enum Codec {
        /// G.711 with concealment of losses; with packets of 20 ms 80 kb/s in packets of 200 B.
        G711 = "g711",
        /// G.729A; with packets of 20 ms 24 kb/s in packets of 60 B.
        G729 = "g729",
    }
}

parameters! {
    /// UDP at a constant bit rate, in packets of full size.
    pub struct Cbr {
        /// Bits on the wire per second.
        pub rate: Rate,
        /// Packets are ECN-capable, ECT(0). The sender ignores marks.
        pub ecn: bool = "false",
        /// Congestion that it declares (ConEx, re-ECN).
        pub conex: BlindConex = "off",
        /// Time during which the flow sends. Default: to the end of the run.
        pub lasts: Option<Span>,
        /// The flow is a call with this codec: results have its mean opinion score (MOS).
        pub codec: Option<Codec>,
    }
}

impl TrafficParams for Cbr {
    fn is_over_tcp(&self) -> bool {
        false
    }
}
