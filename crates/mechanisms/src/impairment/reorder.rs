//! Reordering by a gap: some packets arrive without delay, and so before those that left earlier.
//!
//! Linux `net/sched/sch_netem.c`, `reorder` and `gap`:
//!
//! ```text
//! n ← packets since the last that was sent ahead
//! n ≥ gap − 1 and U < reorder     it arrives at once, n ← 0
//! else                            it takes its delay,  n ← n + 1
//! ```

/// Which packets of a link are sent ahead.
#[derive(Clone, Debug)]
pub struct Reorder {
    probability: f64,
    gap: u32,
    since: u32,
}

impl Reorder {
    /// Before the first packet; `None` where all take their delay.
    pub fn new(probability: f64, gap: u32) -> Option<Self> {
        (probability > 0.0).then_some(Reorder { probability, gap: gap.max(1), since: 0 })
    }

    /// Whether the next packet is sent ahead. `draw` gives a random number in [0, 1).
    pub fn sends_ahead(&mut self, draw: impl FnOnce() -> f64) -> bool {
        let ahead = self.since >= self.gap - 1 && draw() < self.probability;
        self.since = if ahead { 0 } else { self.since.saturating_add(1) };
        ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fifth_packet_is_sent_ahead() {
        let mut reorder = Reorder::new(1.0, 5).expect("sends some ahead");
        let ahead: Vec<_> = (1..=15).filter(|_| reorder.sends_ahead(|| 0.5)).collect();
        assert_eq!(ahead, [5, 10, 15]);
    }

    #[test]
    fn nothing_is_drawn_within_a_gap() {
        let mut reorder = Reorder::new(0.4, 3).expect("sends some ahead");
        assert!(!reorder.sends_ahead(|| unreachable!()) && !reorder.sends_ahead(|| unreachable!()));
        assert!(!reorder.sends_ahead(|| 0.5) && reorder.sends_ahead(|| 0.3));
        assert!(Reorder::new(0.0, 3).is_none());
    }
}
