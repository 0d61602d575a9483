//! Selection of a video's quality by the price of its path.
//!
//! ```text
//! x ← x + κT (w - p x)                          with each frame, or with each of its packets       (7.3.1)
//! better if x > rate of the better · f_incr,  worse if x < own rate · f_decr,  at full frames     (7.3.2)
//! ```
//!
//! (T. Zimmermann's dissertation, section 7.3.2.) The target rate x starts at the rate of the worst quality.

use std::sync::Arc;

use tidegate_mechanisms::units::{Rate, Span, Time};
use tidegate_scenario::plan::{Increase, PriceAdaptation, Updates};

use crate::random::Stream;

/// Parameters shared by all streams of a video.
pub struct VideoRules {
    plan: PriceAdaptation,
    /// Rates of the qualities, bit/s.
    rates: Vec<f64>,
}

impl VideoRules {
    /// Returns the rules of a video whose worst quality has this rate.
    pub fn new(worst: Rate, plan: &PriceAdaptation) -> Arc<Self> {
        let better = plan.better.0.iter().map(|quality| quality.rate);
        let rates = core::iter::once(worst).chain(better);
        let rates = rates.map(|rate| rate.as_bps() as f64).collect();
        Arc::new(VideoRules { plan: plan.clone(), rates })
    }
}

/// Quality adaptation of one stream.
pub struct Adapter {
    rules: Arc<VideoRules>,
    quality: usize,
    is_stopped: bool,
    /// Target rate x, bit/s.
    target_bps: f64,
    /// Whether a better quality may be taken at random.
    may_increase: bool,
    /// Time since which a better quality is affordable.
    could_since: Option<Time>,
}

/// Next frame of a stream.
#[derive(Clone, Copy)]
pub struct Frame {
    /// Whether the quality can change at this frame.
    pub is_full: bool,
    /// Number of packets in the present quality.
    pub packets: usize,
    /// Send time.
    pub now: Time,
}

impl Adapter {
    /// Returns the adapter in the worst quality.
    pub fn new(rules: &Arc<VideoRules>) -> Self {
        Adapter {
            quality: 0,
            is_stopped: false,
            target_bps: rules.rates[0],
            may_increase: true,
            could_since: None,
            rules: Arc::clone(rules),
        }
    }

    /// Returns the target rate x, bit/s.
    pub fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// Returns the present quality, 0 the worst; `None` if nothing is sent.
    pub fn quality(&self) -> Option<usize> {
        (!self.is_stopped).then_some(self.quality)
    }

    /// Returns the quality of the next frame at this price of the path; `None` if the frame is not sent.
    pub fn choose(&mut self, frame: Frame, price: f64, random: &mut Stream) -> Option<usize> {
        let updates = match self.rules.plan.updates {
            Updates::EachFrame => 1,
            Updates::EachPacket => frame.packets,
        };
        for _ in 0..updates {
            self.update(price);
        }
        if frame.is_full {
            self.decide(frame.now, random);
        }
        self.quality()
    }

    /// Updates the target rate, (7.3.1).
    fn update(&mut self, price: f64) {
        let plan = &self.rules.plan;
        let willingness_bps = plan.willingness.as_bps() as f64;
        self.target_bps += plan.gain.0 * (willingness_bps - price * self.target_bps);
    }

    /// Selects the quality, (7.3.2).
    fn decide(&mut self, now: Time, random: &mut Stream) {
        let VideoRules { plan, rates } = &*self.rules;
        let (above, below) = (plan.increase_above.0, plan.decrease_below.0);
        let interrupts = plan.interrupts;
        let better = if self.is_stopped { 0 } else { self.quality + 1 };
        let rises = rates.get(better).is_some_and(|rate| self.target_bps > rate * above);
        let falls = !self.is_stopped && self.target_bps < rates[self.quality] * below;
        if !rises {
            self.could_since = None;
        }
        if rises && self.takes_better(now, random) {
            (self.quality, self.is_stopped) = (better, false);
        } else if falls && (self.quality > 0 || interrupts) {
            self.is_stopped = self.quality == 0;
            self.quality = self.quality.saturating_sub(1);
            self.may_increase = true;
        }
    }

    /// Whether an affordable better quality is taken. By (7.3.4) the flag is also cleared if the random decision is
    /// negative.
    fn takes_better(&mut self, now: Time, random: &mut Stream) -> bool {
        match &self.rules.plan.increase {
            Increase::Always => true,
            Increase::Random => {
                let may = core::mem::take(&mut self.may_increase);
                may && random.unit() < 0.5
            }
            Increase::Patient(patience) => {
                let since = *self.could_since.get_or_insert(now);
                let waited = now >= since + patience.wait;
                if waited {
                    self.could_since = None;
                }
                waited
            }
        }
    }
}

/// Metrics of qualities over all frames.
#[derive(Default)]
pub struct QualityReport {
    frames: u64,
    target_bps: f64,
    quality: f64,
    stopped: u64,
    changes: u64,
    price: f64,
}

impl QualityReport {
    /// Counts a frame, the quality before and after it, and the price.
    pub fn add(&mut self, before: Option<usize>, adapter: &Adapter, price: f64) {
        self.frames += 1;
        self.target_bps += adapter.target_bps();
        self.price += price;
        if adapter.quality() != before {
            self.changes += 1;
        }
        match adapter.quality() {
            Some(quality) => self.quality += quality as f64,
            None => self.stopped += 1,
        }
    }

    /// Reports means over the frames, which are `frame_interval` apart, and sums.
    pub fn metrics(&self, frame_interval: Span, each: &mut dyn FnMut(&'static str, f64)) {
        let frames = self.frames as f64;
        each("target_rate_bps", self.target_bps / frames);
        each("quality", self.quality / (frames - self.stopped as f64));
        each("quality_changes", self.changes as f64);
        each("stopped_s", self.stopped as f64 * frame_interval.as_secs());
        each("price", self.price / frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_mechanisms::parameters::{Choice, Tables};
    use tidegate_mechanisms::units::{Factor, Share, Step};
    use tidegate_scenario::plan::{Patience, Quality};

    /// An adapter whose willingness to pay is a tenth of the better of two rates, with a gain that settles at once.
    fn adapter(increase: Increase) -> Adapter {
        assert!(increase.errors().is_empty());
        let worst = Rate::from_bps(1_000_000);
        let plan = PriceAdaptation {
            better: Tables(vec![Quality { rate: Rate::from_bps(2_000_000) }]),
            willingness: Rate::from_bps(200_000),
            gain: Step(10.0),
            updates: Updates::EachFrame,
            increase_above: Factor(1.1),
            decrease_below: Factor(0.95),
            increase,
            interrupts: false,
            price_weight: Share(0.1),
            report_interval: Span::from_millis(100),
        };
        Adapter::new(&VideoRules::new(worst, &plan))
    }

    /// Returns the quality of a full frame at that second, if the target settles at once for this price.
    fn at(adapter: &mut Adapter, second: u64, price: f64) -> Option<usize> {
        let now = Time::ZERO + Span::from_millis(1_000 * second);
        let mut random = Stream::new(1, "adapter");
        adapter.target_bps = 200_000.0 / price;
        adapter.choose(Frame { is_full: true, packets: 1, now }, price, &mut random)
    }

    #[test]
    fn the_patient_take_a_better_quality_once_they_could_have_had_it_all_the_time() {
        let patience = Patience { wait: Span::from_millis(10_000) };
        let mut patient = adapter(Increase::Patient(patience));
        let (cheap, dear) = (0.05, 0.1);
        for second in 0..10 {
            assert_eq!(at(&mut patient, second, cheap), Some(0), "{second} s");
        }
        assert_eq!(at(&mut patient, 10, dear), Some(0), "a moment in which it could not");
        assert_eq!(at(&mut patient, 11, cheap), Some(0));
        assert_eq!(at(&mut patient, 20, cheap), Some(0));
        assert_eq!(at(&mut patient, 21, cheap), Some(1));
        assert_eq!(at(&mut patient, 22, 0.2), Some(0), "what is too dear is left at once");
    }

    #[test]
    fn a_stream_without_patience_takes_it_at_once() {
        assert_eq!(at(&mut adapter(Increase::Always), 0, 0.05), Some(1));
    }
}
