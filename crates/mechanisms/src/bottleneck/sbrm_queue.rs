//! SBRM's queue, single bit resource marking: a packet that leaves is marked with a probability that grows
//! exponentially with the queue behind it.
//! S. Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP networks",
//! dissertation, 2005, section 5.4.2.
//!
//! ```text
//! m = 1 − exp(−λ)                 per packet that leaves       base e, whatever price_encoding says
//! λ = γ max(0, b − b₀)            b as it leaves it            (5.4.1)
//! ```
//!
//! Since unmarked shares multiply, prices add along a path, as with REM, and nobody has to agree on a base. With
//! `price` "pc1" or "pc3" λ is the price of [that rule](pc3.md) instead (types 24 and 26 of table 5.4.2), as of the
//! last sample.
//!
//! Packets are judged as they leave, so that news of the queue does not wait in it. What is not ECN-capable passes
//! unmarked; nothing is dropped. The queue is what waits, without the packet that leaves.

use super::sampled_price::{ONE_FOR_ALL, Rule, SampledPrice, misfit};
use super::{Arrival, Head, ManageQueue, Moment, Place, falls};
use crate::parameters::{Mistake, too_short};
use crate::price::Encoding;
use crate::registry::About;
use crate::units::{Factor, QueueLength, Share, Span, Time};
use crate::{parameters, words};

parameters! {
    /// Single bit resource marking: packets that leave are marked with a probability that grows with the queue.
    pub struct SbrmQueueParams {
        /// γ: price of a packet above the target; with "pc1" and "pc3" the step of the price.
        pub gamma: Factor,
        /// b₀: queue to aim at, packets or bytes. "pc1" has none.
        pub target: QueueLength,
        /// Of what the probability is made.
        pub price: SbrmPrice = "queue",
        /// α: weight of the queue beside the rate, with "pc3".
        pub alpha: Factor = "0.1",
        /// δ: weight of a new sample in the estimate of the rate, with "pc1" and "pc3".
        pub weight: Share = "0.9",
        /// T: how often the price is computed, with "pc1" and "pc3".
        pub interval: Span = "1 ms",
    }
    check takes_time;
}

words! {
    /// Of what the probability is made.
    pub enum SbrmPrice {
        /// The queue above the target, at the moment (5.4.1).
        Queue = "queue",
        /// The price of rule PC1.
        Pc1 = "pc1",
        /// The price of rule PC3.
        Pc3 = "pc3",
    }
}

fn takes_time(params: &SbrmQueueParams) -> Vec<Mistake> {
    too_short(&[("interval", params.interval)])
}

/// State of one queue.
#[derive(Clone, Debug)]
pub struct SbrmQueue {
    gamma: f64,
    target: QueueLength,
    /// Size of an average packet, bytes.
    packet: f64,
    /// λ, where it is not the queue's at the moment.
    sampled: Option<SampledPrice>,
    /// λ of the packet that left last.
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
        text: include_str!("sbrm_queue.rs"),
    };

    const SEES_DEPARTURES: bool = true;

    const LOOKS_BETWEEN: bool = true;

    const UNDIFFERENTIATED: Option<&'static str> = Some(ONE_FOR_ALL);

    const ASKS_PRICE: Option<Moment> = Some(Moment::MarkedDeparture);

    fn new(params: SbrmQueueParams, place: &Place) -> Result<Self, Mistake> {
        let SbrmQueueParams { gamma: Factor(gamma), target, price, alpha, weight, interval } =
            params;
        let rule = match price {
            SbrmPrice::Queue => None,
            SbrmPrice::Pc1 => Some(Rule::Pc1 { weight: weight.0 }),
            SbrmPrice::Pc3 => Some(Rule::Pc3 { alpha: alpha.0, target, weight: weight.0 }),
        };
        if let (None, Some(mistake)) = (&rule, misfit(target, place)) {
            return Err(mistake);
        }
        let sampled =
            rule.map(|rule| SampledPrice::new(rule, gamma, interval, place)).transpose()?;
        let packet = place.packet.as_f64();
        Ok(SbrmQueue { gamma, target, packet, sampled, price: 0.0 })
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
        _now: Time,
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
        if falls(probability, draw) { signal(packet) } else { Some(packet) }
    }

    #[inline]
    fn price(&self) -> Option<f64> {
        Some(self.price)
    }

    fn state_bytes(&self) -> usize {
        size_of::<f64>() + self.sampled.as_ref().map_or(0, |_| size_of::<SampledPrice>())
    }
}

impl SbrmQueue {
    /// max(0, b − b₀), packets.
    #[inline]
    fn above_target(&self, packets: u32, bytes: u64) -> f64 {
        match self.target {
            QueueLength::Packets(target) => f64::from(packets.saturating_sub(target)),
            QueueLength::Bytes(target) => bytes.saturating_sub(target.get()) as f64 / self.packet,
        }
    }
}
