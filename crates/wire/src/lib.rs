//! tidegate: wire.
