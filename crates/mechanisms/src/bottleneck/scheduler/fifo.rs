//! First come, first served, behind an AQM that must see departures.

use super::{Line, Queue, Queued, Room};
use crate::bottleneck::{Arrival, Judge, Loss, Verdict};
use crate::units::{Bytes, Time};

/// One queue and its judge.
#[derive(Clone, Debug)]
pub struct Fifo {
    queue: Queue,
    judge: Judge,
    room: Room,
}

impl Fifo {
    /// An empty queue.
    pub fn new(judge: Judge, room: Room) -> Self {
        Fifo { queue: Queue::default(), judge, room }
    }

    /// A packet arrives.
    #[inline]
    pub fn enqueue(
        &mut self,
        mut packet: Queued,
        line: &Line,
        draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, Loss),
    ) {
        let (backlog_packets, backlog_bytes) = self.backlog();
        let len = Bytes::new(packet.bytes());
        let arrival = Arrival {
            now: line.now,
            len,
            activity: packet.activity,
            user: packet.user,
            backlog_packets,
            backlog_bytes,
            idle: line.idle,
        };
        match self.judge.signal(&arrival, draw).verdict(packet.may_mark) {
            Verdict::Pass => {}
            Verdict::Mark => packet.marked = true,
            Verdict::Drop(loss) => return lose(packet, loss),
        }
        if !self.room.fits((backlog_packets, backlog_bytes), line, 1, packet.bytes()) {
            self.judge.on_overflow(packet.user, line.now, len);
            return lose(packet, Loss::Full);
        }
        self.queue.push(packet);
    }

    /// The packet that leaves now.
    #[inline]
    pub fn dequeue(
        &mut self,
        now: Time,
        _draw: impl FnMut() -> f64,
        _lose: impl FnMut(Queued, Loss),
    ) -> Option<Queued> {
        let packet = self.queue.pop()?;
        self.judge.on_departure(now, now.since(packet.arrived), self.queue.len());
        Some(packet)
    }

    /// Packets and bytes that wait.
    #[inline]
    pub fn backlog(&self) -> (u32, u64) {
        (self.queue.len(), self.queue.bytes())
    }

    /// Bytes that the judge remembers.
    pub fn state_bytes(&self) -> usize {
        self.judge.state_bytes()
    }
}
