//! Printed line of results.

use serde_json::{Map, Value, json};
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::{LinkTable, RunOutput};

/// Returns counts of the run, and its memory.
pub fn to_json(plan: &Plan, output: &RunOutput) -> Value {
    let links = &output.links;
    let bottlenecks: Vec<usize> =
        (0..links.name.len()).filter(|&link| links.monitored[link]).collect();
    json!({
        "seed": output.seed,
        "digest": output.digest,
        "simulated_s": output.simulated_s,
        "flows": plan.flows.len(),
        "packets": bottlenecks.iter().map(|&link| links.departures[link]).sum::<u64>(),
        "hops": output.hops,
        "events": output.events,
        "peak_rss_mib": peak_rss_mib(),
        "throughput_mbps_per_user": throughput_per_user(plan, output),
        "goodput_mbps": output.flows.goodput_bps.iter().sum::<f64>() / 1e6,
        "queues": bottlenecks.iter().map(|&link| queue(links, link)).collect::<Vec<_>>(),
    })
}

/// Returns the mean over the users of each group, Mb/s on the wire.
fn throughput_per_user(plan: &Plan, output: &RunOutput) -> Value {
    let mut total_bps = vec![0.0; plan.groups.len()];
    for (&group, &bps) in output.flows.group.iter().zip(&output.flows.throughput_bps) {
        total_bps[group as usize] += bps;
    }
    let mut users = vec![0u32; plan.groups.len()];
    plan.users.iter().for_each(|user| users[user.group] += 1);
    let means = plan.groups.iter().zip(total_bps.iter().zip(users));
    let mean = |(total, users): (&f64, u32)| Value::from(total / f64::from(users) / 1e6);
    Value::Object(means.map(|(group, of)| (group.name.clone(), mean(of))).collect::<Map<_, _>>())
}

fn queue(links: &LinkTable, link: usize) -> Value {
    let drops = links.drops_full[link] + links.drops_aqm[link];
    let percent = |count: u64| 100.0 * count as f64 / links.arrivals[link].max(1) as f64;
    json!({
        "name": links.name[link],
        "departures": links.departures[link],
        "mean_backlog_packets": links.mean_backlog_packets[link],
        "loss_percent": percent(drops),
        "marked_percent": percent(links.marks[link]),
    })
}

/// Returns the peak resident memory of this process as Linux counts it, `None` elsewhere. The counter available to a
/// parent process (`ru_maxrss`) starts with the parent's own memory.
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
