//! Errors in a script.

use std::fmt;

/// An error in a script: its line, the problem, and the expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// Line, from 1.
    pub line: usize,
    /// Description of the error.
    pub message: String,
}

impl ScriptError {
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        ScriptError { line, message: message.into() }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ScriptError {}
