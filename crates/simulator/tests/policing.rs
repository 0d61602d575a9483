//! Congestion policing queues with TCP: five flows against one, and an on/off customer.

use crate::common;

use common::{link, plan_with};
use tidegate_simulator::output::RunOutput;

const SCENARIO: &str = include_str!("../../../scenarios/cpq-aggressiveness.toml");

fn run(overrides: &[(&str, &str)]) -> RunOutput {
    let intervals = [("intervals", "{ count = 1, length = \"500 s\" }")];
    tidegate_simulator::run(&plan_with(SCENARIO, &[&intervals, overrides].concat()), 1)
}

/// Returns Jain's index of the two customers, and the utilization of the link.
fn shares(differentiation: &str) -> (f64, f64) {
    // Initially full buckets take a while to drain.
    let settled = ("warm_up", "\"1500 s\"");
    let output = run(&[settled, ("bottleneck.differentiation", differentiation)]);
    let mut rates = [0.0; 2];
    for (group, rate) in output.flows.group.iter().zip(&output.flows.throughput_bps) {
        rates[*group as usize] += rate;
    }
    let ([a, b], sum) = (rates, rates[0] + rates[1]);
    let jain = sum * sum / (2.0 * (a * a + b * b));
    (jain, output.links.utilization[link(&output, "bottleneck")])
}

/// Congestion Policing Queues, section V-B and table II: a queue without policing shares by flow, 0.692 for five
/// against one; AFCP shares by customer and fills the link.
#[test]
fn afcp_shares_by_customer_where_red_shares_by_flow() {
    let (red, _) = shares("{ kind = \"none\" }");
    assert!((red - 0.692).abs() < 0.03, "RED: {red}");
    for variant in ["a", "b"] {
        let (jain, utilization) =
            shares(&format!("{{ kind = \"afcp\", variant = \"{variant}\" }}"));
        assert!(jain > 0.95 && utilization > 0.98, "{variant}: {jain}, {utilization}");
    }
}

/// Table II: "the achieved bottleneck utilization for ICP is not acceptable".
#[test]
fn icp_leaves_a_part_of_the_link_idle() {
    let (jain, utilization) = shares("{ kind = \"icp\", curve = \"step\" }");
    assert!(jain > 0.9 && utilization < 0.85, "{jain}, {utilization}");
}

/// Transfers begin every 50 s with a standard deviation of 5, regardless of their duration (section V-C).
#[test]
fn transfers_every_so_often_start_normally_distributed() {
    let traffic =
        "{ kind = \"transfer\", size = \"2 MB\", every = \"50 s\", every_deviation = \"5 s\" }";
    let output = run(&[
        ("users.light.traffic", traffic),
        ("intervals", "{ count = 10, length = \"500 s\" }"),
    ]);
    let starts = &output.transfers.start_s;
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance =
        gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
    assert!(gaps.len() >= 95, "{} transfers", gaps.len());
    assert!((mean - 50.0).abs() < 1.5, "mean {mean} s");
    assert!((variance.sqrt() - 5.0).abs() < 1.2, "deviation {} s", variance.sqrt());
}
