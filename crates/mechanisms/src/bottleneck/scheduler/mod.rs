//! Which packet leaves next, and which is lost: queues that must see departures.
//!
//! A [`Scheduler`] holds the packets in front of a transmitter. It is asked twice for each packet:
//! when it arrives ([`Scheduler::enqueue`]) and when the transmitter is free
//! ([`Scheduler::dequeue`]). Between the two it may lose it, or another one in its place, and says
//! so. It knows packets by a handle and by what a router can see of them.
//!
//! Periodic work needs no clock: what a mechanism computes every so often depends on nothing but
//! what arrived and left, so it catches up with its periods at the next packet.

pub mod declared_congestion;
pub mod drr;
pub mod dual_host;
pub mod dualpi2;
mod fifo;
pub mod fq_codel;
mod queue;
pub mod rfc6057;
mod two_classes;

pub use fifo::Fifo;
pub use queue::Queue;

use super::{DropReason, Judge, Place};
pub use crate::mechanism::About;
use crate::parameters::{Parameters, choices};
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
    /// Whether congestion that its user has met is re-inserted into its tunnel's header; `None` without room for that.
    pub declares: Option<bool>,
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
pub struct Capacity {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
}

/// The transmitter as a packet arrives.
#[derive(Clone, Copy, Debug)]
pub struct TransmitterState {
    /// The present.
    pub now: Time,
    /// How long it has had nothing to send; zero if it is sending.
    pub idle: Span,
    /// Size of the packet in transmission; zero if there is none.
    pub in_transmission: Bytes,
}

impl Capacity {
    /// Whether `bytes` more, in `packets`, fit beside what waits and what is in transmission.
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

/// A way to hold packets and to choose the next one.
pub trait Discipline: Sized {
    /// What can be set.
    type Params: Parameters;

    /// What it is.
    const ABOUT: About;

    /// With nothing waiting.
    ///
    /// # Panics
    /// If a parameter is out of its bounds, which validation rules out.
    fn new(params: Self::Params, place: &Place) -> Self;

    /// A packet arrives. `draw` gives a random number in [0, 1); `lose` takes what is lost, be it
    /// this packet or another.
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    );

    /// The transmitter is free: the packet that it sends now, marked or not; `None` when nothing
    /// waits.
    fn dequeue(
        &mut self,
        now: Time,
        draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued>;

    /// Packets and bytes that wait.
    fn backlog(&self) -> (u32, u64);

    /// Bytes of memory that it keeps beside the packets themselves and the parameters.
    fn state_bytes(&self) -> usize;
}

/// One line per scheduler.
macro_rules! schedulers {
    ($($module:ident::$name:ident($params:ident);)+) => {
        $(pub use $module::{$name, $params};)+

        /// The packets in front of a transmitter, in whatever order they are served.
        #[derive(Clone, Debug)]
        pub enum Scheduler {
            /// First come, first served; an AQM and a differentiation judge arrivals.
            Fifo(Fifo),
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($name),)+
        }

        choices! {
            /// Which packet is sent next.
            pub enum SchedulerParams as Scheduler in Scheduler by Discipline {
                /// First come, first served.
                Fifo = "fifo";
                $($name($params);)+
            }
        }

        impl Scheduler {
            /// The scheduler of these parameters, with nothing waiting; `None` for first come, first
            /// served, which needs a judge ([`Scheduler::fifo`]).
            pub fn new(params: SchedulerParams, place: &Place) -> Option<Self> {
                match params {
                    SchedulerParams::Fifo => None,
                    $(SchedulerParams::$name(params) => {
                        Some(Scheduler::$name($name::new(params, place)))
                    })+
                }
            }
        }

        /// Does the same with whatever scheduler it is.
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
    dual_host::DualHost(DualHostParams);
    rfc6057::Rfc6057(Rfc6057Params);
    declared_congestion::DeclaredCongestion(DeclaredCongestionParams);
}

impl Scheduler {
    /// First come, first served.
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

    /// The price that it asks of the packet that arrived last, or left, if it asks any.
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
    use crate::units::Rate;

    /// A transmitter that sends nothing.
    pub(crate) const IDLE: TransmitterState =
        TransmitterState { now: Time::ZERO, idle: Span::ZERO, in_transmission: Bytes::ZERO };

    /// A place for so many packets.
    pub(crate) fn place(packets: u32) -> Place {
        Place {
            capacity: Capacity { packets, bytes: u64::MAX },
            rate: Rate::mbps(10),
            packet: Bytes::new(1500),
            price_encoding: None,
        }
    }

    /// The packet that leaves now, where nothing is drawn or lost.
    pub(crate) fn take(discipline: &mut impl Discipline, now: Time) -> Option<Queued> {
        discipline.dequeue(now, || panic!("draws nothing"), |_, _| panic!("loses nothing"))
    }

    /// Handles in the order in which they leave.
    pub(crate) fn served(discipline: &mut impl Discipline) -> Vec<u32> {
        let next = || take(discipline, Time::ZERO).map(|packet| packet.handle);
        core::iter::from_fn(next).collect()
    }

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
