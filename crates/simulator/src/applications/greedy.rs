//! Always has data to send.

use tidegate_scenario::plan::{FlowPlan, Traffic};

use super::{Application, End, System};

/// One connection, and no end of data.
pub struct Greedy;

impl Application for Greedy {
    const NAME: &'static str = "greedy";

    fn of(flow: &FlowPlan) -> Option<Self> {
        matches!(*flow.traffic, Traffic::Greedy(_)).then_some(Greedy)
    }

    fn start(&mut self, system: &mut System) {
        let connection = system.open(End::Sender);
        system.write_without_end(End::Sender, connection);
    }
}
