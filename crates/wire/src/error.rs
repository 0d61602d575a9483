//! What can be wrong with bytes from a network.

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A header, or the whole packet, goes on beyond the bytes there are.
    #[error("truncated: {have} bytes of {need}")]
    Truncated {
        /// Bytes there are.
        have: usize,
        /// Bytes that there should be.
        need: usize,
    },
    /// There are more bytes than the packet says it has.
    #[error("{have} bytes for a packet of {len}")]
    TrailingBytes {
        /// Bytes there are.
        have: usize,
        /// Length that the packet states.
        len: usize,
    },
    /// Neither IPv4 nor IPv6.
    #[error("IP version {version} instead of 4 or 6")]
    Version {
        /// What stands where the version should.
        version: u8,
    },
    /// A stated length does not even cover the header that states it.
    #[error("length {stated} stated by a header of at least {least} bytes")]
    HeaderLength {
        /// What the header says.
        stated: usize,
        /// Less than this cannot be.
        least: usize,
    },
    /// The IPv4 header was damaged on the path.
    #[error("invalid IPv4 header checksum {stated:#06x}")]
    HeaderChecksum {
        /// What the header says.
        stated: u16,
    },
    /// An option goes on beyond the end of its header.
    #[error("option at byte {at} goes beyond its header")]
    OptionOverrun {
        /// Where in the header the option begins.
        at: usize,
    },
    /// An option says that it is shorter than its own type and length.
    #[error("option at byte {at} has length {len}, shorter than its type and length")]
    OptionTooShort {
        /// Where in the header the option begins.
        at: usize,
        /// What it says.
        len: usize,
    },
    /// What may be there once is there twice: one of the two may be forged.
    #[error("a second option of the same kind at byte {at}")]
    RepeatedOption {
        /// Where in the header the second option begins.
        at: usize,
    },
    /// Not GTP-U version 1.
    #[error("first byte {flags:#04x} is not of GTP-U version 1")]
    NotGtpU {
        /// The byte with version and flags.
        flags: u8,
    },
    /// An extension header of GTP-U states length 0, and would never end.
    #[error("extension header at byte {at} has length 0")]
    EmptyExtension {
        /// Where in the message it begins.
        at: usize,
    },
    /// There are more extension headers than anybody needs.
    #[error("more than {most} extension headers")]
    TooManyExtensions {
        /// So many are read.
        most: usize,
    },
    /// Content of an extension header to be written that is not a multiple of four bytes and two.
    #[error("extension header with {len} bytes of content, not a multiple of 4 and 2 more")]
    ExtensionContent {
        /// Its length.
        len: usize,
    },
    /// Something to be written is longer than its length can say.
    #[error("{len} bytes where at most {most} can be stated")]
    TooLong {
        /// Its length.
        len: usize,
        /// The longest that can be stated.
        most: usize,
    },
}

/// The first `need` bytes, all of which are there.
pub(crate) fn front(bytes: &[u8], need: usize) -> Result<&[u8], WireError> {
    bytes.get(..need).ok_or(WireError::Truncated { have: bytes.len(), need })
}
