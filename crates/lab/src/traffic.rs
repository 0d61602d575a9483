//! Traffic of a plan that the lab's hosts can generate.

use tidegate_scenario::plan::{
    Admission, BlindConex, Cbr, FlowPlan, Greedy, NonProbing, Plan, Probing, Traffic, Transfer,
    Unknown, Video,
};

use crate::host::IpVersion;

/// Minimum size of a probe with its number: headers of IPv4 and UDP, 8 B, and the room for an activity.
const SMALLEST_PROBE: u64 = 36;
const ACTIVITY_BYTES: u64 = 8;

/// Returns the features that hosts do not have, a line each.
pub fn not_made(plan: &Plan, ip: IpVersion) -> Vec<String> {
    let mut lines = Vec::new();
    for flow in &plan.flows {
        let smallest = SMALLEST_PROBE + if flow.carries_signal(plan) { ACTIVITY_BYTES } else { 0 };
        let stops = flow
            .stop
            .map(|_| "the lab does not stop flows before the run ends; remove stop".to_owned());
        let found = refused(&flow.traffic, ip, smallest).into_iter().chain(stops);
        lines.extend(found.map(|line| format!("{}: {line}", plan.user_name(flow.user))));
    }
    lines.dedup();
    lines
}

/// Returns the largest packet of a flow's sender, bytes.
pub fn largest_packet(flow: &FlowPlan) -> u32 {
    let probe = probing(&flow.traffic).map_or(0, |own| own.probe_size.0.into());
    flow.packet_size.get().max(probe) as u32
}

fn refused(traffic: &Traffic, ip: IpVersion, smallest_probe: u64) -> Vec<String> {
    match traffic {
        Traffic::Greedy(Greedy { lasts: Some(_) }) | Traffic::Cbr(Cbr { lasts: Some(_), .. }) => {
            vec!["the lab does not support lasts: traffic ends with the run; remove it".to_owned()]
        }
        Traffic::Cbr(Cbr { ecn, conex, .. }) if *ecn || *conex != BlindConex::Off => vec![
            "the lab's UDP at a constant rate is not ECN-capable and declares nothing; remove ecn and conex"
                .to_owned(),
        ],
        Traffic::Transfer(Transfer { write_size: Some(_), .. }) => vec![
            "the lab's applications write a transfer at once; remove write_size and write_interval"
                .to_owned(),
        ],
        Traffic::Transfer(Transfer { barrier: true, .. }) => vec![
            "the lab's flows begin their transfers each by itself; remove barrier".to_owned(),
        ],
        Traffic::Video(Video { request: Some(_), .. }) => vec![
            "the lab's videos are sent without being asked for; remove request".to_owned(),
        ],
        Traffic::Greedy(_) | Traffic::Transfer(_) | Traffic::Cbr(_) | Traffic::Video(_) => {
            Vec::new()
        }
        Traffic::Frames(_) | Traffic::Calls(_) => {
            let mut lines = Vec::new();
            if ip == IpVersion::V6 {
                lines.push("videos and calls travel over IPv4 in the lab; remove --ip 6".to_owned());
            }
            let size = probing(traffic).map(|own| u64::from(own.probe_size.0));
            if let Some(size) = size.filter(|size| *size < smallest_probe) {
                lines.push(format!(
                    "a probe of {size} B has no room for its number; write probe_size = {smallest_probe} or more"
                ));
            }
            lines
        }
        Traffic::OnOff(_) => vec![no("on-off")],
        Traffic::ShortFlows(_) => vec![no("short-flows")],
        Traffic::Pages(_) => vec![no("pages")],
        Traffic::Udp(_) => vec![no("udp")],
        Traffic::Voip(_) => vec![no("voip")],
        Traffic::Gaming(_) => vec![no("gaming")],
        Traffic::VideoCall(_) => vec![no("video-call")],
    }
}

fn no(kind: &str) -> String {
    format!(
        "the lab has no {kind} traffic; simulate it, or take greedy, transfer, cbr, video, frames or calls"
    )
}

/// Returns the probing of calls, if they probe.
fn probing(traffic: &Traffic) -> Option<&Probing> {
    let Traffic::Calls(calls) = traffic else { return None };
    match &calls.admission {
        Admission::Probing(own)
        | Admission::NonProbing(NonProbing { when_unknown: Unknown::Probe(own), .. }) => Some(own),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_scenario::Scenario;

    fn plan(users: &str) -> Plan {
        let text = format!(
            "version = 1\n[bottleneck]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\necn = true\n{users}"
        );
        Scenario::parse(&text, &[]).expect("the scenario is valid").plan()
    }

    #[test]
    fn films_and_calls_are_made_over_ipv4() {
        let plan = plan(
            "[users.film]\ntraffic = { kind = \"frames\", rate = \"1 Mb/s\" }\n\
             [users.site]\ntraffic = { kind = \"calls\", rate = \"1 Mb/s\", every = \"1 s\", \
             holding = \"9 s\" }\n",
        );
        assert_eq!(not_made(&plan, IpVersion::V4), Vec::<String>::new());
        let lines = not_made(&plan, IpVersion::V6);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].starts_with("site.0: videos and calls travel over IPv4"), "{lines:?}");
    }

    #[test]
    fn all_errors_are_reported_together_with_user_and_remedy() {
        let probes = |size| {
            format!("admission = {{ kind = \"probing\", probes = 5, probe_size = {size} }} }}\n")
        };
        let calls =
            "traffic = { kind = \"calls\", rate = \"1 Mb/s\", every = \"1 s\", holding = \"9 s\", ";
        let plan = plan(&format!(
            "[users.site]\n{calls}{}[users.metered]\nmeter = {{ reference_rate = \"1 Mb/s\" }}\n{calls}{}\
             [users.web]\ntraffic = {{ kind = \"pages\" }}\n",
            probes(35),
            probes(40),
        ));
        let lines = not_made(&plan, IpVersion::V4);
        let wanted = [
            "site.0: a probe of 35 B has no room for its number; write probe_size = 36 or more",
            "metered.0: a probe of 40 B has no room for its number; write probe_size = 44 or more",
            "web.0: the lab has no pages traffic; simulate it, or take greedy, transfer, cbr, video, frames or calls",
        ];
        assert_eq!(lines, wanted);
    }

    #[test]
    fn a_device_has_room_for_probes_larger_than_packets() {
        let plan = plan(
            "[users.site]\npacket_size = \"500 B\"\ntraffic = { kind = \"calls\", rate = \"1 Mb/s\", \
             every = \"1 s\", holding = \"9 s\", admission = { kind = \"probing\", probe_size = 900 } }\n",
        );
        assert_eq!(largest_packet(&plan.flows[0]), 900);
    }
}
