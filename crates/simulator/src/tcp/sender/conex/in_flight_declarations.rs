//! What was declared on packets that have not arrived yet, and what was retransmitted.

use std::collections::VecDeque;

/// A segment that was retransmitted.
#[derive(Clone, Copy, Debug)]
pub struct RetransmittedLoss {
    segment: u64,
    /// What it counts for.
    pub amount: i64,
    /// What its loss was met as: nothing where such losses do not count.
    pub met: i64,
    /// What had been declared on it, and was lost with it, as flags.
    pub declared: u32,
}

/// What a sender remembers of what it has declared.
#[derive(Debug)]
pub struct InFlightDeclarations {
    /// Whether what is lost is declared again.
    repeats_lost: bool,
    /// Segments and the flags that they carry, in the order sent.
    declared: VecDeque<(u64, u32)>,
    /// Of the recovery under way.
    retransmitted: Vec<RetransmittedLoss>,
}

impl InFlightDeclarations {
    /// Nothing yet.
    pub fn new(repeats_lost: bool) -> Self {
        InFlightDeclarations { repeats_lost, declared: VecDeque::new(), retransmitted: Vec::new() }
    }

    /// A segment leaves with these flags.
    pub fn note(&mut self, segment: u64, declared: u32) {
        if self.repeats_lost && declared != 0 {
            self.declared.push_back((segment, declared));
        }
    }

    /// What is before `una` has arrived.
    pub fn on_ack(&mut self, una: u64) {
        while self.declared.front().is_some_and(|(segment, _)| *segment < una) {
            self.declared.pop_front();
        }
    }

    /// A segment is lost. Returns what was declared on it, as flags.
    pub fn on_retransmit(&mut self, segment: u64, amount: i64, met: i64) -> u32 {
        let place = self.declared.iter().position(|(of, _)| *of == segment);
        let declared = place.and_then(|place| self.declared.remove(place)).map_or(0, |(_, of)| of);
        self.retransmitted.push(RetransmittedLoss { segment, amount, met, declared });
        declared
    }

    /// Another recovery begins, or this one is over.
    pub fn forget_retransmissions(&mut self) {
        self.retransmitted.clear();
    }

    /// What was retransmitted of the segments before `una`, which have arrived.
    pub fn take_retransmissions_before(
        &mut self,
        una: u64,
    ) -> impl Iterator<Item = RetransmittedLoss> + use<> {
        core::mem::take(&mut self.retransmitted)
            .into_iter()
            .filter(move |retransmission| retransmission.segment < una)
    }
}
