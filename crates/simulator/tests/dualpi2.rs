//! DualPI2 in whole runs: properties from RFC 9332.

use crate::common;

use common::{link, plan_with, runs};
use tidegate_simulator::output::RunOutput;

const SCENARIO: &str = include_str!("../../../scenarios/dualpi2.toml");
/// A single RED queue, whose average of about 50 packets amounts to 15 ms.
const RED: &str =
    r#"{ kind = "red", min_threshold = "25 packets", max_threshold = "150 packets" }"#;
const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;

/// Flow of the scalable user.
const SCALABLE: usize = 0;
/// Flow of the classic user.
const CLASSIC: usize = 1;

/// Round trip without a queue, ms: forward 10 ms, 12 µs and 300 µs of transmission; back 10 ms and the ACK's 11 µs. A
/// host's jitter of up to 300 µs adds 150 µs on average.
const UNLOADED_MS: f64 = 20.0 + 0.012 + 0.3 + 0.011 + 0.15;

fn outputs(options: &[(&str, &str)]) -> Vec<RunOutput> {
    runs(&plan_with(SCENARIO, options), SEEDS)
}

fn mean(outputs: &[RunOutput], value: impl Fn(&RunOutput) -> f64) -> f64 {
    outputs.iter().map(value).sum::<f64>() / outputs.len() as f64
}

fn rate_ratio(output: &RunOutput) -> f64 {
    output.flows.throughput_bps[SCALABLE] / output.flows.throughput_bps[CLASSIC]
}

fn utilization(output: &RunOutput) -> f64 {
    output.links.utilization[link(output, "bottleneck")]
}

/// Returns quantiles of the queueing delay in a flow's smoothed round-trip time, ms.
fn queue_delays_ms(output: &RunOutput, flow: usize, quantiles: [f64; 2]) -> [f64; 2] {
    let series = &output.flow_series;
    let rows = series.flow.iter().zip(&series.time_s).zip(&series.srtt_s);
    let measured = rows.filter(|((of, time_s), _)| **of == flow as u32 && **time_s > 20.0);
    let mut delays: Vec<f64> = measured.map(|(_, srtt_s)| 1e3 * srtt_s - UNLOADED_MS).collect();
    delays.sort_unstable_by(f64::total_cmp);
    quantiles.map(|q| delays[(q * (delays.len() - 1) as f64) as usize])
}

/// Appendix C.2: a coupling factor of 2 makes windows about equal. Rates are then inversely proportional to the round
/// trips, which differ by the classic queue's delay: 36 ms against 21. In a single queue that marks and drops equally
/// (RED), the classic flow gets next to nothing.
#[test]
fn a_scalable_and_a_classic_flow_have_about_equal_windows() {
    for (scalable, classic) in
        [("prague", "reno"), ("prague", "cubic"), ("dctcp", "reno"), ("dctcp", "cubic")]
    {
        let flows = [
            ("users.scalable.tcp.congestion_control", scalable),
            ("users.classic.tcp.congestion_control", classic),
        ];
        let coupled = outputs(&flows);
        let windows = mean(&coupled, |output| {
            let windows = &output.flows.mean_cwnd_packets;
            windows[SCALABLE] / windows[CLASSIC]
        });
        let rates = mean(&coupled, rate_ratio);
        let one_queue = [("bottleneck.scheduler.kind", "fifo"), ("bottleneck.aqm", RED)];
        let together = mean(&outputs(&[&flows[..], &one_queue].concat()), rate_ratio);
        println!(
            "{scalable}, {classic}: windows {windows:.2}, rates {rates:.2}; in one {together:.1}"
        );
        assert!((0.75..1.25).contains(&windows), "{scalable}, {classic}: windows {windows}");
        let by_round_trips = rates / (36.0 / 21.0);
        assert!((0.65..1.25).contains(&by_round_trips), "{scalable}, {classic}: rates {rates}");
        assert!(together > 4.0 * rates, "{scalable}, {classic}: {together} in one queue");
    }
}

/// Linux's Prague has 1.7 times CUBIC's rate at 10 Mb/s and 80 ms. Without pacing it has half: the pairs of segments
/// released by delayed ACKs are 2.4 ms long there, and the step of 1 ms marks the second of each.
#[test]
fn pacing_keeps_prague_off_the_step_of_a_slow_link() {
    let slow = [
        ("duration", "60 s"),
        ("warm_up", "118 s"),
        ("tcp.segment_bursts", "false"),
        ("bottleneck.rate", "9.9075 Mb/s"),
        ("bottleneck.delay", "50 us"),
        ("bottleneck.buffer", "10000 packets"),
        ("bottleneck.scheduler.ramp_start", "1 ms"),
        ("bottleneck.scheduler.ramp_range", "0 ms"),
        ("access.rate", "10 Gb/s"),
        ("access.delay", "39.95 ms"),
        ("users.scalable.tcp.congestion_control", r#"{ kind = "prague", reference_rtt = "off" }"#),
        ("users.classic.tcp.congestion_control", "cubic"),
        ("users.classic.tcp.ecn", "true"),
    ];
    let paced = mean(&outputs(&slow), rate_ratio);
    assert!((1.4..2.0).contains(&paced), "paced {paced}");
    let unpaced = [&slow[..], &[("users.scalable.tcp.pacing", "false")]].concat();
    let unpaced = mean(&outputs(&unpaced), rate_ratio);
    assert!((0.4..0.8).contains(&unpaced), "not paced {unpaced}");
}

/// Linux: a Prague flow at 20 ms has about 7 times the rate of one at 80 ms, both behind the same step.
#[test]
fn prague_flows_with_unequal_round_trips_share_as_on_linux() {
    let far = [
        ("duration", "60 s"),
        ("bottleneck.rate", "50 Mb/s"),
        ("bottleneck.delay", "50 us"),
        ("bottleneck.scheduler.ramp_start", "1 ms"),
        ("bottleneck.scheduler.ramp_range", "0 ms"),
        ("access.rate", "10 Gb/s"),
        ("access.delay", "9.95 ms"),
        ("users.classic.access.delay", "39.95 ms"),
        ("users.scalable.tcp.congestion_control", r#"{ kind = "prague", reference_rtt = "off" }"#),
        ("users.classic.tcp.congestion_control", r#"{ kind = "prague", reference_rtt = "off" }"#),
    ];
    let ratio = mean(&outputs(&far), rate_ratio);
    assert!((5.0..9.0).contains(&ratio), "{ratio}");
}

/// p_L = k √p_C, as measured by both flows: the share of marks and the share of losses. The measured p_L is slightly
/// lower, since p′ varies, and its mean is less than the root of the mean of its square: by a fifth with a coefficient
/// of variation of 0.75.
#[test]
fn the_signals_of_both_queues_are_coupled_by_a_square() {
    for coupling in ["2", "4"] {
        let options = [("bottleneck.scheduler.coupling", coupling), ("duration", "200 s")];
        let outputs = outputs(&options);
        let share = |counts: fn(&RunOutput) -> &Vec<u64>, flow: usize| {
            let signals: u64 = outputs.iter().map(|output| counts(output)[flow]).sum();
            let sent: u64 = outputs.iter().map(|output| output.flows.packets_sent[flow]).sum();
            signals as f64 / sent as f64
        };
        let marked = share(|output| &output.flows.marks, SCALABLE);
        let lost = share(|output| &output.flows.losses, CLASSIC);
        let factor = marked / lost.sqrt();
        println!("k = {coupling}: {marked:.4} marked, {lost:.6} lost, factor {factor:.2}");
        let want: f64 = coupling.parse().expect("a number");
        assert!((0.75..1.02).contains(&(factor / want)), "{factor}");
    }
}

/// The link stays busy, classic packets wait for about the target of 15 ms, and scalable ones for less than a tenth of
/// it.
#[test]
fn low_delay_beside_a_queue_that_fills_the_link() {
    let options = [("sample_interval", "10 ms")];
    let outputs = outputs(&options);
    for output in &outputs {
        let low = queue_delays_ms(output, SCALABLE, [0.5, 0.95]);
        let classic = queue_delays_ms(output, CLASSIC, [0.5, 0.95]);
        println!("{low:.2?} and {classic:.2?} ms, {:.4} of the link", utilization(output));
        assert!(low[0] < 1.0 && low[1] < 1.5, "{low:?} ms");
        assert!((13.0..17.0).contains(&classic[0]) && classic[1] < 25.0, "{classic:?} ms");
        assert!(utilization(output) > 0.99);
    }
}

/// Each kind fills the link when it is alone, with its own queueing delay, transmission time included.
#[test]
fn each_queue_has_the_link_to_itself_when_the_other_is_empty() {
    for (other, utilized, delays_ms) in
        [("users.classic.start", 0.99, 0.3..1.6), ("users.scalable.start", 0.95, 8.0..17.0)]
    {
        let outputs = outputs(&[(other, "79.99 s")]);
        let row = link(&outputs[0], "bottleneck");
        let used = mean(&outputs, utilization);
        let delay_ms = mean(&outputs, |output| 1e3 * output.links.mean_sojourn_s[row]);
        let p95_ms = mean(&outputs, |output| 1e3 * output.links.p95_sojourn_s[row]);
        println!("without {other}: {used:.4}, mean {delay_ms:.2} ms, 95 % {p95_ms:.2} ms");
        assert!(used > utilized, "{used}");
        assert!(delays_ms.contains(&delay_ms), "{delay_ms} ms");
    }
}
