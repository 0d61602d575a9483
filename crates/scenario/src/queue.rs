//! From the AQM of a file to the planned one.

use tidegate_mechanisms::bottleneck::adaptive_red::{automatic_min_threshold, automatic_weight};
use tidegate_mechanisms::bottleneck::{
    AdaptiveRedParams, CodelArithmetic, CodelParams, CsfqParams, PieParams, PiecewiseLinearParams,
    QueueUnit, RedParams, RedSpacing,
};
use tidegate_mechanisms::units::{Bytes, Rate, Span};

use crate::file::{AdaptiveRed, Aqm, Codel, Csfq, Pie, Red, Spacing};
use crate::plan::AqmPlan;
use crate::quantity::QueueLength;

/// The AQM in front of a link of this rate, whose typical packet has this size.
pub(crate) fn aqm(aqm: &Aqm, rate: Rate, packet_size: Bytes) -> AqmPlan {
    let mean_packet_time = rate.transmission_time(packet_size);
    match aqm {
        Aqm::DropTail(_) => AqmPlan::DropTail,
        Aqm::PiecewiseLinear(function) => {
            AqmPlan::PiecewiseLinear(PiecewiseLinearParams { points: function.resolved() })
        }
        Aqm::Red(file) => AqmPlan::Red(red(file, mean_packet_time)),
        Aqm::AdaptiveRed(file) => AqmPlan::AdaptiveRed(adaptive_red(file, mean_packet_time)),
        Aqm::Csfq(Csfq { averaging, link_averaging, window }) => AqmPlan::Csfq(CsfqParams {
            rate,
            averaging: *averaging,
            link_averaging: *link_averaging,
            window: *window,
        }),
        Aqm::Pie(file) => AqmPlan::Pie(pie(file, packet_size)),
        // The largest packet is found out by the queue.
        Aqm::Codel(Codel { target, interval, linux_arithmetic }) => AqmPlan::Codel(CodelParams {
            target: *target,
            interval: *interval,
            max_packet: Bytes::ZERO,
            arithmetic: CodelArithmetic::linux_if(*linux_arithmetic),
        }),
    }
}

fn threshold(length: QueueLength) -> (f64, QueueUnit) {
    match length {
        QueueLength::Packets(packets) => (f64::from(packets), QueueUnit::Packets),
        QueueLength::Bytes(bytes) => (bytes.as_f64(), QueueUnit::Bytes),
    }
}

fn spacing(spacing: Spacing) -> RedSpacing {
    match spacing {
        Spacing::Geometric => RedSpacing::Geometric,
        Spacing::Uniform => RedSpacing::Uniform,
        Spacing::Wait => RedSpacing::Wait,
    }
}

fn red(file: &Red, mean_packet_time: Span) -> RedParams {
    let (min_threshold, mode) = threshold(file.min_threshold);
    RedParams {
        min_threshold,
        max_threshold: threshold(file.max_threshold).0,
        max_probability: file.max_probability.0,
        weight: file.weight.0,
        mode,
        gentle: file.gentle,
        spacing: spacing(file.spacing),
        mean_packet_time,
    }
}

fn adaptive_red(file: &AdaptiveRed, mean_packet_time: Span) -> AdaptiveRedParams {
    let automatic = || automatic_min_threshold(file.target_delay, mean_packet_time);
    let (min_threshold, mode) =
        file.min_threshold.map_or_else(|| (automatic(), QueueUnit::Packets), threshold);
    let weight = file.weight.map(|weight| weight.0);
    AdaptiveRedParams {
        red: RedParams {
            min_threshold,
            max_threshold: file.max_threshold.map_or(3.0 * min_threshold, |max| threshold(max).0),
            max_probability: file.max_probability.0,
            weight: weight.unwrap_or_else(|| automatic_weight(mean_packet_time)),
            mode,
            gentle: true,
            spacing: spacing(file.spacing),
            mean_packet_time,
        },
        interval: file.interval,
        increase: file.increase.0,
        decrease: file.decrease.0,
    }
}

fn pie(file: &Pie, mean_packet: Bytes) -> PieParams {
    PieParams {
        target: file.target,
        update_interval: file.update_interval,
        burst_allowance: file.burst_allowance,
        alpha: file.alpha.0,
        beta: file.beta.0,
        mark_limit: file.mark_limit.0,
        derandomised: file.derandomised,
        mean_packet,
    }
}
