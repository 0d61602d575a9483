//! Kinds of parameters, and their values.

use super::{Choice, Parameter, ParameterError};
use crate::units::{
    BufferSize, Bytes, Demand, Factor, Memory, OrOff, Points, Probability, QueueLength, Rate,
    RateOrOutage, Share, Span, Spans, Step, TokenRate, Tokens,
};

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    /// Bits per second.
    Rate(Rate),
    /// Bits per second, or 0.
    RateOrOutage(RateOrOutage),
    /// Time.
    Span(Span),
    /// Times, used in rotation.
    Spans(Spans),
    /// Size.
    Bytes(Bytes),
    /// Packets, or size.
    QueueLength(QueueLength),
    /// Packets, size, time or bandwidth-delay products.
    Buffer(BufferSize),
    /// Packets to the thousandth, or size.
    Tokens(Tokens),
    /// Packets per second to the thousandth, or bits per second.
    TokenRate(TokenRate),
    /// From 0 to 1.
    Probability(Probability),
    /// Above 0, at most 1.
    Share(Share),
    /// From 0 to just below 1.
    Memory(Memory),
    /// From 0 to 1000.
    Factor(Factor),
    /// Above 0, at most 1000.
    Step(Step),
    /// Above 0, at most 10⁹.
    Demand(Demand),
    /// Time, or `off`.
    OrOff(OrOff),
    /// One of several words.
    Word(&'static str),
    /// A whole number.
    Count(u32),
    /// Yes or no.
    Flag(bool),
    /// Text in a format of the mechanism.
    Text(String),
    /// Points of a function.
    Points(Points),
    /// One of several mechanisms: its index, and its values.
    Choice(usize, Vec<ParameterValue>),
    /// Several such mechanisms, in order.
    List(Vec<ParameterValue>),
    /// List of tables: the values of each.
    Tables(Vec<Vec<ParameterValue>>),
    /// Nested table: its values.
    Nested(Vec<ParameterValue>),
    /// No value: the mechanism has no default.
    Unset,
}

/// Kind of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Bits per second.
    Rate,
    /// Bits per second, or 0.
    RateOrOutage,
    /// Time.
    Span,
    /// Time, or several used in rotation.
    Spans,
    /// Size.
    Bytes,
    /// Packets, or size.
    QueueLength,
    /// Packets, size, time or bandwidth-delay products.
    Buffer,
    /// Packets, including fractions, or size.
    Tokens,
    /// Packets per second, or bits per second.
    TokenRate,
    /// From 0 to 1.
    Probability,
    /// Above 0, at most 1.
    Share,
    /// From 0 to just below 1.
    Memory,
    /// From 0 to 1000.
    Factor,
    /// Above 0, at most 1000.
    Step,
    /// Above 0, at most 10⁹.
    Demand,
    /// Time, or the word `off`.
    OrOff,
    /// One of these words, each with its meaning.
    Word(&'static [(&'static str, &'static str)]),
    /// A whole number.
    Count {
        /// Minimum.
        min: u32,
        /// Maximum.
        max: u32,
    },
    /// true or false.
    Flag,
    /// Text in a format of the mechanism.
    Text,
    /// Points \[queue length in packets, probability\].
    Points,
    /// One of these mechanisms.
    Choice(Alternatives),
    /// Several of these mechanisms, in order.
    List(Alternatives),
    /// A list of tables, each with these parameters.
    Tables(Form),
    /// A table with these parameters.
    Nested(Form),
    /// A plain value, or a table that says more.
    PlainOrTable {
        /// What may stand where it is no table.
        plain: &'static Kind,
        /// The table: [`Kind::Nested`] or [`Kind::Choice`].
        table: &'static Kind,
    },
}

/// Contents of a table, nested or in a list.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Name of the table among the types of a scenario file.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Returns the errors of the values together.
    pub errors: fn(Vec<ParameterValue>) -> Vec<ParameterError>,
}

/// Mechanisms to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Alternatives {
    /// Name of the choice among the types of a scenario file.
    pub name: &'static str,
    /// Description of the choice.
    pub about: &'static str,
    /// Name, description and parameters of each.
    pub kinds: &'static [(&'static str, &'static str, &'static [Parameter])],
    /// Returns the errors of the values together, for the mechanism with this index.
    pub errors: fn(usize, Vec<ParameterValue>) -> Vec<ParameterError>,
}

impl Alternatives {
    /// Returns the alternatives of a choice.
    pub const fn of<C: Choice>() -> Self {
        Alternatives {
            name: C::NAME,
            about: C::ABOUT,
            kinds: C::KINDS,
            errors: |place, values| C::from_values(place, values).errors(),
        }
    }
}

impl Kind {
    /// Returns the unit, for tables of parameters.
    pub const fn unit(self) -> &'static str {
        match self {
            Kind::PlainOrTable { plain, .. } => plain.unit(),
            Kind::Rate | Kind::RateOrOutage => "bit/s",
            Kind::Span | Kind::Spans => "s",
            Kind::Bytes => "B",
            Kind::QueueLength | Kind::Tokens => "packets or B",
            Kind::Buffer => "packets, B, s or BDP",
            Kind::TokenRate => "packets/s or bit/s",
            Kind::Probability
            | Kind::Share
            | Kind::Memory
            | Kind::Factor
            | Kind::Step
            | Kind::Count { .. } => "1",
            Kind::Demand => "segments/s",
            Kind::OrOff => "s, or off",
            Kind::Word(_) | Kind::Choice(_) => "word",
            Kind::List(_) | Kind::Tables(_) => "list",
            Kind::Nested(_) => "table",
            Kind::Flag => "true or false",
            Kind::Text => "text",
            Kind::Points => "[packets, probability], …",
        }
    }
}
