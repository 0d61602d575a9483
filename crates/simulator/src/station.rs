//! A queue whose departures are events: for mechanisms that must see packets leave, or that serve
//! them in another order than they came.
//!
//! The [`Link`](crate::link::Link) around it has the rate, the delay and the pipe. What is here is what
//! waits, and the packet in transmission.

use tidegate_mechanisms::bottleneck::Loss;
use tidegate_mechanisms::bottleneck::scheduler::{Line, Queued, Scheduler};
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::LinkPlan;

use crate::build;
use crate::link::{Drop, Owner};
use crate::packet::{Packet, flags};
use crate::probe::LinkProbe;
use crate::random::Stream;

/// What waits in front of a transmitter, and what it sends.
pub struct Station {
    scheduler: Scheduler,
    rng: Stream,
    ecn: bool,
    ecn_marks_all: bool,
    /// Packets here, by handle.
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    sending: Option<Sending>,
    /// When the transmitter was last done.
    idle_since: Time,
    /// Packets lost since they were last taken.
    pub lost: Vec<Packet>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    packet: Packet,
    group: u16,
    taken: bool,
    arrived: Time,
}

/// A packet in transmission.
#[derive(Clone, Copy)]
pub struct Sending {
    /// The packet, with its mark.
    pub packet: Packet,
    /// Index of its owner's group.
    pub group: u16,
    departs: Time,
    /// It was marked here.
    pub marked: bool,
}

impl From<Loss> for Drop {
    fn from(loss: Loss) -> Drop {
        match loss {
            Loss::Full => Drop::Full,
            Loss::Aqm => Drop::Aqm,
            Loss::Policer => Drop::Policer,
        }
    }
}

impl Station {
    /// The station of a link as planned, if it needs one; `number` names its random stream.
    pub fn new(plan: &LinkPlan, number: usize, seed: u64) -> Option<Box<Self>> {
        build::scheduler(plan).map(|scheduler| Station::holding(scheduler, plan, number, seed))
    }

    /// A station with this scheduler.
    pub fn holding(scheduler: Scheduler, plan: &LinkPlan, number: usize, seed: u64) -> Box<Self> {
        Box::new(Station {
            scheduler,
            rng: Stream::new(seed, &format!("link/{number}/aqm")),
            ecn: plan.ecn,
            ecn_marks_all: plan.ecn_marks_all,
            slots: Vec::new(),
            vacant: Vec::new(),
            sending: None,
            idle_since: Time::ZERO,
            lost: Vec::new(),
        })
    }

    /// Whether the transmitter has nothing to send.
    pub const fn is_idle(&self) -> bool {
        self.sending.is_none()
    }

    /// A packet arrives at `now`. What is lost for it is in `lost` afterwards.
    pub fn arrive(&mut self, packet: Packet, owner: Owner, now: Time, probe: &mut LinkProbe) {
        let carries_activity = !packet.has(flags::ACK);
        let activity = if carries_activity { f32::from_bits(packet.extra) } else { 0.0 };
        probe.on_activity(owner.group, activity);
        let queued = Queued {
            handle: self.keep(packet, owner.group, now),
            len: packet.len.into(),
            user: owner.user,
            flow: packet.flow,
            activity,
            may_mark: self.ecn && (self.ecn_marks_all || packet.has(flags::ECT)),
            scalable: owner.scalable,
            marked: false,
            arrived: now,
        };
        let line = Line {
            now,
            idle: if self.is_idle() { now.since(self.idle_since) } else { Span::ZERO },
            in_transmission: self
                .sending
                .map_or(Bytes::ZERO, |sending| Bytes::new(u64::from(sending.packet.len))),
        };
        let Station { scheduler, rng, slots, vacant, lost, .. } = self;
        let lose = |packet: Queued, loss| {
            let slot = release(slots, vacant, packet.handle);
            probe.on_refusal(loss, slot.group, now.since(slot.arrived), packet.bytes());
            lost.push(slot.packet);
        };
        scheduler.enqueue(queued, &line, || rng.unit(), lose);
    }

    /// The transmitter is free: takes the next packet, if any, which is sent for as long as
    /// `transmission` says. Returns when it will have left.
    pub fn begin(
        &mut self,
        now: Time,
        probe: &mut LinkProbe,
        transmission: impl FnOnce(u16) -> Span,
    ) -> Option<Time> {
        let Station { scheduler, rng, slots, vacant, lost, .. } = self;
        let lose = |packet: Queued, loss| {
            let slot = release(slots, vacant, packet.handle);
            probe.on_refusal(loss, slot.group, now.since(slot.arrived), packet.bytes());
            lost.push(slot.packet);
        };
        let next = scheduler.dequeue(now, || rng.unit(), lose)?;
        let Slot { mut packet, group, arrived, .. } = release(slots, vacant, next.handle);
        if next.marked {
            packet.flags |= flags::CE;
        }
        let transmission = transmission(packet.len);
        let departs = now + transmission;
        let bytes = next.bytes();
        probe.on_accepted(bytes);
        if let Some(monitor) = &mut probe.monitor {
            // Real hosts' packets may come some microseconds late into a network that is ahead.
            monitor.on_accepted(group, bytes, departs.since(arrived), transmission);
        }
        self.sending = Some(Sending { packet, group, departs, marked: next.marked });
        Some(departs)
    }

    /// The packet in transmission has left.
    ///
    /// # Panics
    /// If there is none.
    pub fn end(&mut self) -> Sending {
        let sending = self.sending.take().expect("something was sent");
        self.idle_since = sending.departs;
        sending
    }

    fn keep(&mut self, packet: Packet, group: u16, arrived: Time) -> u32 {
        let slot = Slot { packet, group, taken: true, arrived };
        if let Some(handle) = self.vacant.pop() {
            self.slots[handle as usize] = slot;
            return handle;
        }
        self.slots.push(slot);
        (self.slots.len() - 1) as u32
    }

    /// Packets here.
    pub fn len(&self) -> u64 {
        (self.slots.len() - self.vacant.len()) as u64 + u64::from(self.sending.is_some())
    }

    /// Packets and bytes waiting or in transmission.
    pub fn backlog(&self) -> (u32, u64) {
        let (packets, bytes) = self.scheduler.backlog();
        let sending = self.sending.map_or(0, |sending| u64::from(sending.packet.len));
        (packets + u32::from(sending > 0), bytes + sending)
    }

    /// What the packets here have added to the integral of the backlog and it has not been told
    /// yet: packet-ns and byte-ns.
    pub fn time_so_far(&self, now: Time) -> [u128; 2] {
        let mut sums = [0; 2];
        for slot in self.slots.iter().filter(|slot| slot.taken) {
            let waited = u128::from(now.since(slot.arrived).as_nanos());
            sums[0] += waited;
            sums[1] += waited * u128::from(slot.packet.len);
        }
        sums
    }

    /// What the packet in transmission was counted for in advance: packet-ns, byte-ns, and ns of
    /// transmission.
    pub fn time_to_come(&self, now: Time) -> [u128; 3] {
        let Some(sending) = self.sending else { return [0; 3] };
        let rest = u128::from(sending.departs.since(now).as_nanos());
        [rest, rest * u128::from(sending.packet.len), rest]
    }

    /// Bytes that the mechanism remembers.
    pub fn state_bytes(&self) -> usize {
        self.scheduler.state_bytes()
    }
}

/// Takes a packet out of its slot.
fn release(slots: &mut [Slot], vacant: &mut Vec<u32>, handle: u32) -> Slot {
    vacant.push(handle);
    core::mem::take(&mut slots[handle as usize])
}
