//! Short flows: transfers that arrive regardless of the completion of others, each on its own connection.
//!
//! Inter-arrival times are gamma distributed. A flow that takes each arrival with some probability has inter-arrival
//! times that are sums of a geometrically distributed number of them, which are again gamma distributed:
//!
//! ```text
//! n geometric with mean 1/share,   gap = every/shape · Gamma(n · shape)
//! ```
//!
//! With arrivals from a file, the flows of the group take them in turn. Sizes are drawn as transfers start.
//!
//! State is kept for open transfers only; finished ones are counted.

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{self, FlowPlan, Traffic};

use super::{Application, Carrier, ConnectionId, End, System, TransferRecord};
use crate::random::Stream;

/// Arrival process and open transfers of one flow.
pub struct ShortFlows {
    plan: plan::ShortFlows,
    open: Vec<OpenTransfer>,
    listed: Option<Listed>,
    begun: u64,
    finished: u64,
    /// Sum of the completion times of finished transfers, seconds.
    took_s: f64,
    /// Longest completion time.
    longest: Span,
}

/// Transfer in progress.
#[derive(Clone, Copy)]
struct OpenTransfer {
    id: ConnectionId,
    start: Time,
    size: Bytes,
}

/// Progress through arrivals of a file.
#[derive(Clone, Copy)]
struct Listed {
    /// Start of the flow.
    start: Time,
    /// Index of its next arrival.
    next: usize,
    /// Number of flows that take arrivals in turn.
    flows: usize,
}

impl Application for ShortFlows {
    const NAME: &'static str = "short-flows";
    const OVERLAPS: bool = true;

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::ShortFlows(plan) = &*flow.traffic else { return None };
        Some(ShortFlows {
            plan: plan.clone(),
            open: Vec::new(),
            listed: None,
            begun: 0,
            finished: 0,
            took_s: 0.0,
            longest: Span::ZERO,
        })
    }

    fn start(&mut self, system: &mut System) {
        if self.plan.arrivals.is_some() {
            let (next, flows) = system.turn_in_group();
            self.listed = Some(Listed { start: system.now(), next, flows });
        }
        self.await_next(system);
    }

    /// Starts a transfer and schedules the next.
    fn wake(&mut self, system: &mut System) {
        self.await_next(system);
        let id = system.open(End::Sender);
        let size = self.plan.size.draw(|| system.random().unit());
        self.begun += 1;
        self.open.push(OpenTransfer { id, start: system.now(), size });
        system.write_last(End::Sender, id, size);
    }

    fn closed(&mut self, id: ConnectionId, system: &mut System) {
        let Some(place) = self.open.iter().position(|own| own.id == id) else { return };
        let OpenTransfer { start, size, .. } = self.open.swap_remove(place);
        let took = system.now() - start;
        self.finished += 1;
        self.took_s += took.as_secs();
        self.longest = self.longest.max(took);
        if self.plan.listed {
            let (completion, set_up) = (Some(took), system.set_up(id, start));
            system.record(TransferRecord { start, size, completion, set_up });
        }
    }

    fn unfinished(&self) -> Vec<TransferRecord> {
        let listed = self.open.iter().filter(|_| self.plan.listed);
        let record = |&OpenTransfer { start, size, .. }: &OpenTransfer| TransferRecord {
            start,
            size,
            completion: None,
            set_up: None,
        };
        listed.map(record).collect()
    }

    fn metrics(&self, _now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        each("begun", self.begun as f64);
        each("finished", self.finished as f64);
        each("completion_s", self.took_s / self.finished as f64);
        each("longest_completion_s", self.longest.as_secs());
    }
}

impl ShortFlows {
    /// Schedules the next transfer.
    fn await_next(&mut self, system: &mut System) {
        let at = match (&mut self.listed, &self.plan.arrivals) {
            (Some(listed), Some(arrivals)) => {
                let Some(after) = arrivals.times().get(listed.next) else { return };
                listed.next += listed.flows;
                listed.start + *after
            }
            _ => system.now() + self.gap(system.random()),
        };
        system.wake_at(at);
    }

    /// Draws the inter-arrival time of this flow's transfers.
    fn gap(&self, random: &mut Stream) -> Span {
        let plan::ShortFlows { every, shape, share, .. } = &self.plan;
        let every = every.expect("checked, or computed from a load");
        let gaps = random.geometric(share.0);
        Span::from_secs_f64(every.as_secs() / shape.0 * random.gamma(gaps as f64 * shape.0))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::{Factor, Share};
    use tidegate_scenario::plan::FlowSize;

    use super::*;

    /// Returns the mean and coefficient of variation of 20,000 gaps of mean 6 ms.
    fn gaps(shape: f64, share: f64) -> (f64, f64) {
        let plan = plan::ShortFlows {
            size: FlowSize::Fixed(Bytes::new(14_600)),
            every: Some(Span::from_millis(6)),
            load: None,
            arrivals: None,
            shape: Factor(shape),
            share: Share(share),
            listed: false,
        };
        let longest = Span::ZERO;
        let (open, listed) = (vec![], None);
        let flows = ShortFlows { plan, open, listed, begun: 0, finished: 0, took_s: 0.0, longest };
        let mut random = Stream::new(3, "gaps");
        let all: Vec<f64> = (0..20_000).map(|_| flows.gap(&mut random).as_secs()).collect();
        let mean = all.iter().sum::<f64>() / 20_000.0;
        let square = all.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / 20_000.0;
        (mean, libm::sqrt(square) / mean)
    }

    /// The coefficient of variation of a gamma distribution is the root of 1/shape. A share of a Poisson process is a
    /// Poisson process; a share of any other comes closer to one the smaller it is.
    #[test]
    fn gaps_have_the_mean_and_the_variation_of_a_share_of_a_gamma_process() {
        for (shape, share, mean, variation) in [
            (1.0, 1.0, 0.006, 1.0),
            (4.0, 1.0, 0.006, 0.5),
            (0.25, 1.0, 0.006, 2.0),
            (1.0, 0.08, 0.075, 1.0),
            (4.0, 0.5, 0.012, libm::sqrt(0.5 + 0.25 * 0.5)),
        ] {
            let (got_mean, got_variation) = gaps(shape, share);
            assert!((got_mean / mean - 1.0).abs() < 0.05, "{shape}, {share}: mean {got_mean} s");
            let off = got_variation / variation - 1.0;
            assert!(off.abs() < 0.06, "{shape}, {share}: variation {got_variation}");
        }
    }
}
