//! Reports of the end of a tunnel to its beginning: from a base station (eNodeB) to the gateway.
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
//! The report is the private extension of an echo request, which another implementation answers and otherwise ignores;
//! the answer confirms the arrival. Counters run from the start of the tunnel, modulo 2³², so that a lost report loses
//! no counts; entries cover the time since the previous report. The identifier is an enterprise number; 32473 is
//! reserved for examples (RFC 5612).

use crate::WireError;
use crate::error::front;

/// Type of the private extension element.
const PRIVATE_EXTENSION: u8 = 255;
/// Type of the recovery element, which has no length field.
const RECOVERY: u8 = 14;
const RECOVERY_LEN: usize = 2;
/// Enterprise number for examples (RFC 5612).
pub const ENTERPRISE: u16 = 32_473;
const FORMAT: u8 = 1;
/// Length of an element's type and length fields, bytes.
const ELEMENT_LEN: usize = 3;
/// Length of a report without entries, after the element's length field, bytes.
const FIXED_LEN: usize = 28;
const ENTRY_LEN: usize = 4;

/// Maximum number of entries that fit into a packet of 1500 bytes; the counters cover all packets.
pub const MAX_ENTRIES: usize = 350;

/// Observations of the end of a tunnel since the tunnel began; counters are modulo 2³².
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtpuReport {
    /// Tunnel endpoint identifier, assigned by the reporting end.
    pub teid: u32,
    /// Sequence number of the latest received packet, in sending order.
    pub last_sequence: u16,
    /// Number of packets received.
    pub received: u32,
    /// Number of packets received with a mark in the inner or the outer header.
    pub marked_before: u32,
    /// Number of packets not received.
    pub dropped_before: u32,
    /// Number of packets received and dropped by the end of the tunnel.
    pub dropped_here: u32,
    /// Packets marked or dropped since the previous report, up to the maximum number.
    pub entries: Vec<Entry>,
}

/// A packet and its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Sequence number of the packet.
    pub sequence: u16,
    /// Fate of the packet.
    pub fate: ReportedFate,
}

/// Fate of a packet that was not delivered unchanged.
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

/// Appends the element to `out`, the payload of an echo request; only the first [`MAX_ENTRIES`] entries are written.
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

/// Returns the report among the elements of an echo request's payload; `None` without one.
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

/// Parses the content after the element's length; `None` for another private extension.
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
        // Unknown fates of a later format are skipped.
        entries: entries.iter().filter_map(entry).collect(),
    }))
}
