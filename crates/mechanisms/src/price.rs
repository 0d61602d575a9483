//! Encoding of prices: what a queue writes into a packet for its price, and what a source reads of the price of its
//! path. S. Zimmermann, "Congestion pricing as scalable, efficient and stable congestion control for future IP
//! networks", dissertation, 2005, sections 4.2.3, 5.1.1, 5.2.1 and 5.4.1.
//!
//! ```text
//! explicit     p ← p + λ                             the packet carries the sum
//! one-bit      m = 1 − φ^(−λ)     (5.2.1)            marked with probability m, so that over a path
//!              p = −log_φ(1 − m)  (5.2.2)            unmarked shares multiply and prices add
//! four-bit     the same with four bases, a bit each  read where the share of marks is nearest to one half
//! maximum      m = min(λ, 1)                         so that a price of 1 marks, however many ask it (5.1.1)
//! ```
//!
//! Explicit prices, and the four bits, use the payload word that otherwise carries an activity: 32 bits. The single bit
//! is the ECN mark. A price never drops a packet: packets that are not ECN-capable pass unmarked.
//!
//! The price of a virtual queue is 1 or 0: encoded explicitly it counts the links that mark ("n bit").

use crate::parameters::ParameterError;
use crate::units::Factor;
use crate::{choice, parameters, words};

/// Bits of the four-bit encoding.
pub const BITS: usize = 4;

parameters! {
    /// Each packet carries the sum of the prices of its path.
    pub struct ExplicitParams {}
}

parameters! {
    /// A packet is marked with probability 1 − φ^(−λ).
    pub struct OneBitParams {
        /// φ, above 1: the same for all links and sources.
        pub base: Factor,
    }
    check base_is_above_one;
}

parameters! {
    /// Four bits, each set with probability 1 − φ^(−λ), for four φ: all of them are set, or none.
    pub struct FourBitParams {
        /// φ of the first bit, the largest. Default: 1.06.
        pub base_1: Option<Factor>,
        /// φ of the second, smaller. Default: 1.007.
        pub base_2: Option<Factor>,
        /// φ of the third, smaller. Default: 1.001.
        pub base_3: Option<Factor>,
        /// φ of the fourth, the smallest, above 1. Default: 1.00015.
        pub base_4: Option<Factor>,
    }
    check bases_descend;
}

parameters! {
    /// A packet is marked with probability λ, so that with prices of 0 and 1 the maximum along the path counts.
    pub struct MaximumParams {}
}

choice! {
    /// Encoding of prices from links to sources.
    pub enum EncodingParams as PriceEncoding {
        Explicit(ExplicitParams) = "explicit";
        OneBit(OneBitParams) = "one-bit";
        FourBit(FourBitParams) = "four-bit";
        Maximum(MaximumParams) = "maximum";
    }
}

fn too_small(base: f64) -> String {
    format!("{base} is not above 1; write e.g. 1.06")
}

fn base_is_above_one(params: &OneBitParams) -> Option<ParameterError> {
    let Factor(base) = params.base;
    (base <= 1.0).then(|| ("base", too_small(base)))
}

/// Returns the errors of the bases. All four are set or none, since a default does not fit to other values.
fn bases_descend(params: &FourBitParams) -> Vec<ParameterError> {
    const KEYS: [&str; BITS] = ["base_1", "base_2", "base_3", "base_4"];
    let given = params.given();
    if given == [None; BITS] {
        return Vec::new();
    }
    let mut errors = Vec::new();
    for (bit, base) in given.into_iter().enumerate() {
        let before = bit.checked_sub(1).and_then(|before| Some((KEYS[before], given[before]?)));
        match (base, before) {
            (None, _) => {
                let message = "missing, and others are given: write all four bases or none";
                errors.push((KEYS[bit], message.to_owned()));
            }
            (Some(base), _) if base <= 1.0 => errors.push((KEYS[bit], too_small(base))),
            (Some(base), Some((key, larger))) if base >= larger => {
                errors.push((KEYS[bit], format!("{base} is not below {key}, {larger}")));
            }
            _ => {}
        }
    }
    errors
}

impl FourBitParams {
    /// Default bases φ of the four bits.
    const BASES: [f64; BITS] = [1.06, 1.007, 1.001, 1.00015];

    fn given(&self) -> [Option<f64>; BITS] {
        [self.base_1, self.base_2, self.base_3, self.base_4].map(|base| base.map(|base| base.0))
    }

    fn bases(&self) -> [f64; BITS] {
        let given = self.given();
        core::array::from_fn(|bit| given[bit].unwrap_or(Self::BASES[bit]))
    }
}

/// Encoding of a price in a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    /// Adds the price to the payload word.
    Explicit,
    /// Marks; the parameter is the logarithm of φ.
    OneBit(f64),
    /// Sets bits; the parameters are the logarithms of their φ.
    FourBit([f64; BITS]),
    /// Marks with the price as probability.
    Maximum,
}

impl From<&EncodingParams> for Encoding {
    fn from(params: &EncodingParams) -> Self {
        match params {
            EncodingParams::Explicit(_) => Encoding::Explicit,
            EncodingParams::OneBit(own) => Encoding::OneBit(libm::log(own.base.0)),
            EncodingParams::FourBit(own) => Encoding::FourBit(own.bases().map(libm::log)),
            EncodingParams::Maximum(_) => Encoding::Maximum,
        }
    }
}

impl Encoding {
    /// One bit with base e.
    pub const NATURAL: Encoding = Encoding::OneBit(1.0);

    /// Whether packets carry the price in their payload word, not as a mark.
    #[inline]
    pub const fn is_in_payload(&self) -> bool {
        matches!(self, Encoding::Explicit | Encoding::FourBit(_))
    }

    /// Returns the probability with which a price marks a packet.
    #[inline]
    pub fn mark_probability(&self, price: f64) -> f64 {
        match self {
            Encoding::OneBit(ln_base) => -libm::expm1(-price * ln_base),
            Encoding::Maximum => price.min(1.0),
            Encoding::Explicit | Encoding::FourBit(_) => 0.0,
        }
    }

    /// Adds `price` to the payload word of an arriving packet and returns the result. `draw` returns a random number in
    /// [0, 1).
    #[inline]
    pub fn write(&self, word: u32, price: f64, mut draw: impl FnMut() -> f64) -> u32 {
        match self {
            Encoding::Explicit => (f32::from_bits(word) + price as f32).to_bits(),
            Encoding::FourBit(ln_bases) if price > 0.0 => {
                let set = |bit: usize, ln_base: &f64| {
                    u32::from(draw() < -libm::expm1(-price * ln_base)) << bit
                };
                let mut set = set;
                ln_bases.iter().enumerate().fold(word, |word, (bit, base)| word | set(bit, base))
            }
            _ => word,
        }
    }

    /// Returns the price of a path on which `marked` of the last `packets` arrived marked, or with the given bit
    /// (5.2.2). If all were, it counts as if half a packet was not, since no finite price explains a share of one.
    #[inline]
    fn price_of(&self, bit: usize, marked: f64, packets: f64) -> f64 {
        let share = marked / packets;
        let unmarked = (1.0 - share).max(0.5 / packets);
        match self {
            Encoding::OneBit(ln_base) => -libm::log(unmarked) / ln_base,
            Encoding::FourBit(ln_bases) => -libm::log(unmarked) / ln_bases[bit],
            Encoding::Maximum | Encoding::Explicit => share,
        }
    }
}

/// Prices of segments gathered by a receiver until the next acknowledgement: the mean of explicit prices, or the number
/// of segments and how many had each of the four bits.
#[derive(Clone, Copy, Debug)]
pub struct Gathered {
    encoding: Encoding,
    segments: u32,
    sum: f64,
    with_bit: [u32; BITS],
}

/// Bits of a count in the payload word of an acknowledgement.
const COUNT_BITS: u32 = 6;
const MOST: u32 = (1 << COUNT_BITS) - 1;

impl Gathered {
    /// Returns the state without segments.
    pub const fn new(encoding: Encoding) -> Self {
        Gathered { encoding, segments: 0, sum: 0.0, with_bit: [0; BITS] }
    }

    /// Adds the payload word of an arriving segment.
    #[inline]
    pub fn add(&mut self, word: u32) {
        self.segments += 1;
        if self.encoding == Encoding::Explicit {
            self.sum += f64::from(f32::from_bits(word));
        } else {
            for (bit, count) in self.with_bit.iter_mut().enumerate() {
                *count += word >> bit & 1;
            }
        }
    }

    /// Returns the payload word of the acknowledgement, and clears the counts.
    #[inline]
    pub fn take(&mut self) -> u32 {
        let Gathered { encoding, segments, sum, with_bit } =
            core::mem::replace(self, Gathered::new(self.encoding));
        if encoding == Encoding::Explicit {
            return ((sum / f64::from(segments.max(1))) as f32).to_bits();
        }
        let counts = with_bit.into_iter().rev().chain([segments]);
        counts.fold(0, |word, count| word << COUNT_BITS | count.min(MOST))
    }
}

words! {
    /// Renewal of an estimate by marks.
    pub enum Renewal {
        /// With each packet, from the last `history` packets.
        Sliding = "sliding",
        /// In blocks of `history` packets; the previous estimate is valid until a block is complete.
        InBlocks = "in-blocks",
    }
}

/// Price of a path as known to its source: as reported, or estimated from the marks of the last packets.
#[derive(Clone, Debug)]
pub struct PathPrice {
    encoding: Encoding,
    /// Last reported price, with explicit prices, or the current estimate, with blocks.
    reported: Option<f64>,
    /// Marks of the last packets, one bit each; the oldest is at `next` once it is full.
    history: Box<[u8]>,
    next: u16,
    len: u16,
    in_blocks: bool,
    with_bit: [u32; BITS],
}

impl PathPrice {
    /// Returns the price before the first packet; `history` is the number of packets in an estimate.
    ///
    /// # Panics
    ///
    /// If `history` is 0, or more than 65,535.
    pub fn new(encoding: Encoding, history: u32) -> Self {
        assert!(history > 0, "an estimate goes by one packet at least");
        let history = if encoding == Encoding::Explicit { 0 } else { history as usize };
        assert!(history <= usize::from(u16::MAX), "places are counted in 16 bits");
        let (history, with_bit) = (vec![0; history].into(), [0; BITS]);
        PathPrice { encoding, reported: None, history, next: 0, len: 0, in_blocks: false, with_bit }
    }

    /// Sets the renewal of estimates.
    pub fn renewed(self, renewal: Renewal) -> Self {
        PathPrice { in_blocks: renewal == Renewal::InBlocks, ..self }
    }

    /// Handles an acknowledgement of `delivered` packets, `marked` of them CE-marked; `word` is its payload word.
    pub fn on_ack(&mut self, delivered: u32, marked: u32, word: u32) {
        match self.encoding {
            Encoding::Explicit => self.reported = Some(f32::from_bits(word).into()),
            Encoding::FourBit(_) => self.add_counts(word),
            Encoding::OneBit(_) | Encoding::Maximum => {
                (marked..delivered).for_each(|_| self.add(0));
                (0..marked).for_each(|_| self.add(1));
            }
        }
    }

    /// Adds counts of bits from [`Gathered::take`]. The order of the packets is not reported.
    fn add_counts(&mut self, word: u32) {
        let count = |place: usize| word >> (place as u32 * COUNT_BITS) & MOST;
        let [_, counts @ ..] = [0, 1, 2, 3, 4].map(count);
        let segments = count(0);
        for packet in 0..segments {
            let bits = counts.iter().enumerate();
            let bits = bits.fold(0, |bits, (bit, count)| {
                let set = packet < *count;
                bits | u8::from(set) << bit
            });
            self.add(bits);
        }
    }

    fn add(&mut self, bits: u8) {
        let forgotten = core::mem::replace(&mut self.history[usize::from(self.next)], bits);
        for (bit, count) in self.with_bit.iter_mut().enumerate() {
            *count += u32::from(bits >> bit & 1);
            *count -= u32::from(forgotten >> bit & 1);
        }
        let places = self.history.len() as u16;
        self.next = (self.next + 1) % places;
        self.len = (self.len + 1).min(places);
        if self.in_blocks && self.next == 0 {
            self.reported = self.by_marks();
        }
    }

    /// Returns p; `None` before it is known.
    pub fn get(&self) -> Option<f64> {
        if self.encoding == Encoding::Explicit || self.in_blocks {
            return self.reported;
        }
        self.by_marks()
    }

    /// Returns the estimate from the history.
    fn by_marks(&self) -> Option<f64> {
        let packets = f64::from(self.len);
        let marked = |bit: usize| f64::from(self.with_bit[bit]);
        let from_half = |bit: &usize| (marked(*bit) / packets - 0.5).abs();
        let bits = if let Encoding::FourBit(_) = self.encoding { BITS } else { 1 };
        let best = (0..bits).min_by(|a, b| from_half(a).total_cmp(&from_half(b)))?;
        (self.len > 0).then(|| self.encoding.price_of(best, marked(best), packets))
    }
}

#[cfg(test)]
#[path = "price_tests.rs"]
mod tests;
