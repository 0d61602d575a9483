//! How a quantity varies around its mean: positive distributions of mean 1.
//!
//! ```text
//! exponential   X = −ln(1 − u)
//! uniform       X = 1 + s (2u − 1)
//! lognormal     X = exp(σ Φ⁻¹(u) − σ²/2)
//! pareto        X = (1 − 1/a) (1 − u)^(−1/a)                 a > 1
//! weibull       X = (−ln(1 − u))^(1/k) / Γ(1 + 1/k)
//! gumbel        X = 1 − s (ln(−ln u) + γ), at least 0        γ = 0.5772…
//! ```
//!
//! Each is drawn by inversion, with one random number u in [0, 1).

use tidegate_mechanisms::impairment::normal_quantile;
use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Factor, Share, Span};
use tidegate_mechanisms::{choice, parameters};

parameters! {
    /// Uniform from 1 - spread to 1 + spread times the mean.
    pub struct UniformVariation {
        /// Largest deviation from the mean, as a share of it.
        pub spread: Share = "1.0",
    }
}

parameters! {
    /// Lognormal: the logarithm is normally distributed.
    pub struct LognormalVariation {
        /// σ: standard deviation of the natural logarithm.
        pub sigma: Factor,
    }
    check is_not_too_wide;
}

/// With a larger σ, the mean rests on draws that no run has.
const MAX_SIGMA: f64 = 4.0;

fn is_not_too_wide(own: &LognormalVariation) -> Vec<ParameterError> {
    sigma_errors(own.sigma)
}

/// Returns the errors of a lognormal distribution's σ.
pub(super) fn sigma_errors(sigma: Factor) -> Vec<ParameterError> {
    let message =
        || format!("must be at most {MAX_SIGMA}: above, hardly any value is near the mean");
    (sigma.0 > MAX_SIGMA).then(|| ("sigma", message())).into_iter().collect()
}

parameters! {
    /// Pareto: a heavy tail. On and off periods of shape 1.2 to 1.9 make self-similar traffic (W. Willinger et al.,
    /// "Self-similarity through high-variability", IEEE/ACM Transactions on Networking 5(1), 1997).
    pub struct ParetoVariation {
        /// a: exponent of the tail. Up to 2 the variance is infinite.
        pub shape: Factor,
    }
    check has_a_mean;
}

fn has_a_mean(own: &ParetoVariation) -> Vec<ParameterError> {
    let message = "must be at least 1.05: at 1 and below there is no mean";
    (own.shape.0 < 1.05).then(|| ("shape", message.to_owned())).into_iter().collect()
}

parameters! {
    /// Weibull: with a shape below 1 more variable than an exponential distribution, above 1 less.
    pub struct WeibullVariation {
        /// k: 1 is exponential.
        pub shape: Factor,
    }
    check is_a_weibull;
}

fn is_a_weibull(own: &WeibullVariation) -> Vec<ParameterError> {
    let message = "must be at least 0.1";
    (own.shape.0 < 0.1).then(|| ("shape", message.to_owned())).into_iter().collect()
}

parameters! {
    /// Largest extreme value (Gumbel), as of game traffic.
    pub struct GumbelVariation {
        /// s: scale, as a share of the mean.
        pub scale: Share,
    }
}

choice! {
    /// How a quantity varies around its mean.
    pub enum Variation as Variation {
        /// Always the same.
        Fixed = "fixed";
        /// Exponentially distributed.
        Exponential = "exponential";
        Uniform(UniformVariation) = "uniform";
        Lognormal(LognormalVariation) = "lognormal";
        Pareto(ParetoVariation) = "pareto";
        Weibull(WeibullVariation) = "weibull";
        Gumbel(GumbelVariation) = "gumbel";
    }
}

/// Euler's constant.
pub(super) const EULER: f64 = 0.577_215_664_901_532_9;

impl Variation {
    /// Draws a factor of mean 1; `uniform` draws from [0, 1), and is asked once, or not at all if nothing varies.
    pub fn draw(&self, uniform: impl FnOnce() -> f64) -> f64 {
        if *self == Variation::Fixed { 1.0 } else { self.quantile(uniform()) }
    }

    /// Draws a time with this mean.
    pub fn time(&self, mean: Span, uniform: impl FnOnce() -> f64) -> Span {
        match self {
            Variation::Fixed => mean,
            _ => Span::from_secs_f64(mean.as_secs() * self.draw(uniform)),
        }
    }

    /// Returns the quantile at u, from 0 to below 1; never negative.
    pub fn quantile(&self, u: f64) -> f64 {
        self.unbounded_quantile(u).max(0.0)
    }

    /// Returns the quantile of the distribution itself, which may be negative.
    pub fn unbounded_quantile(&self, u: f64) -> f64 {
        let exponential = || -libm::log(1.0 - u);
        match self {
            Variation::Fixed => 1.0,
            Variation::Exponential => exponential(),
            Variation::Uniform(own) => 1.0 + own.spread.0 * (2.0 * u - 1.0),
            Variation::Lognormal(own) => {
                libm::exp(own.sigma.0 * (normal_quantile(u) - own.sigma.0 / 2.0))
            }
            Variation::Pareto(own) => {
                (1.0 - 1.0 / own.shape.0) * libm::pow(1.0 - u, -1.0 / own.shape.0)
            }
            Variation::Weibull(own) => {
                let inverse = 1.0 / own.shape.0;
                libm::pow(exponential(), inverse) / libm::tgamma(1.0 + inverse)
            }
            Variation::Gumbel(own) => {
                let from_above = libm::log(-libm::log(u.max(f64::MIN_POSITIVE)));
                1.0 - own.scale.0 * (from_above + EULER)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and coefficient of variation over evenly spaced numbers.
    fn moments(variation: &Variation) -> (f64, f64) {
        let n = 1_000_000;
        let at = |i: u32| variation.quantile((f64::from(i) + 0.5) / f64::from(n));
        let mean = (0..n).map(at).sum::<f64>() / f64::from(n);
        let square = (0..n).map(|i| at(i) * at(i)).sum::<f64>() / f64::from(n);
        (mean, libm::sqrt(square - mean * mean) / mean)
    }

    #[test]
    fn variations_have_mean_1_and_the_deviation_of_their_law() {
        let sigma = Factor(0.8);
        for (variation, deviation) in [
            (Variation::Fixed, 0.0),
            (Variation::Exponential, 1.0),
            (Variation::Uniform(UniformVariation { spread: Share(0.6) }), 0.6 / libm::sqrt(3.0)),
            (
                Variation::Lognormal(LognormalVariation { sigma }),
                libm::sqrt(libm::expm1(sigma.0 * sigma.0)),
            ),
            // 1/√(a (a − 2))
            (Variation::Pareto(ParetoVariation { shape: Factor(4.0) }), 1.0 / libm::sqrt(8.0)),
            // √(Γ(2)/Γ(3/2)² − 1), with Γ(3/2) = √π/2
            (
                Variation::Weibull(WeibullVariation { shape: Factor(2.0) }),
                libm::sqrt(4.0 / core::f64::consts::PI - 1.0),
            ),
            // s π/√6
            (
                Variation::Gumbel(GumbelVariation { scale: Share(0.25) }),
                0.25 * core::f64::consts::PI / libm::sqrt(6.0),
            ),
        ] {
            let (got_mean, got_deviation) = moments(&variation);
            assert!((got_mean - 1.0).abs() < 2e-4, "{variation:?}: mean {got_mean}");
            assert!((got_deviation - deviation).abs() < 5e-3, "{variation:?}: {got_deviation}");
        }
    }

    #[test]
    fn no_draw_is_negative_or_infinite() {
        let gumbel = Variation::Gumbel(GumbelVariation { scale: Share(1.0) });
        let pareto = Variation::Pareto(ParetoVariation { shape: Factor(1.05) });
        for variation in [gumbel, pareto, Variation::Exponential] {
            for u in [0.0, 1e-300, 0.5, 1.0 - f64::EPSILON / 2.0] {
                let x = variation.quantile(u);
                assert!(x.is_finite() && x >= 0.0, "{variation:?} at {u}: {x}");
            }
        }
    }
}
