//! Cost of packets: for `tidegate-bench`, and for measurements from Python.

pub mod drive;
