//! Maximum within a window of time, from three values (K. Nichols' algorithm; Linux: `lib/win_minmax.c`).
//!
//! The filter stores the maximum, the largest value after it, and the largest after that. When the maximum leaves the
//! window, the second takes its place. The values are renewed after a quarter and half of the window, so that the
//! second is recent.

/// A value and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    at: u32,
    value: f64,
}

/// Maximum of recent values; 0 before the first. Time is a count, such as that of round trips, which may wrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax([Seen; 3]);

impl WindowedMax {
    /// Returns the maximum.
    pub fn get(&self) -> f64 {
        self.0[0].value
    }

    /// Adds a value at a time no earlier than those before; the window is `length` long. Returns the maximum.
    pub fn update(&mut self, length: u32, at: u32, value: f64) -> f64 {
        let new = Seen { at, value };
        let [first, second, third] = self.0;
        let age = |seen: Seen| at.wrapping_sub(seen.at);
        if value >= first.value || age(third) > length {
            self.0 = [new; 3];
            return value;
        }
        let [second, third] = match value {
            _ if value >= second.value => [new; 2],
            _ if value >= third.value => [second, new],
            _ => [second, third],
        };
        self.0 = if age(first) > length {
            if age(second) > length { [third, new, new] } else { [second, third, new] }
        } else if second.at == first.at && age(first) > length / 4 {
            [first, new, new]
        } else if third.at == second.at && age(first) > length / 2 {
            [first, second, new]
        } else {
            [first, second, third]
        };
        self.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_leaves_with_its_window_and_the_next_takes_its_place() {
        let mut max = WindowedMax::default();
        let largest = [(0, 9.0), (2, 3.0), (3, 5.0), (7, 4.0), (10, 1.0), (11, 1.0), (14, 2.0)]
            .map(|(at, value)| max.update(10, at, value));
        assert_eq!(largest, [9.0, 9.0, 9.0, 9.0, 9.0, 5.0, 4.0]);
    }

    /// Comparison with the definition: at most the maximum of the window, and at least the latest value.
    #[test]
    fn it_lies_between_the_latest_and_the_largest_of_the_window() {
        let mut max = WindowedMax::default();
        let mut draws = crate::sender::path_model::Draws::new(5);
        let mut all = Vec::new();
        for at in 0..2_000 {
            let value = draws.unit();
            all.push(value);
            let got = max.update(10, at, value);
            let start = (at as usize).saturating_sub(10);
            let largest = all[start..].iter().copied().fold(0.0, f64::max);
            assert!(value <= got && got <= largest, "{at}: {value} {got} {largest}");
        }
    }
}
