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
//! Where several CPUs forward, one A_avg for all costs a cache line that they fight for. With `meters` each meter averages
//! the packets of its customers, and at the end of each `merge_interval` all continue from their mean by packets. A packet is
//! judged by that mean, or by the average of its own meter.
//!
//! Not specified by the paper: A_avg starts at 0, and is updated before the packet is judged; packets without activity
//! count as activity 0.

use super::aqm::{Aqm, Bend};
use super::{Arrival, Differentiate, Signal, falls};
use crate::mechanism::About;
use crate::parameters::{ParameterError, too_short};
use crate::power::{bounds, exp2};
use crate::units::{Factor, Memory, Span, Time, Whole};
use crate::{parameters, words};

parameters! {
    /// Activity-based congestion management: more likely on packets of users whose activity is above
    /// the average.
    pub struct AbcParams {
        /// Differentiation factor γ: how strongly activity matters; 0 is not at all.
        pub gamma: Factor = "3.0",
        /// Weight w_A of the past in the moving average of activity.
        pub activity_weight: Memory = "0.99",
        /// Number of meters that keep the average, as one for each CPU; customers are spread over them.
        pub meters: Whole<1, 1000> = "1",
        /// With several meters: time after which they continue from their mean.
        pub merge_interval: Span = "16 ms",
        /// With several meters: the average by which packets are judged.
        pub judged_by: JudgedBy = "merged",
    }
    check AbcParams::errors;
}

words! {
    /// Which of several averages a packet is compared with.
    pub enum JudgedBy {
        /// The mean of all meters when they were last merged.
        Merged = "merged",
        /// The present average of the packet's own meter.
        Own = "own",
    }
}

impl AbcParams {
    fn errors(&self) -> Vec<ParameterError> {
        too_short(&[("merge_interval", self.merge_interval)])
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
    /// Several meters of it.
    meters: Option<Box<Meters>>,
}

/// Averages of several meters, which are merged now and then.
#[derive(Clone, Debug)]
struct Meters {
    /// Average of each, and packets since they were merged.
    own: Vec<(f64, u64)>,
    merged: f64,
    merge_at: Time,
}

impl Meters {
    fn new(count: u32) -> Self {
        Meters { own: vec![(0.0, 0); count as usize], merged: 0.0, merge_at: Time::ZERO }
    }

    /// Averages a packet's activity, and returns the average by which it is judged.
    fn observe(&mut self, params: &AbcParams, arrival: &Arrival, activity: f64) -> f64 {
        if arrival.now >= self.merge_at {
            self.merge();
            self.merge_at = arrival.now + params.merge_interval;
        }
        let place = arrival.user as usize % self.own.len();
        let (average, packets) = &mut self.own[place];
        let w_a = params.activity_weight.0;
        *average = w_a * *average + (1.0 - w_a) * activity;
        *packets += 1;
        match params.judged_by {
            JudgedBy::Merged => self.merged,
            JudgedBy::Own => *average,
        }
    }

    fn merge(&mut self) {
        let packets: u64 = self.own.iter().map(|(_, packets)| packets).sum();
        if packets == 0 {
            return;
        }
        let sum: f64 = self.own.iter().map(|(average, packets)| average * *packets as f64).sum();
        self.merged = sum / packets as f64;
        self.own.fill((self.merged, 0));
    }
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
        let count = params.meters.0;
        let meters = (count > 1).then(|| Box::new(Meters::new(count)));
        Abc { params, average: 0.0, meters }
    }

    #[inline(never)]
    fn signal(&mut self, aqm: &mut Aqm, arrival: &Arrival, draw: impl FnMut() -> f64) -> Signal {
        let activity = f64::from(arrival.activity);
        match &mut self.meters {
            None => self.observe(activity),
            Some(meters) => self.average = meters.observe(&self.params, arrival, activity),
        }
        aqm.signal_bent(arrival, ByActivity { abc: self, activity }, draw)
    }

    /// Size of A_avg.
    fn state_bytes(&self) -> usize {
        let of_meters = |meters: &Meters| size_of_val(&meters.own[..]) + size_of::<Time>();
        size_of::<f64>() + self.meters.as_deref().map_or(0, of_meters)
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
pub(crate) const DEFAULTS: AbcParams = AbcParams {
    gamma: Factor(3.0),
    activity_weight: Memory(0.99),
    meters: Whole(1),
    merge_interval: Span::from_millis(16),
    judged_by: JudgedBy::Merged,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use proptest::prelude::*;

    fn abc(gamma: f64, average: f64) -> Abc {
        Abc { average, ..Abc::new(AbcParams { gamma: Factor(gamma), ..DEFAULTS }) }
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

    fn arrival(now_ms: u64, user: u32) -> Arrival {
        Arrival {
            now: Time::ZERO + Span::from_millis(now_ms),
            len: Bytes::new(1500),
            activity: 0.0,
            user,
            backlog_packets: 0,
            backlog_bytes: 0,
            idle: Span::ZERO,
        }
    }

    #[test]
    fn meters_continue_from_their_mean_by_packets() {
        let params = AbcParams { meters: Whole(2), ..DEFAULTS };
        let mut meters = Meters::new(2);
        for _ in 0..3 {
            assert_eq!(meters.observe(&params, &arrival(0, 0), 4.0), 0.0);
        }
        meters.observe(&params, &arrival(15, 1), 1.0);
        let ewma =
            |from: f64, to: f64, packets: i32| to + (from - to) * libm::pow(0.99, packets.into());
        let want = (3.0 * ewma(0.0, 4.0, 3) + ewma(0.0, 1.0, 1)) / 4.0;
        assert!((meters.observe(&params, &arrival(16, 1), 1.0) - want).abs() < 1e-12);
        // Judged by its own, a packet sees what its own meter has seen.
        let own = AbcParams { judged_by: JudgedBy::Own, ..params };
        let got = meters.observe(&own, &arrival(17, 1), 1.0);
        assert!((got - ewma(want, 1.0, 2)).abs() < 1e-12);
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
