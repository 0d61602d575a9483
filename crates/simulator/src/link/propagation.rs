//! How long packets are on the wire, where that is not the same for all: a delay that follows a trace, jitter, packets that
//! are sent ahead, and packets that arrive twice.
//!
//! A packet takes the delay of the time at which it leaves. With a shorter delay than those before it, it would overtake
//! them; where the link keeps the order, it arrives behind them instead, as on a path of queues.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate_mechanisms::impairment::{Jitter, JitterParams, Reorder};
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::LinkPlan;

use crate::random::Stream;

/// The wire of one link.
pub(super) struct Propagation {
    delay: Delay,
    jitter: Option<(Jitter, Stream)>,
    reorder: Option<(Reorder, Stream)>,
    duplicate: Option<(f64, Stream)>,
    arrivals: Arrivals,
    /// When the copy of the last packet arrives.
    copy: Option<Time>,
}

/// Delay as a function of time.
enum Delay {
    Constant(Span),
    /// By time; after `repeats`, all over again.
    Steps {
        steps: Arc<[(Time, Span)]>,
        repeats: Option<Span>,
    },
}

/// When packets arrive. No two of a link do so in the same nanosecond, since they wait by their arrival.
struct Arrivals {
    /// Where packets keep their order, the last that was not sent ahead.
    last: Option<Time>,
    /// Where some overtake, those on the wire.
    taken: Option<BTreeSet<Time>>,
}

impl Propagation {
    /// That of a link; `None` where all packets take the same time, and none arrives twice.
    pub(super) fn of(plan: &LinkPlan, seed: u64) -> Option<Box<Self>> {
        if plan.has_one_delay() && plan.duplicate.0 == 0.0 {
            return None;
        }
        let stream = |what| Stream::new(seed, format_args!("link/{}/{what}", plan.name));
        let delay = match &plan.delay_trace {
            None => Delay::Constant(plan.delay),
            Some(traced) => Delay::Steps {
                steps: Arc::clone(traced.trace.steps()),
                repeats: traced.repeat.then(|| traced.trace.length()),
            },
        };
        let in_order = plan.jitter.as_ref().is_none_or(JitterParams::keeps_order);
        let arrivals = Arrivals {
            last: in_order.then_some(Time::ZERO),
            taken: (!in_order || plan.reorder.0 > 0.0).then(BTreeSet::new),
        };
        let duplicate = plan.duplicate.0;
        Some(Box::new(Propagation {
            delay,
            jitter: plan.jitter.as_ref().map(|own| (Jitter::new(own), stream("jitter"))),
            reorder: Reorder::new(plan.reorder.0, plan.reorder_gap.0)
                .map(|own| (own, stream("reorder"))),
            duplicate: (duplicate > 0.0).then(|| (duplicate, stream("duplicate"))),
            arrivals,
            copy: None,
        }))
    }

    /// Returns the arrival time of a packet that departs now.
    pub(super) fn far_end_at(&mut self, departs: Time) -> Time {
        let at = self.arrival(departs);
        let copied = self.duplicate.as_mut().is_some_and(|(share, rng)| rng.unit() < *share);
        self.copy = copied.then(|| self.arrival(departs));
        at
    }

    /// When the copy of the last packet arrives, if there is one.
    pub(super) fn take_copy(&mut self) -> Option<Time> {
        self.copy.take()
    }

    fn arrival(&mut self, departs: Time) -> Time {
        let ahead = self.reorder.as_mut().is_some_and(|(own, rng)| own.sends_ahead(|| rng.unit()));
        let delay = match &mut self.jitter {
            _ if ahead => Span::ZERO,
            None => self.delay.at(departs),
            Some((jitter, rng)) => jitter.delay(self.delay.at(departs), rng.unit()),
        };
        self.arrivals.place(departs, departs + delay, ahead)
    }
}

impl Delay {
    fn at(&self, at: Time) -> Span {
        match self {
            Delay::Constant(delay) => *delay,
            Delay::Steps { steps, repeats } => {
                let at = repeats
                    .map_or(at, |length| Time::from_nanos(at.as_nanos() % length.as_nanos()));
                // The first begins at zero.
                steps[steps.partition_point(|(from, _)| *from <= at) - 1].1
            }
        }
    }
}

impl Arrivals {
    /// The next free nanosecond for a packet that departs now and would arrive at `at`. Those that are sent ahead overtake, and
    /// the others keep the order that they have without them.
    fn place(&mut self, departs: Time, at: Time, ahead: bool) -> Time {
        let nanosecond = Span::from_nanos(1);
        let at = match self.last.filter(|_| !ahead) {
            Some(last) => at.max(last + nanosecond),
            None => at,
        };
        let at = self.taken.as_mut().map_or(at, |taken| {
            while taken.first().is_some_and(|first| *first < departs) {
                taken.pop_first();
            }
            let mut free = at;
            while !taken.insert(free) {
                free += nanosecond;
            }
            free
        });
        if !ahead && let Some(last) = &mut self.last {
            *last = at;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_nanos;

    fn arrivals(in_order: bool, some_overtake: bool) -> Arrivals {
        Arrivals { last: in_order.then_some(Time::ZERO), taken: some_overtake.then(BTreeSet::new) }
    }

    #[test]
    fn no_two_packets_arrive_at_once() {
        for kind in [(true, false), (true, true), (false, true)] {
            let mut arrivals = arrivals(kind.0, kind.1);
            assert_eq!(arrivals.place(AT(10), AT(50), false), AT(50));
            assert_eq!(arrivals.place(AT(20), AT(50), false), AT(51));
        }
        let mut arrivals = arrivals(false, true);
        arrivals.taken = Some(BTreeSet::from([AT(5), AT(30)]));
        assert_eq!(arrivals.place(AT(20), AT(25), false), AT(25));
        assert_eq!(arrivals.place(AT(29), AT(29), false), AT(29));
        assert_eq!(Vec::from_iter(arrivals.taken.unwrap_or_default()), [AT(29), AT(30)]);
    }

    #[test]
    fn packets_keep_their_order_but_for_those_that_are_sent_ahead() {
        let mut arrivals = arrivals(true, true);
        let packets = [(0, 90, false), (10, 40, false), (20, 20, true), (20, 100, false)];
        let at = packets.map(|(from, to, ahead)| arrivals.place(AT(from), AT(to), ahead));
        assert_eq!(at, [AT(90), AT(91), AT(20), AT(100)]);
    }
}
