//! Accurate ECN (AccECN): the receiver reports the number of marks. RFC 9768.
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
//! The [`handshake`] negotiates the mode; then the receiver counts marks ([`MarkCounters`]), and the sender reads the
//! counters ([`MarkReader`]). Each half of a connection has its own counters, reported by its own ACKs. Marked ACKs of
//! one half count in the other half, if it exists.
//!
//! As in Linux, all packets except SYN and SYN/ACK are ECN-capable, including ACKs and retransmissions (RFC 9768 leaves
//! that to experiments).

pub mod handshake;
mod reader;
mod received;

pub use handshake::HandshakeOutcome;
pub use reader::{Arrived, MarkReader, ReportedMarks};
pub use received::{Fitted, MarkCounters, OptionRoom};

use crate::packet::{Packet, flags};

/// Length of the option in a SYN/ACK: three counters, padded, bytes.
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
    /// Returns the codepoint of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        match packet.flags & (flags::CE | flags::ECT | flags::ECT_1) {
            marked if marked & flags::CE != 0 => Codepoint::Ce,
            capable if capable & flags::ECT == 0 => Codepoint::NotEct,
            one if one & flags::ECT_1 != 0 => Codepoint::Ect1,
            _ => Codepoint::Ect0,
        }
    }

    /// Returns the flags of the codepoint.
    pub fn flags(self) -> u32 {
        match self {
            Codepoint::NotEct => 0,
            Codepoint::Ect1 => flags::ECT | flags::ECT_1,
            Codepoint::Ect0 => flags::ECT,
            Codepoint::Ce => flags::ECT | flags::CE,
        }
    }
}

/// The flags AE, CWR and ECE as a number; AE is its highest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ace(u8);

impl Ace {
    /// No flags.
    pub const NONE: Ace = Ace(0);
    /// AccECN request.
    pub const ACCURATE_REQUEST: Ace = Ace(7);
    /// Classic ECN request (RFC 3168, section 6.1.1).
    pub const CLASSIC_REQUEST: Ace = Ace(3);
    /// Answer that agrees to classic ECN.
    pub const CLASSIC_ANSWER: Ace = Ace(1);

    /// Returns the lowest three bits of a number.
    pub fn new(number: u32) -> Self {
        Ace((number & 7) as u8)
    }

    /// Returns the number, from 0 to 7.
    pub fn get(self) -> u8 {
        self.0
    }

    /// Returns the field of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        let bit = |flag: u32, at: u8| u8::from(packet.has(flag)) << at;
        Ace(bit(flags::AE, 2) | bit(flags::CWR, 1) | bit(flags::ECE, 0))
    }

    /// Returns it as flags of a packet.
    #[inline]
    pub fn flags(self) -> u32 {
        let flag = |at: u8, flag: u32| if self.0 & 1 << at != 0 { flag } else { 0 };
        flag(2, flags::AE) | flag(1, flags::CWR) | flag(0, flags::ECE)
    }
}

#[cfg(test)]
mod tests;
