//! Lints: warnings of what is valid but probably not intended.

mod background;
mod beyond;
mod clipped;
mod declared;
mod ineffective;
mod shares;
mod short_buffers;
mod willing;
mod wired;

use tidegate_mechanisms::bottleneck::DifferentiationParams;
use tidegate_mechanisms::stage::StageParams;

use crate::field::{Reader, UnlocatedDiagnostic};
use crate::file::{File, User};
use crate::network::Network;
use crate::plan::{self, Direction, LinkMechanisms, LinkPlan, ReportPath};
use crate::resolve::AtHosts;
use crate::{layout, load};

/// All lints of a checked file.
pub(crate) fn of(file: &File) -> Vec<UnlocatedDiagnostic> {
    let mut reader = Reader::default();
    let network = Network::of(file);
    let crossing = Crossing::of(file, &network);
    if file.users.entries.iter().all(|(_, user)| !user.is_metered(file)) {
        no_user_is_metered(file, &mut reader);
    } else {
        some_are_not_metered(file, &network, &mut reader);
    }
    declared::of(file, &network, &crossing, &mut reader);
    beyond::of(file, &mut reader);
    clipped::of(file, &network, &mut reader);
    background::of(file, &network, &mut reader);
    shares::of(file, &network, &mut reader);
    short_buffers::of(file, &network, &mut reader);
    willing::of(file, &network, &crossing, &mut reader);
    ineffective::of(file, &network, &mut reader);
    wired::of(file, &mut reader);
    for (name, user) in &file.users.entries {
        reader.nested(&["users", name], |reader| arrives(file, user, &network, reader));
    }
    reports_are_taken(file, &network, &mut reader);
    load::lints(file, &network, &mut reader);
    reader.errors
}

/// Checks that each reporting stage has a receiver, and a path to it.
fn reports_are_taken(file: &File, network: &Network, reader: &mut Reader) {
    let of_users =
        file.users.entries.iter().flat_map(|(_, user)| user.ingress.iter().chain(&user.egress));
    let of_links = network.links.iter().flat_map(|link| link.ingress.iter().chain(&link.egress));
    let mut all = of_users.chain(of_links);
    if !all.any(|stage| stage.reports_to().is_some()) {
        return;
    }
    let plan = layout::plan(file);
    let report_paths = plan.report_paths();
    let mut firsts = vec![None; plan.groups.len()];
    for (number, flow) in plan.flows.iter().enumerate() {
        firsts[plan.users[flow.user].group].get_or_insert(number);
    }
    for (first, (name, _)) in firsts.into_iter().zip(&file.users.entries) {
        let Some(first) = first else { continue };
        let flow = &plan.flows[first];
        for hop in 0..=flow.forward.len() {
            for stage in flow.stages_at(&plan, plan::Direction::Forward, hop) {
                let Some(kind) = stage.reports_to() else { continue };
                let is_its = |path: &&ReportPath| {
                    (path.path, path.direction, path.hop) == (first, plan::Direction::Forward, hop)
                        && path.kind == kind
                };
                let message = match report_paths.iter().find(is_its) {
                    Some(path) if path.links.is_some() => continue,
                    Some(_) => {
                        "but their reverse path does not lead from the one to the other, so that"
                    }
                    None => "and there is none earlier on their path, so that",
                };
                let message = format!(
                    "the {} reports to a {kind}, {message} it reports nothing",
                    stage.name()
                );
                reader.nested(&["users", name], |reader| {
                    reader.error::<()>(message);
                });
            }
        }
    }
}

impl User {
    /// Whether an activity meter is at the ingress of its packets.
    fn is_metered(&self, file: &File) -> bool {
        let writes = StageParams::writes_signal;
        let own = |user: &User| user.meter.is_some() || user.ingress.iter().any(writes);
        match self.hosts_in(file) {
            Some((_, hosts, AtHosts::Sending)) => own(hosts),
            _ => own(self),
        }
    }
}

fn is_abc(link: &LinkMechanisms) -> bool {
    matches!(link.differentiation, DifferentiationParams::Abc(_))
}

fn no_user_is_metered(file: &File, reader: &mut Reader) {
    for (path, _) in file.link_mechanisms().filter(|(_, link)| is_abc(link)) {
        let message = "abc acts on what meters have measured, and no group of users has one: \
                       give users.NAME.meter";
        reader.nested(&path, |reader| reader.error_at("differentiation", message));
    }
}

fn some_are_not_metered(file: &File, network: &Network, reader: &mut Reader) {
    for (name, user) in file.users.entries.iter().filter(|(_, user)| !user.is_metered(file)) {
        if let Some(link) =
            shared_links(network, user, Direction::Forward).find(|link| is_abc(link))
        {
            let message = format!(
                "has no meter, so that abc at {} takes all its packets for inactive and spares them",
                link.name
            );
            reader.nested(&["users", name], |reader| {
                reader.error::<()>(message);
            });
        }
    }
}

/// Returns the shared links on a group's path; none if there is no path, which is reported elsewhere.
fn shared_links<'a>(
    network: &'a Network,
    user: &User,
    direction: Direction,
) -> impl Iterator<Item = &'a LinkPlan> {
    let (from, to) = match (direction, user.ends()) {
        (Direction::Forward, ends) => ends,
        (Direction::Reverse, (from, to)) => (to, from),
    };
    let path = network.path(from, to).unwrap_or_default();
    path.into_iter().map(|link| &network.links[link as usize])
}

/// Groups whose packets cross a shared link, by the link's number: computed once, since a query per group and link
/// would cost groups times links times hops.
struct Crossing(Vec<Vec<usize>>);

impl Crossing {
    fn of(file: &File, network: &Network) -> Self {
        let mut groups = vec![Vec::new(); network.links.len()];
        for (group, (_, user)) in file.users.entries.iter().enumerate() {
            let (from, to) = user.ends();
            for link in network.path(from, to).unwrap_or_default() {
                groups[link as usize].push(group);
            }
        }
        Crossing(groups)
    }

    /// Returns the groups on a link, in the order of the file.
    fn groups(&self, link: u32) -> &[usize] {
        &self.0[link as usize]
    }
}

/// Checks that a full packet can arrive before the run ends, with empty queues. TCP's handshake takes another round
/// trip.
fn arrives(file: &File, user: &User, network: &Network, reader: &mut Reader) {
    let size = user.packet_size.unwrap_or(file.packet_size);
    let own = [Some(user.access_link(file)), user.receiver_access_link(file)];
    let own = own.into_iter().flatten().filter_map(|link| link.delay.0.into_iter().max());
    let own: u128 = own.map(|delay| u128::from(delay.as_nanos())).sum();
    let propagation = |shared: &[&LinkPlan]| -> u128 {
        own + shared.iter().map(|link| u128::from(link.delay.as_nanos())).sum::<u128>()
    };
    let shared: Vec<_> = shared_links(network, user, Direction::Forward).collect();
    let transmission = |link: &LinkPlan| u128::from(link.rate.transmission_time(size).as_nanos());
    let there = propagation(&shared);
    let back: Vec<_> = shared_links(network, user, Direction::Reverse).collect();
    let handshake = if user.traffic.0.is_over_tcp() { there + propagation(&back) } else { 0 };
    let sending: u128 = shared.iter().map(|link| transmission(link)).sum();
    let start = user.start.map_or(0, |start| u128::from(start.from.as_nanos()));
    let arrival = start + handshake + there + sending;
    let end = u128::from(file.warm_up.as_nanos()) + u128::from(file.duration.as_nanos());
    if arrival > end {
        let seconds = |nanos: u128| nanos as f64 / 1e9;
        let message = format!(
            "its first data cannot arrive before {} s, by the delays and rates of its path; the \
             measurement ends at {} s",
            seconds(arrival),
            seconds(end)
        );
        reader.error::<()>(message);
    }
}
