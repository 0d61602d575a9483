//! VQM, the virtual queue mechanism: a smaller and slower virtual queue only counts packets; from its overflow until it
//! is empty, every departing packet is marked. R. Gibbens, F. Kelly, "Resource pricing and the evolution of congestion
//! control", Automatica 35(12), 1999; S. Zimmermann, "Congestion pricing as scalable, efficient and stable congestion
//! control for future IP networks", dissertation, 2005, section 5.1.1.
//!
//! ```text
//! v ← max(0, v − f c Δt)                      c the link's rate
//! v ← v + L, if that is at most f q_max       per arriving packet of L bytes
//! overflow, if it is more                     λ = 1 from here on until v = 0, else λ = 0
//! ```
//!
//! The price is 1 or 0, encoded by `price_encoding`: "maximum" marks departures while it is 1, so that a packet is
//! marked or not, regardless of the number of marking links; "explicit" counts the links ("n bit").
//!
//! The packet that overflows the virtual queue is lost only there. All arrivals count, including those that the queue
//! itself drops.

use super::sampled_price::ONE_FOR_ALL;
use super::{Arrival, Head, ManageQueue, Moment, Place, falls};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::price::Encoding;
use crate::units::{QueueLength, Share, Time};

parameters! {
    /// Virtual queue: from the overflow of a smaller and slower virtual queue until it is empty, every packet is
    /// marked. Needs price_encoding.
    pub struct VirtualQueueParams {
        /// f: size and rate of the virtual queue, as a share of the queue's.
        pub scale: Share = "0.9",
        /// q_max: size of the queue. Default: the buffer.
        pub capacity: Option<QueueLength>,
    }
}

/// State of one virtual queue.
#[derive(Clone, Debug)]
pub struct VirtualQueue {
    /// Rate f c, bytes per nanosecond.
    rate: f64,
    /// Capacity f q_max, bytes.
    capacity: f64,
    encoding: Encoding,
    /// Level v, as of `at`.
    level: f64,
    at: Time,
    /// Whether it has overflowed since it was last empty.
    overflowed: bool,
}

impl ManageQueue for VirtualQueue {
    type Params = VirtualQueueParams;

    const ABOUT: About = About {
        name: "virtual-queue",
        title: "Virtual queue",
        source: "Gibbens and Kelly, Automatica 35(12), 1999; Zimmermann 2005, section 5.1.1",
        usage: r#"bottleneck.aqm = { kind = "virtual-queue", scale = 0.9, capacity = "300 packets" }"#,
        file: "bottleneck/virtual_queue.rs",
        text: crate::mechanism::source_text!("virtual_queue.rs"),
    };

    const SEES_DEPARTURES: bool = true;

    const UNDIFFERENTIATED: Option<&'static str> = Some(ONE_FOR_ALL);

    const ASKS_PRICE: Option<Moment> = Some(Moment::Departure);

    fn new(params: VirtualQueueParams, place: &Place) -> Result<Self, ParameterError> {
        let VirtualQueueParams { scale: Share(scale), capacity } = params;
        let packet = place.packet.get();
        let capacity = match capacity {
            Some(QueueLength::Packets(packets)) => u64::from(packets) * packet,
            Some(QueueLength::Bytes(bytes)) => bytes.get(),
            None => place.capacity.bytes.min(u64::from(place.capacity.packets) * packet),
        };
        Ok(VirtualQueue {
            rate: scale * place.rate.as_bytes_per_sec() / 1e9,
            capacity: scale * capacity as f64,
            encoding: place.price_encoding()?,
            level: 0.0,
            at: Time::ZERO,
            overflowed: false,
        })
    }

    #[inline]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        self.drain(arrival.now);
        let level = self.level + arrival.len.as_f64();
        if level > self.capacity {
            self.overflowed = true;
        } else {
            self.level = level;
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
        let packet = pop()?.packet;
        self.drain(now);
        let price = self.price().unwrap_or(0.0);
        if falls(self.encoding.mark_probability(price), draw) {
            signal(packet)
        } else {
            Some(packet)
        }
    }

    #[inline]
    fn price(&self) -> Option<f64> {
        Some(if self.overflowed { 1.0 } else { 0.0 })
    }

    fn state_bytes(&self) -> usize {
        size_of::<f64>() + size_of::<Time>() + size_of::<bool>()
    }
}

impl VirtualQueue {
    #[inline]
    fn drain(&mut self, now: Time) {
        let gone = self.rate * now.since(self.at).as_nanos() as f64;
        self.at = now;
        self.level = (self.level - gone).max(0.0);
        if self.level == 0.0 {
            self.overflowed = false;
        }
    }
}
