//! Links, routes, and the way of a packet over them.
//!
//! A link that only one other link feeds needs no event between the two: a packet's arrival at
//! the second follows, in order, from its departure from the first. Such links are *chained*; the
//! packet then waits in the pipe of the last one. On a dumbbell with an access link per user this
//! halves the events.

use tidegate_mechanisms::ingress::ActivityMeter;
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{LinkPlan, MAX_LINKS, Plan, TrafficPlan};

use crate::build::needs_departures;
use crate::contents::{Contents, InPacket};
use crate::event_queue::Arrivals;
use crate::link::{Drop, Link, Owner};
use crate::packet::{Packet, SackStore, flags};
use crate::random::Stream;

/// One step of a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Hop {
    /// The link to take; meaningless at the end.
    link: u32,
    /// The route ends here.
    end: bool,
    /// The next hop's link is fed by this one alone.
    chained: bool,
    /// The packet passes an activity meter after this link.
    metered: bool,
    /// The route ends after this link, at a host that may be served ahead of time.
    early: bool,
}

/// When receivers are served.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Receivers {
    /// As soon as it is known what arrives, and when, where that makes no difference to anyone.
    AheadOfTime,
    /// When it arrives.
    OnArrival,
}

/// Where a flow's packets enter the network.
#[derive(Clone, Copy)]
pub struct Ways {
    /// First hop from the sender.
    pub forward: u32,
    /// First hop from the receiver.
    pub reverse: u32,
}

/// Per-flow state of the network.
struct Passage {
    owner: Owner,
    jitter_ns: u64,
    host: u32,
    meters: Box<[u32]>,
    next_meter: u32,
}

/// What happened to a flow's packets.
#[derive(Clone, Copy, Default)]
pub struct FlowFate {
    /// Lost for any reason.
    pub losses: u64,
    /// Marked.
    pub marks: u64,
}

/// A sending host: the order of its packets and its jitter.
struct Host {
    entered: Time,
    rng: Stream,
}

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
    /// Packets due at the far end of links.
    pub arrivals: Arrivals,
    /// SACK blocks under way.
    pub sacks: SackStore,
    /// Packets by what became of them.
    pub ledger: Ledger,
    /// Losses and marks by flow.
    pub fates: Vec<FlowFate>,
    /// What packets carry beyond what the network knows of them.
    pub contents: C,
    hops: Vec<Hop>,
    /// Links whose departures are events. In the queue of arrivals these events come first, under
    /// their place here; the arrivals from links have numbers after theirs.
    stations: Vec<u32>,
    passages: Vec<Passage>,
    hosts: Vec<Host>,
    meters: Vec<ActivityMeter>,
}

impl Network {
    /// The network of a plan, for simulated hosts.
    ///
    /// # Panics
    /// If a route is empty or the first link of a sender also carries other traffic.
    pub fn new(plan: &Plan, seed: u64, receivers: Receivers) -> (Self, Vec<Ways>) {
        let feeders = Feeders::of(plan);
        let early = match receivers {
            Receivers::AheadOfTime => EarlyDelivery::of(plan, &feeders),
            Receivers::OnArrival => EarlyDelivery::of_none(plan),
        };
        Network::build(plan, seed, InPacket, &feeders, &early)
    }
}

impl<C: Contents> Network<C> {
    /// The network of a plan, for hosts that exist: nothing is delivered ahead of time.
    ///
    /// # Panics
    /// As [`Network::new`].
    pub fn in_real_time(plan: &Plan, seed: u64, contents: C) -> (Self, Vec<Ways>) {
        Network::build(plan, seed, contents, &Feeders::of(plan), &EarlyDelivery::of_none(plan))
    }

    fn build(
        plan: &Plan,
        seed: u64,
        contents: C,
        feeders: &Feeders,
        early: &EarlyDelivery,
    ) -> (Self, Vec<Ways>) {
        let links: Vec<Link> = (plan.links.iter().enumerate())
            .map(|(i, link)| Link::new(link, i, plan.groups.len(), seed))
            .collect();
        let stations: Vec<u32> =
            (0..links.len() as u32).filter(|&link| links[link as usize].is_station()).collect();
        assert!(links.len() + stations.len() < MAX_LINKS, "at most {MAX_LINKS} links");
        let mut network = Network {
            links,
            arrivals: Arrivals::default(),
            sacks: SackStore::default(),
            ledger: Ledger::default(),
            fates: vec![FlowFate::default(); plan.flows.len()],
            contents,
            hops: Vec::new(),
            stations,
            passages: Vec::new(),
            hosts: Vec::new(),
            meters: plan.meters.iter().map(|&params| ActivityMeter::new(params)).collect(),
        };
        let mut known = std::collections::HashMap::new();
        let mut host_of_link = vec![u32::MAX; plan.links.len()];
        let mut ways = Vec::with_capacity(plan.flows.len());
        for (i, flow) in plan.flows.iter().enumerate() {
            let metered = !flow.meters.is_empty();
            let mut enter = |route: &[u32], metered: bool, early: bool, network: &mut Self| {
                let hops = feeders.hops(route, metered, early);
                *known.entry(hops.clone()).or_insert_with(|| {
                    network.hops.extend(hops);
                    (network.hops.len() - route.len() - 1) as u32
                })
            };
            ways.push(Ways {
                forward: enter(&flow.forward, metered, early.flows[i], &mut network),
                reverse: enter(&flow.reverse, false, false, &mut network),
            });
            let host = &mut host_of_link[flow.forward[0] as usize];
            if *host == u32::MAX {
                assert!(
                    feeders.is_private(flow.forward[0]),
                    "the first link of a sender belongs to it alone"
                );
                *host = network.hosts.len() as u32;
                let rng = Stream::new(seed, &format!("host/{host}/jitter"));
                network.hosts.push(Host { entered: Time::ZERO, rng });
            }
            network.passages.push(Passage {
                owner: Owner {
                    group: plan.users[flow.user].group as u16,
                    user: flow.user as u32,
                    scalable: flow.traffic.is_scalable(),
                },
                jitter_ns: flow.jitter.as_nanos().min(u64::from(u32::MAX) - 1),
                host: *host,
                meters: flow.meters.clone().into(),
                next_meter: 0,
            });
        }
        (network, ways)
    }

    /// A sender's host lets go of a packet: it enters the first link after the host's jitter,
    /// behind the packets that left before.
    #[inline]
    pub fn send_from_host(&mut self, packet: Packet, now: Time) {
        let passage = &self.passages[packet.flow as usize];
        let host = &mut self.hosts[passage.host as usize];
        let mut at = now;
        if passage.jitter_ns > 0 {
            at += Span::from_nanos(host.rng.up_to(passage.jitter_ns));
        }
        host.entered = host.entered.max(at);
        let at = host.entered;
        self.send(packet, at);
    }

    /// A packet enters the network at its first hop.
    #[inline]
    pub fn send(&mut self, packet: Packet, at: Time) {
        self.ledger.injected += 1;
        let delivered = self.forward(packet, at);
        debug_assert!(delivered.is_none(), "nothing is delivered early from its first link");
    }

    /// Moves a packet over the next link, and over those chained to it. Returns it if it is to be
    /// delivered early.
    #[inline]
    fn forward(&mut self, packet: Packet, mut now: Time) -> Option<Packet> {
        // Kept apart from the packet, which is put together once, in its pipe.
        let Packet { mut hop, mut flags, mut extra, len, flow, .. } = packet;
        loop {
            let Hop { link: number, chained, metered, early, .. } = self.hops[hop as usize];
            let link = &mut self.links[number as usize];
            if C::OUTSIDE && link.is_managed() && flags & flags::ACK == 0 {
                extra = self.contents.activity(packet.number).to_bits();
            }
            let owner = || self.passages[flow as usize].owner;
            match link.offer(len, flags, extra, now, owner) {
                Ok(passed) => {
                    now = passed.at;
                    if flags != passed.flags {
                        flags = passed.flags;
                        self.fates[flow as usize].marks += 1;
                    }
                }
                Err(_) => {
                    self.stop(number, &Packet { hop: hop + 1, flags, extra, ..packet }, now);
                    return None;
                }
            }
            hop += 1;
            if !chained {
                let packet = Packet { at: now, hop, flags, extra, ..packet };
                if early {
                    self.ledger.delivered += 1;
                    return Some(packet);
                }
                self.propagate(number, packet);
                return None;
            }
            if metered {
                extra = self.meter(flow, packet.number, len, now);
            }
        }
    }

    /// A packet is on its way to the far end of a link.
    #[inline(always)]
    fn propagate(&mut self, number: u32, packet: Packet) {
        let link = &mut self.links[number as usize];
        if link.pipe.is_empty() {
            self.arrivals.push(packet.at, number as usize + self.stations.len());
        }
        link.pipe.push(packet);
    }

    /// A link has not let a packet pass: it is lost, or it waits there for an event.
    #[inline(never)]
    fn stop(&mut self, number: u32, packet: &Packet, now: Time) {
        if !self.links[number as usize].is_station() {
            return self.lose(packet);
        }
        let owner = self.passages[packet.flow as usize].owner;
        let done = self.links[number as usize].arrive(*packet, owner, now);
        self.lose_at_station(number);
        if let Some(at) = done {
            let place = self.stations.binary_search(&number).expect("is a station");
            self.arrivals.push(at, place);
        }
    }

    /// The transmitter of a station is done.
    #[inline(never)]
    fn depart(&mut self, place: usize) {
        let (number, now) = (self.stations[place], self.arrivals.next_time());
        let (departed, done) = self.links[number as usize].depart(now);
        self.arrivals.take_next(place, done);
        self.lose_at_station(number);
        self.fates[departed.packet.flow as usize].marks += u64::from(departed.newly_marked);
        if departed.lost_on_wire {
            let owner = self.passages[departed.packet.flow as usize].owner;
            self.links[number as usize].probe.on_drop(Drop::Wire, owner.group);
            return self.lose(&departed.packet);
        }
        self.propagate(number, departed.packet);
    }

    fn lose_at_station(&mut self, number: u32) {
        while let Some(packet) = self.links[number as usize].take_lost() {
            self.lose(&packet);
        }
    }

    /// Takes the packet that arrives next, if it has reached the end of its route; moves it on
    /// otherwise, which may deliver it early. The packet says when it arrives.
    #[inline]
    pub fn advance(&mut self) -> Option<Packet> {
        let entry = self.arrivals.next_link().expect("called when an arrival is due");
        let Some(number) = entry.checked_sub(self.stations.len()) else {
            self.depart(entry);
            return None;
        };
        let pipe = &mut self.links[number].pipe;
        let mut packet = pipe.pop().expect("a link in the queue has a packet in its pipe");
        self.arrivals.take_next(entry, pipe.front().map(|next| next.at));
        if self.hops[packet.hop as usize].end {
            self.ledger.delivered += 1;
            return Some(packet);
        }
        let now = packet.at;
        if self.hops[packet.hop as usize - 1].metered {
            packet.extra = self.meter(packet.flow, packet.number, packet.len, now);
        }
        self.forward(packet, now)
    }

    /// Passes a packet by its flow's meter. Returns the activity, as the bits of an `f32`.
    fn meter(&mut self, flow: u32, number: u64, len: u16, now: Time) -> u32 {
        let passage = &mut self.passages[flow as usize];
        let turn = passage.next_meter as usize;
        passage.next_meter = if turn + 1 < passage.meters.len() { turn as u32 + 1 } else { 0 };
        let meter = &mut self.meters[passage.meters[turn] as usize];
        let activity = meter.on_packet(now, Bytes::new(len.into()));
        if C::OUTSIDE {
            self.contents.set_activity(number, activity);
        }
        activity.to_bits()
    }

    #[cold]
    fn lose(&mut self, packet: &Packet) {
        self.ledger.dropped += 1;
        if packet.has(flags::SACK) {
            self.sacks.take(packet.extra);
        }
        if C::OUTSIDE {
            self.contents.discard(packet.number);
        }
        if !packet.has(flags::ACK) {
            self.fates[packet.flow as usize].losses += 1;
        }
    }

    /// Packets still under way.
    pub fn under_way(&self) -> u64 {
        self.links.iter().map(|link| link.pipe.len() as u64 + link.at_station()).sum()
    }
}

/// Which link feeds which, over all routes.
struct Feeders {
    /// Whether departures from a link are events.
    stations: Vec<bool>,
    /// The only link before this one; `None` when there are several, or a host.
    only: Vec<Option<u32>>,
    /// Links that a sender's host feeds, and nothing else.
    private: Vec<bool>,
    /// Links that no other link feeds.
    hosts_alone: Vec<bool>,
}

impl Feeders {
    fn of(plan: &Plan) -> Self {
        let mut before = vec![Vec::new(); plan.links.len()];
        let mut owners = vec![Vec::new(); plan.links.len()];
        for flow in &plan.flows {
            for (route, owner) in [(&flow.forward, Some(flow.user)), (&flow.reverse, None)] {
                assert!(!route.is_empty(), "a route has at least one link");
                let mut previous = None;
                for &link in route {
                    let feeders = &mut before[link as usize];
                    if !feeders.contains(&previous) {
                        feeders.push(previous);
                    }
                    if previous.is_none() && !owners[link as usize].contains(&owner) {
                        owners[link as usize].push(owner);
                    }
                    previous = Some(link);
                }
            }
        }
        let stations: Vec<bool> = plan.links.iter().map(needs_departures).collect();
        let only = (before.iter().zip(plan.links.iter().zip(&stations)))
            .map(|(feeders, (link, station))| match feeders[..] {
                // The backlog of a monitored link is sampled, so its clock must not run ahead; nor
                // must that of one whose departures are events. From one such it is not known yet.
                [Some(only)] if !link.monitored && !station && !stations[only as usize] => {
                    Some(only)
                }
                _ => None,
            })
            .collect();
        let private = (before.iter().zip(&owners))
            .map(|(feeders, owners)| feeders[..] == [None] && matches!(owners[..], [Some(_)]))
            .collect();
        let hosts_alone = before.iter().map(|feeders| feeders[..] == [None]).collect();
        Feeders { stations, only, private, hosts_alone }
    }

    fn is_fed_by_hosts_alone(&self, link: u32) -> bool {
        self.hosts_alone[link as usize]
    }

    fn is_private(&self, link: u32) -> bool {
        self.private[link as usize]
    }

    fn chained(&self, link: u32, next: u32) -> bool {
        self.only[next as usize] == Some(link)
    }

    fn hops(&self, route: &[u32], metered: bool, early: bool) -> Vec<Hop> {
        let mut hops: Vec<Hop> = (route.iter().enumerate())
            .map(|(i, &link)| Hop {
                link,
                end: false,
                chained: route.get(i + 1).is_some_and(|&next| self.chained(link, next)),
                metered: metered && i == 0,
                early: early && i + 1 == route.len() && !self.stations[link as usize],
            })
            .collect();
        hops.push(Hop { link: u32::MAX, end: true, chained: false, metered: false, early: false });
        hops
    }
}

/// Which flows' data may reach its receiver ahead of time.
///
/// A receiver that does not delay acknowledgements depends on nothing but the order and times of
/// the packets that arrive, which are known when they leave the last queue. So it can be served at
/// once, at the time of arrival to come, and needs no event, provided that its acknowledgements
/// enter their first link in order: everything that enters that link comes from such receivers, and
/// their data over one last link. What flows measure and exchange is the same, packet by packet.
struct EarlyDelivery {
    flows: Vec<bool>,
}

impl EarlyDelivery {
    fn of_none(plan: &Plan) -> Self {
        EarlyDelivery { flows: vec![false; plan.flows.len()] }
    }

    fn of(plan: &Plan, feeders: &Feeders) -> Self {
        let mut last_link = vec![None; plan.links.len()];
        // The backlog of a monitored link is measured, so its clock must not run ahead.
        let unwatched = |link: &LinkPlan| !link.monitored && !needs_departures(link);
        let mut ordered: Vec<bool> = plan.links.iter().map(unwatched).collect();
        for flow in &plan.flows {
            let first = flow.reverse[0] as usize;
            let last = *flow.forward.last().expect("a route has at least one link");
            let acknowledges_at_once = match &flow.traffic {
                TrafficPlan::Greedy(tcp) | TrafficPlan::Transfer { tcp, .. } => {
                    tcp.delayed_ack.is_none()
                }
                TrafficPlan::Cbr { .. } => continue,
            };
            let same = *last_link[first].get_or_insert(last) == last;
            ordered[first] &=
                acknowledges_at_once && same && feeders.is_fed_by_hosts_alone(first as u32);
        }
        let flows = (plan.flows.iter())
            .map(|flow| {
                // Not from the first link on: a sender must not meet its receiver in one call.
                let has_event = flow.forward.windows(2).any(|w| !feeders.chained(w[0], w[1]));
                ordered[flow.reverse[0] as usize] && has_event
            })
            .collect();
        EarlyDelivery { flows }
    }
}
