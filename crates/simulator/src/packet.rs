//! A packet as hosts see it ([`Packet`]) and as links store it ([`PackedPacket`]).

use core::num::NonZero;

use core::fmt;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{MAX_ROUTE_STEPS, MAX_RUN};

mod option_store;

pub use option_store::OptionStore;

/// A packet as hosts see it.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Packet {
    /// Current time, or arrival time.
    pub at: Time,
    /// Data: segment number. Acknowledgement: the next segment expected. With [`flags::REPORT`]: a ticket.
    pub number: u64,
    /// Data: send time (TSval). Acknowledgement: the echoed send time (TSecr).
    pub stamp: Time,
    /// Flow of the packet.
    pub flow: u32,
    /// Payload word. Data: an activity, as the bits of an `f32`, or the prices of the path
    /// ([`tidegate_mechanisms::price::Encoding::write`]). Acknowledgement: the prices that the receiver returns
    /// ([`tidegate_mechanisms::price::Gathered::take`]). With [`flags::OPTIONS`]: the ticket of its options,
    /// which hold the payload word.
    pub payload: u32,
    /// Next hop: an index into the network's hops.
    pub hop: u32,
    /// Connection of the packet, packed by [`crate::connections::ConnectionId::pack`].
    pub connection: u32,
    /// Bytes on the wire.
    pub len: u16,
    /// See [`flags`].
    pub flags: u32,
}

/// Flags of a packet.
pub mod flags {
    macro_rules! flags {
        ($($(#[doc = $meaning:literal])* $name:ident;)+) => {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named as the flags")]
            enum Place { $($name),+ }
            $($(#[doc = $meaning])* pub const $name: u32 = 1 << Place::$name as u32;)+
            /// All flags, by name.
            pub const ALL: &[(&str, u32)] = &[$((stringify!($name), $name)),+];
        };
    }

    flags! {
        /// Acknowledgement: a segment without data.
        ACK;
        /// Connection request, or the answer to one.
        SYN;
        /// ECN-capable transport as set by the sender; stays set when the packet is marked.
        ECT;
        /// Congestion experienced.
        CE;
        /// TCP: echo of congestion experienced. With AccECN: lowest bit of ACE.
        ECE;
        /// TCP: congestion window reduced. With AccECN: middle bit of ACE.
        CWR;
        /// The options contain SACK blocks.
        SACK;
        /// TCP: PSH, on the last segment of a burst or a transfer.
        PSH;
        /// The packet has options in the option store; `payload` is their ticket.
        OPTIONS;
        /// The packet travels from the flow's receiver to the flow's sender.
        BACK;
        /// ECN-capable with ECT(1); otherwise ECT(0).
        ECT_1;
        /// TCP: AE, the highest bit of ACE, above CWR and ECE (RFC 9768).
        AE;
        /// In a tunnel: the next three flags hold the ECN field of the inner header.
        TUNNEL;
        /// In a tunnel: ECT in the inner header.
        INNER_ECT;
        /// In a tunnel: CE in the inner header.
        INNER_CE;
        /// In a tunnel: ECN-capable with ECT(1) in the inner header.
        INNER_ECT_1;
        /// ConEx (RFC 7837): X, the sender declares congestion.
        CONEX;
        /// ConEx: L, a loss is declared.
        LOSS;
        /// ConEx: E, a mark is declared.
        MARK;
        /// ConEx: C, credit.
        CREDIT;
        /// Re-ECN: the RE flag beside the ECN field.
        RE;
        /// Report from one stage to another: `number` is its ticket in the store of reports.
        REPORT;
        /// Stages of its present place have held it: the lower bit of how many.
        HELD;
        /// The upper bit.
        HELD_TWICE;
        /// DiffServ: a stage has given it the codepoint of lower effort (RFC 8622).
        LOWER_EFFORT;
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = flags::ALL.iter().filter(|(_, flag)| self.has(*flag));
        write!(f, "{}: flow {} #{} ", self.at, self.flow, self.number)?;
        f.debug_list().entries(set.map(|(name, _)| format_args!("{name}").to_string())).finish()
    }
}

impl Packet {
    /// Whether a flag is set.
    #[inline]
    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// A packet in transit, without its time. Its four words are written and read as a whole, since packets in transit are
/// most of the memory traffic of a large network. A processor stalls when it reads as a whole what has just been
/// written in pieces, and a packet is often read at the next event.
#[derive(Clone, Copy, Default)]
pub struct PackedPacket {
    /// Number, and the lower flags.
    number: u64,
    /// Stamp, and the upper flags.
    stamp: u64,
    /// Flow, hop and length.
    place: u64,
    /// Payload word and connection.
    connection_and_payload: u64,
}

/// Bits of a number or of a time within a run; the rest holds flags.
const NARROW: u32 = 48;
/// Bits of a flow or hop.
const PLACE: u32 = 24;
/// Maximum number of flows, and of hops.
pub const MAX_PLACES: usize = 1 << PLACE;
const _: () = assert!(MAX_RUN.as_nanos() <= 1 << NARROW && MAX_PLACES == MAX_ROUTE_STEPS);

const fn below(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl PackedPacket {
    /// Packs a packet.
    #[inline(always)]
    pub fn of(packet: &Packet) -> Self {
        let &Packet { at: _, number, stamp, flow, payload, hop, connection, len, flags } = packet;
        let [flow, hop, flags] = [flow, hop, flags].map(u64::from);
        debug_assert!(number | stamp.as_nanos() <= below(NARROW) && flow | hop <= below(PLACE));
        PackedPacket {
            number: flags << NARROW | number,
            stamp: (flags >> 16) << NARROW | stamp.as_nanos(),
            place: u64::from(len) << (2 * PLACE) | hop << PLACE | flow,
            connection_and_payload: u64::from(connection) << 32 | u64::from(payload),
        }
    }

    /// Unpacks the packet, with its arrival time.
    #[inline(always)]
    pub fn packet(&self, at: Time) -> Packet {
        Packet {
            at,
            number: self.number(),
            stamp: self.stamp(),
            flow: self.flow(),
            payload: self.payload(),
            hop: self.hop(),
            connection: self.connection(),
            len: self.len(),
            flags: self.flags(),
        }
    }

    /// See [`Packet::number`].
    #[inline(always)]
    pub fn number(&self) -> u64 {
        self.number & below(NARROW)
    }

    /// See [`Packet::flow`].
    #[inline(always)]
    pub fn flow(&self) -> u32 {
        (self.place & below(PLACE)) as u32
    }

    /// See [`Packet::hop`].
    #[inline(always)]
    pub fn hop(&self) -> u32 {
        (self.place >> PLACE & below(PLACE)) as u32
    }

    /// See [`Packet::len`].
    #[inline(always)]
    pub fn len(&self) -> u16 {
        (self.place >> (2 * PLACE)) as u16
    }

    /// See [`Packet::payload`].
    #[inline(always)]
    pub fn payload(&self) -> u32 {
        self.connection_and_payload as u32
    }

    /// See [`Packet::flags`].
    #[inline(always)]
    pub fn flags(&self) -> u32 {
        (self.number >> NARROW | self.stamp >> NARROW << 16) as u32
    }

    /// Whether a flag is set.
    #[inline(always)]
    pub fn has(&self, flag: u32) -> bool {
        self.flags() & flag != 0
    }

    /// See [`Packet::stamp`].
    #[inline(always)]
    pub fn stamp(&self) -> Time {
        Time::from_nanos(self.stamp & below(NARROW))
    }

    /// See [`Packet::connection`].
    #[inline(always)]
    pub fn connection(&self) -> u32 {
        (self.connection_and_payload >> 32) as u32
    }

    /// Returns the activity visible in the packet; 0 if it carries none, or in a tunnel, whose inner header has it.
    #[inline]
    pub fn activity(&self) -> f32 {
        const NONE: u32 = flags::ACK | flags::OPTIONS | flags::TUNNEL;
        if self.has(NONE) { 0.0 } else { f32::from_bits(self.payload()) }
    }

    /// Whether the payload word holds prices, if the encoding puts them there.
    #[inline]
    pub fn carries_prices(&self) -> bool {
        !self.has(flags::ACK | flags::REPORT | flags::OPTIONS | flags::TUNNEL)
    }

    /// Whether congestion is re-inserted into the tunnel's header, if it has a field for that. `Some(false)` for
    /// packets with stored options and for large tunnel numbers, whose header is not visible here.
    #[inline]
    pub fn re_inserted(&self) -> Option<bool> {
        match self.flags() & (flags::TUNNEL | flags::OPTIONS) {
            flags::TUNNEL => TunnelHeader::unpack(self.payload()).re_inserted,
            both if both & flags::TUNNEL != 0 => Some(false),
            _ => None,
        }
    }

    /// Advances to the next hop.
    #[inline(always)]
    pub fn step(&mut self) {
        self.place += 1 << PLACE;
    }

    /// Sets CE.
    #[inline(always)]
    pub fn mark(&mut self) {
        self.number |= u64::from(flags::CE) << NARROW;
    }

    /// The same with another number.
    pub fn numbered(self, number: u64) -> Self {
        PackedPacket { number: self.number & !below(NARROW) | number, ..self }
    }

    /// Replaces the payload word.
    #[inline(always)]
    pub fn set_payload(&mut self, payload: u32) {
        self.connection_and_payload = self.connection_and_payload & !below(32) | u64::from(payload);
    }

    /// Writes the fields that stages may change.
    #[inline(always)]
    pub fn rewrite(&mut self, Rewritten { payload_and_flags, len }: Rewritten) {
        let flags = payload_and_flags >> 32;
        self.number = self.number() | flags << NARROW;
        self.stamp = self.stamp & below(NARROW) | flags >> 16 << NARROW;
        self.place = self.place & below(2 * PLACE) | u64::from(len.get()) << (2 * PLACE);
        self.set_payload(payload_and_flags as u32);
    }
}

/// Fields that stages may change: payload word, flags and length, in two registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rewritten {
    payload_and_flags: u64,
    len: NonZero<u16>,
}

impl Rewritten {
    /// Packs the fields.
    ///
    /// # Panics
    ///
    /// If the length is zero.
    #[inline(always)]
    pub fn new(payload: u32, flags: u32, len: u16) -> Self {
        let len = NonZero::new(len).expect("a packet has a length");
        Rewritten { payload_and_flags: u64::from(flags) << 32 | u64::from(payload), len }
    }
}

/// At most this many SACK blocks fit beside timestamps (RFC 2018, section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// SACK blocks: segment numbers `start..end`, most recent first; unused ones are empty.
pub type SackBlocks = [(u64, u64); MAX_SACK_BLOCKS];

/// Byte counters of the AccECN option (RFC 9768, section 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedBytes {
    /// Whether the option's kind is 174, which begins with ECT(1); 172 begins with ECT(0). CE is second in both.
    pub ect_1_first: bool,
    /// Number of fields present, up to three.
    pub fields: u8,
    /// Bytes received with ECT(0), CE and ECT(1), modulo 2²⁴; the ECT counters start at 1.
    pub counters: [u32; 3],
}

impl ReceivedBytes {
    /// Returns the counter at this index of ECT(0), CE and ECT(1), if the option has it.
    pub fn get(&self, place: usize) -> Option<u32> {
        let field = if self.ect_1_first { 2 - place } else { place };
        (field < usize::from(self.fields)).then_some(self.counters[place])
    }
}

/// Options of a packet; most packets have none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Payload word of the packet, which has a ticket in its place.
    pub payload: u32,
    /// SACK blocks, with [`flags::SACK`].
    pub sack: SackBlocks,
    /// AccECN byte counters.
    pub received_bytes: Option<ReceivedBytes>,
    /// Receiver's clock at the arrival of the acknowledged segment, for the one-way delay.
    pub received_at: Option<Time>,
    /// Tunnel header, with [`flags::TUNNEL`].
    pub tunnel: Option<TunnelHeader>,
}

/// Tunnel header without the inner ECN field, which is in the packet's flags.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TunnelHeader {
    /// Tunnel endpoint identifier.
    pub teid: u32,
    /// Sequence number within the tunnel.
    pub sequence: u16,
    /// Whether congestion was re-inserted, if the header has a field for that.
    pub re_inserted: Option<bool>,
}

/// Bits of a tunnel number that fits in the payload word. A packet without another payload word carries its tunnel
/// header there.
const NARROW_TEID: u32 = 14;

impl TunnelHeader {
    /// Packs the header: two bits for `re_inserted`, then the tunnel, then the sequence number. `None` if the tunnel's
    /// number is too large.
    pub fn pack(self) -> Option<u32> {
        let TunnelHeader { teid, sequence, re_inserted } = self;
        let re_inserted = match re_inserted {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        let place = (re_inserted << NARROW_TEID) | teid;
        (teid >> NARROW_TEID == 0).then_some(place << u16::BITS | u32::from(sequence))
    }

    /// Unpacks the header from the payload word of a tunnelled packet without options.
    #[inline]
    pub fn unpack(payload: u32) -> Self {
        let re_inserted = match payload >> (NARROW_TEID + u16::BITS) {
            0 => None,
            more => Some(more == 2),
        };
        let teid = (payload >> u16::BITS) & ((1 << NARROW_TEID) - 1);
        TunnelHeader { teid, sequence: payload as u16, re_inserted }
    }
}

impl Options {
    /// Options of a packet without any.
    pub const NONE: Options = Options {
        payload: 0,
        sack: [(0, 0); MAX_SACK_BLOCKS],
        received_bytes: None,
        received_at: None,
        tunnel: None,
    };
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
