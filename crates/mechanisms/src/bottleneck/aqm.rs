//! The AQMs, behind one door.

use super::{AdaptiveRed, Arrival, Csfq, Pie, PieParams, PiecewiseLinear, Red, Signal, falls};
use crate::units::{Span, Time};

/// How congested: the probability of a signal, for an average packet.
#[derive(Clone, Debug)]
pub enum Aqm {
    /// Never signals; packets are lost only when the buffer is full.
    DropTail,
    /// A function of the queue length.
    PiecewiseLinear(PiecewiseLinear),
    /// Random early detection.
    Red(Red),
    /// RED that tunes itself.
    AdaptiveRed(AdaptiveRed),
    /// Core-stateless fair queueing: by the customer's rate.
    Csfq(Csfq),
    /// Proportional integral controller enhanced.
    Pie(Pie),
}

impl Aqm {
    /// The probability with which to signal on this packet. Called once for every arrival.
    #[inline(always)]
    pub fn probability(&mut self, arrival: &Arrival) -> f64 {
        match self {
            Aqm::DropTail => 0.0,
            Aqm::PiecewiseLinear(aqm) => aqm.probability(arrival.backlog_packets),
            Aqm::Red(red) => red.probability(arrival),
            Aqm::AdaptiveRed(red) => red.probability(arrival),
            Aqm::Csfq(csfq) => csfq.probability(arrival),
            Aqm::Pie(pie) => pie.probability(arrival),
        }
    }

    /// The verdict on a packet of probability `p`, which it is told.
    #[inline(always)]
    pub(super) fn signal(&mut self, p: f64, draw: impl FnMut() -> f64) -> Signal {
        let signalled = falls(p, draw);
        self.on_verdict(signalled);
        match (signalled, self.is_forced()) {
            (false, _) => Signal::None,
            (true, false) => Signal::Congestion,
            (true, true) => Signal::Forced,
        }
    }

    /// log₂ of `p`, which [`Aqm::probability`] has just returned; looked up where a table has it.
    #[inline]
    pub(super) fn log2(&self, p: f64, arrival: &Arrival) -> f64 {
        match self {
            Aqm::PiecewiseLinear(aqm) => aqm.log2_probability(arrival.backlog_packets),
            _ => libm::log2(p),
        }
    }

    /// Whether a signal at the last probability was a forced one (see [`super::Signal::Forced`]).
    #[inline]
    pub(super) fn is_forced(&self) -> bool {
        match self {
            Aqm::DropTail | Aqm::PiecewiseLinear(_) => false,
            Aqm::Red(red) => red.is_forced(),
            Aqm::AdaptiveRed(red) => red.is_forced(),
            // A mark would not take anything from a customer's rate.
            Aqm::Csfq(_) => true,
            Aqm::Pie(pie) => pie.is_forced(),
        }
    }

    /// The probability with RED's thresholds multiplied by `stretch`, and that at its own. An AQM
    /// without thresholds to stretch gives its own twice.
    #[inline]
    pub(super) fn stretched_probability(&mut self, arrival: &Arrival, stretch: f64) -> (f64, f64) {
        match self {
            Aqm::Red(red) => (red.stretched_probability(arrival, stretch), red.plain_probability()),
            Aqm::AdaptiveRed(red) => {
                (red.stretched_probability(arrival, stretch), red.plain_probability())
            }
            _ => {
                let p = self.probability(arrival);
                (p, p)
            }
        }
    }

    /// Bytes that it remembers from packet to packet, parameters and tables apart.
    pub fn state_bytes(&self) -> usize {
        match self {
            Aqm::DropTail | Aqm::PiecewiseLinear(_) => 0,
            Aqm::Red(_) => Red::STATE_BYTES,
            Aqm::AdaptiveRed(_) => AdaptiveRed::STATE_BYTES,
            Aqm::Csfq(csfq) => csfq.state_bytes(),
            Aqm::Pie(_) => size_of::<Pie>() - size_of::<PieParams>(),
        }
    }

    /// Tells the AQM what became of the packet, for those that space their signals or count what
    /// they let pass.
    #[inline]
    pub fn on_verdict(&mut self, signalled: bool) {
        match self {
            Aqm::DropTail | Aqm::PiecewiseLinear(_) => {}
            Aqm::Red(red) => red.on_verdict(signalled),
            Aqm::AdaptiveRed(red) => red.on_verdict(signalled),
            Aqm::Csfq(csfq) => csfq.on_verdict(signalled),
            Aqm::Pie(pie) => pie.on_verdict(signalled),
        }
    }

    /// Tells that the packet just judged was lost because the buffer was full. An AQM that spaces
    /// its signals counts this as one, as in ns-2.
    #[inline]
    pub(super) fn on_overflow(&mut self) {
        match self {
            Aqm::Csfq(csfq) => csfq.on_overflow(),
            _ => self.on_verdict(true),
        }
    }

    /// Whether it has to be told of departures, by [`super::Judge::on_departure`].
    pub fn needs_departures(&self) -> bool {
        matches!(self, Aqm::Pie(_))
    }

    /// A packet has left the queue after `sojourn`; `backlog_packets` wait behind it.
    #[inline]
    pub(super) fn on_departure(&mut self, now: Time, sojourn: Span, backlog_packets: u32) {
        if let Aqm::Pie(pie) = self {
            pie.on_departure(now, sojourn, backlog_packets);
        }
    }

    /// The queue length that the AQM has averaged, in its own unit.
    pub(super) fn average_backlog(&self) -> Option<f64> {
        match self {
            Aqm::Red(red) => Some(red.average()),
            Aqm::AdaptiveRed(red) => Some(red.average()),
            Aqm::DropTail | Aqm::PiecewiseLinear(_) | Aqm::Csfq(_) | Aqm::Pie(_) => None,
        }
    }
}
