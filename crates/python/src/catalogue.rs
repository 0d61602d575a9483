//! Mechanisms, kinds of traffic and their parameters, for `tidegate list` and the documentation.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tidegate_mechanisms::parameters::Choice;
use tidegate_mechanisms::registry::{self, Mechanism, Parameter};
use tidegate_scenario::plan::Traffic;

/// Returns every mechanism as a dictionary, in the order of a packet's path.
#[pyfunction]
pub fn mechanisms(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = registry::ALL.iter();
    let rows: Vec<_> = all.map(|mechanism| describe(py, mechanism)).collect::<PyResult<_>>()?;
    PyList::new(py, rows)
}

/// Returns every kind of traffic as a dictionary, in the order of the schema.
#[pyfunction]
pub fn traffic(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let kind = |&(name, about, parameters): &(&str, &str, &[Parameter])| {
        let words: Vec<_> = about.split_whitespace().collect();
        let row = PyDict::new(py);
        row.set_item("name", name)?;
        row.set_item("summary", words.join(" "))?;
        row.set_item("parameters", described(py, parameters)?)?;
        Ok(row)
    };
    let rows: Vec<_> = Traffic::KINDS.iter().map(kind).collect::<PyResult<_>>()?;
    PyList::new(py, rows)
}

fn describe<'py>(py: Python<'py>, mechanism: &Mechanism) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", mechanism.name)?;
    row.set_item("category", mechanism.category.as_str())?;
    row.set_item("title", mechanism.title)?;
    row.set_item("summary", mechanism.summary())?;
    row.set_item("source", mechanism.source)?;
    row.set_item("usage", mechanism.usage)?;
    row.set_item("parameters", described(py, mechanism.parameters)?)?;
    row.set_item("file", mechanism.file)?;
    row.set_item("header", mechanism.header())?;
    Ok(row)
}

fn described<'py>(py: Python<'py>, parameters: &[Parameter]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    parameters.iter().map(|one| parameter(py, one)).collect()
}

fn parameter<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", parameter.name)?;
    row.set_item("default", parameter.default.to_string())?;
    row.set_item("unit", parameter.unit_or_words())?;
    let meaning: Vec<_> = parameter.meaning.split_whitespace().collect();
    row.set_item("meaning", meaning.join(" "))?;
    Ok(row)
}
