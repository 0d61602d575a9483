//! Deficit round robin (DRR) with a queue per customer, or per flow.
//! M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round-Robin", IEEE/ACM ToN
//! 4(3), 1996, sections III and IV.
//!
//! Customers with waiting packets take turns. A turn adds a quantum to the customer's deficit, and the customer sends
//! while the deficit lasts; the rest of it is kept for the next turn, unless the queue becomes empty:
//!
//! ```text
//! D_i ← D_i + w_i Q                   at the start of a turn of customer i, of weight w_i
//! send while size(head) ≤ D_i         D_i ← D_i − size
//! D_i ← 0                             when queue i is empty
//! ```
//!
//! Every backlogged customer thus gets the same share of bytes, to within a quantum and a packet; with weights
//! (`users.NAME.weight`) shares are in their ratio. All queues share one
//! buffer. When it is full, a packet of the longest queue (in bytes) makes room (section IV-A's buffer stealing, after
//! McKenney), so that only customers with long queues lose packets: the last packet, as in Linux's SFQ (its DRR has no
//! common buffer), or the first, as in ns-2's DRR. A quantum of at least the largest packet makes each step O(1);
//! finding the longest queue takes a pass over the customers with waiting packets, only when the buffer is full.
//!
//! Differs from the paper: queues are per customer, or per flow without a hash, so there are no collisions. With
//! `queues = "by-flow"` and a buffer of 127 packets it is Linux's SFQ without hash.

use std::collections::VecDeque;

use super::{About, Capacity, Discipline, Place, Queue, Queued, TransmitterState, Users};
use crate::bottleneck::DropReason;
use crate::parameters::ParameterError;
use crate::units::{Bytes, Time};
use crate::{parameters, words};

parameters! {
    /// Deficit round robin over customers with a shared buffer: drops are from the longest queue.
    pub struct DrrParams {
        /// Q: bytes that a customer may send per round.
        pub quantum: Bytes = "1500 B",
        /// Whose packets share a queue.
        pub queues: QueuesBy = "by-customer",
        /// Packet of the longest queue that is dropped.
        pub drop: DropFrom = { linux: "tail", classic: "head", linux_2_6_29: "tail" },
    }
    check quantum_is_something;
}

words! {
    /// Whose packets share a queue.
    pub enum QueuesBy {
        /// Those of a customer.
        Customer = "by-customer",
        /// Those of a flow.
        Flow = "by-flow",
    }
}

words! {
    /// An end of a queue.
    pub enum DropFrom {
        /// The packet that has waited longest, so that its sender detects the loss sooner.
        Head = "head",
        /// The packet that arrived last.
        Tail = "tail",
    }
}

fn quantum_is_something(params: &DrrParams) -> Option<ParameterError> {
    let nothing = params.quantum == Bytes::ZERO;
    nothing.then(|| ("quantum", "0 B would never let a packet go".to_owned()))
}

/// Queues of all customers.
#[derive(Clone, Debug)]
pub struct Drr {
    quantum: u64,
    /// Quantum of each queue with a weight; the others have `quantum`.
    weighted: Vec<u64>,
    queues: QueuesBy,
    drop: DropFrom,
    capacity: Capacity,
    by_user: Vec<Customer>,
    /// Customers with waiting packets; the first one is served.
    active: VecDeque<u32>,
    packets: u32,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Customer {
    queue: Queue,
    deficit: u64,
    /// Whether it has received its quantum in this turn.
    served: bool,
}

impl Discipline for Drr {
    type Params = DrrParams;

    const ABOUT: About = About {
        name: "drr",
        title: "Deficit round robin (DRR) per customer",
        source: "Shreedhar and Varghese, IEEE/ACM ToN 4(3), 1996",
        usage: r#"bottleneck.scheduler = { kind = "drr" }"#,
        file: "bottleneck/scheduler/drr.rs",
        text: crate::mechanism::source_text!("drr.rs"),
    };

    fn new(params: DrrParams, place: &Place) -> Self {
        let quantum = params.quantum.get();
        assert!(quantum > 0, "a turn is worth something");
        let (by_user, active) = (Vec::new(), VecDeque::new());
        let DrrParams { drop, queues, .. } = params;
        let weighted = Vec::new();
        let capacity = place.capacity;
        Drr { quantum, weighted, queues, drop, capacity, by_user, active, packets: 0, bytes: 0 }
    }

    fn know(&mut self, users: &Users) {
        let weights = match self.queues {
            QueuesBy::Customer => &users.weights,
            QueuesBy::Flow => &users.flow_weights,
        };
        if !users.are_equal() {
            let quantum = |weight: &f64| ((self.quantum as f64 * weight) as u64).max(1);
            self.weighted = weights.iter().map(quantum).collect();
        }
    }

    /// While there is no room, a packet of the longest queue is dropped.
    #[inline]
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        _draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        let queue = match self.queues {
            QueuesBy::Customer => packet.user,
            QueuesBy::Flow => packet.flow,
        };
        let index = queue as usize;
        if index >= self.by_user.len() {
            self.by_user.resize(index + 1, Customer::default());
        }
        if self.by_user[index].queue.is_empty() {
            self.active.push_back(queue);
        }
        self.packets += 1;
        self.bytes += packet.bytes();
        self.by_user[index].queue.push(packet);
        while !self.capacity.fits((self.packets, self.bytes), line, 0, 0) && self.packets > 0 {
            lose(self.steal(), DropReason::Full);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        _now: Time,
        _draw: impl FnMut() -> f64,
        _lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        loop {
            let user = *self.active.front()?;
            let customer = &mut self.by_user[user as usize];
            if !customer.served {
                customer.served = true;
                customer.deficit +=
                    self.weighted.get(user as usize).copied().unwrap_or(self.quantum);
            }
            let head = customer.queue.front().expect("an active customer has packets");
            if head.bytes() > customer.deficit {
                customer.served = false;
                self.active.rotate_left(1);
                continue;
            }
            let packet = customer.queue.pop().expect("just seen");
            customer.deficit -= packet.bytes();
            if customer.queue.is_empty() {
                (customer.deficit, customer.served) = (0, false);
                self.active.pop_front();
            }
            self.packets -= 1;
            self.bytes -= packet.bytes();
            return Some(packet);
        }
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Size of the state of customers seen so far.
    fn state_bytes(&self) -> usize {
        self.by_user.len() * (size_of::<Customer>() + size_of::<u32>())
    }
}

impl Drr {
    /// Takes the first or the last packet of the longest queue.
    #[cold]
    fn steal(&mut self) -> Queued {
        let longest = |place: &usize| self.by_user[self.active[*place] as usize].queue.bytes();
        // Of several longest, the one served most recently.
        let place = (0..self.active.len()).max_by_key(longest).expect("something waits");
        let customer = &mut self.by_user[self.active[place] as usize];
        let packet = match self.drop {
            DropFrom::Head => customer.queue.pop(),
            DropFrom::Tail => customer.queue.pop_last(),
        };
        let packet = packet.expect("an active customer has packets");
        if customer.queue.is_empty() {
            (customer.deficit, customer.served) = (0, false);
            self.active.remove(place);
        }
        self.packets -= 1;
        self.bytes -= packet.bytes();
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IDLE, packet, place, served, take};
    use super::*;
    use proptest::prelude::*;

    fn drr(quantum: u64, packets: u32) -> Drr {
        dropping(DropFrom::Tail, quantum, packets)
    }

    fn dropping(drop: DropFrom, quantum: u64, packets: u32) -> Drr {
        let (quantum, queues) = (Bytes::new(quantum), QueuesBy::Customer);
        Drr::new(DrrParams { quantum, queues, drop }, &place(packets))
    }

    fn offer(drr: &mut Drr, user: u32, len: u32, handle: u32) -> Vec<u32> {
        let mut lost = Vec::new();
        let never = || panic!("draws nothing");
        drr.enqueue(Queued { user, len, ..packet(handle) }, &IDLE, never, |packet, loss| {
            assert_eq!(loss, DropReason::Full);
            lost.push(packet.handle);
        });
        lost
    }

    /// Weights of 1, 2 and 0.5.
    #[test]
    fn shares_are_in_the_ratio_of_weights() {
        let mut drr = drr(1500, 100_000);
        let weights = vec![1.0, 2.0, 0.5];
        drr.know(&Users { flow_weights: weights.clone(), weights, ..Users::default() });
        for handle in 0..3000 {
            offer(&mut drr, handle % 3, 1000, handle);
        }
        let mut sent = [0; 3];
        for _ in 0..700 {
            sent[take(&mut drr, Time::ZERO).unwrap().user as usize] += 1;
        }
        for (sent, want) in sent.into_iter().zip([200, 400, 100]) {
            assert!(i32::abs(sent - want) <= 3, "{sent}, {want}");
        }
    }

    #[test]
    fn queues_may_be_those_of_flows() {
        let (quantum, drop) = (Bytes::new(1500), DropFrom::Tail);
        let mut drr = Drr::new(DrrParams { quantum, queues: QueuesBy::Flow, drop }, &place(99));
        for (handle, flow) in [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)] {
            drr.enqueue(Queued { flow, ..packet(handle) }, &IDLE, || 0.0, |_, _| panic!("fits"));
        }
        assert_eq!(served(&mut drr), [0, 3, 1, 4, 2]);
    }

    /// Three queues and a quantum of 500 B, worked out by hand.
    #[test]
    fn unspent_deficit_stays_for_the_next_turn() {
        let mut drr = drr(500, 100);
        for (handle, (user, len)) in
            [(0, 200), (0, 750), (0, 20), (1, 500), (1, 500), (2, 200), (2, 600), (2, 100)]
                .into_iter()
                .enumerate()
        {
            assert!(offer(&mut drr, user, len, handle as u32).is_empty());
        }
        // First round: 200 (300 left); 500; 200 (300 left). Second: 750 of 800, 20; 500; 600, 100.
        assert_eq!(served(&mut drr), [0, 3, 5, 1, 2, 4, 6, 7]);
    }

    #[test]
    fn a_full_buffer_takes_from_the_longest_queue() {
        let mut drr = drr(1500, 3);
        assert!(offer(&mut drr, 0, 1500, 1).is_empty());
        assert!(offer(&mut drr, 0, 1500, 2).is_empty());
        assert!(offer(&mut drr, 0, 1500, 3).is_empty());
        assert_eq!(offer(&mut drr, 1, 1500, 4), [3]);
        assert_eq!(offer(&mut drr, 0, 1500, 5), [5], "its own packet, if its queue is the longest");
        assert_eq!(served(&mut drr), [1, 4, 2]);
    }

    #[test]
    fn the_longest_queue_loses_its_first_packet_where_it_drops_from_the_head() {
        let mut drr = dropping(DropFrom::Head, 1500, 3);
        (1..=3).for_each(|handle| assert!(offer(&mut drr, 0, 1500, handle).is_empty()));
        assert_eq!(offer(&mut drr, 1, 1500, 4), [1]);
        assert_eq!(offer(&mut drr, 0, 1500, 5), [2]);
        assert_eq!(served(&mut drr), [3, 4, 5]);
    }

    #[test]
    fn a_customer_that_ran_empty_starts_without_a_deficit() {
        let mut drr = drr(1500, 100);
        offer(&mut drr, 0, 100, 1);
        assert_eq!(served(&mut drr), [1]);
        for handle in 2..=4 {
            offer(&mut drr, 0, 1000, handle);
            offer(&mut drr, 1, 1500, 10 + handle);
        }
        // With a kept deficit of 1400 B it could send two at once.
        assert_eq!(served(&mut drr), [2, 12, 3, 4, 13, 14]);
    }

    proptest! {
        /// Lemma 2 of the paper: over any time in which two customers are backlogged, the bytes that they send differ
        /// by at most a quantum and two largest packets.
        #[test]
        fn backlogged_customers_get_equal_shares(
            lens in prop::collection::vec(64u32..=1500, 300), quantum in 1500u64..4000,
        ) {
            let mut drr = drr(quantum, 10_000);
            for (handle, &len) in lens.iter().enumerate() {
                for user in 0..3 {
                    offer(&mut drr, user, len, handle as u32);
                }
            }
            let mut sent = [0u64; 3];
            while drr.by_user.iter().all(|customer| !customer.queue.is_empty()) {
                let packet = take(&mut drr, Time::ZERO).unwrap();
                sent[packet.user as usize] += packet.bytes();
                let apart = sent.iter().max().unwrap() - sent.iter().min().unwrap();
                prop_assert!(apart <= quantum + 2 * 1500, "{sent:?}");
            }
        }

        #[test]
        fn nothing_is_lost_unsaid_and_each_customers_packets_keep_their_order(
            steps in prop::collection::vec((0..4u32, 64u32..=1500, any::<bool>()), 1..300),
        ) {
            let mut drr = drr(1500, 8);
            let (mut inside, mut last) = (0i64, [-1i64; 4]);
            for (handle, (user, len, depart)) in steps.into_iter().enumerate() {
                inside += 1 - offer(&mut drr, user, len, handle as u32).len() as i64;
                if depart && let Some(packet) = take(&mut drr, Time::ZERO) {
                    inside -= 1;
                    let last = &mut last[packet.user as usize];
                    prop_assert!(i64::from(packet.handle) > *last);
                    *last = packet.handle.into();
                }
                prop_assert_eq!(i64::from(drr.backlog().0), inside);
            }
        }
    }
}
