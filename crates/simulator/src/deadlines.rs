//! Times at which many want to be woken, who mostly change their minds before.
//!
//! Each has a place in a list. Above the list are bounds: a time before which nobody of a block of it is due, then one for each
//! block of these, and so on up to one for all. Who puts off a time leaves bounds as they are, so that this takes a store and a
//! comparison. A block is looked through only when its bound has come, and then that is as late again as the times allow.

use tidegate_mechanisms::units::Time;

use crate::memory::prefetch;

/// So many have a bound in common.
const BLOCK: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 4;

/// A time, and below it whose it is of its block, so that the least of a block is found without asking who that is. Times at
/// which anybody is to be woken leave that much room ([`MAX_RUN`](tidegate_scenario::plan::MAX_RUN)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u64);

impl Entry {
    /// Later than any that is to come.
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

    /// The same time of another of its block.
    #[inline]
    fn of_place(self, place: usize) -> Self {
        Entry(self.0 & !(BLOCK as u64 - 1) | place as u64)
    }
}

/// The times, by place.
pub struct Deadlines {
    entries: Vec<Entry>,
    /// The least of blocks of entries, of blocks of these, and so on, one level after the other. The last is that of all.
    bounds: Vec<Entry>,
    /// Where each level begins.
    levels: Vec<usize>,
}

/// Places next to each other that have a bound in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBound {
    /// Of how many levels.
    height: u32,
    /// Which of its level.
    number: u32,
}

/// Blocks of so many.
const fn blocks(count: usize) -> usize {
    count.div_ceil(BLOCK)
}

impl SharedBound {
    /// The group that a place is in among groups with room for so many.
    pub fn of(place: usize, members: usize) -> Self {
        let mut group = SharedBound { height: 1, number: (place / BLOCK) as u32 };
        while group.room() < members {
            group = SharedBound { height: group.height + 1, number: group.number / BLOCK as u32 };
        }
        group
    }

    /// Places that it has.
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
    /// So many places, where nobody wants to be woken.
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

    /// Nobody is due before.
    #[inline]
    pub fn bound(&self) -> Time {
        self.bounds[self.bounds.len() - 1].at()
    }

    /// Where the bound of a group is, as long as there are no more places than now.
    pub fn bound_at(&self, group: SharedBound) -> u32 {
        match self.levels.get(group.height as usize - 1) {
            Some(level) => *level as u32 + group.number,
            None => self.bounds.len() as u32 - 1,
        }
    }

    /// Whether anybody of a group may be due before, by where its bound is.
    #[inline]
    pub fn is_due_before(&self, until: Time, bound_at: u32) -> bool {
        self.bounds[bound_at as usize] < Entry::new(until, 0)
    }

    /// Sets a time, or sets it again. Returns whether it is below a bound that there was, which it may be of all of them.
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

    /// Sets a time at a place that there is not yet.
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

    /// Nobody is to be woken at a place.
    #[inline]
    pub fn clear(&mut self, place: u32) {
        if let Some(own) = self.entries.get_mut(place as usize) {
            *own = Entry::NEVER;
        }
    }

    /// Asks for where the time of a place is.
    #[inline(always)]
    pub fn prefetch(&self, place: u32) {
        if let Some(own) = self.entries.get(place as usize) {
            prefetch(own);
        }
    }

    /// Takes the first who is due, if that is before `until`: when, and at which place. Of several at the same time, that
    /// of the first place.
    pub fn take_before(&mut self, until: Time) -> Option<(Time, u32)> {
        self.take_of(SharedBound { height: self.levels.len() as u32, number: 0 }, until)
    }

    /// The same of a group.
    pub fn take_of(&mut self, group: SharedBound, until: Time) -> Option<(Time, u32)> {
        let height = self.levels.len().min(group.height as usize);
        let until = Entry::new(until, 0);
        loop {
            let mut number = group.number as usize;
            let mut bound = self.bounds[self.levels[height - 1] + number];
            if bound >= until {
                return None;
            }
            // Down to the block where the first may be.
            for level in (0..height - 1).rev() {
                number = number * BLOCK + bound.place();
                bound = self.bounds[self.levels[level] + number];
            }
            let (first, second) = first_two(block(&self.entries, number));
            // It may have been put off, and another may come first now.
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

    /// Raises the bounds above a block as far as the least of it allows.
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

/// One block of many.
#[inline]
fn block(all: &[Entry], number: usize) -> &[Entry] {
    &all[number * BLOCK..all.len().min((number + 1) * BLOCK)]
}

/// The first of a block of bounds, and which that is.
#[inline]
fn first_of(bounds: &[Entry]) -> Entry {
    let own = |(place, bound): (usize, &Entry)| bound.of_place(place);
    bounds.iter().enumerate().map(own).fold(Entry::NEVER, Entry::min)
}

/// The first and the second of a block; which come when cannot be guessed.
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
        /// Beside a list that is looked through each time: set, set again for sooner or later, cleared, taken, of all or of a
        /// group, with places that come later, so that there are more levels than at first.
        #[test]
        fn the_earliest_is_taken_first(
            most in prop::sample::select(vec![4_u32, 60, 1_100]),
            steps in prop::collection::vec((0..1_100_u32, 0..1_000_u64, 0..8_u32), 0..300),
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
                        // There is no group before there are places for it.
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
