//! A run as a JSON document: the tables of a simulation, and the forwarder's timing report.

use serde_json::{Map, Value, json};
use tidegate_mechanisms::units::Bytes;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::schema::{Table, Values};
use tidegate_simulator::output::{FlowTable, IntervalTables, RunTable, TransferTable};
use tidegate_simulator::{Arrivals, transfer_time_s};

use crate::host::IpVersion;
use crate::lab::{LabOptions, LabRun};
use crate::load::FlowReport;

/// Returns the document. NaN (such as the mean of no values) is `null`.
pub fn document(plan: &Plan, run: &LabRun, options: LabOptions) -> Value {
    let LabRun { timing, load, deviations, .. } = run;
    let objections = timing.objections();
    json!({
        "tables": tables(plan, run, options),
        "forwarder": {
            "valid": objections.is_empty(),
            "reasons": objections,
            "packets": timing.packets,
            "late_packets": timing.late_packets,
            "nominal_late_s": timing.nominal_late_s,
            "lateness_mean_s": timing.lateness_mean_s,
            "lateness_p99_s": timing.lateness_p99_s,
            "lateness_max_s": timing.lateness_max_s,
            "overruns": timing.overruns,
            "cpu_share": timing.cpu_share,
            "malformed": timing.malformed,
            "inconsistent": timing.inconsistent,
            "unclassified": timing.unclassified,
            "without_room": timing.without_room,
            "rejected": timing.rejected,
            "messages": timing.messages,
            "realtime": timing.realtime,
            "stall_s": timing.stall_s,
        },
        "kernel": { "release": crate::kernel::release(),
                    "congestion_controls": crate::kernel::congestion_controls() },
        "deviations": deviations,
        "load": { "lateness_mean_s": load.lateness.mean_s(), "lateness_max_s": load.lateness.max.as_secs() },
        "ip": match options.ip { IpVersion::V4 => 4, IpVersion::V6 => 6 },
    })
}

/// Returns the tables of a simulation; those by interval only for scenarios with intervals.
fn tables(plan: &Plan, run: &LabRun, options: LabOptions) -> Value {
    let LabRun { emulated, load, .. } = run;
    let about = RunTable {
        seed: vec![options.seed],
        digest: vec![String::new()],
        events: vec![emulated.ledger.injected],
        hops: vec![emulated.hops],
        simulated_s: vec![(plan.warm_up + plan.duration).as_secs()],
    };
    let mut tables = Map::from_iter([
        columns(about),
        flows(plan, run),
        columns(emulated.links.clone()),
        columns(emulated.link_groups.clone()),
        columns(emulated.delays.clone()),
        columns(transfers(plan, run)),
        columns(emulated.group_series.clone()),
        columns(emulated.link_series.clone()),
        columns(load.flow_series.clone()),
    ]);
    let IntervalTables { groups, links, .. } = emulated.intervals.clone();
    if !groups.interval.is_empty() {
        tables.extend([columns(groups), columns(links)]);
    }
    if !emulated.stages.value.is_empty() {
        tables.extend([columns(emulated.stages.clone())]);
    }
    if !emulated.stage_series.amount.is_empty() {
        tables.extend([columns(emulated.stage_series.clone())]);
    }
    if !load.applications.amount.is_empty() {
        tables.extend([columns(load.applications.clone())]);
    }
    if !load.application_series.amount.is_empty() {
        tables.extend([columns(load.application_series.clone())]);
    }
    tables.into()
}

/// Returns a table with its name.
fn columns<T: Table>(table: T) -> (String, Value) {
    let values = table.into_values().into_iter().map(|values| match values {
        Values::U32(numbers) | Values::Group(numbers) => json!(numbers),
        Values::U64(numbers) => json!(numbers),
        Values::F64(numbers) => json!(numbers),
        Values::Bool(answers) => json!(answers),
        Values::Text(names) => json!(names),
    });
    let names = T::SCHEMA.columns.iter().map(|column| column.name.to_owned());
    (T::SCHEMA.name.to_owned(), Value::Object(names.zip(values).collect()))
}

/// Returns the table of flows; `null` where the kernel has no value.
fn flows(plan: &Plan, run: &LabRun) -> (String, Value) {
    let seconds = plan.duration.as_secs();
    let LabRun { emulated, load, .. } = run;
    let rate = |bytes: u64| 8.0 * bytes as f64 / seconds;
    let users: Vec<usize> = plan.flows.iter().map(|flow| flow.user).collect();
    let of_network =
        |column: fn(&Arrivals) -> u64| emulated.received.iter().map(column).collect::<Vec<_>>();
    let known = FlowTable {
        flow: (0..plan.flows.len() as u32).collect(),
        user: users.iter().map(|&user| user as u32).collect(),
        group: users.iter().map(|&user| plan.users[user].group as u32).collect(),
        throughput_bps: emulated.received.iter().map(|got| rate(got.bytes)).collect(),
        goodput_bps: load.flows.iter().map(|flow| rate(flow.goodput_bytes)).collect(),
        losses: emulated.losses.clone(),
        packets_delivered: of_network(|got| got.packets),
        marks: of_network(|got| got.marked),
        ..FlowTable::default()
    };
    let reported = |column: fn(&FlowReport) -> Value| -> Value {
        load.flows.iter().map(column).collect::<Vec<_>>().into()
    };
    let (name, mut table) = columns(known);
    for (column, values) in [
        ("packets_sent", reported(|flow| json!(flow.sent))),
        ("retransmits", reported(|flow| json!(flow.retransmits))),
        ("timeouts", reported(|flow| json!(flow.timeouts))),
        ("fast_recoveries", reported(|_| Value::Null)),
        ("mean_srtt_s", reported(|flow| json!(flow.mean_srtt_s))),
        ("mean_cwnd_packets", reported(|flow| json!(flow.mean_cwnd_packets))),
        ("host_jitter_s", reported(|_| Value::Null)),
    ] {
        *table.get_mut(column).expect("a column of the table of flows") = values;
    }
    (name, table)
}

fn transfers(plan: &Plan, run: &LabRun) -> TransferTable {
    let mut table = TransferTable::default();
    for record in &run.load.transfers {
        let user = plan.flows[record.flow as usize].user;
        table.flow.push(record.flow);
        table.group.push(plan.users[user].group as u32);
        table.start_s.push(record.start.as_secs());
        table.size_bytes.push(record.size_bytes);
        table.completion_s.push(record.completion.map_or(f64::NAN, |span| span.as_secs()));
        table.set_up_s.push(f64::NAN);
        let flow = &plan.flows[record.flow as usize];
        table.empty_path_s.push(transfer_time_s(plan, flow, Bytes::new(record.size_bytes)));
    }
    table
}
