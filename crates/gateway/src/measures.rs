//! What can be said of all customers at once: how active they are, and how fairly they share.

use crate::customer::Customer;

/// Upper bounds of the classes of the histogram of activities; the last has none.
pub const ACTIVITY_BOUNDS: [f64; 9] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
/// A customer of at least this activity sends twice its reference rate, and shares what is scarce.
const SHARING: f64 = 1.0;

/// A in one direction at a time; `inertia_ns` is I.
pub fn activity(customer: &Customer, direction: usize, now_ns: u64, inertia_ns: u64) -> f64 {
    let ahead_ns = customer.usage[direction].zero_ns.saturating_sub(now_ns);
    ahead_ns as f64 / inertia_ns.max(1) as f64
}

/// Customers up to each of [`ACTIVITY_BOUNDS`], each class with those before it, and all.
pub fn histogram(activities: impl Iterator<Item = f64>) -> ([u64; ACTIVITY_BOUNDS.len()], u64) {
    let (mut classes, mut all) = ([0; ACTIVITY_BOUNDS.len()], 0);
    for activity in activities {
        all += 1;
        for (class, bound) in classes.iter_mut().zip(ACTIVITY_BOUNDS) {
            *class += u64::from(activity <= bound);
        }
    }
    (classes, all)
}

/// Jain's index (Σ x)²/(n Σ x²) of what passes of the customers with an activity of at least 1 (DEC-TR-301, 1984);
/// `None` for fewer than two.
pub fn fairness(rates: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let sharing = rates.filter(|(activity, _)| *activity >= SHARING);
    let (count, sum, squares) = sharing.fold((0, 0.0, 0.0), |(count, sum, squares), (_, rate)| {
        (count + 1, sum + rate, squares + rate * rate)
    });
    (count >= 2 && squares > 0.0).then(|| sum * sum / (f64::from(count) * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_are_counted_up_to_each_bound() {
        let (classes, all) = histogram([0.0, 0.5, 1.0, 7.0, 30.0].into_iter());
        assert_eq!((classes, all), ([1, 3, 3, 3, 3, 3, 3, 4, 4], 5));
    }

    #[test]
    fn fairness_is_that_of_customers_who_share() {
        let shares = |rates: &[(f64, f64)]| fairness(rates.iter().copied());
        assert_eq!(shares(&[(2.0, 5.0), (3.0, 5.0), (0.1, 0.2)]), Some(1.0));
        let unfair = shares(&[(2.0, 5.0), (2.0, 1.0)]).expect("two share");
        assert!((unfair - 0.692).abs() < 1e-3, "{unfair}");
        assert_eq!(shares(&[(2.0, 5.0)]), None);
    }

    #[test]
    fn activity_falls_by_one_in_the_time_of_the_inertia() {
        let mut customer = Customer::default();
        customer.usage[1].zero_ns = 5_000;
        assert_eq!(activity(&customer, 1, 3_000, 1_000), 2.0);
        assert_eq!(activity(&customer, 1, 4_000, 1_000), 1.0);
        assert_eq!(activity(&customer, 0, 4_000, 1_000), 0.0);
    }
}
