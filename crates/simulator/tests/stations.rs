//! Links whose departures are events, and links whose rate changes.

use crate::common;

use std::sync::Arc;

use tidegate_mechanisms::bottleneck::AqmParams;
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_scenario::plan::Plan;

use common::{link, plan, plan_with, whole};

const TCP: &str = r#"
version = 1
warm_up = "2 s"
duration = "10 s"
[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "50 packets"
[users.heavy]
flows = 10
[users.light]
count = 10
"#;

/// Packets of a single customer leave in order, so that round robin over it is FIFO: departures computed in advance and
/// departures as events have to agree in everything visible to hosts, to the last bit. The schedulers differ in the
/// packet dropped (the last packet of the longest queue is the arriving one), not in what remains.
#[test]
fn departures_as_events_and_departures_in_advance_are_the_same_for_one_customer() {
    let one = |scheduler| {
        let overrides = [("users.heavy.flows", "20"), ("bottleneck.scheduler.kind", scheduler)];
        let text = TCP.replace("[users.light]\ncount = 10\n", "");
        let mut plan = plan_with(&text, &overrides);
        assert_eq!(plan.users.len(), 1);
        // With an unlimited quantum, since the end of a turn has no effect with one customer.
        if let SchedulerParams::Drr(params) =
            &mut Arc::make_mut(&mut plan.links[0].kind).declared.scheduler
        {
            params.quantum = tidegate_mechanisms::units::Bytes::new(1_000_000);
        }
        tidegate_simulator::run(&plan, 7)
    };
    let (advance, events) = (one("\"fifo\""), one("\"drr\""));
    assert_eq!(format!("{:?}", advance.flows), format!("{:?}", events.flows));
    let bottleneck = link(&advance, "bottleneck");
    assert!(advance.links.drops_full[bottleneck] > 100, "the buffer was full at times");
    let most = |output: &tidegate_simulator::output::RunOutput| {
        output.links.max_backlog_bytes[link(output, "bottleneck")]
    };
    assert_eq!(most(&advance), most(&events));
    for (name, column) in [("backlog", 0), ("bytes", 1), ("sojourn", 2), ("utilization", 3)] {
        let value = |output: &tidegate_simulator::output::RunOutput| {
            let links = &output.links;
            [
                links.mean_backlog_packets[bottleneck],
                links.mean_backlog_bytes[bottleneck],
                links.mean_sojourn_s[bottleneck],
                links.utilization[bottleneck],
            ][column]
        };
        let (in_advance, as_events) = (value(&advance), value(&events));
        let apart = (in_advance - as_events).abs() / in_advance;
        // The first and last packets of a measurement differ: those accepted or those sent.
        assert!(apart < 0.005, "{name}: {in_advance} in advance, {as_events} as events");
    }
}

#[test]
fn a_run_with_a_scheduler_is_a_function_of_its_seed() {
    let plan = plan_with(TCP, &[("bottleneck.scheduler.kind", "\"drr\"")]);
    let run = |seed| whole(&tidegate_simulator::run(&plan, seed));
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Returns the throughput of the heavy user over the mean of the light ones, on average over five runs.
fn ratio(plan: &Plan) -> f64 {
    let of_run = |seed| {
        let output = tidegate_simulator::run(plan, seed);
        let of = |group| {
            let rows = output.flows.group.iter().zip(&output.flows.throughput_bps);
            rows.filter(|(of, _)| **of == group).map(|(_, bps)| bps).sum::<f64>()
        };
        of(0) / (of(1) / 10.0)
    };
    (1..=5).map(of_run).sum::<f64>() / 5.0
}

/// DRR gives every customer an eleventh of the link, whatever the number of flows.
#[test]
fn round_robin_over_customers_makes_ten_flows_no_more_than_one() {
    let fifo = ratio(&plan(TCP));
    let drr = ratio(&plan_with(TCP, &[("bottleneck.scheduler.kind", "\"drr\"")]));
    assert!(fifo > 5.0, "without: {fifo}");
    assert!((drr - 1.0).abs() < 0.05, "with: {drr}");
}

/// FQ-CoDel gives every flow a twentieth of the link: ten of them are worth ten.
#[test]
fn fair_queuing_over_flows_makes_ten_flows_ten_times_one() {
    let deep = ("bottleneck.buffer", "\"500 packets\"");
    let fq = ratio(&plan_with(TCP, &[deep, ("bottleneck.scheduler.kind", "\"fq-codel\"")]));
    assert!((fq - 10.0).abs() < 0.5, "{fq}");
}

/// Fairness between customers first: ten flows together get the share of one, as with a queue per customer, and each of
/// the ten gets a tenth of that.
#[test]
fn fairness_between_customers_and_then_between_flows() {
    let dual_host = (
        "bottleneck.scheduler",
        r#"{ kind = "cake", isolation = "dual-srchost", quantum = "1514 B" }"#,
    );
    let plan = plan_with(TCP, &[("bottleneck.buffer", "\"500 packets\""), dual_host]);
    let dual_host = ratio(&plan);
    assert!((0.9..1.02).contains(&dual_host), "{dual_host}");
    let output = tidegate_simulator::run(&plan, 3);
    let tenth = output.flows.throughput_bps[..10].iter().sum::<f64>() / 10.0;
    for bps in &output.flows.throughput_bps[..10] {
        assert!((bps / tenth - 1.0).abs() < 0.25, "{bps} bit/s, {tenth} on average");
    }
    let bottleneck = link(&output, "bottleneck");
    assert!(output.links.utilization[bottleneck] > 0.98);
    assert!(output.links.mean_sojourn_s[bottleneck] < 0.1);
}

/// A packet takes 14.4 ms here. CAKE, which accounts for that, does not signal below four packets' time, and the link
/// stays busy; with target 5 ms, as in its unlimited mode, the queue runs empty after each drop.
#[test]
fn a_slow_link_is_kept_busy_where_its_rate_is_known() {
    let used = |unlimited: bool| {
        let text = format!(
            "version = 1\nwarm_up = \"20 s\"\nduration = \"120 s\"\n[bottleneck]\nrate = \"831 kb/s\"\n\
             delay = \"15 ms\"\nbuffer = \"1000 packets\"\n\
             scheduler = {{ kind = \"cake\", isolation = \"dual-srchost\", quantum = \"1514 B\", unlimited = {unlimited} }}\n[users.upload]\n"
        );
        let plan = plan_with(&text, &[]);
        let used = (1..=3).map(|seed| {
            let output = tidegate_simulator::run(&plan, seed);
            output.links.utilization[link(&output, "bottleneck")]
        });
        used.sum::<f64>() / 3.0
    };
    let (known, unknown) = (used(false), used(true));
    assert!(known > 0.98 && unknown < 0.85, "{known} and {unknown}");
}

/// Four users at 3.25 Mb/s, provisioned with 5, and one at 9, on a link of 20 Mb/s: after the first period the heavy
/// user is served last, and only its packets are dropped.
#[test]
fn the_heavy_user_of_a_busy_port_bears_the_congestion_of_the_next_period() {
    let text = r#"
version = 1
warm_up = "6 s"
duration = "4 s"
[bottleneck]
rate = "20 Mb/s"
buffer = "50 packets"
scheduler = { kind = "rfc6057", provisioned_rate = "5 Mb/s", period = "5 s" }
[users.heavy]
traffic = { kind = "cbr", rate = "9 Mb/s" }
start = "0 s"
[users.light]
count = 4
traffic = { kind = "cbr", rate = "3.25 Mb/s" }
start = "0 s"
"#;
    let lost_by = |overrides: &[(&str, &str)]| {
        let output = tidegate_simulator::run(&plan_with(text, overrides), 1);
        let losses = output.flows.losses;
        (losses[0], losses[1..].iter().sum::<u64>())
    };
    let (heavy, light) = lost_by(&[]);
    // 22 Mb/s are offered: 2 Mb/s too much, for 4 s, in packets of 1500 B.
    assert_eq!(light, 0);
    assert!((600..=700).contains(&heavy), "{heavy} packets");
    let (_, light) = lost_by(&[("bottleneck.scheduler.kind", "\"fifo\"")]);
    assert!(light > 200, "FIFO spares no user: {light} packets");
}

/// A source at a constant rate below the link's, a third of the time above it.
#[test]
fn a_link_whose_rate_drops_passes_what_its_rates_allow() {
    for scheduler in ["\"fifo\"", "\"drr\""] {
        let text = r#"
version = 1
warm_up = "10 s"
duration = "30 s"
[bottleneck]
rate = "9 Mb/s"
buffer = "20 packets"
rate_changes = [{ at = "20 s", rate = "3 Mb/s" }, { at = "30 s", rate = "9 Mb/s" }]
[users.a]
traffic = { kind = "cbr", rate = "8 Mb/s" }
start = "0 s"
"#;
        let plan = plan_with(text, &[("bottleneck.scheduler.kind", scheduler)]);
        let output = tidegate_simulator::run(&plan, 1);
        let got_mb = output.flows.throughput_bps[0] * 30.0 / 1e6;
        // 8 Mb/s for 20 s and 3 Mb/s for 10 s; a queue of 20 packets remains from before.
        assert!((got_mb - 190.0).abs() < 0.3, "{scheduler}: {got_mb} Mb");
        let bottleneck = link(&output, "bottleneck");
        let busy = (20.0 * 8.0 / 9.0 + 10.0) / 30.0;
        let utilization = output.links.utilization[bottleneck];
        assert!((utilization - busy).abs() < 0.002, "{scheduler}: {utilization}, not {busy}");
        let full_queue_s = 20.0 * 1500.0 * 8.0 / 3e6;
        let longest_s = output.links.max_sojourn_s[bottleneck];
        assert!((longest_s - full_queue_s).abs() < 0.01 * full_queue_s, "{longest_s} s");
        assert_eq!(output.links.max_backlog_bytes[bottleneck], 20.0 * 1500.0, "{scheduler}");
    }
}

/// One upload over a link that sends nothing for a second, or next to nothing.
#[test]
fn a_short_outage_costs_its_length() {
    for (scheduler, aqm) in [("fifo", "drop-tail"), ("drr", "drop-tail"), ("fifo", "codel")] {
        for (rate, used) in [("0 b/s", 0.95), ("1 kb/s", 1.0)] {
            let text = format!(
                r#"
version = 1
warm_up = "5 s"
duration = "20 s"
[bottleneck]
rate = "10 Mb/s"
delay = "20 ms"
buffer = "100 packets"
scheduler = "{scheduler}"
aqm = "{aqm}"
rate_changes = [{{ at = "10 s", rate = "{rate}" }}, {{ at = "11 s", rate = "10 Mb/s" }}]
[users.upload]
"#
            );
            let output = tidegate_simulator::run(&plan(&text), 1);
            let (got_mbps, bottleneck) =
                (output.flows.throughput_bps[0] / 1e6, link(&output, "bottleneck"));
            let what = format!("{scheduler}, {aqm}, {rate}");
            // 19 of 20 s. CoDel drops packets that waited through the outage.
            let least = if aqm == "codel" { 8.7 } else { 9.4 };
            // Packets that waited at the beginning are included.
            assert!((least..=9.51).contains(&got_mbps), "{what}: {got_mbps} Mb/s");
            let utilization = output.links.utilization[bottleneck];
            assert!((used - 0.07..=used + 1e-6).contains(&utilization), "{what}: {utilization}");
            let longest_s = output.links.max_sojourn_s[bottleneck];
            assert!((1.0..1.2).contains(&longest_s), "{what}: {longest_s} s");
        }
    }
}

/// 4 Mb/s are offered to links of 1 kb/s, whose first packet takes 12 s.
#[test]
fn a_slow_link_without_a_monitor_counts_what_it_sends() {
    let plan = plan(
        r#"
version = 1
warm_up = "0 s"
duration = "1 s"
[bottleneck]
rate = "10 Mb/s"
[access]
rate = "1 kb/s"
[users.a]
flows = 4
start = "0 s"
traffic = { kind = "cbr", rate = "1 Mb/s" }
"#,
    );
    let links = tidegate_simulator::run(&plan, 1).links;
    let access = links.name.iter().position(|name| name == "a.0.access").expect("a link");
    assert_eq!((links.departures[access], links.departed_bytes[access]), (0, 0));
    assert!((0.8..=1.0).contains(&links.utilization[access]), "{}", links.utilization[access]);
    assert!((300..400).contains(&links.arrivals[access]), "{}", links.arrivals[access]);
}

#[test]
fn a_mechanism_says_how_much_it_remembers() {
    let of = |overrides: &[(&str, &str)]| {
        let plan = plan_with(TCP, overrides);
        let output = tidegate_simulator::run(&plan, 1);
        output.links.state_bytes[link(&output, "bottleneck")]
    };
    assert_eq!(of(&[]), 0, "a tail-drop queue remembers nothing");
    let icp = r#"{ kind = "icp" }"#;
    assert_eq!(of(&[("bottleneck.differentiation", icp)]), 11 * 16, "fill and time of 11 buckets");
    assert!(of(&[("bottleneck.scheduler.kind", "\"drr\"")]) > 11 * 16);
    let whole_table = of(&[("bottleneck.scheduler.kind", "\"fq-codel\"")]);
    assert!((64..=128).contains(&(whole_table / 1024)), "{whole_table} B for 1024 queues");
    let planned = plan(TCP);
    assert_eq!(planned.links[0].aqm, AqmParams::DropTail);
}

/// A buffer of two thirds of a second, four flows, and the delay with CoDel.
#[test]
fn codel_keeps_the_delay_near_its_target_and_the_link_busy() {
    let of = |overrides: &[(&str, &str)]| {
        let text = TCP.replace("\"50 packets\"", "\"500 packets\"");
        let text = text.replace("flows = 10\n[users.light]\ncount = 10", "flows = 4");
        let output = tidegate_simulator::run(&plan_with(&text, overrides), 5);
        let (links, row) = (&output.links, link(&output, "bottleneck"));
        assert!(links.utilization[row] > 0.98, "{}", links.utilization[row]);
        (links.mean_sojourn_s[row] * 1e3, links.drops_aqm[row], links.drops_full[row])
    };
    let (standing_ms, ..) = of(&[]);
    let (codel_ms, signalled, full) = of(&[("bottleneck.aqm.kind", "\"codel\"")]);
    assert!(standing_ms > 400.0, "without: {standing_ms} ms");
    // The transmission time of 1.2 ms is included.
    assert!((3.0..15.0).contains(&codel_ms), "with: {codel_ms} ms");
    assert!(signalled > 100 && full == 0, "{signalled} signals, {full} overflows");
}

/// ECN-capable packets are marked, and none of them is dropped.
#[test]
fn codel_marks_where_it_may() {
    let kind = r#"{ kind = "codel" }"#;
    let plan = plan_with(
        TCP,
        &[
            ("bottleneck.aqm", kind),
            ("bottleneck.ecn", "true"),
            ("tcp.ecn", "true"),
            // A connection whose SYN is lost would fall back to no ECN.
            ("tcp.ecn_fallback", "false"),
            ("bottleneck.buffer", "\"500 packets\""),
        ],
    );
    let output = tidegate_simulator::run(&plan, 5);
    let row = link(&output, "bottleneck");
    assert!(output.links.marks[row] > 100, "{} marks", output.links.marks[row]);
    assert_eq!(output.links.drops_aqm[row] + output.links.drops_full[row], 0);
}

/// With a buffer that overflows and a lossy wire: the packets that a link has marked and passed equal those that arrive
/// marked, if it is the only one to mark, except for the few in transit at the end.
#[test]
fn a_mark_counts_once_and_only_where_the_marked_packet_passes() {
    let red = r#"{ kind = "red", min_threshold = "2 packets", max_threshold = "40 packets", weight = 0.1 }"#;
    let codel = r#"{ kind = "codel", target = "1 ms", interval = "5 ms" }"#;
    let fq_codel = r#"{ kind = "fq-codel", target = "1 ms", interval = "5 ms" }"#;
    for (key, mechanism) in [
        ("bottleneck.aqm", red),
        ("bottleneck.aqm", codel),
        ("bottleneck.aqm", r#"{ kind = "pie", target = "1 ms", derandomised = false }"#),
        ("bottleneck.scheduler", fq_codel),
        ("bottleneck.scheduler", r#"{ kind = "dualpi2", target = "1 ms" }"#),
    ] {
        let overrides = [
            (key, mechanism),
            ("warm_up", "0 s"),
            ("bottleneck.ecn", "true"),
            ("tcp.ecn", "true"),
            ("bottleneck.buffer", "\"15 packets\""),
            ("bottleneck.loss", "0.1"),
        ];
        let output = tidegate_simulator::run(&plan_with(TCP, &overrides), 5);
        let row = link(&output, "bottleneck");
        let links = &output.links;
        let of_flows = output.flows.marks.iter().sum::<u64>();
        assert!(of_flows > 50, "{mechanism}: {of_flows} marks");
        // 5 ms of 10 Mb/s.
        let in_transit = links.marks[row] - of_flows;
        assert!(in_transit <= 5, "{mechanism}: {in_transit} of {of_flows}");
        assert!(links.drops_wire[row] > 50, "{mechanism}");
    }
}
