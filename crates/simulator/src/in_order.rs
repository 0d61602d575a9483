//! Wake-ups sorted by time.

use core::cmp::Reverse;

use dary_heap::QuaternaryHeap;
use tidegate_mechanisms::units::Time;

use crate::ring::Ring;
use crate::wake::Wake;

/// Maximum length of the sorted list.
const FEW: usize = 48;

/// Wake-ups by time; those of equal times by insertion.
pub struct InOrder {
    /// Sorted list, used while there are few: most new entries belong near the end.
    few: Ring<u128>,
    /// Entries added while the list was full.
    heap: QuaternaryHeap<Reverse<u128>>,
    inserted: u32,
    next: Time,
}

impl Default for InOrder {
    fn default() -> Self {
        let (few, heap) = (Ring::default(), QuaternaryHeap::default());
        InOrder { few, heap, inserted: 0, next: Time::NEVER }
    }
}

/// Returns the time of a key.
#[inline]
pub const fn time_of(key: u128) -> Time {
    Time::from_nanos((key >> 64) as u64)
}

/// Returns the wake-up of a key.
#[inline]
pub fn wake_of(key: u128) -> Wake {
    Wake::unpack(key as u32)
}

impl InOrder {
    /// Returns the time of the first wake-up; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next
    }

    /// Returns the key of a new wake-up, behind earlier ones of the same time.
    #[inline(always)]
    pub fn key(&mut self, at: Time, wake: Wake) -> u128 {
        self.inserted = self.inserted.wrapping_add(1);
        let order = u128::from(self.inserted) << 32 | u128::from(wake.pack());
        u128::from(at.as_nanos()) << 64 | order
    }

    /// Adds a key.
    #[inline(never)]
    pub fn push(&mut self, key: u128) {
        if self.few.len() < FEW && self.heap.is_empty() {
            self.few.insert(key);
        } else {
            self.heap.push(Reverse(key));
        }
        self.next = self.next.min(time_of(key));
    }

    /// Returns the first key.
    #[inline(always)]
    pub fn first(&self) -> Option<u128> {
        let (few, heap) = (self.few.front().copied(), self.heap.peek());
        match heap {
            None => few,
            Some(Reverse(key)) => Some(few.map_or(*key, |few| few.min(*key))),
        }
    }

    /// Takes the first key.
    #[inline]
    pub fn pop(&mut self) -> Option<u128> {
        let key = match self.heap.peek() {
            Some(Reverse(key)) if self.few.front().is_none_or(|few| key < few) => {
                self.heap.pop().map(|Reverse(key)| key)
            }
            _ => self.few.pop(),
        };
        self.next = self.first().map_or(Time::NEVER, time_of);
        key
    }
}
