//! RED, random early detection.
//! S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! ToN 1(4), 1993; "gentle" from S. Floyd's note of 2000. Order of steps and the count follow ns-2's
//! `red.cc`.
//!
//! RED averages the queue length q at every arrival, and the signal probability increases with the average:
//!
//! ```text
//! avg ← (1 − w_q)^m avg                     after an idle time that fits m typical packets
//! avg ← (1 − w_q) avg + w_q q               per arriving packet
//! p_b = max_p (avg − min_th)/(max_th − min_th)            min_th ≤ avg < max_th
//! p_b = max_p + (1 − max_p)(avg − max_th)/max_th          max_th ≤ avg < 2 max_th, if gentle
//! ```
//!
//! and 1 above, where the signal is *forced*. With `hard_drop`, forced signals are drops even for ECN-capable packets,
//! as in ns-3, and in ns-2 if `use_mark_p_` is false. By default, ns-2 drops from a p_b of `mark_p_`, 0.1, on, which is
//! `marks_below` here. Linux's RED marks there as well, without its option `harddrop`. Signals are spaced by the number
//! `count` of packets since the last one, including this packet:
//!
//! ```text
//! geometric  p_a = p_b                                    independent draws
//! uniform    p_a = p_b/(1 − count p_b)                    1 where count p_b ≥ 1
//! wait       p_a = 0                                      count p_b < 1
//!            p_a = p_b/(2 − count p_b)                    1 ≤ count p_b < 2, then 1
//! ```
//!
//! With `mean_packet`, a packet of L bytes has p_a L/mean_packet where p_a is below 1, as in ns-2 with `bytes_`, its
//! default since 2004, so that SYNs and ACKs are hardly ever lost.
//!
//! At a constant p_b = 1/n the gaps between signals are geometric with mean n; uniform on
//! 1 … n − 1; or uniform on n … 2n − 1 (ns-2's and ns-3's default).
//!
//! If customers have thresholds of their own (`aicp-a`), each has its own zone and count of packets, 5 bytes per
//! customer: each customer gets a RED of its own with the common average. With a common count, a packet would be
//! signalled because of packets of other customers, or never.
//!
//! As in ns-2: a packet that finds fewer than two others is never signalled; the first one after the average has risen
//! through min_th is not signalled and starts the count at 1; a packet lost to a full buffer counts as a signal.
//!
//! Differs from the 1993 paper, with ns-2: the paper's count is one lower when the average rises through min_th, and
//! its text (not its algorithm) counts one lower after each signal too. Differs from ns-2: with independent draws no
//! packet is exempt; `count` is in packets even if they are judged by size, where ns-2 counts whole mean packets; a
//! draw in [0, 1) signals below p_a, not also at it. Adaptive max_p is a separate mechanism, `adaptive-red`.

use super::{Arrival, ManageQueue, Place};
use crate::mechanism::About;
use crate::parameters::ParameterError;
use crate::units::{Bytes, QueueLength, Share, Span};
use crate::{parameters, words};

parameters! {
    /// Random early detection: a probability that grows with the average queue. Thresholds in packets
    /// or, both of them, in bytes.
    pub struct RedParams {
        /// min_th: no signal below this average queue.
        pub min_threshold: QueueLength,
        /// max_th: every packet is signalled from this average queue on, unless gentle.
        pub max_threshold: QueueLength,
        /// max_p: probability just below max_threshold.
        pub max_probability: Share = "0.1",
        /// w_q: weight of a new sample in the average queue.
        pub weight: Share = "0.002",
        /// Rise from max_probability to 1 between max_threshold and its double.
        pub gentle: bool = "false",
        /// Spacing of the signals.
        pub spacing: RedSpacing = "uniform",
        /// Drop even ECN-capable packets where every packet is signalled: from max_threshold on, or from its double if
        /// gentle. Otherwise they are marked there, too.
        pub hard_drop: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// p_b from which on ECN-capable packets are dropped instead of marked, as mark_p_ of ns-2, 0.1 by default
        /// there. Default: all signals are marks, except with hard_drop.
        pub marks_below: Option<Share>,
        /// Packet size with the plain probability, if the probability is proportional to a packet's size; 500 bytes in
        /// ns-2 by default. Default: the size does not matter.
        pub mean_packet: Option<Bytes>,
    }
    check thresholds_ascend;
}

words! {
    /// Spacing of RED's signals.
    pub enum RedSpacing {
        /// Each packet is judged on its own, with probability p.
        Geometric = "geometric",
        /// At most 1/p packets between two signals, all gaps equally likely.
        Uniform = "uniform",
        /// Between 1/p and 2/p packets between two signals, as ns-2 and ns-3 do with `wait`.
        Wait = "wait",
    }
}

fn thresholds_ascend(params: &RedParams) -> Option<ParameterError> {
    let no_packet = params.mean_packet == Some(Bytes::ZERO);
    ascend(params.min_threshold, params.max_threshold).or_else(|| {
        no_packet.then(|| ("mean_packet", "must be above 0; write e.g. \"1500 B\"".to_owned()))
    })
}

/// Returns the error of a pair of thresholds.
pub(super) fn ascend(min: QueueLength, max: QueueLength) -> Option<ParameterError> {
    let ascend = match (min, max) {
        (QueueLength::Packets(min), QueueLength::Packets(max)) => min < max,
        (QueueLength::Bytes(min), QueueLength::Bytes(max)) => min < max,
        _ => return Some(("max_threshold", "must have the unit of min_threshold".to_owned())),
    };
    let message = || format!("{max} is not above min_threshold, {min}");
    (!ascend).then(|| ("max_threshold", message()))
}

/// Parameters of RED on a link.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RedOnLink {
    /// No signal below this average queue, in the unit of `mode`.
    pub min_threshold: f64,
    /// Signal every packet from this average queue on (unless gentle).
    pub max_threshold: f64,
    /// Probability just below `max_threshold`.
    pub max_probability: f64,
    /// Weight w_q of the moving average.
    pub weight: f64,
    /// Unit of the queue length.
    pub mode: QueueUnit,
    /// Rise linearly from `max_probability` to 1 between `max_threshold` and its double.
    pub gentle: bool,
    /// How signals are spaced.
    pub spacing: RedSpacing,
    /// Whether to drop forced signals regardless of ECN.
    pub hard_drop: bool,
    /// p_b from which on signals are drops regardless of ECN.
    pub marks_below: Option<f64>,
    /// Packet size that has the plain probability, if the probability depends on the size.
    pub mean_packet: Option<f64>,
    /// Transmission time of a typical packet, for the decay of the average while idle.
    pub mean_packet_time: Span,
}

impl RedOnLink {
    /// Returns the smallest average at which p_b reaches this value.
    fn average_at(&self, p_b: f64) -> f64 {
        let (min_th, max_th, max_p) =
            (self.min_threshold, self.max_threshold, self.max_probability);
        if p_b <= max_p {
            min_th + (max_th - min_th) * p_b / max_p
        } else if self.gentle {
            max_th + max_th * (p_b - max_p) / (1.0 - max_p)
        } else {
            max_th
        }
    }
}

/// Unit of a queue length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueUnit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// State of one RED queue.
#[derive(Clone, Debug)]
pub struct Red {
    params: RedOnLink,
    /// Average queue length avg, in the unit of `params.mode`.
    average: f64,
    /// Average from which on ECN-capable packets are dropped, too.
    drops_from: f64,
    spacing: Spacing,
    /// Customer of the current `spacing`; the vector has the state of all, and is empty if all have the same
    /// thresholds.
    customer: usize,
    by_customer: Vec<Spacing>,
}

/// State of the spacing between signals.
#[derive(Clone, Copy, Debug, Default)]
struct Spacing {
    zone: Zone,
    /// Packets since the last signal, including the present one.
    count: u32,
}

/// Zone of the average when the last packet was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Zone {
    /// Below min_th, or the queue is almost empty.
    #[default]
    Calm,
    /// Between the thresholds: signals with a probability.
    Early,
    /// At the upper end: every packet is signalled.
    Forced,
}

impl ManageQueue for Red {
    type Params = RedParams;

    const ABOUT: About = About {
        name: "red",
        title: "RED",
        source: "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993",
        usage: r#"bottleneck.aqm = { kind = "red", min_threshold = "5 packets", max_threshold = "15 packets" }"#,
        file: "bottleneck/red.rs",
        text: crate::mechanism::source_text!("red.rs"),
    };

    const HAS_THRESHOLDS: bool = true;

    fn new(params: RedParams, place: &Place) -> Result<Self, ParameterError> {
        let (min_threshold, mode) = threshold(params.min_threshold);
        Ok(Red::on_link(RedOnLink {
            min_threshold,
            max_threshold: threshold(params.max_threshold).0,
            max_probability: params.max_probability.0,
            weight: params.weight.0,
            mode,
            gentle: params.gentle,
            spacing: params.spacing,
            hard_drop: params.hard_drop,
            marks_below: params.marks_below.map(|share| share.0),
            mean_packet: params.mean_packet.map(Bytes::as_f64),
            mean_packet_time: place.packet_time(),
        }))
    }

    /// Updates the average with the queue length at an arrival, and returns p_a.
    #[inline]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        self.spaced_probability(arrival, 1.0)
    }

    #[inline]
    fn stretched_probability(&mut self, arrival: &Arrival, stretch: f64) -> (f64, f64) {
        self.turn_to(arrival.user as usize);
        (self.spaced_probability(arrival, stretch), self.plain_probability())
    }

    #[inline]
    fn on_verdict(&mut self, signalled: bool) {
        if signalled {
            self.spacing.count = 0;
        }
    }

    #[inline]
    fn is_forced(&self) -> bool {
        self.params.hard_drop && self.spacing.zone == Zone::Forced
            || self.average >= self.drops_from
    }

    /// Size of avg, count and zone; the latter two per customer where these differ.
    fn state_bytes(&self) -> usize {
        let zone_and_count = size_of::<Zone>() + size_of::<u32>();
        size_of::<f64>() + zone_and_count * self.by_customer.len().max(1)
    }

    fn average_backlog(&self) -> Option<f64> {
        Some(self.average)
    }
}

/// Returns a threshold as a number, and its unit.
pub(super) fn threshold(length: QueueLength) -> (f64, QueueUnit) {
    match length {
        QueueLength::Packets(packets) => (f64::from(packets), QueueUnit::Packets),
        QueueLength::Bytes(bytes) => (bytes.as_f64(), QueueUnit::Bytes),
    }
}

impl Red {
    /// Returns RED before the first packet.
    pub(super) fn on_link(params: RedOnLink) -> Self {
        let spacing = Spacing::default();
        let drops_from = params.marks_below.map_or(f64::INFINITY, |p_b| params.average_at(p_b));
        Red { params, average: 0.0, drops_from, spacing, customer: 0, by_customer: Vec::new() }
    }

    /// Switches to a customer's own spacing: its thresholds put it into its own zone, and the probability of signals
    /// applies to its packets alone.
    #[inline]
    pub(super) fn turn_to(&mut self, customer: usize) {
        let last = customer.max(self.customer);
        if last >= self.by_customer.len() {
            self.by_customer.resize(last + 1, Spacing::default());
        }
        self.by_customer[self.customer] = self.spacing;
        self.spacing = self.by_customer[customer];
        self.customer = customer;
    }

    /// Returns p_a, with both thresholds multiplied by `stretch`.
    #[inline]
    pub(super) fn spaced_probability(&mut self, arrival: &Arrival, stretch: f64) -> f64 {
        self.update_average(arrival);
        self.spacing.count = self.spacing.count.saturating_add(1);

        if self.average < self.params.min_threshold * stretch || arrival.backlog_packets < 2 {
            self.spacing.zone = Zone::Calm;
            return 0.0;
        }
        if self.average >= self.forced_threshold() * stretch {
            self.spacing.zone = Zone::Forced;
            return 1.0;
        }
        let before = core::mem::replace(&mut self.spacing.zone, Zone::Early);
        if before == Zone::Calm && self.params.spacing != RedSpacing::Geometric {
            self.spacing.count = 1;
            return 0.0;
        }
        let p_a = self.spaced(self.early_probability(self.average, stretch));
        match self.params.mean_packet {
            Some(mean) if p_a < 1.0 => (p_a * arrival.len.as_f64() / mean).min(1.0),
            _ => p_a,
        }
    }

    /// Returns p_b at the present average and RED's own thresholds, for an average packet.
    #[inline]
    pub fn plain_probability(&self) -> f64 {
        self.probability_at(self.average)
    }

    /// Returns p_b at another average, in the unit of the thresholds.
    #[inline]
    pub fn probability_at(&self, average: f64) -> f64 {
        if average < self.params.min_threshold {
            0.0
        } else if average >= self.forced_threshold() {
            1.0
        } else {
            self.early_probability(average, 1.0)
        }
    }

    /// Returns avg, in the unit of the thresholds.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// Returns avg after an idle time since the last packet.
    pub(super) fn average_after(&self, idle: Span) -> f64 {
        self.average * self.decay(idle)
    }

    /// Returns max_p.
    pub(super) fn max_probability(&self) -> f64 {
        self.params.max_probability
    }

    /// Sets max_p.
    pub(super) fn set_max_probability(&mut self, max_p: f64) {
        self.params.max_probability = max_p;
    }

    #[inline]
    fn update_average(&mut self, arrival: &Arrival) {
        let w_q = self.params.weight;
        if arrival.idle > Span::ZERO {
            self.average *= self.decay(arrival.idle);
        }
        let q = match self.params.mode {
            QueueUnit::Packets => f64::from(arrival.backlog_packets),
            QueueUnit::Bytes => arrival.backlog_bytes as f64,
        };
        self.average = (1.0 - w_q) * self.average + w_q * q;
    }

    /// Returns (1 − w_q)^m, where m typical packets fit in the idle time.
    #[cold]
    fn decay(&self, idle: Span) -> f64 {
        let m = idle.as_nanos() / self.params.mean_packet_time.as_nanos().max(1);
        libm::pow(1.0 - self.params.weight, m as f64)
    }

    #[inline]
    fn forced_threshold(&self) -> f64 {
        let max_th = self.params.max_threshold;
        if self.params.gentle { 2.0 * max_th } else { max_th }
    }

    /// Returns p_b between min_th and the forced threshold, both stretched.
    #[inline]
    fn early_probability(&self, average: f64, stretch: f64) -> f64 {
        let RedOnLink { min_threshold: min_th, max_threshold: max_th, .. } = self.params;
        let (min_th, max_th) = (min_th * stretch, max_th * stretch);
        let max_p = self.params.max_probability;
        if average < max_th {
            max_p * (average - min_th) / (max_th - min_th)
        } else {
            max_p + (1.0 - max_p) * (average - max_th) / max_th
        }
    }

    /// Returns p_a from p_b and the count.
    #[inline]
    fn spaced(&self, p_b: f64) -> f64 {
        let expected = f64::from(self.spacing.count) * p_b;
        match self.params.spacing {
            RedSpacing::Geometric => p_b,
            RedSpacing::Uniform if expected < 1.0 => (p_b / (1.0 - expected)).min(1.0),
            RedSpacing::Wait if expected < 1.0 => 0.0,
            RedSpacing::Wait if expected < 2.0 => (p_b / (2.0 - expected)).min(1.0),
            RedSpacing::Uniform | RedSpacing::Wait => 1.0,
        }
    }
}

#[cfg(test)]
#[path = "red_tests.rs"]
mod tests;
