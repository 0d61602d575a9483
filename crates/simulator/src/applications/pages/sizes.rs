//! Sizes with a truncated Pareto distribution (S. Zimmermann's dissertation, 2005, section 5.6.4).
//!
//! ```text
//! density ∝ x^(−a−1)   from L to H                   with y = ln(x/L), ℓ = ln(H/L):  ∝ exp(−a y) from 0 to ℓ
//! mean    = L · g((1 − a) ℓ) / g(−a ℓ)               g(z) = (exp(z) − 1)/z
//! ```
//!
//! The exponent a is not printed; it follows from the mean, which decreases as a increases.

use tidegate_mechanisms::units::Bytes;

use crate::random::Stream;

/// Bound of |a|: sizes are then within a thousandth of the smallest, or of the largest for negative a.
const STEEPEST: f64 = 1e3;

/// Distribution of sizes between two limits with a given mean.
#[derive(Clone, Copy, Debug)]
pub struct PowerTail {
    smallest: f64,
    /// Exponent a.
    exponent: f64,
    /// Logarithm ℓ of the ratio of the largest to the smallest size.
    octaves: f64,
}

impl PowerTail {
    /// Returns the distribution between `smallest` and `largest`, with a mean between them.
    pub fn new(smallest: Bytes, mean: Bytes, largest: Bytes) -> Self {
        let octaves = libm::log(largest.as_f64() / smallest.as_f64());
        let mut sizes = PowerTail { smallest: smallest.as_f64(), exponent: 0.0, octaves };
        let (mut low, mut high) = (-STEEPEST, STEEPEST);
        for _ in 0..100 {
            sizes.exponent = (low + high) / 2.0;
            if sizes.mean() > mean.as_f64() {
                low = sizes.exponent;
            } else {
                high = sizes.exponent;
            }
        }
        sizes
    }

    fn mean(&self) -> f64 {
        let (above, below) = ((1.0 - self.exponent) * self.octaves, -self.exponent * self.octaves);
        self.smallest * libm::exp(log_of_g(above) - log_of_g(below))
    }

    /// Draws a size by inversion of the distribution function.
    pub fn draw(&self, random: &mut Stream) -> Bytes {
        let (share, steep) = (random.unit(), -self.exponent * self.octaves);
        let height = if steep.abs() < 1e-9 {
            share * self.octaves
        } else if steep < 0.0 {
            -libm::log1p(share * libm::expm1(steep)) / self.exponent
        } else {
            let below = share + (1.0 - share) * libm::exp(-steep);
            self.octaves - libm::log(below) / self.exponent
        };
        Bytes::new(libm::round(self.smallest * libm::exp(height)) as u64)
    }
}

/// Returns ln((exp(z) − 1)/z), for any z.
fn log_of_g(z: f64) -> f64 {
    if z.abs() < 1e-9 {
        0.0
    } else if z > 0.0 {
        z + libm::log(-libm::expm1(-z) / z)
    } else {
        libm::log(libm::expm1(z) / z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(smallest: u64, mean: u64, largest: u64) -> (PowerTail, Vec<u64>) {
        let sizes = PowerTail::new(Bytes::new(smallest), Bytes::new(mean), Bytes::new(largest));
        let mut random = Stream::new(3, "sizes");
        (sizes, (0..200_000).map(|_| sizes.draw(&mut random).get()).collect())
    }

    /// Solved by hand for 100 B to 10 MB with a mean of 10 kB: a = 0.6536. The median is then 288 B.
    #[test]
    fn the_dissertations_objects_have_an_exponent_of_two_thirds() {
        let (sizes, all) = drawn(100, 10_000, 10_000_000);
        assert!((sizes.exponent - 0.65355).abs() < 1e-5, "{}", sizes.exponent);
        let small = all.iter().filter(|size| **size <= 288).count() as f64 / 200_000.0;
        assert!((small - 0.5).abs() < 0.01, "{small}");
    }

    /// Means near the middle of the range, near the middle of its logarithm, and near either end.
    #[test]
    fn sizes_have_their_mean_and_stay_between_their_limits() {
        for (smallest, mean, largest) in [
            (100, 10_000, 10_000_000),
            (100, 5_050, 10_000),
            (1_000, 1_010, 100_000),
            (1_000, 99_000, 100_000),
            (1_000, 21_498, 100_000),
        ] {
            let (_, all) = drawn(smallest, mean, largest);
            let found = all.iter().sum::<u64>() as f64 / all.len() as f64;
            let off = found / mean as f64 - 1.0;
            assert!(off.abs() < 0.1, "{smallest}, {mean}, {largest}: {found}");
            assert!(all.iter().all(|size| (smallest..=largest).contains(size)));
        }
    }
}
