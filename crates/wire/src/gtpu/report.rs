//! What the end of a tunnel reports to its beginning: a base station (eNodeB) to the gateway.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 255   |            Length             |    private extension (TS 29.281, 8.6)
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Extension Identifier        |  Format = 1   |   reserved    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                             TEID                              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Last Sequence Number      |      Number of entries        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       Packets received                        |
//! |                       Packets marked before                   |
//! |                       Packets dropped before                  |
//! |                       Packets dropped here                    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Sequence Number         |     What      |   reserved    |    entries
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! It is the private extension of an echo request, which a peer of another make answers and otherwise
//! ignores; the answer tells that it arrived. Counters run since the tunnel began, modulo 2³², so that a
//! report that gets lost hides nothing; entries are those since the report before. The identifier is an
//! enterprise number; 32473 is the one for examples (RFC 5612).

use crate::WireError;
use crate::error::front;

/// Type of the information element.
const PRIVATE_EXTENSION: u8 = 255;
/// Type of the one with a sequence number of its own, which has no length.
const RECOVERY: u8 = 14;
const RECOVERY_LEN: usize = 2;
/// Enterprise number for examples (RFC 5612).
pub const ENTERPRISE: u16 = 32_473;
const FORMAT: u8 = 1;
/// Type and length.
const ELEMENT_LEN: usize = 3;
/// Behind the element's length, without entries.
const FIXED_LEN: usize = 28;
const ENTRY_LEN: usize = 4;

/// More entries do not fit into a packet of 1500 bytes; the counters tell of all.
pub const MAX_ENTRIES: usize = 350;

/// What the end of a tunnel has seen since it began; counters are modulo 2³².
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtpuReport {
    /// The tunnel, by the number that its reporting end has given it.
    pub teid: u32,
    /// Sequence number of the latest packet that arrived, by the order in which they were sent.
    pub last_sequence: u16,
    /// Packets that arrived.
    pub received: u32,
    /// Of these, marked before they arrived, in the inner or the outer header.
    pub marked_before: u32,
    /// Packets that did not arrive.
    pub dropped_before: u32,
    /// Packets that arrived and that its end has dropped.
    pub dropped_here: u32,
    /// Packets since the report before that were marked or dropped, as many as there is room for.
    pub entries: Vec<Entry>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Its sequence number.
    pub sequence: u16,
    /// What became of it.
    pub fate: ReportedFate,
}

/// What became of a packet that was not delivered as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReportedFate {
    /// Marked before it arrived.
    MarkedBefore = 1,
    /// Did not arrive.
    DroppedBefore = 2,
    /// Dropped by the end of the tunnel.
    DroppedHere = 3,
}

impl ReportedFate {
    const ALL: [ReportedFate; 3] =
        [ReportedFate::MarkedBefore, ReportedFate::DroppedBefore, ReportedFate::DroppedHere];
}

/// Appends the element to `out`, the payload of an echo request; of the entries, the first
/// [`MAX_ENTRIES`].
pub fn emit(report: &GtpuReport, out: &mut Vec<u8>) {
    let entries = &report.entries[..report.entries.len().min(MAX_ENTRIES)];
    out.push(PRIVATE_EXTENSION);
    out.extend(((FIXED_LEN + ENTRY_LEN * entries.len()) as u16).to_be_bytes());
    out.extend(ENTERPRISE.to_be_bytes());
    out.extend([FORMAT, 0]);
    out.extend(report.teid.to_be_bytes());
    out.extend(report.last_sequence.to_be_bytes());
    out.extend((entries.len() as u16).to_be_bytes());
    let GtpuReport { received, marked_before, dropped_before, dropped_here, .. } = *report;
    for counter in [received, marked_before, dropped_before, dropped_here] {
        out.extend(counter.to_be_bytes());
    }
    for Entry { sequence, fate } in entries {
        let [high, low] = sequence.to_be_bytes();
        out.extend([high, low, *fate as u8, 0]);
    }
}

/// The report among the elements of an echo request's payload; `None` where there is none of ours.
pub fn parse(payload: &[u8]) -> Result<Option<GtpuReport>, WireError> {
    let mut rest = payload;
    while let Some((&kind, _)) = rest.split_first() {
        if kind == RECOVERY {
            rest = &rest[front(rest, RECOVERY_LEN)?.len()..];
            continue;
        }
        let header = front(rest, ELEMENT_LEN)?;
        let len = ELEMENT_LEN + usize::from(u16::from_be_bytes([header[1], header[2]]));
        let element = front(rest, len)?;
        if kind == PRIVATE_EXTENSION
            && let Some(report) = report(&element[ELEMENT_LEN..])?
        {
            return Ok(Some(report));
        }
        rest = &rest[len..];
    }
    Ok(None)
}

/// What stands behind the element's length; `None` where it is not ours.
fn report(content: &[u8]) -> Result<Option<GtpuReport>, WireError> {
    let ours = [&ENTERPRISE.to_be_bytes()[..], &[FORMAT]].concat();
    if !content.starts_with(&ours) {
        return Ok(None);
    }
    let fixed = front(content, FIXED_LEN)?;
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
    let len = FIXED_LEN + ENTRY_LEN * usize::from(half(10));
    let listed = &front(content, len)?[FIXED_LEN..];
    if content.len() > len {
        return Err(WireError::TrailingBytes { have: content.len(), len });
    }
    let (entries, _) = listed.as_chunks::<ENTRY_LEN>();
    let entry = |&[high, low, fate, _]: &[u8; ENTRY_LEN]| {
        let fate = ReportedFate::ALL.into_iter().find(|known| *known as u8 == fate)?;
        Some(Entry { sequence: u16::from_be_bytes([high, low]), fate })
    };
    Ok(Some(GtpuReport {
        teid: word(4),
        last_sequence: half(8),
        received: word(12),
        marked_before: word(16),
        dropped_before: word(20),
        dropped_here: word(24),
        // What a later format may list besides is passed over.
        entries: entries.iter().filter_map(entry).collect(),
    }))
}
