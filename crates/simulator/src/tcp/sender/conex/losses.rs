//! Which losses count: each segment that is retransmitted, those that ACKs tell, or one for each event.

use tidegate_scenario::plan::LossesPlan;

/// The path of one sender.
#[derive(Clone, Copy, Debug)]
pub struct Losses {
    plan: LossesPlan,
    /// Nothing was retransmitted yet in this retransmission.
    fresh: bool,
    /// The last segment that was retransmitted was told by ACKs.
    by_acks: bool,
}

impl Losses {
    /// As a plan has it.
    pub fn new(plan: LossesPlan) -> Self {
        Losses { plan, fresh: true, by_acks: false }
    }

    /// Another recovery begins, or this one is over.
    pub fn begin(&mut self) {
        self.fresh = true;
    }

    /// Whether a segment counts that is retransmitted, as ACKs have told or because the timer ran out.
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

    /// A fast recovery of three segments, a timeout of two, and another fast recovery before that is recovered.
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
