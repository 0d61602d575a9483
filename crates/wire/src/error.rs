//! Errors of parsing and writing packets.

/// Reason why bytes cannot be parsed or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A header, or the whole packet, extends beyond the available bytes.
    #[error("truncated: {have} bytes of {need}")]
    Truncated {
        /// Number of bytes available.
        have: usize,
        /// Number of bytes required.
        need: usize,
    },
    /// There are more bytes than the length of the packet.
    #[error("{have} bytes for a packet of {len}")]
    TrailingBytes {
        /// Number of bytes available.
        have: usize,
        /// Length stated by the packet, bytes.
        len: usize,
    },
    /// Neither IPv4 nor IPv6.
    #[error("IP version {version} instead of 4 or 6")]
    Version {
        /// Value of the version field.
        version: u8,
    },
    /// A stated length is shorter than the header that states it.
    #[error("length {stated} stated by a header of at least {least} bytes")]
    HeaderLength {
        /// Stated length, bytes.
        stated: usize,
        /// Minimum length, bytes.
        least: usize,
    },
    /// The checksum of the IPv4 header is wrong.
    #[error("invalid IPv4 header checksum {stated:#06x}")]
    HeaderChecksum {
        /// Value of the checksum field.
        stated: u16,
    },
    /// An option extends beyond the end of its header.
    #[error("option at byte {at} goes beyond its header")]
    OptionOverrun {
        /// Offset of the option in the header.
        at: usize,
    },
    /// The length of an option is shorter than its type and length fields.
    #[error("option at byte {at} has length {len}, shorter than its type and length")]
    OptionTooShort {
        /// Offset of the option in the header.
        at: usize,
        /// Stated length, bytes.
        len: usize,
    },
    /// An option that may occur once occurs twice; one of the two may be forged.
    #[error("a second option of the same kind at byte {at}")]
    RepeatedOption {
        /// Offset of the second option in the header.
        at: usize,
    },
    /// Not GTP-U version 1.
    #[error("first byte {flags:#04x} is not of GTP-U version 1")]
    NotGtpU {
        /// The byte with version and flags.
        flags: u8,
    },
    /// An extension header of GTP-U states length 0, so that the chain would never end.
    #[error("extension header at byte {at} has length 0")]
    EmptyExtension {
        /// Offset of the extension header in the message.
        at: usize,
    },
    /// There are too many extension headers.
    #[error("more than {most} extension headers")]
    TooManyExtensions {
        /// Maximum number of extension headers.
        most: usize,
    },
    /// The content of an extension header to be written does not have a multiple of four bytes plus two.
    #[error("extension header with {len} bytes of content, not a multiple of 4 and 2 more")]
    ExtensionContent {
        /// Length of the content, bytes.
        len: usize,
    },
    /// Something to be written exceeds the range of its length field.
    #[error("{len} bytes where at most {most} can be stated")]
    TooLong {
        /// Its length.
        len: usize,
        /// Maximum length.
        most: usize,
    },
}

/// Returns the first `need` bytes, or an error if there are fewer.
pub(crate) fn front(bytes: &[u8], need: usize) -> Result<&[u8], WireError> {
    bytes.get(..need).ok_or(WireError::Truncated { have: bytes.len(), need })
}
