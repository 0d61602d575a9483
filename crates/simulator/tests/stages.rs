//! Tests of stages on the path: their view of packets, their places, and their side effects.

use crate::common;

use common::{plan_with, runs};
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const TWO_GROUPS: &str = r#"
version = 1
warm_up = "1 s"
duration = "10 s"
[bottleneck]
rate = "10 Mb/s"
buffer = "60 packets"
ecn = true
aqm = { kind = "red", min_threshold = "5 packets", max_threshold = "20 packets" }
egress = [{ kind = "mark-counter" }]
[tcp]
ecn = true
[users.heavy]
flows = 3
ingress = [{ kind = "mark-counter" }]
[users.light]
count = 2
egress = [{ kind = "mark-counter" }]
"#;

/// Returns a count of a stage over all users.
fn count(output: &RunOutput, stage: &str, count: &str) -> u64 {
    let table = &output.stages;
    let rows = (0..table.value.len())
        .filter(|&row| table.stage[row] == stage && table.count[row] == count);
    rows.map(|row| table.value[row]).sum()
}

#[test]
fn a_counter_in_front_of_the_receiver_counts_what_it_receives_and_what_is_marked() {
    let output = run(&plan_with(TWO_GROUPS, &[]), 1);
    let flows = &output.flows;
    for (user, stage) in [(1, "light.0.egress.0"), (2, "light.1.egress.0")] {
        let flow = flows.user.iter().position(|of| *of == user).expect("has a flow");
        assert_eq!(count(&output, stage, "seen_packets"), flows.packets_delivered[flow]);
        assert_eq!(count(&output, stage, "marked_packets"), flows.marks[flow]);
        assert!(flows.marks[flow] > 0, "something is marked");
    }
    let all: u64 = flows.packets_delivered.iter().sum();
    let behind = count(&output, "bottleneck.egress.0", "seen_packets");
    assert_eq!(behind, all, "nothing waits behind the bottleneck");
}

#[test]
fn a_counter_at_the_ingress_sees_packets_before_the_bottleneck_marks_them() {
    let output = run(&plan_with(TWO_GROUPS, &[]), 1);
    assert_eq!(count(&output, "heavy.0.ingress.0", "marked_packets"), 0);
    let groups = &output.link_groups;
    let heavy = (0..groups.group.len())
        .find(|&row| groups.link[row] == "bottleneck" && groups.group[row] == 0)
        .expect("a row for each group");
    assert_eq!(count(&output, "heavy.0.ingress.0", "seen_packets"), groups.arrivals[heavy]);
}

/// Nor does an unread counter: there is no table then.
#[test]
fn a_counter_changes_no_packet() {
    let with = run(&plan_with(TWO_GROUPS, &[]), 1);
    let without =
        [("bottleneck.egress", "[]"), ("users.heavy.ingress", "[]"), ("users.light.egress", "[]")];
    let without = run(&plan_with(TWO_GROUPS, &without), 1);
    assert_eq!(with.digest, without.digest);
    assert!(without.stages.value.is_empty());
}

/// What a stage writes into a header is visible to all that follow: a counter, the receiver, and through its feedback
/// the sender.
#[test]
fn a_mark_that_a_stage_makes_reaches_the_receiver_and_slows_the_sender() {
    let marker = r#"[{ kind = "random-marker", probability = 0.02 }, { kind = "mark-counter" }]"#;
    let (red, others): (Vec<&str>, Vec<&str>) =
        TWO_GROUPS.lines().partition(|line| line.starts_with("aqm"));
    assert_eq!(red.len(), 1, "the queue marks no more");
    // Nor is a SYN lost, after which a sender would fall back to no ECN.
    let text = others.join("\n").replace("60 packets", "500 packets");
    let run_with = |egress: &str| run(&plan_with(&text, &[("bottleneck.egress", egress)]), 1);
    let (without, with) = (run_with("[]"), run_with(marker));
    let marks = |output: &RunOutput| output.flows.marks.iter().sum::<u64>();
    let all: u64 = with.flows.packets_delivered.iter().sum();
    let share = marks(&with) as f64 / all as f64;
    assert!((0.015..0.025).contains(&share), "{share} marked");
    assert_eq!(count(&with, "bottleneck.egress.1", "marked_packets"), marks(&with));
    assert_eq!(marks(&without), 0);
    let window = |output: &RunOutput| output.flows.mean_cwnd_packets.iter().sum::<f64>();
    assert!(window(&with) < 0.5 * window(&without), "senders hear of it");
}

/// Mathis et al., CCR 27(3), 1997, table 1: W = 1.31/√p if losses are random and each segment is acknowledged. A mark
/// during the echo of the last does not count, so that the window is somewhat larger.
#[test]
fn constant_marking_gives_the_window_of_the_square_root_law() {
    let text = include_str!("../../../scenarios/random-marker.toml");
    for p in [0.005, 0.01, 0.05_f64] {
        let marker = format!("[{{ kind = \"random-marker\", probability = {p} }}]");
        let output = run(&plan_with(text, &[("bottleneck.egress", &marker)]), 1);
        let (window, law) = (output.flows.mean_cwnd_packets[0], 1.31 / p.sqrt());
        assert!((0.95 * law..1.2 * law).contains(&window), "p = {p}: {window} segments, law {law}");
        assert_eq!(output.flows.losses[0], 0);
    }
}

const REPORTED: &str = r#"
version = 1
warm_up = "0 s"
duration = "10 s"
profile = "classic"
[links.there]
from = "a"
to = "b"
rate = "10 Mb/s"
delay = "20 ms"
ecn = true
aqm = { kind = "red", min_threshold = "5 packets", max_threshold = "20 packets" }
duplex = false
[links.back]
from = "b"
to = "a"
rate = "1 Mb/s"
delay = "30 ms"
buffer = "50 packets"
duplex = false
[tcp]
ecn = true
[users.one]
from = "a"
to = "b"
ingress = [{ kind = "mark-counter" }]
egress = [{ kind = "congestion-reporter", interval = "100 ms" }, { kind = "mark-counter" }]
"#;

/// Reports use the reverse path: its packets increase by the number of reports, except those still in transit.
#[test]
fn reports_are_packets_with_a_delay_on_the_reverse_path() {
    let with = run(&plan_with(REPORTED, &[]), 1);
    let back = |output: &RunOutput| {
        let place = output.links.name.iter().position(|name| name == "back").expect("is there");
        output.links.arrivals[place]
    };
    let (ingress, egress) = ("one.0.ingress.0", "one.0.egress.1");
    let acks: u64 = with.flows.packets_delivered[0];
    let reports = count(&with, ingress, "reports");
    assert!((90..=100).contains(&reports), "{reports} reports in 10 s");
    assert!((reports..=reports + 1).contains(&(back(&with) - acks)), "{} on the way", back(&with));
    for what in ["seen", "marked"] {
        let (there, known) = (
            count(&with, egress, &format!("{what}_packets")),
            count(&with, ingress, &format!("reported_{what}_packets")),
        );
        // Except for packets since the latest report, which was sent up to 100 ms plus the reverse delay ago.
        assert!(known <= there && there - known < 150, "{what}: {known} of {there} known");
        assert!(known > 0);
    }
}

/// Counts are cumulative, so that the next report replaces a lost one.
#[test]
fn a_lost_report_hides_nothing() {
    let steady = r#"{ kind = "cbr", rate = "1 Mb/s" }"#;
    let lossy =
        run(&plan_with(REPORTED, &[("links.back.loss", "0.3"), ("users.one.traffic", steady)]), 1);
    let (ingress, egress) = ("one.0.ingress.0", "one.0.egress.1");
    let reports = count(&lossy, ingress, "reports");
    assert!((50..85).contains(&reports), "{reports} of about 100 arrive");
    let there = count(&lossy, egress, "seen_packets");
    let known = count(&lossy, ingress, "reported_seen_packets");
    assert!(known <= there && there - known < 600, "{known} of {there} known");
}

/// Without a receiver of reports, no packet is sent and nothing changes.
#[test]
fn without_a_taker_no_report_leaves() {
    let alone = run(&plan_with(REPORTED, &[("users.one.ingress", "[]")]), 1);
    let without =
        run(&plan_with(REPORTED, &[("users.one.egress", "[]"), ("users.one.ingress", "[]")]), 1);
    assert_eq!(alone.digest, without.digest);
    assert_eq!(count(&alone, "one.0.ingress.0", "reports"), 0);
}

#[test]
fn a_meter_is_a_stage_at_the_ingress() {
    let text = TWO_GROUPS.replace("ecn = true\naqm", "differentiation = { kind = \"abc\" }\naqm");
    let meter = r#"{ reference_rate = "0.5 Mb/s", meters = 3 }"#;
    let stage = r#"[{ kind = "activity-meter", reference_rate = "0.5 Mb/s", meters = 3 }]"#;
    let as_meter = [("users.heavy.meter", meter), ("users.heavy.ingress", "[]")];
    let as_meter = run(&plan_with(&text, &as_meter), 1);
    let as_stage = run(&plan_with(&text, &[("users.heavy.ingress", stage)]), 1);
    assert_eq!(as_meter.digest, as_stage.digest);
    assert_ne!(as_meter.digest, run(&plan_with(&text, &[]), 1).digest, "the meter has an effect");
}

/// Two rate plans of 15 Mb/s: UDP gets exactly that; TCP needs a burst size of its bandwidth-delay product, and gets
/// less of the rate with a longer round trip.
#[test]
fn a_policer_passes_its_rate_and_tcp_needs_a_burst() {
    const SCENARIO: &str = include_str!("../../../scenarios/policer.toml");
    let rates_mbps = |options: &[(&str, &str)]| {
        let outputs = runs(&plan_with(SCENARIO, options), 1..=3);
        let mean = |flow: usize| {
            outputs.iter().map(|output| output.flows.throughput_bps[flow]).sum::<f64>() / 3e6
        };
        [mean(0), mean(1)]
    };
    let policer =
        |burst: &str| format!(r#"[{{ kind = "policer", rate = "15 Mb/s", burst = "{burst}" }}]"#);
    let [shallow, udp] = rates_mbps(&[]);
    assert!((14.9..15.1).contains(&udp), "UDP {udp}");
    let [deep, _] = rates_mbps(&[("users.tcp.ingress", &policer("150 kB"))]);
    let [far, _] = rates_mbps(&[("bottleneck.delay", "40 ms")]);
    println!("TCP {shallow:.2} Mb/s with 15 kB, {deep:.2} with 150 kB, {far:.2} at 80 ms");
    assert!(shallow < 12.0 && deep > 13.0 && far < 0.6 * shallow, "{shallow}, {deep}, {far}");
    assert!(deep < 15.1, "never above the rate: {deep}");
}
