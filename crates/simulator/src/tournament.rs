//! Tournament tree: the smallest of a fixed number of keys, each of which may change at any time.
//!
//! A tree of groups of four, in which every key above the bottom level is the smallest of the group below it. A changed
//! key updates its path to the root: three comparisons per level, without unpredictable branches and without the index
//! of positions that a heap would need.

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
    }
}
