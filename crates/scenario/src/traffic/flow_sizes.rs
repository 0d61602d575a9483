//! Sizes of flows: one for all, or drawn from a distribution.
//!
//! The published distributions are those of the simulations of M. Alizadeh et al., "pFabric", SIGCOMM 2013, and their
//! successors: points of a cumulative distribution, in packets of 1460 B, with straight lines between them. A step has
//! two points of one size.

use std::sync::Arc;

use tidegate_mechanisms::impairment::normal_quantile;
use tidegate_mechanisms::parameters::{
    Alternatives, Choice, Kind, ParameterError, ParameterType, ParameterValue,
};
use tidegate_mechanisms::units::{Bytes, Factor};
use tidegate_mechanisms::{choice, parameters};

use super::variation::sigma_errors;

parameters! {
    /// Lognormal: the logarithm of the size is normally distributed.
    pub struct LognormalSizes {
        /// Mean size.
        pub mean: Bytes,
        /// σ: standard deviation of the natural logarithm.
        pub sigma: Factor,
    }
    check lognormal_errors;
}

fn lognormal_errors(own: &LognormalSizes) -> Vec<ParameterError> {
    let mut errors = sigma_errors(own.sigma);
    if own.mean == Bytes::ZERO {
        errors.push(("mean", "must be at least 1 B".to_owned()));
    }
    errors
}

parameters! {
    /// Pareto, truncated: density ∝ x^(-a-1) between two sizes.
    pub struct ParetoSizes {
        /// Minimum size.
        pub smallest: Bytes,
        /// Maximum size.
        pub largest: Bytes,
        /// a: exponent of the tail. Flows of the Internet have 1.0 to 1.3.
        pub shape: Factor = "1.2",
    }
    check pareto_errors;
}

fn pareto_errors(own: &ParetoSizes) -> Vec<ParameterError> {
    let checks = [
        (own.smallest == Bytes::ZERO, "smallest", "must be at least 1 B"),
        (own.largest < own.smallest, "largest", "is below smallest"),
        (own.shape.0 < 0.01, "shape", "must be at least 0.01"),
    ];
    let failed = checks.into_iter().filter(|(fails, ..)| *fails);
    failed.map(|(_, key, message)| (key, message.to_owned())).collect()
}

parameters! {
    /// A cumulative distribution given by its points, with straight lines between them.
    pub struct CdfSizes {
        /// Name of a CSV file, seen from the scenario's, or its text: in each line a size in bytes and the share of flows
        /// that are no larger, both ascending, the last share 1. `#` begins a comment, and the first line may be the head
        /// size_bytes,share.
        pub points: SizePoints,
    }
    check point_errors;
}

fn point_errors(own: &CdfSizes) -> Vec<ParameterError> {
    own.points.0.error.iter().map(|error| ("points", error.clone())).collect()
}

choice! {
    /// Distribution of the sizes of flows.
    pub enum FlowSizes as FlowSizes {
        /// Queries and updates of a web search cluster: M. Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010,
        /// figure 4. Mean 1.67 MB; 15 % are below 9 kB, the largest 29 MB.
        WebSearch = "web-search";
        /// A cluster for data mining: A. Greenberg et al., "VL2", SIGCOMM 2009, figure 2. Mean 7.47 MB; half have 1460 B,
        /// the largest 973 MB.
        DataMining = "data-mining";
        /// A cache follower: A. Roy et al., "Inside the social network's (datacenter) network", SIGCOMM 2015, figure 6.
        /// Mean 911 kB; half are below 19 kB, the largest 49 MB.
        CacheFollower = "cache-follower";
        Lognormal(LognormalSizes) = "lognormal";
        Pareto(ParetoSizes) = "pareto";
        Cdf(CdfSizes) = "cdf";
    }
}

/// Payload of a packet in the published tables, bytes.
const PACKET_BYTES: f64 = 1460.0;

/// Points: a size, and the share of flows that are no larger.
type Points = [(f64, f64)];

/// In packets; `CDF_search.tcl` of pFabric's simulations.
const WEB_SEARCH: &Points = &[
    (6.0, 0.0),
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20000.0, 1.0),
];
/// In packets; `CDF_datamining.tcl` of the same.
const DATA_MINING: &Points = &[
    (1.0, 0.0),
    (1.0, 0.5),
    (2.0, 0.6),
    (3.0, 0.7),
    (7.0, 0.8),
    (267.0, 0.9),
    (2107.0, 0.95),
    (66667.0, 0.99),
    (666_667.0, 1.0),
];
/// In packets; `CDF_cache.txt` of W. Bai's traffic generator.
const CACHE_FOLLOWER: &Points = &[
    (1.0, 0.0),
    (1.0, 0.36),
    (2.0, 0.4),
    (7.0, 0.46),
    (13.0, 0.5),
    (67.0, 0.6),
    (133.0, 0.7),
    (667.0, 0.78),
    (1333.0, 0.8),
    (2000.0, 0.9),
    (2667.0, 0.99),
    (33333.0, 1.0),
];

impl FlowSizes {
    /// Returns the points of a cumulative distribution, and their unit in bytes.
    fn points(&self) -> Option<(&Points, f64)> {
        match self {
            FlowSizes::WebSearch => Some((WEB_SEARCH, PACKET_BYTES)),
            FlowSizes::DataMining => Some((DATA_MINING, PACKET_BYTES)),
            FlowSizes::CacheFollower => Some((CACHE_FOLLOWER, PACKET_BYTES)),
            FlowSizes::Cdf(own) => Some((&own.points.0.points, 1.0)),
            FlowSizes::Lognormal(_) | FlowSizes::Pareto(_) => None,
        }
    }

    /// Returns the mean size, bytes.
    fn mean(&self) -> f64 {
        if let Some((points, unit)) = self.points() {
            let step = |pair: &Points| {
                let [(from, below), (to, share)] = [pair[0], pair[1]];
                (share - below) * (from + to) / 2.0
            };
            let first = points.first().map_or(0.0, |(size, share)| size * share);
            return unit * (first + points.windows(2).map(step).sum::<f64>());
        }
        match self {
            FlowSizes::Lognormal(own) => own.mean.as_f64(),
            FlowSizes::Pareto(own) => own.mean(),
            _ => unreachable!("has points"),
        }
    }

    /// Returns the quantile at u, from 0 to below 1, bytes.
    fn quantile(&self, u: f64) -> f64 {
        if let Some((points, unit)) = self.points() {
            return unit * between(points, u);
        }
        match self {
            FlowSizes::Lognormal(own) => {
                let sigma = own.sigma.0;
                own.mean.as_f64() * libm::exp(sigma * (normal_quantile(u) - sigma / 2.0))
            }
            FlowSizes::Pareto(own) => own.quantile(u),
            _ => unreachable!("has points"),
        }
    }
}

/// Returns the size at which a cumulative distribution reaches u.
fn between(points: &Points, u: f64) -> f64 {
    let next = points.partition_point(|(_, share)| *share <= u);
    let Some(&(to, share)) = points.get(next) else {
        return points.last().map_or(1.0, |(size, _)| *size);
    };
    let Some(&(from, below)) = next.checked_sub(1).and_then(|last| points.get(last)) else {
        return to;
    };
    from + (to - from) * (u - below) / (share - below)
}

impl ParetoSizes {
    /// Returns L, H/L, and a.
    fn parts(&self) -> (f64, f64, f64) {
        let smallest = self.smallest.as_f64();
        (smallest, self.largest.as_f64() / smallest, self.shape.0)
    }

    /// L · a/(1 − a) · (r^(1−a) − 1)/(1 − r^(−a)) with r = H/L
    fn mean(&self) -> f64 {
        let (smallest, ratio, a) = self.parts();
        if ratio <= 1.0 {
            return smallest;
        }
        let octaves = libm::log(ratio);
        let whole = -libm::expm1(-a * octaves) / a;
        let weighed = if (1.0 - a).abs() < 1e-9 {
            octaves
        } else {
            libm::expm1((1.0 - a) * octaves) / (1.0 - a)
        };
        smallest * weighed / whole
    }

    /// L · (1 − u (1 − r^(−a)))^(−1/a)
    fn quantile(&self, u: f64) -> f64 {
        let (smallest, ratio, a) = self.parts();
        smallest * libm::pow(1.0 + u * libm::expm1(-a * libm::log(ratio)), -1.0 / a)
    }
}

/// Points of a cumulative distribution, as CSV. Copies share the data.
#[derive(Clone, Debug, PartialEq)]
pub struct SizePoints(Arc<ReadPoints>);

#[derive(Debug, PartialEq)]
struct ReadPoints {
    text: String,
    points: Vec<(f64, f64)>,
    error: Option<String>,
}

/// Maximum size of a flow in a file, bytes.
const MAX_SIZE: f64 = 1e15;

impl SizePoints {
    /// Reads lines such as `10000,0.15`.
    pub fn read(text: &str) -> Self {
        let (points, error) = match read_points(text) {
            Ok(points) => (points, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        SizePoints(Arc::new(ReadPoints { text: text.to_owned(), points, error }))
    }
}

/// An invalid line is not quoted: the file may be a different one, with private contents.
fn read_points(text: &str) -> Result<Vec<(f64, f64)>, String> {
    if !text.contains('\n') {
        let message = "is the name of a file that was not read; from a text, write the points, in several lines";
        return Err(message.to_owned());
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let row = line.split('#').next().unwrap_or_default().trim();
        if row.is_empty() || points.is_empty() && row.starts_with("size_bytes") {
            continue;
        }
        let at = |message: &str| format!("line {}: {message}", number + 1);
        let two = row.split_once(',').and_then(|(size, share)| {
            let number = |text: &str| text.trim().parse::<f64>().ok();
            number(size).zip(number(share))
        });
        let Some((size, share)) = two else {
            return Err(at("no point: write a size in bytes and a share, such as 10000,0.15"));
        };
        if !(1.0..=MAX_SIZE).contains(&size) {
            return Err(at("a size is at least 1 B, and at most 1e15 B"));
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(at("a share is from 0 to 1"));
        }
        if points.last().is_some_and(|last| size < last.0 || share < last.1) {
            return Err(at("sizes and shares ascend"));
        }
        points.push((size, share));
    }
    match points.last() {
        None => Err("has no points: write a size in bytes and a share in each line".to_owned()),
        Some((_, share)) if *share < 1.0 => Err("the last share has to be 1".to_owned()),
        Some(_) => Ok(points),
    }
}

impl ParameterType for SizePoints {
    const KIND: Kind = Kind::Text;

    fn to_value(&self) -> ParameterValue {
        ParameterValue::Text(self.0.text.clone())
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Text(text) => SizePoints::read(&text),
            other => panic!("{other:?} is no text"),
        }
    }
}

/// Size of a flow, as a file has it: one for all flows, or a distribution.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowSize {
    /// All flows have it.
    Fixed(Bytes),
    /// Drawn for each flow.
    Drawn(FlowSizes),
}

impl FlowSize {
    /// Returns the mean, bytes.
    pub fn mean(&self) -> f64 {
        match self {
            FlowSize::Fixed(size) => size.as_f64(),
            FlowSize::Drawn(sizes) => sizes.mean(),
        }
    }

    /// Draws a size of at least 1 B; `uniform` draws from [0, 1), and is not asked if all flows have one size.
    pub fn draw(&self, uniform: impl FnOnce() -> f64) -> Bytes {
        match self {
            FlowSize::Fixed(size) => *size,
            FlowSize::Drawn(sizes) => {
                Bytes::new((libm::round(sizes.quantile(uniform())) as u64).max(1))
            }
        }
    }

    /// Returns the mean number of packets with at most `full` bytes each.
    pub fn mean_packets(&self, full: f64) -> f64 {
        let partial = |size: f64| libm::ceil(size / full) - size / full;
        match self {
            FlowSize::Fixed(size) => libm::ceil(size.as_f64() / full),
            FlowSize::Drawn(sizes) => {
                // What the last packet of a flow lacks is below one packet, so that a thousand flows are enough.
                let shares = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0);
                let lacking = shares.map(|u| partial(sizes.quantile(u))).sum::<f64>() / 1000.0;
                sizes.mean() / full + lacking
            }
        }
    }
}

impl ParameterType for FlowSize {
    const KIND: Kind = Kind::PlainOrTable {
        plain: &Kind::Bytes,
        table: &Kind::Choice(Alternatives::of::<FlowSizes>()),
    };

    fn to_value(&self) -> ParameterValue {
        match self {
            FlowSize::Fixed(size) => ParameterValue::Bytes(*size),
            FlowSize::Drawn(sizes) => {
                let (place, values) = sizes.to_values();
                ParameterValue::Choice(place, values)
            }
        }
    }

    fn from_value(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Choice(place, values) => {
                FlowSize::Drawn(FlowSizes::from_values(place, values))
            }
            plain => FlowSize::Fixed(Bytes::from_value(plain)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn_mean(sizes: &FlowSizes) -> f64 {
        let n = 2_000_000;
        (0..n).map(|i| sizes.quantile((f64::from(i) + 0.5) / f64::from(n))).sum::<f64>()
            / f64::from(n)
    }

    /// The scripts of pFabric's simulations state means of 1138 and 5117 packets of 1460 B, 1.66 and 7.47 MB.
    #[test]
    fn published_distributions_have_their_means_and_quantiles() {
        for (sizes, mean, half, largest) in [
            (FlowSizes::WebSearch, 1.666e6, 70_642.0, 29.2e6),
            (FlowSizes::DataMining, 7.470e6, 1_460.0, 973.33e6),
            (FlowSizes::CacheFollower, 0.9107e6, 18_980.0, 48.67e6),
        ] {
            let got = sizes.mean();
            assert!((got / mean - 1.0).abs() < 1e-3, "{sizes:?}: mean {got}");
            assert!((drawn_mean(&sizes) / got - 1.0).abs() < 1e-3, "{sizes:?}");
            let median = sizes.quantile(0.5);
            assert!((median / half - 1.0).abs() < 1e-3, "{sizes:?}: median {median}");
            let most = sizes.quantile(1.0 - f64::EPSILON);
            assert!((most / largest - 1.0).abs() < 1e-3, "{sizes:?}: largest {most}");
        }
    }

    #[test]
    fn a_lognormal_and_a_pareto_distribution_have_their_means() {
        let (mean, sigma) = (Bytes::new(100_000), Factor(1.5));
        let lognormal = FlowSizes::Lognormal(LognormalSizes { mean, sigma });
        assert!((drawn_mean(&lognormal) / 1e5 - 1.0).abs() < 5e-3, "{}", drawn_mean(&lognormal));
        for shape in [0.5, 1.0, 1.2, 3.0] {
            let (smallest, largest) = (Bytes::new(1_000), Bytes::new(10_000_000));
            let pareto = FlowSizes::Pareto(ParetoSizes { smallest, largest, shape: Factor(shape) });
            let (got, want) = (drawn_mean(&pareto), pareto.mean());
            assert!((got / want - 1.0).abs() < 2e-3, "{shape}: {got}, not {want}");
            assert!((pareto.quantile(0.0) - 1e3).abs() < 1e-6, "{shape}");
            assert!(pareto.quantile(1.0 - f64::EPSILON) <= 1e7 * (1.0 + 1e-9), "{shape}");
        }
    }

    #[test]
    fn a_file_of_points_is_a_distribution() {
        let sizes = FlowSizes::Cdf(CdfSizes {
            points: SizePoints::read("size_bytes,share\n1000,0.5 # half\n\n3000,1\n"),
        });
        assert!((sizes.mean() - 1500.0).abs() < 1e-9, "{}", sizes.mean());
        assert_eq!([0.0, 0.49, 0.75].map(|u| sizes.quantile(u)), [1000.0, 1000.0, 2000.0]);
        let flows = FlowSize::Drawn(sizes);
        assert_eq!(flows.draw(|| 0.75), Bytes::new(2000));
        // Half have one packet of 1460 B, and of the others a quarter have two and 0.54/2 three.
        let packets = flows.mean_packets(1460.0);
        let want = 0.5 + 0.5 * (0.46 * 1.0 + 1.46 * 2.0 + 0.08 * 3.0) / 2.0;
        assert!((packets - want).abs() < 2e-3, "{packets}, not {want}");
    }

    #[test]
    fn points_that_are_none_are_reported_with_their_line() {
        for (text, error) in [
            ("a.csv", "is the name of a file that was not read"),
            ("# none\n", "has no points"),
            ("1000,0.5\n", "the last share has to be 1"),
            ("1000,0.5\nten,1\n", "line 2: no point"),
            ("1000,0.5\n900,1\n", "line 2: sizes and shares ascend"),
            ("0,0.5\n900,1\n", "line 1: a size is at least 1 B"),
            ("10,0.5\n900,1.5\n", "line 2: a share is from 0 to 1"),
        ] {
            let points = SizePoints::read(text);
            let got = points.0.error.as_deref().expect("an error");
            assert!(got.starts_with(error), "{text:?}: {got}");
        }
    }
}
