//! Re-ECN in whole runs: declarations of senders, policers, and droppers.

use crate::common;

use std::ops::Range;

use common::plan_with;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const NETWORK: &str = r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "60 s"
[bottleneck]
rate = "20 Mb/s"
delay = "20 ms"
buffer = "200 packets"
ecn = true
aqm = { kind = "red", min_threshold = "5 packets", max_threshold = "50 packets", gentle = true }
[tcp]
ecn = true
feedback = "accurate"
conex = "re-ecn"
[users.victims]
count = 4
egress = ["re-ecn-dropper"]
[users.other]
egress = ["re-ecn-dropper"]
"#;

const POLICER: &str = r#"[{ kind = "re-ecn-policer", buckets = "by-user", fill_rate = "5 Mb/s", depth = "100 kB", round_trip = "50 ms" }]"#;

/// Returns the sum of a count of the stages of these users.
fn count(output: &RunOutput, users: Range<u32>, count: &str) -> f64 {
    let table = &output.stages;
    let rows = (0..table.value.len())
        .filter(|&row| users.contains(&table.user[row]) && table.count[row] == count);
    rows.map(|row| table.value[row]).sum::<u64>() as f64
}

fn mbps(output: &RunOutput, users: Range<u32>) -> f64 {
    let flows = &output.flows;
    let own = (0..flows.user.len()).filter(|&flow| users.contains(&flows.user[flow]));
    own.map(|flow| flows.throughput_bps[flow]).sum::<f64>() / 1e6
}

fn with(options: &[(&str, &str)]) -> RunOutput {
    run(&plan_with(NETWORK, options), 1)
}

/// Behind the bottleneck, the declarations of honest senders equal the marks plus the credit. The dropper drops nothing
/// of senders whose credit covers all data in flight; with half of it hardly anything, where slow start ends in more
/// marks than that.
#[test]
fn the_balance_of_honest_flows_is_their_credit() {
    let negative = |output: &RunOutput| count(output, 0..5, "dropped: negative balance");
    let half = with(&[]);
    let sent = half.flows.packets_sent.iter().sum::<u64>() as f64;
    assert!(negative(&half) < 1e-3 * sent, "{} of {sent}", negative(&half));
    let output = with(&[("tcp.conex", r#"{ kind = "re-ecn", credit = "flight" }"#)]);
    for user in 0..5 {
        let of = |what| count(&output, user..user + 1, what);
        let (positive, negative) = (of("positive_bytes"), of("negative_bytes"));
        assert!(negative > 50e3 && of("credit_bytes") > 0.0, "{user}: {negative}");
        let lost = output.flows.losses[user as usize] as f64 * 1500.0;
        let in_flight = 60.0 * 1500.0;
        assert!(positive - negative <= lost && negative - positive < in_flight, "{user}");
        assert_eq!(of("dropped: negative balance") + of("dropped: nothing declared"), 0.0);
    }
}

/// On a link that is never full hardly anything is marked, for any loss rate, and declarations match: an ACK after a
/// retransmission or a timeout covers many segments, but duplicates have reported their marks.
#[test]
fn losses_without_congestion_are_not_declared() {
    for recovery in ["newreno", "reno", "sack"] {
        let output = with(&[
            ("bottleneck.rate", "200 Mb/s"),
            ("bottleneck.loss", "0.01"),
            ("tcp.loss_recovery", recovery),
            ("tcp.accurate_option", "off"),
        ]);
        let [sent, lost, marks] =
            [&output.flows.packets_sent, &output.flows.losses, &output.links.marks]
                .map(|counts| counts.iter().sum::<u64>());
        assert!(sent > 30_000 && lost > 300 && marks < 5, "{sent} {lost} {marks}");
        let declared = count(&output, 0..5, "positive_packets");
        assert!(declared <= marks as f64, "{recovery}: {declared} of {marks}");
    }
}

/// A sender that declares none of its marks gets next to nothing behind a dropper, and more than others without one.
#[test]
fn a_sender_that_declares_nothing_has_nothing_behind_a_dropper() {
    let cheat = ("users.other.tcp.conex", r#"{ kind = "re-ecn", cheat = "never" }"#);
    let audited = with(&[cheat]);
    assert!(mbps(&audited, 4..5) < 0.1, "{}", mbps(&audited, 4..5));
    let free = with(&[cheat, ("users.other.egress", "[]")]);
    assert!(mbps(&free, 4..5) > 2.0);
}

/// UDP that keeps its rate passes a dropper if it declares the marks that its receiver reports, with credit for a round
/// trip, and loses more than half if it declares none.
#[test]
fn an_unresponsive_sender_that_declares_its_marks_passes_a_dropper() {
    let flood = |more: &str| {
        let conex = format!("{{ kind = \"re-ecn\"{more} }}");
        let traffic = format!("{{ kind = \"cbr\", rate = \"5 Mb/s\", conex = {conex} }}");
        let output = with(&[("users.other.start", "\"5 s\""), ("users.other.traffic", &traffic)]);
        let dropped = count(&output, 4..5, "dropped: negative balance")
            + count(&output, 4..5, "dropped: nothing declared");
        (mbps(&output, 4..5), dropped, output)
    };
    let (rate, dropped, output) = flood(", marks = 1.0, losses = 1.0, credit = \"100 kB\"");
    let [positive, negative] =
        ["positive_bytes", "negative_bytes"].map(|name| count(&output, 4..5, name));
    assert!(negative > 50e3 && positive > 0.95 * negative, "{positive} of {negative}");
    assert!(rate > 4.5 && dropped < 10.0, "{rate} Mb/s, {dropped} dropped");
    let (rate, ..) = flood("");
    assert!(rate < 2.5, "{rate} Mb/s");
}

/// A sender that declares only while its data in flight are few gets less than honest users.
#[test]
fn a_sender_that_is_positive_only_while_slow_gains_nothing_behind_a_dropper() {
    let slow = r#"{ kind = "re-ecn", cheat = { kind = "while-slow", flight = "8 kB" } }"#;
    let output = with(&[("users.other.tcp.conex", slow)]);
    let (own, others) = (mbps(&output, 4..5), mbps(&output, 0..4) / 4.0);
    assert!(count(&output, 4..5, "dropped: negative balance") > 100.0);
    assert!(own < others, "{own} of {others}");
}

/// Figure 2a of the paper: senders use re-ECN, and the dropper is at the serving gateway or at eNodeBs.
const MOBILE: &str = r#"
version = 1
warm_up = "0 s"
duration = "60 s"
[tcp]
ecn = true
feedback = "accurate"
conex = { kind = "re-ecn", credit = "flight" }
[mobile]
enodebs = 2
rate = "10 Mb/s"
delay = "5 ms"
buffer = "200 packets"
ecn = true
aqm = { kind = "red", min_threshold = "5 packets", max_threshold = "50 packets", gentle = true }
wired = { delay = "5 ms" }
radio = { delay = "5 ms" }
[users.honest]
count = 4
from = "G1"
to = "phones1"
[users.beside]
from = "G1"
to = "phones2"
[users.silent]
from = "G1"
to = "phones2"
tcp.conex = { kind = "re-ecn", cheat = "never" }
[users.sparing]
from = "G1"
to = "phones2"
tcp.conex = { kind = "re-ecn", cheat = { kind = "understate", share = 0.1 } }
"#;

/// Cheats lose at a dropper in either place, and honest users lose nothing by its being at the eNodeB.
#[test]
fn liars_lose_at_a_serving_gateway_and_at_an_enodeb_and_the_honest_at_neither() {
    let (honest, silent, sparing) = (0..5, 5..6, 6..7);
    let with = |options: &[(&str, &str)], seed| run(&plan_with(MOBILE, options), seed);
    let free = with(&[], 1);
    assert!(mbps(&free, silent.clone()) > 1.0 && mbps(&free, sparing.clone()) > 1.0);
    for place in ["mobile.serving_gateway", "mobile.enodeb"] {
        let outputs: Vec<_> =
            (1..=6).map(|seed| with(&[(place, r#"["re-ecn-dropper"]"#)], seed)).collect();
        let of = |users: &Range<u32>, what| {
            outputs.iter().map(|output| count(output, users.clone(), what)).sum::<f64>()
        };
        let lost = |users: &Range<u32>| {
            of(users, "dropped: negative balance") + of(users, "dropped: nothing declared")
        };
        let (marked, declared) = (of(&honest, "negative_bytes"), of(&honest, "positive_bytes"));
        assert!(marked > 300e3 && declared > 300e3, "{place}: {declared} of {marked}");
        assert_eq!(lost(&honest), 0.0, "{place}");
        let came = of(&silent, "undeclared_bytes") / 1500.0;
        assert!(lost(&silent) > 0.3 * came, "{place}: {} of {came}", lost(&silent));
        assert!(lost(&sparing) > 100.0, "{place}: {}", lost(&sparing));
        let mean = |users: &Range<u32>| {
            outputs.iter().map(|output| mbps(output, users.clone())).sum::<f64>() / 6.0
        };
        let (each, silent, sparing) = (mean(&honest) / 5.0, mean(&silent), mean(&sparing));
        assert!(silent < 0.1 && sparing < 0.95 * each, "{place}: {silent}, {sparing} of {each}");
    }
}

/// A flood that uses re-ECN and never declares is dropped behind the queue that marks it, as long as it lasts.
#[test]
fn a_flood_that_ignores_marks_is_dropped_behind_the_link_and_ends_in_time() {
    let flood = r#"{ kind = "cbr", rate = "40 Mb/s", conex = "re-ecn", lasts = "20 s" }"#;
    let output = with(&[("users.other.traffic", flood)]);
    let sent = output.flows.packets_sent[4] as f64;
    assert!((sent - 40e6 * 20.0 / 12e3).abs() <= 1.0, "{sent}");
    assert!(count(&output, 4..5, "dropped: nothing declared") > 0.1 * sent);
    assert!(mbps(&output, 4..5) < 0.5, "{}", mbps(&output, 4..5));
}

/// A flood at ten times the fair share takes the throughput of others, except behind a policer.
#[test]
fn a_flood_is_held_to_the_fill_rate_and_victims_keep_what_they_had() {
    let flood = ("users.other.traffic", r#"{ kind = "cbr", rate = "40 Mb/s" }"#);
    let policed = [("users.victims.ingress", POLICER), ("users.other.ingress", POLICER)];
    let before = mbps(&with(&policed), 0..4);
    let open = mbps(&with(&[flood]), 0..4);
    let kept = with(&[&policed[..], &[flood]].concat());
    assert!(open < 0.2 * before, "{open} of {before}");
    assert!(mbps(&kept, 0..4) > 0.85 * before, "{} of {before}", mbps(&kept, 0..4));
    assert!((mbps(&kept, 4..5) - 5.0).abs() < 0.3, "{}", mbps(&kept, 4..5));
}

/// Without marks, policers and droppers change only their own counts.
#[test]
fn without_congestion_re_ecn_stages_change_nothing() {
    let free = [("tcp.window_limit", "\"15 kB\""), ("bottleneck.aqm", "\"drop-tail\"")];
    let wide = r#"[{ kind = "re-ecn-policer", fill_rate = "9 Mb/s", depth = "100 kB", round_trip = "50 ms" }]"#;
    let policed = [("users.victims.ingress", wide), ("users.other.ingress", wide)];
    let plain = with(
        &[&free[..], &[("users.victims.egress", "[]"), ("users.other.egress", "[]")]].concat(),
    );
    assert_eq!(with(&[&free[..], &policed].concat()).digest, plain.digest);
}

/// A policer with measured round trips gives near flows the same as one with configured round trips; applying the round
/// trip of the far one would cost near flows a tenth.
#[test]
fn near_and_far_flows_are_held_by_round_trips_that_are_measured_alone() {
    let near_mbps = |near: &str, far: &str| {
        let [near, far] = [near, far].map(|known| {
            format!(
                r#"[{{ kind = "re-ecn-policer", fill_rate = "8 Mb/s", depth = "100 kB", {known} }}]"#
            )
        });
        let plan = plan_with(
            NETWORK,
            &[
                ("users.other.access", r#"{ rate = "1 Gb/s", delay = "30 ms" }"#),
                ("users.victims.ingress", &near),
                ("users.other.ingress", &far),
            ],
        );
        (1..=4).map(|seed| mbps(&run(&plan, seed), 0..4)).sum::<f64>() / 4.0
    };
    let measured = near_mbps("measures = true", "measures = true");
    let [own, of_far] = [r#"round_trip = "44 ms""#, r#"round_trip = "100 ms""#]
        .map(|near| near_mbps(near, r#"round_trip = "100 ms""#));
    assert!((measured / own - 1.0).abs() < 0.04, "{measured} of {own} Mb/s");
    assert!(of_far < 0.93 * measured, "{of_far} of {measured} Mb/s");
}
