//! A ConEx sender without TCP around it: what it declares after given congestion, for comparison with other
//! implementations.

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::TcpPlan;

use super::cheat::CongestionGauges;
use super::{ConexSender, Departure};
use crate::packet::flags;
use crate::tcp::Sizes;

/// Event of a sender.
#[derive(Clone, Copy, Debug)]
pub enum ConexEvent {
    /// Full segments lost and marked; negative numbers cancel earlier ones.
    Met {
        /// Segments lost.
        lost: i64,
        /// Segments marked.
        marked: i64,
    },
    /// A packet with payload leaves.
    Sent {
        /// Payload, bytes.
        payload: u64,
        /// Full segments in flight, including this one.
        in_flight: u32,
        /// Time of departure.
        now: Time,
    },
}

/// Meaning of a packet in a header with one codepoint, as in re-ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConexCodepoint {
    /// Nothing is declared.
    Neutral,
    /// A loss or mark is declared.
    Positive,
    /// Credit.
    Credit,
}

/// Returns the meaning of each packet sent. Lost declarations are not known, and not repeated.
///
/// # Panics
///
/// If nothing is declared by this plan.
pub fn declarations(tcp: &TcpPlan, packet_size: u16, events: &[ConexEvent]) -> Vec<ConexCodepoint> {
    let sizes = Sizes::new(packet_size, tcp.timestamps);
    let mut sender = ConexSender::new(tcp, &sizes, true).expect("a sender that declares");
    let mut said = Vec::new();
    for event in events {
        match *event {
            ConexEvent::Met { lost, marked } => {
                let full = sender.full(1);
                let met = CongestionGauges { loss: lost * full, mark: marked * full };
                sender.meet(met, Time::ZERO);
            }
            ConexEvent::Sent { payload, in_flight, now } => {
                let departure =
                    Departure { segment: 0, bytes: payload, again: false, in_flight, now };
                let flags = sender.declare(&departure);
                said.push(codepoint(flags));
            }
        }
    }
    said
}

fn codepoint(declared: u32) -> ConexCodepoint {
    let in_re_ecn = declared & flags::CONEX == 0;
    match in_re_ecn {
        true if declared & flags::ECT == 0 => ConexCodepoint::Credit,
        true if declared & flags::RE == 0 => ConexCodepoint::Positive,
        false if declared & (flags::LOSS | flags::MARK) != 0 => ConexCodepoint::Positive,
        false if declared & flags::CREDIT != 0 => ConexCodepoint::Credit,
        _ => ConexCodepoint::Neutral,
    }
}
