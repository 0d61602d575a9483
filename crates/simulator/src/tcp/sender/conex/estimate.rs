//! Losses within a round trip without SACK: the loss estimation counter (LEC) of RFC 7786, section 3.1.1. Since one
//! segment a round trip is retransmitted then, the others would be declared late.
//!
//! ```text
//! first retransmission of a fast recovery    LEC = in flight − 3 SMSS
//! each of the first round trip               LEG += payload, LEC −= payload
//! each duplicate ACK of it                   LEC −= SMSS
//! the first ACK that advances                LEG += LEC: so much is missing besides
//! each later retransmission                  LEC −= payload, LEG += what LEC does not cover
//! ```

use super::super::feedback::AckSample;

/// Number of duplicate ACKs that report a loss.
const DUPLICATES: i64 = 3;

/// Loss estimate, in the unit of the gauges.
#[derive(Clone, Copy, Debug, Default)]
pub enum Estimate {
    /// No recovery.
    #[default]
    Idle,
    /// First round trip of a recovery: amount that may be lost besides the retransmitted segment.
    FirstRoundTrip(i64),
    /// Later round trips: amount declared and not retransmitted yet.
    Later(i64),
}

impl Estimate {
    /// Handles a retransmission. `in_flight` is the amount in flight if duplicate ACKs report the loss, `None` after a
    /// timeout. Returns the amount to declare.
    pub fn on_retransmit(&mut self, amount: i64, segment: i64, in_flight: Option<i64>) -> i64 {
        if let (Estimate::Idle, Some(in_flight)) = (*self, in_flight) {
            *self = Estimate::FirstRoundTrip(in_flight - DUPLICATES * segment);
        }
        match self {
            Estimate::Idle => amount,
            Estimate::FirstRoundTrip(missing) => {
                *missing -= amount;
                amount
            }
            Estimate::Later(declared) => {
                let covered = amount.min(*declared).max(0);
                *declared -= covered;
                amount - covered
            }
        }
    }

    /// Handles an ACK. Returns the amount to declare.
    pub fn on_ack(&mut self, ack: &AckSample, segment: i64) -> i64 {
        let Estimate::FirstRoundTrip(missing) = self else { return 0 };
        if ack.advances() {
            let missing = (*missing).max(0);
            *self = Estimate::Later(missing);
            return missing;
        }
        *missing -= if ack.duplicate { segment } else { 0 };
        0
    }

    /// Ends the recovery.
    pub fn end(&mut self) {
        *self = Estimate::Idle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicate() -> AckSample<'static> {
        AckSample { duplicate: true, ..AckSample::default() }
    }

    fn advance() -> AckSample<'static> {
        AckSample { acknowledged: 3, ..AckSample::default() }
    }

    /// Ten in flight, of which the first and two more are lost: seven duplicates arrive, three of them before the first
    /// retransmission.
    #[test]
    fn what_no_duplicate_counts_for_is_declared_after_a_round_trip() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.on_retransmit(1460, 1460, Some(10 * 1460)), 1460);
        for _ in 0..4 {
            assert_eq!(estimate.on_ack(&duplicate(), 1460), 0);
        }
        assert_eq!(estimate.on_ack(&advance(), 1460), 2 * 1460);
        let later = [(); 3].map(|()| estimate.on_retransmit(1460, 1460, Some(10 * 1460)));
        assert_eq!(later, [0, 0, 1460], "two were declared already");
        estimate.end();
        assert_eq!(estimate.on_retransmit(1460, 1460, None), 1460, "a timeout");
    }
}
