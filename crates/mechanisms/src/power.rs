//! Powers of two by a table and a polynomial: identical on every machine, and fast enough for every packet.
//!
//! ```text
//! x = k + i/256 + z      k whole, 0 ≤ i < 256, |z| ≤ 1/512
//! 2ˣ = 2ᵏ · 2^(i/256) · 2ᶻ      2ᶻ = 1 + z ln 2 + (z ln 2)²/2! + (z ln 2)³/3! + (z ln 2)⁴/4!
//! ```
//!
//! The truncation error of the polynomial is (z ln 2)⁵/5! < 4 · 10⁻¹⁷, less than rounding. No operations are fused, and
//! the table is computed by the compiler, so that results do not depend on the platform.

use core::f64::consts::LN_2;

const STEPS: usize = 256;
const POWERS: [f64; STEPS] = powers();
/// Adding this number to an exponent drops its bits below 1/256: the last bits of the sum are 256 k + i.
const ROUND: f64 = (3u64 << 51) as f64 / STEPS as f64;
/// Exponent below which results are zero.
const NOTHING: f64 = -1075.0;
/// Smallest exponent with a normal result.
const LEAST: f64 = -1022.0;
const MOST: f64 = 1023.0;
/// Bound of |x| for normal results, checked by a single comparison.
const CERTAIN: f64 = 1022.0;

/// Returns 2ˣ with a relative error of 10⁻¹⁵.
#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    if x.abs() <= CERTAIN { normal(x) } else { other(x) }
}

/// Steps per unit of the line in [`bounds`].
const FINE: f64 = (1 << 20) as f64;
/// As [`ROUND`], for the steps of the line.
const ROUND_FINE: f64 = (3u64 << 51) as f64 / FINE;
/// Lower bound of 2ˣ relative to the line through the powers of two at the adjacent integers, which lies above 2ˣ.
const BELOW: f64 = 0.942;
/// Upper bound of the line's error by its discrete steps.
const ABOVE: f64 = 1.000_001;

/// Returns bounds of 2ˣ, for |x| up to 1000, in a few instructions: the line through the adjacent powers of two, which
/// is the bit pattern of a floating-point number, and 0.942 of it.
#[inline(always)]
pub fn bounds(x: f64) -> (f64, f64) {
    let steps = (x + ROUND_FINE).to_bits() << 32;
    let line = f64::from_bits(steps.wrapping_add(1023 << 52));
    (line * BELOW, line * ABOVE)
}

/// Returns [`exp2`] if the result is a normal number.
#[inline(always)]
fn normal(x: f64) -> f64 {
    let rounded = x + ROUND;
    let z = (x - (rounded - ROUND)) * LN_2;
    let steps = rounded.to_bits();
    let power = POWERS[steps as usize % STEPS];
    let scale = f64::from_bits((steps / STEPS as u64 + 1023) << 52);
    let beyond_one = z * (1.0 + z * 0.5) + (z * z) * (z * (1.0 / 6.0 + z * (1.0 / 24.0)));
    (power + power * beyond_one) * scale
}

/// Returns subnormal numbers, zero, infinity, and NaN.
#[cold]
fn other(x: f64) -> f64 {
    match x {
        LEAST..=MOST => normal(x),
        _ if x <= NOTHING => 0.0,
        _ => libm::exp2(x),
    }
}

/// Returns the table of 2^(i/256), by the series of the exponential function, summed from the smallest terms.
const fn powers() -> [f64; STEPS] {
    let mut powers = [1.0; STEPS];
    let mut i = 0;
    while i < STEPS {
        // For numbers up to √2, so that few terms are needed; the upper half is twice that of −x.
        let upper = i > STEPS / 2;
        let steps = if upper { i as f64 - STEPS as f64 } else { i as f64 };
        let x = steps / STEPS as f64 * LN_2;
        let (mut sum, mut term) = (0.0, 20.0);
        while term >= 1.0 {
            sum = (1.0 + sum) * x / term;
            term -= 1.0;
        }
        powers[i] = if upper { 2.0 * (1.0 + sum) } else { 1.0 + sum };
        i += 1;
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_powers_are_exact() {
        for k in -1022..=1023 {
            assert_eq!(exp2(f64::from(k)), libm::exp2(f64::from(k)), "2^{k}");
        }
    }

    /// A probability just above zero takes a random number, one of zero takes none.
    #[test]
    fn what_is_not_normal_is_that_of_the_libm() {
        let x =
            [f64::NEG_INFINITY, -1e6, -1075.0, -1074.9, -1050.5, -1022.1, 1023.5, 1024.0, 1e300];
        assert_eq!(x.map(exp2), x.map(libm::exp2));
        assert!(exp2(f64::NAN).is_nan());
    }

    #[test]
    fn each_entry_of_the_table_is_right() {
        for (i, power) in POWERS.iter().enumerate() {
            let want = libm::exp2(i as f64 / STEPS as f64);
            assert!((power / want - 1.0).abs() < 4e-16, "2^({i}/{STEPS})");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn it_agrees_with_the_libm(x in -1022.0..1023.0) {
            prop_assert!((exp2(x) / libm::exp2(x) - 1.0).abs() < 1e-15, "2^{x}");
        }

        #[test]
        fn it_lies_within_its_bounds(x in -1000.0..1000.0) {
            for x in [x, x / 1000.0, libm::floor(x)] {
                let (power, (least, most)) = (exp2(x), bounds(x));
                prop_assert!(least < power && power < most && most < 1.07 * least, "2^{x}");
            }
        }

        #[test]
        fn near_zero_it_agrees_too(x in -1e-3..1e-3) {
            prop_assert!((exp2(x) - libm::exp2(x)).abs() < 1e-15, "2^{x}");
        }
    }
}
