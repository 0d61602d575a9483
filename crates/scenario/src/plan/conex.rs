//! What a TCP sender declares of the congestion it has met (ConEx).

use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Share, Span};
use tidegate_mechanisms::{choice, parameters, words};

words! {
    /// Credit that is declared before congestion is met.
    pub enum CreditPlan {
        /// For all bytes in flight, so that it never runs out (RFC 7786, section 4.2).
        Flight = "flight",
        /// For half of them, the least in slow start: half of the initial window and then every
        /// fourth packet (RFC 7786, figure 1).
        HalfFlight = "half-flight",
        /// None: no audit.
        Off = "off",
    }
}

words! {
    /// Which packets a loss or a mark may be declared on.
    pub enum CarrierPlan {
        /// The next that has payload, retransmissions included (RFC 7786, section 5.1).
        Any = "any",
        /// The next that has new data, so that a policer that drops what is declared stops no retransmission.
        NewData = "new-data",
        /// The same; what a connection has not declared when everything has arrived goes on the next that the flow
        /// opens.
        NewDataOrNext = "new-data-or-next",
    }
}

words! {
    /// Which losses are declared.
    pub enum LossesPlan {
        /// Each segment that is retransmitted (RFC 7786, section 3.1).
        Each = "each",
        /// Each that ACKs report. Not what is retransmitted after a timeout, of which the receiver has fed back nothing.
        Reported = "reported",
        /// One for each fast recovery and for each timeout, however many segments are retransmitted.
        Event = "event",
    }
}

parameters! {
    /// It takes part and declares nothing, credit included.
    pub struct Never {}
}

parameters! {
    /// It gives credit, and declares nothing of what it meets.
    pub struct CreditAlone {}
}

parameters! {
    /// It gives credit as its flight grows, and declares nothing of what it meets. When that has used the credit up, it
    /// sends nothing new on its connection, so that its application begins another, if it does: transfers with a pause.
    pub struct Whitewash {}
}

parameters! {
    /// It declares a share.
    pub struct Understate {
        /// So much of what it has met.
        pub share: Share,
    }
}

parameters! {
    /// It declares everything, and later.
    pub struct Late {
        /// By so much.
        pub by: Span,
    }
}

parameters! {
    /// It declares marks as losses.
    pub struct LossForMark {}
}

parameters! {
    /// It declares what it meets while little is in flight, and nothing of what it meets else.
    pub struct WhileSlow {
        /// So much in flight at most, in bytes of payload.
        pub flight: Bytes,
    }
}

parameters! {
    /// It gives credit while that costs little, and declares nothing as long as that lasts; then it begins
    /// again.
    pub struct Hoard {
        /// So much credit at first.
        pub credit: Bytes,
    }
    check hoards_something;
}

fn hoards_something(hoard: &Hoard) -> Option<ParameterError> {
    (hoard.credit == Bytes::ZERO).then(|| ("credit", "must not be 0 B".to_owned()))
}

choice! {
    /// How a sender lies about the congestion it has met, for studies of which audit detects it.
    pub enum CheatPlan as Cheat {
        /// Not at all.
        None = "none";
        Never(Never) = "never";
        CreditAlone(CreditAlone) = "credit-alone";
        Whitewash(Whitewash) = "whitewash";
        Understate(Understate) = "understate";
        Late(Late) = "late";
        LossForMark(LossForMark) = "loss-for-mark";
        WhileSlow(WhileSlow) = "while-slow";
        Hoard(Hoard) = "hoard";
    }
}

parameters! {
    /// As RFC 7786 has it: bytes met are declared byte by byte, with credit in advance.
    pub struct Rfc7786 {
        /// Credit that is declared before congestion is met.
        pub credit: CreditPlan = "flight",
        /// Which packets a loss or a mark may be declared on.
        pub carrier: CarrierPlan = "any",
        /// What is declared on a packet that is lost is declared again.
        pub repeats_lost: bool = "true",
        /// How the sender lies about what it has met.
        pub cheat: CheatPlan = "none",
    }
}

parameters! {
    /// As Sanhaji et al. 2015 have it: one packet is declared for each that is lost or marked, and none
    /// for both.
    pub struct PerSignal {
        /// Which losses are declared.
        pub losses: LossesPlan = "each",
        /// Which packets a loss or a mark may be declared on.
        pub carrier: CarrierPlan = "any",
        /// What is declared on a packet that is lost is declared again.
        pub repeats_lost: bool = "false",
        /// How the sender lies about what it has met.
        pub cheat: CheatPlan = "none",
    }
}

parameters! {
    /// As re-ECN has it, in the ECN field and the RE bit: packets are positive for the bytes that were
    /// marked, and credit comes first. Needs ECN.
    pub struct ReEcn {
        /// Credit that is declared before congestion is met.
        pub credit: CreditPlan = "half-flight",
        /// Losses are declared, as marks are. Else what was declared on a packet that is lost is declared again.
        /// A policer's own drops are losses: where they are declared, it drops for what it has dropped.
        pub losses: bool = "false",
        /// After so long without a packet the network may have forgotten the flow, and credit starts again.
        pub idle: Span = "1 s",
        /// How the sender lies about what it has met.
        pub cheat: CheatPlan = "none",
    }
    check lies_as_it_can;
}

fn lies_as_it_can(re_ecn: &ReEcn) -> Option<ParameterError> {
    let message = "re-ECN has one codepoint for losses and marks: take another, such as \"never\"";
    matches!(re_ecn.cheat, CheatPlan::LossForMark(_)).then(|| ("cheat", message.to_owned()))
}

choice! {
    /// What a sender declares of the congestion it has met (ConEx, re-ECN).
    pub enum ConexPlan as Conex {
        /// Nothing.
        Off = "off";
        Rfc7786(Rfc7786) = "rfc7786";
        PerSignal(PerSignal) = "per-signal";
        ReEcn(ReEcn) = "re-ecn";
    }
}
