//! Profile `classic` compared with other simulators: S1 and S2 in ns-2, ns-3 and htsim.
//!
//! `tests/data/peers.csv` has their measurements and method. Each of our figures is a mean over seeds with its 95 %
//! confidence interval; "inside the spread" means that this interval intersects the range from the smallest to the
//! largest figure of a simulator: of ns-2 over its seeds, and of a single run with an interval taken from ns-2's
//! spread.
//!
//! Three properties of a research TCP cause the agreement; a sender without them retransmits hardly anything spuriously
//! and has a higher goodput than all others: `each_trait_of_a_research_tcp_shows`.

use crate::common;

use common::statistics::{Mean, mean};
use common::{link, plan_with, runs};
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::RunOutput;

const PEERS: &str = include_str!("../../../tests/data/peers.csv");
const S1: &str = include_str!("../../../scenarios/s1-dumbbell.toml");
const S2: &str = include_str!("../../../scenarios/s2-red-ecn.toml");

/// Metrics of the comparison.
struct Measured {
    ratio: Mean,
    throughput_mbps: Mean,
    goodput_mbps: Mean,
    mean_queue_packets: Mean,
    loss_percent: Mean,
    marked_percent: Mean,
}

fn measure(name: &str, text: &str, overrides: &[(&str, &str)], seeds: u64) -> Measured {
    let overrides = [overrides, &[("sample_interval", "off"), ("drain_limit", "0 s")]].concat();
    let plan = plan_with(text, &overrides);
    let outputs = runs(&plan, 1..=seeds);
    let over = |metric: &dyn Fn(&RunOutput) -> f64| -> Mean {
        mean(&outputs.iter().map(metric).collect::<Vec<f64>>())
    };
    let bottleneck = |output: &RunOutput| link(output, "bottleneck");
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
    let measured = Measured {
        ratio: over(&|output| heavy_over_light(&plan, output)),
        throughput_mbps: over(&|output| {
            let bits = 8.0 * output.links.departed_bytes[bottleneck(output)] as f64;
            bits / plan.duration.as_secs() / 1e6
        }),
        goodput_mbps: over(&|output| goodput_mbps(&plan, output)),
        // Packets waiting: the one in transmission is present for the share of time in which the link is busy.
        mean_queue_packets: over(&|output| {
            let row = bottleneck(output);
            output.links.mean_backlog_packets[row] - output.links.utilization[row]
        }),
        loss_percent: over(&|output| {
            let (row, links) = (bottleneck(output), &output.links);
            percent(links.drops_full[row] + links.drops_aqm[row], links.arrivals[row])
        }),
        marked_percent: over(&|output| {
            let (row, links) = (bottleneck(output), &output.links);
            percent(links.marks[row], links.arrivals[row])
        }),
    };
    measured.print(name);
    measured
}

impl Measured {
    fn print(&self, name: &str) {
        println!("{name:8} {:20} {:>18}   the simulators", "", "ours");
        for (metric, ours) in [
            ("ratio", self.ratio),
            ("throughput_mbps", self.throughput_mbps),
            ("goodput_mbps", self.goodput_mbps),
            ("mean_queue_packets", self.mean_queue_packets),
            ("loss_percent", self.loss_percent),
            ("marked_percent", self.marked_percent),
        ] {
            let Some((least, largest)) = spread(name, metric) else { continue };
            let ours = format!("{:.3} ± {:.3}", ours.value, ours.ci95);
            println!("{name:8} {metric:20} {ours:>18}   {least:.3} to {largest:.3}");
        }
    }
}

/// Returns the mean throughput of a heavy user over that of a light one.
fn heavy_over_light(plan: &Plan, output: &RunOutput) -> f64 {
    let [heavy, light] = [0, 1].map(|group| {
        let users = plan.users.iter().filter(|user| user.group == group).count();
        let flows = (0..plan.flows.len()).filter(|&f| output.flows.group[f] == group as u32);
        flows.map(|flow| output.flows.throughput_bps[flow]).sum::<f64>() / users as f64
    });
    heavy / light
}

/// Returns the packets delivered in order times their size on the wire.
fn goodput_mbps(plan: &Plan, output: &RunOutput) -> f64 {
    let payload = 1460.0;
    assert!(plan.flows.iter().all(|flow| flow.packet_size.get() == 1500));
    output.flows.goodput_bps.iter().sum::<f64>() * (1500.0 / payload) / 1e6
}

/// Returns the smallest and largest measurement of a simulator.
fn spread(scenario: &str, metric: &str) -> Option<(f64, f64)> {
    let rows: Vec<(&str, [Option<f64>; 5])> = PEERS
        .lines()
        .filter(|line| line.starts_with(&format!("{scenario},")))
        .filter_map(|line| {
            // The simulator's name may contain commas; what follows the metric does not.
            let (simulator, figures) = line.split_once(&format!(",{metric},"))?;
            let mut figures = figures.split(',').map(|figure| figure.parse::<f64>().ok());
            Some((simulator, [(); 5].map(|()| figures.next().flatten())))
        })
        .collect();
    let sd = rows.iter().find_map(|(_, [_, _, sd, ..])| *sd)?;
    let range = |&(simulator, [mean, _, _, min, max]): &(&str, [Option<f64>; 5])| {
        if let (Some(min), Some(max)) = (min, max) {
            return Some((min, max));
        }
        // 97.5 % quantile of Student's t, 23 degrees of freedom.
        let (mut mean, half_width) = (mean?, 2.069 * sd);
        if simulator.contains("ns-3") && metric.ends_with("_mbps") {
            // Its packets have two more bytes on the wire, a PPP header.
            mean *= 1502.0 / 1500.0;
        }
        Some((mean - half_width, mean + half_width))
    };
    rows.iter().filter_map(range).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn assert_inside_the_spread(scenario: &str, metric: &str, ours: Mean) {
    let (least, largest) = spread(scenario, metric).expect("the peers have measured it");
    let (low, high) = (ours.value - ours.ci95, ours.value + ours.ci95);
    assert!(
        high >= least && low <= largest,
        "{scenario} {metric}: {low:.3} to {high:.3}, the simulators {least:.3} to {largest:.3}"
    );
}

/// Utilization and goodput are equal to theirs.
fn assert_as_much_gets_through(scenario: &str, ours: &Measured) {
    assert_inside_the_spread(scenario, "throughput_mbps", ours.throughput_mbps);
    assert_inside_the_spread(scenario, "goodput_mbps", ours.goodput_mbps);
}

#[test]
fn on_a_drop_tail_dumbbell_ten_flows_get_ten_times_as_much_as_one() {
    let ours = measure("S1", S1, &[], 24);
    assert!((ours.ratio.value - 10.0).abs() <= 0.5, "ratio {:?}", ours.ratio);
    let queue = ours.mean_queue_packets.value;
    assert!((41.0..=47.0).contains(&queue), "queue {queue}");
    let loss = ours.loss_percent.value;
    assert!((6.5..=8.0).contains(&loss), "loss {loss} %");
    assert_as_much_gets_through("S1", &ours);
}

#[test]
fn with_red_and_marks_thirty_six_flows_get_36_times_as_much_as_one() {
    let ours = measure("S2-ecn", S2, &[], 24);
    assert!((ours.ratio.value - 36.0).abs() <= 0.5, "ratio {:?}", ours.ratio);
    assert_as_much_gets_through("S2-ecn", &ours);
    assert_inside_the_spread("S2-ecn", "mean_queue_packets", ours.mean_queue_packets);
}

#[test]
fn with_red_and_drops_thirty_six_flows_get_36_times_as_much_as_one() {
    let ours = measure("S2-drop", S2, &[("tcp.ecn", "false")], 24);
    assert!((ours.ratio.value - 36.0).abs() <= 0.5, "ratio {:?}", ours.ratio);
    assert_as_much_gets_through("S2-drop", &ours);
    assert_inside_the_spread("S2-drop", "mean_queue_packets", ours.mean_queue_packets);
}

/// Overrides that switch off the rules of ns-2.
const BY_THE_RFCS: [(&str, &str); 14] = [
    ("tcp.quirks.ecn_after_timeout", "false"),
    ("tcp.quirks.ecn_backoff", "false"),
    ("tcp.quirks.ecn_on_retransmits", "false"),
    ("tcp.quirks.grow_at_end", "false"),
    ("tcp.quirks.jitter_per_burst", "false"),
    ("tcp.quirks.limited_transmit_by_count", "false"),
    ("tcp.quirks.loss_to_one", "false"),
    ("tcp.quirks.lost_in_flight", "false"),
    ("tcp.quirks.lower_at_each_timeout", "false"),
    ("tcp.quirks.lower_for_request", "false"),
    ("tcp.quirks.rtt_through_recovery", "false"),
    ("tcp.quirks.rtt_tick", "off"),
    ("tcp.quirks.scoreboard_per_recovery", "false"),
    ("tcp.quirks.whole_threshold", "false"),
];

/// Effect of each property alone, the rest by the RFCs: with drops, the spurious retransmissions in Mb/s (nearly none
/// by a sender that keeps its scoreboard and restarts its timer conservatively); with marks, the utilization if no
/// window falls below two segments.
#[test]
fn each_trait_of_a_research_tcp_shows() {
    let (keep, careful) =
        (("tcp.after_timeout", "keep-scoreboard"), ("tcp.rearm_on_retransmit", "true"));
    let spurious = |traits: &[(&str, &str)]| {
        let drops = [traits, &[("tcp.ecn", "false")], &BY_THE_RFCS].concat();
        let measured = measure("S2-drop", S2, &drops, 5);
        measured.throughput_mbps.value - measured.goodput_mbps.value
    };
    let (neither, timer, back, both) =
        (spurious(&[keep, careful]), spurious(&[keep]), spurious(&[careful]), spurious(&[]));
    println!("in vain {neither:.2}, {timer:.2}, {back:.2}, {both:.2} Mb/s");
    assert!(neither < 0.2);
    assert!((0.8..1.3).contains(&timer));
    assert!((1.1..1.7).contains(&back));
    assert!((1.9..2.5).contains(&both));
    let two = [&[("tcp.ecn_to_one", "false")][..], &BY_THE_RFCS].concat();
    let two = measure("S2-ecn", S2, &two, 5);
    assert!((99.6..99.9).contains(&two.goodput_mbps.value));
}
