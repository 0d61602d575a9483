//! A packet as hosts see it ([`Packet`]) and as links store it ([`PackedPacket`]).

use core::num::NonZero;

use core::fmt;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::{MAX_ROUTE_STEPS, MAX_RUN};

/// A packet as hosts know it.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Packet {
    /// When it is there: now, or when it arrives.
    pub at: Time,
    /// Data: segment number. Acknowledgement: the next segment expected. With [`flags::REPORT`]: a ticket.
    pub number: u64,
    /// Data: when it was sent (TSval). Acknowledgement: the echo of it (TSecr).
    pub stamp: Time,
    /// The flow it belongs to.
    pub flow: u32,
    /// Payload word. Data: an activity, as the bits of an `f32`, or the prices of the path
    /// ([`tidegate_mechanisms::price::Encoding::write`]). Acknowledgement: the prices that the receiver returns
    /// ([`tidegate_mechanisms::price::Gathered::take`]). With [`flags::OPTIONS`]: the ticket of its options,
    /// which hold the payload word.
    pub payload: u32,
    /// Its next hop: an index into the network's hops.
    pub hop: u32,
    /// The connection it belongs to, packed by [`crate::connections::ConnectionId::pack`].
    pub connection: u32,
    /// Bytes on the wire.
    pub len: u16,
    /// See [`flags`].
    pub flags: u32,
}

/// The flags of a packet.
pub mod flags {
    macro_rules! flags {
        ($($(#[doc = $meaning:literal])* $name:ident;)+) => {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named as the flags")]
            enum Place { $($name),+ }
            $($(#[doc = $meaning])* pub const $name: u32 = 1 << Place::$name as u32;)+
            /// All of them, by name.
            pub const ALL: &[(&str, u32)] = &[$((stringify!($name), $name)),+];
        };
    }

    flags! {
        /// It acknowledges: a segment without data.
        ACK;
        /// Connection request, or its answer.
        SYN;
        /// ECN-capable transport, as its sender has it: it stays when the packet is marked.
        ECT;
        /// Congestion experienced.
        CE;
        /// TCP: echo of congestion experienced. Accurate feedback: the counter's lowest bit.
        ECE;
        /// TCP: congestion window reduced. Accurate feedback: the counter's middle bit.
        CWR;
        /// Its options have SACK blocks.
        SACK;
        /// TCP: pushed, the last of a burst or a transfer.
        PSH;
        /// It has options, which wait in a store; `payload` is their ticket.
        OPTIONS;
        /// It travels against its flow: from the flow's receiver to the flow's sender.
        BACK;
        /// Where ECN-capable: ECT(1), else ECT(0).
        ECT_1;
        /// TCP: the highest bit of accurate feedback's counter, above CWR and ECE (RFC 9768).
        AE;
        /// In a tunnel: the ECN field of the inner header stands in the next three.
        TUNNEL;
        /// In a tunnel: ECT in the inner header.
        INNER_ECT;
        /// In a tunnel: CE in the inner header.
        INNER_CE;
        /// In a tunnel: where ECN-capable, ECT(1) in the inner header.
        INNER_ECT_1;
        /// ConEx (RFC 7837): X, its sender declares congestion.
        CONEX;
        /// ConEx: L, a loss is declared.
        LOSS;
        /// ConEx: E, a mark is declared.
        MARK;
        /// ConEx: C, credit.
        CREDIT;
        /// Re-ECN: the bit beside the ECN field.
        RE;
        /// A report of a stage to another: `number` is its ticket in the store of reports.
        REPORT;
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

/// A packet in a pipe, without the time: in four words, since pipes are most of the memory that a large
/// network moves, each written as a whole and read as a whole. A processor waits when it reads at once
/// what has just been written in pieces, and often a packet leaves its pipe at the next event.
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

/// A number, and a time in a run, leave room for flags.
const NARROW: u32 = 48;
/// Flows and hops.
const PLACE: u32 = 24;
/// So many flows and so many hops can be distinguished.
pub const MAX_PLACES: usize = 1 << PLACE;
const _: () = assert!(MAX_RUN.as_nanos() <= 1 << NARROW && MAX_PLACES == MAX_ROUTE_STEPS);

const fn below(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl PackedPacket {
    /// A packet, packed.
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

    /// The packet, which arrives at this time.
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

    /// The activity that it shows; 0 if it carries none, or in a tunnel, where that is in the inner header.
    #[inline]
    pub fn activity(&self) -> f32 {
        const NONE: u32 = flags::ACK | flags::OPTIONS | flags::TUNNEL;
        if self.has(NONE) { 0.0 } else { f32::from_bits(self.payload()) }
    }

    /// Whether its payload word holds prices, if the encoding puts them there.
    #[inline]
    pub fn carries_prices(&self) -> bool {
        !self.has(flags::ACK | flags::REPORT | flags::OPTIONS | flags::TUNNEL)
    }

    /// Whether congestion is re-inserted into its tunnel's header, if there is room for it. Of one that has options as well,
    /// which few have, and in tunnels of high numbers, it cannot be seen here: then it is not.
    #[inline]
    pub fn re_inserted(&self) -> Option<bool> {
        match self.flags() & (flags::TUNNEL | flags::OPTIONS) {
            flags::TUNNEL => TunnelHeader::unpack(self.payload()).re_inserted,
            both if both & flags::TUNNEL != 0 => Some(false),
            _ => None,
        }
    }

    /// It comes to the next of its hops.
    #[inline(always)]
    pub fn step(&mut self) {
        self.place += 1 << PLACE;
    }

    /// It is marked.
    #[inline(always)]
    pub fn mark(&mut self) {
        self.number |= u64::from(flags::CE) << NARROW;
    }

    /// Replaces the payload word.
    #[inline(always)]
    pub fn set_payload(&mut self, payload: u32) {
        self.connection_and_payload = self.connection_and_payload & !below(32) | u64::from(payload);
    }

    /// Writes what stages may write.
    #[inline(always)]
    pub fn rewrite(&mut self, Rewritten { payload_and_flags, len }: Rewritten) {
        let flags = payload_and_flags >> 32;
        self.number = self.number() | flags << NARROW;
        self.stamp = self.stamp & below(NARROW) | flags >> 16 << NARROW;
        self.place = self.place & below(2 * PLACE) | u64::from(len.get()) << (2 * PLACE);
        self.set_payload(payload_and_flags as u32);
    }
}

/// What stages may write into a packet: payload word, flags and length, in two registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rewritten {
    payload_and_flags: u64,
    len: NonZero<u16>,
}

impl Rewritten {
    /// These.
    ///
    /// # Panics
    /// If nothing is left of the packet.
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

/// Bytes that arrived, as accurate feedback tells of them in its option (RFC 9768, section 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedBytes {
    /// The option's kind: 174, which begins with ECT(1), else 172, which begins with ECT(0). CE is second.
    pub ect_1_first: bool,
    /// So many of its three fields are there.
    pub fields: u8,
    /// Bytes with ECT(0), CE and ECT(1), modulo 2²⁴, those with ECT from 1 on.
    pub counters: [u32; 3],
}

impl ReceivedBytes {
    /// The counter at this place among ECT(0), CE and ECT(1), if the option has it.
    pub fn get(&self, place: usize) -> Option<u32> {
        let field = if self.ect_1_first { 2 - place } else { place };
        (field < usize::from(self.fields)).then_some(self.counters[place])
    }
}

/// Options that few packets have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The payload word of a packet without options.
    pub payload: u32,
    /// With [`flags::SACK`]: the blocks.
    pub sack: SackBlocks,
    /// Accurate feedback: bytes received.
    pub received_bytes: Option<ReceivedBytes>,
    /// The receiver's clock when the segment arrived that this answers, for the one-way delay.
    pub received_at: Option<Time>,
    /// With [`flags::TUNNEL`]: the tunnel's header.
    pub tunnel: Option<TunnelHeader>,
}

/// Header of a tunnel, without the inner ECN field, which is in the packet's flags.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TunnelHeader {
    /// Which tunnel.
    pub teid: u32,
    /// Number of the packet in it.
    pub sequence: u16,
    /// Whether congestion was re-inserted, where there is room for it.
    pub re_inserted: Option<bool>,
}

/// Bits of a tunnel number that fits into the payload word. A packet with no other payload carries its tunnel's header
/// there.
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

    /// Unpacks the payload word of a packet that is in a tunnel and has no options.
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
    /// Of packets without any.
    pub const NONE: Options = Options {
        payload: 0,
        sack: [(0, 0); MAX_SACK_BLOCKS],
        received_bytes: None,
        received_at: None,
        tunnel: None,
    };
}

/// Options of packets under way, so that packets carry no more than a ticket. Few have any, but where a large
/// network loses packets that are hundreds of thousands, and nearly all of them SACK blocks alone, many of them one.
#[derive(Default)]
pub struct OptionStore {
    single: Slab<(u32, u32)>,
    blocks: Slab<Blocks>,
    /// What has more than blocks.
    others: Slab<Options>,
}

/// Bit of a ticket: the options are in `others`.
const OTHER: u32 = 1 << 31;
/// Bit of a ticket: the options are a single SACK block.
const SINGLE: u32 = 1 << 30;

impl OptionStore {
    /// Stores options and returns their ticket.
    #[inline(always)]
    pub fn put(&mut self, options: Options) -> u32 {
        match Blocks::of(&options) {
            Some(Blocks([block, (0, 0), (0, 0)])) => self.single.put(block) | SINGLE,
            Some(blocks) => self.blocks.put(blocks),
            None => self.others.put(options) | OTHER,
        }
    }

    /// Payload word of a packet, whether in the packet or in its options: an activity or prices.
    pub fn payload_of(&self, packed: &PackedPacket) -> u32 {
        match packed.payload() {
            payload if !packed.has(flags::OPTIONS | flags::TUNNEL) => payload,
            ticket if packed.has(flags::OPTIONS) && ticket & OTHER != 0 => {
                self.other(ticket).payload
            }
            _ => 0,
        }
    }

    fn other(&self, ticket: u32) -> &Options {
        &self.others.places[(ticket & !OTHER) as usize]
    }

    /// Writes it.
    pub fn set_payload_of(&mut self, packed: &mut PackedPacket, payload: u32) {
        if !packed.has(flags::OPTIONS | flags::TUNNEL) {
            return packed.set_payload(payload);
        }
        let options = self.take_from(packed);
        let ticket = self.put(Options { payload, ..options });
        let (flags, len) = (packed.flags() | flags::OPTIONS, packed.len());
        packed.rewrite(Rewritten::new(ticket, flags, len));
    }

    /// The header of the tunnel that a packet is in.
    pub fn tunnel_of(&self, packed: &PackedPacket) -> Option<TunnelHeader> {
        match packed.payload() {
            _ if !packed.has(flags::TUNNEL) => None,
            header if !packed.has(flags::OPTIONS) => Some(TunnelHeader::unpack(header)),
            ticket if ticket & OTHER != 0 => self.other(ticket).tunnel,
            _ => None,
        }
    }

    /// Sets or removes the tunnel header of a packet. Returns its payload word and
    /// whether that is a ticket.
    #[inline]
    pub fn set_tunnel_of(
        &mut self,
        packed: &PackedPacket,
        tunnel: Option<TunnelHeader>,
    ) -> (u32, bool) {
        let carries_nothing = packed.has(flags::TUNNEL) || packed.payload() == 0;
        if !packed.has(flags::OPTIONS) && carries_nothing {
            let payload = tunnel.map_or(Some(0), TunnelHeader::pack);
            if let Some(payload) = payload {
                return (payload, false);
            }
        }
        self.set_tunnel_beside(packed, tunnel)
    }

    /// The same where the packet says something else as well.
    #[cold]
    fn set_tunnel_beside(
        &mut self,
        packed: &PackedPacket,
        tunnel: Option<TunnelHeader>,
    ) -> (u32, bool) {
        let options = self.take_from(packed);
        let has_others = packed.has(flags::SACK)
            || options.received_bytes.is_some()
            || options.received_at.is_some();
        if tunnel.is_none() && !has_others {
            return (options.payload, false);
        }
        (self.put(Options { tunnel, ..options }), true)
    }

    /// Takes what a packet says, wherever it is.
    fn take_from(&mut self, packed: &PackedPacket) -> Options {
        match packed.payload() {
            ticket if packed.has(flags::OPTIONS) => self.take(ticket),
            header if packed.has(flags::TUNNEL) => {
                Options { tunnel: Some(TunnelHeader::unpack(header)), ..Options::NONE }
            }
            payload => Options { payload, ..Options::NONE },
        }
    }

    /// Whether a ticket is of SACK blocks and nothing else.
    #[inline]
    pub fn has_blocks_alone(ticket: u32) -> bool {
        ticket & OTHER == 0
    }

    /// Takes the blocks of such a ticket, once.
    #[inline]
    pub fn take_blocks(&mut self, ticket: u32) -> SackBlocks {
        match ticket & SINGLE {
            0 => self.blocks.take(ticket),
            _ => Blocks([self.single.take(ticket & !SINGLE), (0, 0), (0, 0)]),
        }
        .wide()
    }

    /// The options of a ticket, which stay.
    pub fn peek(&self, ticket: u32) -> Options {
        match ticket & (OTHER | SINGLE) {
            0 => self.blocks.places[ticket as usize].options(),
            SINGLE => {
                Blocks([self.single.places[(ticket & !SINGLE) as usize], (0, 0), (0, 0)]).options()
            }
            _ => *self.other(ticket),
        }
    }

    /// Takes the options of a ticket, once.
    #[inline]
    pub fn take(&mut self, ticket: u32) -> Options {
        match ticket & (OTHER | SINGLE) {
            0 => self.blocks.take(ticket).options(),
            SINGLE => Blocks([self.single.take(ticket & !SINGLE), (0, 0), (0, 0)]).options(),
            _ => self.others.take(ticket & !OTHER),
        }
    }
}

/// SACK blocks among the first 2³² segments of a connection.
#[derive(Clone, Copy)]
struct Blocks([(u32, u32); MAX_SACK_BLOCKS]);

impl Blocks {
    /// Of options that are nothing else.
    #[inline(always)]
    fn of(options: &Options) -> Option<Self> {
        let Options { payload, sack, received_bytes, received_at, tunnel } = options;
        let all = sack.iter().fold(0, |all, (start, end)| all | start | end);
        let others = received_bytes.is_some() || received_at.is_some() || tunnel.is_some();
        let alone = *payload == 0 && !others;
        let low = |(start, end): (u64, u64)| (start as u32, end as u32);
        (alone && all >> u32::BITS == 0).then(|| Blocks(sack.map(low)))
    }

    #[inline]
    fn wide(self) -> SackBlocks {
        self.0.map(|(start, end)| (start.into(), end.into()))
    }

    #[inline]
    fn options(self) -> Options {
        Options { sack: self.wide(), ..Options::default() }
    }
}

/// Things in numbered places that are used again.
struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slab<T> {
    #[inline]
    fn put(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = thing;
            return place;
        }
        self.places.push(thing);
        (self.places.len() - 1) as u32
    }

    #[inline]
    fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.places[place as usize]
    }
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
