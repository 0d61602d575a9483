//! Segments received out of order, and their SACK blocks (RFC 2018, section 4).

use std::collections::VecDeque;

use crate::memory::prefetch;
use crate::packet::{MAX_SACK_BLOCKS, SackBlocks};

/// Segments received beyond the first missing one.
#[derive(Default)]
pub struct OutOfOrder {
    /// Blocks, ascending and disjoint.
    blocks: VecDeque<(u64, u64)>,
    /// A segment of each of the blocks changed last, most recent first.
    recent: [u64; MAX_SACK_BLOCKS],
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

    /// Removes the block that begins at a segment now in order. Returns its end.
    pub fn take_from(&mut self, next: u64) -> Option<u64> {
        let (_, end) = self.blocks.pop_front_if(|&mut (start, _)| start == next)?;
        Some(end)
    }

    /// Adds a segment to its block.
    pub fn insert(&mut self, segment: u64) {
        // It mostly extends the last block.
        let after = match self.blocks.back() {
            Some(&(start, _)) if segment >= start => self.blocks.len(),
            _ => self.blocks.partition_point(|&(start, _)| start <= segment),
        };
        let joins_before = after > 0 && self.blocks[after - 1].1 >= segment;
        let joins_after = after < self.blocks.len() && self.blocks[after].0 == segment + 1;
        match (joins_before, joins_after) {
            (true, true) => {
                self.blocks[after - 1].1 = self.blocks[after].1;
                self.blocks.remove(after);
            }
            (true, false) => {
                let end = &mut self.blocks[after - 1].1;
                *end = (*end).max(segment + 1);
            }
            (false, true) => self.blocks[after].0 = segment,
            (false, false) => self.blocks.insert(after, (segment, segment + 1)),
        }
        let same_block = self.blocks.len() == 1
            || self.block_of(self.recent[0]).is_some_and(|(s, e)| (s..e).contains(&segment));
        if !same_block {
            self.recent.rotate_right(1);
        }
        self.recent[0] = segment;
    }

    /// Whether it contains a segment.
    pub fn contains(&self, segment: u64) -> bool {
        self.block_of(segment).is_some()
    }

    fn block_of(&self, segment: u64) -> Option<(u64, u64)> {
        let after = self.blocks.partition_point(|&(start, _)| start <= segment);
        let block = *self.blocks.get(after.checked_sub(1)?)?;
        (block.1 > segment).then_some(block)
    }

    /// Returns the blocks to report, most recent first; `None` if there are none.
    #[inline(always)]
    pub fn report(&self) -> Option<SackBlocks> {
        if self.blocks.is_empty() {
            return None;
        }
        let mut report = SackBlocks::default();
        if self.blocks.len() == 1 {
            report[0] = self.blocks[0];
            return Some(report);
        }
        let mut used = 0;
        for &segment in &self.recent {
            if let Some(block) = self.block_of(segment)
                && !report[..used].contains(&block)
            {
                report[used] = block;
                used += 1;
            }
        }
        Some(report)
    }
}
