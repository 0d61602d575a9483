//! Python values as TOML, on one line, as in a scenario file.

use pyo3::exceptions::{PyRecursionError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use toml_writer::{ToTomlKey, ToTomlValue, TomlStringBuilder};

/// Maximum depth, above that of any scenario.
const MAX_DEPTH: usize = 100;

/// Returns a boolean, a number, a text, a list or a dictionary as TOML.
#[pyfunction]
pub fn toml_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    write(value, MAX_DEPTH)
}

/// Returns a key as TOML, quoted if necessary.
#[pyfunction]
pub fn toml_key(key: &str) -> String {
    key.to_toml_key()
}

fn write(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<String> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(PyRecursionError::new_err("nested too deeply"));
    };
    if value.is_instance_of::<PyBool>() {
        Ok(value.extract::<bool>()?.to_toml_value())
    } else if value.is_instance_of::<PyInt>() {
        Ok(value.str()?.to_string())
    } else if value.is_instance_of::<PyFloat>() {
        Ok(value.extract::<f64>()?.to_toml_value())
    } else if let Ok(text) = value.cast::<PyString>() {
        Ok(TomlStringBuilder::new(&text.to_cow()?).as_basic().to_toml_value())
    } else if let Ok(items) = value.cast::<PyList>() {
        let items: Vec<_> =
            items.iter().map(|item| write(&item, depth)).collect::<PyResult<_>>()?;
        Ok(format!("[{}]", items.join(", ")))
    } else if let Ok(entries) = value.cast::<PyDict>() {
        let entry = |(key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let key = key.str()?.to_cow()?.to_toml_key();
            Ok(format!("{key} = {}", write(&item, depth)?))
        };
        let entries: Vec<_> = entries.iter().map(entry).collect::<PyResult<_>>()?;
        Ok(format!("{{ {} }}", entries.join(", ")))
    } else {
        let kind = value.get_type().name()?.to_string();
        let message = format!("a {kind} cannot be a value of a scenario file: {}", value.repr()?);
        Err(PyTypeError::new_err(message))
    }
}
