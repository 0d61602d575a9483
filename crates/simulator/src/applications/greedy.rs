//! Greedy sender: always has data to send.

use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::{self, FlowPlan, Traffic};

use super::{Application, Carrier, ConnectionId, End, System};

/// One connection with unlimited data until the flow's stop time.
pub struct Greedy {
    lasts: Option<Span>,
    connection: Option<ConnectionId>,
}

impl Application for Greedy {
    const NAME: &'static str = "greedy";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Greedy(plan::Greedy { lasts }) = *flow.traffic else { return None };
        Some(Greedy { lasts, connection: None })
    }

    fn start(&mut self, system: &mut System) {
        let connection = system.open(End::Sender);
        system.write_without_end(End::Sender, connection);
        if let Some(lasts) = self.lasts {
            self.connection = Some(connection);
            system.wake_at(system.now() + lasts);
        }
    }

    /// Stops at the flow's stop time.
    fn wake(&mut self, system: &mut System) {
        if let Some(connection) = self.connection.take() {
            system.stop(End::Sender, connection);
        }
    }
}
