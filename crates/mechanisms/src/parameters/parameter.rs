//! Description of a parameter, and its default.

use core::fmt;

use super::Kind;

/// Parameter of a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key.
    pub name: &'static str,
    /// Default, as written in a scenario file.
    pub default: DefaultValue,
    /// Unit, or kind.
    pub unit: &'static str,
    /// Meaning, with its symbol in the equations.
    pub meaning: &'static str,
    /// Kind.
    pub kind: Kind,
}

impl Parameter {
    /// Returns the unit, or the words to choose from.
    pub fn unit_or_words(&self) -> String {
        match self.kind {
            Kind::Word(words) => words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
            Kind::Choice(offer) => {
                offer.kinds.iter().map(|kind| kind.0).collect::<Vec<_>>().join(", ")
            }
            _ => self.unit.to_owned(),
        }
    }
}

/// Default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// Required.
    Required,
    /// Unset: the mechanism omits the feature.
    Unset,
    /// Depends on the profile of the scenario.
    ByProfile(ByProfile),
    /// Constant.
    Value(&'static str),
    /// Defaults of its own keys.
    Nested,
}

/// Default for each profile, as written in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByProfile {
    /// Default of today's Linux.
    pub linux: &'static str,
    /// Default of research simulators: ns-2, or ns-3 if ns-2 lacks the mechanism.
    pub classic: &'static str,
    /// Default of Linux in 2009; today's if Linux did not have the mechanism then.
    pub linux_2_6_29: &'static str,
}

impl ByProfile {
    /// Returns all defaults.
    pub const fn all(&self) -> [&'static str; 3] {
        [self.linux, self.classic, self.linux_2_6_29]
    }
}

impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DefaultValue::Required => "required",
            DefaultValue::Unset => "not set",
            DefaultValue::ByProfile(ByProfile { linux, classic, linux_2_6_29: old }) => {
                return write!(f, "{linux}; classic: {classic}; linux-2.6.29: {old}");
            }
            DefaultValue::Value(text) => text,
            DefaultValue::Nested => "by key",
        })
    }
}
