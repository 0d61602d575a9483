//! Helpers of the fuzz targets.

pub mod scenario;

use tidegate_wire::WireError;
use tidegate_wire::activity::Activity;

/// Two activities that differ in every bit, so that writing one over the other changes all bits.
pub const PATTERNS: [Activity; 2] = [Activity::from_bits(0xA55A), Activity::from_bits(0x5AA5)];

/// Writes activities into `bytes` and restores the original: `read` must return each, and the end must equal the
/// beginning, checksum included.
pub fn write_and_restore(
    bytes: &mut [u8],
    read: impl Fn(&[u8]) -> Result<Option<Activity>, WireError>,
    write: impl Fn(&mut [u8], Activity) -> Result<bool, WireError>,
) {
    let before = bytes.to_vec();
    let found = read(bytes);
    for pattern in PATTERNS {
        assert_eq!(write(bytes, pattern), found.map(|found| found.is_some()));
        assert_eq!(read(bytes), found.map(|found| found.map(|_| pattern)));
    }
    if let Ok(Some(activity)) = found {
        assert_eq!(write(bytes, activity), Ok(true));
    }
    assert_eq!(bytes, before);
}

/// Corrects a packet's length and, in IPv4, its checksum: two numbers that random bytes hardly ever match, and without
/// which nothing else is reached.
pub fn repair(bytes: &mut [u8]) {
    let len = bytes.len();
    match bytes.first().map(|first| first >> 4) {
        Some(4) if len >= 20 => {
            bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            repair_checksum(bytes);
        }
        Some(6) if len >= 40 => bytes[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes()),
        _ => {}
    }
}

/// Computes the checksum of an IPv4 header (RFC 1071).
pub fn repair_checksum(bytes: &mut [u8]) {
    let header_len = usize::from(bytes[0] & 0xF) * 4;
    if header_len < 20 || bytes.len() < header_len {
        return;
    }
    bytes[10..12].fill(0);
    let words = bytes[..header_len].chunks(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let mut sum: u32 = words.map(u32::from).sum();
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
