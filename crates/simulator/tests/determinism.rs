//! The same plan and seed give the same output, regardless of samples and of the number of threads.

use crate::common;

use common::scenarios::{any_scenario, exact};
use common::{plan, plan_with, runs, whole};
use proptest::prelude::*;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::{run, run_packet_by_packet, run_reporting};

const DUMBBELL: &str = r#"
version = 1
warm_up = "1 s"
duration = "5 s"
sample_interval = "off"

[bottleneck]
rate = "10 Mb/s"
buffer = "50 packets"
aqm = { kind = "piecewise-linear", function = "pf-11-17-24-0.01" }
differentiation = { kind = "abc", gamma = 3.0 }

[users.heavy]
flows = 10
meter = { reference_rate = "0.05 Mb/s" }

[users.light]
count = 5
meter = { reference_rate = "0.05 Mb/s" }

[users.upload]
traffic = { kind = "transfer", size = "200 kB", pause = "1 s", pause_distribution = "exponential" }
meter = { reference_rate = "0.05 Mb/s" }
"#;

#[test]
fn the_same_seed_gives_the_same_output_and_another_seed_another() {
    let plan = plan(DUMBBELL);
    let first = run(&plan, 1);
    assert_eq!(whole(&first), whole(&run(&plan, 1)));
    let mut digests: Vec<String> = (1..=20).map(|seed| run(&plan, seed).digest).collect();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 20, "every seed has a digest of its own");
}

#[test]
fn runs_on_two_threads_at_once_are_those_on_one() {
    let plan = plan(DUMBBELL);
    let alone: Vec<String> = (1..=8).map(|seed| whole(&run(&plan, seed))).collect();
    let together: Vec<String> = runs(&plan, 1..=8).iter().map(whole).collect();
    assert_eq!(alone, together);
}

/// A receiver may be served when its packet leaves the last queue. Results have to equal those of serving it on
/// arrival, with samples and without.
fn assert_serving_ahead_changes_nothing(plan: &Plan, seed: u64) {
    let step = tidegate_mechanisms::units::Span::from_millis(100);
    let plan = Plan { sample_interval: Some(step), ..plan.clone() };
    let (on_arrival, ahead) = (run_packet_by_packet(&plan, seed), run(&plan, seed));
    assert_same(&on_arrival, &ahead);
    assert_eq!(format!("{:?}", on_arrival.group_series), format!("{:?}", ahead.group_series));
    assert_eq!(format!("{:?}", on_arrival.link_series), format!("{:?}", ahead.link_series));
    assert_eq!(format!("{:?}", on_arrival.flow_series), format!("{:?}", ahead.flow_series));
    assert_same(&on_arrival, &run(&Plan { sample_interval: None, ..plan }, seed));
}

fn assert_same(one: &RunOutput, other: &RunOutput) {
    assert_eq!(one.digest, other.digest);
    assert_eq!(format!("{:?}", one.flows), format!("{:?}", other.flows));
    assert_eq!(format!("{:?}", one.transfers), format!("{:?}", other.transfers));
    assert_eq!(format!("{:?}", one.link_groups), format!("{:?}", other.link_groups));
    assert_eq!(monitored_links(one), monitored_links(other));
    assert_eq!(format!("{:?}", one.stages), format!("{:?}", other.stages));
}

/// Names of the monitored links. Others drop and accept packets ahead of time or not.
fn monitored_links(output: &RunOutput) -> Vec<String> {
    let links = &output.links;
    let row = |i: usize| {
        let counts = [
            links.arrivals[i],
            links.departures[i],
            links.departed_bytes[i],
            links.departures_in_all[i],
            links.drops_full[i],
            links.drops_aqm[i],
            links.drops_wire[i],
            links.drops_policer[i],
            links.marks[i],
        ];
        let times = [
            links.utilization[i],
            links.mean_backlog_packets[i],
            links.mean_backlog_bytes[i],
            links.max_backlog_bytes[i],
            links.mean_sojourn_s[i],
            links.p95_sojourn_s[i],
            links.p99_sojourn_s[i],
            links.max_sojourn_s[i],
        ];
        format!("{} {counts:?} {times:?}", links.name[i])
    };
    (0..links.name.len()).filter(|&i| links.monitored[i]).map(row).collect()
}

#[test]
fn serving_receivers_ahead_of_time_changes_nothing() {
    let networks = [
        "[bottleneck]\nrate = \"10 Mb/s\"\nbuffer = \"30 packets\"\n",
        "[bottleneck]\nrate = \"10 Mb/s\"\nbuffer = \"30 packets\"\n[receiver_access]\nrate = \"8 Mb/s\"\ndelay = \"9 ms\"\n",
        "[parking_lot]\nhops = 3\nrate = \"10 Mb/s\"\nbuffer = \"30 packets\"\n",
        "[bottleneck]\nrate = \"10 Mb/s\"\nbuffer = \"30 packets\"\n[users.c]\negress = [{ kind = \"activity-meter\", reference_rate = \"1 Mb/s\" }]\n",
        "[bottleneck]\nrate = \"10 Mb/s\"\nbuffer = \"30 packets\"\negress = [{ kind = \"mark-counter\" }]\n",
    ];
    let places = ["", "", "from = \"r0\"\nto = \"r3\"\n", "", ""];
    for (network, place) in networks.into_iter().zip(places) {
        // Without delayed acknowledgements, with them, and with an adaptive delay.
        for profile in ["classic", "linux", "linux-2.6.29"] {
            let text = format!(
                "version = 1\nprofile = \"{profile}\"\nwarm_up = \"3 s\"\nduration = \"10 s\"\n{network}\n\
                 [users.a]\ncount = 3\nflows = 2\n{place}\n[users.b]\n{place}\
                 traffic = {{ kind = \"transfer\", size = \"300 kB\", pause = \"0.1 s\" }}\n"
            );
            for seed in 1..=5 {
                assert_serving_ahead_changes_nothing(&plan_with(&text, &[]), seed);
            }
        }
    }
}

/// UEs, eNodeBs that count, lose and report, and a gateway that drops: also with readings in between.
#[test]
fn passing_ends_of_tunnels_ahead_of_time_changes_nothing() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lte.toml");
    let text = std::fs::read_to_string(file).expect("a scenario of the repository");
    let parts = "intervals = { count = 7, length = \"0.9 s\" }";
    let text = text.replace("duration = \"60 s\"", parts);
    let reports = r#"[{ kind = "enodeb", interval = "210 ms" }]"#;
    let loses = r#"[{ kind = "enodeb", interval = "50 ms", radio_loss = 0.02 }]"#;
    for egress in [reports, loses] {
        let plan = plan_with(&text, &[("warm_up", "\"1.5 s\""), ("links.r1-n1.egress", egress)]);
        assert_eq!(plan.intervals, 7);
        for seed in 1..=2 {
            assert_serving_ahead_changes_nothing(&plan, seed);
            let (on_arrival, ahead) = (run_packet_by_packet(&plan, seed), run(&plan, seed));
            assert_eq!(whole_intervals(&on_arrival), whole_intervals(&ahead));
            assert!(ahead.events < on_arrival.events, "nothing was passed ahead of time");
        }
    }
}

fn whole_intervals(output: &RunOutput) -> String {
    let intervals = &output.intervals;
    format!("{:?} {:?}", intervals.groups, intervals.flows)
}

proptest! {
    #![proptest_config(exact(1500))]

    #[test]
    fn serving_ahead_changes_nothing_in_any_scenario(text in any_scenario(), seed in 0..1000u64) {
        assert_serving_ahead_changes_nothing(&plan(&text), seed);
    }
}

proptest! {
    #![proptest_config(exact(200))]

    /// A run that reports its progress pauses at times that have nothing to do with its events.
    #[test]
    fn reports_of_progress_change_nothing_in_any_scenario(text in any_scenario(), seed in 0..1000u64) {
        let plan = plan(&text);
        let mut reports = Vec::new();
        let reporting = run_reporting(&plan, seed, &mut |at| reports.push(at));
        prop_assert_eq!(whole(&reporting.expect("there is room")), whole(&run(&plan, seed)));
        prop_assert!(reports.is_sorted_by_key(|at| at.share), "{:?}", reports);
        prop_assert!(reports.is_sorted_by_key(|at| at.simulated_s), "{:?}", reports);
        prop_assert!(reports.is_sorted_by_key(|at| at.hops), "{:?}", reports);
        prop_assert!(reports.iter().all(|at| (0.0..=1.0).contains(&at.share)), "{:?}", reports);
    }
}

/// Sources with an undisturbed path: the packets sent by each, and those lost on the wire and taken by a marker, depend
/// only on their random streams.
const UNDISTURBED: &str = r#"
version = 1
warm_up = "0 s"
duration = "20 s"
[links.first]
from = "left"
to = "middle"
rate = "1 Gb/s"
buffer = "10000 packets"
loss = 0.01
egress = [{ kind = "random-marker", probability = 0.1 }]
[links.second]
from = "middle"
to = "right"
rate = "1 Gb/s"
buffer = "10000 packets"
loss = 0.01
[users.a]
from = "left"
to = "right"
flows = 2
ingress = [{ kind = "random-marker", probability = 0.1 }]
traffic = { kind = "on-off", on = "300 ms", off = "200 ms", rate = "3 Mb/s" }
[users.b]
from = "left"
to = "right"
ingress = [{ kind = "random-marker", probability = 0.1 }]
traffic = { kind = "cbr", rate = "1 Mb/s", ecn = true }
"#;

/// Returns the number of packets sent by each flow, by name, which depends on its own streams.
fn sent_by_flow(plan: &Plan, seed: u64) -> Vec<(String, u64)> {
    let sent = run(plan, seed).flows.packets_sent;
    sent.iter().enumerate().map(|(flow, sent)| (plan.flow_name(flow).to_string(), *sent)).collect()
}

/// A stream is named by its place and purpose: additions elsewhere do not change its draws.
#[test]
fn what_is_added_elsewhere_moves_nobodys_dice() {
    let with = |before: &str, after: &str| {
        assert!(UNDISTURBED.contains(before));
        plan(&UNDISTURBED.replacen(before, after, 1))
    };
    let base = sent_by_flow(&plan(UNDISTURBED), 5);
    let first = "[users.0]\nfrom = \"left\"\nto = \"right\"\ntraffic = { kind = \"cbr\", rate = \"1 Mb/s\" }\n[users.a]";
    for (what, added) in [
        ("a group before the others", with("[users.a]", first)),
        ("a flow more", with("flows = 2", "flows = 3")),
        ("users of a group", with("flows = 2", "count = 2\nflows = 2")),
        (
            "a link before the others",
            with(
                "[links.first]",
                "[links.0]\nfrom = \"x\"\nto = \"left\"\nrate = \"1 Mb/s\"\n[links.first]",
            ),
        ),
    ] {
        let now = sent_by_flow(&added, 5);
        for flow in &base {
            assert!(now.contains(flow), "{what}: {flow:?}, but {now:?}");
        }
    }
}

/// The same for losses on the wire and for stages that draw random numbers, packet by packet.
#[test]
fn a_stage_that_changes_nothing_changes_nothing() {
    let counter = "{ kind = \"mark-counter\" }, { kind = \"random-marker\"";
    let base = run(&plan(UNDISTURBED), 3);
    let counted = UNDISTURBED.replace("{ kind = \"random-marker\"", counter);
    let counted = run(&plan(&counted), 3);
    assert_eq!(base.digest, counted.digest);
    assert_eq!(format!("{:?}", base.flows), format!("{:?}", counted.flows));
    let (marks, lost) =
        (base.flows.marks.iter().sum::<u64>(), base.flows.losses.iter().sum::<u64>());
    assert!(marks > 100 && lost > 50, "{marks} marked, {lost} lost");
}
