//! Shares by weights and by classes, and the colours of policers, in whole runs.

use crate::common;

use common::{link, plan_with};
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const TWO: &str = r#"
    version = 1
    warm_up = "5 s"
    duration = "20 s"
    [bottleneck]
    rate = "10 Mb/s"
    delay = "10 ms"
    buffer = "200 packets"
    [users.gold]
    weight = 3
    [users.basic]
    flows = 4
"#;

fn groups(output: &RunOutput, first: usize) -> [f64; 2] {
    let rates = &output.flows.throughput_bps;
    [rates[..first].iter().sum(), rates[first..].iter().sum()]
}

/// Weights of 3 and 1: by customer 3 to 1; by flow, of which there are 1 and 4, 3 to 4.
#[test]
fn weights_are_those_of_customers_or_of_flows() {
    for (scheduler, want) in [
        (r#"{ kind = "drr" }"#, 3.0),
        (r#"{ kind = "drr", queues = "by-flow" }"#, 0.75),
        (r#"{ kind = "fq-codel" }"#, 0.75),
        (r#"{ kind = "cake", isolation = "dual-srchost" }"#, 3.0),
    ] {
        let output = run(&plan_with(TWO, &[("bottleneck.scheduler", scheduler)]), 1);
        let [gold, basic] = groups(&output, 1);
        let ratio = gold / basic;
        assert!((ratio / want - 1.0).abs() < 0.08, "{scheduler}: {ratio}");
    }
}

/// 10 Mb/s: the first group has 6 Mb/s, the second 2 Mb/s and never more than 3 Mb/s.
#[test]
fn classes_have_their_rates_and_a_ceiling() {
    let classes = r#"{ kind = "htb", classes = [
        { users = "gold", rate = "6 Mb/s" }, { users = "basic", rate = "2 Mb/s", ceil = "3 Mb/s" }] }"#;
    let of = |gold: &str| {
        let output = run(
            &plan_with(TWO, &[("bottleneck.scheduler", classes), ("users.gold.traffic", gold)]),
            1,
        );
        let used = output.links.utilization[link(&output, "bottleneck")];
        (groups(&output, 1), used)
    };
    let ([gold, basic], used) = of(r#"{ kind = "greedy" }"#);
    assert!(
        (gold / 7.3e6 - 1.0).abs() < 0.05 && (basic / 2.4e6 - 1.0).abs() < 0.06,
        "{gold} {basic}"
    );
    assert!(used > 0.98, "{used}");
    let ([_, basic], used) = of(r#"{ kind = "cbr", rate = "1 Mb/s" }"#);
    assert!((basic / 2.9e6 - 1.0).abs() < 0.05, "{basic}");
    assert!((used - 0.4).abs() < 0.01, "a ceiling leaves the link idle: {used}");
}

/// The aggregate maximum bit rate of mobile users, policed at the PDN gateway: each user has a bucket.
#[test]
fn the_pdn_gateway_polices_each_user_by_itself() {
    for policer in [
        r#"{ kind = "policer", rate = "4 Mb/s", burst = "50 kB" }"#,
        r#"{ kind = "srtcm", rate = "4 Mb/s", burst = "50 kB", excess_burst = "0 B" }"#,
        r#"{ kind = "trtcm", rate = "1 Mb/s", peak_rate = "4 Mb/s" }"#,
    ] {
        let text = format!(
            "version = 1\nwarm_up = \"2 s\"\nduration = \"20 s\"\n[mobile]\nenodebs = 1\nrate = \"50 Mb/s\"\n\
             gateway = [{policer}]\nwired = {{ delay = \"1 ms\" }}\nradio = {{ delay = \"5 ms\" }}\n\
             [users.udp]\ncount = 3\nfrom = \"G1\"\nto = \"phones1\"\n\
             traffic = {{ kind = \"cbr\", rate = \"9 Mb/s\" }}\n"
        );
        let output = run(&plan_with(&text, &[]), 1);
        for rate in &output.flows.throughput_bps {
            assert!((rate / 4e6 - 1.0).abs() < 0.01, "{policer}: {rate} b/s");
        }
    }
}

/// Of 12 Mb/s, 5 are green, 5 yellow and 2 red.
#[test]
fn a_two_rate_marker_counts_three_colours() {
    let text = "version = 1\nwarm_up = \"1 s\"\nduration = \"10 s\"\n[bottleneck]\nrate = \"1 Gb/s\"\n\
                [users.a]\ntraffic = { kind = \"cbr\", rate = \"12 Mb/s\" }\n\
                ingress = [{ kind = \"trtcm\", rate = \"5 Mb/s\", peak_rate = \"10 Mb/s\" }]\n";
    let output = run(&plan_with(text, &[]), 1);
    let table = &output.stages;
    let count = |name: &str| {
        let row = (0..table.value.len()).find(|&row| table.count[row] == name);
        table.value[row.expect("is counted")] as f64 * 8.0 / 10.0
    };
    for (name, want) in [("green_bytes", 5e6), ("yellow_bytes", 5e6), ("red_bytes", 2e6)] {
        assert!((count(name) / want - 1.0).abs() < 0.01, "{name}: {} b/s", count(name));
    }
}
