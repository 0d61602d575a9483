//! SBRM's queue, single bit resource marking: a departing packet is marked with a probability that grows exponentially
//! with the queue behind it. S. Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control
//! for future IP networks", dissertation, 2005, section 5.4.2.
//!
//! ```text
//! m = 1 − exp(−λ)                 per packet that leaves       base e, whatever price_encoding says
//! λ = γ max(0, b − b₀)            b as it leaves it            (5.4.1)
//! ```
//!
//! Since unmarked shares multiply, prices add along a path, as with REM, without a common base. With `price` "pc1" or
//! "pc3", λ is the price of [that rule](pc3.md) instead (types 24 and 26 of table 5.4.2), as of the last sample.
//!
//! The equilibrium queue grows with the total payment of flows: (1 − m) Σw = m c, so that b − b₀ = ln(1 + Σw/c)/γ. With
//! `excess`, γ follows an estimate of Σw from the marks that the queue itself sets, and b − b₀ is e for any payment:
//!
//! ```text
//! m̂ ← m̂ + Δt/T (m − m̂)           per packet that leaves       Δt since the last, T at most
//! Σw/c = m̂/(1 − m̂)                1 − m̂ at least 1/2n         n = max(1, c T), packets that T has time for
//! γ = max(γ₀, ln(1 + Σw/c)/e)     e the excess                 γ₀ `gamma`, the least
//! ```
//!
//! If all of n packets are marked, no finite price explains the share of marks. It therefore counts as if half a packet
//! had not been marked, as for a source that reads a price from marks: the total payment is taken to be at most 2n − 1
//! times the link's rate, and γ is never infinite.
//!
//! This estimate is an addition: the dissertation leaves γ to the operator.
//!
//! Packets are judged at departure, so that signals do not wait in the queue. Packets that are not ECN-capable pass
//! unmarked; nothing is dropped. The queue is the waiting packets, without the departing one.

use super::sampled_price::{ONE_FOR_ALL, Rule, SampledPrice, validate};
use super::{Arrival, Head, ManageQueue, Moment, Place, falls};
use crate::mechanism::About;
use crate::parameters::{ParameterError, too_short};
use crate::price::Encoding;
use crate::units::{Bytes, Factor, QueueLength, Share, Span, Time};
use crate::{parameters, words};

parameters! {
    /// Single bit resource marking: departing packets are marked with a probability that grows with the queue.
    pub struct SbrmQueueParams {
        /// γ: price of a packet above the target, with `excess` the least; with "pc1" and "pc3" the step of the price.
        pub gamma: Factor,
        /// b₀: target queue, packets or bytes. "pc1" has none.
        pub target: QueueLength,
        /// Price that determines the marking probability.
        pub price: SbrmPrice = "queue",
        /// α: weight of the queue beside the rate, with "pc3".
        pub alpha: Factor = "0.1",
        /// δ: weight of a new sample in the estimate of the rate, with "pc1" and "pc3".
        pub weight: Share = "0.9",
        /// T: interval of the price's computation, with "pc1" and "pc3".
        pub interval: Span = "1 ms",
        /// e: excess over the target at which the queue settles for any payment of flows. Default: γ decides.
        pub excess: Option<QueueLength>,
        /// T: averaging time of the share of marks, with `excess`.
        pub estimate_over: Span = "1 s",
    }
    check fit_together;
}

words! {
    /// Price that determines the marking probability.
    pub enum SbrmPrice {
        /// Present queue above the target (5.4.1).
        Queue = "queue",
        /// The price of rule PC1.
        Pc1 = "pc1",
        /// The price of rule PC3.
        Pc3 = "pc3",
    }
}

fn fit_together(params: &SbrmQueueParams) -> Vec<ParameterError> {
    let mut errors =
        too_short(&[("interval", params.interval), ("estimate_over", params.estimate_over)]);
    if let Some(excess) = params.excess {
        if matches!(excess, QueueLength::Packets(0) | QueueLength::Bytes(Bytes::ZERO)) {
            errors.push((
                "excess",
                "is nothing: no price is asked there; write e.g. \"10 packets\"".to_owned(),
            ));
        }
        if params.price != SbrmPrice::Queue {
            let message = "applies only where `price` is \"queue\"; the other prices have a target of their own";
            errors.push(("excess", message.to_owned()));
        }
    }
    errors
}

/// State of one queue.
#[derive(Clone, Debug)]
pub struct SbrmQueue {
    gamma: f64,
    target: QueueLength,
    /// Mean packet size, bytes.
    packet: f64,
    /// Estimate that γ follows, with `excess`.
    estimate: Option<Estimate>,
    /// Sampled price λ, if it is not the present queue's.
    sampled: Option<SampledPrice>,
    /// Price λ of the last departure.
    price: f64,
}

impl ManageQueue for SbrmQueue {
    type Params = SbrmQueueParams;

    const ABOUT: About = About {
        name: "sbrm-queue",
        title: "SBRM's queue",
        source: "Zimmermann 2005, section 5.4.2",
        usage: r#"bottleneck.aqm = { kind = "sbrm-queue", gamma = 0.01706, target = "30 packets" }"#,
        file: "bottleneck/sbrm_queue.rs",
        text: crate::mechanism::source_text!("sbrm_queue.rs"),
    };

    const SEES_DEPARTURES: bool = true;

    const LOOKS_BETWEEN: bool = true;

    const UNDIFFERENTIATED: Option<&'static str> = Some(ONE_FOR_ALL);

    const ASKS_PRICE: Option<Moment> = Some(Moment::MarkedDeparture);

    fn new(params: SbrmQueueParams, place: &Place) -> Result<Self, ParameterError> {
        let SbrmQueueParams {
            gamma: Factor(gamma), target, price, alpha, weight, interval, ..
        } = params;
        let rule = match price {
            SbrmPrice::Queue => None,
            SbrmPrice::Pc1 => Some(Rule::Pc1 { weight: weight.0 }),
            SbrmPrice::Pc3 => Some(Rule::Pc3 { alpha: alpha.0, target, weight: weight.0 }),
        };
        if let (None, Some(error)) = (&rule, validate(target, place)) {
            return Err(error);
        }
        let sampled =
            rule.map(|rule| SampledPrice::new(rule, gamma, interval, place)).transpose()?;
        let packet = place.packet.as_f64();
        let estimate =
            params.excess.map(|excess| Estimate::new(&params, in_packets(excess, packet), place));
        Ok(SbrmQueue { gamma, target, packet, estimate, sampled, price: 0.0 })
    }

    #[inline]
    fn catch_up(&mut self, now: Time, waits: impl FnMut(Time) -> (u32, u64)) {
        if let Some(sampled) = &mut self.sampled {
            sampled.catch_up(now, waits);
        }
    }

    #[inline]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        if let Some(sampled) = &mut self.sampled {
            sampled.on_arrival(arrival.now, arrival.len);
        }
        0.0
    }

    #[inline]
    fn dequeue<P>(
        &mut self,
        now: Time,
        draw: impl FnMut() -> f64,
        mut pop: impl FnMut() -> Option<Head<P>>,
        mut signal: impl FnMut(P) -> Option<P>,
    ) -> Option<P> {
        let Head { packet, backlog_packets, backlog_bytes, .. } = pop()?;
        self.price = match &self.sampled {
            Some(sampled) => sampled.get(),
            None => self.gamma * self.above_target(backlog_packets, backlog_bytes),
        };
        let probability = Encoding::NATURAL.mark_probability(self.price);
        if let Some(estimate) = &mut self.estimate {
            self.gamma = estimate.gamma_after(probability, now);
        }
        if falls(probability, draw) { signal(packet) } else { Some(packet) }
    }

    #[inline]
    fn price(&self) -> Option<f64> {
        Some(self.price)
    }

    fn state_bytes(&self) -> usize {
        let of_rule = self.sampled.as_ref().map_or(0, |_| size_of::<SampledPrice>());
        let of_estimate = self.estimate.as_ref().map_or(0, |_| size_of::<Estimate>());
        size_of::<f64>() + of_rule + of_estimate
    }
}

impl SbrmQueue {
    /// Returns max(0, b − b₀), packets.
    #[inline]
    fn above_target(&self, packets: u32, bytes: u64) -> f64 {
        match self.target {
            QueueLength::Packets(target) => f64::from(packets.saturating_sub(target)),
            QueueLength::Bytes(target) => bytes.saturating_sub(target.get()) as f64 / self.packet,
        }
    }
}

/// Estimate of the total payment of flows, from the marks that the queue has set.
#[derive(Clone, Debug)]
struct Estimate {
    /// Minimum γ₀.
    least: f64,
    /// Excess e, packets.
    excess: f64,
    /// Averaging time T.
    over: Span,
    /// Minimum unmarked share, 1/2n.
    least_unmarked: f64,
    /// Share of marks m̂, as of `at`.
    share: f64,
    at: Time,
}

impl Estimate {
    fn new(params: &SbrmQueueParams, excess: f64, place: &Place) -> Self {
        let (Factor(least), over) = (params.gamma, params.estimate_over);
        let packets = place.rate.as_bytes_per_sec() * over.as_secs() / place.packet.as_f64();
        let least_unmarked = 0.5 / packets.max(1.0);
        Estimate { least, excess, over, least_unmarked, share: 0.0, at: Time::ZERO }
    }

    /// Returns γ after the departure of a packet marked with this probability. ln(1 + Σw/c) = −ln(1 − m̂).
    #[inline]
    fn gamma_after(&mut self, probability: f64, now: Time) -> f64 {
        let elapsed = now.since(self.at).as_secs() / self.over.as_secs();
        self.at = now;
        self.share += elapsed.min(1.0) * (probability - self.share);
        let marked = self.share.min(1.0 - self.least_unmarked);
        (-libm::log1p(-marked) / self.excess).max(self.least)
    }
}

fn in_packets(length: QueueLength, packet: f64) -> f64 {
    match length {
        QueueLength::Packets(packets) => f64::from(packets),
        QueueLength::Bytes(bytes) => bytes.as_f64() / packet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    /// A queue of 1 Gb/s with a target of 10 packets, and an excess of `excess`.
    fn queue(excess: u32) -> SbrmQueue {
        let params = SbrmQueueParams {
            gamma: Factor(0.001),
            target: QueueLength::Packets(10),
            price: SbrmPrice::Queue,
            alpha: Factor(0.1),
            weight: Share(0.9),
            interval: Span::from_millis(1),
            excess: Some(QueueLength::Packets(excess)),
            estimate_over: Span::from_secs(1),
        };
        let capacity = crate::bottleneck::scheduler::Capacity { packets: 1_000, bytes: u64::MAX };
        let (rate, packet) = (Rate::from_bps(1_000_000_000), Bytes::new(1_500));
        SbrmQueue::new(params, &Place { capacity, rate, packet, price_encoding: None })
            .expect("fits")
    }

    /// Lets a packet leave `backlog` others behind after a millisecond. Returns its price.
    fn depart(queue: &mut SbrmQueue, now_ms: u64, backlog: u32) -> f64 {
        let now = Time::from_nanos(now_ms * 1_000_000);
        let (sojourn, backlog_bytes) = (Span::ZERO, 0);
        let head = Head { packet: (), sojourn, backlog_packets: backlog, backlog_bytes };
        queue.dequeue(now, || 1.0, || Some(head), Some);
        queue.price
    }

    /// Flows that pay Σw/c = 1 and 0.01 settle at a share of marks of Σw/(c + Σw). A queue of the target plus the
    /// excess gives exactly that price; a longer queue gives a higher one, so that it shrinks.
    #[test]
    fn the_queue_that_asks_what_flows_pay_is_the_excess_whatever_they_pay() {
        for paid in [1.0, 0.1] {
            let (mut queue, want) = (queue(20), libm::log1p(paid));
            // Flows react to the price at once: the queue is such that its price equals their payment.
            let mut backlog = 900.0;
            for now_ms in 1..20_000 {
                backlog = 10.0 + want / queue.gamma;
                depart(&mut queue, now_ms, backlog as u32);
            }
            assert!((backlog - 30.0).abs() < 1.0, "{paid}: {backlog}");
        }
    }

    /// With an averaging time below a packet's, only the last packet counts, as half marked at most, so that γ is at
    /// most ln 2/e. Then the queue becomes empty, and the price zero.
    #[test]
    fn the_price_is_finite_however_much_flows_pay() {
        let mut queue = queue(20);
        for (over_us, packets) in [(1, 1.0), (12, 1.0), (1_000_000, 83_333.3)] {
            queue.estimate.as_mut().expect("is there").over = Span::from_micros(over_us);
            queue.estimate.as_mut().expect("is there").least_unmarked = 0.5 / packets;
            for now_ms in 1..1_000 {
                let (price, most) =
                    (depart(&mut queue, now_ms, 900), libm::log(2.0 * packets) / 20.0);
                assert!(queue.gamma <= most + 1e-12, "{over_us} us: {} for {most}", queue.gamma);
                assert!(price.is_finite() && price >= 0.0, "{price}");
            }
            for now_ms in 1_000..1_100 {
                assert_eq!(depart(&mut queue, now_ms, 10), 0.0, "{over_us} us");
            }
        }
    }

    /// By hand: after a second at λ = 0.001 · 20 the share of marks is 0.0198 (1 − 1/e), far below γ₀ · 20.
    #[test]
    fn gamma_is_never_below_the_least() {
        let mut queue = queue(20);
        for now_ms in 1..1_000 {
            assert_eq!(depart(&mut queue, now_ms, 10), 0.0);
        }
        assert_eq!(queue.gamma, 0.001);
    }
}
