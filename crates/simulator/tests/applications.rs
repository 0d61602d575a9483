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

/// The load is that on the wire: 60 % of 100 Mb/s less what the last transfers still have to send. Half of the sizes of
/// a lognormal distribution are below exp(-σ²/2) of the mean.
#[test]
fn flows_of_a_distribution_have_its_sizes_and_offer_the_load() {
    let traffic = r#"{ kind = "short-flows", size = { kind = "lognormal", mean = "20 kB", sigma = 1.0 }, load = "60 %" }"#;
    let changes = [("users.heavy.traffic", traffic), ("users.light.count", "1")];
    let output = run(&plan_with(SHORT, &changes), 1);
    let sizes = &output.transfers.size_bytes;
    let mine = |row: &usize| output.transfers.group[*row] == 0;
    let mine: Vec<f64> = (0..sizes.len()).filter(mine).map(|row| sizes[row] as f64).collect();
    let mean = mine.iter().sum::<f64>() / mine.len() as f64;
    assert!((mean / 20e3 - 1.0).abs() < 0.05, "{mean} B in {} transfers", mine.len());
    let below = mine.iter().filter(|size| **size < 20e3 * libm::exp(-0.5)).count();
    let below = below as f64 / mine.len() as f64;
    assert!((below - 0.5).abs() < 0.02, "{below}");
    // A transfer of 20 kB has 14.2 packets of 1460 B on average, with headers of 40 B.
    let wire_bits = 8.0 * (mean + 40.0 * (mean / 1460.0 + 0.5)) * mine.len() as f64 / 60.0;
    assert!((wire_bits / 60e6 - 1.0).abs() < 0.05, "{wire_bits} bit/s");
}

/// Two flows take the times of a file in turn, and each counts them from its own start.
#[test]
fn transfers_begin_at_the_times_of_a_file() {
    let traffic = "{ kind = \"short-flows\", size = \"1 kB\", \
                   arrivals = \"time_s\\n0.5\\n0.75\\n0.75\\n2\\n70\\n\" }";
    let keys = [("users.heavy.traffic", traffic), ("users.heavy.count", "2")];
    let output =
        run(&plan_with(SHORT, &[&keys[..], &[("users.heavy.start", "\"1 s\"")]].concat()), 1);
    let table = &output.transfers;
    let mine = (0..table.flow.len()).filter(|row| table.group[*row] == 0);
    let mut mine: Vec<_> = mine.map(|row| (table.flow[row], table.start_s[row])).collect();
    mine.sort_by(|one, next| one.1.total_cmp(&next.1).then(one.0.cmp(&next.0)));
    assert_eq!(mine, [(0, 1.5), (0, 1.75), (1, 1.75), (1, 3.0)]);
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

const BLOCKS: &str = r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "10 s"
host_jitter = "off"
tcp = { initial_window = 10 }
[bottleneck]
rate = "100 Mb/s"
delay = "40 ms"
buffer = "1000 packets"
[access]
rate = "1 Gb/s"
delay = "5 ms"
[users.servers]
count = 3
start = "0 s"
traffic = { kind = "transfer", size = "14600 B", every = "1 s", barrier = true }
"#;

/// One server starts late in the first block: all begin the second block together, as late as a block takes, and each
/// later one a second after the block before.
#[test]
fn blocks_begin_when_all_flows_have_finished_the_one_before() {
    let late = [("users.servers.start", r#"{ from = "0 s", to = "1.5 s" }"#)];
    let output = run(&plan_with(BLOCKS, &late), 1);
    let table = &output.transfers;
    let of_flow = |flow: u32| -> Vec<(f64, f64)> {
        let mine = (0..table.flow.len()).filter(|row| table.flow[*row] == flow);
        let mut mine: Vec<_> =
            mine.map(|row| (table.start_s[row], table.completion_s[row])).collect();
        mine.sort_by(|one, next| one.0.total_cmp(&next.0));
        mine
    };
    let flows = [0, 1, 2].map(of_flow);
    let (mut sum, mut longest, blocks) = (0.0, 0f64, flows[0].len());
    for block in 0..blocks {
        let begin = flows.iter().map(|flow| flow[block].0).fold(f64::INFINITY, f64::min);
        let end = flows.iter().map(|flow| flow[block].0 + flow[block].1).fold(0.0, f64::max);
        if block > 0 {
            assert!(flows.iter().all(|flow| flow[block].0.to_bits() == begin.to_bits()), "{block}");
        }
        if block + 1 < blocks {
            let want = (begin + 1.0).max(end);
            assert!((flows[0][block + 1].0 - want).abs() < 1e-6, "{block}: not {want}");
        }
        (sum, longest) = (sum + end - begin, longest.max(end - begin));
    }
    for (what, want) in
        [("blocks", blocks as f64), ("block_s", sum / blocks as f64), ("longest_block_s", longest)]
    {
        let got = reported(&output, 0, what);
        assert_eq!(got.len(), 3);
        assert!(got.iter().all(|got| (got - want).abs() < 1e-6), "{what}: {got:?}, not {want}");
    }
}

/// The first block, in which one server starts late, is one of the warm-up.
#[test]
fn blocks_of_the_warm_up_do_not_count() {
    let late = ("users.servers.start", r#"{ from = "0 s", to = "1.5 s" }"#);
    let whole = run(&plan_with(BLOCKS, &[late]), 1);
    let measured = run(&plan_with(BLOCKS, &[late, ("warm_up", "\"3 s\"")]), 1);
    let of = |output: &RunOutput, what| reported(output, 0, what)[0];
    assert!(of(&whole, "longest_block_s") > 0.5);
    assert!(of(&measured, "longest_block_s") < 0.5);
    let table = &measured.transfers;
    let ends = (0..table.flow.len()).filter(|row| table.flow[*row] == 0);
    let ends = ends.map(|row| table.start_s[row] + table.completion_s[row]);
    assert_eq!(of(&measured, "blocks"), ends.filter(|end| *end > 3.0).count() as f64);
}

/// Without a pause there is one block.
#[test]
fn a_single_block_ends() {
    let once = [
        ("users.servers.traffic", r#"{ kind = "transfer", size = "1 MB", barrier = true }"#),
        ("duration", "\"2 s\""),
    ];
    let output = run(&plan_with(BLOCKS, &once), 1);
    assert_eq!(output.transfers.flow.len(), 3);
    let longest = output.transfers.completion_s.iter().fold(0.0, |a: f64, b| a.max(*b));
    let got = reported(&output, 0, "block_s");
    assert!(got.iter().all(|got| (got - longest).abs() < 1e-6), "{got:?}, not {longest}");
}

const PACKETS: &str = r#"
version = 1
warm_up = "5 s"
duration = "400 s"
host_jitter = "off"
sample_interval = "off"
packet_size = "9000 B"
[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "10 MB"
[access]
rate = "10 Gb/s"
buffer = "10 MB"
[users.source]
traffic = "greedy"
"#;

fn packets(traffic: &str) -> RunOutput {
    run(&plan_with(PACKETS, &[("users.source.traffic", traffic)]), 1)
}

/// The wait of an M/G/1 queue, S the time of a packet: ρ S (1 + c²)/(2 (1 − ρ)), with c = 0 for packets of one size and 1
/// for exponentially distributed sizes.
#[test]
fn packets_of_a_poisson_process_wait_as_in_an_m_g_1_queue() {
    for (sizes, squared) in [("fixed", 0.0), ("exponential", 1.0)] {
        let traffic =
            format!(r#"{{ kind = "udp", rate = "7 Mb/s", size = "500 B", sizes = "{sizes}" }}"#);
        let output = packets(&traffic);
        let want = 0.7 * 400e-6 * (1.0 + squared) / (2.0 * 0.3);
        let wait = output.delays.mean_queueing_delay_s[0];
        assert!((wait / want - 1.0).abs() < 0.05, "{sizes}: {wait} s, not {want} s");
        let rate = output.flows.throughput_bps[0];
        assert!((rate / 7e6 - 1.0).abs() < 0.01, "{sizes}: {rate} bit/s");
    }
}

/// Half of the time on: half of the rate, whatever the distributions of the times. With a thousand turns, the mean of a
/// lognormal distribution with σ = 1 is known to 4 %.
#[test]
fn a_source_with_turns_sends_its_share_of_the_time() {
    for times in [
        r#"on_times = "fixed", off_times = "uniform""#,
        r#"on_times = { kind = "lognormal", sigma = 1.0 }, off_times = { kind = "weibull", shape = 2.0 }"#,
        r#"intervals = "fixed", sizes = { kind = "gumbel", scale = 0.2 }"#,
    ] {
        let traffic = format!(
            r#"{{ kind = "udp", rate = "4 Mb/s", size = "500 B", on = "200 ms", off = "200 ms", {times} }}"#
        );
        let rate = packets(&traffic).flows.throughput_bps[0];
        assert!((rate / 2e6 - 1.0).abs() < 0.1, "{times}: {rate} bit/s");
    }
}

/// Rates of codecs with headers; of a player's and a game server's packets; of a video call. Silence leaves 1.004 of
/// 2.591 s.
#[test]
fn calls_and_games_have_the_rates_of_their_sources() {
    for (traffic, want, within) in [
        (r#""voip""#, 80e3, 0.001),
        (r#"{ kind = "voip", codec = "g729" }"#, 24e3, 0.001),
        (r#"{ kind = "voip", codec = "opus" }"#, 36e3, 0.001),
        (r#"{ kind = "voip", silence = "suppressed" }"#, 80e3 * 1.004 / 2.591, 0.2),
        (r#""gaming""#, 8.0 * (120.0 + 0.5772 * 36.0 + 28.0) / 58.463e-3, 0.01),
        (
            r#"{ kind = "gaming", side = "player" }"#,
            8.0 * (45.0 + 0.5772 * 5.7 + 28.0) / 40e-3,
            0.01,
        ),
        (r#"{ kind = "video-call", rate = "1 Mb/s" }"#, 1e6, 0.05),
    ] {
        let output = packets(traffic);
        let rate = output.flows.throughput_bps[0];
        assert!((rate / want - 1.0).abs() < within, "{traffic}: {rate} bit/s, not {want}");
        let mos = output.delays.mos[0];
        let want = match traffic {
            text if text.contains("g729") => 4.11,
            text if text.contains("voip") && !text.contains("opus") => 4.41,
            _ => f64::NAN,
        };
        assert!(
            mos.is_nan() == want.is_nan() && (mos.is_nan() || (mos - want).abs() < 0.02),
            "{mos}"
        );
    }
}

/// Frames larger than a packet are sent in several, back to back; the flow ends when it should.
#[test]
fn large_frames_are_cut_into_packets() {
    let traffic =
        r#"{ kind = "udp", rate = "8 Mb/s", size = "20 kB", intervals = "fixed", lasts = "1 s" }"#;
    let plan = plan_with(
        PACKETS,
        &[("users.source.traffic", traffic), ("packet_size", "\"1500 B\""), ("warm_up", "\"0 s\"")],
    );
    let output = run(&plan, 1);
    // 50 times 13 packets of 1500 B and one of 500 B.
    assert_eq!(output.flows.packets_sent[0], 50 * 14);
    assert_eq!(output.flows.throughput_bps[0] * 400.0 / 8.0, 50.0 * 20e3);
}

const RAMP: &str = r#"
version = 1
warm_up = "0 s"
duration = "10 s"
host_jitter = "off"
sample_interval = "100 ms"
[bottleneck]
rate = "10 Mb/s"
delay = "10 ms"
buffer = "50 packets"
[users.many]
flows = 4
traffic = { kind = "transfer", size = "100 MB" }
start = { from = "1 s", to = "5 s", spread = "even" }
[users.stops]
stop = "3 s"
start = "0 s"
[users.calls]
flows = 2
traffic = { kind = "udp", rate = "100 kb/s", size = "250 B", intervals = "fixed" }
start = "0 s"
stop = { from = "4 s", to = "8 s", spread = "even" }
"#;

/// Flows start at equal distances, in their order. A flow that has stopped sends nothing once what was under way has
/// arrived, and a transfer that was cut stays unfinished.
#[test]
fn groups_start_and_stop_by_a_ramp() {
    let output = run(&plan_with(RAMP, &[("drain_limit", "\"0 s\"")]), 1);
    let starts: Vec<_> = output.transfers.start_s.clone();
    assert_eq!(starts, [1.0, 2.0, 3.0, 4.0]);
    let rates = |group: u32, from_s: f64, to_s: f64| -> Vec<f64> {
        let series = &output.group_series;
        let rows = (0..series.time_s.len())
            .filter(|row| series.group[*row] == group)
            .filter(|row| (from_s..to_s).contains(&(series.time_s[*row] - 1e-6)));
        rows.map(|row| series.throughput_bps[row]).collect()
    };
    assert!(rates(1, 0.5, 0.9).iter().all(|rate| *rate > 5e6), "it has the link alone");
    assert!(rates(1, 3.3, 10.0).iter().all(|rate| *rate == 0.0), "it has stopped");
    for (from_s, to_s, want) in [(1.0, 3.9, 200e3), (4.3, 5.9, 100e3), (6.3, 10.0, 0.0)] {
        let got = rates(2, from_s, to_s);
        let mean = got.iter().sum::<f64>() / got.len() as f64;
        assert!((mean - want).abs() <= 0.04 * want, "{from_s} s: {mean} bit/s, not {want}");
    }
    let cut = [("users.many.stop", "\"6 s\""), ("drain_limit", "\"60 s\"")];
    let output = run(&plan_with(RAMP, &cut), 1);
    assert!(output.transfers.completion_s.iter().all(|took| took.is_nan()));
    assert!(output.simulated_s < 11.0, "nothing is waited for: {} s", output.simulated_s);
}
