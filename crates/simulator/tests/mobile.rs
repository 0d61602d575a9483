//! The shape of a mobile network in whole runs: it is the network that others write link by link, and tunnels lead up
//! as well as down.

mod common;

use std::path::Path;

use common::{plan, plan_with};
use tidegate_mechanisms::units::Span;
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect("a file of the repository")
}

/// Enough for losses, marks and reports.
fn brief(plan: Plan) -> Plan {
    Plan { warm_up: Span::ZERO, duration: Span::from_secs(8), ..plan }
}

/// The links of the re-ECN paper's base, as a shape.
const SHAPE: &str = r#"[mobile]
enodebs = 1
rate = "50 Mb/s"
delay = "20 ms"
buffer = "1000 packets"
ecn = true
aqm = { kind = "red", min_threshold = "100 packets", max_threshold = "500 packets", max_probability = 0.02, weight = 0.002, gentle = true, marks_below = 0.1 }
duplex = true
radio = { delay = "50 ms", loss = 0.001 }

"#;

/// Packet for packet, losses over the air included.
#[test]
fn the_network_that_the_papers_base_writes_link_by_link_is_the_shape() {
    let by_hand = file("papers/reecn/base.toml");
    let lossy = [("links.cell.loss".to_owned(), "0.001".to_owned())];
    let by_hand_plan = Scenario::parse(&by_hand, &lossy).expect("is valid").plan();
    let links =
        by_hand.find("[links.").expect("has links")..by_hand.find("[users.").expect("has users");
    let mut shape = by_hand;
    shape.replace_range(links, SHAPE);
    let shape = shape.replace("to = \"clients\"", "to = \"phones1\"");
    let [by_hand, shape] = [by_hand_plan, plan(&shape)].map(|plan| run(&brief(plan), 1));
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

/// What phones send is in a tunnel from their eNodeB to the gateway, which tells the eNodeB what it met; what they are sent
/// is in none.
#[test]
fn tunnels_up_begin_at_enodebs_and_end_at_the_gateway_that_reports() {
    let output = run(&brief(plan(&file("scenarios/uplink.toml"))), 1);
    let all = |place: &str, what: &str| match place {
        "up" => (1..=3).map(|n| sum(&output, &format!("n{n}-r1.entry.0"), what)).sum::<u64>(),
        _ => sum(&output, "r4-g1.exit.0", what),
    };
    let (entered, received) = (all("up", "entered_packets"), all("end", "received"));
    assert!(
        received > 10_000 && (received..received + 3_000).contains(&entered),
        "{entered} {received}"
    );
    assert_eq!(all("end", "not_in_tunnel"), 0);
    let (told, met) = (all("up", "reported_marked"), all("end", "marked_before"));
    assert!(met > 50 && told <= met && 2 * told > met, "{told} of {met}");
    assert!(all("up", "re_inserted") > 0);
    for refused in ["reports_old", "reports_forged", "reports_replayed", "reports_from_strangers"] {
        assert_eq!(all("up", refused), 0, "{refused}");
    }
}

/// Equal links lead both ways, and each node of a tunnel's stands at its place in both: nobody's ACKs are lost or out of a tunnel.
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
entry = ["pdn-gateway"]
[links.last]
from = "R1"
to = "N1"
rate = "10 Mb/s"
exit = ["enodeb"]
[users.down]
from = "G1"
to = "N1"
[users.up]
from = "N1"
to = "G1"
"#;
    let output = run(&plan_with(BOTH, &[]), 1);
    for (begins, ends) in
        [("core.entry.0", "last.exit.0"), ("last.reverse.entry.0", "core.reverse.exit.0")]
    {
        let (entered, received) =
            (sum(&output, begins, "entered_packets"), sum(&output, ends, "received"));
        assert!(received > 1_000 && received <= entered, "{begins}: {received} of {entered}");
        assert!(sum(&output, begins, "reports") > 10, "{begins}");
        // Reports on the other tunnels come by, which are in none.
        let reports = ["last.exit.0", "core.reverse.exit.0"].iter().filter(|other| **other != ends);
        let reports: u64 = reports.map(|other| sum(&output, other, "reports_sent")).sum();
        assert!(sum(&output, ends, "not_in_tunnel") <= reports, "{ends}");
    }
}
