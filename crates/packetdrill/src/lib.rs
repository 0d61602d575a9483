//! packetdrill scripts, played against the simulated end host.
//!
//! packetdrill (N. Cardwell et al., "packetdrill: scriptable network stack testing, from sockets to packets", USENIX
//! ATC 2013) plays the other end of a connection from a script, and checks the answers of a kernel. Here the same
//! scripts are played against the simulator's TCP in virtual time:
//!
//! ```text
//! text ─► lexer ─► parser ─► Script ─► player ─► ScriptVerdict: passed, failed, outside the model
//!                                        │
//!                                   endpoint: bytes, windows, handshake
//!                                        │
//!                            tidegate_simulator::host: segments
//! ```

pub mod code;
pub mod commands;
pub mod endpoint;
pub mod error;
pub mod lexer;
pub mod parser;
pub mod player;
pub mod report;
pub mod script;
