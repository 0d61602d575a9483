//! Propagation delay that follows a trace.
//!
//! A packet has the delay at its departure. If the delay decreases, it would overtake the packets before it; it arrives
//! directly after them instead, as on a path whose queues preserve the order.

use std::sync::Arc;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::LinkPlan;

/// The wire of one link.
pub(super) struct Propagation {
    delay: Delay,
    /// Arrival time of the last packet.
    last: Time,
}

/// Delay as a function of time.
enum Delay {
    /// Steps by time, repeated after `repeats`.
    Steps { steps: Arc<[(Time, Span)]>, repeats: Option<Span> },
}

impl Propagation {
    /// Returns the wire of a link; `None` if its delay is constant.
    pub(super) fn of(plan: &LinkPlan) -> Option<Box<Self>> {
        let traced = plan.delay_trace.as_ref()?;
        let repeats = traced.repeat.then(|| traced.trace.length());
        let delay = Delay::Steps { steps: Arc::clone(traced.trace.steps()), repeats };
        Some(Box::new(Propagation { delay, last: Time::ZERO }))
    }

    /// Returns the arrival time of a packet that departs now.
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
        // The first step begins at zero.
        steps[steps.partition_point(|(from, _)| *from <= at) - 1].1
    }
}
