//! CAKE, Common Applications Kept Enhanced: a shaper, tins by DiffServ, fairness between hosts and then between flows,
//! COBALT on each queue, and an ACK filter. T. Hoeiland-Joergensen, D. Taht and J. Morton, "Piece of CAKE: A
//! Comprehensive Queue Management Solution for Home Gateways", IEEE LANMAN 2018; rules as in Linux's `sch_cake.c`, keys
//! as in tc-cake(8).
//!
//! Each flow has a queue, and queues take turns as in FQ-CoDel (DRR++). The quantum is divided by the number of *bulk*
//! flows of the flow's host, so that all of them together get the share of one:
//!
//! ```text
//! Q_f = ⌊w_f Q / max(1, n_f) + u⌋   n_f bulk flows of f's host;  u uniform in [0, 1), so that no rest is lost;
//!                                   w_f weight of f's customer (users.NAME.weight), which the kernel's CAKE has not
//!
//! arrives   f at rest or decaying: sparse, to the end of new, D_f ← Q_f
//!           f waiting, see below: bulk
//! leaves    f = first of decaying (once a packet), else of new, else of old
//!           D_f ≤ 0: a sparse f becomes bulk, or if it is empty waiting; D_f ← D_f + Q_f;
//!                    to the end of old, look again
//!           packet of f by COBALT_f, the last of a queue whatever COBALT says;   D_f ← D_f − L
//!           none: to the end of decaying while COBALT_f remembers something, else at rest; look again
//! overflow  the head of the longest queue (in bytes) is lost, until there is room
//! ```
//!
//! L is the size that the shaper counts: the packet's and `overhead`, at least `mpu`, in whole ATM cells of 53 B for 48 B
//! or with a byte for each 64 B of PTM. n_f is the larger of the numbers at the hosts that `isolation` names.
//!
//! The shaper is a virtual transmitter of the rate R (`bandwidth`), without a burst: a packet leaves when it is free, and
//! occupies it for L / R. Where R is the link's own and L the size, the link itself is the shaper.
//!
//! Of several tins (`tins`), each with a rate R_t and a clock t_t that its packets advance by L / R_t, the shaper serves
//! the one of highest priority whose clock is not ahead of time, else the one whose clock is least ahead:
//!
//! ```text
//! diffserv3   best effort R, bulk R/16, voice R/4                   bulk: CS1, LE;  voice: EF, VA, CS6, CS7, TOS4
//! diffserv4   best effort R, bulk R/16, video R/2, voice R/4        voice: CS4 to CS7, EF, VA;  video: AF2x to AF4x, CS2, CS3, TOS4
//! diffserv8, precedence   eight tins, each 7/8 of the one before
//! t_t < now:  t_t ← t_t + L/R_t,    else t_t ← max(t_t, now + L/R_t)
//! ```
//!
//! In unlimited mode tins take turns by weights in these ratios (DRR). Each tin has its own
//! Q = max(300 B, min(R_t · 1/4096 s, 1514 B)), and a COBALT that knows its rate, so that a slow link is not left idle:
//!
//! ```text
//! target   ← max(target, 1.5 τ)                              τ time of a full packet at R_t
//! interval ← max(rtt + what target grew by, 2 target)
//! signal     only after a sojourn above target and above 4 τ
//! ```
//!
//! R is the configured rate: like a shaper, it does not follow the link's `rate_changes`. With `unlimited` τ is zero.
//!
//! Hosts are customers on their side of the network; at the other side is one host with all servers. Flows and customers
//! are known by number, so that no set-associative hash is needed and nothing collides. Not modelled: `ingress`,
//! `autorate-ingress`, `nat`, `wash`, `fwmark`, and the splitting of large segments. The buffer is the link's.

mod ack_filter;
mod framing;
mod tins;

use std::collections::VecDeque;

pub use ack_filter::{AckFilter, TcpAck};
pub use framing::{Framing, LinkLayer};
pub use tins::Tins;

use framing::Accounting;
use tins::Tin;

use super::{About, Capacity, Discipline, Place, Queued, TransmitterState, Users};
use crate::bottleneck::codel::interval_is_a_time;
use crate::bottleneck::{CobaltParams, DropReason};
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, QueueLength, Rate, Span, Time};
use crate::words;

parameters! {
    /// CAKE: a shaper, tins by DiffServ, fair between hosts, then between each one's flows; a queue for each flow, with
    /// CoDel and BLUE.
    pub struct CakeParams {
        /// R: rate of CAKE's own shaper. Default: that of the link, which is the shaper then.
        pub bandwidth: Option<Rate>,
        /// No shaper, and COBALT does not know the rate, as tc's `unlimited`.
        pub unlimited: bool = "false",
        /// Round-trip time that COBALT allows for before it signals: its interval. tc's `lan` is 1 ms, `metro` 10 ms,
        /// `regional` 30 ms, `internet` 100 ms, `oceanic` 300 ms, `satellite` 1 s.
        pub rtt: Span = "100 ms",
        /// Target of the standing queue's delay. Default: a twentieth of rtt.
        pub target: Option<Span>,
        /// Q: bytes that a host's flows may send per round. Default: by the rate, from 300 B to 1514 B.
        pub quantum: Option<Bytes>,
        /// Which packets share a queue, and which queues a turn.
        pub isolation: Isolation = "triple-isolate",
        /// Priority tins, by the DSCP of packets.
        pub tins: Tins = "diffserv3",
        /// Overheads of a kind of link: sets overhead, mpu and framing, unless they are given.
        pub link_layer: LinkLayer = "raw",
        /// Bytes that the link adds to each packet. Default: those of link_layer.
        pub overhead: Option<Bytes>,
        /// Bytes that a packet takes at least, with its overhead. Default: those of link_layer.
        pub mpu: Option<Bytes>,
        /// Cells or code words of the link. Default: those of link_layer.
        pub framing: Option<Framing>,
        /// Drops ACKs that a later one in the same queue makes superfluous.
        pub ack_filter: AckFilter = "no-ack-filter",
    }
    check goes_on;
}

words! {
    /// Which packets share a queue, and which queues a turn, in CAKE.
    pub enum Isolation {
        /// All packets share a queue.
        Flowblind = "flowblind",
        /// A queue for each sending host.
        Srchost = "srchost",
        /// A queue for each receiving host.
        Dsthost = "dsthost",
        /// A queue for each pair of hosts.
        Hosts = "hosts",
        /// A queue for each flow, and equal turns.
        Flows = "flows",
        /// A queue for each flow; the flows of a sending host share a turn.
        DualSrchost = "dual-srchost",
        /// A queue for each flow; the flows of a receiving host share a turn.
        DualDsthost = "dual-dsthost",
        /// A queue for each flow; the flows of the host, at either end, that has more of them share a turn.
        TripleIsolate = "triple-isolate",
        /// As dual-srchost towards servers and dual-dsthost towards customers: a home gateway configured for both.
        DualHost = "dual-host",
    }
}

impl Isolation {
    /// Whether packets to customers, or else from them, are shared by anything but the hosts of customers: all servers
    /// are one host.
    pub fn takes_servers_for_customers(self, to_customers: bool) -> bool {
        match self {
            Isolation::TripleIsolate => true,
            Isolation::Srchost | Isolation::DualSrchost => to_customers,
            Isolation::Dsthost | Isolation::DualDsthost => !to_customers,
            Isolation::Flowblind | Isolation::Hosts | Isolation::Flows | Isolation::DualHost => {
                false
            }
        }
    }
}

fn goes_on(params: &CakeParams) -> Vec<ParameterError> {
    let mut errors = Vec::new();
    if params.quantum == Some(Bytes::ZERO) {
        errors.push(("quantum", "0 B would never let a packet go".to_owned()));
    }
    let rtt = interval_is_a_time(params.rtt).map(|(_, message)| ("rtt", message));
    errors.extend(rtt);
    if params.unlimited && params.bandwidth.is_some() {
        errors.push(("unlimited", "contradicts bandwidth: remove one of them".to_owned()));
    }
    if params.overhead.is_some_and(|size| size > MOST_OVERHEAD) {
        errors.push(("overhead", "is above 256 B, which no link adds (tc-cake(8))".to_owned()));
    }
    errors
}

/// Largest `overhead`, as in tc-cake(8).
const MOST_OVERHEAD: Bytes = Bytes::new(256);

/// All tins, with the shaper.
#[derive(Clone, Debug)]
pub struct Cake {
    isolation: Isolation,
    mode: Tins,
    ack_filter: AckFilter,
    accounting: Accounting,
    /// Rate that CAKE knows; none in unlimited mode.
    rate: Option<Rate>,
    /// Time from which on the next packet may leave, where the link is not the shaper itself.
    shaper: Option<Time>,
    capacity: Capacity,
    tins: Vec<Tin>,
    /// Tin whose turn it is, in unlimited mode.
    turn: usize,
    packets: u32,
    bytes: u64,
}

impl Discipline for Cake {
    type Params = CakeParams;

    const ABOUT: About = About {
        name: "cake",
        title: "CAKE",
        source: "Hoeiland-Joergensen, Taht and Morton, LANMAN 2018; Linux sch_cake, tc-cake(8)",
        usage: r#"bottleneck.scheduler = { kind = "cake", isolation = "dual-srchost" }"#,
        file: "bottleneck/scheduler/cake.rs",
        text: crate::mechanism::source_text!("cake.rs"),
    };

    /// As in `cake_reconfigure`; Linux counts the memory of packets, which is about half as much again.
    fn default_buffer(params: &CakeParams, rate: Rate, packet: Bytes) -> QueueLength {
        let most = 10_240 * packet.get();
        let Some(rate) = params.rate(rate) else { return QueueLength::Bytes(Bytes::new(most)) };
        let bits_ns = u128::from(rate.as_bps()) * u128::from(params.rtt.as_nanos());
        let four_products = (bits_ns / 2_000_000_000).min(u128::from(u32::MAX)) as u64;
        QueueLength::Bytes(Bytes::new(four_products.max(4 << 20).min(most)))
    }

    fn new(params: CakeParams, place: &Place) -> Self {
        assert!(goes_on(&params).is_empty(), "the parameters were validated");
        let rate = params.rate(place.rate);
        let accounting = Accounting::new(&params);
        let is_link = params.bandwidth.is_none() && accounting.is_plain();
        let target = params.target.unwrap_or(Span::from_nanos(params.rtt.as_nanos() / 20));
        let tin = |(share, weight): (f64, i64)| {
            let rate =
                rate.map(|rate| Rate::from_bps(((rate.as_bps() as f64 * share) as u64).max(512)));
            let packet_time = rate.map_or(Span::ZERO, |rate| rate.transmission_time(place.packet));
            let by_rate = rate.map_or(1514, |rate| (rate.as_bps() / (8 * 4096)).clamp(300, 1514));
            let quantum = params.quantum.map_or(by_rate, Bytes::get);
            Tin::new(quantum, CobaltParams::at_rate(target, params.rtt, packet_time), rate, weight)
        };
        Cake {
            isolation: params.isolation,
            mode: params.tins,
            ack_filter: params.ack_filter,
            accounting,
            rate,
            shaper: (rate.is_some() && !is_link).then_some(Time::ZERO),
            capacity: place.capacity,
            tins: params.tins.shares().into_iter().map(tin).collect(),
            turn: 0,
            packets: 0,
            bytes: 0,
        }
    }

    /// While there is no room, the first packet of the longest queue is dropped.
    #[inline]
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        let now = line.now;
        let (key, hosts) = self.place_of(packet.user, packet.flow, packet.to_user);
        let tin = &mut self.tins[self.mode.tin_of(packet.dscp)];
        if tin.packets == 0 {
            tin.next = tin.next.max(now);
            if let Some(next) = self.shaper.as_mut().filter(|_| self.packets == 0) {
                *next = (*next).max(now);
            }
        }
        self.packets += 1;
        self.bytes += packet.bytes();
        tin.enqueue(packet, key, hosts, self.isolation, draw);
        while !self.capacity.fits((self.packets, self.bytes), line, 0, 0) && self.packets > 0 {
            lose(self.overflow(now), DropReason::Full);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        mut draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        if self.shaper.is_some_and(|next| next > now) {
            return None;
        }
        let mut looked = false;
        while self.packets > 0 {
            let chosen = self.choose(now);
            let Cake { tins, packets, bytes, accounting, isolation, .. } = self;
            let tin = &mut tins[chosen];
            let before = (tin.packets, tin.bytes);
            let found = tin.dequeue(now, &mut looked, *isolation, accounting, &mut draw, &mut lose);
            *packets -= before.0 - tin.packets;
            *bytes -= before.1 - tin.bytes;
            if let Some(packet) = found {
                self.advance(chosen, packet.bytes(), now);
                return Some(packet);
            }
        }
        None
    }

    fn know(&mut self, users: &Users) {
        if !users.are_equal() {
            self.tins.iter_mut().for_each(|tin| tin.weights = users.weights.clone());
        }
    }

    #[inline]
    fn next_at(&self) -> Option<Time> {
        self.shaper.filter(|_| self.packets > 0)
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Size of the state of flows and hosts seen so far.
    fn state_bytes(&self) -> usize {
        self.tins.iter().map(Tin::state_bytes).sum()
    }
}

impl CakeParams {
    /// Returns the rate that CAKE knows, on a link of this rate.
    fn rate(&self, of_link: Rate) -> Option<Rate> {
        let rate = self.bandwidth.unwrap_or(of_link);
        (!self.unlimited && rate.as_bps() > 0).then_some(rate)
    }
}

impl Cake {
    /// Returns the queue of a packet within its tin, and its sending and receiving hosts: 0 is that of all servers.
    fn place_of(&self, user: u32, flow: u32, to_user: bool) -> (u32, [u32; 2]) {
        let host = user + 1;
        let hosts = if to_user { [0, host] } else { [host, 0] };
        let key = match self.isolation {
            Isolation::Flowblind => 0,
            Isolation::Srchost => hosts[0],
            Isolation::Dsthost => hosts[1],
            Isolation::Hosts => 2 * user + u32::from(to_user),
            _ => flow,
        };
        (key, if self.isolation == Isolation::DualHost { [host, 0] } else { hosts })
    }

    /// Chooses the tin to serve; a packet waits.
    #[inline]
    fn choose(&mut self, now: Time) -> usize {
        match (self.tins.len(), self.rate) {
            (1, _) => 0,
            (_, Some(_)) => self.by_schedule(now),
            (_, None) => self.by_weight(),
        }
    }

    /// The last tin, in the order of priorities, whose clock is not ahead; else the one whose clock is least ahead.
    fn by_schedule(&self, now: Time) -> usize {
        let mut best = None;
        for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_listed()) {
            let ahead = tin.next.since(now);
            if best.is_none_or(|(least, _)| ahead == Span::ZERO || ahead <= least) {
                best = Some((ahead, number));
            }
        }
        best.expect("something waits").1
    }

    /// Deficit round robin over tins.
    fn by_weight(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.deficit >= 0 && tin.is_listed() {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.weight;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }

    /// Counts a packet that leaves: `cake_advance_shaper`.
    #[inline]
    fn advance(&mut self, chosen: usize, bytes: u64, now: Time) {
        let Cake { tins, accounting, rate, shaper, .. } = self;
        if tins.len() == 1 && shaper.is_none() {
            return;
        }
        let (len, tin) = (accounting.len(bytes), &mut tins[chosen]);
        tin.deficit -= len as i64;
        let takes = |rate: Rate| Span::from_nanos(len * 8_000_000_000 / rate.as_bps());
        if let Some(rate) = tin.rate {
            tin.next = match tin.next < now {
                true => tin.next + takes(rate),
                false => tin.next.max(now + takes(rate)),
            };
        }
        if let Some((next, rate)) = shaper.as_mut().zip(*rate) {
            *next += takes(rate);
        }
    }

    /// Takes the first packet of the longest queue of all tins.
    #[cold]
    fn overflow(&mut self, now: Time) -> Queued {
        let longest = self.tins.iter().enumerate().filter_map(|(number, tin)| {
            tin.longest().map(|(bytes, flow)| (bytes, std::cmp::Reverse(number), flow))
        });
        let (_, std::cmp::Reverse(number), flow) =
            longest.max_by_key(|(bytes, number, _)| (*bytes, *number)).expect("something waits");
        let packet = self.tins[number].overflow(flow, now);
        self.packets -= 1;
        self.bytes -= packet.bytes();
        packet
    }

    /// Whether it drops superfluous ACKs, by [`Cake::filter_acks`].
    #[inline]
    pub fn filters_acks(&self) -> bool {
        self.ack_filter != AckFilter::NoAckFilter
    }

    /// Drops the ACK that a packet, just enqueued, makes superfluous: `newest` is its handle, user, flow, DSCP, and whether
    /// it travels to its user. `ack_of` returns what a packet acknowledges, by its handle; `None` for packets that are no
    /// ACKs.
    pub fn filter_acks(
        &mut self,
        (handle, user, flow, dscp, to_user): (u32, u32, u32, u8, bool),
        ack_of: impl Fn(u32) -> Option<TcpAck>,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        let (key, _) = self.place_of(user, flow, to_user);
        let tin = &mut self.tins[self.mode.tin_of(dscp)];
        let Some(queue) = tin
            .queue_of(key)
            .filter(|queue| queue.back().is_some_and(|last| last.handle == handle))
        else {
            return;
        };
        let acks: VecDeque<_> = queue.iter().map(|packet| ack_of(packet.handle)).collect();
        let Some(place) = self.ack_filter.superfluous(&acks) else { return };
        let packet = queue.remove(place);
        tin.packets -= 1;
        tin.bytes -= packet.bytes();
        self.packets -= 1;
        self.bytes -= packet.bytes();
        lose(packet, DropReason::Aqm);
    }
}

#[cfg(test)]
#[path = "cake_tests.rs"]
mod tests;
