//! Tests of mechanisms from outside, in one program: linking one for each file takes longer than running it.

mod a_million_flows;
mod miscompiled;
mod pages;
