//! Test application: one end sends requests and the other answers, over several connections if configured.

use std::cell::RefCell;
use std::rc::Rc;

use tidegate_mechanisms::units::Bytes;
use tidegate_scenario::plan::FlowPlan;

use super::{Application, Carrier, ConnectionId, End, System};

/// Log of events, one line each.
pub type Log = Rc<RefCell<Vec<String>>>;

/// Sends a number of requests at once when the flow starts, and again whenever all are answered.
pub struct Exchange {
    pub client: End,
    pub request: Bytes,
    pub answer: Bytes,
    pub at_once: u32,
    pub rounds: u32,
    pub log: Log,
    open: u32,
}

impl Exchange {
    pub fn new(client: End, request: Bytes, answer: Bytes, log: Log) -> Self {
        Exchange { client, request, answer, at_once: 1, rounds: 1, log, open: 0 }
    }

    fn note(&self, what: &str, system: &System) {
        let ms = system.now().as_secs() * 1e3;
        self.log.borrow_mut().push(format!("{ms:.1} ms {what}"));
    }
}

impl Application for Exchange {
    const NAME: &'static str = "exchange";

    /// Not available in scenario files.
    fn of(_: &FlowPlan) -> Option<Self> {
        None
    }

    fn listens(&self) -> bool {
        true
    }

    fn start(&mut self, system: &mut System) {
        self.rounds -= 1;
        for _ in 0..self.at_once {
            let id = system.open(self.client);
            system.write_last(self.client, id, self.request);
            self.open += 1;
        }
    }

    fn arrived(&mut self, at: End, id: ConnectionId, bytes: u64, system: &mut System) {
        self.note(&format!("{bytes} B arrive at {at:?}"), system);
        if at != self.client {
            match self.answer {
                Bytes::ZERO => system.stop(at, id),
                answer => system.write_last(at, id, answer),
            }
        }
    }

    fn acknowledged(&mut self, at: End, _: ConnectionId, system: &mut System) {
        self.note(&format!("all of {at:?} is acknowledged"), system);
    }

    fn closed(&mut self, _: ConnectionId, system: &mut System) {
        self.note("closed", system);
        self.open -= 1;
        if self.open == 0 && self.rounds > 0 {
            self.start(system);
        }
    }
}
