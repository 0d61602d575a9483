//! What a user takes with it from one stage to another of its kind.

use super::re_ecn_policer::Carried;

/// All that a stage has of a user, but for what it has counted and what is of one place alone.
#[derive(Debug, Default)]
pub struct UserState {
    /// Congestion that its packets have met and that is not yet re-inserted.
    pub(super) owed: i64,
    /// The same, not yet told to the policers.
    pub(super) charged: i64,
    /// Its buckets at each of the policers.
    pub(super) buckets: Vec<Carried>,
}
