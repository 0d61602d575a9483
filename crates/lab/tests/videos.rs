//! Videos that stall are the simulator's server and player on a real connection.

use crate::common;

use std::collections::BTreeMap;

use tidegate_lab::examine;
use tidegate_lab::host::IpVersion;
use tidegate_lab::lab::{self, LabOptions, LabRun};
use tidegate_lab::load::Generator;
use tidegate_mechanisms::units::Span;
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::ApplicationTable;

/// Playing time of 4 s, of which 0.5 s has to be there to start.
const VIDEO: &str = "[users.viewer]\nstart = \"0 s\"\n\
     traffic = { kind = \"video\", rate = \"1 Mb/s\", length = \"4 s\", burst = \"1 s\", chunk = \"10 kB\", \
     start_above = \"500 ms\", stall_below = \"100 ms\" }\n";

/// Returns a plan over a link of this rate that ends some time after the video.
fn plan(rate: &str, users: &str) -> Plan {
    let text = format!(
        "version = 1\nwarm_up = \"0 s\"\nduration = \"9 s\"\n\
         [bottleneck]\nrate = \"{rate}\"\ndelay = \"5 ms\"\nbuffer = \"30 kB\"\n{users}"
    );
    Scenario::parse(&text, &[]).expect("the scenario is valid").plan()
}

fn run(plan: &Plan, ip: IpVersion) -> Option<LabRun> {
    let options =
        LabOptions { seed: 1, ip, generator: Generator::Own, progress: false, verbose: false };
    common::undisturbed(common::SHORT, || {
        let run = lab::run(plan, options).unwrap_or_else(|error| panic!("{error}"));
        let is_late = !run.timing.objections().is_empty();
        let stall = if is_late { Span::from_secs(1) } else { run.load.stall };
        (run, stall)
    })
}

fn reported(table: &ApplicationTable) -> BTreeMap<&str, f64> {
    table.what.iter().map(|what| &**what).zip(table.amount.iter().copied()).collect()
}

#[test]
fn a_video_over_a_fast_link_plays_to_its_end_without_a_stall() {
    if common::skipped() {
        return;
    }
    for ip in [IpVersion::V4, IpVersion::V6] {
        let Some(run) = run(&plan("20 Mb/s", VIDEO), ip) else { return };
        let player = reported(&run.load.applications);
        assert_eq!([player["stalls"], player["played_s"], player["qoe"]], [0.0, 4.0, 5.0]);
        let flow = &run.load.flows[0];
        assert_eq!(flow.goodput_bytes, 500_000, "1 Mb/s for 4 s");
        assert!(
            flow.sent >= Some(500_000 / 1460) && flow.mean_cwnd_packets > Some(1.0),
            "{flow:?}"
        );
        assert!(run.load.transfers.is_empty());
    }
}

/// At 0.6 of its rate, 0.4 s of video between the thresholds last for a second.
#[test]
fn a_video_over_a_slow_link_stalls_as_in_a_simulation() {
    if common::skipped() {
        return;
    }
    let plan = plan("0.6 Mb/s", VIDEO);
    let simulated = tidegate_simulator::run(&plan, 1).applications;
    let simulated = reported(&simulated);
    let Some(run) = run(&plan, IpVersion::V4) else { return };
    let real = reported(&run.load.applications);
    assert!(simulated["stalls"] >= 2.0, "{simulated:?}");
    assert!((real["stalls"] - simulated["stalls"]).abs() <= 1.0, "{real:?}, not {simulated:?}");
    assert_eq!(real["played_s"], simulated["played_s"]);
}

#[test]
fn a_video_that_its_player_asks_for_is_rejected() {
    let asked = VIDEO.replace("rate = \"1 Mb/s\"", "rate = \"1 Mb/s\", request = \"500 B\"");
    let lines = examine::rejected(&plan("1 Mb/s", &asked), IpVersion::V4, Generator::Own);
    assert_eq!(
        lines,
        ["viewer.0: the lab's videos are sent without being asked for; remove request"]
    );
}
