//! Tests of videos over RTP, calls and admission control, by their metrics.

use crate::common;

use common::plan_with;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

/// Returns a metric of the applications of a group, one value per flow.
fn reported(output: &RunOutput, what: &str) -> Vec<f64> {
    let table = &output.applications;
    let rows = (0..table.amount.len()).filter(|&row| table.what[row] == what);
    rows.map(|row| table.amount[row]).collect()
}

/// Returns a metric of the only flow.
fn one(output: &RunOutput, what: &str) -> f64 {
    let all = reported(output, what);
    assert_eq!(all.len(), 1, "{what}: {all:?}");
    all[0]
}

/// Calls of 200 kb/s that hold for 10 s, 20 at once on average, over a link that carries fifty.
const CALLS: &str = r#"
version = 1
warm_up = "60 s"
duration = "2000 s"
sample_interval = "off"
[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "1000 packets"
[users.site]
start = "0 s"
traffic = { kind = "calls", rate = "200 kb/s", every = "500 ms", holding = "10 s" }
"#;

/// Arrivals are a Poisson process, and the number of calls in progress is Poisson distributed, for any distribution of
/// holding times: mean and variance are 20. In 2,000 s, or 200 independent samples, the standard deviation of the mean
/// is 0.32 to 0.45 and that of the variance 2 to 3; the tolerance is 4 times that.
#[test]
fn calls_without_control_are_poisson() {
    for distribution in ["fixed", "exponential"] {
        let distribution = format!("\"{distribution}\"");
        let plan = plan_with(CALLS, &[("users.site.traffic.distribution", &distribution)]);
        let output = run(&plan, 1);
        assert!((one(&output, "calls") - 20.0).abs() < 1.8, "{}", one(&output, "calls"));
        let variance = one(&output, "calls_variance");
        assert!((variance - 20.0).abs() < 12.0, "{variance}");
        assert_eq!(one(&output, "blocked"), 0.0);
        // A call sends 200 kb/s, apart from the scenes drawn for its video.
        let per_call = output.flows.throughput_bps[0] / one(&output, "calls");
        assert!((per_call / 200e3 - 1.0).abs() < 0.04, "{per_call}");
    }
}

/// Erlang's B formula for 20 Erlang and 20 servers: 0.1589. With 4,000 calls the standard error is about 0.013, since
/// blocking is correlated; the tolerance is 4 times that.
#[test]
fn a_counter_blocks_as_erlang_says_whatever_the_distribution_of_times() {
    for distribution in ["fixed", "exponential"] {
        let distribution = format!("\"{distribution}\"");
        let overrides = [
            ("users.site.traffic.distribution", &*distribution),
            ("users.site.traffic.admission", "{ kind = \"counter\", limit = 20 }"),
        ];
        let output = run(&plan_with(CALLS, &overrides), 1);
        let blocking = one(&output, "blocking");
        assert!((blocking - 0.1589).abs() < 0.052, "{blocking}");
        assert_eq!(one(&output, "most_calls"), 20.0);
    }
}

/// If every packet is marked with probability p, n probes admit a share (1 - p)^n of the calls. 4,000 calls: a standard
/// deviation of 0.008.
#[test]
fn probes_are_marked_as_all_packets_are() {
    for (probes, probability) in [(1, 0.1), (5, 0.1), (10, 0.05)] {
        let egress = format!("[{{ kind = \"random-marker\", probability = {probability} }}]");
        let admission = format!("{{ kind = \"probing\", probes = {probes} }}");
        let overrides =
            [("bottleneck.egress", &*egress), ("users.site.traffic.admission", &*admission)];
        let output = run(&plan_with(CALLS, &overrides), 1);
        let want = 1.0 - libm::pow(1.0 - probability, f64::from(probes));
        let blocking = one(&output, "blocking");
        assert!((blocking - want).abs() < 0.035, "{probes} probes, {probability}: {blocking}");
        // Probes are 40 ms apart, and the last answer arrives a round trip after the last probe.
        let waited = one(&output, "set_up_s");
        assert!((waited - 0.04 * f64::from(probes - 1)).abs() < 0.03, "{waited} s");
        assert!(one(&output, "probes") <= one(&output, "offered") * f64::from(probes));
    }
}

/// A stream on an uncongested link, on which a packet is marked with probability 0.1.
const ADAPTS: &str = r#"
version = 1
warm_up = "400 s"
duration = "400 s"
sample_interval = "off"
[bottleneck]
rate = "100 Mb/s"
delay = "20 ms"
buffer = "1000 packets"
egress = [{ kind = "random-marker", probability = 0.1 }]
[users.one]
start = "0 s"
[users.one.traffic]
kind = "frames"
rate = "600 kb/s"
[users.one.traffic.adaptation]
kind = "price"
better = [{ rate = "1.2 Mb/s" }, { rate = "2.4 Mb/s" }]
willingness = "160 kb/s"
"#;

/// By (7.3.1) the target rate settles at w/p, which is 1.6 Mb/s: between two qualities, so that the lower is kept.
#[test]
fn a_target_rate_settles_where_price_times_rate_is_what_one_pays() {
    let output = run(&plan_with(ADAPTS, &[]), 1);
    let target = one(&output, "target_rate_bps");
    assert!((target / 1.6e6 - 1.0).abs() < 0.05, "{target}");
    assert_eq!((one(&output, "quality"), one(&output, "quality_changes")), (1.0, 0.0));
    let bps = output.flows.throughput_bps[0];
    assert!((bps / 1.2e6 - 1.0).abs() < 0.15, "{bps}");
}

/// The distance decays by a factor e in 1/(κ T p) updates: with 0.1 and 0.005 that is 2,000 frames, 80 s. Over those, a
/// target rate that starts at 0.6 Mb/s has a mean of 1.6 - 1.0 (1 - 1/e).
#[test]
fn a_target_rate_settles_with_the_time_constant_of_its_law() {
    let first = [("warm_up", "\"0 s\""), ("duration", "\"80 s\"")];
    let target = one(&run(&plan_with(ADAPTS, &first), 1), "target_rate_bps");
    let want = 1.6e6 - 1.0e6 * (1.0 - libm::exp(-1.0));
    assert!((target / want - 1.0).abs() < 0.05, "{target} for {want}");
}

/// With an update per packet, of which this video has two a frame, in half of the time.
#[test]
fn a_step_a_packet_settles_as_much_sooner_as_a_frame_has_packets() {
    let first = [
        ("warm_up", "\"0 s\""),
        ("duration", "\"40 s\""),
        ("users.one.traffic.frames", "\"1000\""),
        ("users.one.traffic.adaptation.increase_above", "10.0"),
        ("users.one.traffic.adaptation.updates", "\"each-packet\""),
    ];
    let target = one(&run(&plan_with(ADAPTS, &first), 1), "target_rate_bps");
    let want = 1.6e6 - 1.0e6 * (1.0 - libm::exp(-1.0));
    assert!((target / want - 1.0).abs() < 0.05, "{target} for {want}");
}

/// With w = 40 kb/s the target is 0.4 Mb/s, below the worst quality. A stream that may stop does so; otherwise it sends
/// the worst quality.
#[test]
fn a_stream_that_may_stops_below_its_worst_quality() {
    let poor = ("users.one.traffic.adaptation.willingness", "\"40 kb/s\"");
    let kept = run(&plan_with(ADAPTS, &[poor]), 1);
    assert_eq!(one(&kept, "stopped_s"), 0.0);
    let stops = [poor, ("users.one.traffic.adaptation.interrupts", "true")];
    let stopped = run(&plan_with(ADAPTS, &stops), 1);
    assert!(one(&stopped, "stopped_s") > 100.0, "{}", one(&stopped, "stopped_s"));
    assert!(stopped.flows.throughput_bps[0] < 0.7 * kept.flows.throughput_bps[0]);
}

/// If the target is always above the threshold of a better quality, the random rule takes it with probability one half,
/// once: of forty streams about half.
#[test]
fn the_random_rule_leaves_half_of_the_streams_where_they_are() {
    let random = [
        ("users.one.count", "40"),
        ("users.one.traffic.adaptation.increase", "\"random\""),
        ("bottleneck.rate", "\"1 Gb/s\""),
    ];
    let output = run(&plan_with(ADAPTS, &random), 1);
    let better = reported(&output, "quality").iter().filter(|quality| **quality == 1.0).count();
    // Binomial, 40 times a half: fewer than 6 or more than 34 once in 10^6.
    assert!((6..=34).contains(&better), "{better}");
}

/// Five frames in a loop on a fast link: in 10 s each is sent fifty times.
#[test]
fn fragmented_frames_are_conserved_to_the_byte() {
    let video = r#"
version = 1
warm_up = "1 s"
duration = "10 s"
sample_interval = "off"
[bottleneck]
rate = "10 Gb/s"
delay = "5 ms"
buffer = "10000 packets"
[users.one]
start = "0 s"
traffic = { kind = "frames", frames = "1\n1460\n1461\n65495\n0" }
"#;
    let output = run(&plan_with(video, &[]), 1);
    let wire = [1 + 40, 1460 + 40, 1461 + 2 * 40, 65_495 + 45 * 40].iter().sum::<u64>();
    let bytes = output.flows.throughput_bps[0] * 10.0 / 8.0;
    assert_eq!(bytes as u64, 50 * wire);
    assert_eq!(output.flows.losses[0], 0);
}

/// Events of 400 s of calls, and of 400 s after thousands of calls have ended: the same number per packet.
#[test]
fn a_call_that_ends_leaves_no_event_behind() {
    let admissions = [
        "\"none\"",
        "{ kind = \"probing\", probes = 3 }",
        "{ kind = \"non-probing\", threshold = 0.5 }",
    ];
    for admission in admissions {
        let events_a_packet = |seconds: u32| {
            let duration = format!("\"{seconds} s\"");
            let overrides = [
                ("warm_up", "\"0 s\""),
                ("duration", &*duration),
                ("users.site.traffic.admission", admission),
                ("users.site.traffic.holding", "\"1 s\""),
                ("users.site.traffic.every", "\"100 ms\""),
            ];
            let output = run(&plan_with(CALLS, &overrides), 1);
            output.events as f64 / output.hops as f64
        };
        let (early, late) = (events_a_packet(200), events_a_packet(2000));
        assert!((late / early - 1.0).abs() < 0.02, "{admission}: {early}, then {late}");
    }
}

/// A gateway that blocks every request: with few sources, most are in a call, and new calls pass as part of it; with
/// many, none does.
#[test]
fn a_gateway_detects_a_new_call_by_the_silence_before_it() {
    let with = |sources: u32, silence: &str| {
        let gateway =
            format!("{{ kind = \"gateway\", sources = {sources}, silence = \"{silence}\" }}");
        let admission = format!("{{ kind = \"non-probing\", threshold = 0.1, at = {gateway} }}");
        let overrides = [
            ("bottleneck.egress", "[{ kind = \"random-marker\", probability = 0.5 }]"),
            ("users.site.traffic.admission", &*admission),
        ];
        let output = run(&plan_with(CALLS, &overrides), 1);
        (one(&output, "passed_unasked"), one(&output, "blocked"), one(&output, "offered"))
    };
    let (passed, blocked, offered) = with(1, "1 min");
    assert!(blocked <= 1.0 && passed >= offered - 1.0, "{passed} passed, {blocked} of {offered}");
    let (passed, blocked, offered) = with(100_000, "1 s");
    assert!(passed <= 5.0 && blocked > 0.9 * offered, "{passed} passed, {blocked} of {offered}");
}

/// Twenty flows of a site, each with an occasional call, on a path with heavy marking: a known price blocks every call
/// until it is 3 s old. Without a gateway, a flow learns the price from its own calls, of 2 s each 10 s, and so blocks
/// calls within 5 s of them: a third. With a gateway, any flow may be the next to try, and all know the result: one in
/// twelve begins.
#[test]
fn flows_of_a_site_share_what_their_gateway_knows() {
    let blocked = |at: &str| {
        let admission = format!(
            "{{ kind = \"non-probing\", threshold = 0.1, forget_after = \"3 s\", at = {at} }}"
        );
        let overrides = [
            ("bottleneck.egress", "[{ kind = \"random-marker\", probability = 0.5 }]"),
            ("users.site.count", "20"),
            ("users.site.traffic.every", "\"10 s\""),
            ("users.site.traffic.holding", "\"2 s\""),
            ("users.site.traffic.admission", &*admission),
        ];
        let output = run(&plan_with(CALLS, &overrides), 1);
        let (blocked, offered) = (reported(&output, "blocked"), reported(&output, "offered"));
        assert_eq!(blocked.len(), 20);
        blocked.iter().sum::<f64>() / offered.iter().sum::<f64>()
    };
    let (alone, together) =
        (blocked("\"source\""), blocked("{ kind = \"gateway\", sources = 1000 }"));
    assert!((0.25..0.45).contains(&alone), "{alone}");
    assert!((0.85..0.95).contains(&together), "{together}");
}

/// Load-based admission for 20 calls of 200 kb/s by measured rate: about as many as a counter admits, less the
/// variation of videos.
#[test]
fn admission_by_measured_load_keeps_it_within_its_limit() {
    let overrides = [(
        "users.site.traffic.admission",
        "{ kind = \"measured-sum\", limit = \"4 Mb/s\", sample = \"500 ms\", window = \"2 s\" }",
    )];
    let output = run(&plan_with(CALLS, &overrides), 1);
    let (calls, blocking) = (one(&output, "calls"), one(&output, "blocking"));
    assert!((10.0..20.0).contains(&calls), "{calls}");
    assert!(blocking > 0.1, "{blocking}");
    assert!(output.flows.throughput_bps[0] < 4e6, "{}", output.flows.throughput_bps[0]);
}

/// Calls with w/p = 400 kb/s: the second of their two qualities, once targets are above its 200 kb/s. Without marks at
/// this price none would be better than the first.
#[test]
fn calls_choose_their_quality_by_what_all_of_them_are_reported() {
    let better = "better = [{ rate = \"200 kb/s\" }]";
    let with = |willingness: &str| {
        let price =
            format!("kind = \"price\", {better}, willingness = \"{willingness}\", gain = 0.1");
        let overrides = [
            ("bottleneck.egress", "[{ kind = \"random-marker\", probability = 0.1 }]"),
            ("users.site.traffic.rate", "\"100 kb/s\""),
            ("users.site.traffic.adaptation", &*format!("{{ {price} }}")),
            ("users.site.traffic.admission", "{ kind = \"counter\", limit = 20 }"),
        ];
        let output = run(&plan_with(CALLS, &overrides), 1);
        (one(&output, "quality"), one(&output, "blocking"))
    };
    let (poor, blocked) = with("9 kb/s");
    assert!(poor < 0.01 && (blocked - 0.1589).abs() < 0.052, "{poor}, {blocked}");
    let (rich, _) = with("40 kb/s");
    assert!(rich > 0.5, "{rich}");
}

/// Long calls over a link that passes nothing from 120 s on: calls without reports from their receiver end, for any
/// admission control, as do those that begin after that; calls that use no reports go on.
#[test]
fn a_receiver_that_vanishes_in_the_middle_of_a_call_ends_it() {
    let ended = |admission: &str, sign_of_life: &str| {
        let overrides = [
            ("bottleneck.rate_changes", "[{ at = \"120 s\", rate = \"8 b/s\" }]"),
            ("duration", "\"100 s\""),
            ("users.site.traffic.every", "\"5 s\""),
            ("users.site.traffic.holding", "\"10000 s\""),
            ("users.site.traffic.sign_of_life", sign_of_life),
            ("users.site.traffic.admission", admission),
        ];
        let output = run(&plan_with(CALLS, &overrides), 1);
        (one(&output, "ended"), one(&output, "begun"))
    };
    // Twelve begin in each minute: those of the first 120 s end at 150 s, and then each 30 s after it began, unless it
    // was blocked; the six or so of the last 30 s remain.
    let admissions = [
        "{ kind = \"non-probing\", threshold = 0.9 }",
        "{ kind = \"probing\", probes = 3 }",
        "{ kind = \"counter\", limit = 100 }",
        "{ kind = \"measured-sum\", limit = \"8 Mb/s\" }",
        "\"none\"",
    ];
    for admission in admissions {
        let (ended, begun) = ended(admission, "\"5 s\"");
        assert!(ended > 12.0, "{admission}: {ended} of {begun}");
    }
    let (ended, begun) = ended("\"none\"", "\"off\"");
    assert!(ended < 4.0 && begun > 5.0, "{ended} of {begun}");
}

/// Calls that stop below their worst quality, since all their packets are marked, for longer than a receiver may be
/// silent: the receiver has nothing to report, and is alive.
#[test]
fn calls_that_interrupt_themselves_do_not_end_by_it() {
    let price = "kind = \"price\", better = [{ rate = \"200 kb/s\" }], willingness = \"1 kb/s\", gain = 0.1, interrupts = true";
    let overrides = [
        ("bottleneck.egress", "[{ kind = \"random-marker\", probability = 1.0 }]"),
        ("duration", "\"100 s\""),
        ("users.site.traffic.rate", "\"100 kb/s\""),
        ("users.site.traffic.every", "\"5 s\""),
        ("users.site.traffic.holding", "\"10000 s\""),
        ("users.site.traffic.give_up_after", "\"2 s\""),
        ("users.site.traffic.adaptation", &*format!("{{ {price} }}")),
    ];
    let output = run(&plan_with(CALLS, &overrides), 1);
    assert!(one(&output, "ended") < 4.0, "{}", one(&output, "ended"));
}
