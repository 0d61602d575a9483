//! What is due at some time, in no order, soon: a calendar of days that are put in order when they come.
//! R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation event set problem",
//! CACM 31(10), 1988; with long days, since many keys are put in order together in less time than one by one.
//!
//! A heap compares each key with a dozen others, wherever those lie, and the processor guesses half of the
//! answers wrong. A day's keys lie side by side, and its order takes no guessing. What is due later than
//! the calendar reaches waits in a heap.

use core::cmp::Reverse;

use dary_heap::QuaternaryHeap;

/// Bits of a key below its day.
const DAY: u32 = 32;
/// Days that a calendar has.
const DAYS: usize = 128;
/// Values by key, the smallest first. No two have the same key.
pub struct Calendar<T> {
    /// The days to come, by their lowest bits.
    days: Vec<Vec<Dated<T>>>,
    /// Those of them with anything in them, a bit each.
    booked: u128,
    /// Room of days that are over.
    rooms: Vec<Vec<Dated<T>>>,
    /// What is due later than the days reach, or was when it came.
    later: QuaternaryHeap<Reverse<Dated<T>>>,
    /// The number of the day that is in order.
    today: u64,
    /// What was and is due then, or before.
    open: Vec<Dated<T>>,
    /// The order of that: each key's last bits, and its place.
    order: Vec<u64>,
    /// So many of the order are over.
    over: usize,
    /// The smallest key.
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
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The smallest key; [`u64::MAX`] where there is nothing.
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
    }

    /// Adds what is due today or, in a network between real hosts, was due before.
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

    /// The value that comes so many after the next, if that is one of today's.
    #[inline]
    pub fn coming(&self, later: usize) -> Option<&T> {
        let next = self.order.get(self.over + later)?;
        Some(&self.open[place(*next)].value)
    }

    /// The day of the smallest key comes.
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

    /// The smallest key after today.
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

/// The order of a key in its day, and where it lies.
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
        /// Whatever the distances, from one key to the next to beyond the calendar's end; also where a key is
        /// smaller than one that was taken already.
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
