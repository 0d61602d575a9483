//! Users and what they send.

use serde_json::{Value as Json, json};
use tidegate_mechanisms::units::{Bytes, Rate, Span};

use super::{Access, Tcp};
use crate::declare::{choice, kinds, section};
use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::schema::Definitions;
use crate::value::{Count, Integer, Step};

section! {
    /// A group of equal users.
    pub struct User {
        /// Number of users in the group.
        default count: Count = Integer(1);
        /// Flows of each user.
        default flows: Count = Integer(1);
        /// Node that the users send from; not in a dumbbell.
        optional from: String;
        /// Node that the users send to; not in a dumbbell.
        optional to: String;
        /// What each flow sends.
        default traffic: Traffic = Traffic::Greedy(Greedy {});
        /// When each flow starts. Default: uniform over the first second, or over the warm-up if
        /// that is shorter.
        optional start: Start;
        /// Activity meter in front of each user.
        optional meter: Meter;
        /// Full packet on the wire, where it differs from the scenario's.
        optional packet_size: Bytes;
        /// TCP options, where they differ from the scenario's.
        optional tcp: Tcp;
        /// Access link, where it differs from the scenario's.
        optional access: Access;
        /// Link at the far end, where it differs from the scenario's.
        optional egress: Access;
    }
}

kinds! {
    /// What a flow sends.
    pub enum Traffic {
        Greedy = "greedy",
        Transfer = "transfer",
        Cbr = "cbr",
    }
}

impl Traffic {
    /// Whether TCP carries it, else UDP.
    pub fn is_tcp(&self) -> bool {
        match self {
            Traffic::Greedy(_) | Traffic::Transfer(_) => true,
            Traffic::Cbr(_) => false,
        }
    }
}

section! {
    /// TCP that always has data to send.
    pub struct Greedy {}
}

section! {
    /// TCP transfers of a given size, each on a connection of its own.
    pub struct Transfer {
        /// Application bytes of a transfer.
        required size: Bytes;
        /// From the end of a transfer to the start of the next. Without it there is only one.
        optional pause: Span;
        /// Distribution of the pause around its mean.
        optional pause_distribution: PauseDistribution;
        /// Instead of a pause: from the start of a transfer to the start of the next, on average.
        optional every: Span;
        /// Standard deviation of it; it is then normally distributed.
        optional every_deviation: Span;
        /// The application hands over so much at a time, the first of it at the start. Without it, all
        /// of a transfer at once.
        optional write_size: Bytes;
        /// So often.
        optional write_interval: Span;
    }
    check sends_something;
}

fn sends_something(transfer: &Transfer, reader: &mut Reader) {
    if transfer.size == Bytes::ZERO {
        reader.wrong_at("size", "a transfer has at least 1 B");
    }
    if transfer.pause.is_none() && transfer.pause_distribution.is_some() {
        reader.wrong_at("pause_distribution", "has no meaning without a pause");
    }
    if transfer.pause.is_some() && transfer.every.is_some() {
        reader.wrong_at("every", "give pause or every, not both");
    }
    if transfer.every.is_none() && transfer.every_deviation.is_some() {
        reader.wrong_at("every_deviation", "has no meaning without every");
    }
    match (transfer.write_size, transfer.write_interval) {
        (Some(_), None) => reader.wrong_at("write_size", "has no meaning without write_interval"),
        (None, Some(_)) => reader.wrong_at("write_interval", "has no meaning without write_size"),
        (Some(Bytes::ZERO), _) => reader.wrong_at("write_size", "a write has at least 1 B"),
        (_, Some(Span::ZERO)) => reader.wrong_at("write_interval", "takes more than 0 s"),
        _ => {}
    }
}

choice! {
    /// Distribution of pauses. Default fixed.
    pub enum PauseDistribution {
        /// Always the same.
        Fixed = "fixed",
        /// Exponential.
        Exponential = "exponential",
    }
}

section! {
    /// UDP at a constant bit rate, in full packets.
    pub struct Cbr {
        /// Bits on the wire per second.
        required rate: Rate;
    }
}

section! {
    /// Activity meter: writes into each packet how far its user exceeds the reference rate.
    pub struct Meter {
        /// Rate R_r that the user is entitled to.
        required reference_rate: Rate;
        /// Inertia I: how slowly activity follows the rate.
        default inertia: Span = Span::from_millis(600);
        /// Burst allowance B: what a user may send at once before activity rises.
        default burst_allowance: Bytes = Bytes::ZERO;
        /// Activity is rounded up to a multiple of this. Without it, it is exact.
        optional granularity: Step;
        /// Number of meters that a user's packets pass in turn; reference rate and burst
        /// allowance are divided among them.
        default meters: Integer<1, 1000> = Integer(1);
    }
    check measures_something;
}

fn measures_something(meter: &Meter, reader: &mut Reader) {
    if meter.inertia == Span::ZERO {
        reader.wrong_at("inertia", "must not be zero");
    }
    if meter.reference_rate.as_bps() < meter.meters.0 {
        reader.wrong_at("reference_rate", "less than 1 b/s for each meter");
    }
}

/// When flows start: at a time, or uniformly between two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Start {
    pub from: Span,
    pub to: Span,
}

section! {
    /// Uniform between two times.
    pub struct StartRange {
        /// Not before.
        required from: Span;
        /// Not after.
        required to: Span;
    }
}

impl Field for Start {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Value::Table(_) = node.value {
            let StartRange { from, to } = StartRange::read(node, reader)?;
            if from > to {
                reader.wrong_at("to", "is before from");
            }
            return Some(Start { from, to });
        }
        Span::read(node, reader).map(|at| Start { from: at, to: at })
    }
    fn write(&self) -> Value {
        match self.from == self.to {
            true => self.from.write(),
            false => StartRange { from: self.from, to: self.to }.write(),
        }
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [Span::schema(definitions), StartRange::schema(definitions)] })
    }
}
