//! Per-user state of a stage.

/// State of each user seen. A stage at a single user sees no other, so that storage extends from the lowest user seen
/// to the highest, not from user 0.
#[derive(Clone, Debug, Default)]
pub struct ByUser<T> {
    first: u32,
    rows: Vec<Option<T>>,
}

impl<T: Clone> ByUser<T> {
    /// Returns an empty map.
    pub const fn new() -> Self {
        ByUser { first: 0, rows: Vec::new() }
    }

    /// Returns the state of a user; `make` creates it at the first packet.
    #[inline]
    pub fn of(&mut self, user: u32, make: impl FnOnce() -> T) -> &mut T {
        let place = user.wrapping_sub(self.first) as usize;
        if place >= self.rows.len() || self.rows[place].is_none() {
            return self.add(user, make());
        }
        self.rows[place].as_mut().expect("has been looked at")
    }

    /// Returns the state of a user, if it has been seen.
    pub fn get(&self, user: u32) -> Option<&T> {
        let place = user.checked_sub(self.first)?;
        self.rows.get(place as usize)?.as_ref()
    }

    /// Returns the state of a user, mutable, if it has been seen.
    pub fn get_mut(&mut self, user: u32) -> Option<&mut T> {
        let place = user.checked_sub(self.first)?;
        self.rows.get_mut(place as usize)?.as_mut()
    }

    /// Removes the state of a user.
    pub fn take(&mut self, user: u32) -> Option<T> {
        let place = user.checked_sub(self.first)?;
        self.rows.get_mut(place as usize)?.take()
    }

    /// Iterates over all users seen.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let numbered = self.rows.iter().zip(self.first..);
        numbered.filter_map(|(row, user)| Some((user, row.as_ref()?)))
    }

    /// Returns the memory used, bytes.
    pub const fn state_bytes(&self) -> usize {
        self.rows.len() * size_of::<Option<T>>()
    }

    #[cold]
    fn add(&mut self, user: u32, made: T) -> &mut T {
        if self.rows.is_empty() {
            self.first = user;
        }
        if user < self.first {
            let more = (self.first - user) as usize;
            self.rows.splice(..0, core::iter::repeat_n(None, more));
            self.first = user;
        }
        let place = (user - self.first) as usize;
        if place >= self.rows.len() {
            self.rows.resize(place + 1, None);
        }
        self.rows[place].insert(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_user_far_off_takes_the_room_of_one() {
        let mut all = ByUser::new();
        *all.of(1_000_000, || 0) += 1;
        assert_eq!(all.rows.len(), 1);
        assert_eq!(all.get(1_000_000), Some(&1));
        assert_eq!(all.get(0), None);
    }

    proptest! {
        #[test]
        fn it_is_a_map_in_the_order_of_users(users in prop::collection::vec(0..300u32, 0..60)) {
            let (mut all, mut map) = (ByUser::new(), std::collections::BTreeMap::new());
            for user in users {
                *all.of(user, || 0) += 1;
                *map.entry(user).or_insert(0) += 1;
            }
            prop_assert!(all.iter().eq(map.iter().map(|(user, count)| (*user, count))));
            prop_assert!((0..300).all(|user| all.get(user) == map.get(&user)));
            prop_assert!((0..300).all(|user| all.get_mut(user).copied() == map.get(&user).copied()));
            prop_assert!((0..300).all(|user| all.take(user) == map.remove(&user)));
            prop_assert!((0..300).all(|user| all.get(user).is_none()));
        }
    }
}
