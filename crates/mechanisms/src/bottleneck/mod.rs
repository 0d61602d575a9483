//! bottleneck
