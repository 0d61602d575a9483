//! tidegate: simulator.
