//! Greedy sender: always has data to send.

use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::{self, FlowPlan, Traffic};

use super::{Application, Carrier, End, System};

/// One connection with unlimited data until the flow's stop time. It needs no state: large networks have one for each
/// flow.
pub struct Greedy;

/// Returns how long it sends, if it does not send for ever.
fn lasts(flow: &FlowPlan) -> Option<Span> {
    let Traffic::Greedy(plan::Greedy { lasts }) = *flow.traffic else { return None };
    lasts
}

impl Application for Greedy {
    const NAME: &'static str = "greedy";

    fn of(flow: &FlowPlan) -> Option<Self> {
        matches!(*flow.traffic, Traffic::Greedy(_)).then_some(Greedy)
    }

    fn start(&mut self, system: &mut System) {
        let connection = system.open(End::Sender);
        system.write_without_end(End::Sender, connection);
        if let Some(lasts) = lasts(system.route.plan) {
            system.wake_at(system.now() + lasts);
        }
    }

    /// Stops at the flow's stop time.
    fn wake(&mut self, system: &mut System) {
        if let Some(connection) = system.account.latest() {
            system.stop(End::Sender, connection);
        }
    }
}
