//! All combinations of loss recovery, ECN, congestion control and delayed acknowledgements, with random loss of all
//! packets, SYNs and acknowledgements included.

use crate::common;

use common::plan;
use common::scenarios::exact;
use proptest::prelude::*;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

/// Returns all combinations as lines of a scenario's `[tcp]`.
fn senders() -> impl Iterator<Item = (String, bool)> {
    let recoveries = ["sack", "rack", "fack", "newreno", "reno"];
    let controls = [
        "reno", "cubic", "dctcp", "prague", "vegas", "compound", "ledbat", "bic", "htcp", "hybla",
        "westwood", "bbr", "bbr3",
    ];
    let crosses = recoveries.into_iter().flat_map(move |recovery| {
        controls.into_iter().flat_map(move |control| {
            [(false, "off"), (false, "40 ms"), (true, "off"), (true, "40 ms")]
                .map(|(ecn, delay)| (recovery, control, ecn, delay))
        })
    });
    crosses.map(|(recovery, control, ecn, delay)| {
        // Scalable senders always use ECN; for them only the link may lack it.
        let own = if ["dctcp", "prague"].contains(&control) {
            String::new()
        } else {
            format!("ecn = {ecn}\n")
        };
        let lines = format!(
            "loss_recovery = \"{recovery}\"\ncongestion_control = \"{control}\"\n{own}\
             delayed_ack = \"{delay}\"\n"
        );
        (lines, ecn)
    })
}

/// A path with random loss in both directions, and marking if senders use ECN.
#[derive(Clone, Debug)]
struct Path {
    profile: &'static str,
    mbps: u32,
    delay_ms: u32,
    loss: f64,
    seed: u64,
}

impl Path {
    fn round_trip_s(&self) -> f64 {
        // Both directions, and a full queue of 40 packets.
        2e-3 * f64::from(self.delay_ms) + 41.0 * 0.012 / f64::from(self.mbps) + 0.01
    }

    fn scenario(&self, sender: &str, ecn: bool, users: &str) -> String {
        let Path { profile, mbps, delay_ms, loss, .. } = self;
        format!(
            "version = 1\nprofile = \"{profile}\"\nwarm_up = \"0 s\"\nduration = \"300 s\"\n\
             sample_interval = \"100 ms\"\n[tcp]\n{sender}\
             [links.there]\nfrom = \"a\"\nto = \"b\"\nrate = \"{mbps} Mb/s\"\n\
             delay = \"{delay_ms} ms\"\nbuffer = \"40 packets\"\nloss = {loss}\necn = {ecn}\n\
             aqm = {{ kind = \"red\", min_threshold = \"5 packets\", max_threshold = \"20 packets\" }}\n\
             [links.back]\nfrom = \"b\"\nto = \"a\"\nrate = \"{mbps} Mb/s\"\n\
             delay = \"{delay_ms} ms\"\nbuffer = \"40 packets\"\nloss = {loss}\n\
             [users.a]\nfrom = \"a\"\nto = \"b\"\n{users}"
        )
    }
}

fn any_path() -> impl Strategy<Value = Path> {
    let profile = prop::sample::select(vec!["linux", "classic", "linux-2.6.29"]);
    (profile, 1..20u32, 1..50u32, 0.0..0.05, 0..1_000_000u64).prop_map(
        |(profile, mbps, delay_ms, loss, seed)| Path { profile, mbps, delay_ms, loss, seed },
    )
}

/// More than SYNs alone contribute to a sample.
const REQUESTS_BPS: f64 = 8.0 * 200.0 / 0.1;

/// Returns the longest time without an arrival, from the first data until the end of the transfer.
fn longest_silence_s(output: &RunOutput, done_s: f64) -> f64 {
    let series = &output.group_series;
    let samples = series.time_s.iter().zip(&series.throughput_bps);
    let (mut last, mut longest) = (None, 0.0_f64);
    for (&at, &bps) in samples.take_while(|(at, _)| **at < done_s + 0.1) {
        if bps > 0.0 || at >= done_s {
            longest = longest.max(at - last.unwrap_or(at));
            last = if bps > REQUESTS_BPS { Some(at) } else { last.map(|_| at) };
        }
    }
    longest
}

proptest! {
    #![proptest_config(exact(25))]

    /// A transfer completes, with every byte of it delivered once. No sender stalls for longer than its timer allows:
    /// the initial timeout or, with a sample, the minimum one and five round trips, doubled with each timeout.
    #[test]
    fn every_sender_gets_its_bytes_through(path in any_path(), kb in 1..200u32) {
        let users = format!("traffic = {{ kind = \"transfer\", size = \"{kb} kB\" }}\n");
        for (sender, ecn) in senders() {
            let text = path.scenario(&sender, ecn, &users);
            let plan = plan(&text);
            let output = run(&plan, path.seed);
            let (flows, took) = (&output.flows, output.transfers.completion_s[0]);
            prop_assert!(!took.is_nan(), "it has not ended: {text}");
            let got = (flows.goodput_bps[0] * 300.0 / 8.0).round() as u64;
            prop_assert_eq!(got, u64::from(kb) * 1000, "{}", text);
            prop_assert!(flows.losses[0] + flows.packets_delivered[0] == flows.packets_sent[0]);
            let rto = plan.flows[0].tcp.as_deref().expect("TCP").rto();
            let sampled_s = rto.min.as_secs() + 5.0 * path.round_trip_s() + 0.04;
            let timer_s = rto.initial.as_secs().max(sampled_s);
            let doubled = f64::from(1_u32 << flows.timeouts[0].min(30));
            let silence = longest_silence_s(&output, output.transfers.start_s[0] + took);
            prop_assert!(silence <= timer_s * doubled + 0.2, "{silence} s of silence: {text}");
        }
    }
}

/// Throughput × RTT / MSS = C / √p: C is at most 1.31 for independent losses (Mathis et al., CCR 27(3), 1997, section
/// 3), and with an ACK for every second segment, at p = 3 %, a round trip of 50 ms and an RTO of 250 ms, at least 0.64
/// by the model with timeouts (Padhye et al., SIGCOMM 1998, equation 30). One run of 300 s with at least 3,000 losses
/// for each sender.
#[test]
fn throughput_at_random_loss_lies_between_the_models() {
    let path = Path { profile: "linux", mbps: 20, delay_ms: 25, loss: 0.03, seed: 1 };
    // BBR goes by no losses, BIC keeps four fifths of windows above 14 segments, Hybla grows faster with this round trip,
    // and Westwood+ keeps what fills the path.
    let others = ["bbr", "bic", "hybla", "westwood"];
    let as_reno =
        |sender: &str| !others.iter().any(|other| sender.contains(&format!("control = \"{other}")));
    for (sender, ecn) in senders().filter(|(sender, _)| as_reno(sender)) {
        let text = path.scenario(&sender, ecn, "flows = 1\n");
        let output = run(&plan(&text), path.seed);
        let c = output.flows.goodput_bps[0] * 0.05 / (8.0 * 1448.0) * path.loss.sqrt();
        assert!((0.64..=1.31).contains(&c), "C = {c:.3}: {sender}");
    }
}

/// Returns the goodput of a flow alone over a link with random losses and a buffer of one bandwidth-delay product, bit/s.
fn alone(controller: &str, mbps: u32, delay_ms: u32, loss: f64) -> f64 {
    let buffer = (mbps * delay_ms / 6).max(20);
    let text = format!(
        "version = 1\nwarm_up = \"20 s\"\nduration = \"200 s\"\nsample_interval = \"off\"\n\
         tcp.congestion_control = \"{controller}\"\n[bottleneck]\nrate = \"{mbps} Mb/s\"\n\
         delay = \"{delay_ms} ms\"\nbuffer = \"{buffer} packets\"\nloss = {loss}\n[access]\nrate = \"10 Gb/s\"\n\
         delay = \"0 ms\"\n[users.a]\n"
    );
    run(&plan(&text), 1).flows.goodput_bps[0]
}

/// ρ² segments a round trip: W = ρ √(3/2p) with an ACK for each segment and ρ √(3/4p) for every second, so that W/RTT is
/// between √(3/4p)/25 ms and √(3/2p)/25 ms. Large windows that lose two segments are reduced once, which makes the longest
/// round trip a quarter faster. Reno's rate goes with the inverse of the round trip, a fourth.
#[test]
fn hybla_gets_the_same_rate_over_any_round_trip() {
    let loss: f64 = 2e-4;
    let law = 8.0 * 1448.0 * (0.75 / loss).sqrt() / 25e-3;
    let rates = [25, 50, 100].map(|delay_ms| alone("hybla", 100, delay_ms, loss));
    let law = 0.85 * law..1.15 * law * 2f64.sqrt();
    assert!(rates.iter().all(|rate| law.contains(rate)), "{rates:?}, not {law:?}");
    assert!(rates.iter().all(|rate| (rate / rates[0] - 1.0).abs() < 0.35), "{rates:?}");
    let reno = [25, 100].map(|delay_ms| alone("reno", 100, delay_ms, loss));
    assert!((reno[0] / reno[1] / 4.0 - 1.0).abs() < 0.2, "{reno:?}");
}

/// Reno gets 1.22 MSS/(RTT √p) = 5.6 Mb/s of 20; Westwood+ keeps a window that fills the path.
#[test]
fn westwood_keeps_its_rate_where_losses_are_random() {
    let [reno, westwood] = ["reno", "westwood"].map(|name| alone(name, 20, 40, 1e-3));
    let law = 1.22 * 8.0 * 1448.0 / (0.080 * 1e-3_f64.sqrt());
    assert!((reno / law - 1.0).abs() < 0.2, "{reno}, not {law}");
    assert!(westwood > 2.0 * reno && westwood > 13e6, "{westwood} and {reno}");
}

/// With a loss in 20,000 packets on average, Reno's window is 1.22/√p = 173 segments, of 1,667 that fill the path.
#[test]
fn htcp_and_bic_use_a_fast_long_path_better_than_reno() {
    let [reno, htcp, bic] = ["reno", "htcp", "bic"].map(|name| alone(name, 200, 50, 5e-5));
    assert!(htcp > 2.0 * reno && bic > 2.0 * reno, "{reno}, {htcp}, {bic}");
}

/// Differences of ns-2's Agent/TCP/Linux from the senders of the profile `classic`.
const NS2_LINUX: &str = "window_reduction = \"ns2-linux\"\nloss_recovery = \"fack\"\nquirks.loss_threshold = 4\n\
    timestamps = true\nquirks.rtt_on_each_ack = true\nquirks.damp_rtt_falls = true\nquirks.backoff_forgets_rtt = true\n\
    quirks.limited_transmit_by_count = false\nquirks.loss_to_one = false\nafter_timeout = \"keep-scoreboard\"\n\
    quirks.rearm_on_each_ack = true\nmax_rto = \"120 s\"\necn_to_one = false\nwindow_limit = \"65536 B\"\n";

/// Runs twenty flows with such a sender, a round trip of 100 ms, and a link that is never full. Returns the packets and
/// timeouts of a flow per second.
fn of_twenty_flows(controller: &str, ecn: bool, link: &str, seconds: u32) -> [f64; 2] {
    let text = format!(
        "version = 1\nprofile = \"classic\"\nwarm_up = \"0 s\"\nduration = \"{seconds} s\"\n\
         sample_interval = \"off\"\n[tcp]\ncongestion_control = {controller}\necn = {ecn}\n{NS2_LINUX}\
         [bottleneck]\nrate = \"1 Gb/s\"\ndelay = \"50 ms\"\nbuffer = \"833 packets\"\n{link}\n\
         [users.all]\ncount = 20\n"
    );
    let flows = run(&plan(&text), 1).flows;
    // SYNs are not ECN-capable: a drop instead of a mark costs time, and six in a row the flow.
    let begun = flows.packets_delivered.iter().filter(|packets| **packets > 0).count();
    let per_s = |all: f64| all / begun as f64 / f64::from(seconds);
    let packets: u64 = flows.packets_delivered.iter().sum();
    [per_s(packets as f64), per_s(flows.timeouts.iter().map(|n| *n as f64).sum())]
}

const CUBIC_2_1: &str = r#"{ kind = "cubic", growth = "linux-2.6.22" }"#;

/// Measurements of ns-2.35 (Agent/TCP/Linux, Agent/TCPSink/Sack1, timestamps_, ecn_ 1, packetSize_ 1460, window_ 44):
/// twenty flows over 200 s, a round trip of 100 ms, and packets marked at random before a link that is never full.
/// Packets per second and flow.
#[test]
fn the_sender_under_marks_is_ns2s_for_linux() {
    const MARKED: [f64; 5] = [0.02, 0.05, 0.1, 0.2, 0.3];
    for (controller, ns2) in [
        (CUBIC_2_1, [94.6, 58.3, 39.7, 30.1, 26.6]),
        (r#"{ kind = "compound", whole_segments = true }"#, [93.9, 59.6, 43.1, 32.8, 28.7]),
    ] {
        for (marked, want) in MARKED.into_iter().zip(ns2) {
            let link = format!(
                "ecn = true\naqm = {{ kind = \"piecewise-linear\", \
                 points = [[0, {marked}], [1000, {marked}]] }}"
            );
            let [got, _] = of_twenty_flows(controller, true, &link, 200);
            assert!((got / want - 1.0).abs() < 0.05, "{controller}, {marked}: {got:.1} for {want}");
        }
    }
}

/// The same with random losses, over 400 s, and timeouts per second and flow.
#[test]
fn the_sender_under_losses_is_ns2s_for_linux() {
    for (loss, [packets, timeouts]) in [
        (0.01, [130.0, 0.0]),
        (0.02, [88.31, 0.0]),
        (0.05, [46.10, 0.012]),
        (0.1, [23.83, 0.161]),
        (0.2, [9.97, 0.573]),
    ] {
        let got = of_twenty_flows(CUBIC_2_1, false, &format!("loss = {loss}"), 400);
        assert!((got[0] / packets - 1.0).abs() < 0.05, "{loss}: {got:.3?}");
        assert!((got[1] - timeouts).abs() < 0.02, "{loss}: {got:.3?}");
    }
}
