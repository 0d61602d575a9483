//! Why a run on Linux was not possible.

/// What can go wrong with a scenario that is valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// The machine lacks something: one line each, with the remedy.
    #[error("{}", .0.join("\n"))]
    Missing(Vec<String>),
    /// The scenario has what only simulations have: one line each, with the remedy.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The hosts cannot be built.
    #[error("{0}")]
    Setup(String),
    /// The run broke off.
    #[error("{0}")]
    Run(String),
}

impl LabError {
    /// What a command ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            LabError::Missing(_) => 77,
            LabError::Refused(_) => 3,
            LabError::Setup(_) | LabError::Run(_) => 1,
        }
    }
}
