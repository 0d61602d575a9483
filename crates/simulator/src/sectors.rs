//! Sectors: parts of a network, each of which runs ahead of the others for as long as nothing can arrive from them.
//!
//! A packet takes time from one link to the next, so the events of one link can be processed in a row, up to the time at
//! which a packet of another could interfere. This is conservative look-ahead (K. M. Chandy and J. Misra, "Distributed
//! simulation: a case study in design and verification of distributed programs", IEEE TSE 5(5), 1979) on one thread:
//! a batch of similar events finds its code and data in caches, and needs no comparison with the rest of the network.
//!
//! Results are identical, because sectors share no state between events:
//!
//! - All lanes whose events enter the same link, or pass the same stage, belong to one sector. So do all lanes from which
//!   acknowledgements reach senders, because retransmission timers fire in the order in which they are set.
//! - A batch ends before the earliest time at which a packet could arrive from another sector, by any path. Readings,
//!   samples and starts therefore find every sector at their time.
//! - Timers of senders are events of the sector of the senders. Timers of receivers, which delay acknowledgements, are
//!   events of the sector from which packets reach the receivers. If there are several such sectors, all timers end
//!   batches everywhere.
//! - Departures from a station are events of the sector whose packets enter it.
//! - Packets that are queued apart from their lanes are events of the whole network.
//!
//! Networks with other couplings have no sectors: stages that report, hold or hand over, moves, and applications other
//! than unlimited TCP flows, which act on what arrives.

use core::ops::Range;
use std::collections::BTreeMap;

use tidegate_scenario::plan::{FlowPlan, Greedy, Plan, Traffic};

use crate::event_queue::{Owners, Timers};
use crate::link::Link;
use crate::network::Routes;
use crate::number_map::NumberMap;
use crate::stages::Stages;
use crate::topology::{Hop, NO_LINK, NextHop};
use crate::tournament::GROUP;
use crate::transit::{Before, Transit};

/// More sectors take longer than they gain.
const MOST: usize = 16;
/// Number of batches after which their mean size is checked.
const TRIAL: u64 = 1 << 12;
/// Least mean number of events in a batch; smaller batches take longer than they gain.
const LEAST_EVENTS: u64 = 10;
/// The same with stations: batches of 12 events make a network with DRR 6 % slower, and batches of 21 make it 4 % faster.
const LEAST_WITH_STATIONS: u64 = 16;

/// Most flows have no more legs.
const LEGS_OF_A_FLOW: usize = 8;

/// Sectors of a network.
pub struct Sectors {
    /// Lanes and stations of each sector.
    lanes: Vec<SectorLanes>,
    /// Sector of each group.
    sector_of_group: Vec<u32>,
    /// Least times between sectors.
    edges: Vec<Edge>,
    /// The sector of all senders.
    senders: u32,
    /// The sector of all receivers that delay acknowledgements, if it is only one.
    receivers: Option<u32>,
    /// For each sector, the least time from a receiver's timer to the arrival of its acknowledgement there, ns;
    /// `u64::MAX` if none arrives there.
    late_ns: Vec<u64>,
    /// Whether timers are events of sectors. If not, they end all batches.
    divides_timers: bool,
    /// The link that all events of a sector enter; [`NO_LINK`] if they enter several.
    gates: Vec<u32>,
    /// For each sector, when its gate is free, ns.
    free_ns: Vec<u64>,
    /// For each sector, the earliest time at which a packet could leave it, ns.
    earliest_ns: Vec<u64>,
    /// Number of batches, and of their events.
    batches: u64,
    events: u64,
    /// Least mean number of events in a batch.
    least_events: u64,
    /// Whether short batches are accepted, for tests.
    pub accepts_short: bool,
}

/// Lanes and stations of a sector.
#[derive(Clone)]
pub struct SectorLanes {
    /// Groups of the tournament to which they belong.
    pub groups: Range<usize>,
    /// The lane, if there is only one and no station.
    pub only: Option<u32>,
}

/// Events of a sector that may be processed in a row.
pub struct Batch {
    /// Its lanes.
    pub lanes: SectorLanes,
    /// Owners of the timers that are its events, if timers are divided.
    pub timers: Owners,
    /// No packet of another sector arrives before.
    pub limit: Before,
}

/// A path from one sector to another without an event in between.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    least_ns: u64,
}

/// A part of a route between two events: packets arrive over one lane, cross links, and wait in another lane.
struct Leg {
    from: u32,
    to: u32,
    /// First link that it crosses.
    enters: u32,
    least_ns: u64,
}

/// What the routes of a network are made of.
pub struct Parts<'a> {
    pub plan: &'a Plan,
    pub hops: &'a [Hop],
    pub chains: &'a [u32],
    pub stages: &'a Stages,
    pub routes: &'a [Routes],
    /// Lane of each link.
    pub lanes: &'a [u32],
    /// Links whose departures are events.
    pub stations: &'a [u32],
}

impl Sectors {
    /// Returns the sectors of a network, a new lane for each link, and a place for each station: the lanes and stations of
    /// a sector have adjacent numbers. `None` if there is only one, or if the network has couplings beyond links, stages
    /// and senders.
    pub fn of(parts: &Parts) -> Option<(Self, Vec<u32>, Vec<u32>)> {
        let Parts { plan, stages, lanes, stations, .. } = *parts;
        let unlimited = Traffic::Greedy(Greedy { lasts: None });
        let is_simple = plan.moves.is_empty()
            && stages.stand_alone()
            && (plan.flows.iter()).all(|flow| {
                flow.tcp.is_some() && flow.stop.is_none() && *flow.traffic == unlimited
            });
        if !is_simple {
            return None;
        }
        let mut map = Map::of(parts);
        let (mut number_of, mut members) = (NumberMap::default(), Vec::<Vec<u32>>::new());
        for lane in 0..map.lanes as u32 {
            let root = map.sets.root(lane);
            let sector = *number_of.entry(root).or_insert(members.len() as u32);
            match members.get_mut(sector as usize) {
                Some(members) => members.push(lane),
                None => members.push(vec![lane]),
            }
        }
        let first_station = map.lanes as u32;
        for (number, link) in stations.iter().enumerate() {
            let root = map.sets.root(map.lanes as u32 + link);
            // An unused link belongs to any.
            let sector = number_of.get(&root).copied().unwrap_or(0);
            members[sector as usize].push(first_station + number as u32);
        }
        let of_lane = |lane: u32| number_of[&map.sets.roots[lane as usize]];
        let count = members.len();
        if !(2..=MOST).contains(&count) {
            return None;
        }
        let mut least = BTreeMap::new();
        let mut gates = vec![None; count];
        for leg in &map.legs {
            let (from, to) = (of_lane(leg.from), of_lane(leg.to));
            if from != to {
                let least_ns = least.entry((from, to)).or_insert(leg.least_ns);
                *least_ns = leg.least_ns.min(*least_ns);
            }
            let gate = gates[from as usize].get_or_insert(leg.enters);
            *gate = if *gate == leg.enters { *gate } else { NO_LINK };
        }
        let (mut late_ns, mut receivers) = (vec![u64::MAX; count], Vec::new());
        for ack in &map.late_acks {
            let late_ns = &mut late_ns[of_lane(ack.to) as usize];
            *late_ns = ack.least_ns.min(*late_ns);
            receivers.push(of_lane(ack.from));
        }
        receivers.dedup();
        let edge = |((from, to), least_ns)| Edge { from, to, least_ns };
        let edges = least.into_iter().map(edge).collect();
        let (mut lanes_of, mut sector_of_group) = (Vec::new(), Vec::new());
        let mut renumbered = vec![0; map.lanes + stations.len()];
        for (sector, members) in members.iter().enumerate() {
            let first = sector_of_group.len();
            let more = members.len().div_ceil(GROUP);
            sector_of_group.extend((0..more).map(|_| sector as u32));
            let only = (members.len() == 1 && members[0] < first_station)
                .then_some((first * GROUP) as u32);
            lanes_of.push(SectorLanes { groups: first..first + more, only });
            for (place, lane) in members.iter().enumerate() {
                renumbered[*lane as usize] = (first * GROUP + place) as u32;
            }
        }
        let sectors = Sectors {
            lanes: lanes_of,
            sector_of_group,
            edges,
            senders: of_lane(map.last_lane(parts, parts.routes.first()?.reverse)),
            receivers: receivers.first().copied().filter(|_| receivers.len() == 1),
            late_ns,
            divides_timers: receivers.len() < 2,
            gates: (gates.into_iter())
                .map(|gate| gate.filter(|gate| !stations.contains(gate)).unwrap_or(NO_LINK))
                .collect(),
            free_ns: vec![0; count],
            earliest_ns: vec![0; count],
            batches: 0,
            events: 0,
            least_events: if stations.is_empty() { LEAST_EVENTS } else { LEAST_WITH_STATIONS },
            accepts_short: false,
        };
        let places = renumbered.split_off(map.lanes);
        Some((sectors, lanes.iter().map(|lane| renumbered[*lane as usize]).collect(), places))
    }

    /// Returns the events that may be processed in a row in the sector of the next arrival, if there is no timer before.
    #[inline(never)]
    pub fn next(&mut self, transit: &Transit, links: &[Link], timers: &mut Timers) -> Batch {
        let Sectors { lanes, sector_of_group, edges, gates, free_ns, earliest_ns, .. } = self;
        let own = sector_of_group[transit.first_group()];
        let of_senders_ns = timers.next_of(Owners::Senders).as_nanos();
        if self.divides_timers && self.late_ns[own as usize] < u64::MAX {
            timers.find_first_ack();
        }
        let of_receivers_ns = timers.next_of(Owners::Receivers).as_nanos();
        for (sector, lanes) in lanes.iter().enumerate() {
            let gate = links.get(gates[sector] as usize);
            free_ns[sector] = gate.map_or(0, |gate| gate.last_departure().as_nanos());
            let mut first_ns = transit.first_time_in(lanes.groups.clone()).as_nanos();
            if sector as u32 == self.senders {
                first_ns = first_ns.min(of_senders_ns);
            }
            first_ns = first_ns.max(free_ns[sector]);
            let late_ns = of_receivers_ns.saturating_add(self.late_ns[sector]);
            earliest_ns[sector] = first_ns.min(late_ns.max(free_ns[sector]));
        }
        // A packet may cause others along a chain of sectors, each of which it visits once.
        for _ in 1..lanes.len() {
            let mut is_settled = true;
            for &Edge { from, to, least_ns } in &*edges {
                let leaves_ns = earliest_ns[from as usize].saturating_add(least_ns);
                let leaves_ns = leaves_ns.max(free_ns[to as usize]);
                if leaves_ns < earliest_ns[to as usize] {
                    earliest_ns[to as usize] = leaves_ns;
                    is_settled = false;
                }
            }
            if is_settled {
                break;
            }
        }
        let into = edges.iter().filter(|edge| edge.to == own);
        let limit_ns = into
            .map(|edge| earliest_ns[edge.from as usize].saturating_add(edge.least_ns))
            .fold(u64::MAX, u64::min);
        let late_ns = of_receivers_ns.saturating_add(self.late_ns[own as usize]);
        let (timers, limit_ns) = match (own == self.senders, self.receivers == Some(own)) {
            (true, true) => (Owners::All, limit_ns),
            (true, false) => (Owners::Senders, limit_ns.min(late_ns)),
            (false, true) => (Owners::Receivers, limit_ns),
            (false, false) => (Owners::None, limit_ns.min(late_ns)),
        };
        Batch { lanes: lanes[own as usize].clone(), timers, limit: transit.before_nanos(limit_ns) }
    }

    /// Whether timers are events of sectors. If not, they end all batches.
    #[inline]
    pub fn divides_timers(&self) -> bool {
        self.divides_timers
    }

    /// Returns the mean number of events in a batch.
    #[cfg(test)]
    pub fn mean_events(&self) -> f64 {
        self.events as f64 / self.batches as f64
    }

    /// Counts the events of a batch. Returns whether batches are long enough to be worth it.
    #[inline]
    pub fn count(&mut self, events: u64) -> bool {
        self.batches += 1;
        self.events += events;
        self.batches != TRIAL || self.events >= TRIAL * self.least_events || self.accepts_short
    }
}

/// Sets of lanes, links and stages that belong together, and the legs between the lanes.
struct Map {
    /// Members: lanes, then links, stages, and the senders as one.
    sets: Sets,
    lanes: usize,
    legs: Vec<Leg>,
    /// Legs of acknowledgements that timers send, from the lanes in which packets reach their receivers.
    late_acks: Vec<Leg>,
}

impl Map {
    fn of(parts: &Parts) -> Self {
        let links = parts.plan.links.len();
        let lanes = parts.lanes.iter().max().map_or(0, |last| *last as usize + 1);
        let senders = (lanes + links + parts.stages.count()) as u32;
        let sets = Sets::of(senders + 1);
        let mut map = Map { sets, lanes, legs: Vec::new(), late_acks: Vec::new() };
        let delays_acks =
            |flow: &FlowPlan| flow.tcp.as_deref().is_some_and(|tcp| tcp.delayed_acks().is_some());
        let delays_acks = parts.plan.flows.iter().any(delays_acks);
        let mut before = None;
        for routes in parts.routes {
            // Flows of a group often take the same routes.
            if before.replace((routes.forward, routes.reverse))
                == Some((routes.forward, routes.reverse))
            {
                continue;
            }
            let directions = [(routes.forward, routes.reverse), (routes.reverse, routes.forward)];
            for (route, answers) in directions {
                map.add(parts, route, answers);
            }
            let last = map.last_lane(parts, routes.reverse);
            map.sets.unite(last, senders);
            if delays_acks {
                map.add_late_ack(parts, routes);
            }
        }
        map.sets.flatten();
        map.merge_legs();
        map
    }

    /// Adds the legs from the events of a route; the last leads to the host, and on over the first links of the answer.
    fn add(&mut self, parts: &Parts, route: u32, answers: u32) {
        let (mut from, mut enters, mut least_ns) = (None, NO_LINK, 0);
        for (route, is_answer) in [(route, false), (answers, true)] {
            for (number, hop) in parts.hops.iter().enumerate().skip(route as usize) {
                if let Some(from) = from {
                    self.touch(parts, from, number);
                }
                if hop.link == NO_LINK {
                    break;
                }
                least_ns += parts.plan.links[hop.link as usize].least_delay().as_nanos();
                enters = if enters == NO_LINK { hop.link } else { enters };
                if hop.then != NextHop::Event {
                    continue;
                }
                let to = parts.lanes[hop.link as usize];
                if let Some(from) = from {
                    add_leg(&mut self.legs, Leg { from, to, enters, least_ns });
                }
                if is_answer {
                    return;
                }
                (from, enters, least_ns) = (Some(to), NO_LINK, 0);
            }
        }
    }

    /// Unites a lane with what its packets touch at a hop.
    fn touch(&mut self, parts: &Parts, lane: u32, number: usize) {
        let hop = parts.hops[number];
        if hop.link != NO_LINK {
            self.sets.unite(lane, self.lanes as u32 + hop.link);
        }
        if hop.staged {
            let first = (self.lanes + parts.plan.links.len()) as u32;
            for stage in parts.stages.of_chain(parts.chains[number]) {
                self.sets.unite(lane, first + stage);
            }
        }
    }

    /// The lane of the last event of a route.
    fn last_lane(&self, parts: &Parts, route: u32) -> u32 {
        let hops = parts.hops[route as usize..].iter().take_while(|hop| hop.link != NO_LINK);
        let last = hops.filter(|hop| hop.then == NextHop::Event).last();
        parts.lanes[last.expect("a route has an event").link as usize]
    }

    /// Adds the leg of an acknowledgement that a receiver's timer sends.
    fn add_late_ack(&mut self, parts: &Parts, routes: &Routes) {
        let (from, enters) = (self.last_lane(parts, routes.forward), NO_LINK);
        let mut least_ns = 0;
        for hop in &parts.hops[routes.reverse as usize..] {
            least_ns += parts.plan.links[hop.link as usize].least_delay().as_nanos();
            if hop.then == NextHop::Event {
                let to = parts.lanes[hop.link as usize];
                return add_leg(&mut self.late_acks, Leg { from, to, enters, least_ns });
            }
        }
    }

    /// Keeps the shortest of the legs that are alike.
    fn merge_legs(&mut self) {
        self.legs.sort_unstable_by_key(|leg| (leg.from, leg.to, leg.enters, leg.least_ns));
        self.legs.dedup_by_key(|leg| (leg.from, leg.to, leg.enters));
    }
}

/// Adds a leg, unless one of the last few is alike, as in a large network.
fn add_leg(legs: &mut Vec<Leg>, leg: Leg) {
    let is_alike =
        |known: &&mut Leg| (known.from, known.to, known.enters) == (leg.from, leg.to, leg.enters);
    match legs.iter_mut().rev().take(LEGS_OF_A_FLOW).find(is_alike) {
        Some(known) => known.least_ns = known.least_ns.min(leg.least_ns),
        None => legs.push(leg),
    }
}

/// Disjoint sets.
struct Sets {
    roots: Vec<u32>,
}

impl Sets {
    fn of(count: u32) -> Self {
        Sets { roots: (0..count).collect() }
    }

    fn root(&mut self, mut member: u32) -> u32 {
        while self.roots[member as usize] != member {
            let next = self.roots[member as usize];
            self.roots[member as usize] = self.roots[next as usize];
            member = next;
        }
        member
    }

    fn unite(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.roots[other as usize] = one;
    }

    /// Lets every member refer to the root of its set.
    fn flatten(&mut self) {
        for member in 0..self.roots.len() as u32 {
            self.roots[member as usize] = self.root(member);
        }
    }
}
