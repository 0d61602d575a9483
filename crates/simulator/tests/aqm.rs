//! Tests of AQMs with TCP: properties from their papers, and ABC on an AQM that observes departures.

use crate::common;

use common::{link, plan_with};
use tidegate_simulator::output::RunOutput;

fn run(text: &str, overrides: &[(&str, &str)]) -> RunOutput {
    tidegate_simulator::run(&plan_with(text, overrides), 1)
}

/// Returns the throughput of a customer of the first group over that of a customer of the second, with `counts`
/// customers.
fn ratio(output: &RunOutput, counts: [f64; 2]) -> f64 {
    let mut bps = [0.0; 2];
    for (group, rate) in output.flows.group.iter().zip(&output.flows.throughput_bps) {
        bps[*group as usize] += rate / counts[*group as usize];
    }
    bps[0] / bps[1]
}

/// Returns the mean queue in packets, without the one in transmission.
fn mean_waiting(output: &RunOutput) -> f64 {
    let bottleneck = link(output, "bottleneck");
    output.links.mean_backlog_packets[bottleneck] - output.links.utilization[bottleneck]
}

/// "Adaptive RED", 2001: the average queue stays in the target range, 0.4 to 0.6 of the way between the thresholds, for
/// few and for many connections; RED's grows with their number.
#[test]
fn adaptive_red_keeps_its_queue_whatever_the_number_of_connections() {
    let text = include_str!("../../../scenarios/adaptive-red.toml");
    let red = r#"{ kind = "red", min_threshold = "10 packets", max_threshold = "31 packets",
                   gentle = true }"#;
    let queues = |overrides: &[(&str, &str)]| {
        ["10", "30", "200"].map(|clients| {
            let clients = [("users.clients.count", clients)];
            mean_waiting(&run(text, &[&clients, overrides].concat()))
        })
    };
    // 10 Mb/s carry 833.3 packets per second: min_th = 10.42, max_th = 31.25.
    let (low, high) = (10.42 + 0.4 * 20.83, 10.42 + 0.6 * 20.83);
    let adaptive = queues(&[]);
    assert!(adaptive.iter().all(|queue| (low..high).contains(queue)), "{adaptive:?}");
    let plain = queues(&[("bottleneck.aqm", red)]);
    assert!(plain[0] < 16.0 && plain[2] > 33.0, "{plain:?}");
}

/// CSFQ, second simulation on one link: an unresponsive flow gets about the fair share, and so do the others; without
/// CSFQ the others get nothing.
#[test]
fn csfq_leaves_a_flood_little_more_than_the_fair_share() {
    let text = include_str!("../../../scenarios/csfq-udp-flood.toml");
    let shares = |overrides: &[(&str, &str)]| {
        let output = run(text, overrides);
        let shares: Vec<f64> =
            output.flows.throughput_bps.iter().map(|bps| bps / (10e6 / 32.0)).collect();
        (shares, output.links.utilization[link(&output, "bottleneck")])
    };
    let (shares_with, utilization) = shares(&[]);
    let (flood, tcp) = shares_with.split_first().expect("32 flows");
    let (least, mean) =
        (tcp.iter().copied().fold(f64::MAX, f64::min), tcp.iter().sum::<f64>() / 31.0);
    assert!((1.0..1.5).contains(flood), "flood: {flood} fair shares");
    assert!(least > 0.85 && mean > 0.95, "connections: {least} to {mean}");
    assert!(utilization > 0.99, "{utilization}");
    let (without, _) = shares(&[("bottleneck.aqm", r#"{ kind = "drop-tail" }"#)]);
    assert!(without[0] > 25.0, "without: {}", without[0]);
}

/// RFC 8033: the delay is held at the target, with 12 connections as with 50.
#[test]
fn pie_holds_its_delay_at_the_target() {
    let text = include_str!("../../../scenarios/abc-on-pie.toml");
    for (light, target_ms) in [("2", 15.0), ("20", 15.0), ("20", 40.0), ("40", 15.0)] {
        let aqm = format!("{{ kind = \"pie\", target = \"{target_ms} ms\" }}");
        let output = run(
            text,
            &[
                ("bottleneck.aqm", &aqm),
                ("bottleneck.differentiation", r#"{ kind = "none" }"#),
                ("users.light.count", light),
            ],
        );
        let bottleneck = link(&output, "bottleneck");
        let waited_ms = output.links.mean_sojourn_s[bottleneck] * 1e3 - 1.2;
        assert!(
            (waited_ms / target_ms - 1.0).abs() < 0.2,
            "{light}: {waited_ms} of {target_ms} ms"
        );
        assert!(output.links.utilization[bottleneck] > 0.99);
    }
}

/// The future work of the ABC paper, as lines of a scenario file.
#[test]
fn activity_on_pie_shares_by_customer_where_pie_shares_by_connection() {
    let text = include_str!("../../../scenarios/abc-on-pie.toml");
    let ratio_with = |kind| {
        let output = run(text, &[("bottleneck.differentiation.kind", kind)]);
        let sojourn_s = output.links.mean_sojourn_s[link(&output, "bottleneck")];
        (ratio(&output, [1.0, 10.0]), sojourn_s)
    };
    let ((alone, without_s), (with_abc, with_s)) = (ratio_with("\"none\""), ratio_with("\"abc\""));
    assert!(alone > 8.0, "PIE alone: {alone}");
    assert!((0.8..1.25).contains(&with_abc), "with ABC: {with_abc}");
    assert!((with_s / without_s - 1.0).abs() < 0.15, "delay {with_s} s, alone {without_s} s");
}

/// Losses and marks under PIE: marks up to a probability of 10 %, drops of ECN-capable packets above. With the rules of
/// the RFC's pseudo-code, whose probability stays below with a dozen connections.
#[test]
fn pie_marks_until_it_must_drop() {
    let text = include_str!("../../../scenarios/abc-on-pie.toml");
    let signals = |heavy| {
        let none = r#"{ kind = "none" }"#;
        let overrides = [
            (
                "bottleneck.aqm",
                r#"{ kind = "pie", decay = "half-target", steep = false, derandomised = false }"#,
            ),
            ("bottleneck.differentiation", none),
            ("bottleneck.ecn", "true"),
            ("tcp.ecn", "true"),
            // A connection whose SYN is lost would fall back to no ECN.
            ("tcp.ecn_fallback", "false"),
            ("users.heavy.flows", heavy),
        ];
        let output = run(text, &overrides);
        let bottleneck = link(&output, "bottleneck");
        (output.links.marks[bottleneck], output.links.drops_aqm[bottleneck])
    };
    let (marks, drops) = signals("2");
    assert!(marks > 500 && drops < marks / 50, "few: {marks} marks, {drops} drops");
    let (_, drops) = signals("200");
    assert!(drops > 1_000, "many: {drops} drops");
}
