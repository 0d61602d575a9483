//! Counters that most runs do not need.

/// Counters by index, stored only if one of them differs from the default.
#[derive(Clone)]
pub struct Tally<T>(Vec<T>);

impl<T: Copy + Default + PartialEq> Tally<T> {
    /// Stores these counters.
    pub fn of(all: Vec<T>) -> Self {
        let none_yet = all.iter().all(|count| *count == T::default());
        Tally(if none_yet { Vec::new() } else { all })
    }

    /// Returns the counter with this index.
    #[inline]
    pub fn at(&self, number: usize) -> T {
        self.0.get(number).copied().unwrap_or_default()
    }
}
