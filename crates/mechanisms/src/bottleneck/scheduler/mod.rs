//! Which packet leaves next, and which is lost: queues that must see departures.
//!
//! A [`Scheduler`] holds the packets in front of a transmitter. It is asked twice for each packet:
//! when it arrives ([`Scheduler::enqueue`]) and when the transmitter is free
//! ([`Scheduler::dequeue`]). Between the two it may lose it, or another one in its place, and says
//! so. It knows packets by a handle and by what a router can see of them.
//!
//! Periodic work needs no clock: what a mechanism computes every so often depends on nothing but
//! what arrived and left, so it catches up with its periods at the next packet.

mod codel_queue;
pub mod drr;
mod fifo;
mod queue;
pub mod rfc6057;

pub use codel_queue::CodelQueue;
pub use drr::{Drr, DrrParams};
pub use fifo::Fifo;
pub use queue::Queue;
pub use rfc6057::{Rfc6057, Rfc6057Params};

use super::{Judge, Loss};
use crate::units::{Bytes, Span, Time};

/// A packet in front of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queued {
    /// What its owner knows it by.
    pub handle: u32,
    /// Bytes on the wire.
    pub len: u32,
    /// Number of the customer whose packet it is, counted from 0.
    pub user: u32,
    /// Number of its flow, counted from 0; an acknowledgement has the number of its flow's data.
    pub flow: u32,
    /// Activity that it carries; 0 if it carries none.
    pub activity: f32,
    /// A mark will do where it would be dropped otherwise.
    pub may_mark: bool,
    /// Its sender answers marks in proportion (L4S, RFC 9331).
    pub scalable: bool,
    /// It has been marked here.
    pub marked: bool,
    /// When it arrived.
    pub arrived: Time,
}

impl Queued {
    /// Its size.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.len as u64
    }
}

/// How many packets, and how many bytes, may wait; the packet in transmission counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
}

/// The transmitter as a packet arrives.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The present.
    pub now: Time,
    /// How long it has had nothing to send; zero if it is sending.
    pub idle: Span,
    /// Size of the packet in transmission; zero if there is none.
    pub in_transmission: Bytes,
}

impl Room {
    /// Whether `bytes` more, in `packets`, fit beside what waits and what is in transmission.
    #[inline]
    pub fn fits(&self, queue: (u32, u64), line: &Line, packets: u32, bytes: u64) -> bool {
        let sending = line.in_transmission.get();
        queue.0 + u32::from(sending > 0) + packets <= self.packets
            && queue.1 + sending + bytes <= self.bytes
    }
}

/// The packets in front of a transmitter, in whatever order they are served.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// First come, first served; an AQM and a differentiation judge arrivals.
    Fifo(Fifo),
    /// First come, first served, with CoDel at the exit.
    Codel(CodelQueue),
    /// Deficit round robin over customers.
    Drr(Drr),
    /// Two classes, the heavier users of a busy port in the lower.
    Rfc6057(Rfc6057),
}

impl Scheduler {
    /// First come, first served.
    pub fn fifo(judge: Judge, room: Room) -> Self {
        Scheduler::Fifo(Fifo::new(judge, room))
    }

    /// A packet arrives. `draw` gives a random number in [0, 1); `lose` takes what is lost, be it
    /// this packet or another.
    #[inline]
    pub fn enqueue(
        &mut self,
        packet: Queued,
        line: &Line,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, Loss),
    ) {
        match self {
            Scheduler::Fifo(fifo) => fifo.enqueue(packet, line, draw, lose),
            Scheduler::Codel(codel) => codel.enqueue(packet, line, lose),
            Scheduler::Drr(drr) => drr.enqueue(packet, line, lose),
            Scheduler::Rfc6057(policy) => policy.enqueue(packet, line, lose),
        }
    }

    /// The transmitter is free: the packet that it sends now, marked or not; `None` when nothing
    /// waits.
    #[inline]
    pub fn dequeue(
        &mut self,
        now: Time,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, Loss),
    ) -> Option<Queued> {
        let _ = draw;
        match self {
            Scheduler::Fifo(fifo) => fifo.dequeue(now),
            Scheduler::Codel(codel) => codel.dequeue(now, lose),
            Scheduler::Drr(drr) => drr.dequeue(),
            Scheduler::Rfc6057(policy) => policy.dequeue(now),
        }
    }

    /// Packets and bytes that wait.
    #[inline]
    pub fn backlog(&self) -> (u32, u64) {
        match self {
            Scheduler::Fifo(fifo) => fifo.backlog(),
            Scheduler::Codel(codel) => codel.backlog(),
            Scheduler::Drr(drr) => drr.backlog(),
            Scheduler::Rfc6057(policy) => policy.backlog(),
        }
    }

    /// Bytes of memory that it keeps beside the packets themselves.
    pub fn state_bytes(&self) -> usize {
        match self {
            Scheduler::Fifo(fifo) => fifo.judge().state_bytes(),
            Scheduler::Codel(codel) => codel.state_bytes(),
            Scheduler::Drr(drr) => drr.state_bytes(),
            Scheduler::Rfc6057(policy) => policy.state_bytes(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A transmitter that sends nothing.
    pub(crate) const IDLE: Line =
        Line { now: Time::ZERO, idle: Span::ZERO, in_transmission: Bytes::ZERO };

    /// A full packet of the first customer.
    pub(crate) fn packet(handle: u32) -> Queued {
        Queued {
            handle,
            len: 1500,
            user: 0,
            flow: 0,
            activity: 0.0,
            may_mark: false,
            scalable: false,
            marked: false,
            arrived: Time::ZERO,
        }
    }

    #[test]
    fn the_packet_in_transmission_takes_room() {
        let room = Room { packets: 2, bytes: 3000 };
        let sending = Line { in_transmission: Bytes::new(1500), ..IDLE };
        assert!(room.fits((1, 1500), &IDLE, 1, 1500));
        assert!(room.fits((0, 0), &sending, 1, 1500));
        assert!(!room.fits((1, 100), &sending, 1, 100), "three packets");
        assert!(!room.fits((0, 0), &sending, 1, 1501), "3001 bytes");
    }
}
