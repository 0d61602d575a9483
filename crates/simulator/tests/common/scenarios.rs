//! Random small scenarios: every topology, traffic, AQM and TCP option, a few thousand packets each.

use std::hash::{BuildHasher, RandomState};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

/// Number of cases of a property test; cases are drawn at random unless a seed is given, as in `make test`. A failing
/// test prints how to repeat it; `PROPTEST_CASES=5000` tries more.
pub fn exact(cases: u32) -> ProptestConfig {
    let given = ProptestConfig::default();
    let seed = match given.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(cases),
    };
    eprintln!("these cases again: PROPTEST_RNG_SEED={seed}");
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if asked { given.cases } else { cases },
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..given
    }
}

/// A rare combination: a recovery that counts duplicates, marks that reduce the window below one segment, and bursts.
const DUPLICATES_BELOW_ONE_SEGMENT: &str = "congestion_control = \"reno\"\nloss_recovery = \"newreno\"\n\
     quirks.deflate_below_threshold = true\nsegment_bursts = true\nlimited_transmit = false\n\
     ecn = true\necn_to_one = true\ninitial_window = 3\n";

/// A whole scenario file.
pub fn any_scenario() -> impl Strategy<Value = String> {
    let tcp = prop_oneof![12 => tcp(), 1 => Just(DUPLICATES_BELOW_ONE_SEGMENT.to_owned())];
    (prop_oneof![dumbbell(), parking_lot(), free_topology()], head(), tcp)
        .prop_map(|(network, head, tcp)| format!("version = 1\n{head}\n[tcp]\n{tcp}\n{network}"))
        .prop_map(|text| {
            // The buffer has to hold a packet in its tunnel, and the window a segment.
            let largest = if text.contains("pdn-gateway") { "1500 B" } else { "9000 B" };
            let text = text.replace("9000 B", largest);
            match text.contains("9000 B") {
                true => text.replace("window_limit = \"1460 B\"", "window_limit = \"9 kB\""),
                false => text,
            }
        })
}

fn head() -> impl Strategy<Value = String> {
    (
        select(vec!["linux", "classic", "linux-2.6.29"]),
        prop_oneof![Just(0), 0..1500u32],
        // Sometimes long enough for SYNs to be retransmitted on a long path.
        prop_oneof![4 => 1..300u32, 8 => 300..1500u32, 1 => 3000..7000u32],
        select(vec!["auto", "off", "1 ms"]),
        select(vec!["off", "50 ms"]),
        0..2u32,
        select(vec!["", "", "packet_size = \"9000 B\"\n"]),
        select(vec!["base = 1.2", "base = 1.0001", "base = 90.0"]),
    )
        .prop_map(|(profile, warm_up, duration, jitter, sampling, drain, size, base)| {
            format!(
                "profile = \"{profile}\"\nwarm_up = \"{warm_up} ms\"\nduration = \"{duration} ms\"\n\
                 host_jitter = \"{jitter}\"\nsample_interval = \"{sampling}\"\n\
                 drain_limit = \"{drain} s\"\n{size}\
                 price_encoding = {{ kind = \"one-bit\", {base} }}\n"
            )
        })
}

/// One option in three is set; the others are those of the profile.
fn tcp() -> impl Strategy<Value = String> {
    let one_of = |key: &'static str, values: Vec<&'static str>| {
        prop_oneof![
            2 => Just(String::new()),
            1 => select(values).prop_map(move |value| format!("{key} = {value}\n")),
        ]
    };
    (
        one_of(
            "congestion_control",
            vec![
                "\"reno\"",
                "\"cubic\"",
                "\"dctcp\"",
                "\"prague\"",
                "\"vegas\"",
                "\"compound\"",
                "{ kind = \"compound\", whole_segments = true }",
                "{ kind = \"cubic\", growth = \"linux-2.6.22\" }",
                "\"ledbat\"",
                "\"bic\"",
                "\"htcp\"",
                "\"hybla\"",
                "\"westwood\"",
                "\"bbr\"",
                "\"bbr3\"",
                "\"sbrm\"",
                "{ kind = \"direct-window\", price = \"mark\", slow_start = false }",
            ],
        ),
        one_of(
            "loss_recovery",
            vec!["\"sack\"", "\"rack\"", "\"fack\"", "\"newreno\"", "\"reno\""],
        ),
        one_of("window_reduction", vec!["\"immediate\"", "\"rate-halving\"", "\"ns2-linux\"", "\"prr\""]),
        one_of("limited_transmit", vec!["true", "false"]),
        one_of("timestamps", vec!["true", "false"]),
        one_of(
            "ecn",
            vec![
                "true",
                "true\necn_to_one = true",
                "true\necn_to_one = true\nquirks.ecn_backoff = true\nquirks.ecn_backoff_lasts = true",
                "true\necn_to_one = false",
                "true\nfeedback = \"dctcp\"",
                "true\nfeedback = \"accurate\"",
                "true\nfeedback = \"accurate\"\naccurate_option = \"off\"",
                "true\nfeedback = \"accurate\"\nconex = \"re-ecn\"",
                "true\nconex = { kind = \"re-ecn\", losses = true, idle = \"50 ms\" }",
                "true\nconex = { kind = \"re-ecn\", cheat = { kind = \"while-slow\", flight = \"6 kB\" } }",
            ],
        ),
        one_of("after_timeout", vec!["\"go-back-n\"", "\"keep-scoreboard\""]),
        one_of(
            "rearm_on_retransmit",
            vec![
                "true",
                "false",
                "false\nquirks.rearm_on_each_ack = true",
                "false\nquirks.backoff_forgets_rtt = true",
                "false\nquirks.loss_threshold = 4\nquirks.rtt_on_each_ack = true\nquirks.damp_rtt_falls = true",
                "false\nrearm_on_partial_acks = false\nretransmit_at_once = true",
                "false\nrearm_on_partial_acks = true\nretransmit_at_once = false",
                "false\nquirks.recovery_within_mark = true\nquirks.deflate_below_threshold = true",
                "false\nquirks.repeated_recovery = true\nquirks.progress_ends_backoff = true",
                "false\nquirks.inflation_after_timeout = true",
            ],
        ),
        one_of("delayed_ack", vec!["\"off\"", "\"40 ms\""]),
        one_of("initial_window", vec!["1", "3", "40", "1\ninitial_ssthresh = 8"]),
        one_of("window_limit", vec!["\"1460 B\"", "\"20 kB\""]),
        (
            one_of("initial_rto", vec!["\"1 s\"", "\"210 ms\""]),
            one_of(
                "conex",
                vec![
                    "\"rfc7786\"",
                    "\"per-signal\"",
                    "{ kind = \"per-signal\", losses = \"reported\", carrier = \"new-data\" }",
                    "{ kind = \"per-signal\", losses = \"event\", repeats_lost = true }",
                    "{ kind = \"rfc7786\", cheat = { kind = \"late\", by = \"80 ms\" } }",
                    "{ kind = \"rfc7786\", cheat = { kind = \"hoard\", credit = \"9 kB\" } }",
                    "{ kind = \"per-signal\", cheat = { kind = \"understate\", share = 0.5 } }",
                ],
            ),
            one_of("pacing", vec!["true", "false"]),
        ),
    )
        .prop_map(|(a, b, c, d, e, ecn, g, h, i, j, k, (l, conex, pacing))| {
            // Re-ECN requires ECN and excludes other declarations.
            let conex = if ecn.contains("conex") { String::new() } else { conex };
            [a, b, c, d, e, ecn, g, h, i, j, k, l, conex, pacing].concat()
        })
}

/// Rate, delay and all mechanisms of a queue.
fn queue() -> impl Strategy<Value = String> {
    let rate_changes = prop_oneof![
        3 => Just(String::new()),
        1 => (0..1500u32, 1..1500u32, prop_oneof![Just("0 b/s".to_owned()), Just("1 kb/s".to_owned()),
              (1..20u32).prop_map(|rate| format!("{rate} Mb/s"))], 1..20u32).prop_map(
            |(at, later, first, second)| {
                format!(
                    "rate_changes = [{{ at = \"{at} ms\", rate = \"{first}\" }}, \
                     {{ at = \"{} ms\", rate = \"{second} Mb/s\" }}]\n",
                    at + later
                )
            }
        ),
    ];
    (prop_oneof![judged(), judged(), scheduled()], link(), rate_changes, stages()).prop_map(
        |(mechanism, link, rate_changes, stages)| {
            format!("{link}{mechanism}{rate_changes}{stages}")
        },
    )
}

/// A link of a dumbbell or a free topology, which may follow traces.
fn traced_queue() -> impl Strategy<Value = String> {
    let text = |trace: &str, repeat| format!("{{ trace = \"{trace}\", repeat = {repeat} }}");
    let rate = (
        select(vec![
            r"1\n1\n4\n9\n",
            r"0\n3\n40\n40\n41\n41\n80\n80\n",
            r"time_ms,rate_mbps\n0,3\n30,0\n90,0.4\n95,20\n",
            r"time_s,rate_kbps\n5.5,900\n6.5,9000\n",
        ]),
        any::<bool>(),
    )
        .prop_map(move |(trace, repeat)| text(trace, repeat));
    let delay = (
        select(vec![
            r"time_ms,delay_ms\n0,2\n7,30\n20,0\n21,5\n",
            r"time_s,delay_s\n0,0.001\n0.4,0.2\n0.5,0\n",
        ]),
        any::<bool>(),
    )
        .prop_map(move |(trace, repeat)| text(trace, repeat));
    let rate = prop_oneof![5 => Just(None), 1 => rate.prop_map(Some)];
    let delay = prop_oneof![5 => Just(None), 1 => delay.prop_map(Some)];
    let loss = select(vec![
        None,
        None,
        None,
        Some(
            r#"{ kind = "gilbert-elliott", p = "1 %", r = 0.2, bad_loss = 0.7, good_loss = 0.001 }"#,
        ),
        Some(r#"{ kind = "packets", packets = "2, 9-11, 30" }"#),
    ]);
    let wire = select(vec![
        "",
        "",
        "",
        "jitter = { kind = \"normal\", spread = \"1 ms\" }\n",
        "jitter = { kind = \"uniform\", spread = \"9 ms\", keep_order = false }\n",
        "jitter = { kind = \"pareto-normal\", spread = \"3 ms\", keep_order = false }\nduplicate = 0.02\n",
        "jitter = { kind = \"table\", spread = \"2 ms\", table = \"-8192 9\\n32767\\n\" }\nreorder = 0.1\n",
        "reorder = \"40 %\"\nreorder_gap = 5\n",
        "duplicate = \"5 %\"\n",
    ]);
    (queue(), rate, delay, loss, wire).prop_map(|(queue, rate, delay, loss, wire)| {
        let line = |line: &str| match (line.split(" = ").next(), &rate, &delay) {
            (Some("loss"), ..) if let Some(loss) = loss => format!("loss = {loss}\n"),
            (Some("rate"), Some(rate), _) => format!("rate = {rate}\n"),
            (Some("delay"), _, Some(delay)) => format!("delay = {delay}\n"),
            (Some("rate_changes"), Some(_), _) => String::new(),
            _ => format!("{line}\n"),
        };
        queue.lines().map(line).chain([wire.to_owned()]).collect()
    })
}

/// The reverse direction, where it is another.
fn reverse() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "",
        "reverse_rate = \"2 Mb/s\"\nreverse_delay = \"1 ms\"\n",
        "reverse_rate = { trace = \"2\\n9\\n9\\n\" }\nreverse_delay = { trace = \"time_s,delay_ms\\n0,9\\n0.3,1\\n\" }\n",
    ])
}

/// What stands at the beginning and at the end of a link.
fn stages() -> impl Strategy<Value = String> {
    (row(), row())
        .prop_map(|(ingress, egress)| format!("ingress = [{ingress}]\negress = [{egress}]\n"))
}

/// Stages in one place.
fn row() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "",
        "{ kind = \"mark-counter\" }",
        "{ kind = \"congestion-reporter\", interval = \"15 ms\" }",
        "{ kind = \"activity-meter\", reference_rate = \"0.3 Mb/s\" }",
        "{ kind = \"policer\", rate = \"2 Mb/s\", burst = \"18 kB\", peak_rate = \"9 Mb/s\", peak_burst = \"9 kB\" }",
        "{ kind = \"srtcm\", rate = \"2 Mb/s\", burst = \"18 kB\", excess_burst = \"9 kB\", yellow = \"mark\" }",
        "{ kind = \"trtcm\", rate = \"1 Mb/s\", peak_rate = \"4 Mb/s\", yellow = \"drop\", red = \"mark\", buckets = \"one\" }",
        "{ kind = \"mark-counter\" }, { kind = \"shaper\", rate = \"2 Mb/s\", burst = \"18 kB\", max_delay = \"200 ms\" }",
        "{ kind = \"shaper\", rate = \"5 Mb/s\", burst = \"9 kB\", peak_rate = \"7 Mb/s\", peak_burst = \"9 kB\", \
         buffer = \"20 kB\", buckets = \"one\" }, { kind = \"activity-meter\", reference_rate = \"1 Mb/s\" }",
        "{ kind = \"conex-policer\", fill_rate = \"5 packets/s\", depth = \"9 packets\", tokens = \"packets\" }",
        "{ kind = \"conex-policer\", fill_rate = \"40 kb/s\", depth = \"9 kB\", curve = \"strict\", \
         buckets = \"one\", drops = \"declared\", not_conex = \"limit\", not_conex_rate = \"5 Mb/s\" }",
        "{ kind = \"random-marker\", probability = 0.05 }, { kind = \"conex-auditor\", slack = \"3 kB\" }",
        "{ kind = \"random-marker\", probability = 0.05 }, { kind = \"mark-counter\" }",
        "{ kind = \"random-marker\", probability = 0.05 }, { kind = \"re-ecn-dropper\" }",
        "{ kind = \"re-ecn-policer\", fill_rate = \"2 Mb/s\", depth = \"20 kB\", round_trip = \"20 ms\", \
         measures = true }",
        "{ kind = \"re-ecn-policer\", fill_rate = \"9 packets/s\", depth = \"9 packets\", \
         buckets = \"by-user\", tokens = \"positive\", sanction = \"discard\", outside = \"pass\" }",
        "{ kind = \"mark-counter\" }, { kind = \"activity-meter\", reference_rate = \"1 Mb/s\", meters = 2 }",
    ])
}

/// AQMs with departures as events, and schedulers.
fn scheduled() -> impl Strategy<Value = String> {
    select(vec![
        r#"aqm = { kind = "csfq", averaging = "20 ms", link_averaging = "50 ms", window = "50 ms" }"#,
        r#"aqm = { kind = "codel" }"#,
        r#"aqm = { kind = "codel", target = "0.2 ms", interval = "5 ms" }"#,
        r#"aqm = { kind = "pc1", gamma = 0.1, interval = "2 ms" }"#,
        r#"aqm = { kind = "pc2", gamma = 0.1, target = "2 kB" }"#,
        r#"aqm = { kind = "pc3", gamma = 0.1, target = "1 kB" }"#,
        r#"aqm = { kind = "virtual-queue", scale = 0.5 }"#,
        r#"aqm = { kind = "sbrm-queue", gamma = 0.1, target = "2 kB" }"#,
        r#"aqm = { kind = "sbrm-queue", gamma = 0.001, target = "1 kB", excess = "3 packets", estimate_over = "5 ms" }"#,
        r#"aqm = { kind = "sbrm-queue", gamma = 9.0, target = "1 kB", excess = "1 packets", estimate_over = "1 us" }"#,
        r#"aqm = { kind = "pc3", gamma = 1000.0, alpha = 90.0, target = "1 kB" }"#,
        r#"aqm = { kind = "sbrm-queue", gamma = 0.1, target = "2 kB", price = "pc3", interval = "3 ms" }"#,
        r#"scheduler = { kind = "drr" }"#,
        r#"scheduler = { kind = "drr", quantum = "300 B", queues = "by-flow" }"#,
        r#"scheduler = { kind = "htb", classes = [{ users = "group-0", rate = "0.4 Mb/s", ceil = "2 Mb/s" }] }"#,
        r#"scheduler = { kind = "fq-codel", target = "1 ms", interval = "10 ms" }"#,
        r#"scheduler = { kind = "fq-codel", flows = 3, quantum = "300 B", perturbation = 7 }"#,
        r#"scheduler = { kind = "cake", target = "1 ms", rtt = "10 ms", isolation = "dual-host" }"#,
        r#"scheduler = { kind = "cake", quantum = "300 B", ack_filter = "ack-filter" }"#,
        r#"scheduler = { kind = "cake", rtt = "10 ms", unlimited = true, tins = "diffserv8", isolation = "hosts" }"#,
        r#"scheduler = { kind = "cake", bandwidth = "0.7 Mb/s", link_layer = "pppoe-llcsnap", tins = "diffserv4", ack_filter = "ack-filter-aggressive" }"#,
        r#"scheduler = { kind = "cake", bandwidth = "5 Mb/s", isolation = "flowblind", overhead = "20 B", mpu = "100 B", framing = "ptm" }"#,
        r#"scheduler = { kind = "rfc6057", provisioned_rate = "1 Mb/s", period = "0.2 s" }"#,
        r#"scheduler = { kind = "declared-congestion", outside = "first" }"#,
        r#"scheduler = { kind = "dualpi2" }"#,
        r#"scheduler = { kind = "dualpi2", target = "2 ms", max_rtt = "9 ms", coupling = 3, ramp_range = "0 s" }"#,
    ])
    .prop_map(|mechanism| format!("{mechanism}\n"))
}

/// AQMs that judge arrivals.
fn judged() -> impl Strategy<Value = String> {
    let aqm = select(vec![
        r#"{ kind = "drop-tail" }"#,
        r#"{ kind = "piecewise-linear", function = "pf-11-17-24-0.01" }"#,
        r#"{ kind = "piecewise-linear", points = [[2, 0.0], [9, 1.0]] }"#,
        r#"{ kind = "red", min_threshold = "3 packets", max_threshold = "12 packets" }"#,
        r#"{ kind = "red", min_threshold = "4 packets", max_threshold = "9 packets", max_probability = 1.0, gentle = true, spacing = "wait", weight = 0.1 }"#,
        r#"{ kind = "adaptive-red", target_delay = "20 ms", weight = 0.1, interval = "50 ms" }"#,
        r#"{ kind = "pie", target = "5 ms", burst_allowance = "0 s", beta = 20.0 }"#,
        r#"{ kind = "pie", derandomised = true }"#,
    ]);
    let differentiation = select(vec![
        "",
        "differentiation = { kind = \"abc\", gamma = 3.0 }\n",
        "differentiation = { kind = \"icp\", curve = \"squared\", depth = \"66 kB\" }\n",
        "differentiation = { kind = \"afcp\", variant = \"b\", depth = \"66 kB\" }\n",
        "differentiation = { kind = \"aicp-b\", depth = \"66 kB\" }\n",
    ]);
    (aqm, differentiation)
        .prop_map(|(aqm, differentiation)| format!("aqm = {aqm}\n{differentiation}"))
}

fn link() -> impl Strategy<Value = String> {
    (
        1..20u32,
        select(vec!["0 s", "2 ms", "2 ms", "30 ms", "30 ms", "130 ms", "1.2 s"]),
        select(vec!["1 packets", "20 packets", "60 packets", "9 kB", "30 kB", "90 ms"]),
        select(vec!["0.0", "0.0", "0.01", "0.2"]),
        any::<bool>(),
    )
        .prop_map(|(rate, delay, buffer, loss, ecn)| {
            format!(
                "rate = \"{rate} Mb/s\"\ndelay = \"{delay}\"\nbuffer = \"{buffer}\"\nloss = {loss}\n\
                 ecn = {ecn}\n"
            )
        })
}

fn side(name: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        (
            select(vec!["3 Mb/s", "100 Mb/s"]),
            select(vec!["0 s", "0.1 ms", "7 ms"]),
            select(vec!["2 packets", "50 packets", "20 kB"]),
        )
            .prop_map(move |(rate, delay, buffer)| {
                format!("[{name}]\nrate = \"{rate}\"\ndelay = \"{delay}\"\nbuffer = \"{buffer}\"\n")
            }),
    ]
}

/// A group of users without its ingress and egress.
#[derive(Clone, Debug)]
struct Group {
    count: u32,
    /// Flows, traffic and packet size.
    sends: String,
    /// Round trips of users at their own hosts.
    round_trip: &'static str,
    meter: &'static str,
    ingress: String,
    egress: String,
    /// Whether the users are at the hosts of the first group, if their path begins or ends there.
    at_first: bool,
    /// Whether all users share one instance of their stages.
    shares: bool,
}

fn group() -> impl Strategy<Value = Group> {
    let traffic = select(vec![
        r#"{ kind = "greedy" }"#,
        r#"{ kind = "greedy", lasts = "150 ms" }"#,
        r#"{ kind = "transfer", size = "60 kB" }"#,
        r#"{ kind = "transfer", size = "30 kB", write_size = "1 kB", write_interval = "3 ms", pause = "9 ms" }"#,
        r#"{ kind = "transfer", size = "1 B", pause = "1 ms" }"#,
        r#"{ kind = "transfer", size = "9 kB", pause = "50 ms", pause_distribution = "exponential" }"#,
        r#"{ kind = "transfer", size = "20 kB", pause = "5 ms", barrier = true }"#,
        r#"{ kind = "cbr", rate = "1 Mb/s" }"#,
        r#"{ kind = "short-flows", size = "9 kB", every = "20 ms" }"#,
        r#"{ kind = "short-flows", size = "cache-follower", load = "30 %" }"#,
        r#"{ kind = "short-flows", size = { kind = "pareto", smallest = "1 kB", largest = "1 MB" }, arrivals = "0\n0.01\n0.1\n0.1\n" }"#,
        r#"{ kind = "short-flows", size = { kind = "lognormal", mean = "9 kB", sigma = 2.0 }, every = "30 ms" }"#,
        r#"{ kind = "udp", rate = "2 Mb/s", size = "700 B", sizes = "exponential", on = "50 ms", off = "20 ms", ecn = true }"#,
        r#"{ kind = "voip", silence = "suppressed" }"#,
        r#""gaming""#,
        r#"{ kind = "video-call", rate = "3 Mb/s", lasts = "300 ms" }"#,
        r#"{ kind = "on-off", on = "40 ms", off = "30 ms", distribution = { kind = "pareto", shape = 1.5 }, rate = "2 Mb/s" }"#,
        r#"{ kind = "video", rate = "1 Mb/s", length = "1 s", burst = "200 ms", chunk = "5 kB", socket_buffer = "20 kB", start_above = "50 ms", stall_below = "10 ms" }"#,
        r#"{ kind = "pages", size = "8 kB", largest = "100 kB", within = "at-once", off = "30 ms" }"#,
        r#"{ kind = "cbr", rate = "12 Mb/s", conex = "re-ecn", lasts = "200 ms" }"#,
        r#"{ kind = "on-off", on = "100 ms", off = "50 ms" }"#,
        r#"{ kind = "on-off", on = "70 ms", off = "20 ms", distribution = "fixed", rate = "3 Mb/s" }"#,
        r#"{ kind = "frames", rate = "500 kb/s", adaptation = { kind = "price", willingness = "100 kb/s", better = [{ rate = "1 Mb/s" }], interrupts = true } }"#,
        r#"{ kind = "calls", rate = "300 kb/s", every = "200 ms", holding = "1 s", admission = { kind = "non-probing", threshold = 0.1, forget_after = "300 ms", when_unknown = "probing" } }"#,
    ]);
    let meter = select(vec![
        "",
        "meter = { reference_rate = \"0.3 Mb/s\" }\n",
        "meter = { reference_rate = \"0.3 Mb/s\", burst_allowance = \"20 kB\", meters = 3 }\n",
    ]);
    let times = select(vec![
        "",
        "",
        "start = { from = \"0 s\", to = \"50 ms\", spread = \"even\" }\nstop = \"180 ms\"\n",
        "start = \"0 s\"\nstop = { from = \"60 ms\", to = \"400 ms\" }\n",
    ]);
    // The mean is above that of any path; half of the users have less than a thirtieth of it.
    let round_trip = select(vec![
        "",
        "",
        "round_trip = { mean = \"9 s\", varies = { kind = \"weibull\", shape = 0.3 } }\n",
    ]);
    let size = select(vec![
        "",
        "",
        "packet_size = \"200 B\"\ndscp = \"EF\"\n",
        "packet_size = \"9000 B\"\n",
        "dscp = \"CS1\"\nweight = 2.5\n",
        "dscp = \"AF41\"\n",
    ]);
    let own = (size, times, round_trip);
    (1..4u32, 1..4u32, traffic, meter, own, ends(), any::<[bool; 2]>()).prop_map(
        |(count, flows, traffic, meter, own, (ingress, egress), [at_first, shares])| {
            let (size, times, round_trip) = own;
            let sends = format!("flows = {flows}\ntraffic = {traffic}\n{size}{times}");
            let (ingress, egress) =
                (format!("ingress = [{ingress}]\n"), format!("egress = [{egress}]\n"));
            Group { count, sends, round_trip, meter, ingress, egress, at_first, shares }
        },
    )
}

/// Stages at the beginning and the end of a group's path; for tunnels, both ends.
fn ends() -> impl Strategy<Value = (&'static str, &'static str)> {
    let tunnels = select(vec![
        ("\"pdn-gateway\"", "{ kind = \"enodeb\", interval = \"15 ms\", radio_loss = 0.05 }"),
        (
            "{ kind = \"pdn-gateway\", ecn_rules = \"rfc6040\", re_inserts = false, policers = [\
             { fill_rate = \"2 Mb/s\", depth = \"20 kB\", round_trip = \"20 ms\" }, \
             { fill_rate = \"5 Mb/s\", depth = \"20 kB\", round_trip = \"20 ms\", buckets = \"together\" }] }",
            "{ kind = \"enodeb\", ecn_rules = \"rfc6040\", interval = \"30 ms\" }, { kind = \"mark-counter\" }",
        ),
    ]);
    prop_oneof![4 => (row(), row()), 1 => tunnels]
}

/// Ingress and egress of a group.
type Place = (&'static str, &'static str);

fn users(places: Vec<Place>) -> impl Strategy<Value = String> {
    vec((group(), select(places)), 1..4).prop_map(|users| {
        let (first, (home, _)) = &users[0];
        // Users at another group's host pass its stages, and tunnels need both ends.
        let tunnels = |group: &Group| group.egress.contains("enodeb");
        let section = |(i, (group, (from, to))): (usize, &(Group, Place))| {
            let Group { count, sends, round_trip, meter, ingress, egress, at_first, shares } =
                group;
            let at_first = i > 0 && *at_first && !tunnels(first) && !tunnels(group);
            let at_first = at_first && (from == home || to == home);
            let hosts = match at_first {
                true => format!("hosts = \"group-0\"\ncount = {}\n", first.count),
                false => format!("count = {count}\n"),
            };
            let at_ingress =
                if at_first && from == home { "" } else { &format!("{meter}{ingress}") };
            let ends = format!("from = \"{from}\"\nto = \"{to}\"\nshares_stages = {shares}\n");
            let own = if at_first && from == home { "" } else { *round_trip };
            format!("[users.group-{i}]\n{ends}{hosts}{sends}{own}{at_ingress}{egress}\n")
        };
        users.iter().enumerate().map(section).collect()
    })
}

/// A topology whose reverse path may carry data as well.
fn duplex(places: &[Place]) -> impl Strategy<Value = (&'static str, String)> + use<> {
    let back: Vec<Place> = places.iter().map(|(from, to)| (*to, *from)).collect();
    let both = [places, &back].concat();
    prop_oneof![(Just(""), users(places.to_vec())), (Just("duplex = true\n"), users(both)),]
}

fn dumbbell() -> impl Strategy<Value = String> {
    (
        (traced_queue(), reverse()),
        side("access"),
        side("receiver_access"),
        duplex(&[("left", "right")]),
    )
        .prop_map(|((queue, reverse), access, receiver_access, (duplex, users))| {
            format!("[bottleneck]\n{queue}\n{reverse}{duplex}{access}{receiver_access}{users}")
        })
}

fn parking_lot() -> impl Strategy<Value = String> {
    let places = [("r0", "r3"), ("r0", "r1"), ("r1", "r3"), ("r2", "r3")];
    (queue(), side("access"), side("receiver_access"), duplex(&places)).prop_map(
        |(queue, access, receiver_access, (duplex, users))| {
            format!("[parking_lot]\nhops = 3\n{queue}\n{duplex}{access}{receiver_access}{users}")
        },
    )
}

/// A triangle whose users send in both directions, so that data and ACKs share queues.
fn free_topology() -> impl Strategy<Value = String> {
    let places = vec![("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")];
    (traced_queue(), (traced_queue(), reverse()), any::<bool>(), side("access"), users(places)).prop_map(
        |(first, (second, reverse), monitored, access, users)| {
            format!(
                "[links.ab]\nfrom = \"a\"\nto = \"b\"\n{first}\n[links.bc]\nfrom = \"b\"\nto = \"c\"\n\
                 bottleneck = {monitored}\n{second}\n{reverse}{access}{users}"
            )
        },
    )
}
