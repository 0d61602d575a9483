//! The network without hosts, for real hosts: packets in, packets out, next event.
//!
//! Links, AQMs, meters and probes are those of a simulation. The caller supplies the clock, so the same code stands
//! between real hosts in real time and emulates any network of a scenario.

use core::cmp::Reverse;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{Direction, Plan};

use crate::arrivals::Arrivals;
use crate::contents::Contents;
use crate::delay::{Delays, FlowDelays, add_opinion_scores};
use crate::intervals;
use crate::link::Link;
use crate::link_reading::{LinkReadings, ReadLinks};
use crate::network::{Network, PacketTotals, Routes};
use crate::output::{
    DelayTable, GroupSeries, IntervalTables, LinkGroupTable, LinkSeries, LinkTable, StageSeries,
    StageTable,
};
use crate::packet::{PackedPacket, Packet, flags};
use crate::readings::Counted;
use crate::series::Series;
use crate::stages::{self, CongestionHeader, StageCounts};
use crate::tables;

mod queues;
mod tunnels;

pub use queues::{ForQueue, Release};
pub use tunnels::{Asked, NodePlace, NodeVerdict};

/// A packet that has reached the end of its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Number of the packet.
    pub packet: u64,
    /// Flow.
    pub flow: u32,
    /// Direction.
    pub direction: Direction,
    /// Time at which it was due.
    pub at: Time,
    /// Header fields to write: those of the sender, updated by marks and stages on the path.
    pub header: CongestionHeader,
    /// External node that the packet has reached; `None` at the end of its route.
    pub place: Option<NodePlace>,
}

/// Network for a caller that provides the hosts.
pub struct Emulation<'a, C: Contents> {
    plan: &'a Plan,
    network: Network<C>,
    /// Whether a mechanism on the path reads the packets' activity.
    reads_activity: bool,
    /// Current routes of the flows, followed by the routes of the plan's moves.
    routes: Vec<Routes>,
    /// Pending moves, the next at the end.
    moves: Vec<usize>,
    received: Vec<Arrivals>,
    delays: Delays,
    /// By flow, where its delays are kept.
    flows: Vec<FlowDelays>,
    series: Series,
    /// Counters at the start of the measurement.
    before: Option<Counters>,
    /// Counters at the end of the latest interval.
    last: Option<Counters>,
    intervals: IntervalTables,
    /// Number of intervals that have ended.
    parts: u32,
    now: Time,
}

/// All counters at one point in time.
struct Counters {
    links: LinkReadings,
    losses: Vec<u64>,
    received: Vec<Arrivals>,
    stages: StageCounts,
}

impl Counted for Counters {
    fn links(&self) -> &LinkReadings {
        &self.links
    }

    fn received_bytes(&self, flow: usize) -> u64 {
        self.received[flow].bytes
    }
}

/// Measurements of an emulated network between the end of the warm-up and the end of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Emulated {
    /// Packets that left each flow's last link.
    pub received: Vec<Arrivals>,
    /// Lost packets of each flow's sender.
    pub losses: Vec<u64>,
    /// One row per link.
    pub links: LinkTable,
    /// One row per monitored link and group.
    pub link_groups: LinkGroupTable,
    /// Delays in the network: one row per group, and per user or flow where asked for.
    pub delays: DelayTable,
    /// Measurements by interval; empty without intervals.
    pub intervals: IntervalTables,
    /// Counts of stages; empty without stages that count.
    pub stages: StageTable,
    /// One row per sample and group.
    pub group_series: GroupSeries,
    /// One row per sample and monitored link.
    pub link_series: LinkSeries,
    /// One row per sample, stage and level, for the first users of each group; empty without such stages.
    pub stage_series: StageSeries,
    /// Sum over all packets of the links passed, over the whole time.
    pub hops: u64,
    /// Packets by outcome, over the whole time.
    pub ledger: PacketTotals,
}

impl<'a, C: Contents> Emulation<'a, C> {
    /// Returns an idle network at time zero. `contents` stores the packets' bytes.
    pub fn new(plan: &'a Plan, seed: u64, contents: C) -> Self {
        let (network, routes) = Network::in_real_time(plan, seed, contents);
        let reads_activity =
            !network.stages.is_empty() || network.links.iter().any(Link::is_managed);
        let mut moves: Vec<usize> = (0..plan.moves.len()).rev().collect();
        moves.sort_by_key(|number| Reverse(plan.moves[*number].at));
        let (delays, flows) = Delays::new(plan, &routes, false);
        let mut emulation = Emulation {
            plan,
            network,
            reads_activity,
            routes,
            moves,
            received: vec![Arrivals::default(); plan.flows.len()],
            delays,
            flows,
            series: Series::new(plan),
            before: None,
            last: None,
            intervals: IntervalTables::default(),
            parts: 0,
            now: Time::ZERO,
        };
        emulation.network.expect_reading(emulation.next_reading());
        if !emulation.tunnels().is_empty() {
            emulation.series.leave_out_delays();
        }
        emulation
    }

    /// Returns the store of the packets' bytes.
    pub fn contents(&mut self) -> &mut C {
        &mut self.network.contents
    }

    /// Injects a packet of a host, `len` bytes on the wire, with this header. A time `at` before the last event is
    /// replaced by that event's time, since the network's clock cannot go back.
    pub fn inject(
        &mut self,
        flow: u32,
        direction: Direction,
        packet: u64,
        len: u16,
        header: CongestionHeader,
        at: Time,
    ) {
        let routes = self.routes[flow as usize];
        let hop = match direction {
            Direction::Forward => routes.forward,
            Direction::Reverse => routes.reverse,
        };
        // A packet that arrives marked was ECN-capable.
        let flags = stages::flags_of(header, None, tunnels::flags_of(direction) | flags::ECT);
        let stamp = at.max(self.now);
        let mut packet =
            Packet { number: packet, stamp, flow, hop, len, flags, ..Packet::default() };
        if self.reads_activity && direction == Direction::Forward {
            packet.payload = self.network.contents.activity(packet.number).to_bits();
        }
        self.network.send(PackedPacket::of(&packet), stamp);
    }

    /// Returns the time of the next event.
    pub fn next_time(&mut self) -> Time {
        if !self.network.exited.is_empty() {
            return self.now;
        }
        self.network.transit.next_time().min(self.next_own())
    }

    /// Returns the time of the next reading of all counters: at the start of the measurement and at the end of each
    /// interval.
    fn next_reading(&self) -> Time {
        let start = Time::ZERO + self.plan.warm_up;
        match self.parts_to_come() {
            _ if self.before.is_none() => start,
            0 => Time::NEVER,
            1 => start + self.plan.duration,
            _ => start + intervals::length(self.plan) * u64::from(self.parts + 1),
        }
    }

    fn parts_to_come(&self) -> u32 {
        self.plan.intervals.max(1) - self.parts
    }

    /// Returns the time of the next sample, reading or move.
    fn next_own(&self) -> Time {
        self.series.next().min(self.next_reading()).min(self.next_move())
    }

    fn next_move(&self) -> Time {
        self.moves.last().map_or(Time::NEVER, |number| self.plan.moves[*number].at)
    }

    /// Moves a flow to its other path. Packets in transit stay on theirs.
    fn advance_due(&mut self) {
        let number = self.moves.pop().expect("a move is due");
        self.routes[self.plan.moves[number].flow] = self.routes[self.plan.flows.len() + number];
    }

    /// Processes the next event, which may deliver a packet.
    ///
    /// # Panics
    ///
    /// If nothing is due ([`Emulation::next_time`] is [`Time::NEVER`]).
    pub fn advance(&mut self) -> Option<Delivery> {
        if let Some(delivery) = self.exited() {
            return Some(delivery);
        }
        // As in a simulation: at equal times, readings come first and samples last.
        let arrival = self.network.transit.next_time();
        if self.next_reading() <= arrival.min(self.series.next()).min(self.next_move()) {
            self.now = self.next_reading();
            self.read(self.now);
            return None;
        }
        if self.next_move() <= arrival.min(self.series.next()) {
            self.now = self.next_move();
            self.advance_due();
            return None;
        }
        if self.series.next() < arrival {
            self.now = self.series.next();
            let Network { links, stages, .. } = &mut self.network;
            self.series.sample(self.plan, links, stages, None);
            return None;
        }
        self.now = arrival;
        let Some((at, packed)) = self.network.advance() else { return self.exited() };
        Some(self.delivered(at, packed))
    }

    /// Returns a packet that has reached the end of its route.
    fn delivered(&mut self, at: Time, packed: PackedPacket) -> Delivery {
        let packet = packed.packet(at);
        let direction =
            if packet.has(flags::ACK) { Direction::Reverse } else { Direction::Forward };
        if direction == Direction::Forward {
            let flow = self.flows[packet.flow as usize];
            self.received[packet.flow as usize].add(packet.len, packet.has(flags::CE));
            let queueing = self.delays.queueing(flow, &packed, at);
            self.series.count(flow.group, packet.at, packet.len, queueing);
            // When it entered the network is not known of a packet that has been at a node outside.
            if packet.stamp > Time::ZERO && self.parts_to_come() > 0 {
                self.delays.record(flow, &packed, at, queueing);
            }
        }
        Delivery {
            packet: packet.number,
            flow: packet.flow,
            direction,
            at: packet.at,
            header: stages::header_of(packet.flags),
            place: None,
        }
    }

    fn read(&mut self, now: Time) {
        self.take_reading(now);
        self.network.expect_reading(self.next_reading());
    }

    fn take_reading(&mut self, now: Time) {
        if self.before.is_none() {
            self.before = Some(self.counters(LinkReadings::take, now));
            self.delays.reset();
            return;
        }
        let after = self.counters(LinkReadings::in_passing, now);
        if self.plan.intervals > 1 {
            let before = self.last.as_ref().or(self.before.as_ref()).expect("it has begun");
            intervals::measure(&mut self.intervals, self.plan, self.parts, before, &after);
        }
        self.last = Some(after);
        self.parts += 1;
        if self.parts_to_come() == 0 {
            self.series.stop();
        }
    }

    fn counters(&mut self, read: ReadLinks, now: Time) -> Counters {
        Counters {
            links: self.network.read_links(read, now),
            losses: self.network.losses(),
            received: self.received.clone(),
            stages: self.network.stages.counts(),
        }
    }

    /// Returns the measurements; `None` before the end of the measurement.
    ///
    /// # Panics
    ///
    /// If a packet is unaccounted for.
    pub fn finish(self) -> Option<Emulated> {
        let is_over = self.parts_to_come() == 0;
        let Emulation { plan, network, before, last, intervals, series, delays, .. } = self;
        let ledger = network.ledger;
        assert_eq!(
            ledger.injected,
            ledger.delivered + ledger.dropped + network.in_transit(),
            "every packet is delivered, dropped or still under direction"
        );
        let (before, after) = (before?, last.filter(|_| is_over)?);
        let losses = before.losses.iter().zip(&after.losses);
        let losses: Vec<u64> = losses.map(|(before, after)| after - before).collect();
        let received = before.received.iter().zip(&after.received);
        let received: Vec<Arrivals> = received.map(|(before, after)| after.since(before)).collect();
        let mut delays = delays.table(plan);
        let delivered = received.iter().map(|got| got.packets);
        add_opinion_scores(&mut delays, plan, losses.iter().copied(), delivered);
        Some(Emulated {
            received,
            losses,
            links: tables::links(plan, &network.links, &before.links, &after.links),
            link_groups: tables::link_groups(plan, &before.links, &after.links),
            delays,
            stages: network.stages.table(plan, &before.stages, &after.stages),
            intervals,
            group_series: series.groups,
            link_series: series.links,
            stage_series: series.stages,
            hops: network.links.iter().map(|link| link.accepted.packets).sum(),
            ledger,
        })
    }
}
