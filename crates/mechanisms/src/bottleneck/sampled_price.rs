//! Common part of REM's price rules: samples of the queue and of its arrival rate, and the signalling of the price.
//!
//! Samples are evaluated when the next packet arrives, with the queue as of their time, which is known: this covers
//! idle times, too, and needs no timer.

use core::marker::PhantomData;

use super::{Arrival, ManageQueue, Moment, Place};
use crate::mechanism::About;
use crate::parameters::{ParameterError, Parameters};
use crate::price::Encoding;
use crate::units::{Bytes, QueueLength, Span, Time};

/// Reason why no differentiation works on a price.
pub(super) const ONE_FOR_ALL: &str =
    "asks all packets the same price, and sources pay what they like";

/// A price rule: parameters that define how λ is computed from a sample.
pub trait PriceRule: Parameters {
    /// Description for the registry.
    const ENTRY: About;

    /// Returns the rule, γ per packet, and the time between two samples.
    fn rule(&self) -> (Rule, f64, Span);
}

/// A queue that signals the price of a rule to arriving packets.
#[derive(Clone, Debug)]
pub struct PriceQueue<R> {
    price: SampledPrice,
    encoding: Encoding,
    rule: PhantomData<R>,
}

impl<R: PriceRule> ManageQueue for PriceQueue<R> {
    type Params = R;

    const ABOUT: About = R::ENTRY;

    const LOOKS_BETWEEN: bool = true;

    const UNDIFFERENTIATED: Option<&'static str> = Some(ONE_FOR_ALL);

    const ASKS_PRICE: Option<Moment> = Some(Moment::Arrival);

    fn new(params: R, place: &Place) -> Result<Self, ParameterError> {
        let (rule, gamma, interval) = params.rule();
        let price = SampledPrice::new(rule, gamma, interval, place)?;
        let encoding = place.price_encoding()?;
        Ok(PriceQueue { price, encoding, rule: PhantomData })
    }

    #[inline]
    fn catch_up(&mut self, now: Time, waits: impl FnMut(Time) -> (u32, u64)) {
        self.price.catch_up(now, waits);
    }

    #[inline]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        self.price.on_arrival(arrival.now, arrival.len);
        self.encoding.mark_probability(self.price.get())
    }

    #[inline]
    fn price(&self) -> Option<f64> {
        Some(self.price.get())
    }

    fn state_bytes(&self) -> usize {
        size_of::<SampledPrice>()
    }
}

/// Price of a link, and its inputs.
#[derive(Clone, Debug)]
pub(super) struct SampledPrice {
    rule: Rule,
    gamma: f64,
    unit: Unit,
    interval: Span,
    /// Capacity c, packets per sample.
    capacity: f64,
    /// Mean packet size, bytes.
    packet: f64,
    next_sample: Time,
    /// Bytes that have arrived since the last sample.
    arrived: u64,
    /// Estimated arrival rate ŷ, packets per sample.
    rate: f64,
    /// Price λ.
    price: f64,
}

/// Computation of λ from a sample.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Rule (5.2.3), with the weight δ of a new sample of the rate.
    Pc1 {
        /// Weight δ.
        weight: f64,
    },
    /// Rule (5.2.4).
    Pc2 {
        /// Target b₀.
        target: QueueLength,
    },
    /// Rule (5.2.5).
    Pc3 {
        /// Weight of the queue, α.
        alpha: f64,
        /// Target b₀.
        target: QueueLength,
        /// Weight δ.
        weight: f64,
    },
}

/// Unit of the queue length; results are always in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Packets,
    Bytes,
}

impl Rule {
    fn unit(self) -> Unit {
        match self {
            Rule::Pc2 { target: QueueLength::Bytes(_) }
            | Rule::Pc3 { target: QueueLength::Bytes(_), .. } => Unit::Bytes,
            _ => Unit::Packets,
        }
    }
}

/// Returns the key and the reason if the buffer cannot hold a target, which would never be reached.
pub(super) fn validate(target: QueueLength, place: &Place) -> Option<ParameterError> {
    let (fits, room) = match target {
        QueueLength::Packets(packets) => {
            (packets < place.capacity.packets, QueueLength::Packets(place.capacity.packets))
        }
        QueueLength::Bytes(bytes) => (
            bytes.get() < place.capacity.bytes,
            QueueLength::Bytes(Bytes::new(place.capacity.bytes)),
        ),
    };
    (!fits).then(|| ("target", format!("{target} is not below the buffer, {room}")))
}

impl SampledPrice {
    /// Returns the price before the first packet; γ is per packet.
    pub(super) fn new(
        rule: Rule,
        gamma: f64,
        interval: Span,
        place: &Place,
    ) -> Result<Self, ParameterError> {
        if let Rule::Pc2 { target } | Rule::Pc3 { target, .. } = rule
            && let Some(error) = validate(target, place)
        {
            return Err(error);
        }
        let packet = place.packet.as_f64();
        Ok(SampledPrice {
            unit: rule.unit(),
            rule,
            gamma,
            interval,
            capacity: place.rate.as_bytes_per_sec() * interval.as_secs() / packet,
            packet,
            next_sample: Time::ZERO + interval,
            arrived: 0,
            rate: 0.0,
            price: 0.0,
        })
    }

    /// Returns λ of the last sample.
    #[inline]
    pub(super) fn get(&self) -> f64 {
        self.price
    }

    /// Handles an arrival, after all samples before it.
    #[inline]
    pub(super) fn on_arrival(&mut self, now: Time, len: Bytes) {
        if self.next_sample <= now {
            self.skip(now);
        }
        self.arrived += len.get();
    }

    /// Takes the samples due until `now`, with the packets waiting at each. At rest no samples are needed until the
    /// next arrival, regardless of reads of the price.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Time, mut waits: impl FnMut(Time) -> (u32, u64)) {
        while self.next_sample <= now {
            let (packets, bytes) = waits(self.next_sample);
            let backlog = match self.unit {
                Unit::Packets => f64::from(packets),
                Unit::Bytes => bytes as f64 / self.packet,
            };
            if backlog == 0.0 && self.is_at_rest() {
                return;
            }
            self.sample(backlog);
            self.next_sample += self.interval;
        }
    }

    /// Whether the price stays at 0 without arrivals.
    fn is_at_rest(&self) -> bool {
        self.price == 0.0 && self.arrived == 0 && self.rate <= self.capacity
    }

    /// Skips the samples of a time at rest.
    #[cold]
    fn skip(&mut self, now: Time) {
        let samples = now.since(self.next_sample).as_nanos() / self.interval.as_nanos() + 1;
        self.rate *= libm::pow(1.0 - self.weight(), samples as f64);
        self.next_sample += self.interval * samples;
    }

    fn weight(&self) -> f64 {
        match self.rule {
            Rule::Pc1 { weight } | Rule::Pc3 { weight, .. } => weight,
            Rule::Pc2 { .. } => 1.0,
        }
    }

    fn sample(&mut self, b: f64) {
        let packets = core::mem::take(&mut self.arrived) as f64 / self.packet;
        let weight = self.weight();
        self.rate = (1.0 - weight) * self.rate + weight * packets;
        let (excess, gamma) = (self.rate - self.capacity, self.gamma);
        self.price = match self.rule {
            Rule::Pc1 { .. } => self.price + gamma * excess,
            Rule::Pc2 { target } => gamma * (b - self.target(target)),
            Rule::Pc3 { alpha, target, .. } => {
                self.price + gamma * (alpha * (b - self.target(target)) + excess)
            }
        }
        .max(0.0);
    }

    #[inline]
    fn target(&self, target: QueueLength) -> f64 {
        match target {
            QueueLength::Packets(packets) => f64::from(packets),
            QueueLength::Bytes(bytes) => bytes.as_f64() / self.packet,
        }
    }
}

#[cfg(test)]
#[path = "sampled_price_tests.rs"]
mod tests;
