//! Quantities with their unit in the type. Raw numbers are used only at the interfaces.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Size of the largest IP packet.
pub const LARGEST_PACKET: Bytes = Bytes::new(65_535);

/// A point on the clock, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// Durations assigned to users in rotation; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spans(pub Vec<Span>);

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A data rate on the wire, in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// Length of a queue, or size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// In packets of any size.
    Packets(u32),
    /// In bytes.
    Bytes(Bytes),
}

/// Room for waiting packets at a link, as a scenario states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSize {
    /// Packets or bytes.
    Length(QueueLength),
    /// What the link sends in this time.
    Time(Span),
    /// Bandwidth-delay products: the link's rate times the round-trip time of its users.
    Bdp {
        /// Number of thousandths.
        thousandths: u64,
    },
}

/// Points (queue length in packets, probability) of a function, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Points(pub Vec<(f64, f64)>);

/// Probability: from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Probability(pub f64);

/// Part of a whole: above 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// Weight of the past in a moving average: from 0 to below 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Memory(pub f64);

/// Factor, or exponent: from 0 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Factor(pub f64);

/// Distance between adjacent values of a scale: above 0, at most 1000.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Step(pub f64);

/// Rate of a link during some time. At 0 bit/s the link sends nothing: an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateOrOutage(pub Rate);

/// Willingness to pay of a flow, in segments per second times the unit of prices: above 0, at most 10⁹. The kernel
/// implementations support up to [`Demand::MOST_IN_KERNELS`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Demand(pub f64);

impl Demand {
    /// Maximum of the kernel implementations, above which they overflow.
    pub const MOST_IN_KERNELS: f64 = 4_000.0;
}

/// Integer from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whole<const MIN: u32, const MAX: u32>(pub u32);

/// Amount in a token bucket, which counts packets of any size, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// In thousandths of a packet.
    Packets {
        /// Number of thousandths.
        thousandths: u64,
    },
    /// In bytes.
    Bytes(Bytes),
}

/// Fill rate of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRate {
    /// In thousandths of a packet per second.
    Packets {
        /// Number of thousandths per second.
        thousandths_per_sec: u64,
    },
    /// In bits per second.
    Bits(Rate),
}

/// Duration, or the word `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrOff {
    /// Off.
    Off,
    /// This duration.
    On(Span),
}

impl BufferSize {
    /// Returns the packets or bytes on a link of this rate. `round_trip` is that of its users; without one, `None` for
    /// bandwidth-delay products.
    pub fn at(self, rate: Rate, round_trip: Option<Span>) -> Option<QueueLength> {
        let sent_in = |time: Span, thousandths: u64| {
            let bits_ns = u128::from(rate.as_bps()) * u128::from(time.as_nanos());
            let bytes = bits_ns * u128::from(thousandths) / (8_000 * u128::from(NANOS_PER_SEC));
            QueueLength::Bytes(Bytes::new(bytes.clamp(1, LARGEST_BUFFER) as u64))
        };
        match self {
            BufferSize::Length(length) => Some(length),
            BufferSize::Time(time) => Some(sent_in(time, 1_000)),
            BufferSize::Bdp { thousandths } => {
                round_trip.map(|round_trip| sent_in(round_trip, thousandths))
            }
        }
    }
}

/// Upper limit of buffers, bytes.
const LARGEST_BUFFER: u128 = 1_000_000_000_000_000;

impl OrOff {
    /// Returns the duration, if there is one.
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
    /// Whether it is zero.
    pub const fn is_zero(&self) -> bool {
        matches!(self, Tokens::Packets { thousandths: 0 } | Tokens::Bytes(Bytes(0)))
    }
    /// Whether a bucket can be this large: 1 GB, or 8 million packets.
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
    /// Whether it is zero.
    pub const fn is_zero(&self) -> bool {
        matches!(self, TokenRate::Packets { thousandths_per_sec: 0 } | TokenRate::Bits(Rate(0)))
    }
}

impl Time {
    /// Start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than all events.
    pub const NEVER: Time = Time(u64::MAX);

    /// Returns the point `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Time(ns)
    }
    /// Returns nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns seconds since the start.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the time since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero duration.
    pub const ZERO: Span = Span(0);

    /// Returns a span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Span(ns)
    }
    /// Returns a span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Span(us * 1_000)
    }
    /// Returns a span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Span(ms * 1_000_000)
    }
    /// Returns a span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Span(s * NANOS_PER_SEC)
    }
    /// Returns a span of `s` seconds, rounded to the nanosecond; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Span((s * 1e9 + 0.5) as u64)
    }
    /// Returns nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns seconds.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// Returns an amount of `n` bytes.
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }
    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Returns the number of bytes, for formulas.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Returns the number of bits.
    pub const fn as_bits(self) -> u64 {
        self.0 * 8
    }
}

impl Rate {
    /// Returns a rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// Returns a rate of `mbps` 10⁶ bit/s.
    pub const fn mbps(mbps: u64) -> Self {
        Rate(mbps * 1_000_000)
    }
    /// Returns bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Returns bytes per second, for formulas.
    pub const fn as_bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Returns the time to send `len` bytes at this rate, rounded up to the nanosecond.
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
    /// Formats as in scenario files, with the largest decimal unit that keeps the number an integer.
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
impl fmt::Display for BufferSize {
    /// Formats as in scenario files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            BufferSize::Length(length) => length.fmt(f),
            BufferSize::Time(time) => time.fmt(f),
            BufferSize::Bdp { thousandths } => write!(f, "{} BDP", thousandths as f64 / 1e3),
        }
    }
}
impl fmt::Display for Tokens {
    /// Formats as in scenario files.
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
/// Formats with the largest unit not above the value: `5 ms`, `1.25 s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
        let fills = units.into_iter().find(|(_, step)| self.0 >= *step);
        let (unit, step) = fills.unwrap_or(units[0]);
        write!(f, "{} {unit}", self.0 as f64 / step as f64)
    }
}
