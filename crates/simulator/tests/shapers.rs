//! Shapers: a rate plan with a queue, at the ingress, the egress and the PDN gateway.

use crate::common;

use common::{link, plan_with};
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

/// A download over TCP and a UDP flow of 30 Mb/s, over a link that is never full.
const TWO: &str = r#"
    version = 1
    warm_up = "5 s"
    duration = "30 s"
    [bottleneck]
    rate = "1 Gb/s"
    delay = "10 ms"
    buffer = "10000 packets"
    [users.tcp]
    [users.udp]
    traffic = { kind = "cbr", rate = "30 Mb/s" }
"#;

const SHAPER: &str =
    r#"[{ kind = "shaper", rate = "15 Mb/s", burst = "15 kB", buffer = "100 packets" }]"#;

fn throughput(output: &RunOutput) -> [f64; 2] {
    [0, 1].map(|flow| output.flows.throughput_bps[flow])
}

/// A count of a stage, of all users together.
fn count(output: &RunOutput, stage: &str, count: &str) -> u64 {
    let table = &output.stages;
    let rows = (0..table.value.len())
        .filter(|&row| table.stage[row] == stage && table.count[row] == count);
    rows.map(|row| table.value[row]).sum()
}

/// Where a policer with such a burst leaves TCP 5 Mb/s, a shaper leaves it the rate.
#[test]
fn tcp_uses_the_rate_of_a_shaper_with_a_small_burst() {
    for place in ["ingress", "egress"] {
        let keys = [format!("users.tcp.{place}"), format!("users.udp.{place}")];
        let output = run(&plan_with(TWO, &[(&keys[0], SHAPER), (&keys[1], SHAPER)]), 1);
        let [tcp, udp] = throughput(&output);
        assert!((udp / 15e6 - 1.0).abs() < 1e-3, "{place}: {udp} b/s");
        assert!((tcp / 15e6 - 1.0).abs() < 0.01, "{place}: {tcp} b/s");
        // The UDP flow finds the queue full: 100 packets of 0.8 ms.
        let stage = format!("udp.0.{place}.0");
        let passed = count(&output, &stage, "shaped_packets");
        let delay_s = count(&output, &stage, "delay_us") as f64 / 1e6 / passed as f64;
        assert!((delay_s / 0.080 - 1.0).abs() < 0.02, "{place}: {delay_s} s");
        assert!(count(&output, &stage, "dropped: shaper full") > 30_000);
    }
}

/// The aggregate maximum bit rate of a mobile user: 3 users get 4 Mb/s each at the PDN gateway, whatever they ask for.
#[test]
fn the_pdn_gateway_shapes_each_user_by_itself() {
    let text = r#"
        version = 1
        warm_up = "2 s"
        duration = "20 s"
        [mobile]
        enodebs = 1
        rate = "50 Mb/s"
        gateway = [{ kind = "shaper", rate = "4 Mb/s" }]
        wired = { delay = "1 ms" }
        radio = { delay = "5 ms" }
        [users]
        udp = { count = 2, from = "G1", to = "phones1", traffic = { kind = "cbr", rate = "9 Mb/s" } }
        tcp = { flows = 3, from = "G1", to = "phones1" }
    "#;
    let output = run(&plan_with(text, &[]), 1);
    let rates = &output.flows.throughput_bps;
    let users = [rates[0], rates[1], rates[2..].iter().sum()];
    for rate in users {
        assert!((rate / 4e6 - 1.0).abs() < 0.01, "{rate} b/s of {users:?}");
    }
}

/// All of a group share a shaper, in front of others.
#[test]
fn a_group_shares_a_shaper_behind_a_meter_and_in_front_of_a_counter() {
    let text = r#"
        version = 1
        warm_up = "1 s"
        duration = "10 s"
        bottleneck = { rate = "100 Mb/s", ingress = [{ kind = "shaper", rate = "20 Mb/s", buckets = "one" }] }
        [users.group]
        count = 3
        shares_stages = true
        traffic = { kind = "cbr", rate = "5 Mb/s" }
        ingress = [
            { kind = "activity-meter", reference_rate = "1 Mb/s" },
            { kind = "shaper", rate = "6 Mb/s", buckets = "one", buffer = "20 kB" },
            { kind = "mark-counter" },
        ]
    "#;
    let output = run(&plan_with(text, &[]), 1);
    let sum: f64 = output.flows.throughput_bps.iter().sum();
    assert!((sum / 6e6 - 1.0).abs() < 2e-3, "{sum} b/s");
    let table = &output.stages;
    let rows = (0..table.value.len()).filter(|&row| table.count[row] == "shaped_packets");
    let mut by_stage = std::collections::BTreeMap::<&str, u64>::new();
    rows.for_each(|row| *by_stage.entry(&table.stage[row]).or_default() += table.value[row]);
    let shaped: Vec<u64> = by_stage.into_values().collect();
    let arrived = output.links.arrivals[link(&output, "bottleneck")];
    assert_eq!(shaped.len(), 2, "the group's and the link's");
    let apart = shaped.iter().map(|passed| passed.abs_diff(arrived)).max();
    assert!(apart <= Some(20), "{shaped:?} packets at the shapers, {arrived} at the link");
}

/// A shaper delays what a policer drops: fewer losses than at a policer of the same rate.
#[test]
fn a_longest_delay_bounds_what_waits() {
    let shaper = r#"[{ kind = "shaper", rate = "15 Mb/s", max_delay = "10 ms" }]"#;
    let output =
        run(&plan_with(TWO, &[("users.udp.ingress", shaper), ("users.tcp.ingress", SHAPER)]), 1);
    let passed = count(&output, "udp.0.ingress.0", "shaped_packets");
    let delay_s = count(&output, "udp.0.ingress.0", "delay_us") as f64 / 1e6 / passed as f64;
    assert!(delay_s > 0.0085 && delay_s <= 0.010, "{delay_s} s");
    assert!((throughput(&output)[1] / 15e6 - 1.0).abs() < 1e-3);
}
