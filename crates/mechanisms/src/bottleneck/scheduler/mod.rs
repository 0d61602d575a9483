//! Schedulers: queues that need departures, and choose the next packet and the packets to drop.
//!
//! A [`Scheduler`] holds the packets in front of a transmitter. It is called twice per packet: at its arrival
//! ([`Scheduler::enqueue`]) and when the transmitter is free ([`Scheduler::dequeue`]). In between it may drop it, or
//! another one in its place, and reports that. It identifies packets by a handle and sees only the fields that a router
//! can see.
//!
//! Periodic updates need no clock: they depend only on arrivals and departures, so they are performed at the next
//! packet.

pub mod cake;
pub mod declared_congestion;
pub mod drr;
pub mod dualpi2;
mod fifo;
pub mod fq_codel;
pub mod htb;
mod queue;
pub mod rfc6057;
mod two_classes;

pub use fifo::Fifo;
pub use queue::Queue;

use super::{DropReason, Judge, Place};
pub use crate::mechanism::About;
use crate::parameters::{Parameters, choices};
use crate::units::{Bytes, QueueLength, Rate, Span, Time};

/// Room for waiting packets where neither the scenario nor the scheduler has another.
pub const DEFAULT_BUFFER: QueueLength = QueueLength::Packets(100);

/// Packet in front of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queued {
    /// Handle of the packet for its owner.
    pub handle: u32,
    /// Bytes on the wire.
    pub len: u32,
    /// Number of the packet's customer, from 0.
    pub user: u32,
    /// Number of its flow, from 0; an acknowledgement has the number of its flow's data.
    pub flow: u32,
    /// Activity that it carries; 0 if none.
    pub activity: f32,
    /// Whether a mark can replace a drop.
    pub may_mark: bool,
    /// Whether its sender reacts to marks in proportion (L4S, RFC 9331).
    pub scalable: bool,
    /// Whether it travels to its customer, whose host is at the receiving end.
    pub to_user: bool,
    /// DiffServ codepoint.
    pub dscp: u8,
    /// Whether it has been marked here.
    pub marked: bool,
    /// Whether its user's congestion is re-inserted into its tunnel's header; `None` without a field for that.
    pub declares: Option<bool>,
    /// Arrival time.
    pub arrived: Time,
}

impl Queued {
    /// Returns its size, bytes.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.len as u64
    }
}

/// Users of a network, as schedulers know them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Users {
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Group of each customer.
    pub group_of: Vec<u32>,
    /// Weight of each customer.
    pub weights: Vec<f64>,
    /// Weight of each flow: that of its group.
    pub flow_weights: Vec<f64>,
}

impl Users {
    /// Whether no weight differs from 1.
    pub fn are_equal(&self) -> bool {
        self.weights.iter().chain(&self.flow_weights).all(|weight| *weight == 1.0)
    }
}

/// Capacity of a buffer in packets and bytes, including the packet in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
}

/// State of the transmitter at an arrival.
#[derive(Clone, Copy, Debug)]
pub struct TransmitterState {
    /// Current time.
    pub now: Time,
    /// Time since it became idle; zero if it is sending.
    pub idle: Span,
    /// Size of the packet in transmission; zero if there is none.
    pub in_transmission: Bytes,
}

impl Capacity {
    /// Whether `bytes` more, in `packets`, fit in addition to the backlog and the packet in transmission.
    #[inline]
    pub fn fits(
        &self,
        queue: (u32, u64),
        line: &TransmitterState,
        packets: u32,
        bytes: u64,
    ) -> bool {
        let sending = line.in_transmission.get();
        queue.0 + u32::from(sending > 0) + packets <= self.packets
            && queue.1 + sending + bytes <= self.bytes
    }
}

/// A scheduling discipline.
pub trait Discipline: Sized {
    /// Parameters.
    type Params: Parameters;

    /// Description for the registry.
    const ABOUT: About;

    /// Returns the room for waiting packets where a scenario states none, on a link of this rate for full packets of
    /// this size: that of the qdisc, for qdiscs of Linux.
    fn default_buffer(params: &Self::Params, rate: Rate, packet: Bytes) -> QueueLength {
        let _ = (params, rate, packet);
        DEFAULT_BUFFER
    }

    /// Returns an empty scheduler.
    ///
    /// # Panics
    ///
    /// If a parameter is out of its bounds, which validation rules out.
    fn new(params: Self::Params, place: &Place) -> Self;

    /// Handles an arriving packet. `draw` returns a random number in [0, 1); `lose` takes dropped packets, this one or
    /// others.
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    );

    /// Returns the packet to transmit now, marked or not; `None` when nothing waits.
    fn dequeue(
        &mut self,
        now: Time,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued>;

    /// Tells who the users are, before the first packet, for disciplines that share by weights or by groups.
    fn know(&mut self, users: &Users) {
        let _ = users;
    }

    /// Returns the time before which no packet leaves although some wait: a scheduler that is a shaper.
    #[inline]
    fn next_at(&self) -> Option<Time> {
        None
    }

    /// Returns the packets and bytes waiting.
    fn backlog(&self) -> (u32, u64);

    /// Returns the size of its state without packets and parameters, bytes.
    fn state_bytes(&self) -> usize;
}

/// Declares the schedulers, one line each.
macro_rules! schedulers {
    ($($module:ident::$name:ident($params:ident);)+) => {
        $(pub use $module::{$name, $params};)+

        /// Packets in front of a transmitter, with their scheduling discipline.
        #[derive(Clone, Debug)]
        pub enum Scheduler {
            /// FIFO; an AQM and a differentiation judge arrivals.
            Fifo(Fifo),
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($name),)+
        }

        choices! {
            /// Scheduler: which packet is sent next.
            pub enum SchedulerParams as Scheduler in Scheduler by Discipline {
                /// First in, first out.
                Fifo = "fifo";
                $($name($params);)+
            }
        }

        impl SchedulerParams {
            /// See [`Discipline::default_buffer`].
            pub fn default_buffer(&self, rate: Rate, packet: Bytes) -> QueueLength {
                match self {
                    SchedulerParams::Fifo => DEFAULT_BUFFER,
                    $(SchedulerParams::$name(params) => {
                        $name::default_buffer(params, rate, packet)
                    })+
                }
            }
        }

        impl Scheduler {
            /// Returns the scheduler of these parameters, empty; `None` for FIFO, which needs a judge
            /// ([`Scheduler::fifo`]).
            pub fn new(params: SchedulerParams, place: &Place) -> Option<Self> {
                match params {
                    SchedulerParams::Fifo => None,
                    $(SchedulerParams::$name(params) => {
                        Some(Scheduler::$name($name::new(params, place)))
                    })+
                }
            }
        }

        /// Dispatches to the scheduler.
        macro_rules! each {
            ($self:expr, $own:ident => $what:expr) => {
                match $self {
                    Scheduler::Fifo($own) => $what,
                    $(Scheduler::$name($own) => $what,)+
                }
            };
        }
    };
}

schedulers! {
    drr::Drr(DrrParams);
    dualpi2::DualPi2(DualPi2Params);
    fq_codel::FqCodel(FqCodelParams);
    cake::Cake(CakeParams);
    htb::Htb(HtbParams);
    rfc6057::Rfc6057(Rfc6057Params);
    declared_congestion::DeclaredCongestion(DeclaredCongestionParams);
}

impl Scheduler {
    /// Returns a FIFO scheduler.
    pub fn fifo(judge: Judge, capacity: Capacity) -> Self {
        Scheduler::Fifo(Fifo::new(judge, capacity))
    }

    /// See [`Discipline::enqueue`].
    #[inline]
    pub fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    ) {
        each!(self, own => own.enqueue(packet, line, draw, lose));
    }

    /// See [`Discipline::dequeue`].
    #[inline]
    pub fn dequeue(
        &mut self,
        now: Time,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        each!(self, own => own.dequeue(now, draw, lose))
    }

    /// See [`Discipline::next_at`].
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        match self {
            Scheduler::Cake(own) => own.next_at(),
            Scheduler::Htb(own) => own.next_at(),
            _ => None,
        }
    }

    /// See [`Discipline::know`].
    pub fn know(&mut self, users: &Users) {
        match self {
            Scheduler::Drr(own) => own.know(users),
            Scheduler::FqCodel(own) => own.know(users),
            Scheduler::Cake(own) => own.know(users),
            Scheduler::Htb(own) => own.know(users),
            _ => {}
        }
    }

    /// Returns the scheduler if it filters ACKs.
    #[inline]
    pub fn ack_filter(&mut self) -> Option<&mut Cake> {
        match self {
            Scheduler::Cake(own) if own.filters_acks() => Some(own),
            _ => None,
        }
    }

    /// Returns its price for the last packet that arrived or left, if it has one.
    #[inline]
    pub fn price(&self) -> Option<f64> {
        match self {
            Scheduler::Fifo(own) => own.price(),
            _ => None,
        }
    }

    /// See [`Discipline::backlog`].
    #[inline]
    pub fn backlog(&self) -> (u32, u64) {
        each!(self, own => own.backlog())
    }

    /// See [`Discipline::state_bytes`].
    pub fn state_bytes(&self) -> usize {
        each!(self, own => own.state_bytes())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An idle transmitter.
    pub(crate) const IDLE: TransmitterState =
        TransmitterState { now: Time::ZERO, idle: Span::ZERO, in_transmission: Bytes::ZERO };

    /// A place for a number of packets.
    pub(crate) fn place(packets: u32) -> Place {
        Place {
            capacity: Capacity { packets, bytes: u64::MAX },
            rate: Rate::mbps(10),
            packet: Bytes::new(1500),
            price_encoding: None,
        }
    }

    /// Returns the next packet, in a case without random draws and drops.
    pub(crate) fn take(discipline: &mut impl Discipline, now: Time) -> Option<Queued> {
        discipline.dequeue(now, || panic!("draws nothing"), |_, _| panic!("loses nothing"))
    }

    /// Returns handles in the order of departure.
    pub(crate) fn served(discipline: &mut impl Discipline) -> Vec<u32> {
        let next = || take(discipline, Time::ZERO).map(|packet| packet.handle);
        core::iter::from_fn(next).collect()
    }

    /// Returns a full packet of the first customer.
    pub(crate) fn packet(handle: u32) -> Queued {
        Queued {
            handle,
            len: 1500,
            user: 0,
            flow: 0,
            activity: 0.0,
            may_mark: false,
            scalable: false,
            to_user: false,
            dscp: 0,
            marked: false,
            declares: None,
            arrived: Time::ZERO,
        }
    }

    #[test]
    fn the_packet_in_transmission_takes_room() {
        let capacity = Capacity { packets: 2, bytes: 3000 };
        let sending = TransmitterState { in_transmission: Bytes::new(1500), ..IDLE };
        assert!(capacity.fits((1, 1500), &IDLE, 1, 1500));
        assert!(capacity.fits((0, 0), &sending, 1, 1500));
        assert!(!capacity.fits((1, 100), &sending, 1, 100), "three packets");
        assert!(!capacity.fits((0, 0), &sending, 1, 1501), "3001 bytes");
    }
}
