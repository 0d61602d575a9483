//! One queue behind CoDel.

use super::{Line, Queue, Queued, Room};
use crate::bottleneck::{Codel, CodelParams, Head, Loss};
use crate::units::{Bytes, Time};

/// First come, first served, with CoDel at the exit.
#[derive(Clone, Debug)]
pub struct CodelQueue {
    queue: Queue,
    codel: Codel,
    params: CodelParams,
    room: Room,
}

impl CodelQueue {
    /// An empty queue. What the parameters call the largest packet is where it starts from; larger
    /// ones are remembered when they come, as in the pseudo-code of RFC 8289.
    pub fn new(params: CodelParams, room: Room) -> Self {
        CodelQueue { queue: Queue::default(), codel: Codel::new(), params, room }
    }

    /// A packet arrives.
    #[inline]
    pub fn enqueue(
        &mut self,
        packet: Queued,
        line: &Line,
        _draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, Loss),
    ) {
        if !self.room.fits(self.backlog(), line, 1, packet.bytes()) {
            return lose(packet, Loss::Full);
        }
        self.params.max_packet = self.params.max_packet.max(Bytes::new(packet.bytes()));
        self.queue.push(packet);
    }

    /// The packet that leaves now.
    #[inline]
    pub fn dequeue(
        &mut self,
        now: Time,
        _draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, Loss),
    ) -> Option<Queued> {
        let CodelQueue { queue, codel, params, .. } = self;
        let pop = || {
            let packet = queue.pop()?;
            let sojourn = now.since(packet.arrived);
            Some(Head { packet, sojourn, backlog_bytes: queue.bytes() })
        };
        codel.dequeue(params, now, pop, mark_or(lose))
    }

    /// Packets and bytes that wait.
    #[inline]
    pub fn backlog(&self) -> (u32, u64) {
        (self.queue.len(), self.queue.bytes())
    }

    /// Bytes of memory, packets apart.
    pub const fn state_bytes(&self) -> usize {
        size_of::<Codel>()
    }
}

/// What a signal does to a packet: it is marked and goes if that will do, else it is lost.
#[inline]
pub(super) fn mark_or(mut lose: impl FnMut(Queued, Loss)) -> impl FnMut(Queued) -> Option<Queued> {
    move |packet| {
        if packet.may_mark {
            return Some(Queued { marked: true, ..packet });
        }
        lose(packet, Loss::Aqm);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IDLE, packet};
    use super::*;
    use crate::units::Span;

    fn queue(packets: u32) -> CodelQueue {
        let params = CodelParams::new(Bytes::ZERO);
        CodelQueue::new(params, Room { packets, bytes: u64::MAX })
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A queue of 50 packets that came at once, and one more leaves every 10 ms: above the target from
    /// 10 ms on, hence the first signal at 110 ms and the second 100 ms later, then 71 ms.
    fn handles_signalled(may_mark: bool) -> (Vec<u32>, Vec<u32>) {
        let mut queue = queue(100);
        for handle in 0..50 {
            let packet = Queued { may_mark, ..packet(handle) };
            queue.enqueue(packet, &IDLE, || 0.0, |_, loss| panic!("lost: {loss:?}"));
        }
        let (mut lost, mut marked) = (Vec::new(), Vec::new());
        for step in 1..=30 {
            let sent = queue.dequeue(
                at(10 * step),
                || 0.0,
                |packet, loss| {
                    assert_eq!(loss, Loss::Aqm);
                    lost.push(packet.handle);
                },
            );
            marked.extend(sent.filter(|packet| packet.marked).map(|packet| packet.handle));
        }
        (lost, marked)
    }

    #[test]
    fn what_may_be_marked_is_marked_and_goes_and_the_rest_is_dropped() {
        // The 11th departure at 110 ms, the 21st at 210 ms, the 29th at 290 ms (due at 281); a drop
        // lets the next one go, so that the numbers move on by one.
        assert_eq!(handles_signalled(true), (vec![], vec![10, 20, 28]));
        assert_eq!(handles_signalled(false), (vec![10, 21, 30], vec![]));
    }

    #[test]
    fn a_full_buffer_refuses_the_packet_that_arrives() {
        let mut queue = queue(2);
        let mut lost = Vec::new();
        for handle in 0..3 {
            queue.enqueue(
                packet(handle),
                &IDLE,
                || 0.0,
                |packet, loss| lost.push((packet.handle, loss)),
            );
        }
        assert_eq!(lost, [(2, Loss::Full)]);
        assert_eq!(queue.backlog(), (2, 3000));
    }

    /// One packet behind the first is not more than the largest packet; two are.
    #[test]
    fn the_largest_packet_seen_is_what_may_always_wait() {
        for (waiting, lost_at_last) in [(2, 0), (3, 1)] {
            let (mut queue, mut lost, mut handle) = (queue(100), 0, 0);
            for step in 0..20 {
                // The packets have waited for 50 ms when the first of them leaves.
                for _ in queue.backlog().0..waiting {
                    let arrived = at(50 * step);
                    let line = Line { now: arrived, ..IDLE };
                    queue.enqueue(Queued { arrived, ..packet(handle) }, &line, || 0.0, |_, _| {});
                    handle += 1;
                }
                queue.dequeue(at(50 * step + 50), || 0.0, |_, _| lost += 1);
            }
            assert_eq!(lost > 0, lost_at_last > 0, "{waiting} waiting: {lost} lost");
        }
    }
}
