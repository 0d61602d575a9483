//! Why the gateway does not do what it was asked for.

use std::io;

use tidegate_scenario::Diagnostic;

/// An error, and with it the exit code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line is not understood.
    #[error("{0}")]
    Usage(String),
    /// The file of settings has errors.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Settings(Vec<Diagnostic>),
    /// The customer file has errors.
    #[error("{path}:\n{}", .errors.iter().map(|error| format!("  {error}")).collect::<Vec<_>>().join("\n"))]
    Customers {
        /// The file.
        path: String,
        /// All of them.
        errors: Vec<Diagnostic>,
    },
    /// A right or something of the kernel is missing.
    #[error("{0}")]
    Lacks(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// 1 failed, 2 usage, 3 settings or customers, 77 what is missing.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Failed(_) => 1,
            Error::Usage(_) => 2,
            Error::Settings(_) | Error::Customers { .. } => 3,
            Error::Lacks(_) => 77,
        }
    }

    /// With what was tried. A refused right is one that is missing.
    pub fn of(what: &str, error: &(dyn std::error::Error + 'static)) -> Error {
        let mut causes = vec![error.to_string()];
        let mut refused = is_refusal(error);
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            refused |= is_refusal(cause);
            source = cause.source();
        }
        let causes = shortened(&causes.join(": "));
        // The verifier's refusal has the same number, and nothing to do with rights.
        if refused && !causes.contains("Verifier output") {
            return Error::Lacks(format!(
                "{what}: {causes}; it takes root, or CAP_BPF and CAP_NET_ADMIN"
            ));
        }
        Error::Failed(format!("{what}: {causes}"))
    }
}

/// The verifier's log is long, and its end says what is wrong.
fn shortened(text: &str) -> String {
    const MOST: usize = 300;
    let length = text.chars().count();
    if length <= 3 * MOST {
        return text.to_owned();
    }
    let head: String = text.chars().take(MOST).collect();
    let tail: String = text.chars().skip(length - MOST).collect();
    format!("{head} … {tail}")
}

fn is_refusal(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}
