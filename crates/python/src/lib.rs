//! `tidegate._native`: scenario in, columns out.
//!
//! Everything that is convenient (tables, statistics, files, figures) is Python's part; everything
//! that is slow or must be exact is on this side. No Arrow here: see `docs/adr/`.

#[expect(dead_code, reason = "until a scenario can be run")]
mod tables;

use pyo3::prelude::*;

/// The compiled part of tidegate.
#[pymodule]
mod _native {
    /// Version of the engine, the same as the package's.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "a Python name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::version;
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
