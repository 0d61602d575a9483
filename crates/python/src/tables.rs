//! A run's tables as Python dictionaries of columns.
//!
//! Numbers go over as numpy arrays that take the vector's memory over, so nothing is copied;
//! names go over as lists.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tidegate_simulator::output::{
    FlowSeries, FlowTable, GroupSeries, IntervalGroupTable, IntervalLinkTable, IntervalTables,
    LinkGroupTable, LinkSeries, LinkTable, RunOutput, TransferTable,
};

/// Moves a table's vectors into a dictionary under the same names. Naming all of them is the
/// point: a column that the engine gains is missed here by the compiler.
macro_rules! columns {
    ($py:expr, $table:expr => $kind:ident, [$($text:ident),*], [$($number:ident),* $(,)?]) => {{
        let $kind { $($text,)* $($number,)* } = $table;
        let columns = PyDict::new($py);
        $(columns.set_item(stringify!($text), PyList::new($py, $text)?)?;)*
        $(columns.set_item(stringify!($number), $number.into_pyarray($py))?;)*
        columns
    }};
}

/// All tables of a run by name; `run` has one row about the run itself.
pub fn to_python(py: Python<'_>, output: RunOutput) -> PyResult<Bound<'_, PyDict>> {
    let tables = PyDict::new(py);
    let run = PyDict::new(py);
    run.set_item("seed", vec![output.seed].into_pyarray(py))?;
    run.set_item("digest", PyList::new(py, [output.digest])?)?;
    run.set_item("events", vec![output.events].into_pyarray(py))?;
    run.set_item("hops", vec![output.hops].into_pyarray(py))?;
    run.set_item("simulated_s", vec![output.simulated_s].into_pyarray(py))?;
    tables.set_item("run", run)?;
    tables.set_item(
        "flows",
        columns!(
            py,
            output.flows => FlowTable,
            [],
            [
                user,
                group,
                throughput_bps,
                goodput_bps,
                packets_sent,
                retransmits,
                timeouts,
                fast_recoveries,
                losses,
                packets_delivered,
                marks,
                mean_srtt_s,
                mean_cwnd_packets,
                host_jitter_s,
            ]
        ),
    )?;
    tables.set_item(
        "links",
        columns!(
            py,
            output.links => LinkTable,
            [name],
            [
                monitored,
                arrivals,
                departures,
                departed_bytes,
                departures_in_all,
                utilization,
                mean_backlog_packets,
                mean_backlog_bytes,
                mean_sojourn_s,
                p95_sojourn_s,
                p99_sojourn_s,
                max_sojourn_s,
                drops_full,
                drops_aqm,
                drops_wire,
                drops_policer,
                marks,
                state_bytes,
            ]
        ),
    )?;
    tables.set_item(
        "link_groups",
        columns!(
            py,
            output.link_groups => LinkGroupTable,
            [link],
            [
                group,
                arrivals,
                departures,
                departed_bytes,
                drops,
                marks,
                mean_activity,
            ]
        ),
    )?;
    tables.set_item(
        "transfers",
        columns!(
            py,
            output.transfers => TransferTable,
            [],
            [flow, group, start_s, size_bytes, completion_s]
        ),
    )?;
    tables.set_item(
        "group_series",
        columns!(py, output.group_series => GroupSeries, [], [time_s, group, throughput_bps]),
    )?;
    tables.set_item(
        "link_series",
        columns!(
            py,
            output.link_series => LinkSeries,
            [link],
            [time_s, backlog_packets, backlog_bytes, drops, drops_policer, marks]
        ),
    )?;
    tables.set_item(
        "flow_series",
        columns!(
            py,
            output.flow_series => FlowSeries,
            [],
            [time_s, flow, cwnd_packets, srtt_s]
        ),
    )?;
    let IntervalTables { groups, links } = output.intervals;
    if !groups.interval.is_empty() {
        let groups =
            columns!(py, groups => IntervalGroupTable, [], [interval, group, throughput_bps]);
        let links = columns!(
            py,
            links => IntervalLinkTable,
            [link],
            [interval, utilization, mean_backlog_packets, drops, drops_policer]
        );
        tables.set_item("interval_groups", groups)?;
        tables.set_item("interval_links", links)?;
    }
    Ok(tables)
}
