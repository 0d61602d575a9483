//! DiffServ codepoints: which kind of traffic a packet says that it is.
//! RFC 2474, RFC 4594 (classes), RFC 3246 (EF), RFC 5865 (VA), RFC 8622 (LE).

use crate::words;

words! {
    /// DiffServ codepoint of packets.
    pub enum Dscp {
        /// Best effort.
        Cs0 = "CS0",
        /// Lower effort (RFC 8622).
        Le = "LE",
        /// Background.
        Cs1 = "CS1",
        /// High-throughput data.
        Af11 = "AF11",
        /// High-throughput data.
        Af12 = "AF12",
        /// High-throughput data.
        Af13 = "AF13",
        /// Operations and administration.
        Cs2 = "CS2",
        /// Low-latency data.
        Af21 = "AF21",
        /// Low-latency data.
        Af22 = "AF22",
        /// Low-latency data.
        Af23 = "AF23",
        /// Broadcast video.
        Cs3 = "CS3",
        /// Multimedia streaming.
        Af31 = "AF31",
        /// Multimedia streaming.
        Af32 = "AF32",
        /// Multimedia streaming.
        Af33 = "AF33",
        /// Real-time interactive.
        Cs4 = "CS4",
        /// Multimedia conferencing.
        Af41 = "AF41",
        /// Multimedia conferencing.
        Af42 = "AF42",
        /// Multimedia conferencing.
        Af43 = "AF43",
        /// Signalling.
        Cs5 = "CS5",
        /// Admitted telephony.
        Va = "VA",
        /// Telephony.
        Ef = "EF",
        /// Network control.
        Cs6 = "CS6",
        /// Network control, reserved.
        Cs7 = "CS7",
    }
}

impl Dscp {
    /// Returns the six bits.
    pub const fn bits(self) -> u8 {
        match self {
            Dscp::Cs0 => 0,
            Dscp::Le => 1,
            Dscp::Cs1 => 8,
            Dscp::Af11 => 10,
            Dscp::Af12 => 12,
            Dscp::Af13 => 14,
            Dscp::Cs2 => 16,
            Dscp::Af21 => 18,
            Dscp::Af22 => 20,
            Dscp::Af23 => 22,
            Dscp::Cs3 => 24,
            Dscp::Af31 => 26,
            Dscp::Af32 => 28,
            Dscp::Af33 => 30,
            Dscp::Cs4 => 32,
            Dscp::Af41 => 34,
            Dscp::Af42 => 36,
            Dscp::Af43 => 38,
            Dscp::Cs5 => 40,
            Dscp::Va => 44,
            Dscp::Ef => 46,
            Dscp::Cs6 => 48,
            Dscp::Cs7 => 56,
        }
    }
}
