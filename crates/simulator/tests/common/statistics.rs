//! Means and their confidence intervals.

/// A mean over independent runs, with the half-width of its 95 % confidence interval (Student t).
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    /// Mean.
    pub value: f64,
    /// Half-width of the interval.
    pub ci95: f64,
}

/// Returns the mean of independent values.
pub fn mean(values: &[f64]) -> Mean {
    let n = values.len() as f64;
    let value = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - value) * (x - value)).sum::<f64>() / (n - 1.0);
    Mean { value, ci95: t_quantile(values.len() - 1) * (variance / n).sqrt() }
}

/// Returns the 97.5 % quantile of Student's t, for the numbers of runs that the tests use.
fn t_quantile(degrees: usize) -> f64 {
    match degrees {
        4 => 2.776,
        9 => 2.262,
        19 => 2.093,
        23 => 2.069,
        _ => panic!("no t quantile noted for {degrees} degrees of freedom"),
    }
}
