//! Where the options of packets in transit are: packets carry a ticket.

use super::{MAX_SACK_BLOCKS, Options, PackedPacket, Rewritten, SackBlocks, TunnelHeader, flags};
use crate::memory::{prefetch, reserve_next};

/// Store of the options of packets in transit, so that packets carry only a ticket. Few packets have options, but a
/// large network with losses has hundreds of thousands of them, most with SACK blocks alone, and many of those with a
/// single block.
#[derive(Default)]
pub struct OptionStore {
    single: Slab<(u32, u32)>,
    blocks: Slab<Blocks>,
    /// Options other than SACK blocks alone.
    others: Slab<Options>,
}

/// Ticket bit: the options are in `others`.
const OTHER: u32 = 1 << 31;
/// Ticket bit: the options are a single SACK block.
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

    /// Returns the payload word of a packet, from the packet or its options: an activity or prices.
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

    /// Writes the payload word of a packet, in the packet or its options.
    pub fn set_payload_of(&mut self, packed: &mut PackedPacket, payload: u32) {
        if !packed.has(flags::OPTIONS | flags::TUNNEL) {
            return packed.set_payload(payload);
        }
        let options = self.take_from(packed);
        let ticket = self.put(Options { payload, ..options });
        let (flags, len) = (packed.flags() | flags::OPTIONS, packed.len());
        packed.rewrite(Rewritten::new(ticket, flags, len));
    }

    /// Returns the header of the packet's tunnel.
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

    /// Sets or removes the tunnel header of a packet that has other contents as well.
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

    /// Takes the contents of a packet out of the store, if they are there.
    fn take_from(&mut self, packed: &PackedPacket) -> Options {
        match packed.payload() {
            ticket if packed.has(flags::OPTIONS) => self.take(ticket),
            header if packed.has(flags::TUNNEL) => {
                Options { tunnel: Some(TunnelHeader::unpack(header)), ..Options::NONE }
            }
            payload => Options { payload, ..Options::NONE },
        }
    }

    /// A copy of a packet, with options of its own.
    pub fn copy(&mut self, packed: &mut PackedPacket) -> PackedPacket {
        let mut copy = *packed;
        if packed.has(flags::OPTIONS) {
            let options = self.take(packed.payload());
            packed.set_payload(self.put(options));
            copy.set_payload(self.put(options));
        }
        copy
    }

    /// Whether a ticket is of SACK blocks and nothing else.
    #[inline]
    pub fn has_blocks_alone(ticket: u32) -> bool {
        ticket & OTHER == 0
    }

    /// Takes the blocks of such a ticket; valid once.
    #[inline]
    pub fn take_blocks(&mut self, ticket: u32) -> SackBlocks {
        match ticket & SINGLE {
            0 => self.blocks.take(ticket),
            _ => Blocks([self.single.take(ticket & !SINGLE), (0, 0), (0, 0)]),
        }
        .wide()
    }

    /// Prefetches the options of a packet.
    #[inline(always)]
    pub fn prefetch(&self, packed: &PackedPacket) {
        if packed.has(flags::OPTIONS) {
            let ticket = packed.payload();
            match ticket & (OTHER | SINGLE) {
                0 => self.blocks.prefetch(ticket),
                SINGLE => self.single.prefetch(ticket & !SINGLE),
                _ => self.others.prefetch(ticket & !OTHER),
            }
        }
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
    /// Returns the blocks of options without anything else, if they fit.
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

/// Values in reusable numbered slots. A free slot has the number of the next free one.
struct Slab<T> {
    places: Vec<T>,
    free: u32,
}

/// No slot.
const NO_SLOT: u32 = u32::MAX;

/// Value whose slot names another while it is free.
trait Slot: Copy {
    /// Returns the contents of a free slot: the next free one.
    fn free(next: u32) -> Self;

    /// Returns the next free slot.
    fn next_free(&self) -> u32;
}

impl Slot for (u32, u32) {
    #[inline(always)]
    fn free(next: u32) -> Self {
        (next, 0)
    }

    #[inline(always)]
    fn next_free(&self) -> u32 {
        self.0
    }
}

impl Slot for Blocks {
    #[inline(always)]
    fn free(next: u32) -> Self {
        Blocks([(next, 0), (0, 0), (0, 0)])
    }

    #[inline(always)]
    fn next_free(&self) -> u32 {
        self.0[0].0
    }
}

impl Slot for Options {
    fn free(next: u32) -> Self {
        Options { payload: next, ..Options::NONE }
    }

    fn next_free(&self) -> u32 {
        self.payload
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { places: Vec::new(), free: NO_SLOT }
    }
}

impl<T: Slot> Slab<T> {
    #[inline]
    fn put(&mut self, thing: T) -> u32 {
        if let Some(place) = self.places.get_mut(self.free as usize) {
            let number = core::mem::replace(&mut self.free, place.next_free());
            *place = thing;
            // It names another, which the next call reads.
            self.prefetch(self.free);
            return number;
        }
        reserve_next(&mut self.places);
        self.places.push(thing);
        (self.places.len() - 1) as u32
    }

    #[inline(always)]
    fn prefetch(&self, place: u32) {
        self.places.get(place as usize).into_iter().for_each(prefetch);
    }

    #[inline]
    fn take(&mut self, place: u32) -> T {
        let next = core::mem::replace(&mut self.free, place);
        core::mem::replace(&mut self.places[place as usize], T::free(next))
    }
}
