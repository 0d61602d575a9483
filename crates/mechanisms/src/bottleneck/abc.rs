//! Activity-based congestion management (ABC), the part at the bottleneck: a signal falls on
//! packets of users that exceed their reference rate by more than the others do.
//! M. Menth and N. Zeitler, "Activity-Based Congestion Management", section 3.3; equation numbers
//! from there.
//!
//! Every packet carries the activity A that the meter at its ingress has measured. The bottleneck
//! averages the activity of all arriving packets and bends the probability p of its AQM:
//!
//! ```text
//! A_avg ← w_A A_avg + (1 − w_A) A       per arriving packet    (4)
//! p_A   = p^(2^(−γ (A − A_avg)))                               (5)
//! ```
//!
//! A packet of average activity sees p; one whose activity is higher by 1/γ sees √p. At p = 0 or 1 packets cannot be
//! differentiated, so ABC has no effect on an AQM whose probability jumps from 0 to 1 (the paper's Table 4, first row).
//!
//! Not specified by the paper: A_avg starts at 0, and is updated before the packet is judged; packets without activity
//! count as activity 0.

use super::aqm::{Aqm, Bend};
use super::{Arrival, Differentiate, Signal, falls};
use crate::mechanism::About;
use crate::parameters;
use crate::power::{bounds, exp2};
use crate::units::{Factor, Memory};

parameters! {
    /// Activity-based congestion management: more likely on packets of users whose activity is above
    /// the average.
    pub struct AbcParams {
        /// Differentiation factor γ: how strongly activity matters; 0 is not at all.
        pub gamma: Factor = "3.0",
        /// Weight w_A of the past in the moving average of activity.
        pub activity_weight: Memory = "0.99",
    }
}

/// Limits of the range in which bounds are used: of the steepness, and of log₂ p_A.
const STEEPEST: f64 = 500.0;
const LEAST_LOG2: f64 = -900.0;
const MOST_LOG2: f64 = -1e-6;

/// State of ABC at one queue.
#[derive(Clone, Debug)]
pub struct Abc {
    params: AbcParams,
    /// Moving average of activity, A_avg.
    average: f64,
}

impl Differentiate for Abc {
    type Params = AbcParams;

    const ABOUT: About = About {
        name: "abc",
        title: "Activity-based congestion management (ABC)",
        source: "Menth and Zeitler, Activity-Based Congestion Management, section 3.3",
        usage: r#"bottleneck.differentiation = { kind = "abc" }"#,
        file: "bottleneck/abc.rs",
        text: crate::mechanism::source_text!("abc.rs"),
    };

    fn new(params: AbcParams) -> Self {
        Abc { params, average: 0.0 }
    }

    #[inline(never)]
    fn signal(&mut self, aqm: &mut Aqm, arrival: &Arrival, draw: impl FnMut() -> f64) -> Signal {
        let activity = f64::from(arrival.activity);
        self.observe(activity);
        aqm.signal_bent(arrival, ByActivity { abc: self, activity }, draw)
    }

    /// Size of A_avg.
    fn state_bytes(&self) -> usize {
        size_of::<f64>()
    }

    fn average_activity(&self) -> Option<f64> {
        Some(self.average)
    }
}

/// Adapts the probability to a packet's activity.
struct ByActivity<'a> {
    abc: &'a Abc,
    activity: f64,
}

impl Bend for ByActivity<'_> {
    #[inline(always)]
    fn falls(self, p: f64, log2_p: f64, draw: impl FnMut() -> f64) -> bool {
        self.abc.falls(p, log2_p, self.activity, draw)
    }
}

impl Abc {
    /// Averages the activity of an arriving packet (4). Called for every arrival, for any p.
    #[inline]
    pub fn observe(&mut self, activity: f64) {
        let w_a = self.params.activity_weight.0;
        self.average = w_a * self.average + (1.0 - w_a) * activity;
    }

    /// Returns p_A of a packet (5), for 0 < p < 1. `log2_p` is log₂ p, so that a queue that has it tabulated needs only
    /// two powers of two per packet.
    #[inline(always)]
    pub fn adapt(&self, p: f64, log2_p: f64, activity: f64) -> f64 {
        let steepness = self.params.gamma.0 * (self.average - activity);
        // γ = 0, or a packet of exactly average activity: p itself, without rounding.
        if steepness == 0.0 {
            return p;
        }
        exp2(log2_p * exp2(steepness))
    }

    /// Draws whether a signal occurs with probability p_A. A random number is mostly far enough from p_A to be decided
    /// by bounds; the two dependent powers would take longer than the rest of the packet's processing.
    #[inline(always)]
    fn falls(&self, p: f64, log2_p: f64, activity: f64, mut draw: impl FnMut() -> f64) -> bool {
        let steepness = self.params.gamma.0 * (self.average - activity);
        if steepness == 0.0 || steepness.abs() > STEEPEST {
            return falls(self.adapt(p, log2_p, activity), draw);
        }
        // log₂ p_A lies between these bounds.
        let (least, most) = bounds(steepness);
        let (low, high) = (log2_p * most, log2_p * least);
        // Otherwise p_A may be 0 or 1, which need no random number.
        if low < LEAST_LOG2 || high > MOST_LOG2 {
            return falls(self.adapt(p, log2_p, activity), draw);
        }
        let drawn = draw();
        if drawn >= bounds(high).1 {
            return false;
        }
        drawn < bounds(low).0 || drawn < self.adapt(p, log2_p, activity)
    }

    /// The same with this A_avg.
    #[cfg(test)]
    pub(crate) fn with_average(self, average: f64) -> Self {
        Abc { average, ..self }
    }

    /// A_avg.
    pub fn average(&self) -> f64 {
        self.average
    }
}

/// Table 1 of the paper.
#[cfg(test)]
pub(super) const DEFAULTS: AbcParams =
    AbcParams { gamma: Factor(3.0), activity_weight: Memory(0.99) };

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn abc(gamma: f64, average: f64) -> Abc {
        Abc { params: AbcParams { gamma: Factor(gamma), ..DEFAULTS }, average }
    }

    fn adapted(gamma: f64, average: f64, p: f64, activity: f64) -> f64 {
        abc(gamma, average).adapt(p, libm::log2(p), activity)
    }

    #[test]
    fn a_packet_one_over_gamma_above_the_average_sees_the_square_root_and_below_it_the_square() {
        for p in [1e-6, 0.01, 0.5, 0.99] {
            assert!((adapted(2.0, 1.0, p, 1.5) - libm::sqrt(p)).abs() < 1e-12);
            assert!((adapted(2.0, 1.0, p, 0.5) - p * p).abs() < 1e-12);
        }
    }

    #[test]
    fn the_average_follows_a_step_by_the_power_of_the_weight() {
        let mut abc = abc(3.0, 0.0);
        for n in 1..=300 {
            abc.observe(2.5);
            let want = 2.5 * (1.0 - libm::pow(0.99, f64::from(n)));
            assert!((abc.average() - want).abs() < 1e-12, "after {n} packets");
        }
    }

    /// Section 4.3.2: scaling all reference rates by x shifts all activities by −log₂ x, which cancels.
    #[test]
    fn scaling_all_reference_rates_changes_nothing() {
        for shift in [-3.0, 0.7, 5.0] {
            let (here, there) =
                (adapted(3.0, 1.2, 0.1, 2.0), adapted(3.0, 1.2 + shift, 0.1, 2.0 + shift));
            assert!((here - there).abs() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn gamma_0_is_the_identity(p in 1e-9..1.0, average in 0.0..10.0, activity in 0.0..10.0) {
            prop_assert_eq!(adapted(0.0, average, p, activity), p);
        }

        #[test]
        fn a_probability_stays_a_probability(
            p in 1e-9..1.0, gamma in 0.0..10.0, average in 0.0..20.0, activity in 0.0..20.0,
        ) {
            prop_assert!((0.0..=1.0).contains(&adapted(gamma, average, p, activity)));
        }

        #[test]
        fn more_activity_never_lowers_the_probability(
            p in 1e-9..1.0, gamma in 0.0..5.0, average in 0.0..10.0, a in 0.0..10.0, b in 0.0..10.0,
        ) {
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            let slack = 1e-12; // exp2 is right to the last bit or so
            prop_assert!(adapted(gamma, average, p, low) <= adapted(gamma, average, p, high) + slack);
        }

        #[test]
        fn a_user_above_the_average_sees_at_least_p_one_below_at_most_p(
            p in 1e-9..1.0, gamma in 0.0..5.0, average in 0.0..10.0, activity in 0.0..10.0,
        ) {
            let p_a = adapted(gamma, average, p, activity);
            if activity > average {
                prop_assert!(p_a >= p * (1.0 - 1e-12));
            } else {
                prop_assert!(p_a <= p * (1.0 + 1e-12));
            }
        }

        /// Section 4.3.1: with another base b in the meter, activities are log_b instead of log₂; γ' = γ log₂ b
        /// compensates.
        #[test]
        fn the_base_of_the_meter_is_undone_by_gamma(
            p in 1e-6..1.0, base in 1.2..10.0, average in 0.0..5.0, activity in 0.0..5.0,
        ) {
            let log2_base = libm::log2(base);
            let with_two = adapted(3.0, average, p, activity);
            let with_base = adapted(3.0 * log2_base, average / log2_base, p, activity / log2_base);
            prop_assert!((with_two - with_base).abs() < 1e-9);
        }

        /// Bounds give the same decisions as p_A itself, and use the same number of random numbers.
        #[test]
        fn a_signal_falls_as_its_probability_says(
            log10_p in -300.0..0.0, gamma in 0.0..10.0, average in 0.0..10.0, activity in 0.0..10.0,
            draw in 0.0..1.0, near in -1e-9..1e-9,
        ) {
            let (abc, p) = (abc(gamma, average), libm::exp10(log10_p));
            let log2_p = libm::log2(p);
            let p_a = abc.adapt(p, log2_p, activity);
            for drawn in [draw, p_a * (1.0 + near), p_a * 2.0 * draw, p_a, 0.0] {
                let count = |draws: &mut u32| { *draws += 1; drawn };
                let (mut by_bounds, mut by_itself) = (0, 0);
                let fallen = abc.falls(p, log2_p, activity, || count(&mut by_bounds));
                prop_assert_eq!(fallen, falls(p_a, || count(&mut by_itself)));
                prop_assert_eq!(by_bounds, by_itself);
            }
        }

        /// The order of two users' probabilities depends only on their activities, not on the queue or the average.
        #[test]
        fn two_users_are_distinguished_by_a_fixed_exponent(
            p in 1e-3..0.999, average in 0.0..3.0, a in 0.0..3.0, difference in 0.0..2.0,
        ) {
            let (of_a, of_b) = (adapted(1.0, average, p, a), adapted(1.0, average, p, a + difference));
            let ratio = libm::log(of_a) / libm::log(of_b);
            prop_assert!((ratio / libm::exp2(difference) - 1.0).abs() < 1e-6);
        }
    }
}
