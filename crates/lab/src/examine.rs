//! Features of a scenario that the lab cannot run, and deviations of the kernel: known before anything is built.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::scheduler::cake::AckFilter;
use tidegate_mechanisms::sender::SenderParams;
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::{Direction, FlowPlan, LinkPlan, Plan, TcpPlan};

use crate::declare;
use crate::host::{IPV6_MIN_MTU, IpVersion};
use crate::hosts::{ROOM, deviations_of_users, mtu};
use crate::load::{self, Generator, pricing};
use crate::{node, traffic};

/// Host jitter up to this exists in real hosts, so that it needs no emulation.
const HOST_JITTER: Span = Span::from_micros(50);

/// Returns the whole report, for the calling program.
pub fn report(plan: &Plan, ip: IpVersion, generator: Generator) -> Value {
    json!({ "refused": rejected(plan, ip, generator), "deviations": deviations(plan) })
}

/// Returns the features that the lab does not have, a line each with its remedy.
pub fn rejected(plan: &Plan, ip: IpVersion, generator: Generator) -> Vec<String> {
    let mut lines = prices_in_packets(plan);
    lines.extend(node::not_carried(plan));
    if !plan.offers.is_empty() {
        lines.push(
            "offers: what flows pay changes by itself in simulations only; here `tidegate price` does it"
                .to_owned(),
        );
    }
    lines.extend(declares(plan, ip));
    lines.extend(changes_rate(plan));
    lines.extend(shapes_at_tunnels(plan));
    lines.extend(cannot_see(plan));
    lines.extend(too_many(plan));
    lines.extend(traffic::not_made(plan, ip));
    lines.extend(too_small(plan, ip));
    let encoding = plan.links.iter().find_map(|link| link.price_encoding);
    let of_flow = |flow: &FlowPlan| {
        let (user, tcp) = (flow.user, flow.tcp.as_deref());
        let paying = tcp.and_then(|tcp| pricing::options(&tcp.congestion_control, encoding).err());
        let by_iperf3 = (generator == Generator::Iperf3)
            .then(|| load::not_by_iperf3(flow, flow.carries_signal(plan)))
            .flatten();
        [paying, by_iperf3, tcp.and_then(in_no_kernel)]
            .into_iter()
            .flatten()
            .map(move |line| (user, line))
            .collect::<Vec<_>>()
    };
    let of_flows = plan.flows.iter().flat_map(of_flow);
    lines.extend(of_flows.map(|(user, line)| of_group(plan, user, &line)));
    once(lines)
}

/// Returns the settings of the scenario that the machine overrides.
pub fn deviations(plan: &Plan) -> Vec<String> {
    let mut lines = deviations_of_users(plan);
    if let Some(link) = plan.links.iter().find(|link| link.kernel_qdisc.is_some()) {
        let kind = link.kernel_qdisc.as_ref().map_or("", |qdisc| qdisc.kind);
        lines.push(format!("packets at {} wait in the kernel's {kind} alone", link.name));
    }
    if plan.flows.iter().any(|flow| flow.jitter > HOST_JITTER) {
        lines.push("real hosts have a jitter of their own, not that of host_jitter".to_owned());
    }
    lines
}

/// Returns the encodings of prices that real packets cannot carry: only a mark can be.
fn prices_in_packets(plan: &Plan) -> Vec<String> {
    let in_payload = |link: &LinkPlan| link.price_encoding.is_some_and(|how| how.is_in_payload());
    let line = "price_encoding: packets of today have room for one bit, the mark of ECN; simulate the scenario, or \
                write price_encoding = { kind = \"one-bit\", base = 1.06 }";
    plan.links.iter().any(in_payload).then(|| line.to_owned()).into_iter().collect()
}

/// Returns the flows that declare congestion in a way that no kernel can be made to.
fn declares(plan: &Plan, ip: IpVersion) -> Vec<String> {
    let line = |flow: &FlowPlan| {
        declare::rejected(plan, flow, ip).map(|line| of_group(plan, flow.user, &line))
    };
    plan.flows.iter().filter_map(line).collect()
}

/// Where tunnels begin or end there is another process, which has no queue for a shaper.
fn shapes_at_tunnels(plan: &Plan) -> Option<String> {
    let both = |flow: &FlowPlan, direction: Direction, hop: usize| {
        let at = || flow.stages_at(plan, direction, hop);
        at().any(|stage| stage.capabilities().holds) && at().any(StageParams::is_of_tunnels)
    };
    let on_path = |flow: &FlowPlan| {
        let hops = |direction: Direction| 0..=direction.route(flow).len();
        Direction::ALL
            .into_iter()
            .any(|direction| hops(direction).any(|hop| both(flow, direction, hop)))
    };
    let shapes = plan.paths().any(on_path);
    let message = "shaper: not in the place of a pdn-gateway or an enodeb, which is a process of its own here; put it \
                   at another";
    shapes.then(|| message.to_owned())
}

/// What a queue cannot see in packets of real hosts.
fn cannot_see(plan: &Plan) -> Option<String> {
    let in_kernel = |link: &LinkPlan| link.kernel_qdisc.is_some();
    let filters = |link: &LinkPlan| match &link.scheduler {
        SchedulerParams::Cake(cake) => cake.ack_filter != AckFilter::NoAckFilter,
        _ => false,
    };
    let filtered = plan.links.iter().any(|link| filters(link) && !in_kernel(link));
    let line = "ack_filter: the network here does not look into ACKs of real hosts; take kernel_qdisc, or remove it";
    filtered.then(|| line.to_owned())
}

/// Kernels name version 1 BBR, except patched ones.
fn in_no_kernel(tcp: &TcpPlan) -> Option<String> {
    let line = "no released Linux kernel has BBRv3 (bbr3); simulate it, or take bbr";
    matches!(tcp.congestion_control, SenderParams::Bbr3(_)).then(|| line.to_owned())
}

/// A qdisc has one rate.
fn changes_rate(plan: &Plan) -> Option<String> {
    let changes = |link: &&LinkPlan| link.kernel_qdisc.is_some() && link.changes_rate();
    let link = plan.links.iter().find(changes)?;
    let key = if link.rate_trace.is_some() { "rate.trace" } else { "rate_changes" };
    Some(format!("{}.{key}: not with kernel_qdisc, whose rate stays", link.name))
}

fn too_many(plan: &Plan) -> Option<String> {
    let most = plan.flows.len().max(plan.users.len());
    (most > ROOM).then(|| format!("users: Linux has ports for {ROOM} flows, no more"))
}

fn too_small(plan: &Plan, ip: IpVersion) -> Vec<String> {
    let is_small = |user: &usize| ip == IpVersion::V6 && mtu(plan, *user) < IPV6_MIN_MTU;
    let line = |user: usize| {
        format!(
            "{}: packets of {} B are too small for IPv6, which needs {IPV6_MIN_MTU} B; use --ip 4",
            plan.user_name(user),
            mtu(plan, user)
        )
    };
    (0..plan.users.len()).filter(is_small).map(line).collect()
}

fn of_group(plan: &Plan, user: usize, line: &str) -> String {
    format!("{}: {line}", plan.groups[plan.users[user].group].name)
}

/// Removes duplicate lines, keeping the first.
fn once(lines: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    lines.into_iter().filter(|line| known.insert(line.clone())).collect()
}

#[cfg(test)]
mod tests {
    use tidegate_scenario::Scenario;

    use super::*;

    fn plan(more: &str) -> Plan {
        let text = format!("version = 1\n{more}\n[bottleneck]\nrate = \"10 Mb/s\"\n");
        Scenario::parse(&text, &[]).expect("the scenario is valid").plan()
    }

    fn own(more: &str) -> Vec<String> {
        rejected(&plan(more), IpVersion::V4, Generator::Own)
    }

    #[test]
    fn a_sender_that_declares_what_one_codepoint_does_not_say_is_rejected() {
        let conex = own("users.a = { count = 3, tcp.conex = \"rfc7786\" }\nusers.b.flows = 1");
        assert_eq!(conex.len(), 1, "{conex:?}");
        assert!(conex[0].starts_with("a: tcp.conex: no kernel here tells losses"), "{conex:?}");
        let re_ecn = |more: &str| {
            let conex = format!("{{ kind = \"re-ecn\"{more} }}");
            own(&format!("tcp = {{ conex = {conex}, ecn = true }}\nusers.a.flows = 1"))
        };
        assert_eq!(re_ecn(""), Vec::<String>::new());
        assert_eq!(re_ecn(", cheat = \"never\""), Vec::<String>::new());
        assert_eq!(re_ecn(", cheat = { kind = \"late\", by = \"1 s\" }").len(), 1);
        let per_signal = "users.a.tcp.conex = \"per-signal\"\n";
        assert_eq!(own(per_signal), Vec::<String>::new());
        let marks =
            format!("version = 1\n{per_signal}bottleneck = {{ rate = \"1 Mb/s\", ecn = true }}\n");
        let marks = Scenario::parse(&marks, &[]).expect("is valid").plan();
        assert_eq!(rejected(&marks, IpVersion::V4, Generator::Own).len(), 1, "{marks:?}");
        let in_v6 = |conex: &str| {
            let text = format!("users.a.tcp = {{ ecn = true, conex = {conex} }}");
            rejected(&plan(&text), IpVersion::V6, Generator::Own).len()
        };
        let rfc7786 = r#"{ kind = "rfc7786", repeats_lost = false }"#;
        assert_eq!([in_v6("\"per-signal\""), in_v6(rfc7786)], [0, 0]);
        assert_eq!([in_v6("\"rfc7786\""), in_v6("\"re-ecn\"")], [1, 1]);
        let blind = "{ kind = \"cbr\", rate = \"1 Mb/s\", conex = \"re-ecn\" }";
        assert_eq!(own(&format!("users.a.traffic = {blind}")).len(), 1);
        // Without declarations, a policer sees what it would see on a kernel.
        let policer =
            "ingress = [{ kind = \"conex-policer\", fill_rate = \"1 Mb/s\", depth = \"9 kB\" }]";
        assert_eq!(own(&format!("users.a = {{ {policer} }}")), Vec::<String>::new());
    }

    #[test]
    fn a_qdisc_is_named_and_keeps_its_rate() {
        let with = |more: &str| {
            let text = format!(
                "version = 1\nusers.a.flows = 1\n[bottleneck]\nrate = \"9 Mb/s\"\nkernel_qdisc = \"cake\"\n{more}"
            );
            Scenario::parse(&text, &[]).expect("the scenario is valid").plan()
        };
        let steady = with("");
        assert_eq!(deviations(&steady), ["packets at bottleneck wait in the kernel's cake alone"]);
        assert_eq!(rejected(&steady, IpVersion::V4, Generator::Own), Vec::<String>::new());
        let changes = with("rate_changes = [{ at = \"1 s\", rate = \"1 Mb/s\" }]\n");
        assert_eq!(
            rejected(&changes, IpVersion::V4, Generator::Own),
            ["bottleneck.rate_changes: not with kernel_qdisc, whose rate stays"]
        );
        let traced = |qdisc: &str| {
            let text = format!(
                "version = 1\nusers.a.flows = 1\nbottleneck.rate.trace = \"1\\n\"\n{qdisc}"
            );
            let plan = Scenario::parse(&text, &[]).expect("the scenario is valid").plan();
            rejected(&plan, IpVersion::V4, Generator::Own)
        };
        assert_eq!(
            traced("bottleneck.kernel_qdisc = \"cake\"\n"),
            ["bottleneck.rate.trace: not with kernel_qdisc, whose rate stays"]
        );
        assert_eq!(traced(""), Vec::<String>::new());
    }

    #[test]
    fn traffic_and_controllers_that_the_lab_has_not_are_refused() {
        for traffic in [
            "{ kind = \"pages\" }",
            "{ kind = \"short-flows\", size = \"9 kB\", every = \"1 s\" }",
            "{ kind = \"on-off\", on = \"1 s\", off = \"1 s\" }",
            "{ kind = \"on-off\", on = \"1 s\", off = \"1 s\", rate = \"1 Mb/s\" }",
        ] {
            let reported = own(&format!("users.a.traffic = {traffic}"));
            assert!(
                reported.len() == 1 && reported[0].starts_with("a.0: the lab has no "),
                "{reported:?}"
            );
        }
        let late = "{ kind = \"sbrm\", slow_start = false }";
        let reported = own(&format!("tcp.congestion_control = {late}\nusers.a.flows = 2"));
        assert!(
            reported.len() == 1 && reported[0].contains("begins with slow start"),
            "{reported:?}"
        );
        let reported = own("tcp.congestion_control = \"bbr3\"\nusers.a.flows = 2");
        assert_eq!(
            reported,
            ["a: no released Linux kernel has BBRv3 (bbr3); simulate it, or take bbr"]
        );
        let limited = plan("tcp.window_limit = \"64 kB\"\nusers.a.flows = 1");
        let reported = rejected(&limited, IpVersion::V4, Generator::Iperf3);
        assert!(
            reported.len() == 1 && reported[0].contains("iperf3 cannot keep to a window limit")
        );
        assert_eq!(own("tcp.window_limit = \"64 kB\"\nusers.a.flows = 1"), Vec::<String>::new());
    }

    #[test]
    fn small_packets_and_writes_in_pieces_are_refused() {
        let small = plan("users.a = { count = 2, packet_size = \"500 B\" }");
        let reported = rejected(&small, IpVersion::V6, Generator::Own);
        assert!(
            reported.len() == 2 && reported[0].starts_with("a.0: packets of 500 B are"),
            "{reported:?}"
        );
        assert_eq!(rejected(&small, IpVersion::V4, Generator::Own), Vec::<String>::new());
        let pieces = "{ kind = \"transfer\", size = \"1 MB\", write_size = \"1 kB\", write_interval = \"1 ms\" }";
        let reported = own(&format!("users.a.traffic = {pieces}"));
        assert!(reported[0].starts_with("a.0: the lab's applications write a transfer at once"));
    }

    #[test]
    fn options_that_no_kernel_is_set_to_are_named() {
        let reported =
            |tcp: &str| deviations(&plan(&format!("tcp = {{ {tcp} }}\nusers.a.flows = 1")));
        assert_eq!(reported(""), Vec::<String>::new());
        assert_eq!(reported("quirks.timer_wheel = true"), Vec::<String>::new());
        let options = reported("quirks.loss_to_one = true, quirks.whole_threshold = true");
        assert_eq!(
            options,
            ["a: as the kernel has it, not as given (quirks.loss_to_one, quirks.whole_threshold)"]
        );
        let vegas = reported("congestion_control = { kind = \"vegas\", alpha = 1.0 }");
        assert_eq!(vegas, ["a: as the kernel has it, not as given (alpha of vegas)"]);
        assert_eq!(reported("congestion_control = \"vegas\""), Vec::<String>::new());
        let rm =
            "congestion_control = { kind = \"tcp-rm\", kappa = 0.2, least_window = 2 }, ecn = true";
        assert_eq!(
            reported(rm),
            ["a: as the kernel has it, not as given (least_window of tcp-rm)"]
        );
        let jitter = deviations(&plan("host_jitter = \"1 ms\"\nusers.a.flows = 1"));
        assert_eq!(jitter, ["real hosts have a jitter of their own, not that of host_jitter"]);
    }
}
