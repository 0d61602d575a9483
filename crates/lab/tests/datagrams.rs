//! Videos and calls are the simulator's applications on real sockets: ECN-capable packets forward, reports and answers
//! back, marks read from each packet.

use crate::common;

use std::collections::BTreeMap;

use common::Wire;
use tidegate_lab::host::IpVersion;
use tidegate_lab::lab::{self, LabOptions, LabRun};
use tidegate_lab::load::{Generator, LoadReport};
use tidegate_mechanisms::units::Span;
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;

const SERVER: &str = "198.19.0.1";
const ECT_0: u8 = 0b10;
/// Length of IPv4 and UDP headers, bytes.
const HEADERS: usize = 28;

/// Returns the packets of the user, and of the server.
fn by_sender(wire: &Wire) -> (Vec<&[u8]>, Vec<&[u8]>) {
    let of_user = |packet: &&[u8]| common::addresses(packet).0.to_string() != SERVER;
    wire.in_order.iter().map(Vec::as_slice).partition(of_user)
}

fn ecn(packet: &[u8]) -> u8 {
    packet[1] & 0b11
}

/// Returns the number at the start of a payload.
fn number(packet: &[u8]) -> u64 {
    u64::from_be_bytes(*packet[HEADERS..].first_chunk().expect("a number"))
}

/// Returns the metrics of flow 0's application.
fn reported(load: &LoadReport) -> BTreeMap<&str, f64> {
    let table = &load.applications;
    let rows = table.flow.iter().zip(&table.what).zip(&table.amount);
    rows.filter(|((flow, _), _)| **flow == 0)
        .map(|((_, what), amount)| (&**what, *amount))
        .collect()
}

/// Returns a plan of a second over a bottleneck with these stages at its egress, and a short warm-up.
fn plan(egress: &str, users: &str) -> Plan {
    let text = format!(
        "version = 1\nwarm_up = \"0.3 s\"\nduration = \"1 s\"\n\
         [bottleneck]\nrate = \"100 Mb/s\"\ndelay = \"1 ms\"\nbuffer = \"1 MB\"\necn = true\n{egress}\n{users}"
    );
    Scenario::parse(&text, &[]).expect("the scenario is valid").plan()
}

/// Runs real packets through it, without stalls longer than `most`.
fn run(egress: &str, users: &str, most: Span) -> Option<LabRun> {
    let options = LabOptions {
        seed: 1,
        ip: IpVersion::V4,
        generator: Generator::Own,
        progress: false,
        verbose: false,
    };
    common::undisturbed(most, || {
        let run = lab::run(&plan(egress, users), options).unwrap_or_else(|error| panic!("{error}"));
        let is_late = !run.timing.objections().is_empty();
        let stall = if is_late { Span::from_secs(1) } else { run.load.stall };
        (run, stall)
    })
}

const ALL_MARKED: &str = "egress = [{ kind = \"random-marker\", probability = 1.0 }]";
const FILM: &str =
    "[users.film]\nstart = \"0 s\"\ntraffic = { kind = \"frames\", rate = \"2 Mb/s\" }\n";
const ADAPTIVE: &str = "[users.film]\nstart = \"0 s\"\n\
     traffic = { kind = \"frames\", rate = \"1 Mb/s\", adaptation = { kind = \"price\", \
     willingness = \"160 kb/s\", price_weight = 1.0, better = [{ rate = \"2 Mb/s\" }] } }\n";
const PROBING: &str = "[users.site]\nstart = \"0 s\"\n\
     traffic = { kind = \"calls\", rate = \"1 Mb/s\", every = \"50 ms\", holding = \"10 s\", \
     admission = { kind = \"probing\", probes = 3, spacing = \"5 ms\" } }\n";

#[test]
fn a_video_leaves_as_ecn_capable_packets_in_order_and_all_of_it_arrives() {
    if common::skipped() {
        return;
    }
    let Some((report, wire)) = common::run(&common::plan(FILM), IpVersion::V4) else { return };
    let (video, back) = by_sender(&wire);
    assert!(back.is_empty() && wire.strays.is_empty(), "no reports were requested");
    assert!(video.len() > 50, "{} packets", video.len());
    assert!(video.iter().all(|packet| ecn(packet) == ECT_0));
    assert!(video.iter().all(|packet| (41..=1500).contains(&packet.len())));
    assert!(video.iter().enumerate().all(|(place, packet)| number(packet) == place as u64));
    let flow = &report.flows[0];
    assert!(flow.sent > Some(30) && flow.goodput_bytes > 30_000, "{flow:?}");
    // A group of frames takes half a second: its mean differs widely from the video's.
    let measured: usize = video.iter().map(|packet| packet.len() - HEADERS).sum();
    assert!(flow.goodput_bytes < measured as u64, "{flow:?} of {measured} B");
}

#[test]
fn reports_are_packets_of_their_own_that_are_not_ecn_capable() {
    if common::skipped() {
        return;
    }
    let Some((report, wire)) = common::run(&common::plan(ADAPTIVE), IpVersion::V4) else { return };
    let (_, reports) = by_sender(&wire);
    // One each 100 ms, of 0.7 s.
    assert!((4..=7).contains(&reports.len()), "{} reports", reports.len());
    assert!(reports.iter().all(|packet| packet.len() == 72 && ecn(packet) == 0));
    assert_eq!(number(reports[3]), 3);
    assert_eq!(reported(&report)["price"], 0.0);
}

#[test]
fn each_probe_is_answered_and_calls_begin_where_none_is_marked() {
    if common::skipped() {
        return;
    }
    let Some((report, wire)) = common::run(&common::plan(PROBING), IpVersion::V4) else { return };
    let (sent, answers) = by_sender(&wire);
    let probes: Vec<_> = sent.iter().filter(|packet| number(packet) >> 46 == 1).collect();
    assert!(probes.len() >= 3 && probes.iter().all(|probe| probe.len() == 100));
    let numbers = |packets: &[&&[u8]]| packets.iter().map(|one| number(one)).collect::<Vec<_>>();
    // The run always ends between a probe and its answer.
    let answered = numbers(&answers.iter().collect::<Vec<_>>());
    assert!(answered.len() >= 3, "{answered:?}");
    assert!(numbers(&probes).starts_with(&answered), "{answered:?} of {:?}", numbers(&probes));
    assert!(answers.iter().all(|answer| answer.len() == 36 && ecn(answer) == 0));
    let reported = reported(&report);
    assert_eq!(reported["blocked"], 0.0);
    assert!(reported["begun"] > 0.0 && reported["set_up_s"] >= 0.01, "{reported:?}");
}

#[test]
fn marks_are_read_from_each_packet() {
    if common::skipped() {
        return;
    }
    let Some(blocked) = run(ALL_MARKED, PROBING, common::SHORT) else { return };
    let reported_of_calls = reported(&blocked.load);
    assert!(reported_of_calls["offered"] > 3.0, "{reported_of_calls:?}");
    assert_eq!(
        (reported_of_calls["begun"], reported_of_calls["calls"]),
        (0.0, 0.0),
        "{reported_of_calls:?}"
    );
    let Some(dear) = run(ALL_MARKED, ADAPTIVE, common::SHORT) else { return };
    // The first reports arrive within the warm-up.
    assert_eq!(reported(&dear.load)["price"], 1.0);
    let Some(cheap) = run("", ADAPTIVE, common::SHORT) else { return };
    assert_eq!(reported(&cheap.load)["price"], 0.0);
    assert!(reported(&cheap.load)["target_rate_bps"] > reported(&dear.load)["target_rate_bps"]);
    assert!(cheap.load.lateness.packets > 30);
}

/// Frames leave every 40 ms, so that the measured time begins and ends 20 ms from any. A shorter stall of the machine
/// may be unnoticed: then another run agrees if the video is the same.
#[test]
fn the_same_video_is_sent_as_in_a_simulation() {
    if common::skipped() {
        return;
    }
    let flows = tidegate_simulator::run(&plan("", FILM), 1).flows;
    let (packets, bits, goodput) =
        (flows.packets_delivered[0], flows.throughput_bps[0] as u64, flows.goodput_bps[0] as u64);
    let mut seen = Vec::new();
    while !seen.contains(&(packets, bits, goodput)) {
        assert!(
            seen.len() < 3,
            "{seen:?}, not {packets} packets, {bits} b, {goodput} b in a second"
        );
        let Some(lab) = run("", FILM, Span::from_millis(10)) else { return };
        let real = lab.emulated.received[0];
        seen.push((real.packets, 8 * real.bytes, 8 * lab.load.flows[0].goodput_bytes));
    }
}
