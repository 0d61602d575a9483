//! Tunnels of a mobile network in whole runs: packets are conserved, reports are correct, and buckets limit floods.

use crate::common;

use common::plan_with;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

/// A gateway, a bottleneck that marks and loses, an eNodeB with a radio link, and a reverse path that loses reports.
const MOBILE: &str = r#"
version = 1
warm_up = "0 s"
duration = "20 s"
[links.s1]
from = "gateway"
to = "router"
rate = "20 Mb/s"
delay = "5 ms"
duplex = false
ingress = ["pdn-gateway"]
[links.backhaul]
from = "router"
to = "tower"
rate = "10 Mb/s"
delay = "5 ms"
buffer = "60 packets"
loss = 0.002
ecn = true
aqm = { kind = "red", min_threshold = "5 packets", max_threshold = "20 packets", gentle = true }
duplex = false
egress = [{ kind = "enodeb", interval = "50 ms" }]
[links.radio]
from = "tower"
to = "phones"
rate = "20 Mb/s"
delay = "5 ms"
[links.back]
from = "tower"
to = "gateway"
rate = "10 Mb/s"
delay = "10 ms"
loss = 0.2
duplex = false
[tcp]
ecn = true
[users.downloads]
count = 3
from = "gateway"
to = "phones"
[users.call]
from = "gateway"
to = "phones"
packet_size = "200 B"
traffic = { kind = "cbr", rate = "80 kb/s" }
"#;

const GATEWAY: &str = "s1.ingress.0";
const ENODEB: &str = "backhaul.egress.0";
const ALL_USERS: std::ops::Range<u32> = 0..4;

fn count(output: &RunOutput, user: u32, stage: &str, count: &str) -> u64 {
    let table = &output.stages;
    let rows = (0..table.value.len()).filter(|&row| {
        (table.user[row], table.stage[row].as_str(), table.count[row].as_str())
            == (user, stage, count)
    });
    rows.map(|row| table.value[row]).sum()
}

fn all(output: &RunOutput, stage: &str, what: &str) -> u64 {
    ALL_USERS.map(|user| count(output, user, stage, what)).sum()
}

fn place(output: &RunOutput, link: &str) -> usize {
    output.links.name.iter().position(|name| name == link).expect("is a link")
}

/// Packets and bytes are conserved: each packet has 44 B more between the two ends, and none before and behind.
#[test]
fn a_packet_is_longer_in_the_tunnel_alone() {
    let output = run(&plan_with(MOBILE, &[]), 1);
    let (entered, received) =
        (all(&output, GATEWAY, "entered_packets"), all(&output, ENODEB, "received"));
    let (links, backhaul) = (&output.links, place(&output, "backhaul"));
    let lost = links.drops_wire[backhaul] + links.drops_aqm[backhaul] + links.drops_full[backhaul];
    assert!(
        lost > 0 && (received + lost..received + lost + 100).contains(&entered),
        "{entered} {received} {lost}"
    );
    let bytes = |link| output.links.departed_bytes[place(&output, link)];
    let packets = |link| output.links.departures[place(&output, link)];
    let arrived = output.links.arrivals[place(&output, "radio")];
    assert_eq!(arrived, received, "all that arrives leaves its tunnel");
    let longer = bytes("backhaul") as f64 - bytes("radio") as f64;
    let waiting = (packets("backhaul") - packets("radio")) as f64;
    assert!(
        (longer - 44.0 * received as f64).abs() <= waiting * 1544.0,
        "{longer} B for {received} packets"
    );
    assert_eq!(all(&output, ENODEB, "not_in_tunnel"), 0);
}

/// The state of tunnel ends is reported once per stage, as of the end, for any measured part of the run; policers and
/// droppers of flows report theirs in bytes, too.
#[test]
fn what_a_stage_remembers_is_reported_in_bytes() {
    let policed = "[{ kind = \"pdn-gateway\", policers = [{ buckets = \"by-flow\", \
                   fill_rate = \"5 Mb/s\", depth = \"1 MB\", round_trip = \"50 ms\" }] }]";
    let states = |options: &[(&str, &str)]| {
        let output = run(&plan_with(MOBILE, options), 1);
        let all = |stage| all(&output, stage, "state_bytes");
        assert_eq!(all(GATEWAY), count(&output, 0, GATEWAY, "state_bytes"), "reported once");
        (all(GATEWAY), all(ENODEB))
    };
    let whole @ (gateway, enodeb) = states(&[]);
    assert!(
        (4 * 100..=4 * (144 + 40 + 8)).contains(&gateway),
        "{gateway} B of four users and tunnels"
    );
    assert!((4 * 100..=4 * 256).contains(&enodeb), "{enodeb} B of four users");
    assert_eq!(states(&[("warm_up", "\"5 s\"")]), whole);
    let (with_flows, _) = states(&[("links.s1.ingress", policed)]);
    assert!(with_flows >= gateway + 4 * 56, "{with_flows} B with four flows at least");
}

/// At a constant rate below the link's: the same packets with the same lengths, later by the transmission time of 44 B.
#[test]
fn a_tunnel_without_congestion_changes_nothing_but_length() {
    let quiet = [
        ("users.downloads.traffic", "{ kind = \"cbr\", rate = \"1 Mb/s\" }"),
        ("links.backhaul.loss", "0.0"),
        ("links.backhaul.aqm", "\"drop-tail\""),
    ];
    let inside = run(&plan_with(MOBILE, &quiet), 1);
    let plain = [("links.s1.ingress", "[]"), ("links.backhaul.egress", "[]")];
    let outside = run(&plan_with(MOBILE, &[&quiet[..], &plain].concat()), 1);
    let (with, without) = (&inside.flows, &outside.flows);
    let close = |a: &u64, b: &u64| a.abs_diff(*b) <= 1;
    assert!(
        with.packets_delivered.iter().zip(&without.packets_delivered).all(|(a, b)| close(a, b))
    );
    let bytes = |output: &RunOutput, link| output.links.departed_bytes[place(output, link)];
    let radio = bytes(&inside, "radio").abs_diff(bytes(&outside, "radio"));
    assert!(radio <= 3 * 1500 + 200, "{radio} B more or less behind the tunnel");
    for what in ["marked_before", "missed", "dropped_here", "marks_not_copied"] {
        assert_eq!(all(&inside, ENODEB, what), 0, "{what}");
    }
}

/// A fifth of all reports are lost; the last to arrive covers everything up to its number.
#[test]
fn reports_have_what_the_enodeb_has_counted() {
    let output = run(&plan_with(MOBILE, &[]), 1);
    let (sent, taken) = (all(&output, ENODEB, "reports_sent"), all(&output, GATEWAY, "reports"));
    assert!(
        (0.6 * sent as f64..0.95 * sent as f64).contains(&(taken as f64)),
        "{taken} of {sent} reports"
    );
    for (known, there) in [
        ("reported_received", "received"),
        ("reported_marked", "marked_before"),
        ("reported_dropped", "missed"),
    ] {
        let (known, there) = (all(&output, GATEWAY, known), all(&output, ENODEB, there));
        assert!(known <= there && there - known < 800, "{known} of {there} {}", there);
        assert!(10 * known > 8 * there, "{known} of {there}");
    }
    let backhaul = place(&output, "backhaul");
    let marks = output.links.marks[backhaul];
    assert!(marks.abs_diff(all(&output, ENODEB, "marked_before")) < 20, "{marks} marks");
    for refused in ["reports_old", "reports_forged", "reports_replayed", "reports_from_strangers"] {
        assert_eq!(all(&output, GATEWAY, refused), 0, "{refused}");
    }
    assert!(all(&output, GATEWAY, "re_inserted") > 0);
}

/// Marks of a tunnel reach ECN-capable users, who slow down, by either rule, and others by RFC 6040 alone: as a loss.
#[test]
fn marks_leave_the_tunnel_by_the_rules() {
    let rules = |rules: &str, ecn| {
        let gateway = format!("[{{ kind = \"pdn-gateway\", ecn_rules = \"{rules}\" }}]");
        let enodeb =
            format!("[{{ kind = \"enodeb\", ecn_rules = \"{rules}\", interval = \"50 ms\" }}]");
        let set =
            [("links.s1.ingress", &*gateway), ("links.backhaul.egress", &enodeb), ("tcp.ecn", ecn)];
        run(&plan_with(MOBILE, &set), 1)
    };
    for of in ["rfc6040", "re-ecn"] {
        let capable = rules(of, "true");
        let marks: u64 = capable.flows.marks.iter().sum();
        // Packets of connections whose SYN was lost, which fall back to no ECN.
        let kept = all(&capable, ENODEB, "marks_not_copied");
        assert!(of == "re-ecn" || kept == 0, "{kept} marks are not copied by RFC 6040");
        assert_eq!(marks + kept, all(&capable, ENODEB, "marked_before"), "{of}");
    }
    let hidden = rules("re-ecn", "false");
    let (marked, kept) =
        (all(&hidden, ENODEB, "marked_before"), all(&hidden, ENODEB, "marks_not_copied"));
    assert!(marked > 1000 && marked == kept, "{marked} marks, {kept} kept from users");
    let lost = rules("rfc6040", "false");
    assert_eq!(
        all(&lost, ENODEB, "marked_before"),
        0,
        "what is not ECN-capable is dropped, not marked"
    );
}

/// Radio losses are reported separately from congestion, and retransmissions repair most of them.
#[test]
fn reports_distinguish_losses_of_the_radio() {
    let radio = |attempts: u32| {
        let enodeb = format!(
            "[{{ kind = \"enodeb\", interval = \"50 ms\", radio_loss = 0.05, radio_attempts = {attempts} }}]"
        );
        run(
            &plan_with(
                MOBILE,
                &[("links.backhaul.egress", &enodeb), ("links.backhaul.loss", "0.0")],
            ),
            1,
        )
    };
    let once = radio(1);
    let (lost, dropped) =
        (all(&once, ENODEB, "dropped_here"), all(&once, ENODEB, "dropped: wireless loss"));
    let share = lost as f64 / all(&once, ENODEB, "received") as f64;
    assert!((0.04..0.06).contains(&share) && lost == dropped, "{share}");
    assert_eq!(all(&once, GATEWAY, "reported_dropped"), 0);
    let twice = radio(2);
    let goodput = |output: &RunOutput| output.flows.goodput_bps.iter().sum::<f64>();
    assert!(goodput(&twice) > 1.5 * goodput(&once), "{} {}", goodput(&twice), goodput(&once));
}

/// An unresponsive sender is limited to the bucket's fill rate, by reports alone.
#[test]
fn a_flood_is_held_to_its_bucket_while_the_others_keep_theirs() {
    let gateway = r#"[{ kind = "pdn-gateway", policers = [
        { buckets = "by-user", fill_rate = "2 Mb/s", depth = "100 kB", round_trip = "40 ms" }] }]"#;
    let flood = ("users.call.traffic.rate", "30 Mb/s");
    let buckets = ("links.s1.ingress", gateway);
    let throughput = |set: &[(&str, &str)]| {
        let set =
            [set, &[("links.s1.rate", "100 Mb/s"), ("users.call.packet_size", "1000 B")]].concat();
        let output = run(&plan_with(MOBILE, &set), 1);
        let of =
            |users: std::ops::Range<usize>| output.flows.throughput_bps[users].iter().sum::<f64>();
        (of(0..3), of(3..4))
    };
    let (alone, _) = throughput(&[buckets]);
    let (open, _) = throughput(&[flood]);
    let (kept, flooding) = throughput(&[flood, buckets]);
    assert!(open < 0.05 * alone, "{open} of {alone} bit/s without buckets");
    assert!(kept > 0.85 * alone, "{kept} of {alone} bit/s");
    assert!(flooding < 2.2e6, "{flooding} bit/s");
}

/// A second cell, to which users can move.
const NEXT_CELL: &str = r#"
[links.backhaul2]
from = "router"
to = "tower2"
rate = "10 Mb/s"
delay = "5 ms"
duplex = false
egress = [{ kind = "enodeb", interval = "50 ms" }]
[links.radio2]
from = "tower2"
to = "phones2"
rate = "20 Mb/s"
delay = "5 ms"
[links.back2]
from = "tower2"
to = "gateway"
rate = "10 Mb/s"
delay = "10 ms"
duplex = false
"#;

/// Flows continue where their users have moved to; packets in transit arrive where they were sent, and reports of both
/// eNodeBs are used.
#[test]
fn a_moving_user_continues_over_the_other_enodeb() {
    let text = format!("{MOBILE}{NEXT_CELL}");
    let moves = "[{ at = \"5 s\", to = \"phones2\" }, { at = \"15 s\", to = \"phones\" }]";
    let still = run(&plan_with(&text, &[]), 1);
    let walks =
        run(&plan_with(&text, &[("users.call.moves", moves), ("users.downloads.moves", moves)]), 1);
    let there = "backhaul2.egress.0";
    assert_eq!(all(&still, there, "received"), 0);
    // 50 packets of the call a second, for ten seconds.
    let of_call = count(&walks, 3, there, "received");
    assert!((495..=505).contains(&of_call), "{of_call} packets of the call");
    let lost = |output: &RunOutput| output.flows.losses[3];
    assert!(lost(&walks) <= lost(&still) + 10, "{} and {}", lost(&walks), lost(&still));
    let goodput = |output: &RunOutput| output.flows.goodput_bps[0..3].iter().sum::<f64>();
    assert!(goodput(&walks) > 0.8 * goodput(&still), "{} and {}", goodput(&walks), goodput(&still));
    assert_eq!(all(&walks, GATEWAY, "handovers"), 8);
    let received = all(&walks, there, "received") + all(&walks, ENODEB, "received");
    let known = all(&walks, GATEWAY, "reported_received");
    assert!(known <= received && received - known < 800, "{known} of {received}");
    for refused in
        ["reports_old", "reports_forged", "reports_on_no_tunnel", "reports_from_strangers"]
    {
        assert_eq!(all(&walks, GATEWAY, refused), 0, "{refused}");
    }
}

/// `scenarios/handover.toml` as described in its comment: with a bucket that moves with its user, the user gets its
/// fill rate, and with one at each eNodeB about twice as much.
#[test]
fn a_moving_user_gains_by_a_bucket_at_each_enodeb_and_nothing_by_its_own() {
    let text = include_str!("../../../scenarios/handover.toml");
    let afresh =
        text.replace("kind = \"pdn-gateway\",", "kind = \"pdn-gateway\", handover = \"anew\",");
    assert_ne!(afresh, text);
    let walker = |text: &str| run(&plan_with(text, &[]), 1).flows.throughput_bps[0];
    let (kept, gained) = (walker(text), walker(&afresh));
    assert!((1.9e6..2.3e6).contains(&kept), "{kept} bit/s with his own");
    assert!((3.4e6..4.4e6).contains(&gained), "{gained} bit/s with one at each");
}

/// RFC 7778, section 4: the allowance moves with its user from one cell to the next. A policer by declarations at the
/// user, or at the gateway where all its tunnels begin, has one bucket for it anywhere.
#[test]
fn a_moving_user_keeps_its_allowance_of_declared_congestion() {
    let text = format!("{MOBILE}{NEXT_CELL}");
    let policer = r#"[{ kind = "conex-policer", fill_rate = "24 kb/s", depth = "90 kB" }]"#;
    let moves = r#"[{ at = "5 s", to = "phones2" }, { at = "10 s", to = "phones" }, { at = "15 s", to = "phones2" }]"#;
    let set = [
        ("tcp.feedback", "accurate"),
        ("tcp.conex", "rfc7786"),
        ("users.downloads.ingress", policer),
        ("users.downloads.moves", moves),
    ];
    let output = run(&plan_with(&text, &set), 1);
    for user in 0..3 {
        let ingress = format!("downloads.{user}.ingress.0");
        let taken = count(&output, user, &ingress, "tokens_taken_bytes") / 1500;
        // Inflow of 20 s, the depth and the floor of mild; with a bucket in each cell 60 more.
        assert!((90..=40 + 60 + 6).contains(&taken), "{taken} tokens of user {user}");
        assert!(count(&output, user, &ingress, "dropped: over allowance") > 0);
    }
    // Each user is seen to have moved; senders when their packets arrive.
    assert!((6..=9).contains(&all(&output, GATEWAY, "handovers")));
}

/// `scenarios/declared-congestion.toml`: a node between the ends of tunnels that reads the congestion re-inserted into
/// their headers leaves a flood only what the others do not use; without a field for re-insertion, all are in one
/// class.
#[test]
fn a_flood_is_served_after_those_that_declare_little() {
    let text = include_str!("../../../scenarios/declared-congestion.toml");
    let throughput = |set: &[(&str, &str)]| {
        let plan = plan_with(text, &[set, &[("duration", "20 s")]].concat());
        let output = run(&plan, 1);
        let of =
            |users: std::ops::Range<usize>| output.flows.throughput_bps[users].iter().sum::<f64>();
        let utilization = output.links.utilization.iter().copied().fold(0.0, f64::max);
        (of(0..4), of(4..5), utilization)
    };
    let alone = throughput(&[("users.flood.traffic.rate", "1 kb/s")]).0;
    let (kept, flood, utilization) = throughput(&[]);
    assert!(kept > 0.95 * alone, "{kept} of {alone} bit/s");
    assert!(flood < 1e6 && utilization > 0.99, "{flood} bit/s, the link at {utilization}");
    let silent = ("links.g1-r1.ingress", r#"[{ kind = "pdn-gateway", re_inserts = false }]"#);
    for set in [("links.bottleneck.scheduler", "fifo"), silent] {
        let (kept, ..) = throughput(&[set]);
        assert!(kept < 0.1 * alone, "{kept} of {alone} bit/s with {set:?}");
    }
}

/// RFC 7837, section 7, and RFC 7778, section 3.2.1: the gateway may copy the senders' ConEx declarations into the
/// tunnel headers. Here all flows lose packets over the air, for which a gateway owes nothing, and four of five declare
/// that: a node between the ends of tunnels takes them for causes of congestion if it can see it, and serves the fifth
/// first.
#[test]
fn what_senders_declare_is_seen_between_the_ends_of_tunnels_where_it_is_copied() {
    let text = include_str!("../../../scenarios/declared-congestion.toml");
    let silent_over_others = |ingress: &str, declares: &str| {
        let set = [
            ("links.g1-r1.ingress", ingress),
            ("tcp.ecn", "true"),
            ("tcp.feedback", "accurate"),
            ("users.victims.tcp.conex", declares),
            ("users.flood.traffic", "greedy"),
            ("links.cell.loss", "0.0005"),
            ("duration", "20 s"),
        ];
        let plan = plan_with(text, &set);
        let runs: Vec<_> = (1..=8).map(|seed| run(&plan, seed).flows.throughput_bps).collect();
        let all = |users: std::ops::Range<usize>| {
            runs.iter().flat_map(|run| &run[users.clone()]).sum::<f64>()
        };
        4.0 * all(4..5) / all(0..4)
    };
    let inner = r#"[{ kind = "pdn-gateway" }]"#;
    let copied = r#"[{ kind = "pdn-gateway", conex_option = "copied" }]"#;
    let [unseen, seen] = [inner, copied].map(|ingress| silent_over_others(ingress, "rfc7786"));
    assert!(seen > 1.3 * unseen, "{seen} for {unseen}");
    let [inner, copied] = [inner, copied].map(|ingress| silent_over_others(ingress, "off"));
    assert_eq!(inner, copied, "who declares nothing has no copy");
}
