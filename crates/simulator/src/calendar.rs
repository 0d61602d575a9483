//! Calendar queue: an event set whose days are sorted when they begin. R. Brown, "Calendar queues: a fast O(1) priority
//! queue implementation for the simulation event set problem", CACM 31(10), 1988. Days are long, since sorting many
//! keys at once takes less time than inserting each in order.
//!
//! A heap compares each key with a dozen others at scattered addresses, and half of the branches are mispredicted. The
//! keys of a day are contiguous, and sorting them is branch-free. Keys beyond the calendar's range wait in a heap.

use core::cmp::Reverse;

use dary_heap::QuaternaryHeap;

use crate::memory::prefetch_next;

/// Number of key bits within a day.
const DAY: u32 = 32;
/// Number of days of a calendar.
const DAYS: usize = 128;
/// Values by key, smallest first. Keys are unique.
pub struct Calendar<T> {
    /// Days to come, indexed by the lowest bits of their number.
    days: Vec<Vec<Dated<T>>>,
    /// Bit set of the non-empty days.
    booked: u128,
    /// Spare buffers of past days.
    rooms: Vec<Vec<Dated<T>>>,
    /// Values that were beyond the range of the days when added.
    later: QuaternaryHeap<Reverse<Dated<T>>>,
    /// Number of the sorted day.
    today: u64,
    /// Values of that day and before, in insertion order.
    open: Vec<Dated<T>>,
    /// Sorted order of `open`: the low bits of each key, and its index.
    order: Vec<u64>,
    /// Number of entries of `order` that have been taken.
    over: usize,
    /// Smallest key.
    first: u64,
    len: usize,
}

#[derive(Clone, Copy)]
struct Dated<T> {
    key: u64,
    value: T,
}

impl<T> PartialEq for Dated<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Dated<T> {}

impl<T> PartialOrd for Dated<T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Dated<T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T> Default for Calendar<T> {
    fn default() -> Self {
        Calendar {
            days: Vec::new(),
            booked: 0,
            rooms: Vec::new(),
            later: QuaternaryHeap::new(),
            today: 0,
            open: Vec::new(),
            order: Vec::new(),
            over: 0,
            first: u64::MAX,
            len: 0,
        }
    }
}

impl<T: Copy> Calendar<T> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the smallest key; [`u64::MAX`] if it is empty.
    #[inline(always)]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Adds a value.
    pub fn push(&mut self, key: u64, value: T) {
        let (day, dated) = (key >> DAY, Dated { key, value });
        if day <= self.today {
            self.insert(dated);
        } else if day - self.today < DAYS as u64 {
            self.book(day, dated);
        } else {
            self.later.push(Reverse(dated));
        }
        self.first = self.first.min(key);
        self.len += 1;
    }

    #[inline]
    fn book(&mut self, day: u64, dated: Dated<T>) {
        let place = day as usize % DAYS;
        if self.booked >> place & 1 == 0 {
            self.booked |= 1 << place;
            self.days.resize_with(DAYS, Vec::new);
            self.days[place] = self.rooms.pop().unwrap_or_default();
        }
        self.days[place].push(dated);
        prefetch_next(&self.days[place]);
    }

    /// Adds a value of the current day or, in a network between real hosts, of a past one.
    fn insert(&mut self, dated: Dated<T>) {
        let rest = &self.order[self.over..];
        let before = rest.partition_point(|entry| self.open[place(*entry)].key < dated.key);
        self.order.insert(self.over + before, entry(dated.key, self.open.len()));
        self.open.push(dated);
    }

    /// Takes the value with the smallest key.
    #[inline(never)]
    pub fn pop(&mut self) -> Option<T> {
        if self.over == self.order.len() {
            if self.len == 0 {
                return None;
            }
            self.turn();
        }
        let value = self.open[place(self.order[self.over])].value;
        self.over += 1;
        self.len -= 1;
        self.first = match self.order.get(self.over) {
            Some(next) => self.open[place(*next)].key,
            None => self.first_to_come(),
        };
        Some(value)
    }

    /// Returns the value `later` places after the next, if it belongs to the current day.
    #[inline]
    pub fn coming(&self, later: usize) -> Option<&T> {
        let next = self.order.get(self.over + later)?;
        Some(&self.open[place(*next)].value)
    }

    /// Advances to the day of the smallest key.
    fn turn(&mut self) {
        self.open.clear();
        self.order.clear();
        self.over = 0;
        self.today = self.first >> DAY;
        let place = self.today as usize % DAYS;
        if self.booked >> place & 1 == 1 {
            self.booked &= !(1 << place);
            let day = core::mem::take(&mut self.days[place]);
            self.rooms.push(core::mem::replace(&mut self.open, day));
        }
        while let Some(Reverse(dated)) = self.later.peek()
            && dated.key >> DAY == self.today
        {
            self.open.push(*dated);
            self.later.pop();
        }
        let entries = self.open.iter().enumerate().map(|(place, dated)| entry(dated.key, place));
        self.order.extend(entries);
        self.order.sort_unstable();
    }

    /// Returns the smallest key after the current day.
    fn first_to_come(&self) -> u64 {
        let later = self.later.peek().map_or(u64::MAX, |dated| dated.0.key);
        if self.booked == 0 {
            return later;
        }
        let from = self.today as usize % DAYS;
        let next = self.booked.rotate_right(from as u32).trailing_zeros() as usize;
        let day = &self.days[(from + next) % DAYS];
        day.iter().map(|dated| dated.key).min().unwrap_or(u64::MAX).min(later)
    }
}

/// Packs the low bits of a key with its index.
#[inline]
fn entry(key: u64, place: usize) -> u64 {
    key << (u64::BITS - DAY) | place as u64
}

#[inline]
fn place(entry: u64) -> usize {
    (entry & ((1 << (u64::BITS - DAY)) - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Key distances range from one to beyond the calendar; a key may also be smaller than one already taken.
        #[test]
        fn what_is_smallest_comes_first(
            steps in prop::collection::vec((0..48u32, any::<u64>(), 0..10u8), 0..600)
        ) {
            let (mut calendar, mut model) = (Calendar::default(), std::collections::BTreeMap::new());
            let mut now = 1 << 45;
            for (distance, draw, kind) in steps {
                let away = draw % (1 << distance);
                if kind < 4 {
                    prop_assert_eq!(calendar.pop(), model.pop_first().map(|(key, value)| {
                        now = key;
                        value
                    }));
                } else {
                    let key = if kind == 4 { now - away.min(1 << 40) } else { now + away };
                    if let std::collections::btree_map::Entry::Vacant(free) = model.entry(key) {
                        calendar.push(key, *free.insert(draw));
                    }
                }
                let first = model.first_key_value().map_or(u64::MAX, |(key, _)| *key);
                prop_assert_eq!((calendar.first(), calendar.len()), (first, model.len()));
            }
        }
    }
}
