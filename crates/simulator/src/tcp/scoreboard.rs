//! Scoreboard: state of each segment between `una` and `nxt`.
//!
//! Three bits a segment (sacked, lost, retransmitted) in a ring of 64-segment words, and a count of each, so that the
//! number of segments in the network is a subtraction (*pipe* of RFC 6675):
//!
//! ```text
//! in flight = (nxt − una) − sacked − lost + retransmitted
//! ```
//!
//! Acknowledging or sacking a segment clears its lost and retransmitted bits. A sender without SACK counts each
//! duplicate ACK as one sacked segment of unknown number.

use crate::memory::prefetch;

/// Duplicate ACKs, or segments sacked above a hole, that count as a loss (RFC 5681, RFC 6675).
pub const DUP_THRESH: u32 = 3;

#[derive(Clone, Copy, Default)]
struct Word {
    sacked: u64,
    lost: u64,
    retransmitted: u64,
}

/// The scoreboard of one sender.
#[derive(Default)]
pub struct Scoreboard {
    words: Box<[Word]>,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// The three highest sacked segments, descending, each plus one; 0 for none.
    top: [u64; DUP_THRESH as usize],
    /// All unsacked segments below this are marked lost.
    lost_below: u64,
    /// No lost segment below this waits for its retransmission.
    retransmit_from: u64,
}

/// Iterates over the words that hold segments `from..to`: word index, mask of the bits inside.
fn words_of(from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
    (from >> 6..to.div_ceil(64)).map(move |word| {
        let low = if word == from >> 6 { !0 << (from & 63) } else { !0 };
        let high = if word == to >> 6 { !(!0 << (to & 63)) } else { !0 };
        (word, low & high)
    })
}

impl Scoreboard {
    /// Whether no segment is sacked, lost or retransmitted.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.sacked | self.lost | self.retransmitted == 0
    }

    /// Returns the number of segments sacked, or counted by duplicate ACKs.
    #[inline]
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Returns the number of segments lost and not sacked since.
    #[inline]
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Returns the number of lost segments that were retransmitted and are not known to be lost again.
    #[inline]
    pub fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    fn word(&mut self, word: u64) -> &mut Word {
        let mask = self.words.len() as u64 - 1;
        &mut self.words[(word & mask) as usize]
    }

    /// Prefetches the state of a segment.
    #[inline(always)]
    pub fn prefetch(&self, segment: u64) {
        let mask = (self.words.len() as u64).wrapping_sub(1);
        if let Some(word) = self.words.get((segment >> 6 & mask) as usize) {
            prefetch(word);
        }
    }

    /// Grows the ring to hold segments `una..nxt`.
    #[inline]
    fn reserve(&mut self, una: u64, nxt: u64) {
        if (nxt >> 6) - (una >> 6) >= self.words.len() as u64 {
            self.grow(una, nxt);
        }
    }

    #[cold]
    fn grow(&mut self, una: u64, nxt: u64) {
        let need = ((nxt >> 6) - (una >> 6) + 1).next_power_of_two() as usize;
        let old = core::mem::replace(&mut self.words, vec![Word::default(); need].into());
        if !old.is_empty() {
            let first = una >> 6;
            for word in first..first + old.len() as u64 {
                *self.word(word) = old[(word & (old.len() as u64 - 1)) as usize];
            }
        }
    }

    /// Returns the bound below which all unsacked segments are marked lost.
    #[inline]
    pub fn lost_below(&self) -> u64 {
        self.lost_below
    }

    /// Returns the bits of a segment, which may be beyond the ring.
    #[inline]
    fn bits(&self, segment: u64) -> Word {
        let Some(mask) = (self.words.len() as u64).checked_sub(1) else { return Word::default() };
        self.words[(segment >> 6 & mask) as usize]
    }

    /// Whether a segment between `una` and `nxt` is sacked.
    #[inline]
    pub fn is_sacked(&self, segment: u64) -> bool {
        self.bits(segment).sacked >> (segment & 63) & 1 == 1
    }

    /// Whether a segment between `una` and `nxt` was lost and retransmitted.
    #[inline]
    pub fn is_retransmitted(&self, segment: u64) -> bool {
        self.bits(segment).retransmitted >> (segment & 63) & 1 == 1
    }

    /// Acknowledges segments `una..ack`. Returns how many of them had not been sacked.
    #[inline]
    pub fn advance(&mut self, una: u64, ack: u64) -> u32 {
        let already = if self.is_clean() { 0 } else { self.clear(una, ack) };
        self.lost_below = self.lost_below.max(ack);
        self.retransmit_from = self.retransmit_from.max(ack);
        (ack - una) as u32 - already
    }

    /// Clears segments `una..ack`. Returns how many of them had been sacked.
    #[inline(never)]
    fn clear(&mut self, una: u64, ack: u64) -> u32 {
        let mut already = 0;
        if !self.words.is_empty() {
            // Segments beyond the ring were never marked.
            let end = ack.min(((una >> 6) + self.words.len() as u64) << 6);
            for (index, mask) in words_of(una, end) {
                let word = self.word(index);
                let sacked = (word.sacked & mask).count_ones();
                let lost = (word.lost & mask).count_ones();
                let retransmitted = (word.retransmitted & mask).count_ones();
                *word = Word {
                    sacked: word.sacked & !mask,
                    lost: word.lost & !mask,
                    retransmitted: word.retransmitted & !mask,
                };
                already += sacked;
                self.sacked -= sacked;
                self.lost -= lost;
                self.retransmitted -= retransmitted;
            }
        }
        already
    }

    /// Marks `start..end` as sacked, within `una..nxt`. Passes newly sacked segments to the callback, and returns their
    /// number.
    #[inline(always)]
    pub fn sack(
        &mut self,
        una: u64,
        nxt: u64,
        start: u64,
        end: u64,
        mut on_new: impl FnMut(u64),
    ) -> u32 {
        let (start, end) = (start.max(una), end.min(nxt));
        if start >= end {
            return 0;
        }
        self.reserve(una, nxt);
        let mut newly = 0;
        for (index, mask) in words_of(start, end) {
            let word = self.word(index);
            let new = mask & !word.sacked;
            if new == 0 {
                continue;
            }
            word.sacked |= new;
            if (word.lost | word.retransmitted) & new != 0 {
                let lost = (word.lost & new).count_ones();
                let retransmitted = (word.retransmitted & new).count_ones();
                word.lost &= !new;
                word.retransmitted &= !new;
                self.lost -= lost;
                self.retransmitted -= retransmitted;
            }
            self.note_top(index << 6, new);
            // It is mostly a single one, so that iterating is as fast as a population count.
            let mut rest = new;
            while rest != 0 {
                newly += 1;
                on_new((index << 6) + u64::from(rest.trailing_zeros()));
                rest &= rest - 1;
            }
        }
        self.sacked += newly;
        newly
    }

    /// Updates the three highest sacked segments with newly sacked `bits`.
    fn note_top(&mut self, base: u64, mut bits: u64) {
        while bits != 0 {
            let bit = 63 - u64::from(bits.leading_zeros());
            bits &= !(1 << bit);
            let segment = base + bit + 1;
            let [first, second, third] = self.top;
            self.top = if segment > first {
                [segment, first, second]
            } else if segment > second {
                [first, segment, second]
            } else if segment > third {
                [first, second, segment]
            } else {
                return;
            };
        }
    }

    /// Returns the bound below which SACK shows all holes to be lost: three sacked segments lie above (RFC 6675,
    /// IsLost). With `forward` (FACK), the bound is that many segments below the highest sacked one.
    #[inline]
    pub fn overtaken_below(&self, forward: Option<u32>) -> u64 {
        match forward {
            Some(threshold) => self.top[0].saturating_sub(u64::from(threshold)),
            None => self.top[2].saturating_sub(1),
        }
    }

    /// Marks all unsacked segments below `end` as lost.
    pub fn mark_lost_below(&mut self, una: u64, nxt: u64, end: u64) {
        let start = self.lost_below.max(una);
        let end = end.min(nxt);
        if start >= end {
            return;
        }
        self.reserve(una, nxt);
        for (index, mask) in words_of(start, end) {
            let word = self.word(index);
            let new = mask & !word.sacked & !word.lost;
            word.lost |= new;
            self.lost += new.count_ones();
        }
        self.lost_below = end;
    }

    /// Marks a retransmitted segment as lost again.
    pub fn lose_retransmission(&mut self, segment: u64) {
        let bit = 1 << (segment & 63);
        let word = self.word(segment >> 6);
        if word.retransmitted & bit != 0 {
            word.retransmitted &= !bit;
            self.retransmitted -= 1;
            self.retransmit_from = self.retransmit_from.min(segment);
        }
    }

    /// Marks the first segment as lost (partial ACK, or third duplicate ACK without SACK).
    pub fn mark_head_lost(&mut self, una: u64, nxt: u64) {
        self.reserve(una, nxt);
        let bit = 1 << (una & 63);
        let word = self.word(una >> 6);
        if word.lost & bit == 0 {
            word.lost |= bit;
            self.lost += 1;
        }
        self.retransmit_from = self.retransmit_from.min(una);
    }

    /// Returns one past the highest sacked segment, or 0.
    pub fn highest_sacked(&self) -> u64 {
        self.top[0]
    }

    /// Marks everything unsacked in `una..end` as lost after a timeout, retransmissions too (RFC 6675 section 5.1 keeps
    /// SACK information).
    pub fn mark_all_lost(&mut self, una: u64, end: u64, nxt: u64) {
        let end = end.max(una);
        self.reserve(una, nxt);
        for (index, mask) in words_of(una, nxt) {
            self.word(index).retransmitted &= !mask;
        }
        for (index, mask) in words_of(una, end) {
            let word = self.word(index);
            word.lost |= mask & !word.sacked;
        }
        self.lost =
            words_of(una, nxt).map(|(i, mask)| (self.word(i).lost & mask).count_ones()).sum();
        self.retransmitted = 0;
        self.lost_below = self.lost_below.max(end);
        self.retransmit_from = una;
    }

    /// Clears the sacked bits between `una` and `nxt` (RFC 2018, section 8).
    pub fn forget_sacked(&mut self, una: u64, nxt: u64) {
        if self.sacked > 0 && !self.words.is_empty() {
            for (index, mask) in words_of(una, nxt) {
                self.word(index).sacked &= !mask;
            }
        }
        self.sacked = 0;
        self.top = [0; DUP_THRESH as usize];
    }

    /// Undoes the retransmission of a segment.
    pub fn forget_retransmission(&mut self, segment: u64) {
        if !self.words.is_empty() && !self.is_clean() {
            self.lose_retransmission(segment);
        }
    }

    /// Clears all losses between `una` and `nxt`, which turned out spurious.
    pub fn forget_losses(&mut self, una: u64, nxt: u64) {
        if self.lost > 0 && !self.words.is_empty() {
            for (index, mask) in words_of(una, nxt) {
                let word = self.word(index);
                word.lost &= !mask;
                word.retransmitted &= !mask;
            }
        }
        self.lost = 0;
        self.retransmitted = 0;
        self.lost_below = una;
        self.retransmit_from = una;
    }

    /// Returns the next lost segment to retransmit.
    pub fn next_retransmit(&mut self, una: u64, nxt: u64) -> Option<u64> {
        if self.lost <= self.retransmitted {
            return None;
        }
        let from = self.retransmit_from.max(una);
        for (index, mask) in words_of(from, nxt.min(self.lost_below.max(una + 1))) {
            let word = self.word(index);
            let open = mask & word.lost & !word.retransmitted;
            if open != 0 {
                let segment = (index << 6) + u64::from(open.trailing_zeros());
                self.retransmit_from = segment;
                return Some(segment);
            }
        }
        None
    }

    /// Marks a lost segment as retransmitted.
    pub fn on_retransmit(&mut self, una: u64, segment: u64, nxt: u64) {
        self.reserve(una, nxt);
        self.word(segment >> 6).retransmitted |= 1 << (segment & 63);
        self.retransmitted += 1;
    }

    /// Sets the number of segments that arrived out of order according to duplicate ACKs, without SACK.
    pub fn set_unnamed(&mut self, segments: u32) {
        self.sacked = segments;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn three_sacked_segments_above_a_hole_make_it_a_loss() {
        let mut board = Scoreboard::default();
        board.sack(10, 20, 12, 14, |_| {});
        board.mark_lost_below(10, 20, board.overtaken_below(None));
        assert_eq!(board.lost, 0, "only two above the hole");
        board.sack(10, 20, 15, 16, |_| {});
        board.mark_lost_below(10, 20, board.overtaken_below(None));
        assert_eq!(board.lost, 2, "10 and 11 have three above, 14 has one");
        assert_eq!(board.next_retransmit(10, 20), Some(10));
    }

    #[test]
    fn forward_acknowledgement_needs_one_segment_sent_three_later() {
        let mut board = Scoreboard::default();
        board.sack(10, 20, 13, 14, |_| {});
        board.mark_lost_below(10, 20, board.overtaken_below(None));
        assert_eq!(board.lost, 0);
        board.mark_lost_below(10, 20, board.overtaken_below(Some(3)));
        assert_eq!(board.lost, 1, "10 only");
    }

    proptest! {
        /// The counts equal the sizes of the sets after any sequence of events.
        #[test]
        fn counts_are_the_sizes_of_the_sets(
            steps in prop::collection::vec((0..6u8, 0..400u64, 1..90u64), 1..200)
        ) {
            let mut board = Scoreboard::default();
            let (mut una, mut nxt) = (1000, 1000);
            let (mut sacked, mut lost, mut again) =
                (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            for (kind, at, len) in steps {
                match kind {
                    0 => nxt += len,
                    1 if nxt > una => {
                        let start = una + 1 + at;
                        board.sack(una, nxt, start, start + len, |_| {});
                        for s in start..(start + len).min(nxt) {
                            sacked.insert(s);
                            lost.remove(&s);
                            again.remove(&s);
                        }
                    }
                    2 if nxt > una => {
                        let ack = (una + len).min(nxt);
                        board.advance(una, ack);
                        una = ack;
                        for set in [&mut sacked, &mut lost, &mut again] {
                            set.retain(|&s| s >= ack);
                        }
                    }
                    3 if nxt > una => {
                        board.mark_all_lost(una, nxt, nxt);
                        again.clear();
                        lost = (una..nxt).filter(|s| !sacked.contains(s)).collect();
                    }
                    4 => {
                        board.forget_sacked(una, nxt);
                        sacked.clear();
                        board.mark_all_lost(una, nxt, nxt);
                        again.clear();
                        lost = (una..nxt).collect();
                    }
                    _ => {
                        let want = lost.difference(&again).next().copied();
                        prop_assert_eq!(board.next_retransmit(una, nxt), want);
                        if let Some(segment) = want {
                            board.on_retransmit(una, segment, nxt);
                            again.insert(segment);
                        }
                    }
                }
                prop_assert_eq!(board.sacked as usize, sacked.len());
                prop_assert_eq!(board.lost as usize, lost.len());
                prop_assert_eq!(board.retransmitted as usize, again.len());
            }
        }
    }
}
