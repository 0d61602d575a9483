//! What the gateway of a mobile network re-inserts into a tunnel's header: congestion that the tunnel's
//! far end has reported, for the nodes between to see.
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Length = 1   |X|L|E|C|  res  |   reserved    | Next Ext. Type|
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! An extension header of GTP-U with the bits of RFC 7837's option. Its type, 0x3E, is one that 3GPP has
//! not given away; its upper bits 00 say that who does not know it passes it on.

use super::Message;
use crate::conex::{Conex, Declaration};

/// Type of the extension header.
pub const EXTENSION: u8 = 0x3E;

const CONTENT_LEN: usize = 2;

/// What stands there where congestion is `re_inserted` or not, with a copy of what the inner packet's option declares, if that is
/// copied (RFC 7778, section 3.2.1; RFC 7837, section 7, advises against it).
pub const fn with_copy(re_inserted: bool, inner: Option<Declaration>) -> Conex {
    let Declaration { loss, mark, credit } = match inner {
        Some(declaration) => declaration,
        None => Declaration { loss: false, mark: false, credit: false },
    };
    Conex::declaring(Declaration { loss, mark: mark | re_inserted, credit })
}

/// Content of the extension header.
pub fn emit(conex: Conex) -> [u8; CONTENT_LEN] {
    [conex.bits(), 0]
}

/// What was re-inserted into this message; `None` where there is no room for it. Of several the first
/// counts.
pub fn parse(bytes: &[u8], message: &Message) -> Option<Conex> {
    place(bytes, message).map(|at| Conex::from_bits(bytes[at]))
}

/// Writes into the room that is there, and touches nothing else. Returns whether there is any.
pub fn write(bytes: &mut [u8], message: &Message, conex: Conex) -> bool {
    let place = place(bytes, message);
    if let Some(at) = place {
        bytes[at] = conex.bits();
    }
    place.is_some()
}

/// Where its bits stand.
pub(super) fn place(bytes: &[u8], message: &Message) -> Option<usize> {
    let is_mark = |extension: &super::Extension| {
        extension.kind == EXTENSION && extension.content.len() == CONTENT_LEN
    };
    message.extensions(bytes).find(is_mark).map(|extension| extension.at)
}
