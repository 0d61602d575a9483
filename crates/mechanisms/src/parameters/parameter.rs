//! What can be set of a mechanism, and what it is when nobody sets it.

use core::fmt;

use super::Kind;

/// Something that can be set in a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// What it is when not set, as written in a scenario file.
    pub default: DefaultValue,
    /// Its unit, or what else it may be.
    pub unit: &'static str,
    /// What it means, with its letter in the equations.
    pub meaning: &'static str,
    /// What may stand there.
    pub kind: Kind,
}

impl Parameter {
    /// Its unit, or the words to choose from.
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

/// What a parameter is when it is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// It has to be set.
    Required,
    /// The mechanism does without.
    Unset,
    /// It follows the profile of the scenario, and is one of these.
    ByProfile(ByProfile),
    /// This value.
    Value(&'static str),
    /// Its keys have defaults of their own.
    Nested,
}

/// A default for each profile, as written in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByProfile {
    /// As today's Linux has it.
    pub linux: &'static str,
    /// As research simulators have it: ns-2, and where that lacks the mechanism, ns-3.
    pub classic: &'static str,
    /// As Linux had it in 2009; today's where that did not have the mechanism.
    pub linux_2_6_29: &'static str,
}

impl ByProfile {
    /// All of them.
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
