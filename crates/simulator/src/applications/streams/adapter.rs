//! Which quality of a video is sent, by the price of its path.
//!
//! ```text
//! x ← x + κT (w - p x)                          with each frame, or with each of its packets       (7.3.1)
//! better if x > rate of the better · f_incr,  worse if x < own rate · f_decr,  at full frames     (7.3.2)
//! ```
//!
//! (T. Zimmermann's dissertation, section 7.3.2.) The target rate x starts at that of the worst quality.

use std::sync::Arc;

use tidegate_mechanisms::units::{Rate, Span, Time};
use tidegate_scenario::plan::{Increase, PriceAdaptation, Updates};

use crate::random::Stream;

/// What all streams of a video have in common.
pub struct VideoRules {
    plan: PriceAdaptation,
    /// Of each quality, bit/s.
    rates: Vec<f64>,
}

impl VideoRules {
    /// Of a video whose worst quality has this rate.
    pub fn new(worst: Rate, plan: &PriceAdaptation) -> Arc<Self> {
        let better = plan.better.0.iter().map(|quality| quality.rate);
        let rates = core::iter::once(worst).chain(better);
        let rates = rates.map(|rate| rate.as_bps() as f64).collect();
        Arc::new(VideoRules { plan: plan.clone(), rates })
    }
}

/// A stream whose quality follows the price.
pub struct Adapter {
    rules: Arc<VideoRules>,
    quality: usize,
    is_stopped: bool,
    /// x, bit/s.
    target_bps: f64,
    /// A better quality may be taken at random.
    may_increase: bool,
    /// Since when a better quality could be taken.
    could_since: Option<Time>,
}

/// The next frame of a stream.
#[derive(Clone, Copy)]
pub struct Frame {
    /// Its quality can be another than that of the one before.
    pub is_full: bool,
    /// Packets of it in the present quality.
    pub packets: usize,
    /// When it is sent.
    pub now: Time,
}

impl Adapter {
    /// In the worst quality.
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

    /// x, bit/s.
    pub fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// The present one, 0 the worst; `None` if nothing is sent.
    pub fn quality(&self) -> Option<usize> {
        (!self.is_stopped).then_some(self.quality)
    }

    /// The quality of the next frame, at this price of the path; `None` if it is not sent.
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

    /// (7.3.1).
    fn update(&mut self, price: f64) {
        let plan = &self.rules.plan;
        let willingness_bps = plan.willingness.as_bps() as f64;
        self.target_bps += plan.gain.0 * (willingness_bps - price * self.target_bps);
    }

    /// (7.3.2).
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

    /// Whether a better quality that could be taken is. By (7.3.4) the flag is spent where the dice decide against
    /// it, too.
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

/// What is told at the end, over all frames.
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
    /// A frame for which a stream that had one quality has chosen another or the same, at this price.
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

    /// Means over the frames, which come so often, and sums.
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

    /// Willing to pay a tenth of the better of two qualities, with a gain that takes it there at once.
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

    /// The quality of a full frame at that second, if the target settles at once where this price has it.
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
