//! What packets cost: for `tidegate-bench`, and for whoever measures from Python.

pub mod drive;
