//! Tests of packet formats from outside, in one program: linking one for each file takes longer than running it.

mod conex;
mod packet;
mod packets;
mod tunnel;
