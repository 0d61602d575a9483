//! Integration tests of mechanisms, in one program: linking one for each file takes longer than running it.

mod miscompiled;
mod pages;
