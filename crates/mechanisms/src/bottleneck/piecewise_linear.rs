//! Piecewise-linear AQM: the signal probability is a function of the instantaneous queue length.
//! M. Menth and N. Zeitler, "Activity-Based Congestion Management", section 5.1.2, equation 11.
//!
//! ```text
//!        ⎧ 0                                 Q ≤ Q₀
//! p(Q) = ⎨ (Q − Q₀)/(Q₁ − Q₀) p₁             Q₀ < Q ≤ Q₁      (11)
//!        ⎪ p₁ + (Q − Q₁)/(Q₂ − Q₁) (1 − p₁)  Q₁ < Q ≤ Q₂
//!        ⎩ 1                                 Q₂ < Q
//! ```
//!
//! Q is in packets and does not count the arriving packet. The paper writes pf-Q₀-Q₁-Q₂-p₁.
//!
//! Differs from the paper: any number of points (Qᵢ, pᵢ) is taken, so a step, a single, double or
//! triple slope are the same thing. Before the first point holds the first probability, after the
//! last point the last. Two points with the same Q make a step; at Q itself the lower point still
//! holds, as (11)'s "≤" says. A function that ends below 1 is allowed: then only the buffer limits
//! the queue.

use core::fmt;

/// Parameters of the piecewise-linear AQM.
#[derive(Clone, Debug, PartialEq)]
pub struct PiecewiseLinearParams {
    /// Points (queue length in packets, probability), ascending in the queue length.
    pub points: Vec<(f64, f64)>,
}

impl PiecewiseLinearParams {
    /// The paper's pf-Q₀-Q₁-Q₂-p₁.
    pub fn pf(q0: f64, q1: f64, q2: f64, p1: f64) -> Self {
        PiecewiseLinearParams { points: vec![(q0, 0.0), (q1, p1), (q2, 1.0)] }
    }

    /// p(Q) by definition (11), for points that [`PiecewiseLinear::new`] has accepted.
    fn at(&self, q: f64) -> f64 {
        let points = &self.points;
        // The first point at or beyond Q closes the segment that Q is in.
        match points.iter().position(|&(end, _)| q <= end) {
            Some(0) => points[0].1,
            Some(i) => {
                let ((q0, p0), (q1, p1)) = (points[i - 1], points[i]);
                p0 + (q - q0) / (q1 - q0) * (p1 - p0)
            }
            None => points[points.len() - 1].1,
        }
    }
}

/// Longest queue that a function may reach to, in packets: it is tabulated up to there.
pub const MAX_QUEUE_PACKETS: f64 = 1_000_000.0;

/// Why a list of points is no probability function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InvalidPoints {
    /// There are none.
    Empty,
    /// The queue length of this point is negative, not a number or beyond [`MAX_QUEUE_PACKETS`].
    QueueOutOfRange(usize),
    /// The probability of this point is not within 0..=1.
    NotAProbability(usize),
    /// This point's queue length is less than that of the one before.
    Descending(usize),
}

impl fmt::Display for InvalidPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            InvalidPoints::Empty => f.write_str("needs at least one point"),
            InvalidPoints::QueueOutOfRange(i) => {
                write!(f, "point {}: queue length is not within 0 to {MAX_QUEUE_PACKETS}", i + 1)
            }
            InvalidPoints::NotAProbability(i) => {
                write!(f, "point {}: probability is not within 0 to 1", i + 1)
            }
            InvalidPoints::Descending(i) => {
                write!(f, "point {}: queue length is less than that of the point before", i + 1)
            }
        }
    }
}

impl core::error::Error for InvalidPoints {}

/// The function, tabulated: queue lengths are whole numbers.
#[derive(Clone, Debug)]
pub struct PiecewiseLinear {
    /// (p, log₂ p) for each queue length; the last entry holds for all longer queues.
    table: Box<[(f64, f64)]>,
}

impl PiecewiseLinear {
    /// Tabulates the function.
    pub fn new(params: &PiecewiseLinearParams) -> Result<Self, InvalidPoints> {
        check(&params.points)?;
        let last = params.points[params.points.len() - 1].0;
        // One entry beyond the last point, where a step at the last point has happened.
        let table = (0..=last as u32 + 1)
            .map(|q| params.at(f64::from(q)))
            .map(|p| (p, libm::log2(p)))
            .collect();
        Ok(PiecewiseLinear { table })
    }

    /// p(Q), with Q in packets.
    #[inline]
    pub fn probability(&self, backlog_packets: u32) -> f64 {
        self.entry(backlog_packets).0
    }

    /// log₂ p(Q).
    #[inline]
    pub fn log2_probability(&self, backlog_packets: u32) -> f64 {
        self.entry(backlog_packets).1
    }

    #[inline]
    fn entry(&self, backlog_packets: u32) -> (f64, f64) {
        self.table[(backlog_packets as usize).min(self.table.len() - 1)]
    }
}

fn check(points: &[(f64, f64)]) -> Result<(), InvalidPoints> {
    if points.is_empty() {
        return Err(InvalidPoints::Empty);
    }
    for (i, &(q, p)) in points.iter().enumerate() {
        if !(0.0..=MAX_QUEUE_PACKETS).contains(&q) {
            return Err(InvalidPoints::QueueOutOfRange(i));
        }
        if !(0.0..=1.0).contains(&p) {
            return Err(InvalidPoints::NotAProbability(i));
        }
        if i > 0 && q < points[i - 1].0 {
            return Err(InvalidPoints::Descending(i));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn aqm(points: &[(f64, f64)]) -> PiecewiseLinear {
        PiecewiseLinear::new(&PiecewiseLinearParams { points: points.to_vec() }).unwrap()
    }

    /// Equation 11 as printed.
    fn equation_11(q: f64, [q0, q1, q2, p1]: [f64; 4]) -> f64 {
        if q <= q0 {
            0.0
        } else if q <= q1 {
            (q - q0) / (q1 - q0) * p1
        } else if q <= q2 {
            p1 + (q - q1) / (q2 - q1) * (1.0 - p1)
        } else {
            1.0
        }
    }

    /// All six functions of Table 4, at every queue length that a buffer of 50 packets allows.
    #[test]
    fn the_functions_of_table_4_are_equation_11() {
        for pf in [
            [10.0, 23.0, 24.0, 0.0],
            [10.0, 22.0, 24.0, 0.0],
            [10.0, 17.0, 24.0, 0.0],
            [10.0, 11.0, 24.0, 0.0],
            [11.0, 17.0, 24.0, 0.1],
            [11.0, 17.0, 24.0, 0.01],
        ] {
            let [q0, q1, q2, p1] = pf;
            let aqm = PiecewiseLinear::new(&PiecewiseLinearParams::pf(q0, q1, q2, p1)).unwrap();
            for q in 0..=50 {
                let want = equation_11(f64::from(q), pf);
                assert!((aqm.probability(q) - want).abs() < 1e-15, "pf {pf:?} at {q}");
            }
        }
    }

    /// Section 5.3.2 counts the queue lengths at which packets can be told apart.
    #[test]
    fn single_slopes_tell_packets_apart_at_as_many_lengths_as_the_paper_counts() {
        for (q1, levels) in [(23.0, 0), (22.0, 1), (17.0, 6), (11.0, 12)] {
            let aqm =
                PiecewiseLinear::new(&PiecewiseLinearParams::pf(10.0, q1, 24.0, 0.0)).unwrap();
            let open = (0..=50).map(|q| aqm.probability(q)).filter(|&p| p > 0.0 && p < 1.0);
            assert_eq!(open.count(), levels, "pf-10-{q1}-24-0");
        }
    }

    #[test]
    fn a_step_takes_effect_just_beyond_its_point() {
        let step = aqm(&[(10.0, 0.0), (10.0, 1.0)]);
        assert_eq!((step.probability(10), step.probability(11)), (0.0, 1.0));
    }

    #[test]
    fn the_end_probabilities_hold_outside_the_points() {
        let aqm = aqm(&[(5.0, 0.1), (9.0, 0.5)]);
        assert_eq!(aqm.probability(0), 0.1);
        assert_eq!(aqm.probability(10), 0.5);
        assert_eq!(aqm.probability(u32::MAX), 0.5);
    }

    #[test]
    fn points_that_are_no_function_are_refused_by_place() {
        let error = |points: &[(f64, f64)]| {
            PiecewiseLinear::new(&PiecewiseLinearParams { points: points.to_vec() }).unwrap_err()
        };
        assert_eq!(error(&[]), InvalidPoints::Empty);
        assert_eq!(error(&[(1.0, 0.0), (f64::NAN, 1.0)]), InvalidPoints::QueueOutOfRange(1));
        assert_eq!(error(&[(1.0, 1.5)]), InvalidPoints::NotAProbability(0));
        assert_eq!(error(&[(2.0, 0.0), (1.0, 1.0)]), InvalidPoints::Descending(1));
    }

    proptest! {
        #[test]
        fn ascending_points_give_an_ascending_probability(
            mut q in prop::collection::vec(0.0..100.0, 1..6),
            mut p in prop::collection::vec(0.0..=1.0, 6),
        ) {
            q.sort_by(f64::total_cmp);
            p.sort_by(f64::total_cmp);
            let points: Vec<_> = q.into_iter().zip(p).collect();
            let aqm = aqm(&points);
            for q in 0..120 {
                let (here, next) = (aqm.probability(q), aqm.probability(q + 1));
                prop_assert!((0.0..=1.0).contains(&here) && here <= next + 1e-12);
                prop_assert_eq!(aqm.log2_probability(q), libm::log2(here));
            }
        }
    }
}
