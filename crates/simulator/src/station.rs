//! A queue whose departures are events, for mechanisms that have to see packets leave or that reorder them.
//!
//! The [`Link`](crate::link::Link) around it has the rate, the delay and the loss. This module has the waiting packets
//! and the packet in transmission.

use std::collections::VecDeque;

use tidegate_mechanisms::bottleneck::scheduler::cake::TcpAck;
use tidegate_mechanisms::bottleneck::scheduler::{Queued, Scheduler, TransmitterState, Users};
use tidegate_mechanisms::bottleneck::{DropReason, Moment};
use tidegate_mechanisms::dscp::Dscp;
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::LinkPlan;

use crate::build;
use crate::owner::Owner;
use crate::packet::{OptionStore, Options, PackedPacket, flags};
use crate::probe::{Accepted, LinkProbe};
use crate::random::Stream;
use crate::transmission::Transmission;

/// Queue and transmitter of a link.
pub struct Station {
    scheduler: Scheduler,
    rng: Stream,
    ecn: bool,
    ecn_marks_all: bool,
    /// Encoding of the price in packets and the moment of writing it, if packets carry it.
    signals_price: Option<(Encoding, Moment)>,
    /// Packets in the station, by handle: each is written once, and read when it has left.
    packet_store: Slots,
    sending: Option<Sending>,
    /// Time at which the transmitter was last done.
    idle_since: Time,
    /// Packets dropped since they were last taken.
    pub lost: Vec<PackedPacket>,
    /// External queue, if one serves the link.
    outside: Option<Box<Outside>>,
}

/// State of an external queue, which decides and serves.
#[derive(Default)]
struct Outside {
    /// Handles of packets that have arrived and were not passed to it yet.
    arrived: VecDeque<u32>,
    packets: u32,
    bytes: u64,
    /// The packet that it has let go and that is in transmission, or was last.
    sending: Option<Released>,
}

#[derive(Clone, Copy)]
struct Released {
    group: u16,
    len: u16,
    departs: Time,
}

/// When a queue outside lets a packet go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// When its transmission begins.
    Begin,
    /// When it has ended.
    End,
}

#[derive(Clone, Copy)]
struct Sending {
    handle: u32,
    len: u16,
    departs: Time,
    marked: bool,
}

/// Packet that has left a station.
#[derive(Clone, Copy)]
pub struct Served {
    /// The packet, with its mark.
    pub packed: PackedPacket,
    /// Index of its owner's group.
    pub group: u16,
    /// Whether it was marked here.
    pub marked: bool,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    /// Handle of the packet that came last.
    last_put: Option<u32>,
}

#[derive(Clone, Copy)]
struct Slot {
    packed: PackedPacket,
    arrived: Time,
    group: u16,
    taken: bool,
}

impl Slots {
    #[inline]
    fn put(&mut self, packed: PackedPacket, group: u16, arrived: Time) -> u32 {
        let slot = Slot { packed, arrived, group, taken: true };
        let handle = match self.vacant.pop() {
            Some(handle) => {
                self.slots[handle as usize] = slot;
                handle
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.last_put = Some(handle);
        handle
    }

    #[inline]
    fn get(&self, handle: u32) -> &Slot {
        &self.slots[handle as usize]
    }

    #[inline]
    fn take(&mut self, handle: u32) -> &Slot {
        self.vacant.push(handle);
        let slot = &mut self.slots[handle as usize];
        slot.taken = false;
        slot
    }

    fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }
}

/// Returns what a packet acknowledges; `None` for packets with data and requests.
fn ack(packed: &PackedPacket, options: &OptionStore) -> Option<TcpAck> {
    if !packed.has(flags::ACK) || packed.has(flags::SYN | flags::REPORT) {
        return None;
    }
    let stored = match packed.has(flags::OPTIONS) {
        true => options.peek(packed.payload()),
        false => Options::NONE,
    };
    Some(TcpAck {
        connection: u64::from(packed.connection()) << 32
            | u64::from(packed.flow()) << 1
            | u64::from(packed.has(flags::BACK)),
        number: packed.number(),
        echo: packed.stamp(),
        ecn: [packed.has(flags::ECE), packed.has(flags::CWR)],
        is_special: packed.has(flags::AE | flags::TUNNEL) || stored.received_bytes.is_some(),
        sack: if packed.has(flags::SACK) { stored.sack } else { [(0, 0); 3] },
    })
}

/// Returns the DiffServ codepoint of a packet, and whether it travels to the customer.
#[inline]
fn dscp_and_end(packed: &PackedPacket, owner: Owner) -> (u8, bool) {
    let (dscp, to_user) = owner.dscp_and_end.of_packet(packed.has(flags::BACK));
    (if packed.has(flags::LOWER_EFFORT) { Dscp::Le.bits() } else { dscp }, to_user)
}

impl Station {
    /// Returns the station of a planned link, if it needs one.
    pub fn new(plan: &LinkPlan, seed: u64) -> Option<Box<Self>> {
        let mut station = Station::holding(build::scheduler(plan)?, plan, seed);
        station.outside = plan.kernel_qdisc.as_ref().map(|_| Box::default());
        Some(station)
    }

    /// Returns a station with this scheduler.
    pub fn holding(scheduler: Scheduler, plan: &LinkPlan, seed: u64) -> Box<Self> {
        let asks_price = plan.aqm.asks_price();
        Box::new(Station {
            scheduler,
            rng: Stream::new(seed, format_args!("link/{}/aqm", plan.name)),
            ecn: plan.ecn || asks_price.is_some(),
            ecn_marks_all: plan.ecn_marks_all,
            signals_price: plan.price_encoding.filter(Encoding::is_in_payload).zip(asks_price),
            packet_store: Slots::default(),
            sending: None,
            idle_since: Time::ZERO,
            lost: Vec::new(),
            outside: None,
        })
    }

    /// Tells the scheduler who the users are.
    pub fn know(&mut self, users: &Users) {
        self.scheduler.know(users);
    }

    /// Whether the transmitter is idle.
    pub const fn is_idle(&self) -> bool {
        self.sending.is_none()
    }

    /// Handles an arrival at `now`. Packets dropped for it are in `lost` afterwards.
    pub fn arrive(&mut self, packed: PackedPacket, owner: Owner, now: Time, probe: &mut LinkProbe) {
        let activity = if self.signals_price.is_some() { 0.0 } else { packed.activity() };
        probe.on_activity(owner.group, activity);
        if self.outside.is_some() {
            self.arrive_outside(packed, owner.group, now, probe);
            return;
        }
        let (dscp, to_user) = dscp_and_end(&packed, owner);
        let queued = Queued {
            handle: self.packet_store.put(packed, owner.group, now),
            len: packed.len().into(),
            user: owner.user,
            flow: packed.flow(),
            activity,
            may_mark: self.ecn && (self.ecn_marks_all || packed.has(flags::ECT)),
            scalable: owner.scalable,
            to_user,
            dscp,
            marked: false,
            declares: packed.re_inserted(),
            arrived: now,
        };
        let line = TransmitterState {
            now,
            idle: if self.is_idle() { now.since(self.idle_since) } else { Span::ZERO },
            in_transmission: self
                .sending
                .map_or(Bytes::ZERO, |sending| Bytes::new(u64::from(sending.len))),
        };
        let Station { scheduler, rng, packet_store, lost, .. } = self;
        let lose = |packet: Queued, reason| {
            let slot = packet_store.take(packet.handle);
            probe.on_refusal(reason, slot.group, now.since(slot.arrived), packet.bytes());
            lost.push(slot.packed);
        };
        scheduler.enqueue(queued, &line, || rng.unit(), lose);
        if let Some(monitor) = &mut probe.monitor {
            let (_, bytes) = self.backlog();
            monitor.most_bytes = monitor.most_bytes.max(bytes);
        }
        if let Some((_, Moment::Arrival)) = self.signals_price {
            self.signal_price(queued.handle);
        }
    }

    /// Writes the queue's price into a packet that carries prices. The payload word of an acknowledgement carries the
    /// receiver's feedback.
    fn signal_price(&mut self, handle: u32) {
        let Station { signals_price, scheduler, rng, packet_store, .. } = self;
        let packed = &mut packet_store.slots[handle as usize].packed;
        if let Some(((encoding, _), price)) = signals_price.zip(scheduler.price())
            && packed.carries_prices()
        {
            packed.set_payload(encoding.write(packed.payload(), price, || rng.unit()));
        }
    }

    /// Drops the ACK that `newest`, which has just arrived, makes superfluous, if the scheduler filters ACKs and it still
    /// waits.
    #[cold]
    pub fn filter_acks(
        &mut self,
        newest: &PackedPacket,
        owner: Owner,
        options: &OptionStore,
        now: Time,
        probe: &mut LinkProbe,
    ) {
        let Station { scheduler, packet_store, lost, .. } = self;
        let Some(filter) = scheduler.ack_filter() else { return };
        let Some(handle) = packet_store.last_put else { return };
        let (dscp, to_user) = dscp_and_end(newest, owner);
        let mut dropped = None;
        {
            let ack_of = |handle: u32| ack(&packet_store.get(handle).packed, options);
            let newest = (handle, owner.user, newest.flow(), dscp, to_user);
            filter.filter_acks(newest, ack_of, |packet, reason| dropped = Some((packet, reason)));
        }
        if let Some((packet, reason)) = dropped {
            let slot = packet_store.take(packet.handle);
            probe.on_refusal(reason, slot.group, now.since(slot.arrived), packet.bytes());
            lost.push(slot.packed);
        }
    }

    /// Whether the scheduler filters ACKs.
    pub fn filters_acks(&mut self) -> bool {
        self.scheduler.ack_filter().is_some()
    }

    /// Starts the transmission of the next packet, if any. Returns its end, or the time at which a shaper lets it go.
    pub fn begin(
        &mut self,
        now: Time,
        accepted: &mut Accepted,
        probe: &mut LinkProbe,
        transmission: impl FnOnce(u16) -> Transmission,
    ) -> Option<Time> {
        if self.outside.is_some() {
            return None;
        }
        let Station { scheduler, rng, packet_store, lost, .. } = self;
        let lose = |packet: Queued, reason| {
            let slot = packet_store.take(packet.handle);
            probe.on_refusal(reason, slot.group, now.since(slot.arrived), packet.bytes());
            lost.push(slot.packed);
        };
        let Some(next) = scheduler.dequeue(now, || rng.unit(), lose) else {
            return scheduler.next_at();
        };
        let Queued { handle, marked, .. } = next;
        if let Some((_, Moment::Departure)) = self.signals_price {
            self.signal_price(handle);
        }
        let Station { packet_store, .. } = self;
        let len = next.len as u16;
        let Transmission { ends: departs, sending } = transmission(len);
        accepted.add(next.bytes());
        if let Some(monitor) = &mut probe.monitor {
            // Packets of real hosts may arrive some microseconds late in a network that is ahead.
            let sojourn = departs.since(next.arrived);
            monitor.on_accepted(packet_store.get(handle).group, next.bytes(), sojourn, sending);
        }
        self.sending = Some(Sending { handle, len, departs, marked });
        Some(departs)
    }

    /// Completes the transmission in progress; `None` if there is none, after a shaper's pause.
    #[inline]
    pub fn end(&mut self) -> Option<Served> {
        let Sending { handle, departs, marked, .. } = self.sending.take()?;
        self.idle_since = departs;
        let &Slot { mut packed, group, .. } = self.packet_store.take(handle);
        if marked {
            packed.mark();
        }
        Some(Served { packed, group, marked })
    }

    #[cold]
    fn arrive_outside(
        &mut self,
        packed: PackedPacket,
        group: u16,
        now: Time,
        probe: &mut LinkProbe,
    ) {
        let handle = self.packet_store.put(packed, group, now);
        let Some(outside) = &mut self.outside else { return };
        outside.arrived.push_back(handle);
        outside.packets += 1;
        outside.bytes += u64::from(packed.len());
        if let Some(monitor) = &mut probe.monitor {
            monitor.most_bytes = monitor.most_bytes.max(outside.bytes);
        }
    }

    /// Takes the next packet for an external queue, with its handle.
    pub fn take_arrived(&mut self) -> Option<(u32, PackedPacket)> {
        let handle = self.outside.as_mut()?.arrived.pop_front()?;
        Some((handle, self.packet_store.get(handle).packed))
    }

    /// A queue outside has let a packet go, whose transmission takes so long. Returns when it has left the link, too.
    pub fn leave(
        &mut self,
        handle: u32,
        marked: bool,
        (now, release): (Time, Release),
        transmission: Span,
        probe: &mut LinkProbe,
    ) -> (Served, Time) {
        let &Slot { mut packed, arrived, group, .. } = self.take_outside(handle);
        let (len, mut departs) = (packed.len(), now);
        if let Some(outside) = self.outside.as_mut().filter(|_| release == Release::Begin) {
            // A queue that was woken late makes up for it: the transmitter may still be at the one before.
            let free = outside.sending.map_or(now, |before| now.max(before.departs));
            departs = free + transmission;
            outside.sending = Some(Released { group, len, departs });
        }
        if let Some(monitor) = &mut probe.monitor {
            monitor.on_accepted(group, u64::from(len), departs.since(arrived), transmission);
        }
        if marked {
            packed.mark();
        }
        (Served { packed, group, marked }, departs)
    }

    /// Handles a packet that an external queue has dropped.
    pub fn lose(&mut self, handle: u32, reason: DropReason, now: Time, probe: &mut LinkProbe) {
        let &Slot { packed, arrived, group, .. } = self.take_outside(handle);
        probe.on_refusal(reason, group, now.since(arrived), u64::from(packed.len()));
        self.lost.push(packed);
    }

    /// Returns the length of a packet in the station, bytes.
    pub fn len_of(&self, handle: u32) -> u16 {
        self.packet_store.get(handle).packed.len()
    }

    fn take_outside(&mut self, handle: u32) -> &Slot {
        let slot = self.packet_store.take(handle);
        if let Some(outside) = &mut self.outside {
            outside.packets -= 1;
            outside.bytes -= u64::from(slot.packed.len());
        }
        slot
    }

    /// Returns the number of packets in the station.
    pub fn len(&self) -> u64 {
        self.packet_store.len() as u64
    }

    /// Returns the price of the queue, if it has one.
    pub fn price(&self) -> Option<f64> {
        self.scheduler.price()
    }

    /// Returns the packets and bytes waiting or in transmission.
    pub fn backlog(&self) -> (u32, u64) {
        if let Some(outside) = &self.outside {
            return (outside.packets, outside.bytes);
        }
        let (packets, bytes) = self.scheduler.backlog();
        let sending = self.sending.map_or(0, |sending| u64::from(sending.len));
        (packets + u32::from(sending > 0), bytes + sending)
    }

    /// Returns the queueing time of the present packets that is not in the integral of the backlog yet: packet-ns and
    /// byte-ns.
    pub fn time_so_far(&self, now: Time) -> [u128; 2] {
        let mut sums = [0; 2];
        let sending = self.sending.map(|sending| sending.handle);
        for (handle, slot) in self.packet_store.slots.iter().enumerate() {
            if !slot.taken || sending == Some(handle as u32) {
                continue;
            }
            let waited = u128::from(now.since(slot.arrived).as_nanos());
            sums[0] += waited;
            sums[1] += waited * u128::from(slot.packed.len());
        }
        sums
    }

    /// Returns the group, length and departure time of the packet in transmission, if any.
    pub fn in_transmission(&self) -> Option<(u16, u16, Time)> {
        if let Some(outside) = &self.outside {
            return outside.sending.map(|Released { group, len, departs }| (group, len, departs));
        }
        let Sending { handle, len, departs, .. } = self.sending?;
        Some((self.packet_store.get(handle).group, len, departs))
    }

    /// Returns the time of the packet in transmission that was counted in advance: packet-ns and byte-ns.
    pub fn remaining_time(&self, now: Time) -> [u128; 2] {
        let Some((_, len, departs)) = self.in_transmission() else { return [0; 2] };
        let rest = u128::from(departs.since(now).as_nanos());
        [rest, rest * u128::from(len)]
    }

    /// Returns the state of the mechanism, bytes.
    pub fn state_bytes(&self) -> usize {
        self.scheduler.state_bytes()
    }
}
