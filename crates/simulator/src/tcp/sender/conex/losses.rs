//! Selection of the losses that count: each retransmitted segment, those reported by ACKs, or one per event.

use tidegate_scenario::plan::LossesPlan;

/// Loss counting of one sender.
#[derive(Clone, Copy, Debug)]
pub struct Losses {
    plan: LossesPlan,
    /// Whether nothing was retransmitted yet in this recovery.
    fresh: bool,
    /// Whether the last retransmission was triggered by ACKs.
    by_acks: bool,
}

impl Losses {
    /// Returns the counting of a plan.
    pub fn new(plan: LossesPlan) -> Self {
        Losses { plan, fresh: true, by_acks: false }
    }

    /// Starts another recovery, or ends this one.
    pub fn begin(&mut self) {
        self.fresh = true;
    }

    /// Whether a retransmission counts; `by_acks` if ACKs triggered it, and not the timer.
    pub fn declares(&mut self, by_acks: bool) -> bool {
        let begins = self.fresh || by_acks != self.by_acks;
        (self.fresh, self.by_acks) = (false, by_acks);
        match self.plan {
            LossesPlan::Each => true,
            LossesPlan::Reported => by_acks,
            LossesPlan::Event => begins,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fast recovery of three segments, a timeout of two, and another fast recovery before the timeout is repaired.
    #[test]
    fn what_counts_of_two_recoveries_and_a_timeout() {
        let cases = [
            (LossesPlan::Each, [true; 6]),
            (LossesPlan::Reported, [true, true, true, false, false, true]),
            (LossesPlan::Event, [true, false, false, true, false, true]),
        ];
        for (plan, expected) in cases {
            let mut losses = Losses::new(plan);
            let mut counts = Vec::new();
            for by_acks in [true, true, true] {
                counts.push(losses.declares(by_acks));
            }
            losses.begin();
            for by_acks in [false, false, true] {
                counts.push(losses.declares(by_acks));
            }
            assert_eq!(counts, expected, "{plan:?}");
        }
    }
}
