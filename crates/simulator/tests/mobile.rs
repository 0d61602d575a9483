//! The `[mobile]` section in whole runs: it equals the network written link by link, with tunnels in both directions.

use crate::common;

use std::path::Path;

use common::{plan, plan_with};
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect("a file of the repository")
}

/// Long enough for losses, marks and reports.
fn brief(plan: Plan) -> Plan {
    Plan { warm_up: Span::ZERO, duration: Span::from_secs(8), ..plan }
}

/// The links of figure 4 of the re-ECN paper, four routers between gateway and eNodeB.
const LINKS: &str = r#"[links.g1-r4]
from = "G1"
to = "R4"
rate = "100 Mb/s"
delay = "20 ms"
bottleneck = false

[links.r4-r3]
from = "R4"
to = "R3"
rate = "100 Mb/s"
delay = "20 ms"
bottleneck = false

[links.bottleneck]
from = "R3"
to = "R2"
rate = "50 Mb/s"
delay = "20 ms"
buffer = "200 packets"
ecn = true
aqm = { kind = "red", min_threshold = "20 packets", max_threshold = "100 packets", max_probability = 0.05, weight = 0.00024, spacing = "wait", gentle = true, marks_below = 0.1 }

[links.r2-r1]
from = "R2"
to = "R1"
rate = "100 Mb/s"
delay = "20 ms"
bottleneck = false

[links.r1-n]
from = "R1"
to = "N"
rate = "100 Mb/s"
delay = "20 ms"
bottleneck = false

[links.cell1]
from = "N"
to = "clients"
rate = "100 Mb/s"
delay = "5 ms"
bottleneck = false
loss = 0.001

"#;

/// The same network as a `[mobile]` section.
const SHAPE: &str = r#"[mobile]
enodebs = 1
rate = "50 Mb/s"
delay = "20 ms"
buffer = "200 packets"
ecn = true
aqm = { kind = "red", min_threshold = "20 packets", max_threshold = "100 packets", max_probability = 0.05, weight = 0.00024, spacing = "wait", gentle = true, marks_below = 0.1 }
duplex = true
radio = { delay = "5 ms", loss = 0.001 }

"#;

/// Packet by packet, losses over the air included.
#[test]
fn figure_4_link_by_link_is_the_shape() {
    let base = file("studies/re-ecn/base.toml");
    let links = base.find("[links.").expect("has links")..base.find("[users.").expect("has users");
    let with = |network: &str| {
        let mut text = base.clone();
        text.replace_range(links.clone(), network);
        text
    };
    let shape = with(SHAPE).replace("to = \"clients\"", "to = \"phones1\"");
    let [by_hand, shape] = [with(LINKS), shape].map(|text| run(&brief(plan(&text)), 1));
    assert_eq!(by_hand.digest, shape.digest);
    let sum = |counts: &[u64]| counts.iter().sum::<u64>();
    let (lost, marked) = (sum(&shape.links.drops_wire), sum(&shape.links.marks));
    assert!(lost > 5 && marked > 5, "{lost} lost, {marked} marked");
}

fn sum(output: &RunOutput, stage: &str, what: &str) -> u64 {
    let table = &output.stages;
    let rows = (0..table.value.len())
        .filter(|&row| table.stage[row].starts_with(stage) && table.count[row] == what);
    rows.map(|row| table.value[row]).sum()
}

/// Uplink packets are in a tunnel from their eNodeB to the gateway, which reports congestion to the eNodeB; downlink
/// packets are in none.
#[test]
fn tunnels_up_begin_at_enodebs_and_end_at_the_gateway_that_reports() {
    let output = run(&brief(plan(&file("scenarios/uplink.toml"))), 1);
    let all = |place: &str, what: &str| match place {
        "up" => (1..=3).map(|n| sum(&output, &format!("n{n}-r1.ingress.0"), what)).sum::<u64>(),
        _ => sum(&output, "r4-g1.egress.0", what),
    };
    let (entered, received) = (all("up", "entered_packets"), all("end", "received"));
    assert!(
        received > 10_000 && (received..received + 3_000).contains(&entered),
        "{entered} {received}"
    );
    assert_eq!(all("end", "not_in_tunnel"), 0);
    let (reported, met) = (all("up", "reported_marked"), all("end", "marked_before"));
    assert!(met > 50 && reported <= met && 2 * reported > met, "{reported} of {met}");
    assert!(all("up", "re_inserted") > 0);
    for refused in ["reports_old", "reports_forged", "reports_replayed", "reports_from_strangers"] {
        assert_eq!(all("up", refused), 0, "{refused}");
    }
}

/// Equal links lead in both directions, and each tunnel node has its place in both: no ACK is lost or outside its
/// tunnel.
#[test]
fn a_duplex_link_turns_the_ends_of_its_tunnels_round() {
    const BOTH: &str = r#"
version = 1
warm_up = "0 s"
duration = "5 s"
[links.core]
from = "G1"
to = "R1"
rate = "10 Mb/s"
ingress = ["pdn-gateway"]
[links.last]
from = "R1"
to = "N1"
rate = "10 Mb/s"
egress = ["enodeb"]
[users.down]
from = "G1"
to = "N1"
[users.up]
from = "N1"
to = "G1"
"#;
    let output = run(&plan_with(BOTH, &[]), 1);
    for (begins, ends) in
        [("core.ingress.0", "last.egress.0"), ("last.reverse.ingress.0", "core.reverse.egress.0")]
    {
        let (entered, received) =
            (sum(&output, begins, "entered_packets"), sum(&output, ends, "received"));
        assert!(received > 1_000 && received <= entered, "{begins}: {received} of {entered}");
        assert!(sum(&output, begins, "reports") > 10, "{begins}");
        // Reports on the other tunnels pass, which are in none.
        let reports =
            ["last.egress.0", "core.reverse.egress.0"].iter().filter(|other| **other != ends);
        let reports: u64 = reports.map(|other| sum(&output, other, "reports_sent")).sum();
        assert!(sum(&output, ends, "not_in_tunnel") <= reports, "{ends}");
    }
}

/// UEs that download and UEs that upload, in tunnels in both directions.
const BOTH_DIRECTIONS: &str = r#"
version = 1
warm_up = "0 s"
duration = "20 s"
[mobile]
enodebs = 2
rate = "10 Mb/s"
delay = "5 ms"
buffer = "100 packets"
ecn = true
aqm = { kind = "red", min_threshold = "10 packets", max_threshold = "50 packets", gentle = true }
duplex = true
radio = { delay = "5 ms" }
gateway = ["pdn-gateway"]
enodeb = [{ kind = "enodeb", interval = "50 ms" }]
enodeb_up = ["enodeb-uplink"]
gateway_up = [{ kind = "pdn-gateway-uplink", interval = "50 ms" }]
[users.down]
count = 2
from = "G1"
to = "phones1"
[users.up]
count = 2
from = "phones1"
to = "G1"
"#;

/// A moving user takes the tunnels of another eNodeB in both directions, for its data and its ACKs. Packets in transit
/// stay in the previous tunnel; both tunnels are reported on, and each report is used.
#[test]
fn a_moving_user_with_tunnels_up_is_in_one_of_each_enodeb() {
    let step =
        |at: u32, key: &str, node: u32| format!(r#"{{ at = "{at} s", {key} = "phones{node}" }}"#);
    let moves = |key: &str| {
        let steps = [(5, 2), (10, 1), (15, 2)].map(|(at, node)| step(at, key, node));
        format!("[{}]", steps.join(", "))
    };
    let still = run(&plan(BOTH_DIRECTIONS), 1);
    let (to, from) = (moves("to"), moves("from"));
    let walks = run(
        &plan_with(BOTH_DIRECTIONS, &[("users.down.moves", &to), ("users.up.moves", &from)]),
        1,
    );
    let goodput = |output: &RunOutput, users: std::ops::Range<usize>| {
        output.flows.goodput_bps[users].iter().sum::<f64>()
    };
    for users in [0..2, 2..4] {
        let (still, walks) = (goodput(&still, users.clone()), goodput(&walks, users));
        assert!(still > 4e6 && walks > 0.85 * still, "{walks} of {still}");
    }
    assert_eq!(sum(&still, "n2-r1.ingress.0", "entered_packets"), 0);
    let up = ["n1-r1.ingress.0", "n2-r1.ingress.0"];
    for begins in up {
        let (entered, reports) =
            (sum(&walks, begins, "entered_packets"), sum(&walks, begins, "reports"));
        // Four UEs for about ten seconds, with a report on each every 50 ms or more, some of which are lost.
        assert!(entered > 5_000 && reports > 250, "{begins}: {entered}, {reports}");
    }
    let all = |what: &str| up.iter().map(|begins| sum(&walks, begins, what)).sum::<u64>();
    let end = "r4-g1.egress.0";
    let (entered, received) = (all("entered_packets"), sum(&walks, end, "received"));
    let missed = sum(&walks, end, "missed") - sum(&walks, end, "came_late");
    assert!(
        received + missed <= entered && entered - received - missed < 400,
        "{received} of {entered}"
    );
    assert!(all("reported_received") > 9 * received / 10);
    for refused in [
        "reports_on_no_tunnel",
        "reports_old",
        "reports_forged",
        "reports_replayed",
        "reports_from_strangers",
    ] {
        assert_eq!(all(refused), 0, "{refused}");
    }
    for dropped in ["dropped: no such tunnel", "dropped: came twice", "stale"] {
        assert_eq!(sum(&walks, end, dropped), 0, "{dropped}");
    }
    assert_eq!(sum(&walks, "g1-r4.ingress.0", "handovers"), 4 * 3, "down, data and ACKs");
}

/// `scenarios/handover-up.toml` as described in its comment, with buckets of users and of flows.
#[test]
fn a_moving_sender_gains_by_a_bucket_at_each_enodeb_and_nothing_by_its_own() {
    let text = file("scenarios/handover-up.toml");
    let with = |before: &str, after: &str| {
        assert!(text.contains(before));
        run(&plan(&text.replace(before, after)), 1).flows.throughput_bps[0]
    };
    let by_flow = with("by-user", "by-flow");
    let kept = with("by-user", "by-user");
    let gained =
        with("kind = \"enodeb-uplink\",", "kind = \"enodeb-uplink\", handover = \"anew\",");
    assert!((1.9e6..2.3e6).contains(&kept), "{kept} bit/s with his own");
    assert!((1.9e6..2.3e6).contains(&by_flow), "{by_flow} bit/s with one of his flow");
    assert!((3.4e6..4.4e6).contains(&gained), "{gained} bit/s with one at each");
}

/// Congestion experienced in a tunnel that the user has left is re-inserted where it is now.
#[test]
fn congestion_met_by_a_moving_user_is_re_inserted_at_its_current_enodeb() {
    let moves = r#"[{ at = "10 s", from = "phones2" }]"#;
    let counts_with = |handover: &str, seed: u64| {
        let up = format!(r#"[{{ kind = "enodeb-uplink", handover = "{handover}" }}]"#);
        let set = [("users.up.moves", moves), ("mobile.enodeb_up", up.as_str())];
        let output = run(&plan_with(BOTH_DIRECTIONS, &set), seed);
        let all = |what: &str| {
            ["n1-r1.ingress.0", "n2-r1.ingress.0"].map(|begins| sum(&output, begins, what))
        };
        let sums = |what: &str| all(what).iter().sum::<u64>();
        let met = sums("reported_marked") + sums("reported_dropped") - sums("reported_taken_back");
        let left = met - sums("re_inserted");
        assert!(met > 50 && all("re_inserted")[1] > 10, "{met}");
        assert!(handover != "keep" || left * 100 < met, "{left} of {met} left with {handover}");
        left
    };
    // Marks that were reported last; without handover, all those reported to a first eNodeB too late.
    let [keep, afresh] = ["keep", "anew"]
        .map(|handover| (1..=5).map(|seed| counts_with(handover, seed)).sum::<u64>());
    assert!(3 * keep < afresh, "{keep} left where they are handed over, {afresh} where not");
}

/// Two groups that flood a gateway without congestion: a bucket of 4 Mb/s for the family, and one for each of the
/// others.
const FAMILY: &str = r#"
version = 1
warm_up = "4 s"
duration = "20 s"
[mobile]
enodebs = 1
rate = "100 Mb/s"
delay = "5 ms"
wired = { delay = "5 ms" }
radio = { delay = "5 ms" }
enodeb = [{ kind = "enodeb", interval = "60 ms" }]
[users.family]
count = 3
from = "G1"
to = "phones1"
traffic = { kind = "cbr", rate = "3 Mb/s" }
shares_stages = true
ingress = [{ kind = "pdn-gateway", policers = [
    { buckets = "together", fill_rate = "4 Mb/s", depth = "50 kB", round_trip = "60 ms" },
] }]
[users.others]
count = 3
from = "G1"
to = "phones1"
traffic = { kind = "cbr", rate = "5 Mb/s" }
ingress = [{ kind = "pdn-gateway", policers = [
    { buckets = "by-user", fill_rate = "4 Mb/s", depth = "50 kB", round_trip = "60 ms" },
] }]
"#;

/// One bucket for a group among others, and one for all at the gateway, attached to its link.
#[test]
fn a_bucket_may_be_a_groups_or_that_of_all_at_a_gateway() {
    let (family, others) = (0..3, 3..6);
    let mbps = |output: &RunOutput, users: std::ops::Range<usize>| {
        output.flows.throughput_bps[users].iter().sum::<f64>() / 1e6
    };
    let of = |options: &[(&str, &str)]| {
        let output = run(&plan_with(FAMILY, options), 1);
        [mbps(&output, family.clone()), mbps(&output, others.clone())]
    };
    let near = |have: [f64; 2], want: [f64; 2], what: &str| {
        let all = have.iter().zip(want).all(|(have, want)| (have - want).abs() < 0.02 * want);
        assert!(all, "{what}: {have:?}, not {want:?}");
    };
    near(of(&[]), [4.0, 12.0], "a bucket of the group's");
    near(of(&[("users.family.shares_stages", "false")]), [9.0, 12.0], "each has one of his own");
    let gateway = r#"[{ kind = "pdn-gateway", policers = [
        { buckets = "together", fill_rate = "6 Mb/s", depth = "50 kB", round_trip = "60 ms" },
    ] }]"#;
    let all = [
        ("mobile.gateway", gateway),
        ("users.family.ingress", "[]"),
        ("users.others.ingress", "[]"),
    ];
    let [family, others] = of(&all);
    assert!((family + others - 6.0).abs() < 0.1, "{family} and {others}");
    // Packets above the rate are dropped, regardless of the sender.
    assert!((others / family - 5.0 / 3.0).abs() < 0.2, "{others} of {family}");
}

/// A gateway's bucket of positive packets holds a flood if those that it drops are charged as well: else the flood pays for
/// its congestion with packets that do not pass.
#[test]
fn a_congestion_bucket_at_the_gateway_holds_a_flood_and_positive_packets_alone_do_not() {
    let text = file("scenarios/lte-congestion-bucket.toml");
    let mbps = |text: &str| {
        let plan = Plan { duration: Span::from_secs(20), ..plan(text) };
        let bps = run(&plan, 1).flows.throughput_bps;
        [bps[..4].iter().sum::<f64>() / 4e6, bps[4] / 1e6]
    };
    let [victims, flood] = mbps(&text);
    let [beside, passed] = mbps(&text.replace(", charge_dropped = true", ""));
    assert!(flood < 3.0 && victims > 3.0, "{flood} Mb/s of the flood, {victims} of a victim");
    assert!(passed > 8.0 && beside < 2.5, "{passed} Mb/s of the flood, {beside} of a victim");
}
