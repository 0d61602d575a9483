//! The hosts of a plan.
