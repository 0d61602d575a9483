//! Accurate ECN (AccECN): the receiver tells how many marks it got. RFC 9768.
//!
//! ```text
//! ACE: the flags AE, CWR and ECE as a number
//!   SYN       111         accurate feedback is asked for
//!   SYN/ACK   table 2     whether it is agreed to, and the ECN field of the SYN
//!   its ACK   table 3     the ECN field of the SYN/ACK
//!   all else  r.cep mod 8 packets that arrived marked, from 5 on
//! options 172 and 174     bytes that arrived with ECT(0), CE and ECT(1), mod 2²⁴, from 1, 0 and 1 on
//! ```
//!
//! Who says what in the [`handshake`] stands by itself; then the receiver counts ([`MarkCounters`]), and the
//! sender reads what it has counted ([`MarkReader`]). Each half of a connection has its own counters, told
//! by its own ACKs. ACKs of the one half that arrive marked count in the other, where there is one.
//!
//! As in Linux, all packets but requests and their answers are ECN-capable, ACKs and segments that are sent
//! again too (RFC 9768 leaves that to experiments).

pub mod handshake;
mod reader;
mod received;

pub use handshake::HandshakeOutcome;
pub use reader::{Arrived, MarkReader, ReportedMarks};
pub use received::{Fitted, MarkCounters, OptionRoom};

use crate::packet::{Packet, flags};

/// The option in an answer: three counters, padded.
pub const ANSWERED_OPTION_BYTES: u16 = 12;

/// The ECN field of an IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(1).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Codepoint {
    /// Of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        match packet.flags & (flags::CE | flags::ECT | flags::ECT_1) {
            marked if marked & flags::CE != 0 => Codepoint::Ce,
            capable if capable & flags::ECT == 0 => Codepoint::NotEct,
            one if one & flags::ECT_1 != 0 => Codepoint::Ect1,
            _ => Codepoint::Ect0,
        }
    }

    /// As flags of a packet.
    pub fn flags(self) -> u32 {
        match self {
            Codepoint::NotEct => 0,
            Codepoint::Ect1 => flags::ECT | flags::ECT_1,
            Codepoint::Ect0 => flags::ECT,
            Codepoint::Ce => flags::ECT | flags::CE,
        }
    }
}

/// The flags AE, CWR and ECE as a number, AE its highest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ace(u8);

impl Ace {
    /// None of them.
    pub const NONE: Ace = Ace(0);
    /// A request for accurate feedback.
    pub const ACCURATE_REQUEST: Ace = Ace(7);
    /// A request for classic feedback (RFC 3168, section 6.1.1).
    pub const CLASSIC_REQUEST: Ace = Ace(3);
    /// It is agreed to.
    pub const CLASSIC_ANSWER: Ace = Ace(1);

    /// Of a number; its lowest three bits.
    pub fn new(number: u32) -> Self {
        Ace((number & 7) as u8)
    }

    /// The number, from 0 to 7.
    pub fn get(self) -> u8 {
        self.0
    }

    /// Of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        let bit = |flag: u32, at: u8| u8::from(packet.has(flag)) << at;
        Ace(bit(flags::AE, 2) | bit(flags::CWR, 1) | bit(flags::ECE, 0))
    }

    /// As flags of a packet.
    #[inline]
    pub fn flags(self) -> u32 {
        let flag = |at: u8, flag: u32| if self.0 & 1 << at != 0 { flag } else { 0 };
        flag(2, flags::AE) | flag(1, flags::CWR) | flag(0, flags::ECE)
    }
}

#[cfg(test)]
mod tests;
