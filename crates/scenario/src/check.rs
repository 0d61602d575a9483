//! Checks that need more than one section: topology, routes, sizes, times.

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, QueueLength, Span};

use crate::buffers;
use crate::document::Table;
use crate::field::{Reader, UnlocatedDiagnostic};
use crate::file::{Access, File, ParkingLot, Tcp, User, packet_size_error};
use crate::issue::nearest;
use crate::layout;
use crate::load;
use crate::network::{DUMBBELL, Network};
use crate::placement;
use crate::plan::{ConexPlan, FeedbackPlan, MAX_GROUPS, MAX_LINKS, MAX_RUN, TcpPlan};
use crate::prices;
use crate::resolve::AtHosts;
use crate::routes;
use crate::tunnels;
use crate::value::{OneOrEach, OrOff};

/// Limits of what a run can hold in memory.
const MAX_FLOWS: u64 = 1_000_000;
const MAX_STAGES: u64 = 1_000_000;
const MAX_SAMPLES: u64 = 10_000_000;
/// Maximum number of links times groups: finding a group's path can take time proportional to the number of links.
const MAX_SEARCHED: usize = 500_000;

/// Maximum length of a name, bytes: names are part of folder names, which have at most 255.
pub(crate) const MAX_NAME_BYTES: usize = 200;

/// Length of the TCP and IP headers of a packet without options, and of the timestamp option, bytes.
const HEADERS: u64 = 40;
const TIMESTAMPS: u64 = 12;

/// Reports an error unless there is exactly one topology.
pub(crate) fn topologies(document: &Table, reader: &mut Reader) {
    let set: Vec<_> = ["bottleneck", "parking_lot", "mobile", "links"]
        .into_iter()
        .filter(|key| document.get(key).is_some())
        .collect();
    match set[..] {
        [] => {
            reader.error::<()>(
                "no network: give one of [bottleneck], [parking_lot], [mobile], [links.NAME]",
            );
        }
        [_] => {}
        [first, ..] => set[1..].iter().for_each(|key| {
            reader
                .error_at(key, format!("there is already [{first}]; a scenario has one topology"));
        }),
    }
}

/// Checks that a duration given together with intervals agrees with them.
pub(crate) fn intervals(file: &File, document: &Table, reader: &mut Reader) {
    let Some(intervals) = &file.intervals else { return };
    if intervals.length == Span::ZERO {
        reader.within("intervals", |reader| reader.error_at("length", "must not be zero"));
    }
    let whole = intervals.length.as_nanos().saturating_mul(intervals.count.0.into());
    if document.get("duration").is_some() && file.duration.as_nanos() != whole {
        reader.error_at("duration", "give intervals or a duration, not both");
    }
}

/// Checks that TCP options are consistent: the scenario's, and each group's together with the scenario's.
pub(crate) fn tcp_options(file: &File, reader: &mut Reader) {
    let nothing = Tcp::empty();
    let scenario = file.tcp.as_ref().unwrap_or(&nothing);
    let mut of_all = Vec::new();
    reader.nested(&["tcp"], |reader| {
        of_all = conflicts(scenario, scenario, reader);
        of_all.iter().for_each(|(key, message)| reader.error_at(key, message));
    });
    for (name, user) in &file.users.entries {
        let Some(own) = &user.tcp else { continue };
        reader.nested(&["users", name, "tcp"], |reader| {
            for (key, message) in conflicts(&own.over(scenario), own, reader) {
                // An inherited conflict has been reported at the scenario's options.
                if own.sets(key) || of_all.iter().all(|(_, reported)| *reported != message) {
                    reader.error_at(key, message);
                }
            }
        });
    }
}

/// Returns the conflicts in `tcp`, of which `own` are the options given here: keys, and messages. Congestion
/// controllers that require ECN conflict with options that exclude it.
fn conflicts(tcp: &Tcp, own: &Tcp, reader: &mut Reader) -> Vec<(&'static str, String)> {
    let Some(resolved) = tcp.resolve(reader) else { return Vec::new() };
    let mut conflicts = Vec::new();
    let set = |key: &'static str| if own.sets(key) { key } else { "ecn" };
    let name = resolved.congestion_control.about().name;
    let scalable = resolved.congestion_control.is_scalable();
    if scalable && own.switches_off("ecn") {
        conflicts.push(("ecn", format!("{name} needs ECN: remove this key")));
    }
    if resolved.congestion_control.needs_ecn() && !resolved.ecn {
        let message = format!("{name} goes by congestion marks: write ecn = true");
        conflicts.push((set("congestion_control"), message));
    }
    let marks = resolved.ecn || scalable;
    let mark_feedback = resolved.feedback.filter(|feedback| *feedback != FeedbackPlan::Classic);
    if let Some(feedback) = mark_feedback.filter(|_| !marks) {
        let message = format!(
            "{:?} feedback needs marks, and so ECN: write ecn = true, or remove feedback",
            feedback.word()
        );
        conflicts.push((set("feedback"), message));
    }
    if matches!(resolved.conex, ConexPlan::ReEcn(_)) && !marks {
        let message = "re-ECN declares in the ECN field: write ecn = true";
        conflicts.push((set("conex"), message.to_owned()));
    }
    conflicts
}

/// Checks a resolved file.
pub(crate) fn whole(file: &File, reader: &mut Reader) {
    if let Some(name) = file.name.as_ref().filter(|name| name.len() > MAX_NAME_BYTES) {
        let message = format!(
            "has {} bytes; at most {MAX_NAME_BYTES}, since folders are named after it: say more in description",
            name.len()
        );
        reader.error_at("name", message);
    }
    times(file, reader);
    packets(file, reader);
    placement::buckets(file, reader);
    classes(file, reader);
    classes_of_kernel(file, reader);
    rates(file, reader);
    totals(file, reader);
    let network = network_if_known(file);
    if network.is_some() {
        placement::aqms(file, reader);
    }
    let network = network.filter(|network| can_be_searched(file, network, reader));
    prices::of(file, network.as_ref(), reader);
    network.iter().for_each(|network| {
        tunnels::of(file, network, reader);
        routes::check(file, network, reader);
    });
    let nodes = network.as_ref().map(Network::nodes).unwrap_or_default();
    let known = network.as_ref().filter(|_| reader.errors.is_empty());
    known.iter().for_each(|network| load::whole(file, network, reader));
    let network = network.as_ref().map(|network| (network, &nodes));
    reader.within("users", |reader| {
        for (name, user) in &file.users.entries {
            reader.within(name, |reader| user_group(file, user, network, reader));
        }
    });
    if reader.errors.is_empty() {
        buffers::check(file, reader);
    }
}

fn can_be_searched(file: &File, network: &Network, reader: &mut Reader) -> bool {
    let found = searches(file, network);
    found.map_err(|message| reader.error_at("users", message)).is_ok()
}

/// Whether the paths of all groups may be searched for. Fails with the reason.
pub(crate) fn searches(file: &File, network: &Network) -> Result<(), String> {
    let (groups, links) = (file.users.entries.len(), network.links.len());
    let moves: usize = file.users.entries.iter().map(|(_, user)| user.moves.0.len()).sum();
    if (groups + moves).saturating_mul(links) <= MAX_SEARCHED {
        return Ok(());
    }
    let moves = if moves > 0 { format!(" with {moves} moves") } else { String::new() };
    Err(format!("{groups} groups{moves} over {links} links; at most {MAX_SEARCHED} pairs of them"))
}

/// Returns the longest that a run may last, ns.
pub(crate) fn longest_ns(file: &File) -> u64 {
    let parts = [file.warm_up, file.duration, file.drain_limit];
    parts.iter().fold(0u64, |sum, span| sum.saturating_add(span.as_nanos()))
}

fn times(file: &File, reader: &mut Reader) {
    if file.duration == Span::ZERO {
        reader.error_at("duration", "must not be zero");
    }
    if longest_ns(file) >= MAX_RUN.as_nanos() {
        let message = "warm_up, duration and drain_limit together must stay below 19.5 h";
        reader.error_at("duration", message);
    }
    match file.sample_interval.and_then(OrOff::span) {
        Some(Span::ZERO) => {
            reader.error_at("sample_interval", "must not be zero; \"off\" keeps no series")
        }
        Some(step) if file.duration.as_nanos() / step.as_nanos() > MAX_SAMPLES => {
            reader.error_at("sample_interval", format!("more than {MAX_SAMPLES} samples"));
        }
        _ => {}
    }
}

/// Classes of HTB are those of existing groups.
fn classes(file: &File, reader: &mut Reader) {
    let names: Names = file.users.entries.iter().map(|(name, _)| name.as_str()).collect();
    for (path, link) in file.link_mechanisms() {
        let SchedulerParams::Htb(htb) = &link.scheduler else { continue };
        for (number, class) in htb.classes.0.iter().enumerate() {
            if names.contains(class.users.as_str()) || reader.is_full() {
                continue;
            }
            let near = nearest(&class.users, names.iter().copied()).map(str::to_owned);
            let message =
                format!("there is no group \"{}\"; groups are {}", class.users, list(&names));
            let number = number.to_string();
            let place = [&path[..], &["scheduler", "classes", &number, "users"]].concat();
            reader.nested(&place, |reader| {
                reader.error_near::<()>(message, near);
            });
        }
    }
}

/// Each group has one class of a kernel's HTB, since there a packet without a class passes unhindered.
fn classes_of_kernel(file: &File, reader: &mut Reader) {
    let qdisc = file.bottleneck.iter().find_map(|link| link.kernel_qdisc.as_ref());
    let Some(qdisc) = qdisc.filter(|qdisc| !qdisc.classes.is_empty()) else { return };
    let names: Names = file.users.entries.iter().map(|(name, _)| name.as_str()).collect();
    let place = ["bottleneck", "kernel_qdisc", "classes"];
    let unknown = qdisc.classes.iter().find(|class| !names.contains(class.users.as_str()));
    if let Some(class) = unknown {
        let near = nearest(&class.users, names.iter().copied()).map(str::to_owned);
        let message = format!("there is no group \"{}\"; groups are {}", class.users, list(&names));
        reader.nested(&place, |reader| {
            reader.error_near::<()>(message, near);
        });
    }
    for name in &names {
        let message = match qdisc.classes.iter().filter(|class| class.users == *name).count() {
            1 => continue,
            0 => format!("the group \"{name}\" has no class; give each group one"),
            _ => format!("the group \"{name}\" has more than one class"),
        };
        reader.nested(&place, |reader| {
            reader.error::<()>(message);
        });
    }
}

/// A rate follows a trace or changes at given times, not both.
fn rates(file: &File, reader: &mut Reader) {
    let bottleneck =
        file.bottleneck.iter().map(|own| (vec!["bottleneck"], &own.line, &own.mechanisms));
    let mobile = file.mobile.iter().map(|own| (vec!["mobile"], &own.line, &own.mechanisms));
    let named = file.links.iter().flat_map(|links| &links.entries);
    let named = named.map(|(name, own)| (vec!["links", name.as_str()], &own.line, &own.mechanisms));
    for (path, line, mechanisms) in bottleneck.chain(mobile).chain(named) {
        if line.rate.traced().is_some() && !mechanisms.rate_changes.0.is_empty() {
            let message = "the rate follows a trace already; write its changes there";
            reader.nested(&path, |reader| reader.error_at("rate_changes", message));
        }
    }
}

fn packets(file: &File, reader: &mut Reader) {
    if let Some(message) = packet_size_error(file.packet_size) {
        reader.error_at("packet_size", message);
    }
    let sizes =
        file.users.entries.iter().map(|(_, user)| user.packet_size.unwrap_or(file.packet_size));
    let largest = sizes.max().unwrap_or(file.packet_size);
    let mut holds_packet = |path: &[&str], buffer: QueueLength| {
        reader.nested(path, |reader| holds(buffer, largest, reader));
    };
    if let Some(bottleneck) = &file.bottleneck {
        holds_packet(&["bottleneck"], bottleneck.line.buffer());
    }
    if let Some(lot) = &file.parking_lot {
        let hops = 0..lot.buffer.as_ref().and_then(OneOrEach::len).unwrap_or(1);
        hops.for_each(|hop| holds_packet(&["parking_lot"], lot.buffer_at(hop)));
    }
    if let Some(mobile) = &file.mobile {
        holds_packet(&["mobile"], mobile.line.buffer());
        holds_packet(&["mobile", "wired"], mobile.wired().buffer);
        holds_packet(&["mobile", "radio"], mobile.radio().buffer);
    }
    for (name, link) in file.links.iter().flat_map(|links| &links.entries) {
        holds_packet(&["links", name], link.line.buffer());
    }
    for (key, link) in [("access", &file.access), ("receiver_access", &file.receiver_access)] {
        let buffer = link.as_ref().and_then(Access::buffer);
        buffer.iter().for_each(|buffer| holds_packet(&[key], *buffer));
    }
    for (name, user) in &file.users.entries {
        for (key, link) in [("access", &user.access), ("receiver_access", &user.receiver_access)] {
            let buffer = link.as_ref().and_then(Access::buffer);
            buffer.iter().for_each(|buffer| holds_packet(&["users", name, key], *buffer));
        }
    }
}

fn holds(buffer: QueueLength, packet: Bytes, reader: &mut Reader) {
    match buffer {
        QueueLength::Bytes(room) if room < packet => {
            let message = format!("{} B do not hold a packet of {} B", room.get(), packet.get());
            reader.error_at("buffer", message);
        }
        _ => {}
    }
}

/// Reports an error if a run would exhaust the memory.
fn totals(file: &File, reader: &mut Reader) {
    let sum = |size: fn(&User) -> u64| {
        file.users.entries.iter().fold(0u64, |sum, (_, user)| sum.saturating_add(size(user)))
    };
    let flows = sum(|user| user.count.0 * user.flows.0);
    if flows > MAX_FLOWS {
        reader.error_at("users", format!("{flows} flows in all; at most {MAX_FLOWS}"));
    }
    let stages = sum(|user| {
        let meters = user.meter.as_ref().map_or(0, |meter| u64::from(meter.meters.0));
        let of_each = |stage: &StageParams| stage.replicas().len() as u64;
        let others = user.ingress.iter().chain(&user.egress).map(of_each).sum::<u64>();
        let rows = if user.shares_stages { 1 } else { user.count.0 };
        user.count.0 * meters + rows * others
    });
    if stages > MAX_STAGES {
        let message = format!("{stages} meters and other stages in all; at most {MAX_STAGES}");
        reader.error_at("users", message);
    }
    links_fit(file, reader);
}

fn links_fit(file: &File, reader: &mut Reader) {
    let links = routes::links_in_all(file);
    if links >= MAX_LINKS as u64 {
        reader.error_at("users", format!("{links} links in all; at most {}", MAX_LINKS - 1));
    }
    if file.users.entries.len() >= MAX_GROUPS {
        reader.error_at("users", format!("at most {} groups", MAX_GROUPS - 1));
    }
}

/// Returns the network, unless one of its links is invalid: then routes are unknown.
pub(crate) fn network_if_known(file: &File) -> Option<Network> {
    let topologies = [
        file.bottleneck.is_some(),
        file.parking_lot.is_some(),
        file.mobile.is_some(),
        file.links.is_some(),
    ];
    let one = topologies.iter().filter(|set| **set).count() == 1;
    let complete = file.links.as_ref().is_none_or(|links| links.complete);
    let lists_fit = file.parking_lot.as_ref().is_none_or(ParkingLot::has_all);
    let packets_fit = packet_size_error(file.packet_size).is_none();
    (one && complete && lists_fit && packets_fit).then(|| Network::of(file))
}

fn user_group(file: &File, user: &User, network: Option<(&Network, &Names)>, reader: &mut Reader) {
    let end = file.warm_up.as_nanos().saturating_add(file.duration.as_nanos());
    if user.start.is_some_and(|start| start.from.as_nanos() > end) {
        reader.error_at("start", "is after the end of the run");
    }
    if let Some((stop, start)) = user.stop.zip(user.start)
        && stop.from < start.to
    {
        reader.error_at("stop", "is before the last flow of the group starts");
    }
    if let Some((network, _)) = network {
        round_trip(file, user, network, reader);
    }
    if let Some(message) = user.packet_size.and_then(packet_size_error) {
        reader.error_at("packet_size", message);
    }
    if user.traffic.0.is_over_tcp() {
        user.tcp_options(file).iter().for_each(|tcp| window(file, user, tcp, reader));
    } else if user.tcp.is_some() {
        let name = user.traffic.name();
        reader.error_at("tcp", format!("has no meaning for {name} traffic, which is UDP"));
    }
    if let Some((network, nodes)) = network {
        route(file, user, network, nodes, reader);
    }
    moves(user, network, reader);
    offers(file, user, reader);
    if let Some(name) = &user.hosts {
        hosts(file, user, name, reader);
    }
}

/// Checks that the path leaves something of the round trips for the users' own links.
fn round_trip(file: &File, user: &User, network: &Network, reader: &mut Reader) {
    let Some(round_trip) = &user.round_trip else { return };
    if user.hosts_in(file).is_some_and(|(_, _, at)| at == AtHosts::Sending) {
        let message = "these users have the access links of another group: write it there";
        return reader.error_at("round_trip", message);
    }
    let rest = layout::rest_of_round_trip(file, network, user);
    if round_trip.mean < rest {
        let message = format!(
            "the rest of the path takes {:.3} ms by itself: write more, or shorten the delays of its links",
            rest.as_secs() * 1e3
        );
        reader.error_at("round_trip", message);
    }
}

/// Checks that moves lead to reachable nodes, in order of time, and not for users at others' hosts.
fn moves(user: &User, network: Option<(&Network, &Names)>, reader: &mut Reader) {
    let moves = &user.moves.0;
    if !moves.is_empty() && user.hosts.is_some() {
        reader
            .error_at("moves", "users at the hosts of others do not move by themselves: remove it");
    }
    if let Some(pair) = moves.windows(2).find(|pair| pair[1].at <= pair[0].at) {
        let message = format!("times must ascend, but {} follows {}", pair[1].at, pair[0].at);
        reader.error_at("moves", message);
    }
    let Some((network, nodes)) = network else { return };
    for (number, (step, (_, from, to))) in moves.iter().zip(user.walk()).enumerate() {
        let key = if step.to.is_some() { "to" } else { "from" };
        let unknown =
            [("from", &step.from), ("to", &step.to)].into_iter().find_map(|(key, set)| {
                let set = set.as_deref().filter(|set| !nodes.contains(set))?;
                Some((key, format!("there is no node \"{set}\"; nodes are {}", list(nodes))))
            });
        let known = [from, to].iter().all(|node| nodes.contains(*node));
        let no_path = || network.path(from, to).is_none() || network.path(to, from).is_none();
        let (key, message) = match unknown {
            Some(unknown) => unknown,
            None if step.from.is_none() && step.to.is_none() => {
                ("at", "to where? Give to = \"NODE\" where they receive, or from = \"NODE\" where they send".to_owned())
            }
            None if known && no_path() => {
                (key, format!("no path leads from {from} to {to} and back: give links"))
            }
            None => continue,
        };
        reader.nested(&["moves", &number.to_string()], |reader| reader.error_at(key, message));
    }
}

/// Checks that offers change only for senders that pay, in order of time.
fn offers(file: &File, user: &User, reader: &mut Reader) {
    let offers = &user.offers.0;
    if offers.is_empty() {
        return;
    }
    let tcp = user.traffic.0.is_over_tcp().then(|| user.tcp_options(file)).flatten();
    if tcp.is_some_and(|tcp| !tcp.congestion_control.pays()) || !user.traffic.0.is_over_tcp() {
        let message =
            "these flows pay for nothing: give them a congestion control that does, such as sbrm";
        reader.error_at("offers", message);
    }
    if let Some(pair) = offers.windows(2).find(|pair| pair[1].at <= pair[0].at) {
        let message = format!("times must ascend, but {} follows {}", pair[1].at, pair[0].at);
        reader.error_at("offers", message);
    }
    let end = file.warm_up.as_nanos().saturating_add(file.duration.as_nanos());
    if let Some(late) = offers.iter().find(|offer| offer.at.as_nanos() > end) {
        reader.error_at("offers", format!("{} is after the end of the run", late.at));
    }
}

/// Checks users at the hosts of another group: at most one at each, at one end of their path, with that group's access
/// link.
fn hosts(file: &File, user: &User, name: &str, reader: &mut Reader) {
    let groups = &file.users.entries;
    let Some(place) = file.users.place_of(name) else {
        if reader.is_full() {
            // The search for the nearest name would take long, and the message is not shown.
            return reader.error_at("hosts", String::new());
        }
        let names: Names = groups.iter().map(|(other, _)| other.as_str()).collect();
        let near = nearest(name, names.iter().copied()).map(str::to_owned);
        let message = format!("there is no group \"{name}\"; groups are {}", list(&names));
        reader.within("hosts", |reader| reader.error_near::<()>(message, near));
        return;
    };
    let group = &groups[place].1;
    if let Some(other) = &group.hosts {
        let message = match std::ptr::eq(group, user) {
            true => "names its own group: remove the key".to_owned(),
            false => format!("the users of {name} sit at the hosts of {other}: name that group"),
        };
        return reader.error_at("hosts", message);
    }
    if user.count.0 != group.count.0 {
        let message = format!(
            "{} users at the hosts of {name}, which has {}: write as many, one sits at each",
            user.count.0, group.count.0
        );
        reader.error_at("count", message);
    }
    let node = group.ends().0;
    let not_here: &[(&str, bool)] = match user.hosts_in(file) {
        None => {
            let (from, to) = user.ends();
            let message = format!(
                "the hosts of {name} are at {node}, where a path from {from} to {to} neither begins nor ends"
            );
            return reader.error_at("hosts", message);
        }
        Some((_, _, AtHosts::Sending)) => &[
            ("access", user.access.is_some()),
            ("meter", user.meter.is_some()),
            ("ingress", !user.ingress.is_empty()),
        ],
        Some((_, _, AtHosts::Receiving)) => &[("receiver_access", user.receiver_access.is_some())],
    };
    for (key, _) in not_here.iter().filter(|(_, set)| *set) {
        reader.error_at(key, format!("is what their hosts have: give it in users.{name}"));
    }
}

/// Returns the features that only kernels have, at their keys.
pub(crate) fn simulator_lacks(file: &File) -> Vec<UnlocatedDiagnostic> {
    let mut reader = Reader::default();
    if file.bottleneck.as_ref().is_some_and(|link| link.kernel_qdisc.is_some()) {
        let message = "the simulator has no qdiscs of Linux; run it on a kernel with `tidegate lab`, or leave it out \
                       and give an aqm or a scheduler";
        reader.nested(&["bottleneck"], |reader| reader.error_at("kernel_qdisc", message));
    }
    reader.errors
}

/// Checks that a window holds a segment; otherwise nothing would be sent.
fn window(file: &File, user: &User, tcp: &TcpPlan, reader: &mut Reader) {
    let options = if tcp.timestamps { TIMESTAMPS } else { 0 };
    let packet = user.packet_size.unwrap_or(file.packet_size).get();
    let segment = packet.saturating_sub(HEADERS + options);
    if let Some(limit) = tcp.window_limit.filter(|limit| limit.get() < segment) {
        let message = format!("{} B do not hold a segment of {segment} B", limit.get());
        reader.within("tcp", |reader| reader.error_at("window_limit", message));
    }
}

fn route(file: &File, user: &User, network: &Network, nodes: &Names, reader: &mut Reader) {
    let mut known = true;
    for (key, end) in [("from", &user.from), ("to", &user.to)] {
        known &= match end {
            None if file.bottleneck.is_some() => true,
            None => missing_node(key, nodes, reader),
            Some(name) if !nodes.contains(name.as_str()) => unknown_node(key, name, nodes, reader),
            Some(_) => true,
        };
    }
    if known {
        path(file, user, network, reader);
    }
}

type Names<'a> = std::collections::BTreeSet<&'a str>;

fn missing_node(key: &str, nodes: &Names, reader: &mut Reader) -> bool {
    reader.error_at(key, format!("missing; one of {}", list(nodes)));
    false
}

fn unknown_node(key: &str, name: &str, nodes: &Names, reader: &mut Reader) -> bool {
    let near = nearest(name, nodes.iter().copied()).map(str::to_owned);
    let message = format!("there is no node \"{name}\"; nodes are {}", list(nodes));
    reader.within(key, |reader| reader.error_near::<()>(message, near));
    false
}

fn list(nodes: &Names) -> String {
    let some: Vec<_> = nodes.iter().copied().take(20).collect();
    let more = if nodes.len() > some.len() { ", ..." } else { "" };
    some.join(", ") + more
}

/// Whether a node of a mobile network is behind its bottleneck.
fn is_below(node: &str) -> bool {
    !["G1", "R4", "R3"].contains(&node)
}

/// Returns the section of the links on a path that carries no data.
fn carries_acks_alone(file: &File, from: &str, to: &str) -> Option<&'static str> {
    let acks_alone = file.mobile.as_ref().is_some_and(|mobile| !mobile.duplex);
    if acks_alone && is_below(from) && !is_below(to) {
        return Some("mobile");
    }
    let router = |name: &str| name.strip_prefix('r').and_then(|n| n.parse::<u32>().ok());
    if file.bottleneck.as_ref().is_some_and(|link| !link.duplex) && from == DUMBBELL.1 {
        return Some("bottleneck");
    }
    let backwards = router(from) > router(to);
    (backwards && file.parking_lot.as_ref().is_some_and(|lot| !lot.duplex)).then_some("parking_lot")
}

fn path(file: &File, user: &User, network: &Network, reader: &mut Reader) {
    let (from, to) = user.ends();
    if from == to {
        return reader.error_at("to", format!("the users send from {from} to itself"));
    }
    if let Some(key) = carries_acks_alone(file, from, to) {
        let message = format!(
            "the reverse path from {from} to {to} carries only ACKs; write {key}.duplex = true for data"
        );
        return reader.error_at("to", message);
    }
    match (network.path(from, to), network.path(to, from)) {
        (None, _) => reader.error_at("to", format!("no path leads from {from} to {to}")),
        (_, None) => reader.error_at("from", format!("no path leads back from {to} to {from}")),
        (Some(_), Some(_)) => {}
    }
}
