//! Times by how often they occur, to one part in a hundred.
//!
//! Bins as in HdrHistogram (G. Tene), with two significant digits: 128 to each power of two, and below 256 ns
//! one for each. The library of that name finds the same bin; here it is found in a few instructions, since
//! every packet that a bottleneck accepts is counted, and what is known anyway, extremes and the sum of all,
//! is not kept besides.

use tidegate_mechanisms::units::Span;

/// Bins of a power of two.
const BINS_BITS: u32 = 7;
/// Shorter times have bins of their own.
const LEAST: u64 = 2 << BINS_BITS;

/// How often times occurred that are no longer than an hour; longer ones count as that.
#[derive(Clone)]
pub struct Histogram(Vec<u32>);

/// The longest time that is told apart.
const MOST: Span = Span::from_secs(3_600);

/// The bin of a time.
#[inline(always)]
fn bin_of(ns: u64) -> usize {
    let power = (ns | (LEAST - 1)).ilog2() - BINS_BITS;
    ((u64::from(power) << BINS_BITS) + (ns >> power)) as usize
}

/// The longest time of a bin, ns.
fn last_of(bin: usize) -> u64 {
    let power = (bin >> BINS_BITS).saturating_sub(1);
    (((bin - (power << BINS_BITS) + 1) as u64) << power) - 1
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram(vec![0; bin_of(MOST.as_nanos()) + 1])
    }
}

impl Histogram {
    /// Counts a time.
    #[inline(always)]
    pub fn record(&mut self, time: Span) {
        let bin = bin_of(time.as_nanos()).min(self.0.len() - 1);
        self.0[bin] = self.0[bin].saturating_add(1);
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        self.0.fill(0);
    }

    /// The longest time of the bin in which this share of all, counted from the shortest, is reached;
    /// `None` if there is none.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let all: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        let wanted = ((share * all as f64).ceil() as u64).max(1);
        let mut so_far = 0;
        let reached = |count: &u32| {
            so_far += u64::from(*count);
            so_far >= wanted
        };
        self.0.iter().position(reached).map(|bin| Span::from_nanos(last_of(bin)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_times_there_is_no_quantile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn what_takes_longer_than_an_hour_counts_as_an_hour() {
        let mut times = Histogram::default();
        times.record(MOST * 5);
        let longest = times.quantile(1.0).expect("there is one");
        assert!(longest >= MOST && longest.as_secs() < 1.01 * MOST.as_secs(), "{longest:?}");
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_library(
            times in prop::collection::vec((0..40u32, 1..1u64 << 20), 1..300),
            share in 0.001..=1.0,
        ) {
            let mut ours = Histogram::default();
            let mut theirs = hdrhistogram::Histogram::<u32>::new_with_max(MOST.as_nanos(), 2)
                .expect("bounds are valid");
            for (shift, bits) in times {
                let ns = (bits << 20 >> shift).min(MOST.as_nanos());
                ours.record(Span::from_nanos(ns));
                theirs.saturating_record(ns);
            }
            for share in [share, 0.95, 0.99, 1.0] {
                let ours = ours.quantile(share).map(Span::as_nanos);
                prop_assert_eq!(ours, Some(theirs.value_at_quantile(share)));
            }
        }
    }
}
