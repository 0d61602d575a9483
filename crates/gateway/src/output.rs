//! A run as one JSON document: the tables of a simulation, and the forwarder's report on itself.

use serde_json::{Map, Value, json};
use tidegate_scenario::plan::Plan;
use tidegate_simulator::Arrivals;
use tidegate_simulator::output::{
    FlowSeries, GroupSeries, IntervalGroupTable, IntervalLinkTable, IntervalTables, LinkGroupTable,
    LinkSeries, LinkTable,
};

use crate::host::IpVersion;
use crate::lab::{LabRun, Options};

/// A table's vectors under the same names. Naming all of them is the point: a column that the
/// engine gains is missed here by the compiler.
macro_rules! columns {
    ($table:expr => $kind:ident, [$($name:ident),* $(,)?]) => {{
        let $kind { $($name,)* } = $table;
        let mut columns = Map::new();
        $(columns.insert(stringify!($name).to_owned(), json!($name));)*
        Value::Object(columns)
    }};
}

/// The document. Numbers that are not (such as the mean of nothing) are `null`.
pub fn document(plan: &Plan, run: &LabRun, options: Options) -> Value {
    let LabRun { honesty, load, deviations, .. } = run;
    let objections = honesty.objections();
    json!({
        "tables": tables(plan, run, options),
        "forwarder": {
            "valid": objections.is_empty(),
            "reasons": objections,
            "packets": honesty.packets,
            "late_packets": honesty.late_packets,
            "nominal_late_s": honesty.nominal_late_s,
            "lateness_mean_s": honesty.lateness_mean_s,
            "lateness_p99_s": honesty.lateness_p99_s,
            "lateness_max_s": honesty.lateness_max_s,
            "overruns": honesty.overruns,
            "cpu_share": honesty.cpu_share,
            "malformed": honesty.malformed,
            "foreign": honesty.foreign,
            "without_room": honesty.without_room,
            "refused": honesty.refused,
            "realtime": honesty.realtime,
            "stall_s": honesty.stall_s,
        },
        "kernel": { "release": crate::kernel::release(),
                    "congestion_controls": crate::kernel::congestion_controls() },
        "deviations": deviations,
        "load": { "lateness_mean_s": load.lateness.mean_s(), "lateness_max_s": load.lateness.max.as_secs() },
        "ip": match options.ip { IpVersion::V4 => 4, IpVersion::V6 => 6 },
    })
}

/// The tables of a simulation; those by interval only of scenarios with intervals.
fn tables(plan: &Plan, run: &LabRun, options: Options) -> Value {
    let LabRun { emulated, load, .. } = run;
    let mut tables = json!({
        "run": {
            "seed": [options.seed],
            "digest": [""],
            "events": [emulated.ledger.injected],
            "hops": [emulated.hops],
            "simulated_s": [(plan.warm_up + plan.duration).as_secs()],
        },
        "flows": flows(plan, run),
        "links": columns!(&emulated.links => LinkTable, [
            name, monitored, arrivals, departures, departed_bytes, departures_in_all,
            utilization, mean_backlog_packets, mean_backlog_bytes, mean_sojourn_s,
            p95_sojourn_s, p99_sojourn_s, max_sojourn_s, drops_full, drops_aqm, drops_wire,
            drops_policer, marks, state_bytes,
        ]),
        "link_groups": columns!(&emulated.link_groups => LinkGroupTable, [
            link, group, arrivals, departures, departed_bytes, drops, marks, mean_activity,
        ]),
        "transfers": transfers(plan, run),
        "group_series": columns!(&emulated.group_series => GroupSeries, [
            time_s, group, throughput_bps,
        ]),
        "link_series": columns!(&emulated.link_series => LinkSeries, [
            time_s, link, backlog_packets, backlog_bytes, drops, drops_policer, marks,
        ]),
        "flow_series": columns!(&load.flow_series => FlowSeries, [
            time_s, flow, cwnd_packets, srtt_s,
        ]),
    });
    let IntervalTables { groups, links } = &emulated.intervals;
    if !groups.interval.is_empty() {
        tables["interval_groups"] =
            columns!(groups => IntervalGroupTable, [interval, group, throughput_bps]);
        tables["interval_links"] = columns!(links => IntervalLinkTable, [
            interval, link, utilization, mean_backlog_packets, drops, drops_policer,
        ]);
    }
    tables
}

/// The columns of a simulation's flow table; `null` where the kernel does not tell.
fn flows(plan: &Plan, run: &LabRun) -> Value {
    let seconds = plan.duration.as_secs();
    let LabRun { emulated, load, .. } = run;
    let rate = |bytes: u64| 8.0 * bytes as f64 / seconds;
    let of_flow = |column: fn(&crate::load::FlowReport) -> Value| -> Vec<Value> {
        load.flows.iter().map(column).collect()
    };
    let of_network = |column: fn(&Arrivals) -> u64| -> Vec<u64> {
        emulated.received.iter().map(column).collect()
    };
    let users: Vec<usize> = plan.flows.iter().map(|flow| flow.user).collect();
    let groups: Vec<usize> = users.iter().map(|&user| plan.users[user].group).collect();
    let throughput: Vec<f64> = emulated.received.iter().map(|got| rate(got.bytes)).collect();
    let goodput: Vec<f64> = load.flows.iter().map(|flow| rate(flow.goodput_bytes)).collect();
    json!({
        "user": users,
        "group": groups,
        "throughput_bps": throughput,
        "goodput_bps": goodput,
        "packets_sent": of_flow(|flow| json!(flow.sent)),
        "retransmits": of_flow(|flow| json!(flow.retransmits)),
        "timeouts": of_flow(|flow| json!(flow.timeouts)),
        "fast_recoveries": of_flow(|_| Value::Null),
        "losses": emulated.losses,
        "packets_delivered": of_network(|got| got.packets),
        "marks": of_network(|got| got.marked),
        "mean_srtt_s": of_flow(|flow| json!(flow.mean_srtt_s)),
        "mean_cwnd_packets": of_flow(|flow| json!(flow.mean_cwnd_packets)),
        "host_jitter_s": of_flow(|_| Value::Null),
    })
}

fn transfers(plan: &Plan, run: &LabRun) -> Value {
    let records = &run.load.transfers;
    let group = |flow: u32| plan.users[plan.flows[flow as usize].user].group;
    let columns: [Vec<Value>; 5] = [
        records.iter().map(|record| json!(record.flow)).collect(),
        records.iter().map(|record| json!(group(record.flow))).collect(),
        records.iter().map(|record| json!(record.start.as_secs())).collect(),
        records.iter().map(|record| json!(record.size_bytes)).collect(),
        records.iter().map(|record| json!(record.completion.map(|span| span.as_secs()))).collect(),
    ];
    let [flow, group, start_s, size_bytes, completion_s] = columns;
    json!({
        "flow": flow, "group": group, "start_s": start_s, "size_bytes": size_bytes,
        "completion_s": completion_s,
    })
}
