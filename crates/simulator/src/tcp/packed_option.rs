//! An optional number in eight bytes; every sender has several.

use core::fmt;

/// A number below the largest of 64 bits, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PackedOption(u64);

impl PackedOption {
    /// There is none.
    pub const NONE: PackedOption = PackedOption(u64::MAX);

    /// There is this one.
    #[inline]
    pub const fn some(number: u64) -> Self {
        debug_assert!(number < u64::MAX, "the largest number means none");
        PackedOption(number)
    }

    /// It, if there is one.
    #[inline]
    pub fn get(self) -> Option<u64> {
        (self != Self::NONE).then_some(self.0)
    }

    /// It, if there is one, and then none any more.
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
