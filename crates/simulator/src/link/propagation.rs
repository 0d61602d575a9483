//! How long packets are on the wire, where that is not the same for all: a delay that follows a trace.
//!
//! A packet takes the delay of the time at which it leaves. Where the delay becomes shorter, it would overtake those before
//! it; it arrives behind them instead, as on a path whose queues keep the order.

use std::sync::Arc;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::LinkPlan;

/// The wire of one link.
pub(super) struct Propagation {
    delay: Delay,
    /// When the last packet arrives.
    last: Time,
}

/// The delay at a time.
enum Delay {
    /// By time; after `repeats`, all over again.
    Steps { steps: Arc<[(Time, Span)]>, repeats: Option<Span> },
}

impl Propagation {
    /// That of a link; `None` where all packets take the same time.
    pub(super) fn of(plan: &LinkPlan) -> Option<Box<Self>> {
        let traced = plan.delay_trace.as_ref()?;
        let repeats = traced.repeat.then(|| traced.trace.length());
        let delay = Delay::Steps { steps: Arc::clone(traced.trace.steps()), repeats };
        Some(Box::new(Propagation { delay, last: Time::ZERO }))
    }

    /// When a packet that departs now arrives.
    pub(super) fn far_end_at(&mut self, departs: Time) -> Time {
        let at = departs + self.delay.at(departs);
        self.last = at.max(self.last + Span::from_nanos(1));
        self.last
    }
}

impl Delay {
    fn at(&self, at: Time) -> Span {
        let Delay::Steps { steps, repeats } = self;
        let at = repeats.map_or(at, |length| Time::from_nanos(at.as_nanos() % length.as_nanos()));
        // The first begins at zero.
        steps[steps.partition_point(|(from, _)| *from <= at) - 1].1
    }
}
