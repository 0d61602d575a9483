//! Tests of the fill rate, computed in two ways.

use super::super::{BucketScope, Outside, Sanction};
use super::*;
use crate::units::{Factor, Rate, Share};
use proptest::prelude::*;

fn law(most_bps: u64, k: f64, round_trip: Span) -> AccountRules {
    let params = ReEcnPolicerParams {
        fill_rate: TokenRate::Bits(Rate::from_bps(most_bps)),
        depth: Tokens::Bytes(Bytes::new(500_000)),
        initial: None,
        buckets: BucketScope::ByUser,
        tokens: Taken::Data,
        sanction: Sanction::Probability,
        charge_dropped: false,
        k: Factor(k),
        round_trip: Some(round_trip),
        measures: false,
        signals: Signals::Events,
        weight: Share(0.125),
        outside: Outside::Police,
        memory: Bytes::new(64_000_000),
    };
    AccountRules::new(&params, params.bucket().rule())
}

fn account(law: &AccountRules, size: f32, interval: f32, since: u32) -> Account {
    let (now, len, user, flow) = (Time::ZERO, Bytes::new(1500), 0, 0);
    let (connection, is_request, says) = (0, false, ReEcn::Neutral);
    let first = Policed { now, len, user, flow, connection, is_request, says };
    let round_trip_s = f64::from(law.round_trip_s);
    Account { size, interval, since, ..Account::beginning(&first, law, round_trip_s) }
}

/// Roots of squares are integers, which the fast computation leaves to the exact one.
#[test]
fn a_whole_number_is_not_recognised_by_its_neighbours() {
    let law = law(1_000_000, 1.0, Span::from_secs(8));
    let [whole, above] = [49.0, 50.0].map(|interval| account(&law, 1.0, interval, 0));
    assert_eq!((whole.at_hand(&law), whole.fill_rate_now(&law)), (None, 7));
    assert_eq!((above.at_hand(&law), above.fill_rate_now(&law)), (Some(7), 7));
}

proptest! {
    /// Equal to the last token, for any state of the account.
    #[test]
    fn what_is_at_hand_is_what_the_law_says(
        most_bps in 1..1_000_000_000_000_u64,
        k in 0.01..1.2,
        round_trip_us in 1..10_000_000_u64,
        (size, interval) in (1.0..65_535_f32, 1e-3..1e9_f32),
        since in any::<u32>(),
    ) {
        let law = law(most_bps, k, Span::from_micros(round_trip_us));
        for since in [0, since, since % 10_000] {
            let account = account(&law, size, interval, since);
            if let Some(tokens_per_sec) = account.at_hand(&law) {
                prop_assert_eq!(tokens_per_sec, account.exactly(&law));
            }
        }
    }
}
