//! Delays that differ from packet to packet: a random share of a spread is added to the delay of the link.
//!
//! Linux `net/sched/sch_netem.c` (`tabledist`) and the tables of iproute2's `netem/`:
//!
//! ```text
//! delay + σ X,   never below 0               σ = spread, U uniform in (0, 1)
//! uniform        X = 2 U − 1
//! normal         X = Φ⁻¹(U)
//! pareto         X = 4/3 (U^(−1/3) − 3/2)    Pareto's distribution of shape 3, less its mean
//! pareto-normal  X = 1/4 Φ⁻¹(U) + 3/4 · 4/3 ((1 − U)^(−1/3) − 3/2)
//! ```
//!
//! X lies between −4 and 4, as in those tables. Draws are independent; `netem`'s correlation is left out. Where
//! `netem` lets a packet with a short delay overtake others, packets keep their order here unless `keep_order` is false.

use std::sync::Arc;

use crate::parameters::{Kind, ParameterError, ParameterType, ParameterValue};
use crate::units::Span;
use crate::{choice, parameters};

/// X is cut off here: tables of 16-bit numbers in steps of 1/8192 go no further.
const MOST: f64 = 4.0;
/// Steps of a table in a spread.
const SCALE: f64 = 8192.0;
/// Numbers that a table may have.
const MAX_NUMBERS: usize = 65_536;

parameters! {
    /// A distribution of delays by its spread alone.
    pub struct SpreadParams {
        /// σ: spread of the delays; of "uniform" the largest deviation, else the standard deviation or nearly.
        pub spread: Span,
        /// Whether packets keep their order; else one with a short delay overtakes others, as in netem.
        pub keep_order: bool = "true",
    }
}

parameters! {
    /// The distribution of a table, of which each number is as likely as any other.
    pub struct TableParams {
        /// σ: what 8192 in the table stands for.
        pub spread: Span,
        /// Name of a file, seen from the scenario's, in the format of netem's distributions (`*.dist` of iproute2):
        /// whole numbers from -32768 to 32767. Or the numbers themselves, in several lines.
        pub table: DelayTable,
        /// Whether packets keep their order; else one with a short delay overtakes others, as in netem.
        pub keep_order: bool = "true",
    }
    check table_error;
}

fn table_error(own: &TableParams) -> Vec<ParameterError> {
    own.table.error.iter().map(|error| ("table", error.clone())).collect()
}

choice! {
    /// How the delays of a link's packets are distributed.
    pub enum JitterParams as Jitter {
        Uniform(SpreadParams) = "uniform";
        Normal(SpreadParams) = "normal";
        Pareto(SpreadParams) = "pareto";
        ParetoNormal(SpreadParams) = "pareto-normal";
        Table(TableParams) = "table";
    }
}

/// Numbers of a table. Copies share what was read.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayTable {
    text: String,
    numbers: Arc<[i16]>,
    error: Option<String>,
}

impl DelayTable {
    /// Reads whole numbers, separated by spaces or lines; `#` begins a comment.
    pub fn read(text: &str) -> Self {
        let (mut numbers, mut error) = (Vec::new(), None);
        for (line, row) in text.lines().enumerate() {
            for word in row.split('#').next().unwrap_or_default().split_whitespace() {
                match word.parse::<i16>() {
                    Ok(number) => numbers.push(number),
                    Err(_) if error.is_none() => {
                        let line = line + 1;
                        error = Some(format!("line {line}: no whole number from -32768 to 32767"));
                    }
                    Err(_) => {}
                }
            }
        }
        if !text.contains('\n') {
            error = Some(
                "is the name of a file that was not read; from a text, write the numbers, in several lines"
                    .to_owned(),
            );
        } else if error.is_none() && numbers.is_empty() {
            error = Some("has no numbers".to_owned());
        } else if numbers.len() > MAX_NUMBERS {
            error = Some(format!("has {} numbers; at most {MAX_NUMBERS}", numbers.len()));
        }
        DelayTable { text: text.to_owned(), numbers: numbers.into(), error }
    }
}

impl ParameterType for DelayTable {
    const KIND: Kind = Kind::Text;

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Text(self.text.clone())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Text(text) => DelayTable::read(&text),
            other => panic!("{other:?} is no text"),
        }
    }
}

impl JitterParams {
    /// Whether packets keep their order.
    pub fn keeps_order(&self) -> bool {
        match self {
            JitterParams::Uniform(own)
            | JitterParams::Normal(own)
            | JitterParams::Pareto(own)
            | JitterParams::ParetoNormal(own) => own.keep_order,
            JitterParams::Table(own) => own.keep_order,
        }
    }

    fn spread(&self) -> Span {
        match self {
            JitterParams::Uniform(own)
            | JitterParams::Normal(own)
            | JitterParams::Pareto(own)
            | JitterParams::ParetoNormal(own) => own.spread,
            JitterParams::Table(own) => own.spread,
        }
    }

    /// X between its least and its largest, for a number in [0, 1).
    fn share(&self, draw: f64) -> f64 {
        let share = match self {
            JitterParams::Uniform(_) => 2.0 * draw - 1.0,
            JitterParams::Normal(_) => normal_quantile(draw),
            JitterParams::Pareto(_) => pareto(draw),
            JitterParams::ParetoNormal(_) => {
                0.25 * normal_quantile(draw).clamp(-MOST, MOST)
                    + 0.75 * pareto(1.0 - draw).min(MOST)
            }
            JitterParams::Table(own) => {
                let numbers = &own.table.numbers;
                let place = (draw * numbers.len() as f64) as usize;
                numbers.get(place).map_or(0.0, |number| f64::from(*number) / SCALE)
            }
        };
        share.clamp(-MOST, MOST)
    }

    /// The least and the largest deviation from the delay [s].
    pub fn bounds_s(&self) -> (f64, f64) {
        let spread_s = self.spread().as_secs();
        let (least, most) = match self {
            JitterParams::Uniform(_) => (-1.0, 1.0),
            JitterParams::Normal(_) => (-MOST, MOST),
            JitterParams::Pareto(_) => (pareto(1.0), MOST),
            JitterParams::ParetoNormal(_) => (-0.25 * MOST + 0.75 * pareto(1.0), MOST),
            JitterParams::Table(own) => {
                let numbers = || own.table.numbers.iter().map(|number| f64::from(*number) / SCALE);
                (numbers().fold(0.0, f64::min), numbers().fold(0.0, f64::max))
            }
        };
        (least * spread_s, most * spread_s)
    }
}

/// Pareto's distribution of shape 3, less its mean and scaled as netem's table.
fn pareto(u: f64) -> f64 {
    if u <= 0.0 {
        return MOST;
    }
    4.0 / 3.0 * (1.0 / libm::cbrt(u) - 1.5)
}

/// Φ⁻¹, good to 10⁻⁹ of itself (P. J. Acklam's rational approximations); ±4 at 0 and 1.
pub fn normal_quantile(u: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] =
        [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    const TAIL: f64 = 0.02425;
    let polynomial = |coefficients: &[f64], x: f64| {
        coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
    };
    let tail = |u: f64| {
        let q = libm::sqrt(-2.0 * libm::log(u));
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    };
    match u {
        _ if u <= 0.0 => -MOST,
        _ if u < TAIL => tail(u),
        _ if u > 1.0 - TAIL => -tail(1.0 - u),
        _ => {
            let q = u - 0.5;
            let r = q * q;
            polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
        }
    }
}

/// Delays of one link's packets.
#[derive(Clone, Debug)]
pub struct Jitter {
    params: JitterParams,
    spread_ns: f64,
}

impl Jitter {
    /// Before the first packet.
    pub fn new(params: &JitterParams) -> Self {
        Jitter { params: params.clone(), spread_ns: params.spread().as_nanos() as f64 }
    }

    /// What the delay of a packet is; `draw` is a random number in [0, 1).
    pub fn delay(&self, mean: Span, draw: f64) -> Span {
        let more_ns = self.params.share(draw) * self.spread_ns;
        Span::from_nanos((mean.as_nanos() as f64 + more_ns).max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn spread(kind: fn(SpreadParams) -> JitterParams) -> JitterParams {
        kind(SpreadParams { spread: MS(10), keep_order: true })
    }

    /// Mean and standard deviation over evenly spaced numbers, in spreads.
    fn moments(params: &JitterParams) -> (f64, f64) {
        let (jitter, n) = (Jitter::new(params), 100_000);
        let share = |i: u32| {
            (jitter.delay(MS(1000), (f64::from(i) + 0.5) / f64::from(n)).as_secs() - 1.0) / 0.010
        };
        let mean = (0..n).map(share).sum::<f64>() / f64::from(n);
        let variance = (0..n).map(|i| libm::pow(share(i) - mean, 2.0)).sum::<f64>() / f64::from(n);
        (mean, variance.sqrt())
    }

    /// Moments of iproute2 6.1's tables: normal.dist −0.0008 and 1.0001, pareto.dist −0.0335 and 0.8197, paretonormal.dist
    /// −0.0253 and 0.8339.
    #[test]
    fn distributions_have_the_moments_of_netems_tables() {
        for (kind, mean, deviation) in [
            (JitterParams::Uniform as fn(SpreadParams) -> JitterParams, 0.0, 1.0 / 3f64.sqrt()),
            (JitterParams::Normal, -0.0008, 1.0001),
            (JitterParams::Pareto, -0.0335, 0.8197),
            (JitterParams::ParetoNormal, -0.0253, 0.8339),
        ] {
            let (got_mean, got_deviation) = moments(&spread(kind));
            assert!((got_mean - mean).abs() < 2e-3, "{got_mean}");
            assert!((got_deviation - deviation).abs() < 2e-3, "{got_deviation}");
        }
    }

    /// P(X > x) = (3/2 + 3/4 x)⁻³.
    #[test]
    fn paretos_tail_is_that_of_shape_three() {
        let jitter = Jitter::new(&spread(JitterParams::Pareto));
        // 1.5 + 3 x / 4 = u^(−1/3)
        for u in [0.9, 0.5, 0.1, 0.02] {
            let x = (jitter.delay(MS(1000), u).as_secs() - 1.0) / 0.010;
            assert!((libm::pow(1.5 + 0.75 * x, -3.0) - u).abs() < 1e-4, "{u}: {x}");
        }
        assert_eq!(jitter.delay(MS(1000), 0.0), MS(1040), "cut off at four spreads");
    }

    #[test]
    fn quantiles_of_the_normal_distribution_are_the_tabulated_ones() {
        for (u, x) in
            [(0.5, 0.0), (0.841_344_746, 1.0), (0.975, 1.959_963_985), (0.001, -3.090_232_306)]
        {
            assert!((normal_quantile(u) - x).abs() < 1e-7, "{u}");
        }
    }

    #[test]
    fn a_table_is_drawn_from_evenly() {
        let table = DelayTable::read("# four\n-8192 0\n0 4096 # half\n");
        assert_eq!(table.error, None);
        let params = JitterParams::Table(TableParams { spread: MS(10), table, keep_order: false });
        assert_eq!(params.bounds_s(), (-0.010, 0.005));
        let jitter = Jitter::new(&params);
        let delays = [0.1, 0.3, 0.6, 0.99].map(|draw| jitter.delay(MS(20), draw));
        assert_eq!(delays, [MS(10), MS(20), MS(20), MS(25)]);
        assert_eq!(jitter.delay(MS(5), 0.0), Span::ZERO, "no packet arrives before it leaves");
        for wrong in ["1.5\n", "40000\n", "\n", "pareto.dist"] {
            assert!(DelayTable::read(wrong).error.is_some(), "{wrong:?}");
        }
    }
}
