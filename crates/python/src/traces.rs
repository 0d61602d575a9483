//! Traces of links, parsed from their text.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate_scenario::trace::{DelayTrace, RateTrace, TraceFormat};

use crate::plan::in_seconds;

/// Parses a trace of rates, or of delays if its header says so: returns its steps, in SI units, or its errors.
#[pyfunction]
pub fn read_trace<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let head = text.lines().find(|line| !line.trim_start().starts_with('#'));
    let of_delays = head.is_some_and(|line| line.contains("delay"));
    let text = if text.contains('\n') { text } else { &format!("{text}\n") };
    all.set_item("quantity", if of_delays { "delay_s" } else { "rate_bps" })?;
    if of_delays {
        let trace = DelayTrace::read(text);
        all.set_item("format", "csv")?;
        all.set_item("errors", trace.errors())?;
        all.set_item("length_s", in_seconds(trace.length()))?;
        let steps = trace.steps().iter();
        let (times, values): (Vec<_>, Vec<_>) =
            steps.map(|(from, delay)| (from.as_secs(), in_seconds(*delay))).unzip();
        all.set_item("times_s", times)?;
        all.set_item("values", values)?;
    } else {
        let trace = RateTrace::read(text);
        let is_csv = trace.format() == TraceFormat::Csv;
        all.set_item("format", if is_csv { "csv" } else { "mahimahi" })?;
        all.set_item("errors", trace.errors())?;
        all.set_item("length_s", in_seconds(trace.length()))?;
        let steps = trace.steps().iter();
        let (times, values): (Vec<_>, Vec<_>) =
            steps.map(|step| (step.from.as_secs(), step.rate_bps as f64)).unzip();
        all.set_item("times_s", times)?;
        all.set_item("values", values)?;
    }
    Ok(all)
}
