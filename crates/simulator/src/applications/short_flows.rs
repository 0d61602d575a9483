//! Short flows: transfers that arrive regardless of the completion of others, each on its own connection.
//!
//! Inter-arrival times are gamma distributed. A flow that takes each arrival with some probability has inter-arrival
//! times that are sums of a geometrically distributed number of them, which are again gamma distributed:
//!
//! ```text
//! n geometric with mean 1/share,   gap = every/shape · Gamma(n · shape)
//! ```
//!
//! State is kept for open transfers only; finished ones are counted.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{self, FlowPlan, Traffic};

use super::{Application, Carrier, ConnectionId, End, System, TransferRecord};
use crate::random::Stream;

/// Arrival process and open transfers of one flow.
pub struct ShortFlows {
    plan: plan::ShortFlows,
    open: Vec<(ConnectionId, Time)>,
    begun: u64,
    finished: u64,
    /// Sum of the completion times of finished transfers, seconds.
    took_s: f64,
    /// Longest completion time.
    longest: Span,
}

impl Application for ShortFlows {
    const NAME: &'static str = "short-flows";
    const OVERLAPS: bool = true;

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::ShortFlows(plan) = &*flow.traffic else { return None };
        Some(ShortFlows {
            plan: plan.clone(),
            open: Vec::new(),
            begun: 0,
            finished: 0,
            took_s: 0.0,
            longest: Span::ZERO,
        })
    }

    fn start(&mut self, system: &mut System) {
        let gap = self.gap(system.random());
        system.wake_at(system.now() + gap);
    }

    /// Starts a transfer and schedules the next.
    fn wake(&mut self, system: &mut System) {
        self.start(system);
        let id = system.open(End::Sender);
        self.begun += 1;
        self.open.push((id, system.now()));
        system.write_last(End::Sender, id, self.plan.size);
    }

    fn closed(&mut self, id: ConnectionId, system: &mut System) {
        let Some(place) = self.open.iter().position(|(of, _)| *of == id) else { return };
        let (_, start) = self.open.swap_remove(place);
        let took = system.now() - start;
        self.finished += 1;
        self.took_s += took.as_secs();
        self.longest = self.longest.max(took);
        if self.plan.listed {
            let (completion, set_up) = (Some(took), system.set_up(id, start));
            system.record(TransferRecord { start, size: self.plan.size, completion, set_up });
        }
    }

    fn unfinished(&self) -> Vec<TransferRecord> {
        let listed = self.open.iter().filter(|_| self.plan.listed);
        let record = |&(_, start): &(ConnectionId, Time)| TransferRecord {
            start,
            size: self.plan.size,
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
    /// Draws the inter-arrival time of this flow's transfers.
    fn gap(&self, random: &mut Stream) -> Span {
        let plan::ShortFlows { every, shape, share, .. } = &self.plan;
        let gaps = random.geometric(share.0);
        Span::from_secs_f64(every.as_secs() / shape.0 * random.gamma(gaps as f64 * shape.0))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::{Bytes, Factor, Share};

    use super::*;

    /// Returns the mean and coefficient of variation of 20,000 gaps of mean 6 ms.
    fn gaps(shape: f64, share: f64) -> (f64, f64) {
        let plan = plan::ShortFlows {
            size: Bytes::new(14_600),
            every: Span::from_millis(6),
            shape: Factor(shape),
            share: Share(share),
            listed: false,
        };
        let longest = Span::ZERO;
        let flows = ShortFlows { plan, open: vec![], begun: 0, finished: 0, took_s: 0.0, longest };
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
