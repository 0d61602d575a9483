//! What can be wrong with bytes from a network.

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The header goes on beyond the bytes there are.
    #[error("truncated: {have} bytes, header needs {need}")]
    Truncated {
        /// Bytes there are.
        have: usize,
        /// Bytes that the header needs.
        need: usize,
    },
    /// An option goes on beyond the end of its header.
    #[error("option at byte {at} goes beyond its header")]
    OptionOverrun {
        /// Where in the header the option begins.
        at: usize,
    },
    /// The activity is there twice: one of the two may be forged.
    #[error("second activity option at byte {at}")]
    RepeatedActivity {
        /// Where in the header the second option begins.
        at: usize,
    },
}
