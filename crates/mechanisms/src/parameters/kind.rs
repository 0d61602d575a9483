//! What may stand for a parameter, and a value of one.

use super::{Choice, Parameter, ParameterError};
use crate::units::{
    Bytes, Demand, Factor, Memory, OrOff, Points, Probability, QueueLength, Rate, RateOrOutage,
    Share, Span, Spans, Step, TokenRate, Tokens,
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
    /// Times, in turn.
    Spans(Spans),
    /// Size.
    Bytes(Bytes),
    /// Packets, or size.
    QueueLength(QueueLength),
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
    /// Time, or not at all.
    OrOff(OrOff),
    /// One of several words.
    Word(&'static str),
    /// A whole number.
    Count(u32),
    /// Yes or no.
    Flag(bool),
    /// Whatever the mechanism can read.
    Text(String),
    /// Points of a function.
    Points(Points),
    /// One of several mechanisms: its place among them, and a value for each of its parameters.
    Choice(usize, Vec<ParameterValue>),
    /// Several of those, in a row.
    List(Vec<ParameterValue>),
    /// A list of tables: for each, a value for each of its parameters.
    Tables(Vec<Vec<ParameterValue>>),
    /// A table of its own: a value for each of its parameters.
    Nested(Vec<ParameterValue>),
    /// The mechanism does without.
    Unset,
}

/// What may stand for a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Bits per second.
    Rate,
    /// Bits per second, or 0.
    RateOrOutage,
    /// Time.
    Span,
    /// Time, or several in turn.
    Spans,
    /// Size.
    Bytes,
    /// Packets, or size.
    QueueLength,
    /// Packets, also parts of one, or size.
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
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// A whole number.
    Count {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// true or false.
    Flag,
    /// A text that the mechanism reads.
    Text,
    /// Points \[queue length in packets, probability\].
    Points,
    /// One of these mechanisms.
    Choice(Alternatives),
    /// Several of these mechanisms, in a row.
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

/// What a table has: the one of a parameter, or each of a list.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// What it is called in a scenario file's types.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What is wrong with the values of one, taken together.
    pub errors: fn(Vec<ParameterValue>) -> Vec<ParameterError>,
}

/// The mechanisms of which one can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Alternatives {
    /// What it is called in a scenario file's types.
    pub name: &'static str,
    /// What is chosen.
    pub about: &'static str,
    /// Name, explanation and parameters of each.
    pub kinds: &'static [(&'static str, &'static str, &'static [Parameter])],
    /// What is wrong with the values, taken together, of the one in this place.
    pub errors: fn(usize, Vec<ParameterValue>) -> Vec<ParameterError>,
}

impl Alternatives {
    /// Of this choice.
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
    /// Its unit, for tables of parameters.
    pub const fn unit(self) -> &'static str {
        match self {
            Kind::PlainOrTable { plain, .. } => plain.unit(),
            Kind::Rate | Kind::RateOrOutage => "bit/s",
            Kind::Span | Kind::Spans => "s",
            Kind::Bytes => "B",
            Kind::QueueLength | Kind::Tokens => "packets or B",
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
