//! Windows that change in whole segments, counting all segments that an ACK acknowledges, as in Linux since 3.18.
//!
//! ```text
//! slow start            cwnd ← min(cwnd + N, ssthresh)     N segments acknowledged; the rest counts on
//! congestion avoidance  cwnd ← cwnd + 1                    per `interval` segments acknowledged
//! ```
//!
//! A count that had reached the interval before this ACK, because the interval has become shorter, is worth one
//! segment.

use super::Window;

/// Segments counted towards the next step of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WholeSegments {
    counted: u32,
}

impl WholeSegments {
    /// Grows in slow start. Returns the segments left when the threshold is reached.
    pub fn slow_start(window: &mut Window, acked: u32) -> u32 {
        let cwnd = (window.cwnd + f64::from(acked)).min(window.ssthresh);
        let used = cwnd - window.cwnd;
        window.cwnd = cwnd;
        acked - used as u32
    }

    /// Adds one segment for each `interval` segments acknowledged.
    pub fn grow(&mut self, window: &mut Window, interval: u32, acked: u32) {
        self.grow_at(window, acked, |counted| counted >= interval, || interval);
    }

    /// Grows as [`Self::grow`], computing the interval only if it is reached.
    #[inline(always)]
    pub fn grow_at(
        &mut self,
        window: &mut Window,
        acked: u32,
        is_reached_by: impl FnOnce(u32) -> bool,
        interval: impl FnOnce() -> u32,
    ) {
        let counted = self.counted + acked;
        if is_reached_by(counted) {
            self.step(window, interval(), acked);
        } else {
            self.counted = counted;
        }
    }

    #[inline(never)]
    fn step(&mut self, window: &mut Window, interval: u32, acked: u32) {
        if self.counted >= interval {
            self.counted = 0;
            window.cwnd += 1.0;
        }
        self.counted += acked;
        let steps = self.counted / interval;
        self.counted -= steps * interval;
        window.cwnd += f64::from(steps);
    }

    /// Restarts the count.
    pub fn reset(&mut self) {
        self.counted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let mut window = Window { cwnd: 9.0, ssthresh: 10.0 };
        assert_eq!(WholeSegments::slow_start(&mut window, 4), 3);
        assert_eq!(window.cwnd, 10.0);
        let mut window = Window::new(10);
        assert_eq!(WholeSegments::slow_start(&mut window, 44), 0, "no limit per ACK");
        assert_eq!(window.cwnd, 54.0);
    }

    #[test]
    fn a_segment_comes_for_every_interval_of_segments_and_an_overdue_one_at_once() {
        let (mut whole, mut window) = (WholeSegments::default(), Window::new(10));
        for want in [10.0, 10.0, 10.0, 10.0, 11.0] {
            whole.grow(&mut window, 10, 2);
            assert_eq!(window.cwnd, want);
        }
        whole.grow(&mut window, 10, 9);
        assert_eq!(window.cwnd, 11.0);
        whole.grow(&mut window, 4, 1);
        assert_eq!(window.cwnd, 12.0, "nine were counted, four are enough by now: one segment");
        whole.grow(&mut window, 4, 9);
        assert_eq!(window.cwnd, 14.0);
    }
}
