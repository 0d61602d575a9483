//! An optional number in eight bytes, for the many of each sender.

use core::fmt;

/// An optional number below `u64::MAX`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PackedOption(u64);

impl PackedOption {
    /// No number.
    pub const NONE: PackedOption = PackedOption(u64::MAX);

    /// Returns a number.
    #[inline]
    pub const fn some(number: u64) -> Self {
        debug_assert!(number < u64::MAX, "the largest number means none");
        PackedOption(number)
    }

    /// Returns the number, if any.
    #[inline]
    pub fn get(self) -> Option<u64> {
        (self != Self::NONE).then_some(self.0)
    }

    /// Takes the number, if any.
    #[inline]
    pub fn take(&mut self) -> Option<u64> {
        core::mem::replace(self, Self::NONE).get()
    }
}

impl fmt::Debug for PackedOption {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_until_it_is_taken() {
        let mut number = PackedOption::some(0);
        assert_eq!((number.get(), number.take(), number.take()), (Some(0), Some(0), None));
        assert_eq!(size_of::<PackedOption>(), 8);
    }
}
