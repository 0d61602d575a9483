//! Links whose rate or delay follows a trace.

use crate::common;

use common::{link, plan, plan_with};
use proptest::prelude::*;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

/// Runs a UDP flow with a permanent backlog over a link with this rate.
fn flood(line: &str) -> RunOutput {
    let text = format!(
        "version = 1\nwarm_up = \"2 s\"\nduration = \"20 s\"\n[bottleneck]\n{line}\n\
         buffer = \"100 packets\"\n[users.all]\ntraffic = {{ kind = \"cbr\", rate = \"40 Mb/s\" }}\n"
    );
    run(&plan(&text), 1)
}

/// Three packets of 1500 bytes in 10 ms are 3.6 Mb/s.
#[test]
fn a_flood_gets_the_mean_of_the_trace() {
    for (trace, mean_bps) in [
        (r"1\n1\n10\n", 3.6e6),
        // 1 Mb in 0.5 s, 5 Mb in 1 s, and nothing in 1 s.
        (r"time_s,rate_mbps\n0,2\n0.5,5\n1.5,0\n", 6e6 / 2.5),
    ] {
        let output = flood(&format!("rate = {{ trace = \"{trace}\" }}"));
        let got = output.flows.throughput_bps[0];
        assert!((got / mean_bps - 1.0).abs() < 0.01, "{trace}: {got} b/s of {mean_bps}");
        let used = output.links.utilization[link(&output, "bottleneck")];
        assert!((used - 1.0).abs() < 1e-3, "{trace}: {used}");
    }
}

/// 10 Mb/s for a second, and then its mean of 5 Mb/s, measured from 2 s on.
#[test]
fn a_trace_that_does_not_repeat_leaves_its_mean() {
    let trace = r"time_s,rate_mbps\n0,10\n0.5,0\n";
    let output = flood(&format!("rate = {{ trace = \"{trace}\", repeat = false }}"));
    let got = output.flows.throughput_bps[0];
    assert!((got / 5e6 - 1.0).abs() < 0.01, "{got} b/s");
}

/// The reverse direction of a link has its own rate and delay.
#[test]
fn a_flood_on_the_reverse_direction_gets_its_trace() {
    let text = r#"
        version = 1
        warm_up = "2 s"
        duration = "10 s"
        bottleneck = { rate = "50 Mb/s", reverse_rate = { trace = "1\n4\n" }, duplex = true }
        users.up = { from = "right", to = "left", traffic = { kind = "cbr", rate = "20 Mb/s" } }
        users.down = { traffic = { kind = "cbr", rate = "20 Mb/s" } }
    "#;
    let output = run(&plan(text), 1);
    let [up, down] = [0, 1].map(|flow| output.flows.throughput_bps[flow]);
    assert!((up / 6e6 - 1.0).abs() < 0.01 && (down / 20e6 - 1.0).abs() < 0.01, "{up}, {down}");
}

/// The cell of a mobile network is the narrowest link downlink; the uplink has half of its rate.
#[test]
fn the_radio_of_a_mobile_network_follows_its_traces() {
    let text = r#"
        version = 1
        warm_up = "2 s"
        duration = "10 s"
        [mobile]
        enodebs = 1
        rate = "50 Mb/s"
        duplex = true
        radio = { rate = { trace = "1\n1\n4\n" }, reverse_rate = { trace = "2\n" }, delay = "10 ms" }
        [users]
        down = { from = "G1", to = "phones1", traffic = { kind = "cbr", rate = "20 Mb/s" } }
        up = { from = "phones1", to = "G1", traffic = { kind = "cbr", rate = "20 Mb/s" } }
    "#;
    let output = run(&plan(text), 1);
    let [down, up] = [0, 1].map(|flow| output.flows.throughput_bps[flow]);
    assert!((down / 9e6 - 1.0).abs() < 0.01 && (up / 6e6 - 1.0).abs() < 0.01, "{down}, {up}");
}

/// A delay of 30 ms that decreases to 5 ms: round trips follow it, and no packet overtakes another, so that nothing is
/// retransmitted.
#[test]
fn packets_keep_their_order_where_the_delay_becomes_shorter() {
    let text = r#"
        version = 1
        host_jitter = "off"
        warm_up = "1 s"
        duration = "8 s"
        sample_interval = "10 ms"
        [bottleneck]
        rate = "20 Mb/s"
        buffer = "1000 packets"
        delay = { trace = "time_s,delay_ms\n0,30\n1,5\n" }
        [tcp]
        congestion_control = "reno"
        window_limit = "30 kB"
        [users.all]
    "#;
    let output = run(&plan(text), 1);
    assert_eq!(output.flows.retransmits, [0]);
    let trips = || output.flow_series.srtt_s.iter().copied().filter(|srtt| srtt.is_finite());
    let (least, most) = (trips().fold(f64::MAX, f64::min), trips().fold(0.0, f64::max));
    assert!(least > 0.010 && least < 0.016 && most > 0.060 && most < 0.067, "{least} to {most} s");
}

proptest! {
    #![proptest_config(common::scenarios::exact(20))]

    /// The throughput of a UDP flow is the integral of the rate, with any queue.
    #[test]
    fn a_flood_gets_the_integral_of_any_trace(
        rates in prop::collection::vec((1..300u32, prop::sample::select(vec![0, 300, 4_000, 20_000])), 1..9),
        scheduler in prop::sample::select(vec!["fifo", "drr", "fq-codel"]),
    ) {
        let mut rows = "time_ms,rate_kbps\\n0,5000\\n".to_owned();
        let (mut at, mut sum, mut before, mut last) = (0, 0.0, 5000, 0);
        for (ms, kbps) in rates {
            sum += f64::from(before) * f64::from(ms);
            at += ms;
            (before, last) = (kbps, ms);
            rows += &format!("{at},{kbps}\\n");
        }
        sum += f64::from(before) * f64::from(last);
        let length_ms = f64::from(at + last);
        let text = format!(
            "version = 1\nwarm_up = \"1 s\"\nduration = \"{} ms\"\n[bottleneck]\nrate = {{ trace = \"{rows}\" }}\n\
             scheduler = \"{scheduler}\"\nbuffer = \"200 packets\"\n[users.all]\ntraffic = {{ kind = \"cbr\", rate = \"40 Mb/s\" }}\n",
            length_ms * 4.0
        );
        let output = run(&plan_with(&text, &[]), 1);
        let (got, mean) = (output.flows.throughput_bps[0], sum / length_ms * 1e3);
        // A packet at each end.
        let slack = 2.0 * 12_000.0 / (4e-3 * length_ms);
        prop_assert!((got - mean).abs() <= 0.001 * mean + slack, "{} b/s, mean {}", got, mean);
    }
}
