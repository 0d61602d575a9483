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
//! Q is in packets and does not count the arriving packet. The paper writes pf-Q₀-Q₁-Q₂-p₁. It does not say whether Q
//! includes the packet in transmission; queues in ns-2, INET and Linux do not count it.
//!
//! Differs from the paper: any number of points (Qᵢ, pᵢ) is allowed, so a step, a single, double or triple slope are
//! special cases. The first probability holds before the first point, and the last after the last point. Queue lengths
//! are integers, so that two points one packet apart make a step. A function may end below 1: then only the buffer
//! limits the queue.

use super::{Arrival, ManageQueue, Place};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Points, Span};

parameters! {
    /// A probability that is a piecewise-linear function of the queue length in packets, without
    /// the arriving one; outside the points it stays that of the nearest. Give either function or
    /// points.
    pub struct PiecewiseLinearParams {
        /// The function by its name in the ABC paper, pf-Q0-Q1-Q2-p1: 0 up to Q0, p1 at Q1, 1
        /// from Q2 on. Such as "pf-11-17-24-0.01".
        pub function: Option<String>,
        /// Points [queue length in packets, probability], ascending.
        pub points: Option<Points>,
        /// Whether the queue length counts the packet in transmission, too, as a buffer does.
        pub count_transmission: bool = "false",
    }
    check is_a_function;
}

fn is_a_function(params: &PiecewiseLinearParams) -> Option<ParameterError> {
    params.points().err()
}

impl PiecewiseLinearParams {
    /// Returns the points of the function, ascending in the queue length.
    fn points(&self) -> Result<Vec<(f64, f64)>, ParameterError> {
        match (&self.function, &self.points) {
            (None, None) => Err(("function", "missing; or give points".to_owned())),
            (Some(_), Some(_)) => Err(("points", "give function or points, not both".to_owned())),
            (Some(name), None) => named(name).ok_or_else(|| {
                let message = format!(
                    "\"{name}\" is not pf-Q0-Q1-Q2-p1 with Q0 < Q1 < Q2 up to 1000000 and p1 from \
                     0 to 1, such as \"pf-11-17-24-0.01\""
                );
                ("function", message)
            }),
            (None, Some(Points(points))) => match disorder(points) {
                Some(message) => Err(("points", message)),
                None => Ok(points.clone()),
            },
        }
    }
}

/// Returns the points of the function named pf-Q0-Q1-Q2-p1.
fn named(name: &str) -> Option<Vec<(f64, f64)>> {
    let parts: Vec<&str> = name.strip_prefix("pf-")?.split('-').collect();
    let &[q0, q1, q2, p1] = parts.as_slice() else {
        return None;
    };
    let queue = |text: &str| text.parse::<u32>().ok().filter(|q| *q <= 1_000_000);
    let (q0, q1, q2) = (queue(q0)?, queue(q1)?, queue(q2)?);
    let p1: f64 = p1.parse().ok().filter(|p| (0.0..=1.0).contains(p))?;
    let points = vec![(q0.into(), 0.0), (q1.into(), p1), (q2.into(), 1.0)];
    (q0 < q1 && q1 < q2).then_some(points)
}

/// Returns the reason why points are no non-decreasing function.
fn disorder(points: &[(f64, f64)]) -> Option<String> {
    if points.is_empty() {
        return Some("needs at least one [queue length, probability] pair".to_owned());
    }
    let ((q0, p0), (q1, p1)) = points
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .find(|((q0, p0), (q1, p1))| q1 <= q0 || p1 < p0)?;
    Some(match q1 <= q0 {
        true => format!("queue lengths must ascend, but {q1} follows {q0}"),
        false => format!("probabilities must not fall, but {p1} follows {p0}"),
    })
}

/// Returns p(Q) by definition (11), for ordered points.
fn at(points: &[(f64, f64)], q: f64) -> f64 {
    // The first point at or beyond Q ends the segment that contains Q.
    match points.iter().position(|&(end, _)| q <= end) {
        Some(0) => points[0].1,
        Some(i) => {
            let ((q0, p0), (q1, p1)) = (points[i - 1], points[i]);
            p0 + (q - q0) / (q1 - q0) * (p1 - p0)
        }
        None => points[points.len() - 1].1,
    }
}

/// The function as a table, since queue lengths are integers.
#[derive(Clone, Debug)]
pub struct PiecewiseLinear {
    /// (p, log₂ p) for each queue length; the last entry holds for all longer queues.
    table: Box<[(f64, f64)]>,
    count_transmission: bool,
}

impl ManageQueue for PiecewiseLinear {
    type Params = PiecewiseLinearParams;

    const ABOUT: About = About {
        name: "piecewise-linear",
        title: "Piecewise-linear AQM",
        source: "Menth and Zeitler, Activity-Based Congestion Management, section 5.1.2",
        usage: r#"bottleneck.aqm = { kind = "piecewise-linear", function = "pf-11-17-24-0.01" }"#,
        file: "bottleneck/piecewise_linear.rs",
        text: crate::mechanism::source_text!("piecewise_linear.rs"),
    };

    /// Tabulates the function.
    fn new(params: PiecewiseLinearParams, _place: &Place) -> Result<Self, ParameterError> {
        let points = params.points()?;
        let last = points[points.len() - 1].0;
        // One entry beyond the last point, which need not be an integer.
        let table = (0..=last as u32 + 1)
            .map(|q| at(&points, f64::from(q)))
            .map(|p| (p, libm::log2(p)))
            .collect();
        Ok(PiecewiseLinear { table, count_transmission: params.count_transmission })
    }

    #[inline]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        self.entry(self.queue_length(arrival)).0
    }

    #[inline]
    fn log2(&self, _p: f64, arrival: &Arrival) -> f64 {
        self.entry(self.queue_length(arrival)).1
    }

    fn state_bytes(&self) -> usize {
        0
    }
}

impl PiecewiseLinear {
    /// Returns the queue length Q.
    #[inline]
    fn queue_length(&self, arrival: &Arrival) -> u32 {
        let in_transmission = self.count_transmission && arrival.idle == Span::ZERO;
        arrival.backlog_packets.saturating_add(u32::from(in_transmission))
    }

    #[inline]
    fn entry(&self, queue_length: u32) -> (f64, f64) {
        self.table[(queue_length as usize).min(self.table.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::scheduler::tests::place;
    use crate::bottleneck::tests::arrival;
    use proptest::prelude::*;

    fn of_points(points: &[(f64, f64)]) -> Result<PiecewiseLinear, ParameterError> {
        let points = Some(Points(points.to_vec()));
        PiecewiseLinear::new(
            PiecewiseLinearParams { function: None, points, count_transmission: false },
            &place(50),
        )
    }

    fn aqm(points: &[(f64, f64)]) -> PiecewiseLinear {
        of_points(points).unwrap()
    }

    fn pf(name: &str) -> PiecewiseLinear {
        let function = Some(name.to_owned());
        let params = PiecewiseLinearParams { function, points: None, count_transmission: false };
        PiecewiseLinear::new(params, &place(50)).unwrap()
    }

    impl PiecewiseLinear {
        fn p(&self, q: u32) -> f64 {
            self.entry(q).0
        }
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
        for (name, numbers) in [
            ("pf-10-23-24-0", [10.0, 23.0, 24.0, 0.0]),
            ("pf-10-22-24-0", [10.0, 22.0, 24.0, 0.0]),
            ("pf-10-17-24-0", [10.0, 17.0, 24.0, 0.0]),
            ("pf-10-11-24-0", [10.0, 11.0, 24.0, 0.0]),
            ("pf-11-17-24-0.1", [11.0, 17.0, 24.0, 0.1]),
            ("pf-11-17-24-0.01", [11.0, 17.0, 24.0, 0.01]),
        ] {
            let aqm = pf(name);
            for q in 0..=50 {
                let want = equation_11(f64::from(q), numbers);
                assert!((aqm.p(q) - want).abs() < 1e-15, "{name} at {q}");
            }
        }
    }

    #[test]
    fn a_named_function_becomes_its_three_points() {
        let points = Ok(vec![(11.0, 0.0), (17.0, 0.01), (24.0, 1.0)]);
        let function = Some("pf-11-17-24-0.01".to_owned());
        assert_eq!(
            PiecewiseLinearParams { function, points: None, count_transmission: false }.points(),
            points
        );
    }

    /// Section 5.3.2 counts the queue lengths at which packets can be distinguished.
    #[test]
    fn single_slopes_distinguish_packets_at_as_many_lengths_as_the_paper_counts() {
        for (q1, levels) in [(23, 0), (22, 1), (17, 6), (11, 12)] {
            let aqm = pf(&format!("pf-10-{q1}-24-0"));
            let open = (0..=50).map(|q| aqm.p(q)).filter(|&p| p > 0.0 && p < 1.0);
            assert_eq!(open.count(), levels, "pf-10-{q1}-24-0");
        }
    }

    #[test]
    fn the_packet_in_transmission_counts_if_asked_for() {
        let function = Some("pf-11-17-24-0.01".to_owned());
        let params = PiecewiseLinearParams { function, points: None, count_transmission: true };
        let mut with = PiecewiseLinear::new(params, &place(50)).unwrap();
        let mut without = pf("pf-11-17-24-0.01");
        for backlog in 0..30 {
            let p = with.probability(&arrival(backlog, 0.0));
            assert_eq!(p, without.probability(&arrival(backlog + 1, 0.0)));
        }
        let idle = Arrival { idle: Span::from_millis(1), ..arrival(0, 0.0) };
        assert_eq!(with.queue_length(&idle), 0);
    }

    #[test]
    fn points_a_packet_apart_make_a_step() {
        let step = aqm(&[(10.0, 0.0), (11.0, 1.0)]);
        assert_eq!((step.p(10), step.p(11)), (0.0, 1.0));
    }

    #[test]
    fn the_end_probabilities_hold_outside_the_points() {
        let aqm = aqm(&[(5.0, 0.1), (9.0, 0.5)]);
        assert_eq!(aqm.p(0), 0.1);
        assert_eq!(aqm.p(10), 0.5);
        assert_eq!(aqm.p(u32::MAX), 0.5);
    }

    #[test]
    fn points_that_are_no_function_are_refused() {
        let error = |points: &[(f64, f64)]| {
            let (key, message) = of_points(points).unwrap_err();
            assert_eq!(key, "points");
            message
        };
        assert!(error(&[]).contains("at least one"));
        assert!(error(&[(1.0, 0.0), (1.0, 1.0)]).contains("1 follows 1"));
        assert!(error(&[(1.0, 0.5), (2.0, 0.1)]).contains("0.1 follows 0.5"));
    }

    proptest! {
        #[test]
        fn ascending_points_give_an_ascending_probability(
            mut q in prop::collection::vec(0.0..100.0, 1..6),
            mut p in prop::collection::vec(0.0..=1.0, 6),
        ) {
            q.sort_by(f64::total_cmp);
            q.dedup();
            p.sort_by(f64::total_cmp);
            let points: Vec<_> = q.into_iter().zip(p).collect();
            let aqm = aqm(&points);
            for q in 0..120 {
                let (here, next) = (aqm.p(q), aqm.p(q + 1));
                prop_assert!((0.0..=1.0).contains(&here) && here <= next + 1e-12);
                prop_assert_eq!(aqm.entry(q).1, libm::log2(here));
            }
        }
    }
}
