//! Tests of mechanisms from outside, in one program: linking one for each file takes longer than running it.

mod miscompiled;
mod pages;
