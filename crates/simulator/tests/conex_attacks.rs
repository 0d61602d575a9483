//! Senders that use the rules of ConEx against policers and auditors: one heavy user among others, in the setup of the
//! security study.

use crate::common;

use common::plan_with;
use tidegate_simulator::output::RunOutput;
use tidegate_simulator::run;

const SECURITY: &str = include_str!("../../../studies/security/base.toml");
const SHORT: [(&str, &str); 2] = [("warm_up", "\"10 s\""), ("duration", "\"30 s\"")];

/// Returns the policer of the study with other parameters for the user who cheats.
fn policer(more: &str) -> String {
    format!(
        "{{ kind = \"conex-policer\", fill_rate = \"480 kb/s\", depth = \"360 kB\", not_conex = \"limit\", \
         not_conex_rate = \"1 Mb/s\"{more} }}"
    )
}

fn output(overrides: &[(&str, &str)]) -> RunOutput {
    run(&plan_with(SECURITY, &[&SHORT, overrides].concat()), 1)
}

/// Returns a count of the auditor of the user who cheats.
fn cheat_count(output: &RunOutput, count: &str) -> f64 {
    let table = &output.stages;
    let own =
        |row: &usize| table.stage[*row].starts_with("cheat.0.egress") && table.count[*row] == count;
    (0..table.value.len()).filter(own).map(|row| table.value[row] as f64).sum()
}

/// Returns the goodput of the user who cheats, Mb/s.
fn cheat_mbps(overrides: &[(&str, &str)]) -> f64 {
    goodput_mbps(&output(overrides))
}

fn goodput_mbps(output: &RunOutput) -> f64 {
    let flows = &output.flows;
    let own = (0..flows.flow.len()).filter(|&flow| flows.user[flow] == 9);
    own.map(|flow| flows.goodput_bps[flow]).sum::<f64>() / 1e6
}

/// UDP that sets CE on all its packets, and declares a mark on each, satisfies the auditor. It pays for every packet as
/// long as marks from its own host pay for nothing. It starts late, so that no loss in the slow start of others is its.
#[test]
fn a_user_who_marks_its_own_packets_pays_for_what_it_declares() {
    let honest = cheat_mbps(&[]);
    for (rate, gained) in [("2.5 Mb/s", 9.5), ("7 Mb/s", 27.0)] {
        let flood = format!(
            "{{ kind = \"cbr\", rate = \"{rate}\", ecn = true, conex = {{ kind = \"blind\", marks = 1.0, ce = true }} }}"
        );
        let with = |upstream: &str| {
            let ingress = format!("[{}]", policer(&format!(", upstream = \"{upstream}\"")));
            cheat_mbps(&[
                ("users.cheat.start", "\"5 s\""),
                ("users.cheat.traffic", &flood),
                ("users.cheat.ingress", &ingress),
            ])
        };
        let [credited, ignored] = ["credit", "ignore"].map(with);
        assert!(credited > gained, "marks of its own pay: {credited}");
        assert!(ignored < honest, "{ignored} beside {honest} of an honest user");
    }
}

/// A sender of 9000 B declares six times as much with each packet as one of 1500 B.
#[test]
fn a_user_with_jumbo_packets_pays_for_all_its_bytes() {
    let with = |tokens: &str, size: &str, more: &[(&str, &str)]| {
        let ingress = format!("[{}]", policer(""));
        let ingress = match tokens {
            "packets" => ingress
                .replace("480 kb/s", "40 packets/s")
                .replace("360 kB\"", "240 packets\", tokens = \"packets\""),
            _ => ingress,
        };
        let own = [("users.cheat.ingress", &*ingress), ("users.cheat.packet_size", size)];
        cheat_mbps(&[&own, more].concat())
    };
    let flows = [("users.cheat.flows", "8")];
    let [small, large] = ["\"1500 B\"", "\"9000 B\""];
    let counted = with("packets", large, &flows);
    let small = with("bytes", small, &flows);
    assert!(counted > 3.0, "TCP, where packets are counted: {counted}");
    let bytes = with("bytes", large, &flows);
    assert!(bytes < 1.05 * small.max(cheat_mbps(&[])), "TCP: {bytes} beside {small}");
    let flood = [(
        "users.cheat.traffic",
        "{ kind = \"cbr\", rate = \"3.5 Mb/s\", ecn = true, conex = { kind = \"blind\", marks = 0.15 } }",
    )];
    let counted = with("packets", large, &flood);
    let bytes = with("bytes", large, &flood);
    assert!(counted > 8.0, "UDP, where packets are counted: {counted}");
    assert!(bytes < 4.57, "UDP: {bytes}, where honest UDP gets 4.57");
}

/// UDP that declares what its receiver reports keeps its rate as long as its allowance covers the marks that it meets; if
/// it declares half of them, or late, the auditor stops it. It starts after the slow start of others, whose marks would
/// take more than its allowance: then the policer's own drops, which it has to declare as well, stop it for ever.
#[test]
fn a_truthful_unresponsive_sender_keeps_its_rate_within_its_allowance() {
    let with = |more: &str| {
        let flood = format!(
            "{{ kind = \"cbr\", rate = \"1 Mb/s\", ecn = true, conex = {{ kind = \"reported\", credit = \"50 kB\"{more} }} }}"
        );
        output(&[("users.cheat.start", "\"5 s\""), ("users.cheat.traffic", &flood)])
    };
    let truthful = with("");
    let [declared, met] =
        ["declared_mark_bytes", "met_mark_bytes"].map(|name| cheat_count(&truthful, name));
    assert!(met > 50_000.0 && (0.95..1.05).contains(&(declared / met)), "{declared} of {met}");
    assert!(goodput_mbps(&truthful) > 3.8, "{}", goodput_mbps(&truthful));
    for liar in [", marks = 0.5", ", late = \"3 s\""] {
        let got = goodput_mbps(&with(liar));
        assert!(got < 1.0, "{liar}: {got}");
    }
}
