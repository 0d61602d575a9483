//! Parameters of mechanisms, each declared once beside its mechanism.
//!
//! [`parameters!`](crate::parameters) makes a struct of values, and everything that a scenario file needs to read and
//! describe them: keys, types and ranges, defaults as in a file, and documentation. A [`Choice`] is one of several
//! mechanisms with its parameters.

mod declare;
mod kind;
mod parameter;
mod types;

pub(crate) use declare::choices;
pub use kind::{Alternatives, Form, Kind, ParameterValue};
pub use parameter::{ByProfile, DefaultValue, Parameter};
pub use types::{Nested, ParameterType, Tables};

use crate::units::Span;

/// Error of parameters that are valid one by one: the key, and the reason.
pub type ParameterError = (&'static str, String);

/// Returns errors for those of the times that are zero.
pub(crate) fn too_short(times: &[(&'static str, Span)]) -> Vec<ParameterError> {
    let zero = times.iter().filter(|(_, time)| *time == Span::ZERO);
    zero.map(|(key, _)| (*key, "must be longer than 0 s".to_owned())).collect()
}

/// Parameters of a mechanism.
pub trait Parameters: Clone {
    /// Name of the type in code.
    const TYPE_NAME: &'static str;
    /// Description of the mechanism for users.
    const ABOUT: &'static str;
    /// Parameters.
    const ALL: &'static [Parameter];
    /// Former keys, with their replacements.
    const RETIRED: &'static [(&'static str, &'static str)];

    /// Returns the parameters with these values, in order.
    fn from_values(values: Vec<ParameterValue>) -> Self;

    /// Returns the values, in order.
    fn to_values(&self) -> Vec<ParameterValue>;

    /// Returns the errors of the values together.
    fn errors(&self) -> Vec<ParameterError>;
}

/// One of several mechanisms, with its parameters.
pub trait Choice: Clone {
    /// Name of the choice among the types of a scenario file.
    const NAME: &'static str;
    /// Description of the choice.
    const ABOUT: &'static str;
    /// Name, description and parameters of all mechanisms.
    const KINDS: &'static [(&'static str, &'static str, &'static [Parameter])];

    /// Returns the mechanism at this index of [`Choice::KINDS`], with these values.
    fn from_values(kind: usize, values: Vec<ParameterValue>) -> Self;

    /// Returns the mechanism's index, and its values.
    fn to_values(&self) -> (usize, Vec<ParameterValue>);

    /// Returns the errors of the values together.
    fn errors(&self) -> Vec<ParameterError>;
}
