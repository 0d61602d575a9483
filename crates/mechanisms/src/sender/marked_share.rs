//! Share of segments that carried a congestion mark, averaged over windows of data: α of DCTCP (RFC 8257, section 3.3)
//! and of Prague.
//!
//! ```text
//! M ← marked / delivered,   α ← (1 − g) α + g M     once per window of data, g = 1/16
//! ```

/// Weight g of a new window in the average (RFC 8257, section 4.2; Linux `dctcp_shift_g` = 4).
pub const GAIN: f64 = 1.0 / 16.0;

/// Moving average, and the segments counted for its next value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkedShare {
    alpha: f64,
    delivered: u32,
    marked: u32,
}

impl MarkedShare {
    /// Starts with α = 1, so that a mark before anything is known about the path halves the window.
    pub fn new() -> Self {
        MarkedShare { alpha: 1.0, delivered: 0, marked: 0 }
    }

    /// Counts segments, `marked` among them.
    #[inline]
    pub fn count(&mut self, delivered: u32, marked: u32) {
        self.delivered += delivered;
        self.marked += marked;
    }

    /// Ends a window: adds its share to the average and resets the count. A window without deliveries is ignored.
    pub fn close_window(&mut self) {
        if self.delivered > 0 {
            let share = f64::from(self.marked) / f64::from(self.delivered);
            self.alpha += GAIN * (share - self.alpha);
        }
        self.forget_window();
    }

    /// Resets the count, and keeps the average.
    pub fn forget_window(&mut self) {
        (self.delivered, self.marked) = (0, 0);
    }

    /// Returns α, between 0 and 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns the share of the window that a reduction keeps: 1 − α/2.
    pub fn kept(&self) -> f64 {
        1.0 - self.alpha / 2.0
    }
}

impl Default for MarkedShare {
    fn default() -> Self {
        MarkedShare::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after_windows(windows: &[(u32, u32)]) -> MarkedShare {
        let mut share = MarkedShare::new();
        for &(delivered, marked) in windows {
            share.count(delivered, marked);
            share.close_window();
        }
        share
    }

    /// RFC 8257, equations of section 3.3, by hand.
    #[test]
    fn a_sixteenth_of_the_difference_is_taken_over_per_window() {
        let close = |share: MarkedShare, want: f64| (share.alpha() - want).abs() < 1e-12;
        assert!(close(after_windows(&[]), 1.0));
        assert!(close(after_windows(&[(10, 0)]), 0.9375));
        assert!(close(after_windows(&[(10, 5)]), 0.968_75));
        assert!(close(after_windows(&[(10, 0), (4, 4)]), 0.941_406_25));
        assert!(close(after_windows(&[(0, 0)]), 1.0), "nothing delivered, nothing learnt");
    }

    proptest! {
        /// The influence of the initial value decays as (1 − g)ⁿ.
        #[test]
        fn alpha_converges_to_the_marked_share(delivered in 1..1000u32, part in 0.0..=1.0f64) {
            let marked = (f64::from(delivered) * part) as u32;
            let want = f64::from(marked) / f64::from(delivered);
            for windows in [20, 60, 200] {
                let share = after_windows(&vec![(delivered, marked); windows]);
                let left = (1.0 - want) * libm::pow(1.0 - GAIN, windows as f64);
                prop_assert!((share.alpha() - want - left).abs() < 1e-9);
            }
        }

        #[test]
        fn alpha_stays_between_none_and_all(
            windows in proptest::collection::vec((0..100u32, 0.0..=1.0f64), 0..100)
        ) {
            let windows: Vec<_> =
                windows.iter().map(|&(n, part)| (n, (f64::from(n) * part) as u32)).collect();
            let share = after_windows(&windows);
            prop_assert!((0.0..=1.0).contains(&share.alpha()));
            prop_assert!((0.5..=1.0).contains(&share.kept()));
        }
    }
}
