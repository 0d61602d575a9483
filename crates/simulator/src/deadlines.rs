//! Deadlines of many owners, most of which are postponed before they expire.
//!
//! Deadlines stand in an array. Above it are bounds: a lower bound for each block of deadlines, then one for each block
//! of bounds, up to a single one. Postponing a deadline leaves the bounds unchanged and costs a store and a comparison.
//! A block is searched only when its bound is reached, and the bound is then raised as far as possible.

use tidegate_mechanisms::units::Time;

use crate::memory::prefetch;

/// Number of entries that share a bound.
const BLOCK: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 4;

/// Time in the upper bits, place within the block in the lower bits, so that the minimum of a block also gives its
/// place. Run times leave enough room for the place ([`MAX_RUN`](tidegate_scenario::plan::MAX_RUN)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u64);

impl Entry {
    /// Later than any deadline.
    const NEVER: Entry = Entry(u64::MAX);

    #[inline]
    fn new(at: Time, place: usize) -> Self {
        Entry(at.as_nanos() << PLACE_BITS | (place % BLOCK) as u64)
    }

    #[inline]
    fn at(self) -> Time {
        if self >= Entry::new(Time::NEVER, 0) {
            return Time::NEVER;
        }
        Time::from_nanos(self.0 >> PLACE_BITS)
    }

    #[inline]
    fn place(self) -> usize {
        self.0 as usize % BLOCK
    }

    /// Returns the same time for another place of the block.
    #[inline]
    fn of_place(self, place: usize) -> Self {
        Entry(self.0 & !(BLOCK as u64 - 1) | place as u64)
    }
}

/// Deadlines by place.
pub struct Deadlines {
    entries: Vec<Entry>,
    /// Minimum of each block of entries, of each block of these, and so on, level after level. The last is the overall
    /// minimum.
    bounds: Vec<Entry>,
    /// Start of each level.
    levels: Vec<usize>,
}

/// Adjacent places that share a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBound {
    /// Number of levels below the bound.
    height: u32,
    /// Index within its level.
    number: u32,
}

/// Returns the number of blocks for `count` entries.
const fn blocks(count: usize) -> usize {
    count.div_ceil(BLOCK)
}

impl SharedBound {
    /// Returns the group of a place, among groups with room for `members` places.
    pub fn of(place: usize, members: usize) -> Self {
        let mut group = SharedBound { height: 1, number: (place / BLOCK) as u32 };
        while group.room() < members {
            group = SharedBound { height: group.height + 1, number: group.number / BLOCK as u32 };
        }
        group
    }

    /// Returns the number of places of the group.
    pub fn room(self) -> usize {
        BLOCK.pow(self.height)
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Deadlines::with_places(0)
    }
}

impl Deadlines {
    /// Returns `count` places without deadlines.
    pub fn with_places(count: usize) -> Self {
        let (mut level, mut end, mut levels) = (blocks(count).max(1), 0, Vec::new());
        loop {
            levels.push(end);
            end += level;
            if level == 1 {
                break;
            }
            level = blocks(level);
        }
        Deadlines { entries: vec![Entry::NEVER; count], bounds: vec![Entry::NEVER; end], levels }
    }

    /// Returns a lower bound of all deadlines.
    #[inline]
    pub fn bound(&self) -> Time {
        self.bounds[self.bounds.len() - 1].at()
    }

    /// Returns the position of a group's bound, valid while the number of places does not grow.
    pub fn bound_at(&self, group: SharedBound) -> u32 {
        match self.levels.get(group.height as usize - 1) {
            Some(level) => *level as u32 + group.number,
            None => self.bounds.len() as u32 - 1,
        }
    }

    /// Whether a deadline of the group may lie before `until`; `bound_at` is the position of its bound.
    #[inline]
    pub fn is_due_before(&self, until: Time, bound_at: u32) -> bool {
        self.bounds[bound_at as usize] < Entry::new(until, 0)
    }

    /// Sets or replaces a deadline. Returns whether it lies below one of its bounds, so that it may be the earliest.
    #[inline]
    pub fn set(&mut self, place: u32, at: Time) -> bool {
        let place = place as usize;
        let Some(own) = self.entries.get_mut(place) else { return self.set_beyond(place, at) };
        let entry = Entry::new(at, place);
        *own = entry;
        let lowers = entry < self.bounds[place / BLOCK];
        if lowers {
            self.lower(place, at);
        }
        lowers
    }

    /// Sets a deadline at a new place.
    #[cold]
    fn set_beyond(&mut self, place: usize, at: Time) -> bool {
        let room = (place + 1).next_power_of_two().max(BLOCK);
        let mut all = Deadlines::with_places(room);
        all.entries[..self.entries.len()].copy_from_slice(&self.entries);
        all.entries[place] = Entry::new(at, place);
        for number in 0..blocks(room) {
            let (first, _) = first_two(block(&all.entries, number));
            all.raise(number, first);
        }
        *self = all;
        true
    }

    /// Lowers the bounds above a place.
    #[inline(never)]
    fn lower(&mut self, mut place: usize, at: Time) {
        for level in &self.levels {
            let entry = Entry::new(at, place);
            place /= BLOCK;
            let bound = &mut self.bounds[level + place];
            *bound = entry.min(*bound);
        }
    }

    /// Clears the deadline of a place.
    #[inline]
    pub fn clear(&mut self, place: u32) {
        if let Some(own) = self.entries.get_mut(place as usize) {
            *own = Entry::NEVER;
        }
    }

    /// Prefetches the deadline of a place.
    #[inline(always)]
    pub fn prefetch(&self, place: u32) {
        if let Some(own) = self.entries.get(place as usize) {
            prefetch(own);
        }
    }

    /// Takes the earliest deadline, if it lies before `until`: time and place. The lower place wins ties.
    pub fn take_before(&mut self, until: Time) -> Option<(Time, u32)> {
        self.take_of(SharedBound { height: self.levels.len() as u32, number: 0 }, until)
    }

    /// Takes the earliest deadline of a group, as [`Self::take_before`].
    pub fn take_of(&mut self, group: SharedBound, until: Time) -> Option<(Time, u32)> {
        let height = self.levels.len().min(group.height as usize);
        let until = Entry::new(until, 0);
        loop {
            let mut number = group.number as usize;
            let mut bound = self.bounds[self.levels[height - 1] + number];
            if bound >= until {
                return None;
            }
            // Descend to the block that may hold the earliest deadline.
            for level in (0..height - 1).rev() {
                number = number * BLOCK + bound.place();
                bound = self.bounds[self.levels[level] + number];
            }
            let (first, second) = first_two(block(&self.entries, number));
            // The deadline may have been postponed, and another may be earlier now.
            let is_first = first == bound;
            if is_first {
                self.entries[number * BLOCK + first.place()] = Entry::NEVER;
            }
            self.raise(number, if is_first { second } else { first });
            if is_first {
                return Some((first.at(), (number * BLOCK + first.place()) as u32));
            }
        }
    }

    /// Raises the bound of all deadlines to the earliest.
    pub fn find_first(&mut self) {
        let top = self.levels.len() - 1;
        loop {
            let mut bound = self.bounds[self.levels[top]];
            if bound.at() == Time::NEVER {
                return;
            }
            let mut number = 0;
            for level in (0..top).rev() {
                number = number * BLOCK + bound.place();
                bound = self.bounds[self.levels[level] + number];
            }
            let (first, _) = first_two(block(&self.entries, number));
            if first == bound {
                return;
            }
            self.raise(number, first);
        }
    }

    /// Raises the bounds above a block as far as its minimum allows.
    fn raise(&mut self, mut number: usize, least: Entry) {
        self.bounds[number] = least;
        for level in 1..self.levels.len() {
            let (begin, end) = (self.levels[level - 1], self.levels[level]);
            number /= BLOCK;
            let least = first_of(block(&self.bounds[begin..end], number));
            self.bounds[end + number] = least;
        }
    }
}

/// Returns a block by its index.
#[inline]
fn block(all: &[Entry], number: usize) -> &[Entry] {
    &all[number * BLOCK..all.len().min((number + 1) * BLOCK)]
}

/// Returns the minimum of a block of bounds, and its index.
#[inline]
fn first_of(bounds: &[Entry]) -> Entry {
    let own = |(place, bound): (usize, &Entry)| bound.of_place(place);
    bounds.iter().enumerate().map(own).fold(Entry::NEVER, Entry::min)
}

/// Returns the two smallest entries of a block, without unpredictable branches.
#[inline]
fn first_two(entries: &[Entry]) -> (Entry, Entry) {
    let (mut first, mut second) = (Entry::NEVER, Entry::NEVER);
    for &entry in entries {
        second = second.min(first.max(entry));
        first = first.min(entry);
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate_mechanisms::units::Span;

    use super::*;

    fn ns(n: u64) -> Time {
        Time::from_nanos(n)
    }

    #[test]
    fn groups_hold_their_members() {
        assert_eq!(SharedBound::of(64, 2), SharedBound { height: 1, number: 4 });
        assert_eq!((SharedBound::of(64, 16).room(), SharedBound::of(64, 17).room()), (16, 256));
        assert_eq!(SharedBound::of(256, 17), SharedBound { height: 2, number: 1 });
        let all = Deadlines::with_places(512);
        let bound_at = |(place, members)| all.bound_at(SharedBound::of(place, members));
        let bounds = [(64, 2), (256, 17), (0, 512)].map(bound_at);
        assert_eq!(bounds, [4, 32 + 1, 34], "32 blocks, two of these, and all");
    }

    proptest! {
        /// Compares with a list that is searched each time: set, replaced by earlier or later, cleared, taken, of all
        /// places or of a group, with new places so that levels are added.
        #[test]
        fn the_earliest_is_taken_first(
            most in prop::sample::select(vec![4_u32, 60, 1_100]),
            steps in prop::collection::vec((0..1_100_u32, 0..1_000_u64, 0..9_u32), 0..300),
        ) {
            let (mut all, mut model) = (Deadlines::default(), vec![Time::NEVER; 1_100]);
            let first = |model: &[Time], from: usize, count: usize, until: Time| {
                let own = model.iter().copied().enumerate().skip(from).take(count);
                let first = own.min_by_key(|(_, at)| *at).filter(|(_, at)| *at < until);
                first.map(|(place, at)| (at, place as u32))
            };
            for (place, at, step) in steps {
                let (place, at) = (place % most, ns(at));
                match step {
                    0..4 => {
                        all.set(place, at);
                        model[place as usize] = at;
                    }
                    4 => {
                        all.clear(place);
                        model[place as usize] = Time::NEVER;
                    }
                    5 | 6 => {
                        // A group does not exist before its places do.
                        all.set(1_099, Time::NEVER);
                        model[1_099] = Time::NEVER;
                        let group = SharedBound::of(place as usize, if step == 5 { 2 } else { 17 });
                        let from = place as usize / group.room() * group.room();
                        let want = first(&model, from, group.room(), at);
                        prop_assert_eq!(all.take_of(group, at), want);
                        want.into_iter().for_each(|(_, place)| model[place as usize] = Time::NEVER);
                        let least = first(&model, from, group.room(), Time::NEVER);
                        let least = least.map_or(Time::NEVER, |(at, _)| at);
                        let bound = all.bound_at(group);
                        let is_bound = |at| all.is_due_before(at + Span::from_nanos(1), bound);
                        prop_assert!(least == Time::NEVER || is_bound(least));
                    }
                    7 => {
                        all.find_first();
                        let least = model.iter().copied().min().expect("many of them");
                        prop_assert_eq!(all.bound(), least);
                    }
                    _ => {
                        let want = first(&model, 0, 1_100, at);
                        prop_assert_eq!(all.take_before(at), want);
                        want.into_iter().for_each(|(_, place)| model[place as usize] = Time::NEVER);
                    }
                }
                let least = model.iter().copied().min().expect("many of them");
                prop_assert!(all.bound() <= least);
            }
        }
    }
}
