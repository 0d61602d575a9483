//! Reports of stages: where they enter the network, and what those under way say.

use std::collections::BTreeMap;

use tidegate_mechanisms::stage::Report;

/// Where the reports of a stage enter the network, and those that are under way.
#[derive(Default)]
pub struct Reports {
    /// First hop of their path: by flow, by the hop at which the stage stands, and by who takes them.
    paths: BTreeMap<(u32, u32, &'static str), u32>,
    in_transit: Vec<Report>,
    free: Vec<u32>,
}

impl Reports {
    /// Adds a way.
    pub fn add_path(&mut self, flow: u32, hop: u32, kind: &'static str, first: u32) {
        self.paths.insert((flow, hop, kind), first);
    }

    /// The first hop of reports to a kind of stage that answer a packet of this flow at this hop.
    pub fn path(&self, flow: u32, hop: u32, kind: &'static str) -> Option<u32> {
        self.paths.get(&(flow, hop, kind)).copied()
    }

    /// Leaves what a report says here and returns the ticket.
    pub fn put(&mut self, report: Report) -> u64 {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.in_transit.push(Report::default());
            (self.in_transit.len() - 1) as u32
        });
        self.in_transit[ticket as usize] = report;
        ticket.into()
    }

    /// Takes what a report says, once.
    pub fn take(&mut self, ticket: u64) -> Report {
        self.free.push(ticket as u32);
        self.in_transit[ticket as usize].clone()
    }
}
