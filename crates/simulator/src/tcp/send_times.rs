//! Send time of each segment between `una` and `nxt`, and whether it was retransmitted.

use tidegate_mechanisms::units::Time;

use crate::memory::prefetch;

/// Capacity for an initial window, which is enough for most flows where there are many.
const LEAST: u64 = 16;

/// Ring of times, indexed by segment; the lowest bit is set for retransmissions.
#[derive(Default)]
pub struct SendTimes {
    slots: Box<[u64]>,
}

impl SendTimes {
    /// Records that `segment` is sent while `una` is the first unacknowledged one.
    #[inline]
    pub fn note(&mut self, una: u64, segment: u64, now: Time, again: bool) {
        if segment - una >= self.slots.len() as u64 {
            self.grow(una, segment);
        }
        let place = self.place(segment);
        self.slots[place] = now.as_nanos() << 1 | u64::from(again);
    }

    /// Prefetches the entry of a segment.
    #[inline(always)]
    pub fn prefetch(&self, segment: u64) {
        if let Some(slot) = self.slots.get(self.place(segment)) {
            prefetch(slot);
        }
    }

    /// Returns the last send time of a segment, and whether that was a retransmission.
    #[inline]
    pub fn of(&self, segment: u64) -> (Time, bool) {
        let slot = self.slots[self.place(segment)];
        (Time::from_nanos(slot >> 1), slot & 1 == 1)
    }

    #[inline]
    fn place(&self, segment: u64) -> usize {
        (segment & (self.slots.len() as u64).wrapping_sub(1)) as usize
    }

    #[cold]
    fn grow(&mut self, una: u64, segment: u64) {
        let need = (segment - una + 1).next_power_of_two().max(LEAST) as usize;
        let old = core::mem::replace(self, SendTimes { slots: vec![0; need].into() });
        for kept in una..una + old.slots.len() as u64 {
            let place = self.place(kept);
            self.slots[place] = old.slots[old.place(kept)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_growth_of_the_ring_and_repetition() {
        let mut times = SendTimes::default();
        let at = |n: u64| Time::from_nanos(1_000 + n);
        for n in 50..300 {
            times.note(40 + (n - 50) / 2, n, at(n), false);
        }
        times.note(165, 200, at(5_000), true);
        for n in (165..300).filter(|n| *n != 200) {
            assert_eq!(times.of(n), (at(n), false));
        }
        assert_eq!(times.of(200), (at(5_000), true));
    }
}
