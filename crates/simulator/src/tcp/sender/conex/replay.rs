//! A ConEx sender without TCP around it: what it declares after given congestion, for comparison with other
//! implementations.

use tidegate_mechanisms::units::{Span, Time};
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
    /// A segment is retransmitted, which shows a loss in this round trip.
    Lossy {
        /// Time of the retransmission.
        now: Time,
        /// Smoothed round-trip time.
        srtt: Span,
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

/// Signals that a packet declares. A positive packet of re-ECN declares a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConexSignals {
    /// A loss.
    pub loss: bool,
    /// A mark.
    pub mark: bool,
    /// Credit.
    pub credit: bool,
}

/// Returns the signals of each packet sent. Lost declarations are not known, and not repeated.
///
/// # Panics
///
/// If nothing is declared by this plan.
pub fn declarations(tcp: &TcpPlan, packet_size: u16, events: &[ConexEvent]) -> Vec<ConexSignals> {
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
            ConexEvent::Lossy { now, srtt } => {
                if let (None, Some(credit)) = (&sender.re_ecn, &mut sender.credit) {
                    credit.note_loss(now, srtt);
                }
            }
            ConexEvent::Sent { payload, in_flight, now } => {
                let departure =
                    Departure { segment: 0, bytes: payload, again: false, in_flight, now };
                let flags = sender.declare(&departure);
                said.push(signals(flags));
            }
        }
    }
    said
}

fn signals(declared: u32) -> ConexSignals {
    let has = |flag: u32| declared & flag != 0;
    match has(flags::CONEX) {
        true => ConexSignals {
            loss: has(flags::LOSS),
            mark: has(flags::MARK),
            credit: has(flags::CREDIT),
        },
        false => ConexSignals {
            loss: false,
            mark: has(flags::ECT) && !has(flags::RE),
            credit: !has(flags::ECT),
        },
    }
}
