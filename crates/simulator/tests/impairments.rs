//! What a wire does to packets: losses in bursts, duplicates, jitter and reordering.

use crate::common;

use common::{link, plan_with};
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

/// A flow of 1,000 packets a second over a link that it does not fill.
const STEADY: &str = r#"
    version = 1
    host_jitter = "off"
    warm_up = "0 s"
    duration = "100 s"
    drain_limit = "1 s"
    [bottleneck]
    rate = "100 Mb/s"
    delay = "30 ms"
    buffer = "1000 packets"
    [users.all]
    start = "0 s"
    traffic = { kind = "cbr", rate = "12 Mb/s" }
"#;

/// One upload of 10 Mb/s with a round trip of 60 ms.
const UPLOAD: &str = r#"
    version = 1
    host_jitter = "off"
    warm_up = "2 s"
    duration = "20 s"
    [bottleneck]
    rate = "10 Mb/s"
    delay = "30 ms"
    buffer = "100 packets"
    [tcp]
    congestion_control = "reno"
    [users.all]
"#;

fn steady(overrides: &[(&str, &str)]) -> RunOutput {
    run(&plan_with(STEADY, overrides), 1)
}

fn upload(overrides: &[(&str, &str)]) -> RunOutput {
    run(&plan_with(UPLOAD, overrides), 1)
}

fn lost(output: &RunOutput) -> f64 {
    let bottleneck = link(output, "bottleneck");
    output.links.drops_wire[bottleneck] as f64 / output.links.departures[bottleneck] as f64
}

/// p (1 − h) / (p + r) of the packets are lost.
#[test]
fn a_wire_of_two_states_loses_the_share_of_gilbert_and_elliott() {
    for (model, want) in [
        (r#"{ kind = "gilbert-elliott", p = 0.01, r = 0.19 }"#, 0.05),
        (
            r#"{ kind = "gilbert-elliott", p = "5 %", r = 0.2, bad_loss = 0.5, good_loss = 0.01 }"#,
            0.108,
        ),
        ("\"1 %\"", 0.01),
    ] {
        let got = lost(&steady(&[("bottleneck.loss", model)]));
        assert!((got / want - 1.0).abs() < 0.1, "{model}: {got}");
    }
}

/// The same share of losses harms TCP less where they come in bursts, since a burst is one congestion event.
#[test]
fn bursts_of_losses_cost_tcp_less_than_single_losses() {
    let goodput =
        |loss| upload(&[("bottleneck.loss", loss), ("duration", "60 s")]).flows.goodput_bps[0];
    let (bursts, single) =
        (goodput(r#"{ kind = "gilbert-elliott", p = 0.002, r = 0.198 }"#), goodput("0.01"));
    assert!(bursts > 1.3 * single, "{bursts} and {single} b/s");
}

#[test]
fn given_packets_are_lost() {
    let output =
        steady(&[("bottleneck.loss", r#"{ kind = "packets", packets = "3, 10-12, 500" }"#)]);
    assert_eq!(output.links.drops_wire[link(&output, "bottleneck")], 5);
    assert_eq!(output.flows.losses, [5]);
}

#[test]
fn some_packets_arrive_twice() {
    let output = steady(&[("bottleneck.duplicate", "\"5 %\"")]);
    let (sent, arrived) = (output.flows.packets_sent[0], output.flows.packets_delivered[0]);
    let twice = (arrived as f64 - sent as f64) / sent as f64;
    assert!((twice - 0.05).abs() < 0.005, "{twice}");
    assert_eq!(output.flows.losses, [0]);
}

/// A duplicate is acknowledged as one (RFC 2883), and nothing is sent again for it.
#[test]
fn tcp_takes_duplicates_for_duplicates() {
    for scheduler in ["fifo", "drr"] {
        let scheduler = format!("\"{scheduler}\"");
        let given = [
            ("bottleneck.duplicate", "0.1"),
            ("bottleneck.scheduler", &scheduler),
            ("tcp.window_limit", "\"90 kB\""),
        ];
        let output = upload(&given);
        assert_eq!(output.flows.retransmits, [0]);
        assert!(output.links.utilization[link(&output, "bottleneck")] > 0.99);
    }
}

/// A packet that is sent ahead arrives 30 ms, or 25 packets, before its turn. RACK (RFC 8985) waits for no more than a part
/// of the round trip and takes those before it for lost. Who counts what has overtaken (RFC 6675) sees one packet. Where a
/// packet comes 3 ms before its turn, both wait.
#[test]
fn packets_sent_ahead_fool_who_waits_for_a_time() {
    let retransmits = |delay, reverse_delay, recovery| {
        let given = [
            ("bottleneck.reorder", "\"1 %\""),
            ("bottleneck.reorder_gap", "20"),
            ("bottleneck.delay", delay),
            ("bottleneck.reverse_delay", reverse_delay),
            ("tcp.loss_recovery", recovery),
            ("tcp.window_limit", "\"90 kB\""),
        ];
        let output = upload(&given);
        assert_eq!(output.flows.losses, [0]);
        output.flows.retransmits[0]
    };
    let (counted, waited) =
        (retransmits("30 ms", "30 ms", "\"sack\""), retransmits("30 ms", "30 ms", "\"rack\""));
    assert!(counted < 50 && waited > 1000, "{counted} and {waited}");
    assert_eq!(retransmits("3 ms", "57 ms", "\"rack\""), 0);
}

/// Of 20 packets at most one is sent ahead.
#[test]
fn a_gap_bounds_what_is_sent_ahead() {
    let retransmits = |gap| {
        let given = [
            ("bottleneck.reorder", "0.5"),
            ("bottleneck.reorder_gap", gap),
            ("tcp.loss_recovery", "\"sack\""),
            ("tcp.window_limit", "\"90 kB\""),
        ];
        upload(&given).flows.retransmits[0]
    };
    let (often, seldom) = (retransmits("1"), retransmits("20"));
    assert!(often > 50 && seldom < often / 10, "{often} and {seldom}");
}

/// Delays with a standard deviation of 3 ms both ways: with their order kept no packet seems lost.
#[test]
fn jitter_keeps_the_order_of_packets_unless_it_shall_not() {
    let with = |order| {
        let jitter = format!(r#"{{ kind = "normal", spread = "3 ms", keep_order = {order} }}"#);
        let given = [
            ("bottleneck.jitter", jitter.as_str()),
            ("tcp.loss_recovery", "\"sack\""),
            ("tcp.window_limit", "\"60 kB\""),
        ];
        upload(&given)
    };
    let (kept, not) = (with("true"), with("false"));
    assert_eq!((kept.flows.losses[0], kept.flows.retransmits[0]), (0, 0));
    assert_eq!(not.flows.losses[0], 0);
    assert!(not.flows.retransmits[0] > 20, "{}", not.flows.retransmits[0]);
}

/// Round trips are longer and shorter by the spread of a uniform distribution, and no more.
#[test]
fn round_trips_follow_the_distribution_of_delays() {
    let given = [
        ("bottleneck.jitter", r#"{ kind = "uniform", spread = "10 ms", keep_order = false }"#),
        ("users.all.traffic", r#"{ kind = "transfer", size = "1 kB", pause = "1 ms" }"#),
        ("duration", "60 s"),
        ("tcp.timestamps", "true"),
    ];
    let output = upload(&given);
    // A request, its answer, and the data: of three crossings two are jittered.
    let times: Vec<f64> =
        output.transfers.completion_s.iter().copied().filter(|s| s.is_finite()).collect();
    let (least, most) =
        (times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max));
    assert!(times.len() > 300, "{} transfers", times.len());
    assert!(most - least > 0.016 && most - least < 0.045, "{least} to {most} s");
}
