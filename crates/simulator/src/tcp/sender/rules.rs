//! Optional rules of a recovery as a bit set, to keep senders small: each sender stores its rules.

use tidegate_scenario::plan::{AfterTimeoutPlan, FeedbackPlan, RecoveryPlan, TcpPlan};

/// An optional rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryRule {
    /// SACK information is ignored after a timeout.
    GoesBack,
    /// Every timeout lowers the threshold.
    LowersEachTime,
    /// A mark reduces the window also after a timeout.
    MarkedInLoss,
    /// The loss of a SYN lowers the threshold.
    LowersForRequest,
    /// The ACK that ends a fast recovery lets the window grow.
    GrowsAtEnd,
    /// No fast recovery: losses shown by duplicates are treated as a timeout (Tahoe).
    StartsOver,
    /// A partial ACK triggers its retransmission regardless of the segments in flight.
    RetransmitsAtOnce,
    /// Only the first partial ACK of a fast recovery restarts the timer (RFC 6582, impatient).
    IsImpatient,
    /// A fast recovery that begins during the reduction for a mark belongs to it.
    WithinMark,
    /// A partial ACK reduces the window by the segments that it acknowledges beyond the inflation by duplicates.
    Deflates,
    /// Successive fast recoveries are allowed for data sent before the first.
    Repeats,
    /// Duplicates inflate the window during recovery from a timeout.
    Inflates,
    /// Any progress ends the backoff of the RTO.
    ProgressEndsBackoff,
    /// A reduction for a mark lasts until a segment is acknowledged that was sent after it, although each mark is
    /// reported: a sender of Linux expects latched ECE (`tcp_fastretrans_alert`).
    AnswersAbove,
    /// Timestamps reveal spurious retransmissions.
    Stamped,
}

/// The rules of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryRules(u16);

impl RecoveryRules {
    /// Returns the rules of a plan.
    pub fn of(plan: &TcpPlan) -> Self {
        use RecoveryPlan::{NewReno, Rack, Reno, Tahoe};
        let recovery = plan.loss_recovery;
        let by_time = recovery == Rack;
        let (newreno, sack) = (recovery == NewReno, recovery.is_selective());
        let rules = [
            // Loss detection by time needs the send times of sacked segments, and therefore the SACK information.
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
            (
                RecoveryRule::AnswersAbove,
                by_time && plan.mark_feedback() == Some(FeedbackPlan::Dctcp) && !plan.is_scalable(),
            ),
            (RecoveryRule::Stamped, plan.timestamps),
        ];
        let holding = rules.into_iter().filter(|(_, holds)| *holds);
        holding.fold(RecoveryRules::default(), |RecoveryRules(all), (rule, _)| {
            RecoveryRules(all | rule.bit())
        })
    }

    /// Whether a rule is set.
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
