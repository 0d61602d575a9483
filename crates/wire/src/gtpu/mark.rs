//! Congestion re-inserted by the gateway of a mobile network into a tunnel's header: the far end of the tunnel has
//! reported it, and the nodes on the path can read it.
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Length = 1   |X|L|E|C|  res  |   reserved    | Next Ext. Type|
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! An extension header of GTP-U with the bits of RFC 7837's option. Its type, 0x3E, is not assigned by 3GPP; the upper
//! bits 00 mean that a node that does not know it forwards it.

use super::Message;
use crate::conex::{Conex, Declaration};

/// Type of the extension header.
pub const EXTENSION: u8 = 0x3E;

const CONTENT_LEN: usize = 2;

/// Returns the bits for a message in which congestion is `re_inserted` or not, with a copy of the declaration in the
/// inner packet's option if it is copied (RFC 7778, section 3.2.1; RFC 7837, section 7, advises against it).
pub const fn with_copy(re_inserted: bool, inner: Option<Declaration>) -> Conex {
    let Declaration { loss, mark, credit } = match inner {
        Some(declaration) => declaration,
        None => Declaration { loss: false, mark: false, credit: false },
    };
    Conex::declaring(Declaration { loss, mark: mark | re_inserted, credit })
}

/// Returns the content of the extension header.
pub fn emit(conex: Conex) -> [u8; CONTENT_LEN] {
    [conex.bits(), 0]
}

/// Returns the bits re-inserted into this message; `None` without the extension header. If there are several, the first
/// one counts.
pub fn parse(bytes: &[u8], message: &Message) -> Option<Conex> {
    place(bytes, message).map(|at| Conex::from_bits(bytes[at]))
}

/// Writes into the existing extension header, and changes nothing else. Returns whether it exists.
pub fn write(bytes: &mut [u8], message: &Message, conex: Conex) -> bool {
    let place = place(bytes, message);
    if let Some(at) = place {
        bytes[at] = conex.bits();
    }
    place.is_some()
}

/// Returns the offset of the bits in the message.
pub(super) fn place(bytes: &[u8], message: &Message) -> Option<usize> {
    let is_mark = |extension: &super::Extension| {
        extension.kind == EXTENSION && extension.content.len() == CONTENT_LEN
    };
    message.extensions(bytes).find(is_mark).map(|extension| extension.at)
}
