//! Mean, quantiles and maximum of delays, in bounded memory.

use tidegate_mechanisms::units::Span;

use crate::histogram::Histogram;

/// Delays by how often they occur.
#[derive(Clone, Default)]
pub struct DelayStatistics {
    histogram: Histogram,
    sum_ns: u128,
    longest: Span,
}

impl DelayStatistics {
    /// One more.
    #[inline(always)]
    pub fn record(&mut self, delay: Span) {
        self.histogram.record(delay);
        self.sum_ns += u128::from(delay.as_nanos());
        if delay > self.longest {
            core::hint::cold_path();
            self.longest = delay;
        }
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        self.histogram.reset();
        (self.sum_ns, self.longest) = (0, Span::ZERO);
    }

    /// All of `parts` together.
    pub fn histogram_of(parts: &[DelayStatistics]) -> Histogram {
        let mut all = Histogram::default();
        parts.iter().for_each(|part| all.add(&part.histogram));
        all
    }

    /// See [`Self::summary_of`].
    pub fn summary(&self) -> [f64; 6] {
        Self::summary_of(&[(self, Span::ZERO)]).1
    }

    /// Of several together, each longer by a delay of its own: how many there are, then their mean, 50, 95, 99 and
    /// 99.9 % quantiles, and maximum, in seconds; NaN without any. A quantile is the upper end of its bin, up to
    /// 0.8 % too high, and never above the maximum. Mean and maximum are exact.
    pub fn summary_of(parts: &[(&DelayStatistics, Span)]) -> (u64, [f64; 6]) {
        let (mut bins, mut packets, mut sum_ns, mut longest) = (Vec::new(), 0, 0, Span::ZERO);
        for (part, more) in parts {
            let before = packets;
            for (last, count) in part.histogram.bins() {
                bins.push((last + *more, count));
                packets += count;
            }
            if packets > before {
                longest = longest.max(part.longest + *more);
            }
            sum_ns += part.sum_ns + u128::from(packets - before) * u128::from(more.as_nanos());
        }
        if packets == 0 {
            return (0, [f64::NAN; 6]);
        }
        bins.sort_unstable();
        let seconds = |span: Span| span.as_nanos() as f64 * 1e-9;
        let at = |share: f64| {
            let wanted = ((share * packets as f64).ceil() as u64).max(1);
            let mut so_far = 0;
            let reached = |(_, count): &&(Span, u64)| {
                so_far += count;
                so_far >= wanted
            };
            let (delay, _) = bins.iter().find(reached).expect("there is a packet");
            seconds((*delay).min(longest))
        };
        let mean = sum_ns as f64 / packets as f64 * 1e-9;
        (packets, [mean, at(0.5), at(0.95), at(0.99), at(0.999), seconds(longest)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Of delays in two parts, one of which is longer by a fixed delay.
        #[test]
        fn a_summary_is_within_a_hundredth_of_the_sorted_delays(
            delays in prop::collection::vec((any::<bool>(), 0..40u32, 1..1u64 << 40), 1..300),
            more in 0..1u64 << 30,
        ) {
            let mut parts = [DelayStatistics::default(), DelayStatistics::default()];
            let mut all = Vec::new();
            for (longer, shift, ns) in delays {
                let ns = ns >> shift;
                parts[usize::from(longer)].record(Span::from_nanos(ns));
                all.push(if longer { ns + more } else { ns });
            }
            all.sort_unstable();
            let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
            let at = |share: f64| all[(share * all.len() as f64).ceil() as usize - 1] as f64;
            let exact = [mean, at(0.5), at(0.95), at(0.99), at(0.999), at(1.0)];
            let [first, second] = &parts;
            let parts = [(first, Span::ZERO), (second, Span::from_nanos(more))];
            let (packets, found) = DelayStatistics::summary_of(&parts);
            prop_assert_eq!(packets, all.len() as u64);
            for (place, (found, exact)) in found.iter().zip(exact).enumerate() {
                let tolerance = if [0, 5].contains(&place) { 1e-12 } else { 0.01 };
                let exact_s = exact * 1e-9;
                prop_assert!((found - exact_s).abs() <= tolerance * exact_s, "{found} {exact_s}");
            }
        }
    }
}
