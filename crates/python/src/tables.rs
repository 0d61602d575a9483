//! Tables of a run as Python dictionaries of columns, and their schema.
//!
//! Numbers become numpy arrays that take over the vector's memory, so nothing is copied; names become lists.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tidegate_simulator::output::schema::{Column, TableSchema, Values};
use tidegate_simulator::output::{RunOutput, SCHEMA};

/// Returns all tables of a run by name, each a dictionary of its columns.
pub fn to_python(py: Python<'_>, output: RunOutput) -> PyResult<Bound<'_, PyDict>> {
    let tables = PyDict::new(py);
    for (schema, values) in output.into_tables() {
        tables.set_item(schema.name, columns(py, &schema, values)?)?;
    }
    Ok(tables)
}

/// Returns the columns of a table by name.
pub fn columns<'py>(
    py: Python<'py>,
    schema: &TableSchema,
    values: Vec<Values>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for (column, values) in schema.columns.iter().zip(values) {
        columns.set_item(column.name, array(py, values)?)?;
    }
    Ok(columns)
}

fn array(py: Python<'_>, values: Values) -> PyResult<Bound<'_, PyAny>> {
    Ok(match values {
        Values::U32(numbers) | Values::Group(numbers) => numbers.into_pyarray(py).into_any(),
        Values::U64(numbers) => numbers.into_pyarray(py).into_any(),
        Values::F64(numbers) => numbers.into_pyarray(py).into_any(),
        Values::Bool(answers) => answers.into_pyarray(py).into_any(),
        Values::Text(names) => PyList::new(py, names)?.into_any(),
    })
}

/// Returns every table that a run can have: its name, the meaning of a row, the runs that have it (`None`: all), and
/// its columns with name, type, unit and meaning.
#[pyfunction]
pub fn output_schema(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let tables = SCHEMA.iter().map(|schema| {
        let columns: Vec<_> =
            schema.columns.iter().map(|column| describe(py, column)).collect::<PyResult<_>>()?;
        let table = PyDict::new(py);
        table.set_item("name", schema.name)?;
        table.set_item("about", schema.about.trim())?;
        table.set_item("only", schema.only)?;
        table.set_item("columns", columns)?;
        Ok(table)
    });
    PyList::new(py, tables.collect::<PyResult<Vec<_>>>()?)
}

fn describe<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", column.name)?;
    row.set_item("type", column.kind.as_str())?;
    row.set_item("unit", column.unit)?;
    row.set_item("meaning", column.meaning.trim())?;
    Ok(row)
}
