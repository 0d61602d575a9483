//! Links, routes, and the way of a packet over them.
//!
//! A link that only one other link feeds needs no event between the two: a packet's arrival at
//! the second follows, in order, from its departure from the first. Such links are *chained*; the
//! packet then waits in the pipe of the last one. On a dumbbell with an access link per user this
//! halves the events.

mod at_stages;
mod counting;

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{
    Direction, FlowPlan, MAX_LINKS, MAX_RUN, Plan, ReportPath, UserPlan,
};

use crate::ahead::{Ahead, Signal};
use crate::contents::{Contents, InPacket};
use crate::delayed_acks::DelayedAcks;
use crate::host_queues::HostQueues;
use crate::link::{Departed, Forwarded, Link, Written};
use crate::memory::{large_list, prefetch};
use crate::owner::Owner;
use crate::packet::{MAX_PLACES, OptionStore, PackedPacket, flags};
use crate::reports::Reports;
use crate::stages::Stages;
use crate::topology::{
    EagerDelivery, Hop, NO_LINK, NextHop, PacketTrain, Reacts, Receivers, TopologyAnalysis,
};
use crate::transit::{NextEvent, Transit};
#[cfg(test)]
use at_stages::NO_STAGE;

/// Where a flow's packets enter the network.
#[derive(Clone, Copy)]
pub struct Routes {
    /// First hop from the sender.
    pub forward: u32,
    /// First hop from the receiver.
    pub reverse: u32,
}

/// Per-flow state of the network, in half a cache line.
#[repr(align(32))]
struct FlowState {
    owner: Owner,
    jitter_ns: u64,
    /// Until when its burst waits, where one delay holds up a whole burst; else [`Time::NEVER`].
    burst_waits_to: Time,
    /// The host of its sender.
    host: u32,
    /// The host of its receiver, if that sends data as well; else [`NO_HOST`].
    far_host: u32,
}

/// No host that sends data.
const NO_HOST: u32 = u32::MAX;

/// Packets by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Entered the network.
    pub injected: u64,
    /// Handed to an endpoint.
    pub delivered: u64,
    /// Dropped, whatever the reason.
    pub dropped: u64,
}

/// The network. `C` says where the contents of its packets are kept.
pub struct Network<C = InPacket> {
    /// All links.
    pub links: Vec<Link>,
    /// Packets on their way.
    pub transit: Transit,
    /// Options under way.
    pub options: OptionStore,
    /// Delayed acknowledgements of receivers that are served ahead of time.
    pub delayed_acks: DelayedAcks,
    /// Packets by what became of them.
    pub ledger: Ledger,
    /// Packets lost for any reason, by flow.
    losses: Vec<u64>,
    /// What packets carry beyond what the network knows of them.
    pub contents: C,
    hops: Vec<Hop>,
    /// Packets that come along with one another, by the link that they enter.
    trains: Vec<Option<PacketTrain>>,
    /// Links whose departures are events.
    stations: Vec<u32>,
    flow_states: Vec<FlowState>,
    hosts: HostQueues,
    /// Some host sends data of one flow and acknowledges that of another.
    shared_hosts: bool,
    /// Stages on the way.
    pub stages: Stages,
    /// The row of stages of each hop, if there are any stages at all.
    rows: Vec<u32>,
    /// The stage that lets packets pass on the fast path before each of these hops, or [`NO_STAGE`].
    fast_paths: Vec<u32>,
    /// The end of tunnels further on the way, for each hop, if there is any at all.
    tunnel_ends: Vec<Option<u32>>,
    /// What stages tell each other.
    reports: Reports,
    /// Packets that have come to a node outside, and that are handed out next.
    pub left: Vec<(Time, PackedPacket)>,
    /// When counters are read next.
    next_reading: Time,
    /// The same where packets may pass ahead of time, which no later one does at a stage that counts.
    read_next: Time,
    /// Such packets, which wait for it, and when they are there.
    deferred: Vec<(Time, PackedPacket)>,
    /// What was counted and happens after that.
    ahead: Ahead,
}

impl Network {
    /// The network of a plan, for simulated hosts whose applications react like this.
    ///
    /// # Panics
    /// If a route is empty or the first link of a sender also carries what comes over another.
    pub fn new(
        plan: &Plan,
        seed: u64,
        receivers: Receivers,
        reacts: Reacts,
    ) -> (Self, Vec<Routes>) {
        let feeders = TopologyAnalysis::of(plan, receivers);
        let early = match receivers {
            Receivers::AheadOfTime => EagerDelivery::of(plan, &feeders, reacts),
            Receivers::OnArrival => EagerDelivery::of_none(plan),
        };
        Network::build(plan, seed, InPacket, &feeders, &early)
    }
}

impl<C: Contents> Network<C> {
    /// The network of a plan, for hosts that exist: nothing is delivered ahead of time.
    ///
    /// # Panics
    /// As [`Network::new`].
    pub fn in_real_time(plan: &Plan, seed: u64, contents: C) -> (Self, Vec<Routes>) {
        let feeders = TopologyAnalysis::of(plan, Receivers::OnArrival);
        Network::build(plan, seed, contents, &feeders, &EagerDelivery::of_none(plan))
    }

    fn build(
        plan: &Plan,
        seed: u64,
        contents: C,
        feeders: &TopologyAnalysis,
        early: &EagerDelivery,
    ) -> (Self, Vec<Routes>) {
        let link = |link| Link::new(link, plan.groups.len(), seed);
        let links = large_list(plan.links.iter().map(link));
        let stations: Vec<u32> =
            (0..links.len() as u32).filter(|&link| links[link as usize].is_station()).collect();
        assert!(links.len() + stations.len() < MAX_LINKS, "at most {MAX_LINKS} links");
        let mut network = Network {
            links,
            transit: Transit::new(feeders.lanes(plan), stations.len()),
            options: OptionStore::default(),
            delayed_acks: DelayedAcks::of(plan, early),
            ledger: Ledger::default(),
            losses: vec![0; plan.flows.len()],
            contents,
            hops: Vec::new(),
            trains: feeders.trains.clone(),
            stations,
            flow_states: Vec::new(),
            hosts: HostQueues::new([].into_iter(), seed),
            shared_hosts: false,
            stages: Stages::new(plan, seed),
            rows: Vec::new(),
            fast_paths: Vec::new(),
            tunnel_ends: Vec::new(),
            reports: Reports::default(),
            left: Vec::new(),
            next_reading: Time::ZERO,
            read_next: Time::ZERO,
            deferred: Vec::new(),
            ahead: Ahead::default(),
        };
        let mut known = std::collections::HashMap::new();
        let host_of_link = network.add_hosts(plan, feeders, seed);
        let mut routes = Vec::with_capacity(plan.flows.len() + plan.moves.len());
        for (i, flow) in plan.paths().enumerate() {
            let mut enter = |direction: Direction, early: bool, network: &mut Self| {
                let hops = feeders.hops(plan, flow, direction, early);
                let rows = network.rows_of(flow, direction, &hops, feeders);
                let len = hops.len();
                *known.entry((hops, rows)).or_insert_with_key(|(hops, rows)| {
                    network.hops.extend(hops);
                    network.rows.extend(rows);
                    network.add_tunnel_ends(plan, flow, direction, len);
                    (network.hops.len() - len) as u32
                })
            };
            routes.push(Routes {
                forward: enter(Direction::Forward, early.is(i), &mut network),
                reverse: enter(Direction::Reverse, false, &mut network),
            });
            let far_host = host_of_link[flow.reverse[0] as usize];
            network.shared_hosts |= far_host != NO_HOST;
            if i >= plan.flows.len() {
                continue;
            }
            let UserPlan { group, customer, .. } = plan.users[flow.user];
            let (user, scalable) = (customer as u32, flow.is_scalable());
            network.flow_states.push(FlowState {
                owner: Owner { group: group as u16, user, scalable },
                jitter_ns: flow.jitter.as_nanos().min(MAX_RUN.as_nanos()),
                burst_waits_to: match flow.tcp.as_deref() {
                    Some(tcp) if tcp.quirks.jitter_per_burst => Time::ZERO,
                    _ => Time::NEVER,
                },
                host: host_of_link[flow.forward[0] as usize],
                far_host,
            });
        }
        for report in &feeders.reports {
            network.add_report_path(plan, feeders, report, &routes[report.path]);
        }
        network.fast_paths = network.fast_path_stages();
        assert!(network.hops.len() <= MAX_PLACES, "at most {MAX_PLACES} steps of routes");
        (network, routes)
    }

    /// Adds the hosts that send data: one for each link with which a way of data begins. Returns the host
    /// of each link.
    fn add_hosts(&mut self, plan: &Plan, feeders: &TopologyAnalysis, seed: u64) -> Vec<u32> {
        let (mut host_of_link, mut links) = (vec![NO_HOST; plan.links.len()], Vec::new());
        for flow in &plan.flows {
            let host = &mut host_of_link[flow.forward[0] as usize];
            if *host == NO_HOST {
                let alone = feeders.is_fed_by_hosts_alone(flow.forward[0]);
                assert!(
                    alone,
                    "the first link of a sender carries nothing that comes over another"
                );
                *host = links.len() as u32;
                links.push(plan.links[flow.forward[0] as usize].name.as_str());
            }
        }
        self.hosts = HostQueues::new(links.into_iter(), seed);
        host_of_link
    }

    /// A sender's host lets go of a packet: it enters the first link after the host's jitter,
    /// behind the packets that left before. What is `prompt` waits for no burst of its own.
    #[inline(never)]
    pub fn send_from_host(&mut self, packed: PackedPacket, prompt: bool, now: Time) {
        let &FlowState { host, jitter_ns, burst_waits_to, .. } =
            &self.flow_states[packed.flow() as usize];
        let at = match burst_waits_to {
            Time::NEVER => self.hosts.leave(host, now, jitter_ns),
            end => self.leave_in_burst(packed.flow(), end, prompt, now),
        };
        self.enter(packed, at);
    }

    /// When a packet enters whose burst waits until `end`: what is written meanwhile leaves with it.
    fn leave_in_burst(&mut self, flow: u32, mut end: Time, prompt: bool, now: Time) -> Time {
        let state = &mut self.flow_states[flow as usize];
        if end <= now && !prompt {
            end = now + self.hosts.jitter(state.host, state.jitter_ns);
            state.burst_waits_to = end;
        }
        self.hosts.follow(state.host, now.max(end))
    }

    /// A receiver lets go of a packet: it enters the first link at once, or behind the packets that left
    /// before if its host sends data as well.
    #[inline(never)]
    pub fn send_from_receiver(&mut self, packed: PackedPacket, now: Time) {
        let at = if self.shared_hosts { self.behind_others(&packed, now) } else { now };
        self.enter(packed, at);
    }

    #[cold]
    fn behind_others(&mut self, packed: &PackedPacket, now: Time) -> Time {
        let host = self.flow_states[packed.flow() as usize].far_host;
        if host == NO_HOST { now } else { self.hosts.follow(host, now) }
    }

    /// A packet enters the network at its first hop.
    #[inline(never)]
    pub fn send(&mut self, packed: PackedPacket, at: Time) {
        self.enter(packed, at);
    }

    #[inline(always)]
    fn enter(&mut self, packed: PackedPacket, at: Time) {
        self.ledger.injected += 1;
        let delivered = self.forward(packed, self.hop_of(&packed), at);
        debug_assert!(delivered.is_none(), "nothing is delivered early from its first link");
    }

    #[inline(always)]
    fn hop_of(&self, packed: &PackedPacket) -> Hop {
        self.hops[packed.hop() as usize]
    }

    /// Moves a packet over the link of its next hop, and over those chained to it. Returns it if it is to be
    /// delivered early, and when.
    #[inline(always)]
    fn forward(
        &mut self,
        mut packed: PackedPacket,
        mut hop: Hop,
        mut now: Time,
    ) -> Option<(Time, PackedPacket)> {
        loop {
            let Hop { link: number, staged, then, .. } = hop;
            if staged {
                core::hint::cold_path();
                packed.rewrite(self.pass_stages(packed, now)?);
                if number == NO_LINK {
                    self.ledger.delivered += 1;
                    return Some((now, packed));
                }
            }
            packed.step();
            let arrives = now;
            let link = &mut self.links[number as usize];
            if link.is_free(now) {
                now = link.pass_at_once(packed.len(), now);
            } else {
                let (at, marked) = self.offer(number, packed, now)?;
                now = at;
                if marked {
                    packed.mark();
                }
            }
            if now > self.next_reading {
                self.note_pending(number, packed.flow(), packed.len(), arrives, now);
            }
            match then {
                NextHop::Link => hop = self.hop_of(&packed),
                NextHop::Host => {
                    self.ledger.delivered += 1;
                    return Some((now, packed));
                }
                NextHop::Event | NextHop::Nothing => {
                    self.transit.send(number, now, packed);
                    return None;
                }
            }
        }
    }

    /// Offers a packet to a link where it does not pass at once. Returns when it is at the far end, and whether it
    /// is marked. If it does not pass at all, it is lost, or it waits there for an event; one that is told a price
    /// is on its way.
    #[inline(never)]
    fn offer(&mut self, number: u32, mut packed: PackedPacket, now: Time) -> Option<(Time, bool)> {
        let link = &mut self.links[number as usize];
        if link.is_joined_by(packed.len(), now) {
            return Some((link.join(packed.len()), false));
        }
        let owner = self.flow_states[packed.flow() as usize].owner;
        match link.offer(&packed, now, owner) {
            Ok(Forwarded { at, written: Written::Word }) => {
                packed.set_word(link.reported());
                self.transit.send(number, at, packed);
                self.note_pending(number, packed.flow(), packed.len(), now, at);
                None
            }
            Ok(Forwarded { at, written }) => {
                let marked = written == Written::Mark;
                if marked {
                    self.note_signal(number, Signal::Mark, now);
                }
                Some((at, marked))
            }
            Err(DropReason::Wire) => {
                let at = link.far_end_at();
                self.note_pending(number, packed.flow(), packed.len(), now, at);
                self.note_signal(number, Signal::Drop(DropReason::Wire), now);
                self.lose(&packed, now);
                None
            }
            Err(reason) => {
                self.note_signal(number, Signal::Drop(reason), now);
                self.stop(number, &packed, now);
                None
            }
        }
    }

    /// A link has not let a packet pass: it is lost, or it waits there for an event.
    #[inline(never)]
    fn stop(&mut self, number: u32, packed: &PackedPacket, now: Time) {
        if !self.links[number as usize].is_station() {
            return self.lose_in_queue(number, packed, now);
        }
        let owner = self.flow_states[packed.flow() as usize].owner;
        let done = self.links[number as usize].arrive(*packed, owner, now);
        self.lose_at_station(number, now);
        if let Some(at) = done {
            let place = self.stations.binary_search(&number).expect("is a station");
            self.transit.set_station(place, Some(at));
        }
    }

    /// The transmitter of a station is done. Returns what it has sent if that needs no event at the far
    /// end, and when it is there.
    #[inline]
    pub fn depart(&mut self, place: usize) -> Option<(Time, PackedPacket)> {
        let (number, now) = (self.stations[place], self.transit.next_time());
        let (departed, done) = self.links[number as usize].depart(now);
        self.transit.set_station(place, done);
        self.lose_at_station(number, now);
        let Departed { packed, at, lost_on_wire } = departed;
        if lost_on_wire {
            self.lose(&packed, now);
            return None;
        }
        if self.hops[packed.hop() as usize - 1].then != NextHop::Event {
            return Some((at, packed));
        }
        self.transit.send(number, at, packed);
        None
    }

    /// The next packet for the queue outside that serves a link.
    pub fn take_arrived(&mut self, number: u32) -> Option<(u32, PackedPacket)> {
        self.links[number as usize].take_arrived()
    }

    /// The queue outside has served a packet. Returns it if a host gets it by that, and when.
    pub fn served(
        &mut self,
        number: u32,
        handle: u32,
        marked: bool,
        now: Time,
    ) -> Option<(Time, PackedPacket)> {
        let Departed { packed, at, lost_on_wire } =
            self.links[number as usize].leave(handle, marked, now);
        if lost_on_wire {
            self.lose(&packed, now);
            return None;
        }
        if self.hops[packed.hop() as usize - 1].then != NextHop::Event {
            return self.arrive(packed, at);
        }
        self.transit.send(number, at, packed);
        None
    }

    /// The queue outside has dropped a packet.
    pub fn dropped(&mut self, number: u32, handle: u32, reason: DropReason, now: Time) {
        self.links[number as usize].lose(handle, reason, now);
        self.lose_at_station(number, now);
    }

    fn lose_at_station(&mut self, number: u32, now: Time) {
        while let Some(packed) = self.links[number as usize].take_lost() {
            self.lose_in_queue(number, &packed, now);
        }
    }

    /// Lets happen what happens next. Returns the packet that a host gets by that, if one does, and when:
    /// now, or early.
    pub fn advance(&mut self) -> Option<(Time, PackedPacket)> {
        let (at, packed) = match self.transit.take_next() {
            NextEvent::Packet(at, packed) => (at, packed),
            NextEvent::Station(place) => self.depart(place)?,
        };
        self.arrive(packed, at)
    }

    /// A packet has reached the end of a link. Returns it if a host gets it by that, and when: now, or early.
    #[inline(always)]
    pub fn arrive(&mut self, packed: PackedPacket, at: Time) -> Option<(Time, PackedPacket)> {
        let hop = self.hop_of(&packed);
        if hop.then == NextHop::Nothing {
            self.ledger.delivered += 1;
            return Some((at, packed));
        }
        if hop.leads {
            self.lead(packed, hop, at);
            return None;
        }
        self.forward(packed, hop, at)
    }

    /// A packet moves on, and with it those that wait behind it and come before anything else does, as [`PacketTrain`] says:
    /// together they are one event. Nothing passes that is read later.
    #[inline(never)]
    fn lead(&mut self, mut packed: PackedPacket, hop: Hop, mut at: Time) {
        let PacketTrain { over, reports, notice } =
            self.trains[hop.link as usize].expect("leads others");
        let limit = self.transit.before(self.read_next.min(at + notice), reports);
        loop {
            packed.step();
            let link = &mut self.links[hop.link as usize];
            let passed = match link.is_free(at) {
                true => Some((link.pass_at_once(packed.len(), at), false)),
                false => self.offer(hop.link, packed, at),
            };
            if let Some((far_end_at, marked)) = passed {
                if marked {
                    packed.mark();
                }
                if far_end_at > self.next_reading {
                    self.note_pending(hop.link, packed.flow(), packed.len(), at, far_end_at);
                }
                self.transit.send(hop.link, far_end_at, packed);
            }
            let Some(next) = self.transit.first_over(over, limit) else { break };
            if self.hop_of(next) != hop {
                break;
            }
            (at, packed) = self.transit.take_over(over);
        }
        self.transit.settle(over);
    }

    /// Adds the way of a stage's reports that answer packets of a flow.
    fn add_report_path(
        &mut self,
        plan: &Plan,
        feeders: &TopologyAnalysis,
        report: &ReportPath,
        routes: &Routes,
    ) {
        let Some(links) = report.links.clone() else { return };
        let ((number, flow), direction) = (plan.path(report.path), report.direction.opposite());
        let first = self.hops.len() as u32;
        self.hops.extend(feeders.report_hops(plan, report));
        for place in links.clone() {
            let row = match place == links.start {
                true => self.stages.first_row(flow, direction, place),
                false => self.stages.row(flow, direction, place),
            };
            self.rows.push(row.unwrap_or(u32::MAX));
        }
        self.rows.push(self.stages.last_row(flow, report, links.end - 1));
        let entered = match report.direction {
            Direction::Forward => routes.forward,
            Direction::Reverse => routes.reverse,
        };
        self.reports.add_path(number as u32, entered + report.hop as u32, report.kind, first);
    }

    /// Where tunnels lead to from each of the last hops, if any end in this network.
    fn add_tunnel_ends(&mut self, plan: &Plan, flow: &FlowPlan, direction: Direction, hops: usize) {
        if self.stages.end_tunnels() {
            self.tunnel_ends.extend((0..hops).map(|hop| flow.tunnel_end(plan, direction, hop)));
        }
    }

    /// The row of stages of each hop, if the network has any.
    fn rows_of(
        &mut self,
        flow: &FlowPlan,
        direction: Direction,
        hops: &[Hop],
        feeders: &TopologyAnalysis,
    ) -> Vec<u32> {
        if self.stages.is_empty() {
            return Vec::new();
        }
        let row = |hop: usize| {
            let row = self.stages.row(flow, direction, hop)?;
            let behind = hop.checked_sub(1).map(|place| hops[place].link);
            if let Some(link) = behind.filter(|link| feeders.is_passed_ahead(*link)) {
                self.stages.pass_ahead(row, link);
            }
            Some(row)
        };
        (0..hops.len()).map(row).map(|row| row.unwrap_or(u32::MAX)).collect()
    }

    /// The queue of a link has dropped a packet.
    #[cold]
    fn lose_in_queue(&mut self, link: u32, packed: &PackedPacket, now: Time) {
        if self.stages.observe_drops_at(link) {
            self.report_drop(link, packed, now);
        }
        self.lose(packed, now);
    }

    #[cold]
    fn lose(&mut self, packed: &PackedPacket, now: Time) {
        self.ledger.dropped += 1;
        if packed.has(flags::OPTIONS) {
            self.options.take(packed.word());
        }
        if packed.has(flags::REPORT) {
            self.reports.take(packed.number());
            return;
        }
        if C::OUTSIDE {
            self.contents.discard(packed.number());
        }
        if packed.flags() & (flags::ACK | flags::BACK) == 0 {
            self.losses[packed.flow() as usize] += 1;
            if now > self.next_reading {
                self.ahead.lose(now, packed.flow());
            }
        }
    }

    /// Asks for the hop that a packet comes to, and what is kept of its flow.
    #[inline(always)]
    pub fn prefetch_way(&self, packed: &PackedPacket) {
        prefetch(&self.hops[packed.hop() as usize]);
        prefetch(&self.flow_states[packed.flow() as usize]);
    }

    /// Asks for the links from a hop to the next event. Returns whether a host gets there what takes them.
    #[inline(always)]
    pub fn prefetch_links(&self, hop: u32) -> bool {
        for hop in &self.hops[hop as usize..] {
            if hop.link != NO_LINK {
                prefetch(&self.links[hop.link as usize]);
            }
            match hop.then {
                NextHop::Link => {}
                NextHop::Event => return false,
                NextHop::Host | NextHop::Nothing => return true,
            }
        }
        false
    }

    /// Asks for the host of a flow's sender.
    #[inline(always)]
    pub fn prefetch_host(&self, flow: u32) {
        self.hosts.prefetch(self.flow_states[flow as usize].host);
    }

    /// Lets packets pass one by one, and by the code for all kinds, also where there is a shorter way.
    #[cfg(test)]
    pub fn close_short_ways(&mut self) {
        self.hops.iter_mut().for_each(|hop| hop.leads = false);
        self.fast_paths.fill(NO_STAGE);
        self.stages.close_short_ways();
    }

    /// Packets still under way.
    pub fn under_way(&self) -> u64 {
        let at_stations = self.links.iter().map(Link::at_station).sum::<u64>();
        self.transit.len() + at_stations + self.deferred.len() as u64
    }
}
