//! Prices in whole runs: set by queues, carried by packets and acknowledgements, paid by senders.

use crate::common;

use common::scenarios::exact;
use common::{link, plan_with};
use proptest::prelude::*;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const SBRM: &str = include_str!("../../../scenarios/sbrm.toml");
const EXPLICIT: &str = include_str!("../../../scenarios/explicit-prices.toml");

fn simulate(scenario: &str, more: &[(&str, &str)]) -> RunOutput {
    run(&plan_with(scenario, more), 1)
}

fn near(got: f64, want: f64, tolerance: f64) -> bool {
    (got / want - 1.0).abs() < tolerance
}

/// Returns the mean rate of the flows of each group, bit/s, for groups of equal size.
fn rates(output: &RunOutput, groups: usize) -> Vec<f64> {
    let flows = &output.flows.throughput_bps;
    let each = flows.len() / groups;
    flows.chunks(each).map(|own| own.iter().sum::<f64>() / each as f64).collect()
}

/// A flood of three times the link's rate marks all departing packets for seconds. The price stays finite for any
/// averaging time, and after the flood the queue returns to the target and the excess. Senders are classic: Linux's keep
/// more segments in the network than their windows while every ACK has a mark, and with them the queue stays.
#[test]
fn a_flood_does_not_spoil_the_estimate_of_what_flows_pay() {
    for (over, largest) in [("1 s", 16.0), ("5 ms", 16.0), ("1 us", 16.0)] {
        let text = format!(
            "version = 1\nprofile = \"classic\"\nwarm_up = \"6 s\"\nduration = \"34 s\"\ntcp.ecn = true\n\
             [bottleneck]\nrate = \"1 Mb/s\"\n\
             aqm = {{ kind = \"sbrm-queue\", gamma = 0.001, target = \"2 packets\", excess = \"10 packets\", \
             estimate_over = \"{over}\" }}\n\
             [users.flood]\ntraffic = {{ kind = \"cbr\", rate = \"3 Mb/s\", ecn = true, lasts = \"3 s\" }}\n\
             [users.a]\nflows = 4\nstart = \"6 s\"\n"
        );
        let output = simulate(&text, &[]);
        let queue = output.links.mean_backlog_packets[link(&output, "bottleneck")];
        assert!(output.link_series.price.iter().all(|price| price.is_finite()), "{over}");
        assert!((10.0..largest).contains(&queue), "{over}: {queue} packets");
    }
}

/// (1 − m) w = m x for the steps (5.1.2), (5.1.3), and w = m x for (4.2.3) on marks: on one link m = Σw/(c + Σw) or
/// Σw/c, and b = b₀ − ln(1 − m)/γ. Here c = 1250 packets/s, Σw = 700.
#[test]
fn both_variants_of_sbrm_settle_where_the_marks_cost_what_is_paid() {
    let by_mark = |w: &str| {
        format!(
            "{{ kind = \"direct-window\", price = \"mark\", willingness_to_pay = {w}, kappa = 0.05 }}"
        )
    };
    let names = ["bronze", "silver", "gold"].map(|n| format!("users.{n}.tcp.congestion_control"));
    let second: Vec<_> = names.iter().zip(["100", "200", "400"].map(by_mark)).collect();
    let second: Vec<_> = second.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    // 10 − ln(1 − m)/0.02, by hand.
    for (more, marked, want) in
        [(&[][..], 700.0 / 1_950.0, 32.23), (&second[..], 700.0 / 1_250.0, 51.05)]
    {
        let output = simulate(SBRM, more);
        let place = link(&output, "bottleneck");
        let share = output.links.marks[place] as f64
            / (output.links.departed_bytes[place] as f64 / 1_000.0);
        let backlog = output.links.mean_backlog_packets[place];
        println!("marked {share:.3} for {marked:.3}, backlog {backlog:.1} for {want:.1}");
        assert!(near(share, marked, 0.05) && near(backlog, want, 0.1));
        let rates = rates(&output, 3);
        assert!(near(rates[1] / rates[0], 2.0, 0.15) && near(rates[2] / rates[0], 4.0, 0.15));
        assert_eq!(output.links.drops_full[place], 0);
    }
}

/// The optimum of Σ w ln x over two links: the flow over both gets a third of either, for any round trips and price
/// encodings.
#[test]
fn a_flow_over_two_links_pays_for_both() {
    let one_bit = r#"{ kind = "one-bit", base = 1.06 }"#;
    // For prices of 0.4 and 0.8: either queue sets one bit in about half of all packets.
    let four_bit =
        r#"{ kind = "four-bit", base_1 = 9.0, base_2 = 3.0, base_3 = 1.5, base_4 = 1.1 }"#;
    for (key, value, tolerance) in [
        ("users.one.access.delay", "30 ms", 0.06),
        ("users.both.access.delay", "40 ms", 0.06),
        ("price_encoding", one_bit, 0.12),
        ("price_encoding", four_bit, 0.12),
    ] {
        let rates = rates(&simulate(EXPLICIT, &[(key, value)]), 3);
        println!("{key} = {value}: {rates:.0?}");
        for rate in &rates[..2] {
            assert!(near(rate / rates[2], 2.0, tolerance), "{rates:?}");
        }
    }
}

/// A price marks or signals, and never drops: flows without ECN pass a queue that would mark all their packets.
#[test]
fn what_is_not_ecn_capable_passes_a_price_unmarked() {
    let reno: Vec<_> = ["bronze", "silver", "gold"]
        .map(|n| (format!("users.{n}.tcp.congestion_control"), "\"reno\"".to_owned()))
        .into();
    let mut more: Vec<_> = reno.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    more.push(("bottleneck.aqm.gamma", "100.0"));
    more.push(("tcp.window_limit", "\"60 kB\""));
    let output = simulate(SBRM, &more);
    let place = link(&output, "bottleneck");
    assert_eq!((output.links.marks[place], output.links.drops_aqm[place]), (0, 0));
    assert!(output.links.mean_backlog_packets[place] > 12.0);
}

/// The senders' estimate of their path's price equals the sum over its links, except for changes since, and is sampled
/// for the configured number of flows per group.
#[test]
fn series_report_what_links_ask_and_what_senders_know() {
    let options = [("sample_interval", "10 ms"), ("sampled_flows", "2"), ("warm_up", "0 s")];
    let quoted: Vec<_> = options.map(|(key, value)| (key, format!("\"{value}\""))).into();
    let mut more: Vec<_> = quoted.iter().map(|(key, value)| (*key, value.as_str())).collect();
    more[1].1 = "2";
    let output = simulate(EXPLICIT, &more);
    let (links, flows) = (&output.link_series, &output.flow_series);
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let asked = mean(links.price[links.price.len() / 2..].to_vec());
    let both = output.flows.group.iter().position(|&group| group == 2).expect("a flow of `both`");
    let known = |flow: usize| {
        let rows = flows.flow.iter().zip(&flows.price).filter(|(of, _)| **of == flow as u32);
        let of: Vec<_> = rows.map(|(_, price)| *price).collect();
        mean(of[of.len() / 2..].to_vec())
    };
    println!(
        "asked {asked:.3} a link, known {:.3} over one, {:.3} over two",
        known(0),
        known(both)
    );
    assert!(near(known(0), asked, 0.03) && near(known(both), 2.0 * asked, 0.03));
    let mut sampled = flows.flow.clone();
    sampled.sort_unstable();
    sampled.dedup();
    let in_group = |group: u32| {
        let own = |&&flow: &&u32| output.flows.group[flow as usize] == group;
        sampled.iter().filter(own).count()
    };
    let there = |group: u32| output.flows.group.iter().filter(|of| **of == group).count();
    for group in 0..3 {
        assert_eq!(in_group(group), there(group).min(2));
    }
}

/// Bronze offers the same as gold from 30 s on: its rate is a quarter of gold's before and equal afterwards, over open
/// connections and over those opened later.
#[test]
fn an_offer_that_changes_is_paid_from_then_on() {
    let offers = r#"[{ at = "30 s", willingness_to_pay = 400.0 }]"#;
    let on_off = r#"{ kind = "on-off", on = "10 s", off = "1 ms", distribution = "fixed" }"#;
    for traffic in ["\"greedy\"", on_off] {
        for (from, want) in [("\"10 s\"", 0.25), ("\"35 s\"", 1.0)] {
            let more = [
                ("warm_up", from),
                ("duration", "\"20 s\""),
                ("users.bronze.offers", offers),
                ("users.bronze.traffic", traffic),
            ];
            let rates = rates(&simulate(SBRM, &more), 3);
            println!("{traffic} from {from}: {:.3}", rates[0] / rates[2]);
            // A connection opened later begins in slow start.
            let within = if traffic == on_off { 0.3 } else { 0.2 };
            assert!(near(rates[0] / rates[2], want, within), "{traffic} from {from}: {rates:?}");
        }
    }
}

/// Combinations of price encodings, queues and senders.
const PRICED: [(&str, &str, &str); 5] = [
    (
        r#"{ kind = "explicit" }"#,
        r#"{ kind = "pc1", gamma = 0.1 }"#,
        r#"{ kind = "direct-window", willingness_to_pay = 20000, kappa = 0.01 }"#,
    ),
    (
        r#"{ kind = "one-bit", base = 1.007 }"#,
        r#"{ kind = "pc2", gamma = 0.1, target = "2 packets" }"#,
        r#"{ kind = "vegas-cp", willingness_to_pay = 20000 }"#,
    ),
    (
        r#"{ kind = "four-bit", base_1 = 1.06, base_2 = 1.007, base_3 = 1.001, base_4 = 1.00015 }"#,
        r#"{ kind = "pc3", gamma = 0.1, target = "2 packets" }"#,
        r#"{ kind = "vegas-cp", willingness_to_pay = 20000 }"#,
    ),
    (
        r#"{ kind = "maximum" }"#,
        r#"{ kind = "virtual-queue" }"#,
        r#"{ kind = "sbrm", willingness_to_pay = 200 }"#,
    ),
    (
        r#"{ kind = "one-bit", base = 2.718 }"#,
        r#"{ kind = "sbrm-queue", gamma = 0.1, target = "2 packets" }"#,
        r#"{ kind = "tcp-rm", willingness_to_pay = 200 }"#,
    ),
];

proptest! {
    #![proptest_config(exact(150))]

    /// Stopped sources leave packets and marks in transit, which still arrive or are lost, each once: at rest,
    /// everything sent has been reported.
    #[test]
    fn conservation_holds_with_flows_stopped_in_flight(
        (flows, delay_ms, buffer) in (1..6u32, 1..80u32, 5..60u32),
        on_ms in 20..2_500u32,
        (encoding, aqm, control) in prop::sample::select(&PRICED[..]),
        seed in 0..1000u64,
    ) {
        let text = format!(
            "version = 1\nwarm_up = \"0 s\"\nduration = \"20 s\"\nprice_encoding = {encoding}\n\
             [tcp]\necn = true\ntimestamps = true\ncongestion_control = {control}\n\
             [bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"{delay_ms} ms\"\nbuffer = \"{buffer} packets\"\naqm = {aqm}\n\
             [users.stopped]\nflows = {flows}\nstart = \"0 s\"\n\
             traffic = {{ kind = \"on-off\", on = \"{on_ms} ms\", off = \"100 s\", distribution = \"fixed\" }}\n"
        );
        let output = run(&plan_with(&text, &[]), seed);
        let RunOutput { flows, links, .. } = &output;
        for flow in 0..flows.user.len() {
            let (sent, lost, arrived) =
                (flows.packets_sent[flow], flows.losses[flow], flows.packets_delivered[flow]);
            prop_assert_eq!(sent, lost + arrived, "{} lost, {} arrived: {}", lost, arrived, text);
        }
        let place = link(&output, "bottleneck");
        let sent: u64 = flows.packets_sent.iter().sum();
        prop_assert_eq!(links.arrivals[place], sent);
        prop_assert!(sent > 0);
        prop_assert_eq!(flows.marks.iter().sum::<u64>(), links.marks[place], "marks: {}", text);
    }
}
