//! A first-in-first-out ring for small values: a `VecDeque` without what a hot path has no use for.

/// Values in the order they came.
pub struct Ring<T> {
    /// Power-of-two many places, or none yet.
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { slots: Vec::new(), head: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.head) }
    }

    /// The oldest, to be changed.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 { None } else { self.slots.get_mut(self.head) }
    }

    /// Adds one.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let place = (self.head + self.len) & (self.slots.len() - 1);
        self.slots[place] = value;
        self.len += 1;
    }

    /// The one that so many others came after.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn back(&self, others: usize) -> &T {
        assert!(others < self.len);
        &self.slots[(self.head + self.len - 1 - others) & (self.slots.len() - 1)]
    }

    /// Takes the oldest.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head];
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
        Some(value)
    }

    /// Adds one behind those that are not larger, where all are in ascending order.
    pub fn insert(&mut self, value: T)
    where
        T: Ord,
    {
        self.push(value);
        let mask = self.slots.len() - 1;
        let mut place = self.head + self.len - 1;
        while place > self.head && self.slots[(place - 1) & mask] > value {
            self.slots[place & mask] = self.slots[(place - 1) & mask];
            place -= 1;
        }
        self.slots[place & mask] = value;
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// All, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (back, front) = self.slots.split_at(self.head.min(self.slots.len()));
        front.iter().chain(back).take(self.len)
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize((2 * self.slots.len()).max(4), T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(0..5u8, 0..500)) {
            let (mut ring, mut model) = (Ring::default(), VecDeque::new());
            for (i, step) in steps.into_iter().enumerate() {
                match step {
                    0..3 => {
                        ring.push(i);
                        model.push_back(i);
                    }
                    3 => prop_assert_eq!(ring.pop(), model.pop_front()),
                    _ if i % 50 == 0 => {
                        ring.clear();
                        model.clear();
                    }
                    _ => {}
                }
                prop_assert_eq!(ring.len(), model.len());
                prop_assert_eq!(ring.front(), model.front());
            }
            prop_assert!(ring.iter().eq(model.iter()));
        }

        #[test]
        fn inserting_keeps_it_sorted(steps in prop::collection::vec(0..100u64, 0..300)) {
            let (mut ring, mut model) = (Ring::default(), Vec::new());
            for value in steps {
                if value % 4 == 0 && !model.is_empty() {
                    prop_assert_eq!(ring.pop(), Some(model.remove(0)));
                } else {
                    ring.insert(value);
                    model.push(value);
                    model.sort();
                }
                if let Some(last) = model.last() {
                    prop_assert_eq!((ring.back(0), ring.back(model.len() - 1)), (last, &model[0]));
                }
            }
            prop_assert!(ring.iter().eq(model.iter()));
        }
    }
}
