//! Several runs in one call, without the interpreter's lock: their tables one below the other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::schema::{TableSchema, Values};
use tidegate_simulator::output::{RunOutput, SCHEMA};
use tidegate_simulator::{Report, run_reporting, try_run};

use crate::progress::Reporter;
use crate::scenario::{Scenario, panic_message};
use crate::tables;

/// Rows of a run that lacks a table.
const ABSENT: i64 = -1;

/// Tables by name, the rows of each run in them (-1: the run lacks the table), and number and reason of each run that
/// failed.
type BatchRow<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, Vec<(usize, String)>);

/// Runs these scenarios with these seeds, one after the other, with the interpreter's lock released. A run that fails
/// has no rows. `report` is called as in `Scenario.run`, with the share as the number of runs done, and all hops.
#[pyfunction]
#[pyo3(signature = (runs, report = None))]
pub fn run_batch<'py>(
    py: Python<'py>,
    runs: Vec<(Py<Scenario>, u64)>,
    report: Option<Py<PyAny>>,
) -> PyResult<BatchRow<'py>> {
    for (scenario, _) in &runs {
        scenario.get().check_simulator()?;
    }
    let runs: Vec<(&Plan, u64)> =
        runs.iter().map(|(scenario, seed)| (&scenario.get().plan, *seed)).collect();
    let batch = py.detach(|| Batch::of(&runs, report.as_ref()));
    batch.into_python(py)
}

/// A table of several runs.
struct Stacked {
    schema: TableSchema,
    columns: Vec<Values>,
    /// Rows of each run.
    rows: Vec<i64>,
}

#[derive(Default)]
struct Batch {
    /// In the order of [`SCHEMA`].
    tables: Vec<Stacked>,
    /// Number of runs that have rows.
    runs: usize,
    failures: Vec<(usize, String)>,
}

impl Batch {
    fn of(runs: &[(&Plan, u64)], report: Option<&Py<PyAny>>) -> Self {
        let mut batch = Batch::default();
        let mut reporter = report.map(Reporter::new);
        let mut hops = 0;
        for (number, &(plan, seed)) in runs.iter().enumerate() {
            let run = || match &mut reporter {
                None => try_run(plan, seed),
                Some(reporter) => run_reporting(plan, seed, &mut |at: Report| {
                    let share = number as f64 + at.share;
                    reporter.report(Report { share, hops: hops + at.hops, ..at });
                }),
            };
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Ok(output)) => {
                    hops += output.hops;
                    batch.add(output);
                }
                Ok(Err(stop)) => batch.failures.push((number, stop.to_string())),
                Err(panic) => batch.failures.push((number, panic_message(panic.as_ref()))),
            }
        }
        batch
    }

    fn add(&mut self, output: RunOutput) {
        for (schema, columns) in output.into_tables() {
            let rows = columns.first().map_or(0, len) as i64;
            let table = self.table(schema);
            if table.columns.is_empty() {
                table.columns = columns;
            } else {
                table.columns.iter_mut().zip(columns).for_each(|(all, new)| append(all, new));
            }
            table.rows.push(rows);
        }
        self.runs += 1;
        for table in &mut self.tables {
            table.rows.resize(self.runs, ABSENT);
        }
    }

    /// Returns a table with an entry for each run so far.
    fn table(&mut self, schema: TableSchema) -> &mut Stacked {
        let place = |name| SCHEMA.iter().position(|one| one.name == name);
        let found =
            self.tables.binary_search_by_key(&place(schema.name), |one| place(one.schema.name));
        let at = found.unwrap_or_else(|at| {
            let rows = vec![ABSENT; self.runs];
            self.tables.insert(at, Stacked { schema, columns: Vec::new(), rows });
            at
        });
        &mut self.tables[at]
    }

    fn into_python(self, py: Python<'_>) -> PyResult<BatchRow<'_>> {
        let (all, rows) = (PyDict::new(py), PyDict::new(py));
        for table in self.tables {
            all.set_item(table.schema.name, tables::columns(py, &table.schema, table.columns)?)?;
            rows.set_item(table.schema.name, table.rows)?;
        }
        Ok((all, rows, self.failures))
    }
}

fn len(values: &Values) -> usize {
    match values {
        Values::U32(all) | Values::Group(all) => all.len(),
        Values::U64(all) => all.len(),
        Values::F64(all) => all.len(),
        Values::Bool(all) => all.len(),
        Values::Text(all) => all.len(),
    }
}

/// Appends values of the same type: those of one column.
fn append(all: &mut Values, new: Values) {
    match (all, new) {
        (Values::U32(all), Values::U32(new)) | (Values::Group(all), Values::Group(new)) => {
            all.extend(new);
        }
        (Values::U64(all), Values::U64(new)) => all.extend(new),
        (Values::F64(all), Values::F64(new)) => all.extend(new),
        (Values::Bool(all), Values::Bool(new)) => all.extend(new),
        (Values::Text(all), Values::Text(new)) => all.extend(new),
        _ => unreachable!("a column has one type"),
    }
}
