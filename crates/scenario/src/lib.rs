//! tidegate: scenario.
