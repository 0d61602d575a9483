//! Segments received out of order, and their SACK blocks (RFC 2018, section 4).

use std::collections::VecDeque;

use crate::memory::prefetch;
use crate::packet::{MAX_SACK_BLOCKS, SackBlocks};

/// Segments received beyond the next one expected. They are within 2³² of it, and stored as the lower half of their
/// numbers, since large networks with losses have some of them for most flows.
#[derive(Default)]
pub struct OutOfOrder {
    /// Blocks, ascending and disjoint.
    blocks: VecDeque<Block>,
    /// A segment of each of the blocks changed last, most recent first.
    recent: [u32; MAX_SACK_BLOCKS],
}

/// First segment, and the one behind the last.
type Block = (u32, u32);

/// The next segment expected.
#[derive(Clone, Copy)]
struct Expected(u64);

impl Expected {
    /// Returns the distance to a segment.
    #[inline]
    fn to(self, segment: u32) -> u32 {
        segment.wrapping_sub(self.0 as u32)
    }

    /// Returns the number of a segment.
    #[inline]
    fn number(self, segment: u32) -> u64 {
        self.0 + u64::from(self.to(segment))
    }
}

impl OutOfOrder {
    /// Prefetches data kept elsewhere.
    #[inline(always)]
    pub fn prefetch(&self) {
        if let Some(block) = self.blocks.front() {
            prefetch(block);
        }
    }

    /// Whether no segment is out of order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Removes the block that begins at the segment `next`, which is in order now. Returns its end.
    pub fn take_from(&mut self, next: u64) -> Option<u64> {
        let (_, end) = self.blocks.pop_front_if(|&mut (start, _)| start == next as u32)?;
        Some(Expected(next).number(end))
    }

    /// Adds a segment beyond `next` to its block.
    pub fn insert(&mut self, segment: u64, next: u64) {
        let (segment, next) = (segment as u32, Expected(next));
        // It mostly extends the last block.
        let after = match self.blocks.back() {
            Some(&(start, _)) if next.to(segment) >= next.to(start) => self.blocks.len(),
            _ => self.blocks_up_to(segment, next),
        };
        let behind = segment.wrapping_add(1);
        let joins_before = after > 0 && next.to(self.blocks[after - 1].1) >= next.to(segment);
        let joins_after = after < self.blocks.len() && self.blocks[after].0 == behind;
        match (joins_before, joins_after) {
            (true, true) => {
                self.blocks[after - 1].1 = self.blocks[after].1;
                self.blocks.remove(after);
            }
            (true, false) => {
                let end = &mut self.blocks[after - 1].1;
                if next.to(*end) < next.to(behind) {
                    *end = behind;
                }
            }
            (false, true) => self.blocks[after].0 = segment,
            (false, false) => self.blocks.insert(after, (segment, behind)),
        }
        let has_it =
            |(start, end): Block| (next.to(start)..next.to(end)).contains(&next.to(segment));
        let same_block =
            self.blocks.len() == 1 || self.block_of(self.recent[0], next).is_some_and(has_it);
        if !same_block {
            self.recent.rotate_right(1);
        }
        self.recent[0] = segment;
    }

    /// Whether it contains a segment beyond `next`.
    pub fn contains(&self, segment: u64, next: u64) -> bool {
        self.block_of(segment as u32, Expected(next)).is_some()
    }

    /// Returns the number of blocks that begin at a segment or before it.
    fn blocks_up_to(&self, segment: u32, next: Expected) -> usize {
        self.blocks.partition_point(|&(start, _)| next.to(start) <= next.to(segment))
    }

    /// Returns the block of a segment; of one before the next expected, none.
    fn block_of(&self, segment: u32, next: Expected) -> Option<Block> {
        let place = self.blocks_up_to(segment, next).checked_sub(1)?;
        let block = *self.blocks.get(place)?;
        (next.to(block.1) > next.to(segment)).then_some(block)
    }

    /// Returns the blocks to report, most recent first; `None` if there are none.
    #[inline(always)]
    pub fn report(&self, next: u64) -> Option<SackBlocks> {
        if self.blocks.is_empty() {
            return None;
        }
        let next = Expected(next);
        let wide = |(start, end): Block| (next.number(start), next.number(end));
        let mut report = SackBlocks::default();
        if self.blocks.len() == 1 {
            report[0] = wide(self.blocks[0]);
            return Some(report);
        }
        let mut used = 0;
        for &segment in &self.recent {
            if let Some(block) = self.block_of(segment, next).map(wide)
                && !report[..used].contains(&block)
            {
                report[used] = block;
                used += 1;
            }
        }
        Some(report)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Wherever a connection is, also where the lower half of its segments' numbers wraps.
        #[test]
        fn blocks_are_runs_of_the_segments_received(
            first in prop_oneof![Just(0), Just(u64::from(u32::MAX) - 20), 0..1_u64 << 40],
            arrivals in prop::collection::vec(0..40_u64, 1..60),
        ) {
            let (mut own, mut next, mut model) = (OutOfOrder::default(), first, BTreeSet::new());
            for arrival in arrivals {
                let segment = first + arrival;
                let is_new = segment >= next && !model.contains(&segment);
                prop_assert_eq!(segment > next && own.contains(segment, next), segment > next && !is_new);
                if segment == next {
                    next = own.take_from(next + 1).unwrap_or(next + 1);
                    let end = (segment + 1..).find(|later| !model.contains(later));
                    prop_assert_eq!(Some(next), end);
                    model.retain(|later| *later > next);
                } else if segment > next {
                    own.insert(segment, next);
                    model.insert(segment);
                    let report = own.report(next).expect("has a block");
                    let (start, end) = report[0];
                    prop_assert!((start..end).contains(&segment));
                    prop_assert!((start..end).all(|one| model.contains(&one)));
                    prop_assert!(!model.contains(&(start - 1)) && !model.contains(&end));
                }
                prop_assert_eq!(own.is_empty(), model.is_empty());
            }
        }
    }
}
