//! The smallest of a fixed number of keys, each of which may change at any time.
//!
//! A tree of groups of four, in which every key but the topmost is the smallest of the group below
//! it. A key that changes plays its path up again: three comparisons a level, no branch that has to be
//! guessed, and no book of who stands where, as a heap would need.

/// A tournament of keys, of which the largest, `u64::MAX`, stands for none.
pub struct Tournament {
    /// The groups below key `i` of group `g` is `4 g + i + 1`; the last groups hold the players.
    groups: Vec<[u64; 4]>,
    /// The first group of players.
    players: usize,
    smallest: u64,
}

impl Tournament {
    /// Places for `count` keys, all without one.
    pub fn new(count: usize) -> Self {
        let (mut players, mut width) = (0, 1);
        while 4 * width < count {
            players += width;
            width *= 4;
        }
        let groups = vec![[u64::MAX; 4]; players + width];
        Tournament { groups, players, smallest: u64::MAX }
    }

    /// The smallest key.
    #[inline]
    pub fn smallest(&self) -> u64 {
        self.smallest
    }

    /// Changes the key of a place.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn set(&mut self, place: usize, mut key: u64) {
        let mut node = 4 * self.players + place;
        loop {
            let (group, own) = (&mut self.groups[node / 4], node % 4);
            group[own] = key;
            // The others do not wait for the key to be known, and nothing is read that has just been written.
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
