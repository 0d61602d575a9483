//! Delay-based senders in whole runs.

use crate::common;

use common::{link, plan_with};
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const SCENARIO: &str = include_str!("../../../scenarios/vegas.toml");

fn vegas(alpha: u32, beta: u32, more: &[(&str, &str)]) -> RunOutput {
    let control = format!("{{ kind = \"vegas\", alpha = {alpha}, beta = {beta} }}");
    let mut options = vec![("tcp.congestion_control", control.as_str())];
    options.extend(more);
    run(&plan_with(SCENARIO, &options), 1)
}

/// Brakmo and Peterson 1995, section III-B: between α and β segments wait, for any rate and round trip. The one in
/// transmission is part of the backlog in the tables and not of a round-trip time.
#[test]
fn vegas_keeps_alpha_to_beta_segments_waiting_and_loses_none() {
    for (alpha, beta) in [(2, 4), (1, 3), (10, 12)] {
        for more in [&[][..], &[("bottleneck.rate", "50 Mb/s")], &[("bottleneck.delay", "80 ms")]] {
            let output = vegas(alpha, beta, more);
            let place = link(&output, "bottleneck");
            let waiting = output.links.mean_backlog_packets[place];
            let used = output.links.utilization[place];
            println!("alpha {alpha}, beta {beta}, {more:?}: {waiting:.2} wait, {used:.3} used");
            let (least, most) = (f64::from(alpha), f64::from(beta) + 1.0);
            assert!(waiting > least && waiting < most, "{waiting}");
            assert!(used > 0.98);
            assert_eq!(output.links.drops_full[place], 0);
        }
    }
}

/// J. Mo et al., "Analysis and comparison of TCP Reno and Vegas", INFOCOM 1999: Reno fills the buffer, and Vegas
/// attributes that delay to its own segments. With a buffer of a segment for each, Vegas does not yield.
#[test]
fn vegas_yields_beside_reno_the_more_the_larger_the_buffer() {
    let share = |buffer| {
        let two = format!("{SCENARIO}\n[users.other]\ntcp = {{ congestion_control = \"reno\" }}\n");
        let output = run(&plan_with(&two, &[("bottleneck.buffer", buffer)]), 1);
        let rates = &output.flows.throughput_bps;
        let share = rates[0] / (rates[0] + rates[1]);
        println!("{buffer}: {share:.2}");
        share
    };
    let (small, large) = (share("6 packets"), share("100 packets"));
    assert!(large < 0.2 && small > 2.0 * large, "{small}, {large}");
}

fn ledbat(more: &[(&str, &str)]) -> RunOutput {
    run(&plan_with(include_str!("../../../scenarios/ledbat.toml"), more), 1)
}

/// RFC 6817: the delay that it adds equals its target, for any target; several flows that begin together share it.
#[test]
fn ledbat_keeps_the_queue_at_its_target_where_it_is_alone() {
    for (target, target_s) in [("\"25 ms\"", 0.025), ("\"60 ms\"", 0.060)] {
        let alone = [
            ("users.background.tcp.congestion_control.target", target),
            ("users.foreground.start", "\"199 s\""),
            ("users.background.start", "\"0 s\""),
        ];
        let output = ledbat(&alone);
        let place = link(&output, "bottleneck");
        let (sojourn_s, used) =
            (output.links.mean_sojourn_s[place], output.links.utilization[place]);
        assert!((sojourn_s / target_s - 1.0).abs() < 0.15, "{sojourn_s} s");
        assert!(used > 0.98);
    }
}

/// It yields to flows that build a longer queue, but not if the queue cannot reach its target.
#[test]
fn ledbat_yields_where_the_queue_is_longer_than_its_target() {
    let share = |buffer| {
        let target = ("users.background.tcp.congestion_control.target", "\"50 ms\"");
        let output = ledbat(&[("bottleneck.buffer", buffer), target]);
        let rates = &output.flows.throughput_bps;
        rates[..5].iter().sum::<f64>() / rates.iter().sum::<f64>()
    };
    let (long, short) = (share("\"200 packets\""), share("\"30 packets\""));
    assert!(long < 0.2 && short > 0.4, "{long}, {short}");
}

/// Mean windows without queues, with a fixed number of segments between losses: Reno's is the root of 3/2 of that
/// number, 122 for 10,000. Compound adds its delay window.
#[test]
fn compound_has_more_than_reno_where_paths_are_long_and_as_much_where_windows_are_small() {
    let text = include_str!("../../../scenarios/compound.toml");
    let rate = |control: &str, loss: &str| {
        let options = [("tcp.congestion_control", control), ("bottleneck.loss", loss)];
        let output = run(&plan_with(text, &options), 1);
        output.flows.throughput_bps[0]
    };
    let long = rate("\"compound\"", "0.0001") / rate("\"reno\"", "0.0001");
    let small = rate("\"compound\"", "0.02") / rate("\"reno\"", "0.02");
    println!("{long:.2} times Reno's rate with large windows, {small:.2} times with small ones");
    assert!(long > 1.8);
    assert!((small - 1.0).abs() < 0.1);
}
