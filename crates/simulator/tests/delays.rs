//! Queueing and one-way delays of groups, and jitter and loss runs of UDP.

use crate::common;

use common::plan_with;
use tidegate_simulator::output::{DelayTable, RunOutput};
use tidegate_simulator::{run, run_packet_by_packet};

/// A probe of 100 B every 200 ms beside users of a link.
fn beside_web() -> String {
    ALONE.replace(
        "[users.probe]",
        "[users.web]\ncount = 200\nstart = { from = \"0 s\", to = \"1 s\" }\n[users.probe]",
    )
}

/// The probe alone.
const ALONE: &str = r#"
version = 1
warm_up = "5 s"
duration = "60 s"
host_jitter = "off"
sample_interval = "off"
[bottleneck]
rate = "50 Mb/s"
delay = "10 ms"
buffer = "400 packets"
[access]
delay = "0.5 ms"
[users.probe]
packet_size = "100 B"
traffic = { kind = "cbr", rate = "4 kb/s" }
"#;

/// What stands in a row of the table.
fn row(table: &DelayTable, level: &str, number: u32) -> usize {
    let mut rows = table.level.iter().zip(&table.number);
    rows.position(|(of, own)| of == level && *own == number).expect("has such a row")
}

fn same(one: &RunOutput, other: &RunOutput) {
    assert_eq!(format!("{:?}", one.delays), format!("{:?}", other.delays));
    assert_eq!(format!("{:?}", one.group_series), format!("{:?}", other.group_series));
}

/// 0.5 ms on the access link, 10 ms on the bottleneck, and what 100 B take on 1 Gb/s and 50 Mb/s.
#[test]
fn alone_a_packet_has_no_queueing_delay() {
    let delays = run(&plan_with(ALONE, &[]), 1).delays;
    let probe = row(&delays, "group", 0);
    assert_eq!(delays.packets[probe], 300);
    assert_eq!(delays.max_queueing_delay_s[probe], 0.0);
    let exact = 0.5e-3 + 10e-3 + 800.0 / 1e9 + 800.0 / 50e6;
    assert!((delays.mean_one_way_delay_s[probe] - exact).abs() < 1e-9);
    assert!((delays.max_one_way_delay_s[probe] - exact).abs() < 1e-9);
    assert_eq!((delays.jitter_s[probe], delays.loss_runs[probe]), (0.0, 0.0));
}

/// Where all wait in one queue, a probe waits as long as everybody, and where it has one of its own, it hardly waits.
#[test]
fn a_probe_waits_as_long_as_the_users_beside_it_in_one_queue() {
    let p95 = |settings: &[(&str, &str)]| {
        let delays = run(&plan_with(&beside_web(), settings), 1).delays;
        [0, 1].map(|group| delays.p95_queueing_delay_s[row(&delays, "group", group)])
    };
    let [web, probe] = p95(&[]);
    assert!((web / probe - 1.0).abs() < 0.05, "drop-tail: {web} and {probe}");
    assert!((0.07..0.1).contains(&web), "400 packets take 96 ms: {web}");
    let [web, probe] = p95(&[("bottleneck.aqm", "{ kind = \"codel\" }")]);
    assert!((web / probe - 1.0).abs() < 0.05, "CoDel: {web} and {probe}");
    // The quanta of 200 users take 48 ms.
    for (kind, most) in [("fq-codel", 0.1), ("drr", 0.5)] {
        let [web, probe] = p95(&[("bottleneck.scheduler", &format!("{{ kind = \"{kind}\" }}"))]);
        assert!(probe < most * web, "{kind}: {web} and {probe}");
    }
}

/// Where receivers are served ahead of time, and where each arrival is an event.
#[test]
fn delays_do_not_depend_on_when_receivers_are_served() {
    for settings in [
        &[][..],
        &[("sample_interval", "\"100 ms\"")],
        &[("duration", "\"2 s\""), ("sample_interval", "\"1 ms\""), ("profile", "\"classic\"")],
        &[("users.web.traffic", "{ kind = \"short-flows\", size = \"30 kB\", every = \"1 s\" }")],
    ] {
        let plan = plan_with(&beside_web(), settings);
        same(&run(&plan, 3), &run_packet_by_packet(&plan, 3));
    }
}

/// Rows of users and flows add up to those of groups, which stay as they are.
#[test]
fn groups_are_the_sum_of_their_users_and_flows() {
    let of = |by: &str| {
        let by = format!("\"{by}\"");
        let settings = [("delays_by", by.as_str()), ("duration", "\"5 s\"")];
        run(&plan_with(&beside_web(), &[&settings[..], &[("users.web.flows", "2")]].concat()), 2)
            .delays
    };
    let groups = of("group");
    assert_eq!(groups.level.len(), 2);
    for (level, count) in [("user", 201), ("flow", 401)] {
        let delays = of(level);
        assert_eq!(delays.level.len(), 2 + count);
        for number in 0..2 {
            assert_eq!(delays.packets[number], groups.packets[number]);
            let [own, sum] = [&delays, &groups].map(|one| one.p99_one_way_delay_s[number]);
            assert_eq!(own, sum);
            let of_group =
                |at: &usize| delays.level[*at] == level && delays.group[*at] == number as u32;
            let members: Vec<usize> = (0..delays.level.len()).filter(of_group).collect();
            let packets: u64 = members.iter().map(|at| delays.packets[*at]).sum();
            assert_eq!(packets, groups.packets[number]);
            let longest = members.iter().map(|at| delays.max_queueing_delay_s[*at]);
            assert_eq!(longest.fold(0.0, f64::max), groups.max_queueing_delay_s[number]);
        }
    }
}

/// What a group waits at its links is what it waits in all, but for what is lost further on.
#[test]
fn the_queues_of_links_make_up_the_queueing_delay() {
    let row_of_links = r#"
version = 1
profile = "classic"
warm_up = "2 s"
duration = "20 s"
host_jitter = "off"
[parking_lot]
hops = 3
rate = "10 Mb/s"
delay = "2 ms"
buffer = "50 packets"
[users.all]
flows = 4
from = "r0"
to = "r3"
[users.cross]
flows = 4
from = "r1"
to = "r2"
"#;
    let output = run(&plan_with(row_of_links, &[]), 1);
    let links = &output.link_groups;
    let of_all = |at: &usize| links.group[*at] == 0 && links.arrivals[*at] > 1000;
    let at_links: f64 = (0..links.link.len())
        .filter(of_all)
        .filter(|at| !links.link[*at].contains("reverse"))
        .map(|at| {
            let bytes = links.departed_bytes[at] as f64 / links.departures[at] as f64;
            links.mean_sojourn_s[at] - 8.0 * bytes / 10e6
        })
        .sum();
    let mean = output.delays.mean_queueing_delay_s[row(&output.delays, "group", 0)];
    assert!((at_links / mean - 1.0).abs() < 0.02, "{at_links} at links, {mean} in all");
}

/// A tunnel's header takes its time also where nothing waits.
#[test]
fn a_tunnel_alone_is_no_queueing_delay() {
    let tunnel = r#"
version = 1
warm_up = "0 s"
duration = "2 s"
host_jitter = "off"
[links.down]
from = "server"
to = "gateway"
rate = "1 Mb/s"
duplex = true
[links.core]
from = "gateway"
to = "enb"
rate = "1 Mb/s"
duplex = true
ingress = [{ kind = "pdn-gateway" }]
egress = [{ kind = "enodeb" }]
[links.radio]
from = "enb"
to = "phone"
rate = "1 Mb/s"
duplex = true
[users.phones]
from = "server"
to = "phone"
packet_size = "1000 B"
traffic = { kind = "cbr", rate = "80 kb/s" }
"#;
    let delays = run(&plan_with(tunnel, &[]), 1).delays;
    assert!(delays.packets[0] > 10);
    assert_eq!(delays.max_queueing_delay_s[0], 0.0);
}

/// An outage of half a second keeps its packets for up to that long.
#[test]
fn an_outage_is_queueing_delay() {
    let outage =
        r#"rate_changes = [{ at = "10 s", rate = "0 b/s" }, { at = "10.5 s", rate = "50 Mb/s" }]"#;
    let text = ALONE.replace("buffer = ", &format!("{outage}\nbuffer = "));
    let delays = run(&plan_with(&text, &[]), 1).delays;
    let probe = row(&delays, "group", 0);
    let longest = delays.max_queueing_delay_s[probe];
    assert!((0.3..0.51).contains(&longest), "{longest}");
    assert!(delays.p50_queueing_delay_s[probe] < 1e-3);
}

/// A link without room for all that comes loses packets one after the other.
#[test]
fn losses_in_a_row_are_counted_as_a_run() {
    let settings = [("users.probe.traffic.rate", "\"80 kb/s\""), ("bottleneck.loss", "0.1")];
    let output = run(&plan_with(ALONE, &settings), 1);
    let (delays, flows) = (&output.delays, &output.flows);
    let own = row(delays, "group", 0);
    let (runs, lost) = (delays.loss_runs[own], flows.losses[0] as f64);
    // Of independent losses of 1 in 10, a run has 1 / 0.9 of them on average.
    assert!((lost / runs - 1.0 / 0.9).abs() < 0.05, "{lost} packets in {runs} runs");
    assert!((2.0..=6.0).contains(&delays.longest_loss_run_packets[own]));
}
