//! State of a user that moves from one stage to another of its kind.

use super::re_ecn_policer::Carried;

/// State of a user at a stage, without counts and without what is specific to one place.
#[derive(Debug, Default)]
pub struct UserState {
    /// Congestion of its packets that is not re-inserted yet.
    pub(super) owed: i64,
    /// Congestion of its packets that is not charged to the policers yet.
    pub(super) charged: i64,
    /// Its buckets at each of the policers.
    pub(super) buckets: Vec<Carried>,
}
