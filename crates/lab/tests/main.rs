//! Integration tests of the lab, in one program: linking one for each file takes longer than running it.

mod common;
mod compiled;
mod conex_arithmetic;
mod conex_sender;
mod datagrams;
mod forwarder;
mod hosts;
mod load;
mod nodes;
mod reports;
mod sbrm;
mod sbrm_arithmetic;
mod tunnels;
mod vegascp_arithmetic;
mod videos;
