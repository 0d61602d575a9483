//! What a wire does to packets beside carrying them: it loses some, duplicates some, and delays them by different times.
//! The models are those of Linux's `netem`, so that a setting of `tc` can be written down as it is.

pub mod jitter;
pub mod loss;
mod numbers;
pub mod reorder;

pub use jitter::{Jitter, JitterParams, normal_quantile};
pub use loss::{Loss, LossModel, LossProcess};
pub use reorder::Reorder;
