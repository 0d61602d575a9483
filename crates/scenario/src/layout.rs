//! Layout of the links, users and flows of a checked file.

use std::sync::Arc;

use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Probability, Span, Spans, Time};

use crate::file::{DelaysBy, File, Offer, Profile, Start, User};
use crate::network::{DUMBBELL, Network};
use crate::plan::{
    AccessPlan, AttachmentPlan, FlowKind, FlowPlan, GroupPlan, LinkName, LinkPlan, MovePlan,
    OfferPlan, Plan, Route, ShortFlows, StagePlan, StartPlan, TcpPlan, Traffic, UserPlan,
};
use crate::resolve::AtHosts;
use crate::traffic::{PacketSizes, Variation};
use crate::value::{HostJitter, OrOff};

/// Returns the plan of a checked file.
pub(crate) fn plan(file: &File) -> Plan {
    let network = Network::of(file);
    let mut plan = Plan {
        warm_up: file.warm_up,
        duration: file.duration,
        intervals: file.intervals.as_ref().map_or(1, |intervals| intervals.count.0),
        drain_limit: if has_single_transfers(file) { file.drain_limit } else { Span::ZERO },
        sample_interval: file.sample_interval.and_then(OrOff::span),
        sampled_flows: file.sampled_flows.0 as u32,
        sampled_users: file.sampled_users.0 as u32,
        delays_by: file.delays_by.unwrap_or(DelaysBy::Group),
        links: network.links.clone(),
        stages: Vec::new(),
        groups: Vec::new(),
        users: Vec::new(),
        flows: Vec::new(),
        moves: Vec::new(),
        offers: Vec::new(),
    };
    let parts: Vec<Vec<UserParts>> = (file.users.entries.iter())
        .map(|(name, user)| add_group(&mut plan, file, &network, name, user))
        .collect();
    for (group, (_, user)) in file.users.entries.iter().enumerate() {
        add_flows(&mut plan, file, &network, user, group, &parts);
    }
    plan
}

fn has_single_transfers(file: &File) -> bool {
    file.users.entries.iter().any(|(_, user)| user.traffic.0.ends())
}

/// Adds a group, its users, and their own links and stages.
fn add_group(
    plan: &mut Plan,
    file: &File,
    network: &Network,
    name: &str,
    user: &User,
) -> Vec<UserParts> {
    let group = plan.groups.len();
    plan.groups.push(GroupPlan { name: name.to_owned(), weight: user.weight.0 });
    let (from, to) = user.ends();
    let shared = network.path(from, to).expect("routes are checked on reading").len();
    let nodes = (network.number(from), network.number(to));
    let own = OwnLinks::of(file, name, user, access_delays(file, network, user));
    plan.users.reserve_exact(user.count.count());
    plan.links.reserve_exact(user.count.count() * own.links_per_user());
    let mut shared_stages = None;
    let add_user = |number| {
        let customer = plan.users.len();
        plan.users.push(UserPlan { group, number: number as u32, customer, receives: false });
        let own_name = format!("{name}.{number}");
        let place = (nodes, network.len() + 2 * customer as u32);
        let (access, receiver_access) = own.add(plan, number, place);
        let meter = add_meter(plan, user, &own_name);
        let (ingress, egress) = shared_stages.clone().unwrap_or_else(|| {
            let owner = if user.shares_stages { name } else { &own_name };
            add_stages(plan, user, owner, 1 + shared)
        });
        if user.shares_stages {
            shared_stages = Some((ingress.clone(), egress.clone()));
        }
        let ingress = meter.into_iter().chain(ingress).collect();
        UserParts { user: customer, access, receiver_access, ingress, egress }
    };
    (0..user.count.count()).map(add_user).collect()
}

/// Adds the flows of a group, at the hosts of another group if configured.
fn add_flows(
    plan: &mut Plan,
    file: &File,
    network: &Network,
    user: &User,
    group: usize,
    parts: &[Vec<UserParts>],
) {
    let (from, to) = user.ends();
    let there = network.path(from, to).expect("routes are checked on reading");
    let back = network.path(to, from).expect("routes are checked on reading");
    let kind = Arc::new(kind(file, user, network));
    let hosts = user.hosts_in(file).map(|(place, _, at)| (&parts[place], at));
    plan.flows.reserve_exact(parts[group].len() * user.flows.count());
    for (number, own) in parts[group].iter().enumerate() {
        let host = hosts.map(|(hosts, at)| (&hosts[number], at));
        if let Some((host, at)) = host {
            plan.users[own.user].customer = host.user;
            plan.users[own.user].receives = at == AtHosts::Receiving;
        }
        let seat = Seat { own, host };
        let routes = seat.routes(&there, &back);
        let flow = flow(plan, file, own.user, routes, seat.attachments(), &kind);
        let first = plan.flows.len();
        let numbers = first..first + user.flows.count();
        let numbered = |number| FlowPlan { number, ..flow.clone() };
        plan.flows.extend((0..user.flows.count() as u32).map(numbered));
        for &Offer { at, willingness_to_pay } in &user.offers.0 {
            let at = Time::ZERO + at;
            let offer = |flow| OfferPlan { flow, at, willingness_to_pay };
            plan.offers.extend(numbers.clone().map(offer));
        }
        for (at, from, to) in user.walk() {
            let path = |from, to| network.path(from, to).expect("routes are checked on reading");
            let (there, back) = (path(from, to), path(to, from));
            let (forward, reverse) = seat.routes(&there, &back);
            let attachments = moved(&flow.attachments, 1 + there.len());
            let at = Time::ZERO + at;
            let path = FlowPlan { forward, reverse, attachments, ..flow.clone() };
            let moved = |flow| MovePlan { flow, at, path: path.clone() };
            plan.moves.extend(numbers.clone().map(moved));
        }
    }
}

/// Returns a user's stages after a move: those of its egress are at the far end of another path.
fn moved(attachments: &[AttachmentPlan], far: usize) -> Box<[AttachmentPlan]> {
    let place = |attachment: &AttachmentPlan| {
        let hop = if attachment.back || attachment.hop == 1 { attachment.hop } else { far };
        AttachmentPlan { hop, ..attachment.clone() }
    };
    attachments.iter().map(place).collect()
}

impl User {
    /// Returns the nodes that the users send from and to.
    pub fn ends(&self) -> (&str, &str) {
        let (left, right) = DUMBBELL;
        (self.from.as_deref().unwrap_or(left), self.to.as_deref().unwrap_or(right))
    }
}

/// A link and its reverse path.
type Duplex = (u32, u32);

/// Links and stages of a user.
struct UserParts {
    user: usize,
    /// `None` if it is at another user's host.
    access: Option<Duplex>,
    receiver_access: Option<Duplex>,
    ingress: Vec<AttachmentPlan>,
    egress: Vec<AttachmentPlan>,
}

/// A user, and the user whose host it shares, if any.
struct Seat<'a> {
    own: &'a UserParts,
    host: Option<(&'a UserParts, AtHosts)>,
}

impl Seat<'_> {
    /// Returns its own links at the sender and at the receiver.
    fn ends(&self) -> (Duplex, Option<Duplex>) {
        let has = "a user at its own host has an access link";
        match self.host {
            None => (self.own.access.expect(has), self.own.receiver_access),
            Some((host, AtHosts::Sending)) => (host.access.expect(has), self.own.receiver_access),
            Some((host, AtHosts::Receiving)) => {
                let (up, down) = host.access.expect(has);
                (self.own.access.expect(has), Some((down, up)))
            }
        }
    }

    /// Returns the routes in both directions, around the shared part of the path.
    fn routes(&self, there: &[u32], back: &[u32]) -> (Route, Route) {
        let ((access, access_back), receiver_access) = self.ends();
        let (far, far_back) = receiver_access.unzip();
        let forward = [access].iter().chain(there).chain(&far).copied().collect();
        let reverse = far_back.iter().chain(back).chain(&[access_back]).copied().collect();
        (forward, reverse)
    }

    /// Returns the stages on its path: at the ingress those of the sending host, and on the reverse path those of a
    /// host at which it receives.
    fn attachments(&self) -> Box<[AttachmentPlan]> {
        let (ingress, back) = match self.host {
            None => (&self.own.ingress, None),
            Some((host, AtHosts::Sending)) => (&host.ingress, None),
            Some((host, AtHosts::Receiving)) => (&self.own.ingress, Some(&host.ingress)),
        };
        let back = back.into_iter().flatten();
        let back = back.map(|attachment| AttachmentPlan { back: true, ..attachment.clone() });
        ingress.iter().chain(&self.own.egress).cloned().chain(back).collect()
    }
}

/// The own links of a group's first user, in both directions. Users take them in rotation, one pair for each delay.
struct OwnLinks {
    access: Option<Vec<[LinkPlan; 2]>>,
    receiver_access: Option<Vec<[LinkPlan; 2]>>,
}

impl OwnLinks {
    /// `delays` are those of the users' access links, in rotation.
    fn of(file: &File, group: &str, user: &User, delays: Spans) -> Self {
        let plain = |line: &str, link: AccessPlan| {
            let AccessPlan { rate, delay, buffer } = link;
            let name = LinkName::of_user(group, 0, line);
            let back = LinkName::of_user(group, 0, &format!("{line}.reverse"));
            let plain = |delay| {
                let there = LinkPlan::plain(name.clone(), rate, delay, buffer, file.packet_size);
                let back = LinkPlan { name: back.clone(), ..there.clone() };
                [there, back]
            };
            delay.0.into_iter().map(plain).collect()
        };
        let at = user.hosts_in(file).map(|(_, _, at)| at);
        let access = Some(AccessPlan { delay: delays, ..user.access_link(file) });
        let access = access.filter(|_| at != Some(AtHosts::Sending));
        let receiver_access =
            user.receiver_access_link(file).filter(|_| at != Some(AtHosts::Receiving));
        OwnLinks {
            access: access.map(|link| plain("access", link)),
            receiver_access: receiver_access.map(|link| plain("receiver_access", link)),
        }
    }

    fn links_per_user(&self) -> usize {
        2 * (usize::from(self.access.is_some()) + usize::from(self.receiver_access.is_some()))
    }

    /// Adds the own links of a user of the group, from its host to the nodes `from` and `to` of the network and on to
    /// the far end.
    fn add(
        &self,
        plan: &mut Plan,
        user: usize,
        ((from, to), host): ((u32, u32), u32),
    ) -> (Option<Duplex>, Option<Duplex>) {
        let far_end = host + 1;
        let mut add = |links: &Vec<[LinkPlan; 2]>, ends| {
            add_duplex(plan, &links[user % links.len()], user as u32, ends)
        };
        let access = self.access.as_ref().map(|links| add(links, (host, from)));
        (access, self.receiver_access.as_ref().map(|links| add(links, (to, far_end))))
    }
}

fn add_duplex(
    plan: &mut Plan,
    [there, back]: &[LinkPlan; 2],
    user: u32,
    (from, to): (u32, u32),
) -> Duplex {
    let index = u32::try_from(plan.links.len()).expect("the number of links is checked");
    let of_user = |link: &LinkPlan, ends| LinkPlan {
        name: link.name.of_another(user),
        ends,
        kind: link.kind.clone(),
    };
    plan.links.extend([of_user(there, (from, to)), of_user(back, (to, from))]);
    (index, index + 1)
}

/// Adds a user's meter, behind its own link.
fn add_meter(plan: &mut Plan, user: &User, name: &str) -> Option<AttachmentPlan> {
    let meter = user.meter.clone().map(StageParams::ActivityMeter)?;
    Some(attach(plan, 1, &format!("{name}.meter"), &meter))
}

/// Adds the stages of a user, or of all users of a group: those of the ingress behind their own links, and those of the
/// egress in front of link number `far`, behind the shared part of the path.
fn add_stages(
    plan: &mut Plan,
    user: &User,
    owner: &str,
    far: usize,
) -> (Vec<AttachmentPlan>, Vec<AttachmentPlan>) {
    let mut at = |place: &str, hop: usize, stages: &[StageParams]| -> Vec<AttachmentPlan> {
        let named = |(i, stage)| attach(plan, hop, &format!("{owner}.{place}.{i}"), stage);
        stages.iter().enumerate().map(named).collect()
    };
    (at("ingress", 1, &user.ingress), at("egress", far, &user.egress))
}

/// Adds a stage, or several that packets visit in rotation.
fn attach(plan: &mut Plan, hop: usize, name: &str, params: &StageParams) -> AttachmentPlan {
    let first = plan.stages.len();
    let stages = params.replicas().into_iter();
    plan.stages.extend(stages.map(|params| StagePlan { name: name.to_owned(), params }));
    let number = |stage| u32::try_from(stage).expect("the number of stages is checked");
    AttachmentPlan { back: false, hop, replicas: (first..plan.stages.len()).map(number).collect() }
}

/// Jitter of real hosts: the time from a segment's arrival to its ACK's departure, measured 6,002 times on Linux 6.18
/// in network namespaces, had a standard deviation of 14 µs (median 22 µs, 99 % below 48 µs), as a uniform delay of up
/// to 50 µs has. RTT fairness in drop-tail queues is the same for any jitter up to 300 µs.
const LINUX_JITTER: Span = Span::from_micros(50);

fn flow(
    plan: &Plan,
    file: &File,
    owner: usize,
    (forward, reverse): (Route, Route),
    attachments: Box<[AttachmentPlan]>,
    kind: &Arc<FlowKind>,
) -> FlowPlan {
    let size = kind.packet_size;
    let packet_time = |link: &u32| plan.links[*link as usize].rate.transmission_time(size);
    let slowest = || forward.iter().map(packet_time).max().expect("routes are not empty");
    let jitter = match (file.host_jitter, file.profile) {
        (HostJitter::Fixed(jitter), _) => jitter.span().unwrap_or(Span::ZERO),
        (HostJitter::Auto, Profile::Linux) => LINUX_JITTER.min(slowest()),
        (HostJitter::Auto, Profile::Classic | Profile::Linux2629) => slowest(),
    };
    FlowPlan { user: owner, number: 0, forward, reverse, attachments, jitter, kind: kind.clone() }
}

/// Returns the common properties of a group's flows.
fn kind(file: &File, user: &User, network: &Network) -> FlowKind {
    let tcp = tcp(file, user);
    let reads_prices = tcp.as_ref().is_some_and(|tcp| tcp.congestion_control.reads_prices());
    let planned = |Start { from, to, spread }: Start| StartPlan {
        from: Time::ZERO + from,
        to: Time::ZERO + to,
        spread,
    };
    FlowKind {
        packet_size: user.packet_size.unwrap_or(file.packet_size),
        start: planned(user.start.expect("resolved")),
        stop: user.stop.map(planned),
        traffic: Arc::new(traffic(file, user, network)),
        tcp,
        prices: file.price_encoding().filter(|_| reads_prices),
        dscp: user.dscp,
    }
}

/// Returns the delays of the access links of a group's users, in rotation.
fn access_delays(file: &File, network: &Network, user: &User) -> Spans {
    let Some(round_trip) = &user.round_trip else { return user.access_link(file).delay };
    let rest = rest_of_round_trip(file, network, user);
    let half = |number| {
        let left = round_trip.of_user(number).as_nanos().saturating_sub(rest.as_nanos());
        Span::from_nanos(left / 2)
    };
    let count = if round_trip.varies == Variation::Fixed { 1 } else { user.count.count() };
    Spans((0..count.max(1)).map(half).collect())
}

/// Returns the delay of a group's path in both directions without its access links.
pub(crate) fn rest_of_round_trip(file: &File, network: &Network, user: &User) -> Span {
    let (from, to) = user.ends();
    let links = [(from, to), (to, from)].map(|(from, to)| network.path(from, to));
    let links = links.into_iter().flatten().flatten();
    let shared = links.map(|link| network.links[link as usize].delay.as_nanos()).sum::<u64>();
    let far = user.receiver_access_link(file).and_then(|link| link.delay.0.into_iter().min());
    Span::from_nanos(shared + 2 * far.map_or(0, Span::as_nanos))
}

/// Returns the traffic of a group, with a load turned into a time between arrivals.
fn traffic(file: &File, user: &User, network: &Network) -> Traffic {
    let mut traffic = user.traffic.0.clone();
    if let Traffic::ShortFlows(own) = &mut traffic
        && let Some(load) = own.load
    {
        let (from, to) = user.ends();
        let path = network.path(from, to).expect("routes are checked on reading");
        let links: Vec<_> = path.iter().map(|link| &network.links[*link as usize]).collect();
        own.every = Some(every_at(file, user, &links, own, load));
    }
    traffic
}

/// Returns the time between two arrivals of each flow of a group that offers this load to the slowest of these links, or
/// to its own if there are none.
pub(crate) fn every_at(
    file: &File,
    user: &User,
    links: &[&LinkPlan],
    own: &ShortFlows,
    load: Probability,
) -> Span {
    let shared = links.iter().map(|link| link.rate.as_bps()).min();
    let rate = shared.unwrap_or_else(|| user.access_link(file).rate.as_bps());
    let timestamps = user.tcp_options(file).is_some_and(|tcp| tcp.timestamps);
    let full = user.packet_size.unwrap_or(file.packet_size).as_f64();
    let headers = HEADER_BYTES + if timestamps { TIMESTAMP_BYTES } else { 0.0 };
    let flows = user.count.0 as f64 * user.flows.0 as f64;
    own.every_at(load.0, rate as f64, flows, PacketSizes { full, headers }).max(Span::from_nanos(1))
}

/// Headers of IPv4 and TCP, bytes.
const HEADER_BYTES: f64 = 40.0;
/// TCP timestamps, padded (RFC 7323, appendix A).
const TIMESTAMP_BYTES: f64 = 12.0;

fn tcp(file: &File, user: &User) -> Option<Arc<TcpPlan>> {
    let over_tcp = user.traffic.0.is_over_tcp();
    over_tcp.then(|| Arc::new(user.tcp_options(file).expect("checked")))
}

impl User {
    /// Returns the TCP options of the group, with the scenario's as defaults, and those that its congestion controller
    /// requires; `None` if they are invalid.
    pub fn tcp_options(&self, file: &File) -> Option<TcpPlan> {
        let base = file.tcp.as_ref().expect("resolved");
        let tcp = self.tcp.as_ref().map_or_else(|| base.clone(), |own| own.over(base));
        Some(tcp.resolved(file.profile)?.with_ecn_if_scalable())
    }
}
