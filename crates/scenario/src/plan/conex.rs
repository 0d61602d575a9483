//! Declaration of congestion by a TCP sender (ConEx).

use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Share, Span};
use tidegate_mechanisms::{choice, parameters, words};

words! {
    /// Credit declared in advance.
    pub enum CreditPlan {
        /// For all bytes in flight, so that it is always sufficient (RFC 7786, section 4.2).
        Flight = "flight",
        /// For half of the bytes in flight, the minimum in slow start: half of the initial window and then every fourth
        /// packet (RFC 7786, figure 1).
        HalfFlight = "half-flight",
        /// None, for networks without audit.
        Off = "off",
    }
}

words! {
    /// Packets that may carry declarations of losses and marks.
    pub enum CarrierPlan {
        /// The next packet with payload, retransmissions included (RFC 7786, section 5.1).
        Any = "any",
        /// The next packet with new data, so that a policer's drops of declarations affect no retransmission.
        NewData = "new-data",
        /// The next packet with new data; congestion undeclared at the end of a connection is declared on the flow's
        /// next connection.
        NewDataOrNext = "new-data-or-next",
    }
}

words! {
    /// Losses that are declared.
    pub enum LossesPlan {
        /// Each segment that is retransmitted (RFC 7786, section 3.1).
        Each = "each",
        /// Each loss that ACKs report, and no retransmissions after a timeout, for which there is no feedback.
        Reported = "reported",
        /// One for each fast recovery and for each timeout, however many segments are retransmitted.
        Event = "event",
    }
}

parameters! {
    /// ConEx-capable packets without any declaration, credit included.
    pub struct Never {}
}

parameters! {
    /// Credit, and no declaration of congestion.
    pub struct CreditAlone {}
}

parameters! {
    /// Credit as the flight grows, and no declaration of congestion. When the credit is used up, nothing new is sent on
    /// the connection, so that an application with repeated transfers opens another.
    pub struct Whitewash {}
}

parameters! {
    /// Declaration of a share of the congestion.
    pub struct Understate {
        /// Share that is declared.
        pub share: Share,
    }
}

parameters! {
    /// Delayed declaration.
    pub struct Late {
        /// Delay.
        pub by: Span,
    }
}

parameters! {
    /// Declaration of marks as losses.
    pub struct LossForMark {}
}

parameters! {
    /// Declaration only of congestion experienced while few bytes are in flight.
    pub struct WhileSlow {
        /// Maximum bytes in flight, payload.
        pub flight: Bytes,
    }
}

parameters! {
    /// Credit while it is cheap, and no declaration until it is used up; then again.
    pub struct Hoard {
        /// Amount of credit.
        pub credit: Bytes,
    }
    check hoards_something;
}

fn hoards_something(hoard: &Hoard) -> Option<ParameterError> {
    (hoard.credit == Bytes::ZERO).then(|| ("credit", "must not be 0 B".to_owned()))
}

choice! {
    /// Cheating in declarations, for studies of audits.
    pub enum CheatPlan as Cheat {
        /// No cheating.
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
    /// RFC 7786: congestion is declared byte by byte, with credit in advance.
    pub struct Rfc7786 {
        /// Credit declared in advance.
        pub credit: CreditPlan = "flight",
        /// Packets that may carry declarations of losses and marks.
        pub carrier: CarrierPlan = "any",
        /// Repeat declarations on lost packets.
        pub repeats_lost: bool = "true",
        /// Cheating in declarations.
        pub cheat: CheatPlan = "none",
    }
}

parameters! {
    /// Sanhaji et al. 2015: one packet is declared for each that is lost or marked, and none for both.
    pub struct PerSignal {
        /// Losses that are declared.
        pub losses: LossesPlan = "each",
        /// Packets that may carry declarations of losses and marks.
        pub carrier: CarrierPlan = "any",
        /// Repeat declarations on lost packets.
        pub repeats_lost: bool = "false",
        /// Cheating in declarations.
        pub cheat: CheatPlan = "none",
    }
}

parameters! {
    /// Re-ECN, in the ECN field and the RE bit: packets are positive for the marked bytes, with credit in advance.
    /// Needs ECN.
    pub struct ReEcn {
        /// Credit declared in advance.
        pub credit: CreditPlan = "half-flight",
        /// Declare losses, as marks are. Otherwise declarations on lost packets are repeated. A policer's own drops are
        /// losses, too: if they are declared, they cause further drops.
        pub losses: bool = "false",
        /// Pause after which credit starts over, since the network may have lost the flow's state.
        pub idle: Span = "1 s",
        /// Cheating in declarations.
        pub cheat: CheatPlan = "none",
    }
    check lies_as_it_can;
}

fn lies_as_it_can(re_ecn: &ReEcn) -> Option<ParameterError> {
    let message = "re-ECN has one codepoint for losses and marks: take another, such as \"never\"";
    matches!(re_ecn.cheat, CheatPlan::LossForMark(_)).then(|| ("cheat", message.to_owned()))
}

choice! {
    /// Declaration of congestion by a sender (ConEx, re-ECN).
    pub enum ConexPlan as Conex {
        /// Nothing.
        Off = "off";
        Rfc7786(Rfc7786) = "rfc7786";
        PerSignal(PerSignal) = "per-signal";
        ReEcn(ReEcn) = "re-ecn";
    }
}
