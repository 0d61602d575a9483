//! The rules of a recovery that a plan has or has not, a bit each: all senders of a group have the same, and each keeps them.

use tidegate_scenario::plan::{AfterTimeoutPlan, RecoveryPlan, TcpPlan};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryRule {
    /// After a timeout, what is sacked counts for nothing.
    GoesBack,
    /// Every timeout lowers the threshold.
    LowersEachTime,
    /// A mark lowers the window also after a timeout.
    MarkedInLoss,
    /// A lost connection request lowers the threshold.
    LowersForRequest,
    /// The ACK that ends a fast recovery lets the window grow.
    GrowsAtEnd,
    /// There is no fast recovery: what duplicates show to be lost is answered as a timeout is (Tahoe).
    StartsOver,
    /// A partial ACK releases its retransmission, whatever is in flight.
    RetransmitsAtOnce,
    /// Of a fast recovery the first partial ACK alone starts the timer again (RFC 6582, impatient).
    IsImpatient,
    /// A fast recovery that begins while a mark is being answered is part of that.
    WithinMark,
    /// A partial ACK lowers the window by what it acknowledges beyond what duplicates have released.
    Deflates,
    /// Fast recoveries may follow each other for what was sent before the first.
    Repeats,
    /// Duplicates release segments during recovery from a timeout.
    Inflates,
    /// Any progress ends the doubling of the timeout.
    ProgressEndsBackoff,
    /// Timestamps tell what was retransmitted spuriously.
    Stamped,
}

/// Those that hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryRules(u16);

impl RecoveryRules {
    /// As a plan has it.
    pub fn of(plan: &TcpPlan) -> Self {
        use RecoveryPlan::{NewReno, Rack, Reno, Tahoe};
        let recovery = plan.loss_recovery;
        let by_time = recovery == Rack;
        let (newreno, sack) = (recovery == NewReno, recovery.is_selective());
        let rules = [
            // Loss detection by time keeps the times of what is sacked, and so that.
            (RecoveryRule::GoesBack, plan.after_timeout == AfterTimeoutPlan::GoBackN && !by_time),
            (RecoveryRule::LowersEachTime, plan.quirks.lower_at_each_timeout),
            (RecoveryRule::MarkedInLoss, plan.quirks.ecn_after_timeout && !by_time),
            (RecoveryRule::LowersForRequest, plan.quirks.lower_for_request),
            (RecoveryRule::GrowsAtEnd, plan.quirks.grow_at_end && !sack),
            (RecoveryRule::StartsOver, recovery == Tahoe),
            (RecoveryRule::RetransmitsAtOnce, plan.retransmit_at_once && newreno),
            (RecoveryRule::IsImpatient, !plan.rearm_on_partial_acks && newreno),
            (RecoveryRule::WithinMark, plan.quirks.recovery_within_mark && newreno),
            (RecoveryRule::Deflates, plan.quirks.deflate_below_threshold && newreno),
            (RecoveryRule::Repeats, plan.quirks.repeated_recovery && recovery == Reno),
            (RecoveryRule::Inflates, plan.quirks.inflation_after_timeout && !sack),
            (RecoveryRule::ProgressEndsBackoff, plan.quirks.progress_ends_backoff),
            (RecoveryRule::Stamped, plan.timestamps),
        ];
        let holding = rules.into_iter().filter(|(_, holds)| *holds);
        holding.fold(RecoveryRules::default(), |RecoveryRules(all), (rule, _)| {
            RecoveryRules(all | rule.bit())
        })
    }

    /// Whether one holds.
    #[inline]
    pub fn have(self, rule: RecoveryRule) -> bool {
        self.0 & rule.bit() != 0
    }
}

impl RecoveryRule {
    #[inline]
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::tests::classic_with;

    #[test]
    fn each_rule_holds_where_the_plan_has_it_and_no_other_does() {
        let with = |options: &str| RecoveryRules::of(&classic_with(options));
        let (none, all) =
            (with(""), with("loss_recovery = \"newreno\", quirks.grow_at_end = true"));
        for (rule, holds) in [
            (RecoveryRule::GrowsAtEnd, true),
            (RecoveryRule::StartsOver, false),
            (RecoveryRule::Repeats, false),
        ] {
            assert_eq!((none.have(rule), all.have(rule)), (false, holds), "{rule:?}");
        }
        assert!(with("loss_recovery = \"tahoe\"").have(RecoveryRule::StartsOver));
        let stamped = with("timestamps = true");
        assert!(
            stamped.have(RecoveryRule::Stamped) && !stamped.have(RecoveryRule::ProgressEndsBackoff)
        );
    }
}
