//! Declarations on packets in flight, and retransmitted segments.

use std::collections::VecDeque;

/// Segment that was retransmitted.
#[derive(Clone, Copy, Debug)]
pub struct RetransmittedLoss {
    segment: u64,
    /// Amount of the segment.
    pub amount: i64,
    /// Amount counted as a loss: zero if such losses do not count.
    pub met: i64,
    /// Flags of the declarations lost with the segment.
    pub declared: u32,
}

/// Declarations in flight of one sender.
#[derive(Debug)]
pub struct InFlightDeclarations {
    /// Whether lost declarations are repeated.
    repeats_lost: bool,
    /// Segments and their declaration flags, in the order sent.
    declared: VecDeque<(u64, u32)>,
    /// Segments retransmitted in the current recovery.
    retransmitted: Vec<RetransmittedLoss>,
}

impl InFlightDeclarations {
    /// Returns the state without declarations.
    pub fn new(repeats_lost: bool) -> Self {
        InFlightDeclarations { repeats_lost, declared: VecDeque::new(), retransmitted: Vec::new() }
    }

    /// Records the declaration flags of a segment sent.
    pub fn note(&mut self, segment: u64, declared: u32) {
        if self.repeats_lost && declared != 0 {
            self.declared.push_back((segment, declared));
        }
    }

    /// Removes the segments before `una`, which have arrived.
    pub fn on_ack(&mut self, una: u64) {
        while self.declared.front().is_some_and(|(segment, _)| *segment < una) {
            self.declared.pop_front();
        }
    }

    /// Handles the loss of a segment. Returns the flags declared on it.
    pub fn on_retransmit(&mut self, segment: u64, amount: i64, met: i64) -> u32 {
        let place = self.declared.iter().position(|(of, _)| *of == segment);
        let declared = place.and_then(|place| self.declared.remove(place)).map_or(0, |(_, of)| of);
        self.retransmitted.push(RetransmittedLoss { segment, amount, met, declared });
        declared
    }

    /// Clears the retransmissions at the end of a recovery or the start of another.
    pub fn forget_retransmissions(&mut self) {
        self.retransmitted.clear();
    }

    /// Takes the retransmissions of segments before `una`, which have arrived.
    pub fn take_retransmissions_before(
        &mut self,
        una: u64,
    ) -> impl Iterator<Item = RetransmittedLoss> + use<> {
        core::mem::take(&mut self.retransmitted)
            .into_iter()
            .filter(move |retransmission| retransmission.segment < una)
    }
}
