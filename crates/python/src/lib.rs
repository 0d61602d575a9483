//! `tidegate._native`: scenario in, columns out.
//!
//! Convenience (tables, statistics, files, figures) is Python's part; everything slow or exact is on this side. No
//! Arrow here: `docs/adr/` has the reasons.

mod batch;
mod capture;
mod catalogue;
mod fluid;
mod formulas;
mod plan;
mod progress;
mod scenario;
mod tables;
mod toml;
mod traces;

use pyo3::prelude::*;

/// The compiled part of tidegate.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::batch::run_batch;
    #[pymodule_export]
    use super::catalogue::{mechanisms, traffic};
    #[pymodule_export]
    use super::fluid::fluid;
    #[pymodule_export]
    use super::scenario::Scenario;
    #[pymodule_export]
    use super::tables::output_schema;
    #[pymodule_export]
    use super::toml::{toml_key, toml_value};
    #[pymodule_export]
    use super::traces::read_trace;
    #[pymodule_export]
    use super::{schema, version};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("CHECKED", cfg!(debug_assertions))?;
        module.add("MAX_FILE_BYTES", tidegate_scenario::MAX_FILE_BYTES)?;
        module.add("__version__", super::version())
    }
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    format!("{:#}", tidegate_scenario::schema())
}
