//! Diagnostics of a scenario file: error, position, remedy.

use std::borrow::Cow;
use std::fmt;

/// Maximum number of errors reported.
pub(crate) const MAX_ERRORS: usize = 100;

/// Maximum number of characters shown of a key or suggestion: values may have megabytes.
const MAX_NAME: usize = 160;
/// Maximum number of characters shown of a message.
const MAX_MESSAGE: usize = 1200;

/// Maximum number of valid names compared with an invalid one.
const MAX_CANDIDATES: usize = 2_000;

/// An error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Line in the file, from 1; `None` if the value was set by an override.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Dotted path of the key, such as `bottleneck.rate`; empty for the file as a whole.
    pub key: String,
    /// Error and expectation.
    pub message: String,
    /// Nearest valid name, if one is similar.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// Makes it one printable line of limited length: texts of the file may contain anything.
    pub(crate) fn printable(self) -> Diagnostic {
        Diagnostic {
            key: printable(&self.key, MAX_NAME),
            message: printable(&self.message, MAX_MESSAGE),
            suggestion: self.suggestion.map(|name| printable(&name, MAX_NAME)),
            ..self
        }
    }

    /// Returns the diagnostic that stands for omitted ones.
    pub(crate) fn more(omitted: usize) -> Diagnostic {
        let message = format!("and {omitted} more errors");
        Diagnostic { line: None, column: None, key: String::new(), message, suggestion: None }
    }
}

/// Removes characters that a terminal interprets, and shortens long texts in the middle.
fn printable(text: &str, max: usize) -> String {
    let length = text.chars().count();
    let text: Cow<str> = if length <= max {
        text.into()
    } else {
        let head: String = text.chars().take(max / 2).collect();
        let tail: String = text.chars().skip(length - max / 2).collect();
        format!("{head} ... {tail}").into()
    };
    text.chars().flat_map(plain).collect()
}

fn plain(c: char) -> Vec<char> {
    if is_obeyed(c) { c.escape_default().collect() } else { vec![c] }
}

/// Whether a terminal interprets a character: control characters, changes of text direction (Unicode, UAX #9), and
/// separators of lines and paragraphs.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Display for Diagnostic {
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

impl std::error::Error for Diagnostic {}

/// Returns the valid name most similar to `given`.
pub(crate) fn nearest<'a>(
    given: &str,
    valid: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A name of several kilobytes is no misspelling, and the distance costs the product of the lengths.
    if given.len() > 64 {
        return None;
    }
    let lower = given.to_lowercase().replace('-', "_");
    let distance =
        |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase().replace('-', "_"));
    valid
        .into_iter()
        .take(MAX_CANDIDATES)
        .map(|name| (distance(name), name))
        .filter(|(d, name)| *d <= 1 + name.chars().count() / 4 && *d < name.chars().count())
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        for (text, want) in [
            ("a\u{1b}]0;own\u{7}", "a\\u{1b}]0;own\\u{7}"),
            ("a\nb\tc\u{7f}", "a\\nb\\tc\\u{7f}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("\u{202e}txt\u{2066}\u{2028}", "\\u{202e}txt\\u{2066}\\u{2028}"),
            ("größer 5 µs, 日本", "größer 5 µs, 日本"),
        ] {
            assert_eq!(printable(text, 100), want);
        }
    }
}
