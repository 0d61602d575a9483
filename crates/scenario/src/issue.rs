//! What is wrong with a scenario file, and what to do about it.

use std::fmt;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Line in the file, from 1; `None` if the value was set by an override.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Dotted path of the key, such as `bottleneck.rate`; empty for the file as a whole.
    pub key: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// The nearest valid name, if one is near.
    pub suggestion: Option<String>,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.message)?;
        match &self.suggestion {
            Some(name) => write!(f, "; did you mean \"{name}\"?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Issue {}

/// The valid name that `given` was probably meant to be.
pub(crate) fn nearest<'a>(
    given: &str,
    valid: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A name of several kilobytes is no misspelling, and the distance costs their product.
    if given.len() > 64 {
        return None;
    }
    let lower = given.to_lowercase().replace('-', "_");
    let distance =
        |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase().replace('-', "_"));
    valid
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|(d, name)| *d <= 1 + name.chars().count() / 4 && *d < name.chars().count())
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}
