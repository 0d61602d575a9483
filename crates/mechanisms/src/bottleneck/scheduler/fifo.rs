//! FIFO with an AQM that needs departures.

use super::queue::mark_or_pass;
use super::{Capacity, Queue, Queued, TransmitterState};
use crate::bottleneck::{Arrival, DropReason, Head, Judge, Verdict};
use crate::units::{Bytes, Time};

/// A queue with its judge.
#[derive(Clone, Debug)]
pub struct Fifo {
    queue: Queue,
    judge: Judge,
    capacity: Capacity,
}

impl Fifo {
    /// Returns an empty queue.
    pub fn new(judge: Judge, capacity: Capacity) -> Self {
        Fifo { queue: Queue::default(), judge, capacity }
    }

    /// Handles an arriving packet.
    #[inline]
    pub fn enqueue(
        &mut self,
        mut packet: Queued,
        line: &TransmitterState,
        draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        let backlog @ (backlog_packets, backlog_bytes) = self.backlog();
        self.judge.aqm.catch_up(line.now, |_| backlog);
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
        if !self.capacity.fits(backlog, line, 1, packet.bytes()) {
            self.judge.on_overflow(packet.user, line.now, len);
            return lose(packet, DropReason::Full);
        }
        self.queue.push(packet);
    }

    /// Returns the packet that leaves now.
    #[inline]
    pub fn dequeue(
        &mut self,
        now: Time,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        let backlog = self.backlog();
        let Fifo { queue, judge, .. } = self;
        judge.aqm.catch_up(now, |_| backlog);
        let pop = || {
            let packet = queue.pop()?;
            let (backlog_packets, backlog_bytes) = (queue.len(), queue.bytes());
            let sojourn = now.since(packet.arrived);
            Some(Head { packet, sojourn, backlog_packets, backlog_bytes })
        };
        let prices = judge.aqm.asks_price();
        judge.aqm.dequeue(now, draw, pop, mark_or_pass(prices, lose))
    }

    /// Returns the packets and bytes waiting.
    #[inline]
    pub fn backlog(&self) -> (u32, u64) {
        (self.queue.len(), self.queue.bytes())
    }

    /// Returns the price of the judge, if it has one.
    #[inline]
    pub fn price(&self) -> Option<f64> {
        self.judge.price()
    }

    /// Returns the size of the judge's state, bytes.
    pub fn state_bytes(&self) -> usize {
        self.judge.state_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IDLE, packet, place};
    use super::*;
    use crate::bottleneck::{Aqm, AqmParams, CodelParams, Differentiation};
    use crate::units::Span;

    /// Returns a CoDel queue with a number of packets.
    fn queue(packets: u32) -> Fifo {
        let params = CodelParams {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            linux_arithmetic: false,
        };
        let place = place(packets);
        let aqm = Aqm::new(AqmParams::Codel(params), &place).expect("fits anywhere");
        Fifo::new(Judge { aqm, differentiation: Differentiation::None }, place.capacity)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A queue of 50 packets that arrived at once, one of which leaves every 10 ms: above the target from 10 ms on,
    /// hence the first signal at 110 ms and the second 100 ms later, then 71 ms.
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
                    assert_eq!(loss, DropReason::Aqm);
                    lost.push(packet.handle);
                },
            );
            marked.extend(sent.filter(|packet| packet.marked).map(|packet| packet.handle));
        }
        (lost, marked)
    }

    #[test]
    fn what_may_be_marked_is_marked_and_goes_and_the_rest_is_dropped() {
        // The 11th departure at 110 ms, the 21st at 210 ms, the 29th at 290 ms (due at 281); a drop sends the next
        // packet, so that the numbers advance by one.
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
        assert_eq!(lost, [(2, DropReason::Full)]);
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
                    let line = TransmitterState { now: arrived, ..IDLE };
                    queue.enqueue(Queued { arrived, ..packet(handle) }, &line, || 0.0, |_, _| {});
                    handle += 1;
                }
                queue.dequeue(at(50 * step + 50), || 0.0, |_, _| lost += 1);
            }
            assert_eq!(lost > 0, lost_at_last > 0, "{waiting} waiting: {lost} lost");
        }
    }
}
