//! Customers as the maps of `bpf/gateway/gateway.bpf.c` have them.

use tidegate_mechanisms::units::Rate;

/// Words of a customer.
pub const CUSTOMER_WORDS: usize = 8;
/// Words of a ceiling.
pub const CEILING_WORDS: usize = 3;
/// Words of the terms of an address.
pub const TERMS_WORDS: usize = 3;
/// Bytes of a name.
pub const NAME_BYTES: usize = 32;
/// The slot of prefixes whose addresses are a customer each, on the default terms.
pub const LEARNED: u32 = u32::MAX;

/// A customer's counters in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// t₀ of the meter.
    pub zero_ns: u64,
    /// Bytes that came, dropped ones among them.
    pub bytes: u64,
    /// Packets that came; 32 bits that wrap, as the next two.
    pub packets: u32,
    /// Packets dropped, or that would have been.
    pub dropped: u32,
    /// Packets marked, or that would have been.
    pub marked: u32,
    /// Packets beyond the ceiling.
    pub limited: u32,
}

/// A customer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Customer {
    /// By direction.
    pub usage: [Usage; 2],
    /// Time of the last packet.
    pub seen_ns: u64,
}

impl Customer {
    /// Of a value of the maps `customers` and `listed`.
    pub fn from_words(words: &[u64; CUSTOMER_WORDS]) -> Customer {
        let [packets, dropped, marked] = [4, 5, 6].map(|word| halves(words[word]));
        let usage = [0, 1].map(|direction| Usage {
            zero_ns: words[direction],
            bytes: words[2 + direction],
            packets: packets[direction],
            dropped: dropped[direction],
            marked: marked[direction],
            limited: 0,
        });
        Customer { usage, seen_ns: words[7] }
    }

    /// With what its ceiling has counted, of a value of the map `ceilings`.
    pub fn with_ceiling(mut self, words: &[u64; CEILING_WORDS]) -> Customer {
        for (usage, limited) in self.usage.iter_mut().zip(halves(words[2])) {
            usage.limited = limited;
        }
        self
    }
}

/// The two 32-bit values of a word, in the order of memory.
fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

/// Whose an address is, and on which terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Place in the map `listed`, or [`LEARNED`].
    pub slot: u32,
    /// 1/R_r, in 2⁻¹⁶ ns per byte; of no meaning for [`LEARNED`].
    pub ns_per_byte_q16: u64,
    /// 1/ceiling likewise; 0 for no ceiling.
    pub ceiling_ns_per_byte_q16: u64,
}

impl Terms {
    /// Those of prefixes whose addresses are a customer each.
    pub const LEARNED: Terms =
        Terms { slot: LEARNED, ns_per_byte_q16: 0, ceiling_ns_per_byte_q16: 0 };

    /// As the maps have it.
    pub fn words(self) -> [u64; TERMS_WORDS] {
        let [a, b, c, d] = self.slot.to_ne_bytes();
        let slot = u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]);
        [slot, self.ns_per_byte_q16, self.ceiling_ns_per_byte_q16]
    }

    /// From the maps.
    pub fn from_words(words: [u64; TERMS_WORDS]) -> Terms {
        let [slot, _] = halves(words[0]);
        Terms { slot, ns_per_byte_q16: words[1], ceiling_ns_per_byte_q16: words[2] }
    }
}

/// Time that a byte takes at a rate, in 2⁻¹⁶ ns.
pub fn ns_per_byte_q16(rate: Rate) -> u64 {
    let bps = u128::from(rate.as_bps().max(1));
    let rounded = ((8_000_000_000u128 << 16) + bps / 2) / bps;
    (rounded as u64).clamp(1, 1 << 39)
}

/// The rate of such a time, in bit/s.
pub fn rate_bps(ns_per_byte_q16: u64) -> u64 {
    let word = u128::from(ns_per_byte_q16.max(1));
    (((8_000_000_000u128 << 16) + word / 2) / word) as u64
}
