//! Links, routes, and the forwarding of packets.
//!
//! A link that only one other link feeds needs no event between the two: the arrival times at the second follow, in
//! order, from the departures of the first. Such links are *chained*; the packet then waits in the propagation delay of
//! the last one. On a dumbbell with an access link per user this halves the events.

mod at_stages;
mod construction;
mod counting;
mod known_routes;

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Time;

use crate::ahead::{Ahead, LinkSignal};
use crate::capture::Capture;
use crate::contents::{Contents, InPacket};
use crate::delayed_acks::DelayedAcks;
use crate::host_queues::HostQueues;
use crate::link::{Departed, Forwarded, Link, Written};
use crate::memory::prefetch;
use crate::owner::Owner;
use crate::packet::{OptionStore, PackedPacket, flags};
use crate::reports::Reports;
use crate::sectors::Sectors;
use crate::stages::Stages;
use crate::station::Release;
use crate::topology::{Hop, NO_LINK, NextHop, PacketTrain};
use crate::transit::{NextEvent, Transit};
#[cfg(test)]
use at_stages::NO_STAGE;

/// First hops of a flow.
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
    /// End of the delay of its current burst, where one delay holds a whole burst; else [`Time::NEVER`].
    burst_waits_to: Time,
    /// The host of its sender.
    host: u32,
    /// The host of its receiver, if it sends data as well; else [`NO_HOST`].
    far_host: u32,
}

/// Host number of a host that sends no data.
const NO_HOST: u32 = u32::MAX;

/// Packets by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketTotals {
    /// Entered the network.
    pub injected: u64,
    /// Handed to an endpoint.
    pub delivered: u64,
    /// Dropped, for any reason.
    pub dropped: u64,
}

/// The network; `C` stores the contents of its packets.
pub struct Network<C = InPacket> {
    /// All links.
    pub links: Vec<Link>,
    /// Packets in transit.
    pub transit: Transit,
    /// Options of packets in transit.
    pub options: OptionStore,
    /// Delayed acknowledgements of receivers that are served ahead of time.
    pub delayed_acks: DelayedAcks,
    /// Packets by outcome.
    pub ledger: PacketTotals,
    /// Packets discarded in pipes at the end of a run.
    discarded: u64,
    /// Packets lost for any reason, by flow.
    losses: Vec<u64>,
    /// Contents of packets that the network does not read.
    pub contents: C,
    hops: Vec<Hop>,
    /// Packet trains, by the link that they enter.
    trains: Vec<Option<PacketTrain>>,
    /// Links whose departures are events.
    stations: Vec<u32>,
    flow_states: Vec<FlowState>,
    hosts: HostQueues,
    /// Whether a host sends data of one flow and acknowledges data of another.
    shared_hosts: bool,
    /// Stages of all places.
    pub stages: Stages,
    /// The chain of stages of each hop; empty in a network without stages.
    chains: Vec<u32>,
    /// The stage in front of each hop that packets may pass on the fast path, or [`NO_STAGE`].
    fast_paths: Vec<u32>,
    /// The next tunnel end of each hop's path; empty in a network without tunnels.
    tunnel_ends: Vec<Option<u32>>,
    /// Reports in transit between stages.
    reports: Reports,
    /// Packets that have reached an external node and are handed out next.
    pub exited: Vec<(Time, PackedPacket)>,
    /// Time of the next reading of the counters.
    next_reading: Time,
    /// Time of the next reading where packets may pass ahead of time: no later packet passes a stage that counts.
    read_next: Time,
    /// Packets that wait for that reading, with their arrival times.
    deferred: Vec<(Time, PackedPacket)>,
    /// Events that were counted ahead of the reading.
    ahead: Ahead,
    /// Links whose packets are captured.
    pub capture: Option<Box<Capture>>,
    /// Parts of the network that run ahead of each other, if it has several.
    pub sectors: Option<Box<Sectors>>,
}

impl<C: Contents> Network<C> {
    /// Sends a packet from a sender's host: it enters the first link after the host's jitter, behind earlier packets. A
    /// `prompt` packet starts no burst delay of its own.
    #[inline(never)]
    pub fn send_from_host(&mut self, packed: PackedPacket, prompt: bool, now: Time) {
        let &FlowState { host, jitter_ns, burst_waits_to, .. } =
            &self.flow_states[packed.flow() as usize];
        let at = match burst_waits_to {
            Time::NEVER => self.hosts.release(host, now, jitter_ns),
            end => self.release_in_burst(packed.flow(), end, prompt, now),
        };
        self.enter(packed, at);
    }

    /// Entry time of a packet whose burst is delayed until `end`, together with what is written meanwhile.
    fn release_in_burst(&mut self, flow: u32, mut end: Time, prompt: bool, now: Time) -> Time {
        let state = &mut self.flow_states[flow as usize];
        if end <= now && !prompt {
            end = now + self.hosts.jitter(state.host, state.jitter_ns);
            state.burst_waits_to = end;
        }
        self.hosts.release_next(state.host, now.max(end))
    }

    /// Sends a packet from a receiver: it enters the first link at once, or behind earlier packets if its host sends data
    /// as well.
    #[inline(never)]
    pub fn send_from_receiver(&mut self, packed: PackedPacket, now: Time) {
        let at = if self.shared_hosts { self.behind_others(&packed, now) } else { now };
        self.enter(packed, at);
    }

    #[cold]
    fn behind_others(&mut self, packed: &PackedPacket, now: Time) -> Time {
        let host = self.flow_states[packed.flow() as usize].far_host;
        if host == NO_HOST { now } else { self.hosts.release_next(host, now) }
    }

    /// Sends a packet at its first hop.
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
                self.note_pending(number, packed.flow(), packed.len(), arrives);
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

    /// Offers a packet to a link that is busy. Returns its arrival time at the far end, and whether it is marked; `None`
    /// if it is lost, waits for an event, or was sent on with a price.
    #[inline(never)]
    fn offer(&mut self, number: u32, mut packed: PackedPacket, now: Time) -> Option<(Time, bool)> {
        let link = &mut self.links[number as usize];
        if link.is_joined_by(packed.len(), now) {
            return Some((link.join(packed.len()), false));
        }
        let owner = self.flow_states[packed.flow() as usize].owner;
        match link.offer(&packed, now, owner) {
            Ok(forwarded) if link.is_observed() => {
                self.send_observed(number, packed, now, forwarded)
            }
            Ok(Forwarded { at, written: Written::Payload }) => {
                packed.set_payload(link.reported());
                self.transit.send(number, at, packed);
                self.note_pending(number, packed.flow(), packed.len(), now);
                None
            }
            Ok(Forwarded { at, written }) => {
                let marked = written == Written::Mark;
                if marked {
                    self.note_signal(number, LinkSignal::Mark, now);
                }
                Some((at, marked))
            }
            Err(DropReason::Wire) => {
                self.capture(number, &packed, false);
                self.note_pending(number, packed.flow(), packed.len(), now);
                self.note_signal(number, LinkSignal::Drop(DropReason::Wire), now);
                self.lose(&packed, now);
                None
            }
            Err(reason) => {
                self.note_signal(number, LinkSignal::Drop(reason), now);
                self.stop(number, &packed, now);
                None
            }
        }
    }

    /// Captures a packet that a link has sent: an accepted one, or one lost on the wire.
    #[cold]
    fn capture(&mut self, number: u32, packed: &PackedPacket, marked: bool) {
        let departs = self.links[number as usize].last_departure();
        if let Some(capture) = &mut self.capture {
            capture.see(number, packed, departs, marked, &self.options);
        }
    }

    /// Sends a packet over a link that is captured or duplicates packets. Returns its arrival time at the far end and
    /// whether it is marked; `None` if it is on its way already.
    #[cold]
    fn send_observed(
        &mut self,
        number: u32,
        mut packed: PackedPacket,
        now: Time,
        Forwarded { at, written }: Forwarded,
    ) -> Option<(Time, bool)> {
        let marked = written == Written::Mark;
        self.capture(number, &packed, marked);
        let link = &mut self.links[number as usize];
        let copy_at = link.take_copy();
        match written {
            Written::Payload => packed.set_payload(link.reported()),
            Written::Mark => self.note_signal(number, LinkSignal::Mark, now),
            Written::Nothing => {}
        }
        if copy_at.is_none() && written != Written::Payload {
            return Some((at, marked));
        }
        if marked {
            packed.mark();
        }
        if let Some(copy_at) = copy_at {
            // The options have another ticket then.
            self.duplicate(number, &mut packed, copy_at);
        }
        self.transit.send(number, at, packed);
        self.note_pending(number, packed.flow(), packed.len(), now);
        None
    }

    /// Sends a copy of a packet over the wire of a link. Reports, and packets in tunnels, whose ends count them, have none.
    #[cold]
    fn duplicate(&mut self, number: u32, packed: &mut PackedPacket, at: Time) {
        if packed.has(flags::REPORT | flags::TUNNEL) {
            return;
        }
        self.ledger.injected += 1;
        let copy = self.options.copy(packed).numbered(self.contents.copy(packed.number()));
        self.transit.send(number, at, copy);
    }

    /// Handles a packet that a link has not passed: it is lost, or it waits for an event.
    #[inline(never)]
    fn stop(&mut self, number: u32, packed: &PackedPacket, now: Time) {
        if !self.links[number as usize].is_station() {
            return self.lose_in_queue(number, packed, now);
        }
        let owner = self.flow_states[packed.flow() as usize].owner;
        let link = &mut self.links[number as usize];
        let done = link.arrive(*packed, owner, now);
        if packed.has(flags::ACK) && link.filters_acks() {
            link.filter_acks(packed, owner, &self.options, now);
        }
        self.lose_at_station(number, now);
        if let Some(at) = done {
            let place = self.stations.binary_search(&number).expect("is a station");
            self.transit.set_station(place, Some(at));
        }
    }

    /// Completes a station's transmission. Returns the packet and its arrival time if that needs no event.
    #[inline]
    pub fn depart(&mut self, place: usize, now: Time) -> Option<(Time, PackedPacket)> {
        let number = self.stations[place];
        let (departed, done) = self.links[number as usize].depart(now);
        let Some(departed) = departed else {
            core::hint::cold_path();
            self.transit.set_station(place, done);
            self.lose_at_station(number, now);
            return None;
        };
        if let Some(capture) = &mut self.capture {
            core::hint::cold_path();
            capture.see(number, &departed.packed, now, false, &self.options);
        }
        self.transit.set_station(place, done);
        self.lose_at_station(number, now);
        let Departed { mut packed, at, lost_on_wire } = departed;
        if lost_on_wire {
            self.lose(&packed, now);
            return None;
        }
        if self.links[number as usize].is_observed() {
            core::hint::cold_path();
            if let Some(copy_at) = self.links[number as usize].take_copy() {
                self.duplicate(number, &mut packed, copy_at);
            }
        }
        if self.hops[packed.hop() as usize - 1].then != NextHop::Event {
            return Some((at, packed));
        }
        self.transit.send(number, at, packed);
        None
    }

    /// Takes the next packet for the external queue of a link.
    pub fn take_arrived(&mut self, number: u32) -> Option<(u32, PackedPacket)> {
        self.links[number as usize].take_arrived()
    }

    /// The queue outside has let a packet go. Returns it if a host gets it by that, and when.
    pub fn served(
        &mut self,
        number: u32,
        handle: u32,
        marked: bool,
        now: Time,
        release: Release,
    ) -> Option<(Time, PackedPacket)> {
        let Departed { mut packed, at, lost_on_wire } =
            self.links[number as usize].leave(handle, marked, now, release);
        if lost_on_wire {
            self.lose(&packed, now);
            return None;
        }
        if let Some(copy_at) = self.links[number as usize].take_copy() {
            self.duplicate(number, &mut packed, copy_at);
        }
        if self.hops[packed.hop() as usize - 1].then != NextHop::Event {
            return self.arrive(packed, at);
        }
        self.transit.send(number, at, packed);
        None
    }

    /// Handles a packet that the external queue has dropped.
    pub fn dropped(&mut self, number: u32, handle: u32, reason: DropReason, now: Time) {
        self.links[number as usize].lose(handle, reason, now);
        self.lose_at_station(number, now);
    }

    fn lose_at_station(&mut self, number: u32, now: Time) {
        while let Some(packed) = self.links[number as usize].take_lost() {
            self.lose_in_queue(number, &packed, now);
        }
    }

    /// Processes the next event. Returns the packet that it delivers to a host, if any, and when: now, or early.
    pub fn advance(&mut self) -> Option<(Time, PackedPacket)> {
        let (at, packed) = match self.transit.take_next() {
            NextEvent::Packet(at, packed) => (at, packed),
            NextEvent::Station(place) => self.depart(place, self.transit.next_time())?,
        };
        self.arrive(packed, at)
    }

    /// Handles the arrival of a packet at the end of a link. Returns it if it is delivered to a host, and when: now, or
    /// early.
    #[inline(always)]
    pub fn arrive(&mut self, packed: PackedPacket, at: Time) -> Option<(Time, PackedPacket)> {
        let hop = self.hop_of(&packed);
        if hop.then == NextHop::Nothing {
            self.ledger.delivered += 1;
            return Some((at, packed));
        }
        if hop.leads_train {
            self.move_train(packed, hop, at);
            return None;
        }
        self.forward(packed, hop, at)
    }

    /// Forwards a packet together with those behind it that arrive before any other event ([`PacketTrain`]): one event
    /// for all. No packet passes beyond the next reading.
    #[inline(never)]
    fn move_train(&mut self, mut packed: PackedPacket, hop: Hop, mut at: Time) {
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
                    self.note_pending(hop.link, packed.flow(), packed.len(), at);
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

    /// Handles a packet that the queue of a link has dropped.
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
            self.options.take(packed.payload());
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

    /// Prefetches a packet's next hop, and its flow's state if its arrival may release data.
    #[inline(always)]
    pub fn prefetch_path(&self, packed: &PackedPacket) {
        prefetch(&self.hops[packed.hop() as usize]);
        if packed.has(flags::ACK) || self.shared_hosts {
            self.prefetch_owner(packed);
        }
    }

    /// Prefetches the state of a packet's flow.
    #[inline(always)]
    pub fn prefetch_owner(&self, packed: &PackedPacket) {
        prefetch(&self.flow_states[packed.flow() as usize]);
    }

    /// Prefetches the links from a hop to the next event. Returns whether that event is a delivery to a host.
    #[inline(always)]
    pub fn prefetch_links(&self, hop: u32) -> bool {
        for hop in &self.hops[hop as usize..] {
            if hop.link != NO_LINK {
                prefetch(&self.links[hop.link as usize]);
                self.transit.prefetch_lane(hop.link);
            }
            match hop.then {
                NextHop::Link => {}
                NextHop::Event => return false,
                NextHop::Host | NextHop::Nothing => return true,
            }
        }
        false
    }

    /// Prefetches the host of a flow's sender.
    #[inline(always)]
    pub fn prefetch_host(&self, flow: u32) {
        self.hosts.prefetch(self.flow_states[flow as usize].host);
    }

    /// Disables packet trains and all fast paths.
    #[cfg(test)]
    pub fn disable_fast_paths(&mut self) {
        self.hops.iter_mut().for_each(|hop| hop.leads_train = false);
        self.fast_paths.fill(NO_STAGE);
        self.stages.disable_fast_paths();
    }

    /// Returns the number of packets in transit, those that were discarded there included.
    pub fn in_transit(&self) -> u64 {
        let at_stations = self.links.iter().map(Link::at_station).sum::<u64>();
        self.discarded + self.transit.len() + at_stations + self.deferred.len() as u64
    }

    /// Goes on without sectors, and without the places that they have in the queue of events.
    pub fn leave_sectors(&mut self) {
        if self.sectors.take().is_some() {
            self.transit.compress();
        }
    }

    /// Discards the packets in pipes when none will move any more, unless some are deferred until after a reading. With
    /// many flows they have a fifth of the memory, which the last readings can use.
    pub fn discard_packets(&mut self) {
        if !self.deferred.is_empty() {
            return;
        }
        self.discarded += self.transit.len();
        self.transit = Transit::new(vec![0], 0);
        self.options = OptionStore::default();
    }
}
