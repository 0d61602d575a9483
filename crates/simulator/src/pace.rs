//! Transmission times of packets at a constant rate.

use tidegate_mechanisms::units::{NANOS_PER_SEC, Rate, Span};

/// [`Rate::transmission_time`] without a division, which would take as long as a dozen other operations.
///
/// Division by d is multiplication by m = ⌈2ᵏ / d⌉ and a shift by k bits. The relative error of m, less than d / 2ᵏ,
/// does not affect quotients of numbers below 2ᵏ / d (Granlund and Montgomery, "Division by invariant integers using
/// multiplication", 1994, theorem 4.2). Numbers are scaled by four, so that k is at least 64 even at 1 bit/s.
#[derive(Clone, Copy)]
pub struct Pace {
    /// Multiplier m.
    pub reciprocal: u64,
    /// Shift k − 64.
    pub shift: u8,
}

impl Pace {
    /// Returns the pace of a rate.
    ///
    /// # Panics
    ///
    /// If the rate is zero, or more than 2⁵⁸ bit/s.
    pub fn new(rate: Rate) -> Self {
        let rate_bps = rate.as_bps();
        assert!((1..=1 << 58).contains(&rate_bps), "{rate_bps} bit/s");
        let shift = rate_bps.next_power_of_two().trailing_zeros();
        let reciprocal = (1u128 << (64 + shift)).div_ceil(u128::from(4 * rate_bps)) as u64;
        Pace { reciprocal, shift: shift as u8 }
    }

    /// Returns the transmission time of at least one byte, rounded up: ⌈n / d⌉ is ⌊(n − 1) / d⌋ + 1.
    #[inline(always)]
    pub fn transmission_time(self, len: u16) -> Span {
        debug_assert!(len > 0);
        let number = u64::from(len) * (4 * 8 * NANOS_PER_SEC) - 4;
        let product = u128::from(number) * u128::from(self.reciprocal);
        Span::from_nanos(((product >> 64) as u64 >> self.shift) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidegate_mechanisms::units::Bytes;

    fn both(bps: u64, len: u16) -> (Span, Span) {
        let rate = Rate::from_bps(bps);
        let exact = rate.transmission_time(Bytes::new(len.into()));
        (Pace::new(rate).transmission_time(len), exact)
    }

    #[test]
    fn even_the_slowest_and_the_fastest_link_take_the_time_that_they_should() {
        let powers = (0..=58).map(|power| 1u64 << power);
        let near = powers.flat_map(|power: u64| [power - 1, power, power + 1]);
        for bps in near.chain(1..1000) {
            for len in [1, 40, 1499, 1500, u16::MAX] {
                if (1..=1 << 58).contains(&bps) {
                    let (time, exact) = both(bps, len);
                    assert_eq!(time, exact, "{len} bytes at {bps} bit/s");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn multiplying_is_dividing(bps in 1..1u64 << 40, len in 1..=u16::MAX) {
            let (time, exact) = both(bps, len);
            prop_assert_eq!(time, exact);
        }

        /// Integer quotients are where an error would show first.
        #[test]
        fn whole_numbers_stay_what_they_are(ns in 1..1u64 << 20, len in 1..=u16::MAX) {
            let bps = (u64::from(len) * 8 * NANOS_PER_SEC).div_ceil(ns);
            let (time, exact) = both(bps, len);
            prop_assert_eq!(time, exact);
        }
    }
}
