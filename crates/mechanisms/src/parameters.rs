//! What can be set of a mechanism, declared once, beside it.
//!
//! [`parameters!`](crate::parameters) makes a struct of values, and with it what a scenario file needs
//! to read and describe them: the keys, what may stand there, the defaults as a file would have
//! them, and the documentation. A [`Choice`] is one of several mechanisms with its parameters.

mod declare;
mod kind;
mod parameter;
mod types;

pub(crate) use declare::choices;
pub use kind::{Alternatives, Form, Kind, ParameterValue};
pub use parameter::{ByProfile, DefaultValue, Parameter};
pub use types::{Nested, ParameterType, Tables};

use crate::units::Span;

/// What is wrong with parameters that are well-formed one by one: the key, and why.
pub type ParameterError = (&'static str, String);

/// The times among these that are zero, where that makes no sense.
pub(crate) fn too_short(times: &[(&'static str, Span)]) -> Vec<ParameterError> {
    let zero = times.iter().filter(|(_, time)| *time == Span::ZERO);
    zero.map(|(key, _)| (*key, "must be longer than 0 s".to_owned())).collect()
}

/// The parameters of a mechanism.
pub trait Parameters: Clone {
    /// What they are called in code.
    const TYPE_NAME: &'static str;
    /// What the mechanism does, for whoever sets it.
    const ABOUT: &'static str;
    /// What can be set.
    const ALL: &'static [Parameter];
    /// Keys that there once were, and what to write today.
    const RETIRED: &'static [(&'static str, &'static str)];

    /// From a value for each.
    fn from_values(values: Vec<ParameterValue>) -> Self;

    /// A value for each.
    fn to_values(&self) -> Vec<ParameterValue>;

    /// What is wrong with the values together.
    fn errors(&self) -> Vec<ParameterError>;
}

/// One of several mechanisms, with its parameters.
pub trait Choice: Clone {
    /// What it is called in a scenario file's types.
    const NAME: &'static str;
    /// What is chosen.
    const ABOUT: &'static str;
    /// Name, explanation and parameters of all mechanisms.
    const KINDS: &'static [(&'static str, &'static str, &'static [Parameter])];

    /// The mechanism with this place in [`Choice::KINDS`], with a value for each parameter.
    fn from_values(kind: usize, values: Vec<ParameterValue>) -> Self;

    /// The mechanism's place, and a value for each parameter.
    fn to_values(&self) -> (usize, Vec<ParameterValue>);

    /// What is wrong with the values together.
    fn errors(&self) -> Vec<ParameterError>;
}
