//! Tournament tree: the smallest of a fixed number of keys, each of which may change at any time.
//!
//! A tree of groups of four, in which every key above the bottom level is the smallest of the group below it. A changed
//! key updates its path to the root: three comparisons per level, without unpredictable branches and without the index
//! of positions that a heap would need.

/// Number of places in a group. Places `GROUP k` to `GROUP k + GROUP - 1` make group `k`.
pub const GROUP: usize = 4;

/// Tournament of keys; the largest, `u64::MAX`, stands for none.
pub struct Tournament {
    /// The group below key `i` of group `g` is `4 g + i + 1`; the last groups hold the leaves.
    groups: Vec<[u64; 4]>,
    /// First group of leaves.
    players: usize,
    smallest: u64,
}

impl Tournament {
    /// Returns a tree with `count` places, all without a key.
    pub fn new(count: usize) -> Self {
        let (mut players, mut width) = (0, 1);
        while 4 * width < count {
            players += width;
            width *= 4;
        }
        let groups = vec![[u64::MAX; 4]; players + width];
        Tournament { groups, players, smallest: u64::MAX }
    }

    /// Returns the smallest key.
    #[inline]
    pub fn smallest(&self) -> u64 {
        self.smallest
    }

    /// Returns the smallest key in groups of places.
    #[inline(always)]
    pub fn smallest_in(&self, groups: core::ops::Range<usize>) -> u64 {
        let least = |group: usize| {
            let [a, b, c, d] = self.groups[self.players + group];
            a.min(b).min(c.min(d))
        };
        groups.map(least).fold(u64::MAX, u64::min)
    }

    /// Returns the key of a place.
    pub fn key(&self, place: usize) -> u64 {
        self.groups[self.players + place / GROUP][place % GROUP]
    }

    /// Changes the key of a place in its group alone. [`Tournament::settle`] has to follow.
    #[inline(always)]
    pub fn set_in_group(&mut self, place: usize, key: u64) {
        self.groups[self.players + place / GROUP][place % GROUP] = key;
    }

    /// Updates the tree after changes in a group.
    pub fn settle(&mut self, group: usize) {
        self.set(GROUP * group, self.groups[self.players + group][0]);
    }

    /// Changes the key of a place.
    ///
    /// # Panics
    ///
    /// If there is no such place.
    #[inline]
    pub fn set(&mut self, place: usize, mut key: u64) {
        let mut node = 4 * self.players + place;
        loop {
            let (group, own) = (&mut self.groups[node / 4], node % 4);
            group[own] = key;
            // Comparing the other three first does not depend on `key`, and avoids reading what has just been written.
            key = key.min(group[own ^ 1].min(group[own ^ 2]).min(group[own ^ 3]));
            if node < 4 {
                break;
            }
            node = node / 4 - 1;
        }
        self.smallest = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_knows_the_smallest(
            count in 1..100usize,
            steps in prop::collection::vec((0..100usize, any::<u64>()), 0..200)
        ) {
            let (mut tournament, mut keys) = (Tournament::new(count), vec![u64::MAX; count]);
            for (place, key) in steps {
                tournament.set(place % count, key);
                keys[place % count] = key;
                prop_assert_eq!(Some(&tournament.smallest()), keys.iter().min());
            }
        }

        #[test]
        fn it_knows_the_smallest_of_groups(
            count in 1..100usize,
            steps in prop::collection::vec((0..100usize, any::<u64>()), 0..200)
        ) {
            let (mut tournament, mut keys) = (Tournament::new(count), vec![u64::MAX; count]);
            for (place, key) in steps {
                let place = place % count;
                keys[place] = key;
                let (group, groups) = (place / GROUP, place / GROUP..count.div_ceil(GROUP));
                tournament.set_in_group(place, key);
                let least = keys[group * GROUP..].iter().min();
                prop_assert_eq!(Some(&tournament.smallest_in(groups)), least);
                tournament.settle(group);
                prop_assert_eq!(Some(&tournament.smallest()), keys.iter().min());
            }
        }
    }
}
