//! Errors of runs on Linux.

/// Errors of a valid scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// The machine lacks something: one line each, with the remedy.
    #[error("{}", .0.join("\n"))]
    Missing(Vec<String>),
    /// The scenario has features that exist only in simulations: one line each, with the remedy.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The hosts could not be built.
    #[error("{0}")]
    Setup(String),
    /// The run failed.
    #[error("{0}")]
    Run(String),
}

impl LabError {
    /// Returns the exit code of a command.
    pub fn exit_code(&self) -> u8 {
        match self {
            LabError::Missing(_) => 77,
            LabError::Refused(_) => 3,
            LabError::Setup(_) | LabError::Run(_) => 1,
        }
    }
}
