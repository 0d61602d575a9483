//! FIFO ring buffer for small values: a `VecDeque` reduced to what a hot path needs.

use crate::memory::reserve_large;

/// Values in order of insertion.
pub struct Ring<T> {
    slots: Vec<T>,
    /// Position of the oldest value.
    head: usize,
    /// Position of the next value.
    tail: usize,
    len: usize,
}

/// Capacity doubles up to this; above, it grows by an eighth, to limit unused memory.
const DOUBLES_UP_TO: usize = 1 << 15;

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { slots: Vec::new(), head: 0, tail: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Returns the number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the oldest value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.head) }
    }

    /// Returns the oldest value, mutable.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 { None } else { self.slots.get_mut(self.head) }
    }

    /// Returns the value `later` places after the oldest.
    #[inline]
    pub fn get(&self, later: usize) -> Option<&T> {
        if later < self.len { self.slots.get(self.place(later)) } else { None }
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        self.slots[self.tail] = value;
        self.tail = self.after(self.tail);
        self.len += 1;
    }

    /// Returns the value that `others` values follow.
    ///
    /// # Panics
    ///
    /// If there is no such value.
    #[inline]
    pub fn back(&self, others: usize) -> &T {
        assert!(others < self.len);
        &self.slots[self.place(self.len - 1 - others)]
    }

    /// Takes the oldest value.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.slots[self.head];
        self.head = self.after(self.head);
        self.len -= 1;
        Some(value)
    }

    /// Inserts a value behind those that are not larger; the values have to be in ascending order.
    pub fn insert(&mut self, value: T)
    where
        T: Ord,
    {
        self.push(value);
        let (mut later, mut place) = (self.len - 1, self.before(self.tail));
        while later > 0 {
            let before = self.before(place);
            if self.slots[before] <= value {
                break;
            }
            self.slots[place] = self.slots[before];
            (later, place) = (later - 1, before);
        }
        self.slots[place] = value;
    }

    /// Removes all values.
    #[inline]
    pub fn clear(&mut self) {
        (self.head, self.tail, self.len) = (0, 0, 0);
    }

    /// Iterates over the values, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (back, front) = self.slots.split_at(self.head.min(self.slots.len()));
        front.iter().chain(back).take(self.len)
    }

    /// Returns the next position. Uses a comparison, since the capacity is not a power of two.
    #[inline(always)]
    fn after(&self, place: usize) -> usize {
        let next = place + 1;
        if next == self.slots.len() { 0 } else { next }
    }

    #[inline]
    fn before(&self, place: usize) -> usize {
        if place == 0 { self.slots.len() - 1 } else { place - 1 }
    }

    #[inline]
    fn place(&self, later: usize) -> usize {
        let place = self.head + later;
        if place < self.slots.len() { place } else { place - self.slots.len() }
    }

    #[cold]
    fn grow(&mut self) {
        let places = self.slots.len();
        self.slots.rotate_left(self.head);
        let more = if places < DOUBLES_UP_TO { places.max(4) } else { places / 8 };
        reserve_large(&mut self.slots, more);
        self.slots.resize(places + more, T::default());
        (self.head, self.tail) = (0, places);
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
                prop_assert_eq!((ring.get(2), ring.get(ring.len())), (model.get(2), None));
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
