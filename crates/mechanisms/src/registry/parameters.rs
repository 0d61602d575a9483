//! What can be set, mechanism by mechanism, with the keys of the scenario file.

use super::DefaultValue::{Required, Unset, Value};
use super::{DefaultValue, Parameter};

const fn parameter(
    name: &'static str,
    default: DefaultValue,
    unit: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter { name, default, unit, meaning, kind: None }
}

pub(super) const ACTIVITY_METER: &[Parameter] = &[
    parameter("reference_rate", Required, "bit/s", "rate R_r that the user is entitled to"),
    parameter("inertia", Value("0.6 s"), "s", "I: time in which activity falls by 1"),
    parameter("burst_allowance", Value("0 B"), "B", "B: what passes at activity 0 after a pause"),
    parameter("granularity", Unset, "1", "g: activity is rounded up to a multiple of it"),
    parameter(
        "meters",
        Value("1"),
        "1",
        "meters that a user's packets take in turn, each with its share of R_r and B",
    ),
];
