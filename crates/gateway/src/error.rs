//! Why a run on Linux was not possible.

/// What can go wrong outside the scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// The machine lacks something: one line each, with the remedy.
    #[error("{}", .0.join("\n"))]
    Missing(Vec<String>),
    /// The hosts cannot be built.
    #[error("{0}")]
    Setup(String),
    /// The run broke off.
    #[error("{0}")]
    Run(String),
}
