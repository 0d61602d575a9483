//! Quantities with their unit in the type. Raw numbers appear only at the edges.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The largest packet that IP carries.
pub const LARGEST_PACKET: Bytes = Bytes::new(65_535);

/// A point on the clock, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// Lengths of time that several users have in turn; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spans(pub Vec<Span>);

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A data rate on the wire, in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A length of a queue, or the size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// In packets of any size.
    Packets(u32),
    /// In bytes.
    Bytes(Bytes),
}

/// Points (queue length in packets, probability) of a function, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Points(pub Vec<(f64, f64)>);

/// How likely something is: from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Probability(pub f64);

/// A part of a whole: above 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// The weight of the past in a moving average: from 0 to just below 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Memory(pub f64);

/// A factor, or an exponent: from 0 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Factor(pub f64);

/// The distance of two neighbours on a scale: above 0, at most 1000.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Step(pub f64);

/// The rate of a link at a time. At 0 bit/s the link sends nothing: an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateOrOutage(pub Rate);

/// What a flow offers to pay, in segments per second times the unit of prices: above 0, at most 10⁹. A kernel's
/// program has bits for [`Demand::MOST_IN_KERNELS`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Demand(pub f64);

impl Demand {
    /// Above this, our kernel programs overflow.
    pub const MOST_IN_KERNELS: f64 = 4_000.0;
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whole<const MIN: u32, const MAX: u32>(pub u32);

/// An amount in a token bucket, which counts packets of any size, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// In thousandths of a packet.
    Packets {
        /// So many of them.
        thousandths: u64,
    },
    /// In bytes.
    Bytes(Bytes),
}

/// What comes into a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRate {
    /// In thousandths of a packet.
    Packets {
        /// So many of them a second.
        thousandths_per_sec: u64,
    },
    /// In bits per second.
    Bits(Rate),
}

/// A time, or the word `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrOff {
    /// Not at all.
    Off,
    /// So long.
    On(Span),
}

impl OrOff {
    /// The time, if there is one.
    pub const fn span(self) -> Option<Span> {
        match self {
            OrOff::Off => None,
            OrOff::On(span) => Some(span),
        }
    }
}

impl Tokens {
    /// Whether it counts packets.
    pub const fn counts_packets(&self) -> bool {
        matches!(self, Tokens::Packets { .. })
    }
    /// None at all.
    pub const fn is_zero(&self) -> bool {
        matches!(self, Tokens::Packets { thousandths: 0 } | Tokens::Bytes(Bytes(0)))
    }
    /// Whether a bucket can be as large: 1 GB, or 8 million packets.
    pub const fn can_be_counted(&self) -> bool {
        match self {
            Tokens::Packets { thousandths } => *thousandths <= 8_000_000_000,
            Tokens::Bytes(bytes) => bytes.0 <= 1_000_000_000,
        }
    }
}

impl TokenRate {
    /// Whether it counts packets.
    pub const fn counts_packets(&self) -> bool {
        matches!(self, TokenRate::Packets { .. })
    }
    /// Nothing comes in.
    pub const fn is_zero(&self) -> bool {
        matches!(self, TokenRate::Packets { thousandths_per_sec: 0 } | TokenRate::Bits(Rate(0)))
    }
}

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than everything.
    pub const NEVER: Time = Time(u64::MAX);

    /// The point `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Time(ns)
    }
    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the start.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The time that has passed since `earlier`, zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Span(ns)
    }
    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Span(us * 1_000)
    }
    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Span(ms * 1_000_000)
    }
    /// A span of whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Span(s * NANOS_PER_SEC)
    }
    /// A span of `s` seconds, rounded to the nanosecond; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Span((s * 1e9 + 0.5) as u64)
    }
    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// An amount of `n` bytes.
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The number of bytes, for formulas.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// The number of bits.
    pub const fn as_bits(self) -> u64 {
        self.0 * 8
    }
}

impl Rate {
    /// A rate in bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// A rate in 10⁶ bit/s.
    pub const fn mbps(mbps: u64) -> Self {
        Rate(mbps * 1_000_000)
    }
    /// Bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bytes per second, for formulas.
    pub const fn as_bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// How long `len` takes at this rate, rounded up to the nanosecond.
    ///
    /// # Panics
    /// If the rate is zero.
    pub const fn transmission_time(self, len: Bytes) -> Span {
        Span((len.0 * 8 * NANOS_PER_SEC).div_ceil(self.0))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, rhs: Span) -> Time {
        Time(self.0 + rhs.0)
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, rhs: Span) {
        self.0 += rhs.0;
    }
}
impl Sub<Time> for Time {
    type Output = Span;
    /// # Panics
    /// In debug builds, if the result would be negative; see [`Time::since`].
    fn sub(self, rhs: Time) -> Span {
        Span(self.0 - rhs.0)
    }
}
impl Add for Span {
    type Output = Span;
    fn add(self, rhs: Span) -> Span {
        Span(self.0 + rhs.0)
    }
}
impl Sub for Span {
    type Output = Span;
    fn sub(self, rhs: Span) -> Span {
        Span(self.0 - rhs.0)
    }
}
impl core::ops::Mul<u64> for Span {
    type Output = Span;
    fn mul(self, rhs: u64) -> Span {
        Span(self.0 * rhs)
    }
}
impl Add for Bytes {
    type Output = Bytes;
    fn add(self, rhs: Bytes) -> Bytes {
        Bytes(self.0 + rhs.0)
    }
}
impl fmt::Display for QueueLength {
    /// As scenario files have it, with the largest decimal unit that keeps the number whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"), (1, "B")];
        match *self {
            QueueLength::Packets(packets) => write!(f, "{packets} packets"),
            QueueLength::Bytes(Bytes(bytes)) => {
                let fits = |(step, _): &&(u64, &str)| *step <= bytes && bytes % step == 0;
                let (step, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
                write!(f, "{} {unit}", bytes / step)
            }
        }
    }
}
impl fmt::Display for Tokens {
    /// As scenario files have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Tokens::Packets { thousandths } => write!(f, "{} packets", thousandths as f64 / 1e3),
            Tokens::Bytes(bytes) => QueueLength::Bytes(bytes).fmt(f),
        }
    }
}
impl fmt::Display for TokenRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TokenRate::Packets { thousandths_per_sec: thousandths } => {
                write!(f, "{} packets/s", thousandths as f64 / 1e3)
            }
            TokenRate::Bits(rate) => write!(f, "{} b/s", rate.0),
        }
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.as_secs())
    }
}
/// In the largest unit that it fills, as people write it: `5 ms`, `1.25 s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
        let fills = units.into_iter().find(|(_, step)| self.0 >= *step);
        let (unit, step) = fills.unwrap_or(units[0]);
        write!(f, "{} {unit}", self.0 as f64 / step as f64)
    }
}
