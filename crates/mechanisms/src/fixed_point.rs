//! Activity-based congestion management in whole numbers, for places without floating point: the
//! kernel's programs in `bpf/gateway`, whose `abc.h` computes the same to the last bit. Equation
//! numbers and letters are those of [`ingress::activity_meter`](crate::ingress::activity_meter) and
//! [`bottleneck::abc`](crate::bottleneck::abc), which have the same in floating point.
//!
//! A token bucket that fills at the rate R_r and may fall below zero is one number, the instant t₀
//! at which it is, or was, empty: F = min(B, R_r (t_now − t₀)). So a meter is one 64-bit word:
//!
//! ```text
//! A  = max(0, t₀ − t_now)/I                                  (1), (2)
//! t₀ ← max(t₀, t_now − B/R_r) + (L/R_r) 2^(−A)               (1), (3)
//! A_avg ← A_avg + (1 − w_A)(A − A_avg)                       (4)
//! −log₂ p_A = −log₂ p · 2^(−γ (A − A_avg))                   (5)
//! ```
//!
//! Formats: activities in 2⁻²⁴, the average in 2⁻³⁶, logarithms in 2⁻²⁴, times in nanoseconds. A
//! product of two factors stays below 2⁶³; the factors' bounds are with the constants. 2^(−x) for
//! 0 ≤ x < 1 is a polynomial of degree 4 that is off by at most 6 · 10⁻⁶ of itself.
//!
//! Against floating point: activities differ by less than 0.002 for users of up to 10 Gb/s, reference rates of
//! 1 kb/s to 1 Gb/s, inertias of 1 ms to 60 s (at least the time of a packet at the reference rate) and packets from
//! 60 B on; A_avg by less than 0.001 of the same activities; −log₂ p_A by less than 10⁻⁴ of itself plus 10⁻⁵ at the
//! same activities, for γ up to 10. Activities beyond 40 count as 40. A probability below 2⁻³² is zero.

use crate::ingress::activity_meter::ActivityMeterParams;
use crate::units::{Factor, Memory};

/// Bits of the fraction of an activity and of a logarithm.
pub const FRACTION_BITS: u32 = 24;
/// 1 in that format.
pub const ONE_Q24: u64 = 1 << FRACTION_BITS;
/// No activity is larger.
pub const MAX_ACTIVITY: u64 = 40;
/// −log₂ of a probability that counts as zero.
pub const NEVER_Q24: u64 = 40 << FRACTION_BITS;
/// Bytes beyond which a packet counts as one of this length: more than GSO makes.
pub const MAX_LEN: u64 = (1 << 18) - 1;

/// By so much at most a logarithm is scaled either way, as a power of two.
const MAX_SCALE_Q24: i64 = 30 << FRACTION_BITS;
/// Probabilities below 2⁻³² are no threshold for a random number of 32 bits.
const LEAST_Q24: u64 = 32 << FRACTION_BITS;
/// Of 2^(−x) = 1 − x (c₁ − x (c₂ − x (c₃ − x c₄))), in 2⁻³¹.
const POLYNOMIAL_Q31: [u64; 4] = [1_488_387_435, 514_383_481, 114_430_934, 14_693_064];

/// 2^(−x) in 2⁻³¹, for 0 ≤ x < 1 in 2⁻²⁴.
const fn exp2_minus_q31(x_q24: u64) -> u64 {
    let [c1, c2, c3, c4] = POLYNOMIAL_Q31;
    let sum = c3 - ((c4 * x_q24) >> 24);
    let sum = c2 - ((sum * x_q24) >> 24);
    let sum = c1 - ((sum * x_q24) >> 24);
    (1 << 31) - ((sum * x_q24) >> 24)
}

/// a times a factor of at most 1 in 2⁻³¹; a below 2⁶².
const fn scaled(a: u64, factor_q31: u64) -> u64 {
    (((a >> 32) * factor_q31) << 1) + (((a & 0xffff_ffff) * factor_q31) >> 31)
}

/// What a meter is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedMeter {
    /// 1/R_r, in 2⁻¹⁶ ns per byte. At most 2³⁹ (1 kb/s).
    pub ns_per_byte_q16: u64,
    /// 1/I, in 2⁻⁵⁰ per nanosecond.
    pub activity_per_ns_q50: u64,
    /// B/R_r.
    pub burst_ns: u64,
    /// Time that t₀ lies ahead of now at the largest activity: 40 I. Times this, `activity_per_ns_q50` is below 2⁵⁶.
    pub longest_ns: u64,
}

impl FixedMeter {
    /// Of these parameters. The granularity and the number of meters do not count.
    pub fn new(params: &ActivityMeterParams) -> Self {
        let bps = u128::from(params.reference_rate.as_bps().max(1));
        let inertia_ns = params.inertia.as_nanos().max(1);
        let rounded =
            |dividend: u128| ((dividend + bps / 2) / bps).min(u128::from(u64::MAX)) as u64;
        FixedMeter {
            ns_per_byte_q16: rounded((8_000_000_000u128) << 16).clamp(1, 1 << 39),
            // Rounded down, so that no activity is above the largest.
            activity_per_ns_q50: (1u64 << 50) / inertia_ns,
            burst_ns: rounded(u128::from(params.burst_allowance.get()) * 8_000_000_000),
            longest_ns: MAX_ACTIVITY.saturating_mul(inertia_ns),
        }
    }

    /// A, in 2⁻²⁴, of a word t₀.
    pub const fn activity_q24(&self, zero_ns: u64, now_ns: u64) -> u64 {
        let ahead_ns = zero_ns.saturating_sub(now_ns);
        let ahead_ns = if ahead_ns > self.longest_ns { self.longest_ns } else { ahead_ns };
        (ahead_ns * self.activity_per_ns_q50) >> 26
    }

    /// Meters a packet of `len` bytes: its activity in 2⁻²⁴, and the word after it.
    pub const fn on_packet(&self, zero_ns: u64, now_ns: u64, len: u64) -> (u64, u64) {
        let activity_q24 = self.activity_q24(zero_ns, now_ns);
        let latest_ns = now_ns + self.longest_ns;
        let earliest_ns = now_ns.saturating_sub(self.burst_ns);
        let zero_ns = if zero_ns < earliest_ns { earliest_ns } else { zero_ns };
        let zero_ns = if zero_ns > latest_ns { latest_ns } else { zero_ns };
        let len = if len > MAX_LEN { MAX_LEN } else { len };
        let fraction_q31 = exp2_minus_q31(activity_q24 & (ONE_Q24 - 1));
        let doublings = activity_q24 >> FRACTION_BITS;
        let step_ns = scaled(len * self.ns_per_byte_q16, fraction_q31) >> (16 + doublings);
        let zero_ns = zero_ns + step_ns;
        (activity_q24, if zero_ns > latest_ns { latest_ns } else { zero_ns })
    }
}

/// What a bottleneck's differentiation is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedAbc {
    /// γ, in 2⁻¹⁶. At most 1000.
    pub gamma_q16: u64,
    /// 1 − w_A, in 2⁻²⁰.
    pub weight_q20: u64,
}

impl FixedAbc {
    /// Of γ and w_A.
    pub fn new(gamma: Factor, activity_weight: Memory) -> Self {
        let rounded = |x: f64, bits: u32| libm::round(x * (1u64 << bits) as f64) as u64;
        FixedAbc {
            gamma_q16: rounded(gamma.0, 16),
            weight_q20: rounded(1.0 - activity_weight.0, 20),
        }
    }

    /// A_avg in 2⁻³⁶ after a packet of this activity (4).
    pub const fn observe(&self, average_q36: u64, activity_q24: u64) -> u64 {
        let difference = (activity_q24 << 12) as i64 - average_q36 as i64;
        (average_q36 as i64 + ((difference * self.weight_q20 as i64) >> 20)) as u64
    }

    /// −log₂ p_A in 2⁻²⁴ from −log₂ p (5).
    pub const fn bend(&self, minus_log2_p_q24: u64, activity_q24: u64, average_q36: u64) -> u64 {
        let above = (average_q36 >> 12) as i64 - activity_q24 as i64;
        let scale = (above * self.gamma_q16 as i64) >> 16;
        let scale = if scale > MAX_SCALE_Q24 {
            MAX_SCALE_Q24
        } else if scale < -MAX_SCALE_Q24 {
            -MAX_SCALE_Q24
        } else {
            scale
        };
        // 2^scale = 2^whole · 2^(−rest), with 0 ≤ rest < 1.
        let whole = (scale + (ONE_Q24 as i64 - 1)) >> FRACTION_BITS;
        let rest_q24 = ((whole << FRACTION_BITS) - scale) as u64;
        let minus_log2 = if minus_log2_p_q24 > NEVER_Q24 { NEVER_Q24 } else { minus_log2_p_q24 };
        let bent = scaled(minus_log2, exp2_minus_q31(rest_q24));
        let bent = if whole >= 0 { bent << whole } else { bent >> -whole };
        if bent > NEVER_Q24 { NEVER_Q24 } else { bent }
    }
}

/// −log₂ of a probability, in 2⁻²⁴; at most [`NEVER_Q24`], which is that of zero.
pub fn minus_log2_q24(p: f64) -> u64 {
    if p <= 0.0 || p.is_nan() {
        return NEVER_Q24;
    }
    let bits = libm::round(-libm::log2(p) * ONE_Q24 as f64).max(0.0);
    (bits as u64).min(NEVER_Q24)
}

/// A random number of 32 bits below this is a signal: 2³² times the probability.
pub const fn threshold(minus_log2_q24: u64) -> u64 {
    if minus_log2_q24 >= LEAST_Q24 {
        return 0;
    }
    (exp2_minus_q31(minus_log2_q24 & (ONE_Q24 - 1)) << 1) >> (minus_log2_q24 >> FRACTION_BITS)
}

/// −log₂ of k √p: the probability for senders whose window goes with 1/p, coupled to that of those
/// whose window goes with 1/√p (RFC 9332, k = 2).
pub const fn coupled(minus_log2_q24: u64, log2_k_q24: u64) -> u64 {
    (minus_log2_q24 >> 1).saturating_sub(log2_k_q24)
}

#[cfg(test)]
#[path = "fixed_point_tests.rs"]
mod tests;
