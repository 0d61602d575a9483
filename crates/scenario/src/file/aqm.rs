//! How a queue signals congestion.

use tidegate_mechanisms::units::Span;

use crate::declare::{choice, kinds, section};
use crate::field::Reader;
use crate::quantity::QueueLength;
use crate::value::{Factor, Points, Share};

kinds! {
    /// How a queue signals congestion.
    pub enum Aqm {
        DropTail = "drop-tail",
        PiecewiseLinear = "piecewise-linear",
        Red = "red",
        AdaptiveRed = "adaptive-red",
        Csfq = "csfq",
        Pie = "pie",
        Codel = "codel",
    }
}

section! {
    /// Loss only when the buffer is full.
    pub struct DropTail {}
}

section! {
    /// A probability that is a piecewise-linear function of the queue length in packets, without
    /// the arriving one. Give either function or points.
    pub struct PiecewiseLinear {
        /// The function by its name in the ABC paper, pf-Q0-Q1-Q2-p1: 0 up to Q0, p1 at Q1, 1
        /// from Q2 on. Such as "pf-11-17-24-0.01".
        optional function: String;
        /// Points [queue length in packets, probability], ascending.
        optional points: Points;
    }
    check function_or_points;
}

fn function_or_points(aqm: &PiecewiseLinear, reader: &mut Reader) {
    match (&aqm.function, &aqm.points) {
        (Some(_), Some(_)) => reader.wrong_at("points", "give function or points, not both"),
        (Some(name), None) if aqm.named().is_none() => {
            let message = format!(
                "\"{name}\" is not pf-Q0-Q1-Q2-p1 with Q0 < Q1 < Q2 up to 1000000 and p1 from 0 to 1, \
                 such as \"pf-11-17-24-0.01\""
            );
            reader.wrong_at("function", message);
        }
        // A list that could not be read has been reported already.
        (None, None) if reader.mistakes.is_empty() => {
            reader.wrong_at("function", "missing; or give points");
        }
        _ => {}
    }
}

impl PiecewiseLinear {
    /// The points of the function; none in a file with mistakes.
    pub fn resolved(&self) -> Vec<(f64, f64)> {
        let points = self.points.as_ref().map(|points| points.0.clone());
        points.or_else(|| self.named()).unwrap_or_default()
    }

    /// The points behind the name pf-Q0-Q1-Q2-p1.
    fn named(&self) -> Option<Vec<(f64, f64)>> {
        let parts: Vec<&str> = self.function.as_ref()?.strip_prefix("pf-")?.split('-').collect();
        let &[q0, q1, q2, p1] = parts.as_slice() else {
            return None;
        };
        let queue = |text: &str| text.parse::<u32>().ok().filter(|q| *q <= 1_000_000);
        let (q0, q1, q2) = (queue(q0)?, queue(q1)?, queue(q2)?);
        let p1: f64 = p1.parse().ok().filter(|p| (0.0..=1.0).contains(p))?;
        let points = vec![(q0.into(), 0.0), (q1.into(), p1), (q2.into(), 1.0)];
        (q0 < q1 && q1 < q2).then_some(points)
    }
}

section! {
    /// Random early detection: a probability that grows with the average queue.
    pub struct Red {
        /// No signal below this average queue.
        required min_threshold: QueueLength;
        /// Every packet is signalled from this average queue on, unless gentle.
        required max_threshold: QueueLength;
        /// Probability just below max_threshold.
        default max_probability: Share = Share(0.1);
        /// Weight of a new sample in the average queue.
        default weight: Share = Share(0.002);
        /// Rise from max_probability to 1 between max_threshold and its double.
        default gentle: bool = false;
        /// How the signals are spaced.
        default spacing: Spacing = Spacing::Uniform;
    }
    check thresholds_ascend;
}

fn thresholds_ascend(red: &Red, reader: &mut Reader) {
    ascend(red.min_threshold, red.max_threshold, reader);
}

fn ascend(min: QueueLength, max: QueueLength, reader: &mut Reader) {
    use QueueLength::{Bytes, Packets};
    let ascend = match (min, max) {
        (Packets(min), Packets(max)) => min < max,
        (Bytes(min), Bytes(max)) => min < max,
        _ => return reader.wrong_at("max_threshold", "must have the unit of min_threshold"),
    };
    if !ascend {
        let message = format!("{} is not above min_threshold, {}", max.write(), min.write());
        reader.wrong_at("max_threshold", message);
    }
}

choice! {
    /// How RED spaces its signals.
    pub enum Spacing {
        /// Each packet is judged on its own, with probability p.
        Geometric = "geometric",
        /// At most 1/p packets between two signals, all gaps equally likely.
        Uniform = "uniform",
        /// Between 1/p and 2/p packets between two signals, as ns-2 and ns-3 do with `wait`.
        Wait = "wait",
    }
}

section! {
    /// RED that moves its max_probability so that the average queue stays halfway between the
    /// thresholds. Always gentle. Thresholds and weight follow from the link where they are not given.
    pub struct AdaptiveRed {
        /// No signal below this average queue. Default: what half the target delay holds, at least
        /// 5 packets.
        optional min_threshold: QueueLength;
        /// Signals rise faster from this average queue on. Default: three times min_threshold.
        optional max_threshold: QueueLength;
        /// Queueing delay to aim at with the default of min_threshold.
        default target_delay: Span = Span::from_millis(5);
        /// Probability just below max_threshold, to begin with.
        default max_probability: Share = Share(0.1);
        /// Weight of a new sample in the average queue. Default: 1 - exp(-1/C), where the link sends
        /// C packets per second.
        optional weight: Share;
        /// Time between two adaptations.
        default interval: Span = Span::from_millis(500);
        /// Largest increase of max_probability; it grows by a quarter of itself if that is less.
        default increase: Share = Share(0.01);
        /// Factor by which max_probability decreases.
        default decrease: Share = Share(0.9);
        /// How the signals are spaced.
        default spacing: Spacing = Spacing::Uniform;
    }
    check adaptive_thresholds_ascend;
}

fn adaptive_thresholds_ascend(red: &AdaptiveRed, reader: &mut Reader) {
    match (red.min_threshold, red.max_threshold) {
        (Some(min), Some(max)) => ascend(min, max, reader),
        (None, Some(_)) => reader.wrong_at("max_threshold", "give min_threshold, too"),
        (_, None) => {}
    }
    takes_time(&[("interval", red.interval)], reader);
}

section! {
    /// Core-stateless fair queueing: packets of customers whose rate exceeds the fair share are
    /// dropped at arrival, the more the higher their rate.
    pub struct Csfq {
        /// Time K over which a customer's rate is averaged.
        default averaging: Span = Span::from_millis(100);
        /// Time K_alpha over which the rates that arrive and pass are averaged.
        default link_averaging: Span = Span::from_millis(200);
        /// Time K_c between two changes of the fair share.
        default window: Span = Span::from_millis(200);
    }
    check csfq_takes_time;
}

fn csfq_takes_time(csfq: &Csfq, reader: &mut Reader) {
    let Csfq { averaging, link_averaging, window } = *csfq;
    let times = [("averaging", averaging), ("link_averaging", link_averaging), ("window", window)];
    takes_time(&times, reader);
}

section! {
    /// PIE: a probability that moves so that packets wait for about the target.
    pub struct Pie {
        /// Queueing delay to aim at.
        default target: Span = Span::from_millis(15);
        /// Time between two updates of the probability.
        default update_interval: Span = Span::from_millis(15);
        /// How long a burst goes without signals.
        default burst_allowance: Span = Span::from_millis(150);
        /// Weight of the distance from the target, per second.
        default alpha: Factor = Factor(0.125);
        /// Weight of the change of the delay, per second.
        default beta: Factor = Factor(1.25);
        /// Probability from which on ECN-capable packets are dropped, not marked.
        default mark_limit: Share = Share(0.1);
        /// Keep a distance between signals.
        default derandomised: bool = false;
    }
    check pie_takes_time;
}

fn pie_takes_time(pie: &Pie, reader: &mut Reader) {
    takes_time(&[("target", pie.target), ("update_interval", pie.update_interval)], reader);
}

section! {
    /// Controlled delay: signals at departure when packets have waited too long for a whole
    /// interval. It gives no probability, so that no differentiation goes on it.
    pub struct Codel {
        /// Delay that may stand.
        default target: Span = Span::from_millis(5);
        /// How long it may be exceeded; about a worst-case round-trip time.
        default interval: Span = Span::from_millis(100);
        /// Time the signals as Linux does, which approximates the square root.
        default linux_arithmetic: bool = false;
    }
    check codel_interval_is_a_time;
}

fn codel_interval_is_a_time(codel: &Codel, reader: &mut Reader) {
    interval_is_a_time(codel.interval, reader);
}

/// CoDel's signals come interval/√count apart.
pub(crate) fn interval_is_a_time(interval: Span, reader: &mut Reader) {
    if interval == Span::ZERO {
        reader.wrong_at("interval", "0 s would signal without end; write e.g. \"100 ms\"");
    }
}

fn takes_time(times: &[(&str, Span)], reader: &mut Reader) {
    for (key, _) in times.iter().filter(|(_, time)| *time == Span::ZERO) {
        reader.wrong_at(key, "must be longer than 0 s");
    }
}
