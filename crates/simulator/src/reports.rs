//! Reports of stages: entry points into the network, and contents of reports in transit.

use std::collections::BTreeMap;

use tidegate_mechanisms::stage::Report;

/// Paths of reports, and contents of reports in transit.
#[derive(Default)]
pub struct Reports {
    /// First hop of the path, by flow, hop of the reporting stage, and kind of the receiving stage.
    paths: BTreeMap<(u32, u32, &'static str), u32>,
    in_transit: Vec<Report>,
    free: Vec<u32>,
}

impl Reports {
    /// Adds a path.
    pub fn add_path(&mut self, flow: u32, hop: u32, kind: &'static str, first: u32) {
        self.paths.insert((flow, hop, kind), first);
    }

    /// Returns the first hop of reports to a kind of stage that answer a packet of this flow at this hop.
    pub fn path(&self, flow: u32, hop: u32, kind: &'static str) -> Option<u32> {
        self.paths.get(&(flow, hop, kind)).copied()
    }

    /// Stores a report and returns its ticket.
    pub fn put(&mut self, report: Report) -> u64 {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.in_transit.push(Report::default());
            (self.in_transit.len() - 1) as u32
        });
        self.in_transit[ticket as usize] = report;
        ticket.into()
    }

    /// Takes a stored report; valid once.
    pub fn take(&mut self, ticket: u64) -> Report {
        self.free.push(ticket as u32);
        self.in_transit[ticket as usize].clone()
    }
}
