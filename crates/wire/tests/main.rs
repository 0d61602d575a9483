//! Tests of packet formats through the public interface, in one program: linking one per file takes longer than running
//! it.

mod conex;
mod packet;
mod packets;
mod tunnel;
