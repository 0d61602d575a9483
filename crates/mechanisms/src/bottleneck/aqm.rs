//! Interface of AQMs, which measure how congested a queue is.

use super::{Arrival, Head, Moment, Place, Signal, falls};
use crate::mechanism::About;
use crate::parameters::{ParameterError, Parameters, choices};
use crate::units::Time;

/// AQM: a method to measure how congested a queue is.
pub trait ManageQueue: Sized {
    /// Parameters.
    type Params: Parameters;

    /// Description for the registry.
    const ABOUT: About;

    /// Whether it needs departures, by [`ManageQueue::dequeue`].
    const SEES_DEPARTURES: bool = false;

    /// Whether it is updated between arrivals and departures, by [`ManageQueue::catch_up`].
    const LOOKS_BETWEEN: bool = false;

    /// Whether it has thresholds to stretch, by [`ManageQueue::stretched_probability`].
    const HAS_THRESHOLDS: bool = false;

    /// Whether its signal is a price, and at which moment packets get it: then nothing is dropped for it, and packets
    /// that are not ECN-capable pass. A price that is not a mark is written into packets by the reader of
    /// [`ManageQueue::price`].
    const ASKS_PRICE: Option<Moment> = None;

    /// Reason why no differentiation is possible on it, if none is.
    const UNDIFFERENTIATED: Option<&'static str> = None;

    /// Returns the AQM before the first packet. Fails with the key and the reason if the parameters, valid by
    /// themselves, do not fit the place.
    fn new(params: Self::Params, place: &Place) -> Result<Self, ParameterError>;

    /// Updates the AQM at all times due until `now`, each before other events at that time. `waits` returns the packets
    /// and bytes waiting at a time, without the one in transmission, and is called with increasing times only. Called
    /// before every arrival and departure, and before the price is read.
    #[inline]
    fn catch_up(&mut self, now: Time, waits: impl FnMut(Time) -> (u32, u64)) {
        let _ = (now, waits);
    }

    /// Returns the signal probability of an average packet. Called once for every arrival.
    fn probability(&mut self, arrival: &Arrival) -> f64;

    /// Returns log₂ of `p`, which [`ManageQueue::probability`] has just returned for this arrival.
    #[inline]
    fn log2(&self, p: f64, arrival: &Arrival) -> f64 {
        let _ = arrival;
        libm::log2(p)
    }

    /// Whether a signal at the last probability is a forced one (see [`Signal::Forced`]).
    #[inline]
    fn is_forced(&self) -> bool {
        false
    }

    /// Returns the probability with all thresholds multiplied by `stretch`, and that with its own thresholds. Called in
    /// place of [`ManageQueue::probability`].
    #[inline]
    fn stretched_probability(&mut self, arrival: &Arrival, stretch: f64) -> (f64, f64) {
        let _ = stretch;
        let p = self.probability(arrival);
        (p, p)
    }

    /// Takes the verdict on the packet, for AQMs that space their signals or count passed packets.
    #[inline]
    fn on_verdict(&mut self, signalled: bool) {
        let _ = signalled;
    }

    /// Handles the loss of the packet just judged because the buffer was full. An AQM that spaces its signals counts
    /// this as one, as in ns-2.
    #[inline]
    fn on_overflow(&mut self) {
        self.on_verdict(true);
    }

    /// Returns the packet to send now, if there is one. `pop` takes packets from the front of the queue. `signal` gets
    /// those signalled at departure: it drops one (and returns `None`) or marks and returns it. `draw` returns a random
    /// number in [0, 1).
    #[inline]
    fn dequeue<P>(
        &mut self,
        now: Time,
        draw: impl FnMut() -> f64,
        mut pop: impl FnMut() -> Option<Head<P>>,
        signal: impl FnMut(P) -> Option<P>,
    ) -> Option<P> {
        let _ = (now, draw, signal);
        pop().map(|head| head.packet)
    }

    /// Returns the size of its per-packet state, without parameters and tables, bytes.
    fn state_bytes(&self) -> usize;

    /// Returns its average queue length, in its own unit.
    fn average_backlog(&self) -> Option<f64> {
        None
    }

    /// Returns the price for the last packet that arrived or left, if it has one.
    #[inline]
    fn price(&self) -> Option<f64> {
        None
    }
}

/// Declares the AQMs, one line each.
macro_rules! aqms {
    ($($module:ident::$name:ident($params:ident);)+) => {
        $(use super::$module::{$name, $params};)+

        /// How congested: the probability of a signal, for an average packet.
        #[derive(Clone, Debug)]
        pub enum Aqm {
            /// Never signals; packets are lost only when the buffer is full.
            DropTail,
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)+
        }

        choices! {
            /// AQM: how a queue signals congestion.
            pub enum AqmParams as Aqm in Bottleneck by ManageQueue {
                /// Loss only when the buffer is full.
                DropTail = "drop-tail";
                $($name($params);)+
            }
        }

        impl AqmParams {
            /// See [`ManageQueue::HAS_THRESHOLDS`].
            pub const fn has_thresholds(&self) -> bool {
                match self {
                    AqmParams::DropTail => false,
                    $(AqmParams::$name(_) => $name::HAS_THRESHOLDS,)+
                }
            }

            /// See [`ManageQueue::ASKS_PRICE`].
            pub const fn asks_price(&self) -> Option<Moment> {
                match self {
                    AqmParams::DropTail => None,
                    $(AqmParams::$name(_) => $name::ASKS_PRICE,)+
                }
            }

            /// See [`ManageQueue::UNDIFFERENTIATED`].
            pub const fn undifferentiated(&self) -> Option<&'static str> {
                match self {
                    AqmParams::DropTail => None,
                    $(AqmParams::$name(_) => $name::UNDIFFERENTIATED,)+
                }
            }
        }

        impl Aqm {
            /// Returns the AQM of these parameters in this place, before the first packet. See [`ManageQueue::new`].
            pub fn new(params: AqmParams, place: &Place) -> Result<Self, ParameterError> {
                Ok(match params {
                    AqmParams::DropTail => Aqm::DropTail,
                    $(AqmParams::$name(params) => Aqm::$name($name::new(params, place)?),)+
                })
            }

            /// See [`ManageQueue::SEES_DEPARTURES`].
            pub const fn sees_departures(&self) -> bool {
                match self {
                    Aqm::DropTail => false,
                    $(Aqm::$name(_) => $name::SEES_DEPARTURES,)+
                }
            }

            /// See [`ManageQueue::LOOKS_BETWEEN`].
            pub const fn looks_between(&self) -> bool {
                match self {
                    Aqm::DropTail => false,
                    $(Aqm::$name(_) => $name::LOOKS_BETWEEN,)+
                }
            }

            /// Whether its signal is a price: see [`ManageQueue::ASKS_PRICE`].
            #[inline]
            pub(super) const fn asks_price(&self) -> bool {
                match self {
                    Aqm::DropTail => false,
                    $(Aqm::$name(_) => $name::ASKS_PRICE.is_some(),)+
                }
            }
        }

        /// Dispatches to the AQM.
        macro_rules! each {
            ($self:expr, drop_tail => $drop_tail:expr, $own:ident => $what:expr) => {
                match $self {
                    Aqm::DropTail => $drop_tail,
                    $(Aqm::$name($own) => $what,)+
                }
            };
        }
    };
}

aqms! {
    piecewise_linear::PiecewiseLinear(PiecewiseLinearParams);
    red::Red(RedParams);
    adaptive_red::AdaptiveRed(AdaptiveRedParams);
    csfq::Csfq(CsfqParams);
    pie::Pie(PieParams);
    codel::Codel(CodelParams);
    pc1::Pc1(Pc1Params);
    pc2::Pc2(Pc2Params);
    pc3::Pc3(Pc3Params);
    virtual_queue::VirtualQueue(VirtualQueueParams);
    sbrm_queue::SbrmQueue(SbrmQueueParams);
}

/// Adaptation of an AQM's probability to a packet, for probabilities other than 0 and 1.
pub(super) trait Bend {
    /// Draws whether an event of the adapted probability happens. `log2_p` is the binary logarithm of `p`.
    fn falls(self, p: f64, log2_p: f64, draw: impl FnMut() -> f64) -> bool;
}

#[inline(never)]
fn signal_bent<A: ManageQueue>(
    aqm: &mut A,
    arrival: &Arrival,
    bend: impl Bend,
    draw: impl FnMut() -> f64,
) -> Signal {
    let p = aqm.probability(arrival);
    let signalled = match p > 0.0 && p < 1.0 {
        true => bend.falls(p, aqm.log2(p, arrival), draw),
        false => falls(p, draw),
    };
    aqm.on_verdict(signalled);
    signal_of(signalled, aqm.is_forced(), || A::ASKS_PRICE.is_some())
}

#[inline(always)]
fn signal_of(signalled: bool, forced: bool, asks_price: impl FnOnce() -> bool) -> Signal {
    match (signalled, forced) {
        (false, _) => Signal::None,
        (true, false) if asks_price() => Signal::Price,
        (true, false) => Signal::Congestion,
        (true, true) => Signal::Forced,
    }
}

impl Aqm {
    /// See [`ManageQueue::catch_up`].
    #[inline]
    pub fn catch_up(&mut self, now: Time, waits: impl FnMut(Time) -> (u32, u64)) {
        each!(self, drop_tail => (), own => own.catch_up(now, waits));
    }

    /// See [`ManageQueue::probability`].
    #[inline(always)]
    pub fn probability(&mut self, arrival: &Arrival) -> f64 {
        each!(self, drop_tail => 0.0, own => own.probability(arrival))
    }

    /// Returns the verdict on a packet of probability `p`, and reports it to the AQM.
    #[inline(always)]
    pub(super) fn signal(&mut self, p: f64, draw: impl FnMut() -> f64) -> Signal {
        let signalled = falls(p, draw);
        self.on_verdict(signalled);
        signal_of(signalled, self.is_forced(), || self.asks_price())
    }

    /// Returns the verdict on an arrival with an adapted probability. Dispatches once, so that the whole processing of
    /// a packet is one function.
    #[inline(always)]
    pub(super) fn signal_bent(
        &mut self,
        arrival: &Arrival,
        bend: impl Bend,
        draw: impl FnMut() -> f64,
    ) -> Signal {
        each!(
            self,
            drop_tail => Signal::None,
            own => signal_bent(own, arrival, bend, draw)
        )
    }

    /// See [`ManageQueue::is_forced`].
    #[inline(always)]
    pub(super) fn is_forced(&self) -> bool {
        each!(self, drop_tail => false, own => own.is_forced())
    }

    /// See [`ManageQueue::stretched_probability`].
    #[inline]
    pub(super) fn stretched_probability(&mut self, arrival: &Arrival, stretch: f64) -> (f64, f64) {
        each!(
            self,
            drop_tail => (0.0, 0.0),
            own => ManageQueue::stretched_probability(own, arrival, stretch)
        )
    }

    /// See [`ManageQueue::on_verdict`].
    #[inline]
    pub fn on_verdict(&mut self, signalled: bool) {
        each!(self, drop_tail => (), own => own.on_verdict(signalled));
    }

    /// See [`ManageQueue::on_overflow`].
    #[inline]
    pub(super) fn on_overflow(&mut self) {
        each!(self, drop_tail => (), own => own.on_overflow());
    }

    /// See [`ManageQueue::dequeue`].
    #[inline]
    pub(super) fn dequeue<P>(
        &mut self,
        now: Time,
        draw: impl FnMut() -> f64,
        mut pop: impl FnMut() -> Option<Head<P>>,
        signal: impl FnMut(P) -> Option<P>,
    ) -> Option<P> {
        each!(
            self,
            drop_tail => pop().map(|head| head.packet),
            own => own.dequeue(now, draw, pop, signal)
        )
    }

    /// See [`ManageQueue::state_bytes`].
    pub fn state_bytes(&self) -> usize {
        each!(self, drop_tail => 0, own => own.state_bytes())
    }

    /// See [`ManageQueue::price`].
    #[inline]
    pub(super) fn price(&self) -> Option<f64> {
        each!(self, drop_tail => None, own => own.price())
    }

    /// See [`ManageQueue::average_backlog`].
    pub(super) fn average_backlog(&self) -> Option<f64> {
        each!(self, drop_tail => None, own => own.average_backlog())
    }
}
