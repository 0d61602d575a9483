//! GTP-U version 1 (3GPP TS 29.281): the tunnels of a mobile network, and what travels in their headers.
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
//! [`parse`] checks a message once, along its extension headers, and says where everything lies;
//! [`emit()`] writes one. [`tunnel`] puts IP and UDP around it, [`mark`] is what a gateway re-inserts
//! for the nodes between, [`report`] what a base station tells the gateway, and [`element`] what nodes say beside.

pub mod element;
pub mod mark;
pub mod report;
pub mod tunnel;

use std::ops::Range;

use crate::WireError;
use crate::error::front;

/// UDP port of GTP-U.
pub const PORT: u16 = 2152;
/// Longer chains of extension headers are refused: nobody needs them, and each costs time.
pub const MAX_EXTENSIONS: usize = 8;

const HEADER_LEN: usize = 8;
const OPTIONAL_LEN: usize = 4;
/// Version 1, GTP rather than GTP'.
const VERSION: u8 = 0b0011_0000;
const VERSION_MASK: u8 = 0b1111_0000;
const HAS_EXTENSIONS: u8 = 0b100;
const HAS_SEQUENCE: u8 = 0b010;
const HAS_N_PDU: u8 = 0b001;
/// Extension headers are counted in units of this many bytes.
const UNIT: usize = 4;
const NO_MORE: u8 = 0;

/// What a message is (table 6.1-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Is the path alive?
    EchoRequest,
    /// It is.
    EchoResponse,
    /// Data came for a tunnel that does not exist.
    ErrorIndication,
    /// The extension headers that its sender knows.
    SupportedExtensions,
    /// The last message on this path of a tunnel that moves.
    EndMarker,
    /// A packet of a user (G-PDU).
    Data,
    /// Any other, by its number.
    Other(u8),
}

/// Who has to understand an extension header (figure 5.2.1-2): the upper two bits of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comprehension {
    /// Nobody; who does not know it passes it on.
    NotRequired,
    /// Nobody; who does not know it passes the message on without it.
    NotForwarded,
    /// The end of the tunnel.
    ByEnd,
    /// Everybody.
    ByAll,
}

/// What a message says, but for its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: MessageKind,
    /// The tunnel, by the number that its receiving end has given it.
    pub teid: u32,
    /// Sequence number.
    pub sequence: Option<u16>,
    /// Number that some handovers need.
    pub n_pdu: Option<u8>,
}

/// A message that was checked. Places are in bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it says.
    pub header: Header,
    /// Where its extension headers lie.
    extensions: Range<usize>,
    /// Type of the first of them.
    first: u8,
    /// Where its payload lies.
    pub payload: Range<usize>,
}

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Its type.
    pub kind: u8,
    /// What it holds; a multiple of four, and two bytes.
    pub content: &'a [u8],
    /// Where the content begins in the message.
    pub at: usize,
}

/// Checks the message that `bytes` are: all of it, and nothing behind it.
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

/// Where the extension headers end.
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
    /// The extension headers of this message, which was parsed from `bytes`.
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

    /// The first extension header that the end of a tunnel has to understand and, knowing these
    /// alone, does not. Such a message is answered with the headers that are known (section 7.3.2).
    pub fn not_understood(&self, bytes: &[u8], known: &[u8]) -> Option<u8> {
        let required =
            |kind| matches!(Comprehension::of(kind), Comprehension::ByEnd | Comprehension::ByAll);
        let mut kinds = self.extensions(bytes).map(|extension| extension.kind);
        kinds.find(|kind| required(*kind) && !known.contains(kind))
    }
}

/// Appends a message with these extension headers, type and content each, to `out`.
///
/// Fails where a content is not a multiple of four bytes and two, or something is too long.
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

/// `len`, which must not be more than `most`.
fn too_long(len: usize, most: usize) -> Result<usize, WireError> {
    if len > most { Err(WireError::TooLong { len, most }) } else { Ok(len) }
}

impl Comprehension {
    /// Of an extension header with this type.
    pub const fn of(kind: u8) -> Self {
        match kind >> 6 {
            0b00 => Comprehension::NotRequired,
            0b01 => Comprehension::NotForwarded,
            0b10 => Comprehension::ByEnd,
            _ => Comprehension::ByAll,
        }
    }
}

/// Numbers of the kinds that have a name.
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
