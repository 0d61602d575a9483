//! FQ-CoDel, flow queue CoDel: flows hashed to queues, served in turns, each with CoDel; new flows are served first.
//! RFC 8290, sections 4.1 (enqueue) and 4.2 (dequeue); overflow as in Linux since 4.7.
//!
//! A packet joins one of n queues by a hash of its flow, here a number in [0, 1). Queues with packets are on one of two
//! lists, new and old; an empty queue that gets a packet joins the end of the new list:
//!
//! ```text
//! arrives   i = n · hash(flow, perturbation);   if on no list: i to the end of new, D_i ← Q
//! leaves    i = first of new, or of old if new is empty          (w weight of the flow's group, users.NAME.weight)
//!           D_i ≤ 0: D_i ← D_i + w Q, i to the end of old, look again
//!           packet = CoDel_i;   none: i to the end of old (from new, if old is not empty), or
//!                               off the lists; look again
//!           D_i ← D_i − size(packet)
//! overflow  from the head of the longest queue (in bytes): packets until half of its bytes are
//!           gone, 64 at most;   count_i ← count_i + packets lost
//! ```
//!
//! A flow that sends less than a quantum between two turns never queues behind the others: it is *sparse*, and is
//! served first. An emptied queue passes through the old list before it leaves, which prevents it from returning to the
//! new list within a round. Backlogged queues share equally in bytes. Flows with equal hashes share a queue in FIFO
//! order, and with it one flow's share; the collisions are the same in every run with the same perturbation, which
//! Linux draws at random.
//!
//! CoDel is that of RFC 8289 with two exceptions, as in Linux: the backlog that must exceed one largest packet for a
//! signal is that of *all* queues; and packets lost by overflow count as signals, so that the next ones come sooner.
//! There is no `ce_threshold`, and the hash is not Linux's.

use std::collections::VecDeque;

use super::queue::mark_or;
use super::{About, Capacity, Discipline, Place, Queue, Queued, TransmitterState, Users};
use crate::bottleneck::codel::interval_is_a_time;
use crate::bottleneck::{CodelRules, CodelState, DropReason, Head};
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, QueueLength, Rate, Span, Time};

/// Maximum number of packets dropped by one overflow (Linux's default of `drop_batch`).
const DROP_BATCH: u32 = 64;

/// Maximum number of queues, as in Linux.
const MAX_QUEUES: u32 = 65_536;

parameters! {
    /// FQ-CoDel: flows hashed to queues that take turns, each with CoDel, new ones first.
    pub struct FqCodelParams {
        /// n: number of queues to which flows are hashed.
        pub flows: u32 = "1024",
        /// Q: bytes that a queue may send per round.
        pub quantum: Bytes = "1514 B",
        /// Target of the standing queue's delay.
        pub target: Span = "5 ms",
        /// Time for which it may be exceeded; about a worst-case round-trip time.
        pub interval: Span = "100 ms",
        /// Seed of the hash, which determines colliding flows.
        pub perturbation: u32 = "0",
        /// Compute signal times as Linux, which approximates the square root.
        pub linux_arithmetic: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
    }
    check goes_on;
}

fn goes_on(params: &FqCodelParams) -> Option<ParameterError> {
    if !(1..=MAX_QUEUES).contains(&params.flows) {
        return Some(("flows", format!("{} is not from 1 to {MAX_QUEUES}", params.flows)));
    }
    turns_and_signals_go_on(params.quantum, params.interval)
}

/// Returns the errors of the two parameters.
pub(super) fn turns_and_signals_go_on(quantum: Bytes, interval: Span) -> Option<ParameterError> {
    if quantum == Bytes::ZERO {
        return Some(("quantum", "0 B would never let a packet go".to_owned()));
    }
    interval_is_a_time(interval)
}

/// All queues.
#[derive(Clone, Debug)]
pub struct FqCodel {
    params: FqCodelParams,
    codel: CodelRules,
    capacity: Capacity,
    queues: Vec<FlowQueue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u32,
    bytes: u64,
    /// Quantum of each flow, if their weights differ.
    weighted: Vec<i64>,
}

#[derive(Clone, Debug, Default)]
struct FlowQueue {
    queue: Queue,
    codel: CodelState,
    /// Deficit D, bytes; it may be negative by less than a packet.
    deficit: i64,
    /// Whether it is on one of the lists.
    listed: bool,
    /// Flow of the packet that came last, for its weight.
    flow: u32,
}

impl Discipline for FqCodel {
    type Params = FqCodelParams;

    const ABOUT: About = About {
        name: "fq-codel",
        title: "FQ-CoDel",
        source: "RFC 8290",
        usage: r#"bottleneck.scheduler = { kind = "fq-codel" }"#,
        file: "bottleneck/scheduler/fq_codel.rs",
        text: crate::mechanism::source_text!("fq_codel.rs"),
    };

    /// `limit` of Linux.
    fn default_buffer(_: &FqCodelParams, _: Rate, _: Bytes) -> QueueLength {
        QueueLength::Packets(10_240)
    }

    fn new(params: FqCodelParams, place: &Place) -> Self {
        assert!(goes_on(&params).is_none(), "the parameters were validated");
        let FqCodelParams { target, interval, linux_arithmetic, .. } = params;
        FqCodel {
            // The maximum packet size is that of the largest one seen.
            codel: CodelRules::new(target, interval, linux_arithmetic),
            capacity: place.capacity,
            queues: vec![FlowQueue::default(); params.flows as usize],
            params,
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            weighted: Vec::new(),
        }
    }

    fn know(&mut self, users: &Users) {
        if !users.are_equal() {
            let quantum = self.params.quantum.as_f64();
            let of_flow = |weight: &f64| ((quantum * weight) as i64).max(1);
            self.weighted = users.flow_weights.iter().map(of_flow).collect();
        }
    }

    /// While there is no room, up to half of the longest queue is dropped.
    #[inline]
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        _draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        let place = self.place(packet.flow);
        let quantum = quantum(&self.params, &self.weighted, packet.flow);
        let flow = &mut self.queues[place as usize];
        flow.flow = packet.flow;
        if !flow.listed {
            (flow.listed, flow.deficit) = (true, quantum);
            self.new.push_back(place);
        }
        self.packets += 1;
        self.bytes += packet.bytes();
        let largest = &mut self.codel.max_packet;
        *largest = (*largest).max(Bytes::new(packet.bytes()));
        flow.queue.push(packet);
        while !self.capacity.fits((self.packets, self.bytes), line, 0, 0) && self.packets > 0 {
            self.overflow(&mut lose);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        _draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        let FqCodel { params, codel, queues, new, old, packets, bytes, weighted, .. } = self;
        loop {
            let is_new = !new.is_empty();
            let place = *new.front().or(old.front())?;
            let flow = &mut queues[place as usize];
            if flow.deficit > 0 {
                let queue = &mut flow.queue;
                let pop = || {
                    let packet = queue.pop()?;
                    *packets -= 1;
                    *bytes -= packet.bytes();
                    let sojourn = now.since(packet.arrived);
                    let (backlog_packets, backlog_bytes) = (*packets, *bytes);
                    Some(Head { packet, sojourn, backlog_packets, backlog_bytes })
                };
                if let Some(packet) = flow.codel.dequeue(codel, now, pop, mark_or(&mut lose)) {
                    flow.deficit -= packet.bytes() as i64;
                    return Some(packet);
                }
                if !is_new || old.is_empty() {
                    flow.listed = false;
                    if is_new {
                        new.pop_front()
                    } else {
                        old.pop_front()
                    };
                    continue;
                }
            } else {
                flow.deficit += quantum(params, weighted, flow.flow);
            }
            if is_new {
                new.pop_front()
            } else {
                old.pop_front()
            };
            old.push_back(place);
        }
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Size of the whole table, used or not.
    fn state_bytes(&self) -> usize {
        self.queues.len() * (size_of::<FlowQueue>() + size_of::<u32>())
    }
}

/// Returns the bytes that a flow's queue may send per round.
#[inline]
fn quantum(params: &FqCodelParams, weighted: &[i64], flow: u32) -> i64 {
    match weighted {
        [] => params.quantum.get() as i64,
        weighted => weighted[flow as usize],
    }
}

impl FqCodel {
    /// Returns the queue of a flow.
    #[inline]
    fn place(&self, flow: u32) -> u32 {
        let hash = hash(flow, self.params.perturbation);
        ((u64::from(hash) * u64::from(self.params.flows)) >> 32) as u32
    }

    /// Drops from the head of the longest queue; of several, that with the lowest number, as in Linux.
    #[cold]
    fn overflow(&mut self, lose: &mut impl FnMut(Queued, DropReason)) {
        let length = |&place: &u32| self.queues[place as usize].queue.bytes();
        let listed = self.new.iter().chain(&self.old).copied();
        let longest = listed.max_by_key(|place| (length(place), u32::MAX - place));
        let flow = &mut self.queues[longest.expect("something waits") as usize];
        let (before, mut lost) = (flow.queue.bytes(), 0);
        while lost == 0 || (lost < DROP_BATCH && before - flow.queue.bytes() < before / 2) {
            lose(flow.queue.pop().expect("half of it is left"), DropReason::Full);
            lost += 1;
        }
        flow.codel.on_overflow(lost);
        self.packets -= lost;
        self.bytes -= before - flow.queue.bytes();
    }
}

/// Returns 32 well-mixed bits: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn hash(flow: u32, perturbation: u32) -> u32 {
    let mut z =
        (u64::from(perturbation) << 32 | u64::from(flow)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 32) as u32
}

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
