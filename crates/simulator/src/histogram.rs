//! Histogram of times with a relative resolution of one percent.
//!
//! Bins as in HdrHistogram (G. Tene), with two significant digits: 128 to each power of two, and below 256 ns
//! one for each. The library of that name finds the same bin; here it is found in a few instructions, since
//! every packet that a bottleneck accepts is counted, and every packet that reaches its receiver. No time is too
//! long for a bin of its own, and no bin is ever full.

use tidegate_mechanisms::units::Span;

/// Logarithm of the number of bins per power of two.
const BINS_BITS: u32 = 7;
/// Times below this have bins of their own, ns.
const LEAST: u64 = 2 << BINS_BITS;

/// How often times occurred.
#[derive(Clone, Default)]
pub struct Histogram {
    /// By bin, up to the longest time so far.
    counts: Vec<u64>,
}

/// Returns the bin of a time.
#[inline(always)]
fn bin_of(ns: u64) -> usize {
    let power = (ns | (LEAST - 1)).ilog2() - BINS_BITS;
    ((u64::from(power) << BINS_BITS) + (ns >> power)) as usize
}

/// Returns the longest time of a bin, ns.
fn last_of(bin: usize) -> u64 {
    let power = (bin >> BINS_BITS).saturating_sub(1);
    let first = ((bin - (power << BINS_BITS)) as u64) << power;
    first + ((1 << power) - 1)
}

impl Histogram {
    /// Counts a time.
    #[inline(always)]
    pub fn record(&mut self, time: Span) {
        let bin = bin_of(time.as_nanos());
        match self.counts.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.record_beyond(bin),
        }
    }

    /// Counts a time longer than all before.
    #[cold]
    #[inline(never)]
    fn record_beyond(&mut self, bin: usize) {
        self.counts.resize(bin + 1, 0);
        self.counts[bin] = 1;
    }

    /// Counts all times of another histogram.
    pub fn add(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// Resets all counts.
    pub fn reset(&mut self) {
        self.counts.fill(0);
    }

    /// Bins that are not empty, from the shortest: the longest time of each, and how many fell into it.
    pub fn bins(&self) -> impl Iterator<Item = (Span, u64)> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(bin, count)| (Span::from_nanos(last_of(bin)), *count))
    }

    /// Returns the longest time of the bin that contains the `share` quantile; `None` if nothing was counted.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let all: u64 = self.counts.iter().sum();
        let wanted = ((share * all as f64).ceil() as u64).max(1);
        let mut so_far = 0;
        let reached = |count: &u64| {
            so_far += count;
            so_far >= wanted
        };
        self.counts.iter().position(reached).map(|bin| Span::from_nanos(last_of(bin)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USUAL: Span = Span::from_secs(3_600);

    #[test]
    fn without_times_there_is_no_quantile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn no_time_is_too_long() {
        for time in [USUAL * 5, USUAL * 20_000, Span::from_nanos(u64::MAX)] {
            let mut times = Histogram::default();
            times.record(time);
            times.record(Span::from_secs(1));
            let longest = times.quantile(1.0).expect("there is one");
            assert!(longest >= time && longest.as_secs() < 1.01 * time.as_secs(), "{longest:?}");
            assert!(times.quantile(0.5).expect("there are two").as_secs() < 1.01);
        }
    }

    /// 2³³ + 1 times of one second, and as many of two: counts do not saturate.
    #[test]
    fn no_bin_is_ever_full() {
        let mut times = Histogram::default();
        let (one, two) = (Span::from_secs(1), Span::from_secs(2));
        for time in [one, two] {
            times.record(time);
            times.counts[bin_of(time.as_nanos())] = 1 << 33;
            times.record(time);
        }
        let counts = [one, two].map(|time| times.counts[bin_of(time.as_nanos())]);
        assert_eq!(counts, [(1 << 33) + 1; 2]);
        let seconds = |share| times.quantile(share).expect("there are some").as_secs().round();
        assert_eq!([0.49, 0.51].map(seconds), [1.0, 2.0]);
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_library(
            times in prop::collection::vec((0..40u32, 1..1u64 << 20), 1..300),
            share in 0.001..=1.0,
        ) {
            let mut ours = Histogram::default();
            let mut theirs = hdrhistogram::Histogram::<u32>::new_with_max(USUAL.as_nanos(), 2)
                .expect("bounds are valid");
            for (shift, bits) in times {
                let ns = (bits << 20 >> shift).min(USUAL.as_nanos());
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
