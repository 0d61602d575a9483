//! Counters of which most runs need none.

/// Counters by number, of which nothing is kept while all of them are what they begin with.
#[derive(Clone)]
pub struct Tally<T>(Vec<T>);

impl<T: Copy + Default + PartialEq> Tally<T> {
    /// Of these.
    pub fn of(all: Vec<T>) -> Self {
        let none_yet = all.iter().all(|count| *count == T::default());
        Tally(if none_yet { Vec::new() } else { all })
    }

    /// That with this number.
    #[inline]
    pub fn at(&self, number: usize) -> T {
        self.0.get(number).copied().unwrap_or_default()
    }
}
