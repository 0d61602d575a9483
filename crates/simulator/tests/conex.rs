//! ConEx in whole runs: declarations of senders, compared with the congestion that they experience.

use crate::common;

use common::plan_with;
use common::scenarios::exact;
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

/// Three flows of one user, without other traffic.
const NETWORK: &str = r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "30 s"
[bottleneck]
rate = "10 Mb/s"
delay = "20 ms"
buffer = "60 packets"
ecn = true
aqm = { kind = "red", min_threshold = "5 packets", max_threshold = "30 packets" }
[users.one]
flows = 3
ingress = [{ kind = "mark-counter" }]
egress = [{ kind = "mark-counter" }]
"#;

/// Returns a count of the stages at one end.
fn count(output: &RunOutput, place: &str, count: &str) -> f64 {
    let table = &output.stages;
    let row = (0..table.value.len())
        .find(|&row| table.stage[row].contains(place) && table.count[row] == count);
    row.map_or(0, |row| table.value[row]) as f64
}

fn with(options: &[(&str, &str)]) -> RunOutput {
    run(&plan_with(NETWORK, options), 1)
}

const SIGNALS: (&str, &str) = ("tcp.conex", "\"per-signal\"");
const BYTES: (&str, &str) = ("tcp.conex", "\"rfc7786\"");

/// Maximum number of segments in flight of three flows.
const IN_FLIGHT: f64 = 150.0;

#[test]
fn each_mark_is_declared_once_but_for_what_is_in_flight() {
    for conex in [SIGNALS, BYTES] {
        let marked = [
            conex,
            ("tcp.ecn", "true"),
            ("tcp.feedback", "\"dctcp\""),
            ("bottleneck.aqm.gentle", "true"),
            ("bottleneck.buffer", "\"300 packets\""),
            ("tcp.window_limit", "\"90 kB\""),
        ];
        let output = with(&marked);
        assert_eq!(output.flows.losses.iter().sum::<u64>(), 0);
        let met = count(&output, "egress", "marked_packets");
        let declared = count(&output, "ingress", "declared_mark_packets");
        assert!(met > 50.0 && declared <= met, "{declared} of {met}");
        assert!(met - declared < IN_FLIGHT, "{declared} of {met}");
        let bytes = count(&output, "ingress", "declared_mark_bytes");
        assert_eq!(bytes, 1500.0 * declared);
        assert_eq!(count(&output, "ingress", "declared_loss_packets"), 0.0);
    }
}

proptest! {
    #![proptest_config(exact(60))]

    /// For any round trip, window, number of flows, and ECN feedback.
    #[test]
    fn what_is_declared_of_marks_is_what_was_met_but_for_what_is_in_flight(
        (flows, window, delay_ms) in (1..6u32, 4..60u32, 1..60u32),
        feedback in select(vec!["\"dctcp\"", "\"accurate\""]),
        conex in select(vec![SIGNALS, BYTES]),
        recovery in select(vec!["\"sack\"", "\"rack\""]),
        seed in 0..1000u64,
    ) {
        let [flows_text, limit, delay] =
            [flows.to_string(), format!("\"{} B\"", window * 1460), format!("\"{delay_ms} ms\"")];
        let options = [
            conex,
            ("tcp.ecn", "true"),
            ("tcp.feedback", feedback),
            ("tcp.loss_recovery", recovery),
            ("tcp.window_limit", &limit),
            ("bottleneck.aqm.gentle", "true"),
            ("bottleneck.buffer", "\"1000 packets\""),
            ("bottleneck.delay", &delay),
            ("users.one.flows", &flows_text),
            ("duration", "\"10 s\""),
        ];
        let output = run(&plan_with(NETWORK, &options), seed);
        prop_assume!(output.flows.retransmits.iter().all(|&again| again == 0));
        let met = count(&output, "egress", "marked_packets");
        let declared = count(&output, "ingress", "declared_mark_packets");
        prop_assert!(declared <= met, "{} of {}", declared, met);
        prop_assert!(met - declared <= f64::from(flows * window), "{} of {}", declared, met);
    }
}

/// RFC 7786 counts retransmissions as losses. Lost declarations are repeated, so that the total that arrives is the
/// same.
#[test]
fn each_loss_is_declared_once_but_for_what_is_in_flight() {
    for recovery in ["\"sack\"", "\"rack\"", "\"newreno\""] {
        for (conex, place) in [(SIGNALS, "ingress"), (BYTES, "egress")] {
            let output = with(&[conex, ("tcp.loss_recovery", recovery)]);
            let again = output.flows.retransmits.iter().sum::<u64>() as f64;
            let declared = count(&output, place, "declared_loss_packets");
            assert!(again > 200.0, "{again} retransmissions");
            assert!(again - declared < IN_FLIGHT, "{declared} of {again}");
            // Timeouts and estimates err on the safe side.
            assert!(declared <= 1.25 * again, "{declared} of {again}");
        }
    }
}

/// A sender with declarations sends the same packets at the same times as one without.
#[test]
fn declarations_change_nothing_in_a_network_that_does_not_look() {
    let ecn = ("tcp.ecn", "true");
    let silent = with(&[ecn]);
    for conex in [SIGNALS, BYTES] {
        let declaring = with(&[ecn, conex]);
        assert_eq!(format!("{:?}", declaring.flows), format!("{:?}", silent.flows));
        assert_eq!(format!("{:?}", declaring.links), format!("{:?}", silent.links));
        assert!(count(&declaring, "ingress", "declared_mark_packets") > 0.0);
        assert_ne!(declaring.digest, silent.digest, "declarations are reported");
    }
}

/// RFC 7713, section 3.3: the declarations of each flow, by kind, equal those counted at its user's ingress.
#[test]
fn what_each_flow_declares_is_reported_by_kind() {
    let jitter = ("host_jitter", "\"off\"");
    for conex in [SIGNALS, BYTES] {
        let output =
            with(&[conex, jitter, ("tcp.ecn", "true"), ("bottleneck.buffer", "\"25 packets\"")]);
        let reported = &output.declarations;
        assert_eq!((&reported.flow, &reported.user), (&vec![0, 1, 2], &vec![0; 3]));
        for (packets, bytes, kind) in [
            (&reported.loss_packets, &reported.loss_bytes, "loss"),
            (&reported.mark_packets, &reported.mark_bytes, "mark"),
            (&reported.credit_packets, &reported.credit_bytes, "credit"),
        ] {
            let passed = count(&output, "ingress", &format!("declared_{kind}_packets"));
            assert_eq!(packets.iter().sum::<u64>() as f64, passed, "{kind}");
            assert_eq!(packets.iter().all(|&own| own > 0), kind != "credit" || conex == BYTES);
            assert!(packets.iter().zip(bytes).all(|(packets, bytes)| *bytes == 1460 * packets));
        }
    }
    assert!(with(&[]).declarations.flow.is_empty(), "who declares nothing has no row");
}

/// For short flows, whose last marks arrive when no data is left to declare them on: over all connections of the flow.
#[test]
fn what_a_connection_leaves_goes_on_the_next_where_that_is_asked_for() {
    let declared_and_met = |carrier: &str| {
        let conex = format!("{{ kind = \"per-signal\", carrier = \"{carrier}\" }}");
        let output = with(&[
            ("tcp.conex", &conex),
            ("tcp.ecn", "true"),
            ("tcp.feedback", "\"accurate\""),
            ("host_jitter", "\"off\""),
            (
                "users.one.traffic",
                "{ kind = \"short-flows\", size = \"14600 B\", every = \"40 ms\" }",
            ),
            ("bottleneck.aqm.gentle", "true"),
            ("bottleneck.buffer", "\"300 packets\""),
        ]);
        let reported = &output.declarations;
        let declared = reported.mark_packets.iter().sum::<u64>() as f64;
        assert_eq!(declared, count(&output, "ingress", "declared_mark_packets"));
        (declared, count(&output, "egress", "marked_packets"))
    };
    let (declared, met) = declared_and_met("new-data");
    assert!(declared < 0.9 * met, "{declared} of {met}");
    let (declared, met) = declared_and_met("new-data-or-next");
    assert!(declared <= met && declared > 0.97 * met, "{declared} of {met}");
}

/// Cheating senders, with the declared part of their congestion.
#[test]
fn liars_declare_what_they_admit() {
    let declared = |cheat: &str| {
        let conex = format!("{{ kind = \"rfc7786\", credit = \"flight\", cheat = {cheat} }}");
        let options = [
            ("tcp.conex", conex.as_str()),
            ("tcp.ecn", "true"),
            ("tcp.feedback", "\"dctcp\""),
            ("bottleneck.aqm.gentle", "true"),
            ("bottleneck.buffer", "\"300 packets\""),
            ("tcp.window_limit", "\"90 kB\""),
        ];
        let output = with(&options);
        let met = count(&output, "egress", "marked_packets");
        let counts = ["declared_mark_packets", "declared_loss_packets", "declared_credit_packets"];
        counts.map(|kind| count(&output, "ingress", kind) / met)
    };
    let [honest, _, credit] = declared("\"none\"");
    assert!(honest > 0.9 && credit > 1.0);
    assert_eq!(declared("\"never\""), [0.0; 3]);
    let [marks, losses, given] = declared("\"credit-alone\"");
    assert!(marks + losses == 0.0 && given > 1.0, "as much credit as is used up");
    for share in [0.1, 0.5, 0.9] {
        let [marks, losses, _] = declared(&format!("{{ kind = \"understate\", share = {share} }}"));
        assert!((marks / honest - share).abs() < 0.02, "{share}: {marks}");
        assert_eq!(losses, 0.0);
    }
    let [marks, losses, _] = declared("\"loss-for-mark\"");
    assert_eq!((marks, losses), (0.0, honest));
    let [marks, ..] = declared("{ kind = \"late\", by = \"3 s\" }");
    assert!(marks < honest && marks > 0.7 * honest);
    let [marks, _, hoarded] = declared("{ kind = \"hoard\", credit = \"50 kB\" }");
    assert!(marks < 0.1 * honest && hoarded > credit, "{marks}, {hoarded}");
}

/// A whitewashing sender begins a new flow when the credit of the last is used up: it declares nothing, gives credit in
/// each flow for the data in flight, and none for what is used up.
#[test]
fn a_sender_that_whitewashes_goes_when_its_credit_is_used_up() {
    let with_traffic = |traffic: &str| {
        with(&[
            ("tcp.conex", r#"{ kind = "rfc7786", credit = "half-flight", cheat = "whitewash" }"#),
            ("tcp.ecn", "true"),
            ("tcp.feedback", "\"accurate\""),
            ("bottleneck.aqm.max_probability", "1.0"),
            ("users.one.traffic", traffic),
        ])
    };
    for traffic in [
        r#"{ kind = "transfer", size = "1 GB", pause = "1 ms" }"#,
        r#"{ kind = "transfer", size = "1 GB", pause = "1 ms", write_size = "20 kB", write_interval = "20 ms" }"#,
    ] {
        let output = with_traffic(traffic);
        let sizes = output.transfers.size_bytes.iter().zip(&output.transfers.completion_s);
        let over: Vec<_> =
            sizes.filter(|(_, took)| !took.is_nan()).map(|(size, _)| *size).collect();
        assert!(over.len() > 30, "{} flows are over", over.len());
        assert!(over.iter().all(|size| (1_000..1_000_000_000).contains(size)), "{over:?}");
        let declared = ["declared_mark_packets", "declared_loss_packets"];
        assert_eq!(declared.map(|kind| count(&output, "ingress", kind)), [0.0; 2]);
        // The congestion equals the credit, except for one window per flow, in which more congestion may occur than
        // ends the flow.
        let given = count(&output, "ingress", "declared_credit_packets");
        let met = count(&output, "egress", "marked_packets")
            + output.flows.losses.iter().sum::<u64>() as f64;
        assert!(given > 0.2 * met && given < 2.0 * met, "{given} given, {met} met");
    }
    let once = with_traffic(r#"{ kind = "transfer", size = "1 GB" }"#);
    assert_eq!(once.transfers.size_bytes.len(), 3, "one for each flow, and no other begins");
}

/// RFC 7713, section 3.3: an aggregate of flows is audited at its egress without per-flow state, by the totals of
/// declarations and congestion.
#[test]
fn a6_a_crowd_of_flows_is_audited_without_state_for_any_of_them() {
    let left = |cheat: &str| {
        let conex = format!("{{ kind = \"rfc7786\", cheat = {cheat} }}");
        let output = with(&[
            ("tcp.conex", &conex),
            ("tcp.ecn", "true"),
            ("tcp.feedback", "\"accurate\""),
            ("bottleneck.aqm.gentle", "true"),
            ("bottleneck.buffer", "\"300 packets\""),
            ("tcp.window_limit", "\"30 kB\""),
            ("users.one.flows", "9"),
        ]);
        let bytes = |name| count(&output, "egress", name);
        (bytes("marked_bytes"), bytes("declared_mark_bytes"))
    };
    let (met, declared) = left("\"none\"");
    assert!(met > 1e6 && declared <= met && met - declared < 9.0 * 30e3, "{declared} of {met}");
    let (met, declared) = left("{ kind = \"understate\", share = 0.5 }");
    assert!((declared / met - 0.5).abs() < 0.05, "{declared} of {met}");
}

/// RFC 7837, section 3, and RFC 7786, section 2: every packet with payload has X set, retransmissions included; packets
/// without payload, the three SYNs, need not.
#[test]
fn s2_every_packet_with_payload_takes_part_retransmissions_included() {
    for conex in [SIGNALS, BYTES] {
        let observed = r#"[{ kind = "conex-policer", fill_rate = "1 packets/s", depth = "9 packets", tokens = "packets", curve = "observe" }]"#;
        let output = with(&[conex, ("bottleneck.loss", "0.02"), ("users.one.ingress", observed)]);
        let flows = &output.flows;
        assert!(flows.retransmits.iter().sum::<u64>() > 50);
        let sent: u64 = flows.packets_sent.iter().sum();
        let part = count(&output, "ingress", "conex_packets");
        let outside = count(&output, "ingress", "not_conex_packets");
        assert_eq!(outside, 3.0, "{conex:?}");
        // Except for packets still in transit.
        assert!((0.0..3.0).contains(&(sent as f64 - part - outside)), "{part} of {sent}");
    }
}

/// Without congestion only credit is declared, for the data in flight.
#[test]
fn without_congestion_credit_alone_is_declared() {
    let free = [
        BYTES,
        ("bottleneck.buffer", "\"1000 packets\""),
        ("bottleneck.aqm", "\"drop-tail\""),
        ("tcp.window_limit", "\"30 kB\""),
    ];
    let output = with(&free);
    for kind in ["declared_loss_packets", "declared_mark_packets"] {
        assert_eq!(count(&output, "ingress", kind), 0.0);
    }
    // 30 kB are 20 segments of 1460 bytes, for each of three flows.
    assert_eq!(count(&output, "ingress", "declared_credit_packets"), 3.0 * 20.0);
}

/// Runs a network in which re-ECN packets are marked or lost, with this sender.
fn re_ecn(conex: &str, more: &[(&str, &str)]) -> RunOutput {
    let conex = format!("{{ kind = \"re-ecn\", {conex} }}");
    let mut options = vec![
        ("tcp.conex", conex.as_str()),
        ("tcp.ecn", "true"),
        ("tcp.feedback", "\"accurate\""),
        ("bottleneck.aqm.gentle", "true"),
        ("bottleneck.buffer", "\"300 packets\""),
        ("tcp.window_limit", "\"90 kB\""),
    ];
    options.extend(more);
    with(&options)
}

/// As many packets are positive as were marked, except for those in transit; losses are declared as well, and lost
/// declarations are repeated.
#[test]
fn positive_packets_answer_marks_one_by_one() {
    let output = re_ecn("credit = \"off\"", &[]);
    assert_eq!(output.flows.losses.iter().sum::<u64>(), 0);
    let (met, positive) =
        (count(&output, "egress", "marked_packets"), count(&output, "ingress", "re_echo_packets"));
    assert!(met > 50.0 && positive <= met && positive > met - IN_FLIGHT, "{positive} of {met}");

    let lossy = [("bottleneck.loss", "0.01")];
    let output = re_ecn("credit = \"off\", losses = true", &lossy);
    let lost = output.flows.losses.iter().sum::<u64>() as f64;
    let signals = count(&output, "egress", "marked_packets") + lost;
    let positive = count(&output, "ingress", "re_echo_packets");
    assert!(lost > 50.0 && (signals - positive).abs() < IN_FLIGHT, "{positive} of {signals}");
    let silent = re_ecn("credit = \"off\"", &lossy);
    let met = count(&silent, "egress", "marked_packets");
    let repeated = count(&silent, "ingress", "re_echo_packets") - met;
    assert!(repeated.abs() < IN_FLIGHT, "{repeated}");
}

/// A user with 36 flows beside nine with one, behind policers that drop or deprioritise what is above the allowance.
fn above_allowance(action: &str, lights: &str) -> RunOutput {
    let policer = format!(
        r#"[{{ kind = "conex-policer", fill_rate = "20 packets/s", depth = "20 packets", tokens = "packets", curve = "strict", action = "{action}" }}]"#
    );
    let network = r#"
version = 1
warm_up = "10 s"
duration = "20 s"
[bottleneck]
rate = "10 Mb/s"
delay = "20 ms"
ecn = true
scheduler = { kind = "cake", tins = "diffserv3", isolation = "flowblind" }
[tcp]
ecn = true
feedback = "dctcp"
conex = "per-signal"
[users.heavy]
flows = 36
[users.light]
count = 9
"#;
    let set = [
        ("users.heavy.ingress", &policer[..]),
        ("users.light.ingress", &policer),
        ("users.light.traffic", lights),
    ];
    run(&plan_with(network, &set), 1)
}

/// Returns the throughputs of the heavy user and of all light ones, Mb/s.
fn heavy_and_light(output: &RunOutput) -> [f64; 2] {
    let (heavy, light) = output.flows.throughput_bps.split_at(36);
    [heavy, light].map(|flows| flows.iter().sum::<f64>() / 1e6)
}

/// A policer that deprioritises leaves light users what one that drops leaves them, and the heavy user the rest.
#[test]
fn a_user_above_its_allowance_gets_what_others_leave_where_it_is_deprioritised() {
    let both = |lights: &str| {
        ["drop", "deprioritise"].map(|action| heavy_and_light(&above_allowance(action, lights)))
    };
    let [[_, beside_drops], [heavy, light]] = both("\"greedy\"");
    assert!(light > 0.9 * beside_drops, "{light} Mb/s, {beside_drops} with drops");
    assert!(heavy < 1.3 && heavy + light > 9.5, "{heavy} of {} Mb/s", heavy + light);
    let [[stopped, _], [alone, _]] =
        both(r#"{ kind = "transfer", size = "1 kB", pause = "1000 s" }"#);
    assert!(stopped < 2.0 && alone > 9.0, "{alone} Mb/s alone, {stopped} with drops");
}
