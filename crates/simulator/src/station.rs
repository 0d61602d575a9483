//! A queue whose departures are events: for mechanisms that must see packets leave, or that serve
//! them in another order than they came.
//!
//! The [`Link`](crate::link::Link) around it has the rate, the delay and the pipe. What is here is what
//! waits, and the packet in transmission.

use std::collections::VecDeque;

use tidegate_mechanisms::bottleneck::scheduler::{Queued, Scheduler, TransmitterState};
use tidegate_mechanisms::bottleneck::{DropReason, Moment};
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::LinkPlan;

use crate::build;
use crate::owner::Owner;
use crate::packet::{PackedPacket, flags};
use crate::probe::{Accepted, LinkProbe};
use crate::random::Stream;
use crate::transmission::Transmission;

/// What waits in front of a transmitter, and what it sends.
pub struct Station {
    scheduler: Scheduler,
    rng: Stream,
    ecn: bool,
    ecn_marks_all: bool,
    /// How and when packets learn of its price, if they carry it.
    signals_price: Option<(Encoding, Moment)>,
    /// The packets here, by handle: each is put down once, and taken when it has left.
    packet_store: Slots,
    sending: Option<Sending>,
    /// When the transmitter was last done.
    idle_since: Time,
    /// Packets lost since they were last taken.
    pub lost: Vec<PackedPacket>,
    /// The queue, where it is not here.
    outside: Option<Box<Outside>>,
}

/// What is known of a queue outside, which decides and serves.
#[derive(Default)]
struct Outside {
    /// Packets that have come and that it has not been given yet, by handle.
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

/// A packet that has left a station.
#[derive(Clone, Copy)]
pub struct Served {
    /// The packet, with its mark.
    pub packed: PackedPacket,
    /// Index of its owner's group.
    pub group: u16,
    /// It was marked here.
    pub marked: bool,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
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
        if let Some(handle) = self.vacant.pop() {
            self.slots[handle as usize] = slot;
            return handle;
        }
        self.slots.push(slot);
        (self.slots.len() - 1) as u32
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

impl Station {
    /// The station of a link as planned, if it needs one.
    pub fn new(plan: &LinkPlan, seed: u64) -> Option<Box<Self>> {
        let mut station = Station::holding(build::scheduler(plan)?, plan, seed);
        station.outside = plan.kernel_qdisc.as_ref().map(|_| Box::default());
        Some(station)
    }

    /// A station with this scheduler.
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

    /// Whether the transmitter has nothing to send.
    pub const fn is_idle(&self) -> bool {
        self.sending.is_none()
    }

    /// A packet arrives at `now`. What is lost for it is in `lost` afterwards.
    pub fn arrive(&mut self, packed: PackedPacket, owner: Owner, now: Time, probe: &mut LinkProbe) {
        let activity = if self.signals_price.is_some() { 0.0 } else { packed.activity() };
        probe.on_activity(owner.group, activity);
        if self.outside.is_some() {
            self.arrive_outside(packed, owner.group, now, probe);
            return;
        }
        let queued = Queued {
            handle: self.packet_store.put(packed, owner.group, now),
            len: packed.len().into(),
            user: owner.user,
            flow: packed.flow(),
            activity,
            may_mark: self.ecn && (self.ecn_marks_all || packed.has(flags::ECT)),
            scalable: owner.scalable,
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

    /// Writes the queue's price into a packet that carries prices. The payload word of an acknowledgement is the
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

    /// The transmitter is free: takes the next packet, if any, whose `transmission` begins. Returns when it will
    /// have left.
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
        let next = scheduler.dequeue(now, || rng.unit(), lose)?;
        let Queued { handle, marked, .. } = next;
        if let Some((_, Moment::Departure)) = self.signals_price {
            self.signal_price(handle);
        }
        let Station { packet_store, .. } = self;
        let len = next.len as u16;
        let Transmission { ends: departs, sending } = transmission(len);
        accepted.add(next.bytes());
        if let Some(monitor) = &mut probe.monitor {
            // Real hosts' packets may come some microseconds late into a network that is ahead.
            let sojourn = departs.since(next.arrived);
            monitor.on_accepted(packet_store.get(handle).group, next.bytes(), sojourn, sending);
        }
        self.sending = Some(Sending { handle, len, departs, marked });
        Some(departs)
    }

    /// The packet in transmission has left.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn end(&mut self) -> Served {
        let Sending { handle, departs, marked, .. } =
            self.sending.take().expect("something was sent");
        self.idle_since = departs;
        let &Slot { mut packed, group, .. } = self.packet_store.take(handle);
        if marked {
            packed.mark();
        }
        Served { packed, group, marked }
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

    /// The next packet for a queue outside, with the handle under which that has it.
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

    /// A queue outside has dropped a packet.
    pub fn lose(&mut self, handle: u32, reason: DropReason, now: Time, probe: &mut LinkProbe) {
        let &Slot { packed, arrived, group, .. } = self.take_outside(handle);
        probe.on_refusal(reason, group, now.since(arrived), u64::from(packed.len()));
        self.lost.push(packed);
    }

    /// Bytes of a packet here.
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

    /// Packets here.
    pub fn len(&self) -> u64 {
        self.packet_store.len() as u64
    }

    /// The price that it asks, if it asks any.
    pub fn price(&self) -> Option<f64> {
        self.scheduler.price()
    }

    /// Packets and bytes waiting or in transmission.
    pub fn backlog(&self) -> (u32, u64) {
        if let Some(outside) = &self.outside {
            return (outside.packets, outside.bytes);
        }
        let (packets, bytes) = self.scheduler.backlog();
        let sending = self.sending.map_or(0, |sending| u64::from(sending.len));
        (packets + u32::from(sending > 0), bytes + sending)
    }

    /// What the packets here have added to the integral of the backlog and it has not been told
    /// yet: packet-ns and byte-ns.
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

    /// The packet in transmission, if there is one: its group, its length, and when it leaves.
    pub fn in_transmission(&self) -> Option<(u16, u16, Time)> {
        if let Some(outside) = &self.outside {
            return outside.sending.map(|Released { group, len, departs }| (group, len, departs));
        }
        let Sending { handle, len, departs, .. } = self.sending?;
        Some((self.packet_store.get(handle).group, len, departs))
    }

    /// What the packet in transmission was counted for in advance: packet-ns and byte-ns.
    pub fn remaining_time(&self, now: Time) -> [u128; 2] {
        let Some((_, len, departs)) = self.in_transmission() else { return [0; 2] };
        let rest = u128::from(departs.since(now).as_nanos());
        [rest, rest * u128::from(len)]
    }

    /// Bytes that the mechanism remembers.
    pub fn state_bytes(&self) -> usize {
        self.scheduler.state_bytes()
    }
}
