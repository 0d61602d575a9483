//! Information elements of GTP-U messages other than reports (TS 29.281, section 8).
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 14   |  Restarts = 0 |    recovery (8.2), in an echo response
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 16   |                             TEID                              |    of data for no tunnel (8.3)
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 133   |          Length = 4           |    and who refuses it (8.4), in an error indication:
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         IPv4 address                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 141   |  Length = 1   |     0x3E      |    extension headers that are known (8.5), in a notification
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use std::net::Ipv4Addr;

use super::mark;

/// A restart counter, which is always 0.
pub const RECOVERY: [u8; 2] = [14, 0];
/// List of the extension headers that this implementation understands: the one of [`mark`].
pub const KNOWN_EXTENSIONS: [u8; 3] = [141, 1, mark::EXTENSION];
const TEID: u8 = 16;
const ADDRESS: [u8; 3] = [133, 0, 4];

/// Returns the elements of an error indication: data for a tunnel with this TEID, which does not exist, arrived at this
/// address.
pub fn refused(teid: u32, by: Ipv4Addr) -> Vec<u8> {
    [&[TEID][..], &teid.to_be_bytes(), &ADDRESS, &by.octets()].concat()
}
