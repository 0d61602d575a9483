//! The maps at a time: what reports, metrics and captures compare.

use std::collections::HashMap;

use tidegate_mechanisms::fixed_point::MAX_ACTIVITY;

use crate::customer::Customer;
use crate::maps::{Count, Direction, Maps, REASONS, SETTINGS_WORDS, SIGNAL_WORDS, word};
use crate::prefix::unmapped;

/// Which customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// One of the file, by its slot.
    Listed(u32),
    /// One that is learned, by its address.
    Learned([u8; 16]),
}

impl Who {
    /// For reports.
    pub fn name(self, maps: &Maps) -> String {
        match self {
            Who::Listed(slot) => maps.name(slot),
            Who::Learned(address) => unmapped(address).to_string(),
        }
    }
}

/// The maps at a time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) now_ns: u64,
    pub(crate) settings: [u64; SETTINGS_WORDS],
    pub(crate) signals: [[u64; SIGNAL_WORDS]; 2],
    pub(crate) averages: [f64; 2],
    pub(crate) counts: [[Count; REASONS.len()]; 2],
    pub(crate) customers: HashMap<Who, Customer>,
}

impl Snapshot {
    /// Reads all maps.
    pub fn take(maps: &Maps, now_ns: u64) -> Snapshot {
        Snapshot {
            now_ns,
            settings: maps.settings(),
            signals: Direction::ALL.map(|direction| maps.signal(direction)),
            averages: Direction::ALL.map(|direction| maps.average_activity(direction)),
            counts: Direction::ALL.map(|direction| maps.counts(direction)),
            customers: maps
                .listed()
                .map(|(slot, customer)| (Who::Listed(slot), customer))
                .chain(
                    maps.customers()
                        .into_iter()
                        .map(|(address, customer)| (Who::Learned(address), customer)),
                )
                .collect(),
        }
    }
}

impl Snapshot {
    /// When it was taken.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Packets of a direction since the programs are there, by what became of them.
    pub fn counts(&self, direction: Direction) -> [Count; REASONS.len()] {
        self.counts[direction as usize]
    }

    /// I, in nanoseconds.
    pub fn inertia_ns(&self) -> u64 {
        self.settings[word::METER + 3] / MAX_ACTIVITY
    }

    /// With all packets before it forgotten, so that a report counts from the beginning.
    pub fn without_counts(self) -> Snapshot {
        Snapshot { counts: Default::default(), ..self }
    }
}
