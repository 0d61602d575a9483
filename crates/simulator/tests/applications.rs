//! Tests of applications by what arrives at the receiver.

use crate::common;

use common::{link, plan_with};
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const ON_OFF: &str = r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "40 s"
sample_interval = "500 ms"
[bottleneck]
rate = "10 Mb/s"
delay = "1 ms"
buffer = "20 packets"
[users.one]
start = "0 s"
traffic = { kind = "on-off", on = "1 s", off = "3 s", distribution = "fixed", rate = "6 Mb/s" }
"#;

/// 500 packets of 12,000 bits in each on period of a second, ten times.
#[test]
fn a_rate_that_goes_on_and_off_is_sent_for_its_share_of_the_time() {
    let output = run(&plan_with(ON_OFF, &[]), 1);
    assert_eq!(output.flows.packets_delivered[0], 5_000);
    for (half_second, &bps) in output.group_series.throughput_bps.iter().enumerate() {
        // Except for the two or three packets in transit at the ends.
        let want = if half_second % 8 < 2 { 6e6 } else { 0.0 };
        assert!((bps - want).abs() < 0.1e6, "in half second {half_second}: {bps}");
    }
}

/// TCP and UDP flows of ten seconds send for ten seconds; TCP discards unsent data.
#[test]
fn what_lasts_ten_seconds_sends_for_as_long() {
    for traffic in [
        r#"{ kind = "cbr", rate = "6 Mb/s", lasts = "10 s" }"#,
        r#"{ kind = "greedy", lasts = "10 s" }"#,
    ] {
        let output = run(&plan_with(ON_OFF, &[("users.one.traffic", traffic)]), 1);
        let series = &output.group_series.throughput_bps;
        assert!(series[4..20].iter().all(|&bps| bps > 5e6), "{traffic}: {series:?}");
        // A queue of 20 packets is empty after 24 ms.
        assert!(series[21..].iter().all(|&bps| bps == 0.0), "{traffic}: {series:?}");
    }
}

/// The link is filled for a second ten times, and the queue of up to 40 packets drains afterwards.
#[test]
fn tcp_that_goes_on_and_off_takes_the_link_while_it_is_on() {
    let traffic = r#"{ kind = "on-off", on = "1 s", off = "3 s", distribution = "fixed" }"#;
    let overrides = [
        ("users.one.traffic", traffic),
        ("bottleneck.buffer", "\"60 packets\""),
        ("tcp.window_limit", "\"60 kB\""),
    ];
    let output = run(&plan_with(ON_OFF, &overrides), 1);
    let used = output.links.utilization[link(&output, "bottleneck")];
    assert!((0.24..0.265).contains(&used), "{used}");
    assert_eq!((output.flows.timeouts[0], output.flows.retransmits[0]), (0, 0));
    let series = &output.group_series.throughput_bps;
    let silent = series.iter().enumerate().filter(|(i, bps)| i % 8 > 2 && **bps > 0.0).count();
    assert_eq!(silent, 0, "nothing is left half a second after it went off");
}

/// A thousand on and off periods: on for 3 of 4 seconds, with a standard deviation of 1.1 percentage points.
#[test]
fn exponential_times_have_the_means_that_were_asked_for() {
    let traffic = r#"{ kind = "on-off", on = "30 ms", off = "10 ms", rate = "4 Mb/s" }"#;
    let plan = plan_with(ON_OFF, &[("users.one.traffic", traffic)]);
    let share = run(&plan, 1).flows.throughput_bps[0] / 4e6;
    assert!((share - 0.75).abs() < 0.045, "{share}");
    assert_ne!(run(&plan, 2).flows.throughput_bps[0] / 4e6, share);
}

/// Returns a metric of the applications of a group, one value per flow.
fn reported(output: &RunOutput, group: u32, what: &str) -> Vec<f64> {
    let table = &output.applications;
    let rows =
        (0..table.amount.len()).filter(|&row| table.group[row] == group && table.what[row] == what);
    rows.map(|row| table.amount[row]).collect()
}

const SHORT: &str = r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "60 s"
host_jitter = "off"
tcp = { initial_window = 2 }
[bottleneck]
rate = "100 Mb/s"
delay = "40 ms"
buffer = "100 packets"
[access]
rate = "1 Gb/s"
delay = "5 ms"
[receiver_access]
rate = "1 Gb/s"
delay = "5 ms"
[users.heavy]
count = 10
start = "0 s"
traffic = { kind = "short-flows", size = "14600 B", every = "6 ms", share = 0.08 }
[users.light]
count = 90
start = "0 s"
traffic = { kind = "short-flows", size = "14600 B", every = "6 ms", share = 0.00222 }
"#;

/// Ten packets from an initial window of two: 2, 4 and 4 in three round trips after the SYN's. Heavy users start 80 %
/// of 10,000 transfers in a minute, with a standard deviation of 1 %.
#[test]
fn short_flows_begin_as_often_as_they_should_and_take_four_round_trips() {
    let output = run(&plan_with(SHORT, &[]), 1);
    let (heavy, light): (f64, f64) =
        (reported(&output, 0, "begun").iter().sum(), reported(&output, 1, "begun").iter().sum());
    assert!((heavy + light - 10_000.0).abs() < 400.0, "{heavy} and {light}");
    assert!((heavy / (heavy + light) - 0.8).abs() < 0.02);
    for (took, set_up) in output.transfers.completion_s.iter().zip(&output.transfers.set_up_s) {
        assert!(took.is_nan() || (0.400..0.440).contains(took), "{took} s");
        assert!(took.is_nan() || (0.100..0.110).contains(set_up), "{set_up} s of {took} s");
    }
    let mean = reported(&output, 0, "completion_s");
    assert!(mean.iter().all(|took| (0.400..0.410).contains(took)), "{mean:?}");
    assert_eq!(output.transfers.flow.len() as f64, heavy + light);
}

/// A tenth of the rate cannot carry them: the number of open transfers grows, and arrivals continue.
#[test]
fn short_flows_begin_whether_or_not_others_have_ended() {
    let slow = [("bottleneck.rate", "\"10 Mb/s\""), ("users.heavy.traffic.listed", "false")];
    let output = run(&plan_with(SHORT, &slow), 1);
    let sum = |what| reported(&output, 0, what).iter().sum::<f64>();
    let (begun, finished) = (sum("begun"), sum("finished"));
    assert!((begun - 8_000.0).abs() < 400.0, "{begun}");
    assert!(finished < 0.7 * begun, "{finished} of {begun}");
    assert!(output.transfers.group.iter().all(|group| *group == 1), "heavy ones are not listed");
}

const PAGES: &str = r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "400 s"
host_jitter = "off"
[tcp]
initial_window = 2
[bottleneck]
rate = "100 Mb/s"
delay = "40 ms"
buffer = "1000 packets"
duplex = true
[access]
rate = "1 Gb/s"
delay = "5 ms"
[receiver_access]
rate = "1 Gb/s"
delay = "5 ms"
[users.readers]
count = 20
start = "0 s"
traffic = { kind = "pages", size = "1000 B", smallest = "999 B", largest = "1001 B", off = "2 s" }
"#;

/// Objects of a segment take two round trips of 100 ms each: handshake, and request with response. In sequence a page
/// of n takes 200 n ms; in parallel 200 ms, and 400 ms if it has embedded objects. With a mean of 6.55 objects, one
/// page in 6.55 has none.
#[test]
fn pages_take_two_round_trips_for_each_object_in_turn_and_twice_as_much_at_once() {
    for (within, mean_s, objects) in [("in-turn", 1.31, 6.55), ("at-once", 0.3695, 6.55)] {
        let within = format!("\"{within}\"");
        let output = run(&plan_with(PAGES, &[("users.readers.traffic.within", &within)]), 1);
        let sum = |what| reported(&output, 0, what).iter().sum::<f64>();
        let (pages, each) = (sum("pages"), sum("objects") / sum("pages"));
        assert!((each / objects - 1.0).abs() < 0.05, "{within}: {each} objects");
        let took = sum("waited_s") / pages;
        assert!((took / mean_s - 1.0).abs() < 0.05, "{within}: {took} s");
        assert!((sum("bytes") / sum("objects") - 1_000.0).abs() < 1.0);
        // 20 readers, each with a page of this duration and 2 s between pages.
        let want = 20.0 * 400.0 / (mean_s + 2.0);
        assert!((pages / want - 1.0).abs() < 0.05, "{within}: {pages} pages");
        let finished = output.transfers.completion_s.iter().filter(|took| !took.is_nan()).count();
        assert_eq!(finished as f64, pages);
    }
}

/// One of 25 equal flows has 0.4 Mb/s, 0.355 of the video's rate: 1.8 s of video take 5.1 s to arrive.
#[test]
fn videos_stall_beside_greedy_flows_and_not_without() {
    let text = include_str!("../../../scenarios/video.toml");
    let output = run(&plan_with(text, &[]), 1);
    let (stalls, mean_s, liked) = (
        reported(&output, 1, "stalls"),
        reported(&output, 1, "mean_stall_s"),
        reported(&output, 1, "qoe"),
    );
    assert!(stalls.iter().all(|stalls| (4.0..25.0).contains(stalls)));
    assert!(mean_s.iter().all(|mean_s| (2.0..9.0).contains(mean_s)));
    assert!(liked.iter().all(|liked| *liked < 1.6));
    let alone = run(
        &plan_with(
            text,
            &[
                ("users.heavy.flows", "1"),
                ("users.heavy.traffic", r#"{ kind = "cbr", rate = "1 Mb/s" }"#),
            ],
        ),
        1,
    );
    assert_eq!(reported(&alone, 1, "stalls"), [0.0; 5]);
    assert_eq!(reported(&alone, 1, "played_s"), [60.0; 5]);
    assert_eq!(reported(&alone, 1, "qoe"), [5.0; 5]);
    let startup = reported(&alone, 1, "startup_s");
    assert!(startup.iter().all(|startup| (0.2..10.0).contains(startup)), "{startup:?}");
}

/// A player that opens the connection waits for its handshake before it can send the request, 81 ms including the
/// request's transmission; with a server that opens the connection it waits 40 ms less. The rest is equal.
#[test]
fn a_player_that_requests_waits_one_one_way_delay_longer() {
    let text = include_str!("../../../scenarios/video.toml");
    let startup = |request: &str| {
        let traffic =
            format!("{{ kind = \"video\", rate = \"1128 kb/s\", length = \"10 s\"{request} }}");
        let settings = [
            ("host_jitter", "off"),
            ("users.heavy.traffic", r#"{ kind = "cbr", rate = "1 kb/s" }"#),
            ("users.heavy.flows", "1"),
            ("users.light.count", "1"),
            ("users.light.traffic", traffic.as_str()),
        ];
        reported(&run(&plan_with(text, &settings), 1), 1, "startup_s")[0]
    };
    let longer = startup(", request = \"400 B\"") - startup("");
    assert!((0.039..0.043).contains(&longer), "{longer} s");
}
