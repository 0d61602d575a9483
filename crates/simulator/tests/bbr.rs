//! BBR in whole runs: properties that its rules imply.

use crate::common;

use common::{link, plan_with, runs};
use tidegate_simulator::output::{PathSeries, RunOutput};
use tidegate_simulator::run;

/// One flow on a link of 10 Mb/s with a round trip of 40 ms and a buffer of 5 BDP.
const ALONE: &str = r#"
version = 1
warm_up = "5 s"
duration = "30 s"
sample_interval = "5 ms"
tcp.congestion_control = "bbr"
bottleneck = { rate = "10 Mb/s", delay = "20 ms", buffer = "250 kB" }
access = { rate = "1 Gb/s", delay = "0 ms" }
users.all = {}
"#;
const BESIDE: &str = include_str!("../../../scenarios/bbr-beside-cubic.toml");
const CONTROLS: [&str; 2] = ["bbr", "bbr3"];

fn output(options: &[(&str, &str)], seed: u64) -> RunOutput {
    run(&plan_with(ALONE, options), seed)
}

/// Consecutive samples of a state: its name, first and last time, and rows.
#[derive(Debug)]
struct Stay<'a> {
    state: &'a str,
    begin_s: f64,
    end_s: f64,
    rows: std::ops::Range<usize>,
}

fn stays(series: &PathSeries) -> Vec<Stay<'_>> {
    let mut all: Vec<Stay> = Vec::new();
    for (row, (state, &time_s)) in series.state.iter().zip(&series.time_s).enumerate() {
        match all.last_mut().filter(|stay| stay.state == state) {
            Some(stay) => (stay.end_s, stay.rows.end) = (time_s, row + 1),
            None => {
                all.push(Stay { state, begin_s: time_s, end_s: time_s, rows: row..row + 1 });
            }
        }
    }
    all
}

/// Pacing rate over 99 % of the estimated bandwidth.
fn gain(series: &PathSeries, row: usize) -> f64 {
    series.pacing_rate_bps[row] / (0.99 * series.bandwidth_bps[row])
}

/// Mean throughput of both groups over three runs, Mb/s.
fn shares_mbps(options: &[(&str, &str)]) -> [f64; 2] {
    let outputs = runs(&plan_with(BESIDE, options), 1..=3);
    [0, 1].map(|flow| {
        let all = outputs.iter().map(|output| output.flows.throughput_bps[flow]);
        1e-6 * all.sum::<f64>() / outputs.len() as f64
    })
}

#[test]
fn alone_it_fills_a_link_with_a_short_queue() {
    for control in CONTROLS {
        for (rate, buffer) in [("10 Mb/s", "250 kB"), ("100 Mb/s", "2500 kB")] {
            let own = [
                ("bottleneck.rate", rate),
                ("bottleneck.buffer", buffer),
                ("tcp.congestion_control", control),
            ];
            let output = output(&own, 1);
            let bottleneck = link(&output, "bottleneck");
            let used = output.links.utilization[bottleneck];
            let delay_s = output.links.mean_sojourn_s[bottleneck];
            let worst_s = output.links.p99_sojourn_s[bottleneck];
            println!("{control} {rate}: {used:.3}, {delay_s:.4} s, at worst {worst_s:.4} s");
            assert!(used > 0.9, "{control} at {rate}: {used}");
            // At most twice the BDP is in flight, one of which waits.
            assert!(delay_s < 0.02 && worst_s < 0.045, "{control} at {rate}: {delay_s}, {worst_s}");
        }
    }
}

/// The estimates: what the link delivers, and a round trip of 40 ms, the transmission of a segment and a delayed ACK.
#[test]
fn it_finds_bandwidth_and_round_trip_of_the_path() {
    for control in CONTROLS {
        let output = output(&[("tcp.congestion_control", control)], 1);
        let series = &output.path_series;
        let later = (0..series.time_s.len()).filter(|row| series.time_s[*row] > 5.0);
        for row in later.filter(|row| series.state[*row] != "probe-rtt") {
            let (bandwidth, min_rtt) = (1e-6 * series.bandwidth_bps[row], series.min_rtt_s[row]);
            assert!((9.5..10.5).contains(&bandwidth), "{control}: {bandwidth} Mb/s");
            assert!((0.040..0.047).contains(&min_rtt), "{control}: {min_rtt} s");
        }
    }
}

/// Startup at 2/ln 2, Drain at the inverse; ProbeBW at 5/4, 3/4, and 1 for six round trips.
#[test]
fn pacing_gains_follow_each_other() {
    let output = output(&[], 1);
    let series = &output.path_series;
    let all = stays(series);
    let states: Vec<_> = all.iter().map(|stay| stay.state).collect();
    assert_eq!(states[..4], ["startup", "drain", "probe-bw", "probe-rtt"]);
    let startup = all[0].rows.clone().filter(|row| series.bandwidth_bps[*row] > 0.0);
    let largest = startup.map(|row| gain(series, row)).fold(0.0, f64::max);
    // It is higher only with the initial rate.
    assert!(largest > 2.88, "{largest}");
    let end = gain(series, all[0].rows.end - 1);
    assert!((end - 2.885).abs() < 0.01, "{end}");
    assert!((gain(series, all[1].rows.start) - 1.0 / 2.885).abs() < 0.01);

    let probing = all.iter().rfind(|stay| stay.state == "probe-bw").expect("there is one");
    let mut gains: Vec<(f64, usize)> = Vec::new();
    for row in probing.rows.clone() {
        let gain = (100.0 * gain(series, row)).round() / 100.0;
        match gains.last_mut().filter(|(last, _)| *last == gain) {
            Some((_, samples)) => *samples += 1,
            None => gains.push((gain, 1)),
        }
    }
    let first = gains.iter().position(|(gain, _)| *gain == 1.25).expect("it probes");
    for cycle in gains[first..gains.len() - 1].chunks_exact(3) {
        let [(up, _), (down, _), (cruise, samples)] = cycle else { panic!("three") };
        assert_eq!([*up, *down, *cruise], [1.25, 0.75, 1.0], "{gains:?}");
        // Six round trips of 40 ms and their queueing delay, in samples of 5 ms.
        assert!((48..66).contains(samples), "{samples} samples: {gains:?}");
    }
    assert!(gains.len() > 20, "{gains:?}");
}

#[test]
fn every_ten_seconds_four_segments_are_in_flight_for_200_ms() {
    let output = output(&[("duration", "60 s")], 1);
    let series = &output.path_series;
    let all = stays(series);
    let probes: Vec<_> = all.iter().filter(|stay| stay.state == "probe-rtt").collect();
    assert!((5..=6).contains(&probes.len()), "{probes:?}");
    for pair in probes.windows(2) {
        let apart_s = pair[1].begin_s - pair[0].end_s;
        assert!((9.9..10.6).contains(&apart_s), "{apart_s} s");
    }
    for probe in probes {
        let length_s = probe.end_s - probe.begin_s;
        assert!((0.2..0.33).contains(&length_s), "{length_s} s");
        let few = probe.rows.clone().filter(|row| series.inflight_packets[*row] <= 4.0).count();
        assert!(few >= 39, "{few} samples of 5 ms");
        let most = probe.rows.clone().skip(20).map(|row| series.inflight_packets[row]);
        assert!(most.fold(0.0, f64::max) <= 4.0, "{probe:?}");
    }
}

/// Which gain ProbeBW begins with is drawn for each connection and seed: so many round trips pass until it probes.
#[test]
fn flows_begin_to_probe_with_gains_of_their_own() {
    let begun = |seed| {
        let output = output(&[("duration", "1 s")], seed);
        let series = &output.path_series;
        let stay = stays(series).into_iter().find(|stay| stay.state == "probe-bw");
        let rows = stay.expect("it probes").rows;
        let up = rows.clone().find(|row| gain(series, *row) > 1.2).expect("it probes for more");
        ((series.time_s[up] - series.time_s[rows.start]) / 0.042).round() as u32
    };
    let waited: Vec<_> = (1..=12).map(begun).collect();
    assert_eq!(waited, (1..=12).map(begun).collect::<Vec<_>>());
    let mut distinct = waited.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() >= 4 && distinct.iter().all(|waited| *waited <= 7), "{waited:?}");
}

/// Random losses of 1 % leave BBR most of the link, and CUBIC less than half.
#[test]
fn losses_that_are_no_congestion_do_not_slow_it_down() {
    let rate = |control| {
        let own = [("tcp.congestion_control", control), ("bottleneck.loss", "0.01")];
        1e-6 * output(&own, 1).flows.throughput_bps[0]
    };
    let (bbr, cubic) = (rate("bbr"), rate("cubic"));
    assert!(bbr > 9.0 && cubic < 5.0, "{bbr} and {cubic} Mb/s");
}

/// A token bucket of 5 Mb/s on a link of 50 Mb/s: two intervals with many losses and the same rate show the policer, and
/// the flow keeps to it for 48 round trips.
#[test]
fn it_keeps_to_the_rate_of_a_policer() {
    let policed = [
        ("bottleneck.rate", "50 Mb/s"),
        ("duration", "60 s"),
        ("bottleneck.ingress", r#"[{ kind = "policer", rate = "5 Mb/s", burst = "30 kB" }]"#),
    ];
    let output = output(&policed, 1);
    let series = &output.path_series;
    let rate = 1e-6 * output.flows.throughput_bps[0];
    let kept = (0..series.time_s.len())
        .filter(|row| series.state[*row] == "probe-bw")
        .filter(|row| (4.0e6..5.5e6).contains(&series.bandwidth_bps[*row]))
        .count();
    println!("{rate} Mb/s, at the policer's rate in {kept} of {} samples", series.time_s.len());
    assert!(rate > 4.0 && 2 * kept > series.time_s.len(), "{rate} Mb/s, {kept}");
}

/// Linux 6.12 in virtual time has 8.97 : 0.84, 8.71 : 1.12, 6.57 : 3.38 and 4.63 : 5.37 Mb/s.
#[test]
fn beside_cubic_its_share_falls_with_the_buffer_as_on_linux() {
    for (buffer, linux) in
        [("25 kB", 0.914), ("50 kB", 0.886), ("100 kB", 0.660), ("400 kB", 0.463)]
    {
        let [bbr, cubic] = shares_mbps(&[("bottleneck.buffer", buffer)]);
        let share = bbr / (bbr + cubic);
        println!("{buffer}: {share:.3}, on Linux {linux}");
        assert!((share / linux - 1.0).abs() < 0.15, "{buffer}: {share}, on Linux {linux}");
    }
}

/// The draft's states in turn, and its gains.
#[test]
fn version_3_cycles_through_down_cruise_refill_and_up() {
    let output = output(&[("tcp.congestion_control", "bbr3"), ("sample_interval", "1 ms")], 1);
    let series = &output.path_series;
    let all = stays(series);
    assert_eq!([all[0].state, all[1].state], ["startup", "drain"]);
    for state in ["probe-bw-down", "probe-bw-cruise", "probe-bw-refill", "probe-bw-up"] {
        let count = all.iter().filter(|stay| stay.state == state).count();
        assert!(count > 5, "{state}: {count}");
    }
    for stay in &all {
        let want = match stay.state {
            "drain" => 0.5,
            "probe-bw-down" => 0.9,
            "probe-bw-up" => 1.25,
            "startup" => 2.77,
            _ => 1.0,
        };
        let gain = gain(series, stay.rows.end - 1);
        assert!((gain - want).abs() < 0.02, "{stay:?}: {gain}");
    }
    let next: Vec<_> = all.windows(2).map(|pair| (pair[0].state, pair[1].state)).collect();
    for (state, then) in next {
        let allowed: &[&str] = match state {
            "startup" => &["drain", "probe-rtt"],
            // Down may end with the ACK that ends Drain.
            "drain" => &["probe-bw-down", "probe-bw-cruise", "probe-rtt"],
            "probe-bw-up" => &["probe-bw-down", "probe-rtt"],
            "probe-bw-down" => &["probe-bw-cruise", "probe-bw-refill", "probe-rtt"],
            "probe-bw-cruise" => &["probe-bw-refill", "probe-rtt"],
            "probe-bw-refill" => &["probe-bw-up", "probe-rtt"],
            _ => &["probe-bw-cruise", "startup"],
        };
        assert!(allowed.contains(&then), "{then} after {state}");
    }
}

/// Every 5 s half of the BDP is in flight for 200 ms.
#[test]
fn version_3_probes_the_round_trip_every_five_seconds() {
    let output = output(&[("tcp.congestion_control", "bbr3")], 1);
    let all = stays(&output.path_series);
    let probes: Vec<_> = all.iter().filter(|stay| stay.state == "probe-rtt").collect();
    assert!((5..=6).contains(&probes.len()), "{probes:?}");
    for pair in probes.windows(2) {
        let apart_s = pair[1].begin_s - pair[0].end_s;
        // A shorter round trip, such as the first after it, delays it.
        assert!((4.9..6.2).contains(&apart_s), "{apart_s} s");
    }
    for probe in probes {
        let length_s = probe.end_s - probe.begin_s;
        assert!((0.2..0.35).contains(&length_s), "{length_s} s");
        let bdp = 40.0 * 10e6 / 12e6;
        let last = output.path_series.inflight_packets[probe.rows.end - 2];
        assert!(last <= 0.6 * bdp, "{last} packets");
    }
}

/// Losses set bounds, so that a short buffer has far fewer losses than with version 1.
#[test]
fn version_3_loses_less_in_a_short_buffer() {
    let lost = |control| {
        let own = [
            ("tcp.congestion_control", control),
            ("users.all.flows", "2"),
            ("bottleneck.buffer", "15 kB"),
        ];
        let output = output(&own, 1);
        let flows = &output.flows;
        let (lost, sent) =
            (flows.losses.iter().sum::<u64>(), flows.packets_sent.iter().sum::<u64>());
        let used = output.links.utilization[link(&output, "bottleneck")];
        println!("{control}: {lost} of {sent}, {used:.3}");
        (lost as f64 / sent as f64, used)
    };
    let ((one, _), (three, used)) = (lost("bbr"), lost("bbr3"));
    assert!(three < 0.02 && three < one / 2.0, "{one} and {three}");
    assert!(used > 0.8, "{used}");
}
