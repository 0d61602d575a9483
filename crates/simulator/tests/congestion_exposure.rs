//! Congestion exposure in whole runs: policers at the ingress, auditors at the egress.

use crate::common;

use std::collections::BTreeSet;

use common::plan_with;
use common::scenarios::exact;
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const CONEX: &str = include_str!("../../../scenarios/conex-paper.toml");

/// Auditors in front of all receivers; senders give the credit that auditors require.
const AUDITED: [(&str, &str); 3] = [
    ("tcp.conex", "\"rfc7786\""),
    ("users.heavy.egress", "[\"conex-auditor\"]"),
    ("users.light.egress", "[\"conex-auditor\"]"),
];
/// All congestion consists of losses.
const LOSSES_ALONE: [(&str, &str); 4] = [
    ("tcp.conex", "\"rfc7786\""),
    ("tcp.ecn", "false"),
    ("tcp.feedback", "\"classic\""),
    ("bottleneck.ecn", "false"),
];
/// Auditors in front of the network instead, where no mark is set yet.
const NEAR_THE_SENDER: [(&str, &str); 2] = [
    ("users.heavy.ingress", r#"[{ kind = "conex-auditor", losses = "repeat" }]"#),
    ("users.light.ingress", r#"[{ kind = "conex-auditor", losses = "repeat" }]"#),
];
/// One auditor for all at the bottleneck.
const AT_THE_QUEUE: [(&str, &str); 1] =
    [("bottleneck.egress", r#"[{ kind = "conex-auditor", losses = "queue" }]"#)];
const UNPOLICED: [(&str, &str); 2] = [("users.heavy.ingress", "[]"), ("users.light.ingress", "[]")];

fn with(overrides: &[&[(&str, &str)]]) -> RunOutput {
    run(&plan_with(CONEX, &overrides.concat()), 1)
}

/// Returns the throughput of a user with several flows over that of a user with one.
fn unfairness(output: &RunOutput) -> f64 {
    let of = |heavy: bool| {
        let flows = &output.flows;
        let own = (0..flows.flow.len()).filter(|&flow| (flows.user[flow] == 0) == heavy);
        own.map(|flow| flows.throughput_bps[flow]).sum::<f64>()
    };
    of(true) / (of(false) / 9.0)
}

/// Returns the sum of a count over all stages at one end of a group.
fn count(output: &RunOutput, group: &str, end: &str, count: &str) -> u64 {
    let table = &output.stages;
    let here = |name: &str| name.starts_with(group) && name.contains(end);
    let rows =
        (0..table.value.len()).filter(|&row| here(&table.stage[row]) && table.count[row] == count);
    rows.map(|row| table.value[row]).sum()
}

/// Purpose of the paper, section IV-B: without a policer a user's throughput is proportional to its flows, 36 times;
/// with a policer the user is limited, and users with one flow are unaffected.
#[test]
fn a_user_with_36_flows_is_held_by_what_its_senders_declare() {
    assert!(unfairness(&with(&[&UNPOLICED])) > 25.0);
    let policed = with(&[]);
    let left = unfairness(&policed);
    assert!(left < 4.0, "{left}");
    assert!(count(&policed, "heavy", "ingress", "dropped: over allowance") > 500);
    assert_eq!(count(&policed, "light", "ingress", "dropped: over allowance"), 0);
}

#[test]
fn observing_changes_nothing() {
    let plain = with(&[&UNPOLICED]);
    let observer = r#"[{ kind = "conex-policer", fill_rate = "3 packets/s", depth = "45 packets", tokens = "packets", curve = "observe" }]"#;
    let observers = [("users.heavy.ingress", observer), ("users.light.ingress", observer)];
    let observed = with(&[&observers]);
    assert_eq!(observed.digest, plain.digest);
    assert!(count(&observed, "heavy", "ingress", "over_allowance_packets") > 1_000);
}

/// A policer of users that declare nothing drops nothing: every packet is the same as without it.
#[test]
fn without_congestion_policers_and_auditors_change_nothing() {
    let calm = [
        ("bottleneck.rate", "\"1 Gb/s\""),
        ("bottleneck.buffer", "\"10000 packets\""),
        ("bottleneck.aqm", "\"drop-tail\""),
        ("duration", "\"10 s\""),
        ("tcp.conex", "\"rfc7786\""),
    ];
    let deep = r#"[{ kind = "conex-policer", fill_rate = "3 packets/s", depth = "10000 packets", tokens = "packets", curve = "strict" }]"#;
    let policed = [("users.heavy.ingress", deep), ("users.light.ingress", deep)];
    let with_all = with(&[&AUDITED, &policed, &calm]);
    assert_eq!(with_all.digest, with(&[&UNPOLICED, &calm]).digest);
    assert_eq!(count(&with_all, "", "ingress", "declared_mark_packets"), 0);
}

/// A network whose queue holds all data ever in flight, and serves it within a propagation delay.
fn calm() -> impl Strategy<Value = String> {
    let traffic = select(vec![
        r#"{ kind = "greedy" }"#,
        r#"{ kind = "transfer", size = "90 kB", pause = "20 ms" }"#,
        r#"{ kind = "transfer", size = "9 kB", pause = "5 ms", pause_distribution = "exponential" }"#,
        r#"{ kind = "on-off", on = "300 ms", off = "100 ms" }"#,
    ]);
    let tcp = (
        select(vec!["sack", "rack", "newreno"]),
        select(vec!["cubic", "reno", "compound"]),
        select(vec!["", "ecn = true\n", "ecn = true\nfeedback = \"accurate\"\n"]),
    );
    (1..4u32, 1..5u32, 10..45u32, 2..40u32, traffic, tcp).prop_map(
        |(users, flows, window, delay, traffic, (recovery, controller, feedback))| {
            let in_flight = users * flows * (window + 1);
            let mbps = in_flight * 1500 * 8 / (1000 * delay) + 1;
            format!(
                "version = 1\nwarm_up = \"0 s\"\nduration = \"3 s\"\n\
                 [bottleneck]\nrate = \"{mbps} Mb/s\"\ndelay = \"{delay} ms\"\n\
                 buffer = \"{} packets\"\necn = true\n\
                 [tcp]\nwindow_limit = \"{} B\"\nloss_recovery = \"{recovery}\"\n\
                 congestion_control = \"{controller}\"\n{feedback}\
                 [users.one]\ncount = {users}\nflows = {flows}\ntraffic = {traffic}\n",
                2 * in_flight,
                window * 1400,
            )
        },
    )
}

proptest! {
    #![proptest_config(exact(60))]

    /// For any declarations and stages, every packet is the same as without ConEx.
    #[test]
    fn a_network_without_congestion_behaves_as_without_conex(
        text in calm(),
        conex in select(vec![
            r#""per-signal""#,
            r#""rfc7786""#,
            r#"{ kind = "rfc7786", credit = "half-flight", carrier = "new-data" }"#,
        ]),
        curve in select(vec!["strict", "mild", "soft"]),
        seed in 0..1000u64,
    ) {
        let policer = format!(
            "[{{ kind = \"conex-policer\", fill_rate = \"1 packets/s\", depth = \"2 packets\", tokens = \"packets\", \
             curve = \"{curve}\", charge_credit = false }}]"
        );
        let declare = ("tcp.conex", conex);
        // Auditors cannot distinguish a sender without credit from a cheat before the first mark, so there is a lint.
        let auditors = if conex.contains("per-signal") { "[]" } else { "[\"conex-auditor\"]" };
        let looked_at = [declare, ("users.one.ingress", &policer), ("users.one.egress", auditors)];
        let plain = run(&plan_with(&text, &[]), seed);
        let declared = run(&plan_with(&text, &[declare]), seed);
        let watched = run(&plan_with(&text, &looked_at), seed);
        // A spurious timeout counts as a loss, and is declared.
        prop_assume!(plain.flows.retransmits.iter().all(|&again| again == 0));
        prop_assert_eq!(plain.flows.losses.iter().sum::<u64>(), 0, "{}", text);
        prop_assert_eq!(format!("{:?}", plain.flows), format!("{:?}", declared.flows), "{}", text);
        prop_assert_eq!(format!("{:?}", plain.links), format!("{:?}", declared.links), "{}", text);
        prop_assert_eq!(&declared.digest, &watched.digest, "{}", text);
        prop_assert!(count(&watched, "one", "ingress", "conex_packets") > 0);
    }
}

/// The same flows, with a fifth of all acknowledgements lost.
const LOSSY_REVERSE_PATH: &str = r#"
version = 1
warm_up = "0 s"
duration = "60 s"
[links.there]
from = "here"
to = "there"
duplex = false
rate = "10 Mb/s"
delay = "48 ms"
buffer = "83 packets"
ecn = true
aqm = { kind = "red", min_threshold = "8 packets", max_threshold = "83 packets", max_probability = 1.0 }
[links.back]
from = "there"
to = "here"
duplex = false
rate = "1 Gb/s"
loss = 0.2
[tcp]
ecn = true
feedback = "dctcp"
conex = "rfc7786"
[users.light]
count = 9
from = "here"
to = "there"
egress = ["conex-auditor"]
"#;

/// The arrangement of RFC 7713, section 5.5: senders without ECN, in ECN-capable tunnels. The queue marks, and the
/// tunnel egress drops marked packets, after an auditor has seen them.
const TUNNELS: &str = r#"
version = 1
warm_up = "0 s"
duration = "60 s"
[tcp]
conex = "rfc7786"
[links.core]
from = "gateway"
to = "enodeb"
duplex = false
rate = "10 Mb/s"
delay = "48 ms"
buffer = "83 packets"
ecn = true
aqm = { kind = "red", min_threshold = "8 packets", max_threshold = "83 packets", max_probability = 1.0 }
ingress = [{ kind = "pdn-gateway", ecn_rules = "rfc7713" }]
egress = [
    { kind = "conex-auditor", losses = "tunnel" },
    { kind = "enodeb", ecn_rules = "rfc7713" },
]
[links.back]
from = "enodeb"
to = "gateway"
duplex = false
rate = "1 Gb/s"
[users.honest]
flows = 9
from = "gateway"
to = "enodeb"
[users.cheat]
flows = 9
from = "gateway"
to = "enodeb"
[users.light]
count = 7
from = "gateway"
to = "enodeb"
"#;

/// The auditor drops less than 0.1 % of their packets, with long flows and with slow starts, RED and drop-tail; more
/// where ACKs are lost.
#[test]
fn honest_flows_lose_almost_nothing_to_the_auditor() {
    let short =
        ("users.light.traffic", r#"{ kind = "transfer", size = "300 kB", pause = "50 ms" }"#);
    // Where ACKs are lost, runs vary more.
    let lossy =
        |more| (1..=6).map(|seed| run(&plan_with(LOSSY_REVERSE_PATH, more), seed)).collect();
    for (what, outputs) in [
        ("long flows", vec![with(&[&AUDITED, &UNPOLICED])]),
        ("drop-tail", vec![with(&[&AUDITED, &UNPOLICED, &[("bottleneck.aqm", "\"drop-tail\"")]])]),
        ("slow starts", vec![with(&[&AUDITED, &UNPOLICED, &[short]])]),
        ("near the sender", vec![with(&[&LOSSES_ALONE, &NEAR_THE_SENDER])]),
        (
            "near the sender, and slow starts",
            vec![with(&[&LOSSES_ALONE, &NEAR_THE_SENDER, &[short]])],
        ),
        ("at the queue", vec![with(&[&LOSSES_ALONE, &AT_THE_QUEUE, &UNPOLICED])]),
        (
            "at the queue, and slow starts",
            vec![with(&[&LOSSES_ALONE, &AT_THE_QUEUE, &UNPOLICED, &[short]])],
        ),
        ("in tunnels", vec![run(&plan_with(TUNNELS, &[]), 1)]),
        ("ACKs lost", lossy(&[])),
        ("ACKs lost, and slow starts", lossy(&[short])),
    ] {
        let (mut audited, mut dropped) = (0, 0);
        for output in &outputs {
            audited += count(output, "", "", "audited_packets")
                + count(output, "", "", "undeclared_packets");
            let stages = &output.stages;
            // Losses at the tunnel egress are losses in the network.
            let by_auditor =
                |count: &str| count.starts_with("dropped") && !count.contains("ECN-capable");
            let drops = (0..stages.value.len()).filter(|&row| by_auditor(&stages.count[row]));
            dropped += drops.map(|row| stages.value[row]).sum::<u64>();
        }
        assert!(audited > 10_000, "{what}: {audited}");
        // Where a fifth of all ACKs is lost: 0.10 ± 0.02 % in 120 runs, and more in some.
        let most = if what.starts_with("ACKs lost") { audited / 333 } else { audited / 1_000 };
        assert!(dropped <= most, "{what}: {dropped} of {audited}");
    }
}

const AUDIT: &str = include_str!("../../../scenarios/conex-audit.toml");

/// Returns the throughput of the first two users: the honest one, and the cheat.
fn honest_and_cheat(text: &str, overrides: &[(&str, &str)]) -> [f64; 2] {
    let plan = plan_with(text, overrides);
    let flows = run(&plan, 1).flows;
    [0, 1].map(|user| {
        let own = (0..flows.flow.len()).filter(|&flow| flows.user[flow] == user);
        own.map(|flow| flows.throughput_bps[flow]).sum()
    })
}

/// Cheats that are detected at once: nothing declared, next to nothing, or credit alone.
#[test]
fn a_sender_that_declares_nothing_gains_without_auditors_and_loses_everything_with_them() {
    for cheat in ["\"never\"", "\"credit-alone\"", "{ kind = \"understate\", share = 0.1 }"] {
        let lies = format!("{{ kind = \"rfc7786\", cheat = {cheat} }}");
        let [honest, audited] = honest_and_cheat(AUDIT, &[("users.cheat.tcp.conex", &lies)]);
        assert!(audited < 0.5 * honest, "{cheat}: {audited} beside {honest}");
    }
    let [honest, unaudited] = honest_and_cheat(AUDIT, &[("users.cheat.egress", "[]")]);
    assert!(unaudited > 1.05 * honest, "{unaudited} beside {honest}");
}

/// The auditor counts all drops of the queue, and none of the wire behind it; drops at the tunnel egress are counted
/// before they occur.
#[test]
fn what_an_auditor_has_seen_lost_is_what_was_lost() {
    let at_queue =
        with(&[&LOSSES_ALONE, &AT_THE_QUEUE, &UNPOLICED, &[("bottleneck.loss", "0.01")]]);
    let links = &at_queue.links;
    let place = links.name.iter().position(|name| name == "bottleneck").expect("is there");
    let dropped = links.drops_full[place] + links.drops_aqm[place];
    assert!(dropped > 1_000 && links.drops_wire[place] > 100);
    assert_eq!(count(&at_queue, "bottleneck", "egress", "met_loss_bytes"), 1_500 * dropped);
    let in_tunnels = run(&plan_with(TUNNELS, &[]), 1);
    let lost = count(&in_tunnels, "core", "egress", "dropped: marked, and not ECN-capable");
    let met = count(&in_tunnels, "core", "egress", "met_loss_bytes");
    // SYNs are outside ConEx, and no debt if they are lost.
    let came = count(&in_tunnels, "core", "egress", "received");
    let requests = came - count(&in_tunnels, "core", "egress", "audited_packets");
    let met = (met / 1_544, met % 1_544);
    assert!(lost > 1_000 && requests < 200, "{lost} lost, {requests} requests");
    assert!(met.1 == 0 && (lost - requests..=lost).contains(&met.0), "{met:?} of {lost}");
}

/// Without marks, an auditor near the sender sees the retransmissions.
#[test]
fn a_sender_that_declares_half_of_its_losses_loses_more_near_the_sender() {
    let auditor = r#"[{ kind = "conex-auditor", losses = "repeat" }]"#;
    let half = r#"{ kind = "rfc7786", cheat = { kind = "understate", share = 0.5 } }"#;
    let cheats = [("users.cheat.tcp.conex", half), ("users.honest.egress", "[]")];
    let of_losses =
        [&LOSSES_ALONE[..], &cheats, &[("users.cheat.egress", "[]"), ("users.light.egress", "[]")]];
    let [honest, unaudited] = honest_and_cheat(AUDIT, &of_losses.concat());
    assert!(unaudited > 1.05 * honest, "{unaudited} beside {honest}");
    let entries = ["honest", "cheat", "light"].map(|user| format!("users.{user}.ingress"));
    let watched = entries.each_ref().map(|ingress| (ingress.as_str(), auditor));
    let [honest, audited] = honest_and_cheat(AUDIT, &[&of_losses.concat()[..], &watched].concat());
    assert!(audited < 0.5 * honest, "{audited} beside {honest}");
}

/// The same holds for an auditor notified by the queue, in front of the tunnel egress, or behind all queues: drops by
/// these have to be declared, too.
#[test]
fn a_sender_that_declares_half_of_its_losses_loses_more_wherever_they_show() {
    let half = r#"{ kind = "rfc7786", cheat = { kind = "understate", share = 0.5 } }"#;
    let everywhere = |end: &str, stages: &'static str| {
        ["honest", "cheat", "light"].map(|user| (format!("users.{user}.{end}"), stages))
    };
    let liar = [("users.cheat.tcp.conex", half)];
    let [unpoliced, unaudited] = ["ingress", "egress"].map(|end| everywhere(end, "[]"));
    let blind: Vec<_> = unpoliced.iter().chain(&unaudited).map(|(key, no)| (&**key, *no)).collect();
    let blind = [&LOSSES_ALONE[..], &liar, &blind].concat();
    let behind = everywhere("egress", "[\"conex-auditor\"]");
    let behind: Vec<_> = behind.iter().map(|(key, stages)| (&**key, *stages)).collect();
    let in_tunnels = ("links.core.egress", r#"[{ kind = "enodeb", ecn_rules = "rfc7713" }]"#);
    for (text, unaudited, audited, most) in [
        (AUDIT, blind.clone(), [&blind[..], &behind].concat(), 0.2),
        (AUDIT, blind.clone(), [&blind[..], &AT_THE_QUEUE].concat(), 0.2),
        (TUNNELS, [&liar[..], &[in_tunnels]].concat(), liar.to_vec(), 0.2),
    ] {
        let [honest, cheat] = honest_and_cheat(text, &unaudited);
        assert!(cheat > 0.9 * honest, "without an auditor: {cheat} beside {honest}");
        let [honest, cheat] = honest_and_cheat(text, &audited);
        assert!(cheat < most * honest, "{cheat} beside {honest}");
    }
}

/// The fill of a bucket and the balance of an audit are sampled for the first users of each group, and cost nothing
/// without sampling.
#[test]
fn fills_and_balances_are_series() {
    let output = with(&[&AUDITED]);
    let series = &output.stage_series;
    let rows = |stage: &str, level: &str| {
        (0..series.amount.len())
            .filter(|&row| series.stage[row] == stage && series.level[row] == level)
            .map(|row| series.amount[row])
            .collect::<Vec<_>>()
    };
    let fill = rows("heavy.0.ingress.0", "fill_packets");
    assert!(fill.len() > 300);
    assert!(fill.iter().all(|fill| (-4.5..=45.0).contains(fill)));
    assert!(fill.iter().any(|fill| *fill < 0.0), "he is policed");
    assert!(!rows("light.0.egress.0", "balance_bytes").is_empty());
    assert!(rows("light.1.egress.0", "balance_bytes").is_empty(), "the first of each group");
    assert!(with(&[&[("sample_interval", "\"off\"")]]).stage_series.amount.is_empty());
    let output = with(&[&AUDITED, &[("sampled_users", "9"), ("duration", "\"10 s\"")]]);
    let sampled: BTreeSet<_> = output.stage_series.user.iter().copied().collect();
    assert_eq!(sampled, (0..10).collect(), "one with 36 flows, nine with one");
}
