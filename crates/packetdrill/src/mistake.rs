//! What is wrong with a script.

use std::fmt;

/// A mistake in a script: where, what, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptMistake {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl ScriptMistake {
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        ScriptMistake { line, message: message.into() }
    }
}

impl fmt::Display for ScriptMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ScriptMistake {}
