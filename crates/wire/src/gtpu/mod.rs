//! GTP-U version 1 (3GPP TS 29.281): the tunnels of a mobile network and their headers.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  1  |1|0|E|S|P| Message Type  |    Length behind byte 8       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                Tunnel Endpoint Identifier (TEID)              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Sequence Number         | N-PDU Number  | Next Ext. Type|    if any of E, S, P
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Length / 4    |  Content ...                  | Next Ext. Type|    if E, until type 0
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! [`parse`] checks a message once, including its extension headers, and returns the offsets of its parts; [`emit()`]
//! writes a message. [`tunnel`] adds IP and UDP, [`mark`] is the congestion that a gateway re-inserts for the nodes on
//! the path, [`report`] the feedback of a base station to the gateway, and [`element`] holds the other information
//! elements.

pub mod element;
pub mod mark;
pub mod report;
pub mod tunnel;

use std::ops::Range;

use crate::WireError;
use crate::error::front;

/// UDP port of GTP-U.
pub const PORT: u16 = 2152;
/// Maximum number of extension headers in a message; longer chains are rejected, as each costs processing time.
pub const MAX_EXTENSIONS: usize = 8;

const HEADER_LEN: usize = 8;
const OPTIONAL_LEN: usize = 4;
/// Version 1, GTP rather than GTP'.
const VERSION: u8 = 0b0011_0000;
const VERSION_MASK: u8 = 0b1111_0000;
const HAS_EXTENSIONS: u8 = 0b100;
const HAS_SEQUENCE: u8 = 0b010;
const HAS_N_PDU: u8 = 0b001;
/// Unit of an extension header's length, bytes.
const UNIT: usize = 4;
const NO_MORE: u8 = 0;

/// Type of a message (table 6.1-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Asks whether the path is alive.
    EchoRequest,
    /// Confirms that the path is alive.
    EchoResponse,
    /// Reports data for a tunnel that does not exist.
    ErrorIndication,
    /// Lists the extension headers known to its sender.
    SupportedExtensions,
    /// Last message on this path of a tunnel that moves.
    EndMarker,
    /// A packet of a user (G-PDU).
    Data,
    /// Any other, by its number.
    Other(u8),
}

/// Nodes that must understand an extension header (figure 5.2.1-2): the upper two bits of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comprehension {
    /// None; a node that does not know it forwards it.
    NotRequired,
    /// None; a node that does not know it forwards the message without it.
    NotForwarded,
    /// The end of the tunnel.
    ByEnd,
    /// All nodes.
    ByAll,
}

/// Header fields of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type of the message.
    pub kind: MessageKind,
    /// Tunnel endpoint identifier, assigned by the receiving end.
    pub teid: u32,
    /// Sequence number.
    pub sequence: Option<u16>,
    /// N-PDU number, used by some handovers.
    pub n_pdu: Option<u8>,
}

/// A checked message. Offsets are in bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Header fields.
    pub header: Header,
    /// Range of its extension headers.
    extensions: Range<usize>,
    /// Type of the first extension header.
    first: u8,
    /// Range of its payload.
    pub payload: Range<usize>,
}

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Type of the extension header.
    pub kind: u8,
    /// Content; its length is a multiple of four bytes plus two.
    pub content: &'a [u8],
    /// Offset of the content in the message.
    pub at: usize,
}

/// Checks a message that consists of all of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Message, WireError> {
    let header = front(bytes, HEADER_LEN)?;
    let flags = header[0];
    if flags & VERSION_MASK != VERSION {
        return Err(WireError::NotGtpU { flags });
    }
    let len = HEADER_LEN + usize::from(u16::from_be_bytes([header[2], header[3]]));
    let message = front(bytes, len)?;
    if bytes.len() > len {
        return Err(WireError::TrailingBytes { have: bytes.len(), len });
    }
    let has_optional = flags & (HAS_EXTENSIONS | HAS_SEQUENCE | HAS_N_PDU) != 0;
    let optional = match has_optional {
        true => &front(message, HEADER_LEN + OPTIONAL_LEN)?[HEADER_LEN..],
        false => &[0; OPTIONAL_LEN],
    };
    let begin = HEADER_LEN + if has_optional { OPTIONAL_LEN } else { 0 };
    let first = if flags & HAS_EXTENSIONS != 0 { optional[3] } else { NO_MORE };
    let end = walk(message, begin, first)?;
    let sequence = u16::from_be_bytes([optional[0], optional[1]]);
    Ok(Message {
        header: Header {
            kind: MessageKind::from(header[1]),
            teid: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
            sequence: (flags & HAS_SEQUENCE != 0).then_some(sequence),
            n_pdu: (flags & HAS_N_PDU != 0).then_some(optional[2]),
        },
        extensions: begin..end,
        first,
        payload: end..len,
    })
}

/// Returns the offset of the end of the extension headers.
fn walk(message: &[u8], mut at: usize, mut kind: u8) -> Result<usize, WireError> {
    let mut count = 0;
    while kind != NO_MORE {
        count += 1;
        if count > MAX_EXTENSIONS {
            return Err(WireError::TooManyExtensions { most: MAX_EXTENSIONS });
        }
        let len = usize::from(front(message, at + 1)?[at]) * UNIT;
        if len == 0 {
            return Err(WireError::EmptyExtension { at });
        }
        kind = front(message, at + len)?[at + len - 1];
        at += len;
    }
    Ok(at)
}

impl Message {
    /// Returns the extension headers of this message, which was parsed from `bytes`.
    pub fn extensions<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Extension<'a>> + use<'a> {
        let Range { start: mut at, end } = self.extensions;
        let mut kind = self.first;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let len = usize::from(*bytes.get(at)?) * UNIT;
            let whole = bytes.get(at..at + len)?;
            let (next, content) = whole.get(1..)?.split_last()?;
            let found = Extension { kind, content, at: at + 1 };
            (at, kind) = (at + len, *next);
            Some(found)
        })
    }

    /// Returns the type of the first extension header that the end of a tunnel must understand and that is not among
    /// `known`. Such a message is answered with a list of the known extension headers (section 7.3.2).
    pub fn not_understood(&self, bytes: &[u8], known: &[u8]) -> Option<u8> {
        let required =
            |kind| matches!(Comprehension::of(kind), Comprehension::ByEnd | Comprehension::ByAll);
        let mut kinds = self.extensions(bytes).map(|extension| extension.kind);
        kinds.find(|kind| required(*kind) && !known.contains(kind))
    }
}

/// Appends a message with these extension headers, type and content each, to `out`.
///
/// Fails if the length of a content is not a multiple of four bytes plus two, or a length exceeds its field.
pub fn emit(
    header: Header,
    extensions: &[(u8, &[u8])],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let Header { kind, teid, sequence, n_pdu } = header;
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let flags = flag(!extensions.is_empty(), HAS_EXTENSIONS)
        | flag(sequence.is_some(), HAS_SEQUENCE)
        | flag(n_pdu.is_some(), HAS_N_PDU);
    let optional = if flags != 0 { OPTIONAL_LEN } else { 0 };
    let extended: usize = extensions.iter().map(|(_, content)| content.len() + 2).sum();
    let len = too_long(optional + extended + payload.len(), u16::MAX.into())?;
    if extensions.len() > MAX_EXTENSIONS {
        return Err(WireError::TooManyExtensions { most: MAX_EXTENSIONS });
    }
    for (_, content) in extensions {
        too_long(content.len() + 2, usize::from(u8::MAX) * UNIT)?;
        if content.is_empty() || content.len() % UNIT != 2 {
            return Err(WireError::ExtensionContent { len: content.len() });
        }
    }
    out.extend([VERSION | flags, u8::from(kind)]);
    out.extend((len as u16).to_be_bytes());
    out.extend(teid.to_be_bytes());
    if flags != 0 {
        out.extend(sequence.unwrap_or_default().to_be_bytes());
        out.push(n_pdu.unwrap_or_default());
        out.push(extensions.first().map_or(NO_MORE, |(kind, _)| *kind));
    }
    for (number, (_, content)) in extensions.iter().enumerate() {
        out.push(((content.len() + 2) / UNIT) as u8);
        out.extend(*content);
        out.push(extensions.get(number + 1).map_or(NO_MORE, |(kind, _)| *kind));
    }
    out.extend(payload);
    Ok(())
}

/// Returns `len`, or an error if it exceeds `most`.
fn too_long(len: usize, most: usize) -> Result<usize, WireError> {
    if len > most { Err(WireError::TooLong { len, most }) } else { Ok(len) }
}

impl Comprehension {
    /// Returns the comprehension required by an extension header type.
    pub const fn of(kind: u8) -> Self {
        match kind >> 6 {
            0b00 => Comprehension::NotRequired,
            0b01 => Comprehension::NotForwarded,
            0b10 => Comprehension::ByEnd,
            _ => Comprehension::ByAll,
        }
    }
}

/// Numbers of the named message types.
const KINDS: [(u8, MessageKind); 6] = [
    (1, MessageKind::EchoRequest),
    (2, MessageKind::EchoResponse),
    (26, MessageKind::ErrorIndication),
    (31, MessageKind::SupportedExtensions),
    (254, MessageKind::EndMarker),
    (255, MessageKind::Data),
];

impl From<u8> for MessageKind {
    fn from(number: u8) -> Self {
        let named = KINDS.into_iter().find(|(of, _)| *of == number);
        named.map_or(MessageKind::Other(number), |(_, kind)| kind)
    }
}

impl From<MessageKind> for u8 {
    fn from(kind: MessageKind) -> u8 {
        match kind {
            MessageKind::Other(number) => number,
            _ => KINDS.into_iter().find(|(_, of)| *of == kind).map_or(0, |(number, _)| number),
        }
    }
}

#[cfg(test)]
mod tests;
