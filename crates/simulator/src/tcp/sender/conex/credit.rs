//! Credit: declared in advance for a round trip, until the congestion experienced in it can be declared (RFC 7786,
//! section 4.2).
//!
//! ```text
//! congestion met    CSC = max(0, CSC − amount)
//! a packet leaves   C, CSC += payload     if CSC < F, or F/2 for the least in slow start
//! ```
//!
//! with F the bytes in flight. After losses in successive round trips, an auditor may have lost its state, and CSC
//! restarts from 0.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::CreditPlan;

/// Credit state counter CSC of RFC 7786, bytes.
#[derive(Clone, Copy, Debug)]
pub struct CreditState {
    level: i64,
    /// Bytes in flight per byte of credit.
    flight_per_credit: i64,
    /// Start of the last round trip with losses.
    lossy_since: Option<Time>,
}

impl CreditState {
    /// Returns the state for a plan; `None` without credit.
    pub fn new(plan: CreditPlan) -> Option<Self> {
        let flight_per_credit = match plan {
            CreditPlan::Off => return None,
            CreditPlan::Flight => 1,
            CreditPlan::HalfFlight => 2,
        };
        Some(CreditState { level: 0, flight_per_credit, lossy_since: None })
    }

    /// Subtracts congestion, or lost credit.
    pub fn spend(&mut self, amount: i64) {
        self.level = (self.level - amount.max(0)).max(0);
    }

    /// Returns the CSC.
    pub fn level(&self) -> i64 {
        self.level
    }

    /// Resets the CSC, since an auditor may have lost its state.
    pub fn restart(&mut self) {
        self.level = 0;
    }

    /// Handles the sending of a packet with `bytes` of payload. Returns whether it gives credit.
    pub fn give(&mut self, bytes: i64, in_flight_bytes: i64) -> bool {
        let gives = self.flight_per_credit * self.level < in_flight_bytes;
        if gives {
            self.level += bytes;
        }
        gives
    }

    /// Records a loss, at this time and with this smoothed round-trip time.
    pub fn note_loss(&mut self, now: Time, srtt: Span) {
        let since = self.lossy_since.map(|began| now.since(began));
        if since.is_some_and(|since| since < srtt) {
            return;
        }
        if since.is_some_and(|since| since < srtt + srtt) {
            self.level = 0;
        }
        self.lossy_since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of packets that give credit, of consecutive packets with these amounts in flight.
    fn given(credit: &mut CreditState, in_flight: impl IntoIterator<Item = i64>) -> usize {
        in_flight.into_iter().filter(|segments| credit.give(1460, segments * 1460)).count()
    }

    #[test]
    fn credit_covers_the_flight_and_is_renewed_as_congestion_takes_it() {
        let mut credit = CreditState::new(CreditPlan::Flight).expect("has credit");
        assert_eq!(given(&mut credit, 1..=10), 10);
        assert_eq!(given(&mut credit, [10; 5]), 0);
        credit.spend(2 * 1460);
        assert_eq!(given(&mut credit, [10; 5]), 2);
        credit.spend(100 * 1460);
        assert_eq!(given(&mut credit, [3; 5]), 3, "it never was below nothing");
    }

    #[test]
    fn losses_in_successive_round_trips_make_it_start_over() {
        let srtt = Span::from_millis(100);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        for (second, want) in [(90, 0), (120, 10), (250, 0)] {
            let mut credit = CreditState::new(CreditPlan::Flight).expect("has credit");
            given(&mut credit, 1..=10);
            credit.note_loss(at(0), srtt);
            credit.note_loss(at(second), srtt);
            assert_eq!(given(&mut credit, [10; 12]), want, "{second} ms later");
        }
    }
}
