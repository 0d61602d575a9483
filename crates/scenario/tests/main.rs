//! Integration tests of scenario files, in one program: linking one for each file takes longer than running it.

mod bounds;
mod errors;
mod files;
mod fuzz;
mod plan;
