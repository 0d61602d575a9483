//! Mechanisms at the ingress.

pub mod activity_meter;

pub use activity_meter::{ActivityMeter, ActivityMeterParams};
