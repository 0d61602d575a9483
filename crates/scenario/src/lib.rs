//! The scenario file: schema, units, validation, and the plan that it resolves to.

pub mod plan;
