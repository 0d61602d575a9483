//! packetdrill's scripts, played against a simulated end host.
pub mod code;
pub mod commands;
pub mod lexer;
pub mod mistake;
pub mod parser;
pub mod script;
