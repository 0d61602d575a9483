//! Hosts with one interface: what several flows of a customer share, and the order of their packets.

use crate::common;

use common::plan_with;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const ONE_HOST: &str = include_str!("../../../scenarios/one-host.toml");

/// Groups of the scenario, in the order of the file.
const UPLOAD: u32 = 0;
const DOWNLOAD: u32 = 1;

fn of_group(output: &RunOutput, group: u32, column: &[f64]) -> f64 {
    let flows = &output.flows;
    let own = (0..column.len()).filter(|&flow| flows.group[flow] == group);
    own.map(|flow| column[flow]).sum()
}

/// Returns a count of a stage over all users.
fn count(output: &RunOutput, stage: &str, count: &str) -> u64 {
    let table = &output.stages;
    let rows = (0..table.value.len())
        .filter(|&row| table.stage[row] == stage && table.count[row] == count);
    rows.map(|row| table.value[row]).sum()
}

#[test]
fn acknowledgements_of_downloads_wait_behind_data_of_an_upload() {
    let mean_rtt_s = |overrides: &[(&str, &str)]| {
        let output = run(&plan_with(ONE_HOST, overrides), 1);
        of_group(&output, DOWNLOAD, &output.flows.mean_srtt_s) / 2.0
    };
    let together = mean_rtt_s(&[]);
    let upload_is_slow = ("users.upload.traffic", r#"{ kind = "cbr", rate = "0.1 Mb/s" }"#);
    let alone = mean_rtt_s(&[upload_is_slow]);
    // 80 packets of 1500 B take 192 ms at 5 Mb/s.
    assert!(
        alone < 0.035 && (0.1..0.22).contains(&together),
        "{together} s together, {alone} s alone"
    );
}

/// RFC 3168, section 6.1.4: ACKs are Not-ECT with classic feedback, so that a marking queue drops them; with AccECN
/// they are ECN-capable, as in Linux.
#[test]
fn acknowledgements_are_marked_where_feedback_is_accurate_and_else_dropped() {
    let of_downloads = |feedback: &str| {
        let settings = [
            ("bottleneck.aqm", r#"{ kind = "piecewise-linear", points = [[0, 0.02]] }"#),
            ("bottleneck.ecn", "true"),
            ("tcp.ecn", "true"),
            ("tcp.feedback", feedback),
        ];
        let output = run(&plan_with(ONE_HOST, &settings), 1);
        let table = &output.link_groups;
        let row = (0..table.link.len())
            .find(|&row| table.link[row] == "bottleneck" && table.group[row] == DOWNLOAD)
            .expect("its acknowledgements cross the link");
        (table.marks[row], table.drops[row])
    };
    let (marks, drops) = of_downloads("classic");
    assert!(marks == 0 && drops > 0, "classic: {marks} marked, {drops} dropped");
    let (marks, drops) = of_downloads("accurate");
    assert!(marks > 0 && drops == 0, "accurate: {marks} marked, {drops} dropped");
}

#[test]
fn a_stage_at_the_host_sees_all_that_it_sends() {
    let plan = plan_with(ONE_HOST, &[("warm_up", "\"0 s\"")]);
    let output = run(&plan, 1);
    let flows = &output.flows;
    let seen = count(&output, "upload.0.ingress.0", "seen_packets");
    let index =
        output.links.name.iter().position(|name| name == "upload.0.access").expect("is there");
    let dropped: u64 = output.links.drops_full[index];
    let acks = seen - (flows.packets_sent[0] - dropped);
    let downloaded: u64 = flows.packets_delivered[1..].iter().sum();
    // Every second segment is acknowledged, and more while segments are out of order.
    let share = acks as f64 / downloaded as f64;
    assert!((0.4..1.0).contains(&share), "{acks} acknowledgements of {downloaded} segments");
}

/// Scheduling by customer takes all flows of a host as one customer's: here those of three groups, in both directions.
#[test]
fn all_at_a_host_are_one_customer() {
    let text = r#"
version = 1
profile = "classic"
warm_up = "5 s"
duration = "20 s"
bottleneck = { rate = "10 Mb/s", buffer = "100 packets", scheduler = { kind = "drr" } }
[users.alone]
[users.first]
flows = 2
[users.second]
flows = 3
"#;
    let share = |hosts: &[(&str, &str)]| {
        let output = run(&plan_with(text, hosts), 1);
        of_group(&output, 0, &output.flows.throughput_bps) / 10e6
    };
    let (of_three, of_two) = (share(&[]), share(&[("users.second.hosts", "\"first\"")]));
    assert!((of_three - 1.0 / 3.0).abs() < 0.01, "{of_three}");
    assert!((of_two - 1.0 / 2.0).abs() < 0.01, "{of_two}");
}

/// A meter at the host measures the total of all groups there: the same activity as if one group sent it.
#[test]
fn a_meter_at_the_host_measures_all_groups_there() {
    let text = r#"
version = 1
warm_up = "5 s"
duration = "20 s"
host_jitter = "off"
bottleneck = { rate = "8 Mb/s", aqm = { kind = "pie" }, differentiation = { kind = "abc" } }
[users.first]
traffic = { kind = "cbr", rate = "1 Mb/s" }
start = "0 s"
meter = { reference_rate = "0.5 Mb/s" }
[users.second]
traffic = { kind = "cbr", rate = "3 Mb/s" }
start = "0 s"
hosts = "first"
"#;
    let output = run(&plan_with(text, &[]), 1);
    let groups = &output.link_groups;
    let rows: Vec<_> =
        (0..groups.group.len()).filter(|&row| groups.link[row] == "bottleneck").collect();
    assert_eq!(rows.len(), 2);
    for row in rows {
        // log2 of 4 Mb/s over 0.5 Mb/s.
        let activity = groups.mean_activity[row];
        assert!((activity - 3.0).abs() < 0.05, "group {}: {activity}", groups.group[row]);
    }
}

/// A host with jitter sends packets in order, data and acknowledgements alike: no reordering is visible.
#[test]
fn what_leaves_a_host_leaves_in_order() {
    let roomy = [
        ("access.buffer", "\"5000 packets\""),
        ("host_jitter", "\"1 ms\""),
        ("tcp.window_limit", "\"60 kB\""),
        ("tcp.min_rto", "\"3 s\""),
    ];
    let output = run(&plan_with(ONE_HOST, &roomy), 1);
    let flows = &output.flows;
    for column in [&flows.losses, &flows.retransmits, &flows.timeouts] {
        assert_eq!(column.iter().sum::<u64>(), 0);
    }
    assert!(of_group(&output, UPLOAD, &flows.throughput_bps) > 2e6);
}

/// One group with two flows behaves as two groups at one host with a flow each.
#[test]
fn two_groups_at_one_host_do_what_one_group_does() {
    let text = |users: &str| {
        format!(
            "version = 1\nwarm_up = \"1 s\"\nduration = \"5 s\"\n\
             bottleneck = {{ rate = \"10 Mb/s\", scheduler = {{ kind = \"drr\" }} }}\n{users}"
        )
    };
    // With the same start time, since flows of other names draw other starts.
    let start = "start = \"0 s\"\n";
    let one = run(&plan_with(&text(&format!("[users.a]\nflows = 2\n{start}")), &[]), 1);
    let two = format!("[users.a]\n{start}[users.b]\nhosts = \"a\"\n{start}");
    let two = run(&plan_with(&text(&two), &[]), 1);
    assert_eq!(one.digest, two.digest);
}
