//! Quantities with units in text: rates, times, sizes, queue lengths.
//!
//! ```text
//! quantity = number [spaces] unit         number = digits [ "." digits ]
//! ```
//!
//! b is bit, B is byte; k, M, G, T are powers of 1000, Ki, Mi, Gi powers of 1024. Numbers without unit are errors.
//! Decimal fractions are exact: `0.05 Mb/s` is 50,000 bit/s.

use tidegate_mechanisms::units::{
    BufferSize, Bytes, QueueLength, Rate, RateOrOutage, Span, TokenRate, Tokens,
};

use crate::issue::nearest;

/// A unit: its symbol, and its size in the smallest step.
pub(crate) type Unit = (&'static str, u128);

/// Dimension of a quantity.
pub(crate) struct Dimension {
    /// Name, as in "not a rate".
    pub name: &'static str,
    /// Example for messages.
    pub example: &'static str,
    /// All units; the first is the smallest step.
    pub units: &'static [Unit],
    /// Number of units, ascending from the first, that are used for writing.
    pub written: usize,
    /// Whether decimals are usual: "4.8 Gb/s", but "1500 B".
    pub decimals: bool,
    /// Largest value, in the smallest step; keeps the arithmetic of a run far from overflow.
    pub max: u128,
    /// Whether zero is valid.
    pub zero: bool,
}

/// Rates, in bit/s.
pub(crate) const RATE: Dimension = Dimension {
    name: "rate",
    example: "10 Mb/s",
    units: &[
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("Tb/s", 1_000_000_000_000),
        ("Kib/s", 1 << 10),
        ("Mib/s", 1 << 20),
        ("Gib/s", 1 << 30),
        ("B/s", 8),
        ("kB/s", 8_000),
        ("MB/s", 8_000_000),
        ("GB/s", 8_000_000_000),
        ("KiB/s", 8 << 10),
        ("MiB/s", 8 << 20),
        ("GiB/s", 8 << 30),
    ],
    written: 5,
    decimals: true,
    max: 1_000_000_000_000_000,
    zero: false,
};

/// Times, in nanoseconds.
pub(crate) const TIME: Dimension = Dimension {
    name: "time",
    example: "5 ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    written: 4,
    decimals: true,
    max: 1_000_000_000_000_000_000,
    zero: true,
};

/// Amounts of data, in bytes.
pub(crate) const SIZE: Dimension = Dimension {
    name: "size",
    example: "1500 B",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    written: 4,
    decimals: false,
    max: 1_000_000_000_000_000,
    zero: true,
};

/// Queue lengths in packets; those in bytes are sizes.
pub(crate) const PACKETS: Dimension = Dimension {
    name: "queue length",
    example: "50 packets",
    units: &[("packets", 1), ("packet", 1)],
    written: 1,
    decimals: false,
    max: 1_000_000_000,
    zero: false,
};

/// Buffers in bandwidth-delay products, in thousandths.
const BDP: Dimension = Dimension {
    name: "buffer",
    example: "1 BDP",
    units: &[("BDP", 1_000)],
    written: 1,
    decimals: true,
    max: 1_000_000,
    zero: false,
};

/// Buffers as the time that the link takes to send them, in nanoseconds: at most an hour.
const BUFFER_TIME: Dimension =
    Dimension { name: "buffer", example: "50 ms", max: 3_600_000_000_000, zero: false, ..TIME };

/// Contents of token buckets, in thousandths of a packet; those in bytes are sizes.
const TOKEN_PACKETS: Dimension = Dimension {
    name: "number of packets",
    example: "45 packets",
    units: &[("packets", 1_000), ("packet", 1_000)],
    written: 1,
    decimals: true,
    max: 8_000_000_000,
    zero: true,
};

/// Fill rates of token buckets, in thousandths of a packet per second.
const PACKET_RATE: Dimension = Dimension {
    name: "rate of packets",
    example: "45 packets/s",
    units: &[("packets/s", 1_000), ("packet/s", 1_000)],
    written: 1,
    decimals: true,
    max: 1_000_000_000_000_000,
    zero: true,
};

/// Rates including zero, in bit/s.
const RATE_OR_ZERO: Dimension = Dimension { zero: true, ..RATE };

impl Dimension {
    /// Parses a value in the smallest step. Fails with the message and the nearest valid unit.
    pub fn parse(&self, text: &str) -> Result<u64, (String, Option<String>)> {
        let plain = |message: String| Err((message, None));
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return plain(format!("\"{text}\" is negative; a {} is not", self.name));
        }
        let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (digits, unit) = trimmed.split_at(end.unwrap_or(trimmed.len()));
        let unit = unit.trim_start();
        let Some((mantissa, decimals)) = number(digits) else {
            return plain(format!(
                "\"{text}\" is not a {}; write e.g. \"{}\"",
                self.name, self.example
            ));
        };
        if unit.is_empty() {
            return plain(format!("\"{text}\" has no unit; write e.g. \"{}\"", self.example));
        }
        let Some((_, step)) = self.units.iter().find(|(symbol, _)| *symbol == unit) else {
            return Err(self.unknown_unit(text, digits, unit));
        };
        // A product of numbers below 10²² and 10¹⁴ is below 2¹²⁸.
        let scale = 10u128.pow(decimals);
        let value = (mantissa * step + scale / 2) / scale;
        match u64::try_from(value) {
            Ok(0) if mantissa > 0 => {
                plain(format!("\"{text}\" is less than {}, the smallest step", self.write(1)))
            }
            Ok(0) if !self.zero => plain(format!("\"{text}\": a {} must not be zero", self.name)),
            Ok(value) if u128::from(value) <= self.max => Ok(value),
            _ => plain(format!(
                "\"{text}\" is beyond any sense; at most \"{}\"",
                self.write(self.max as u64)
            )),
        }
    }

    fn unknown_unit(&self, text: &str, digits: &str, unit: &str) -> (String, Option<String>) {
        if ["k", "K", "M", "G", "T"].contains(&unit) {
            return (format!("\"{text}\" has no unit; write e.g. \"{}\"", self.example), None);
        }
        let symbols = || self.units.iter().map(|(symbol, _)| *symbol);
        // Common names of these units.
        let usual =
            unit.replace("bit", "b").replace("bps", "b/s").replace("sec", "s").replace('µ', "u");
        let folded = symbols().find(|symbol| symbol.eq_ignore_ascii_case(&usual));
        let likely = folded.or_else(|| nearest(&usual, symbols()));
        let all: Vec<_> = symbols().collect();
        let all = all.join(", ");
        let message = format!("\"{unit}\" is not a unit of a {}; units are {all}", self.name);
        (message, likely.map(|symbol| format!("{digits} {symbol}")))
    }

    /// Writes the value with the largest decimal unit not above it.
    pub fn write(&self, value: u64) -> String {
        let value = u128::from(value);
        let units = self.units[..self.written].iter().rev();
        let fills = |unit: &&Unit| unit.1 <= value && (self.decimals || value % unit.1 == 0);
        let (symbol, step) = units.clone().find(fills).unwrap_or(&self.units[0]);
        let places = step.ilog10() as usize;
        let fraction = format!("{:0places$}", value % step);
        match fraction.trim_end_matches('0') {
            "" => format!("{} {symbol}", value / step),
            digits => format!("{}.{digits} {symbol}", value / step),
        }
    }

    /// Returns a regular expression for valid texts.
    pub fn pattern(&self) -> String {
        let symbols: Vec<_> = self.units.iter().map(|(symbol, _)| *symbol).collect();
        format!("^[0-9]+(\\.[0-9]+)? *({})$", symbols.join("|"))
    }
}

/// Parses digits as an integer, with the number of decimals.
fn number(digits: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let all = format!("{}{fraction}", whole.trim_start_matches('0'));
    // 22 digits are more than any quantity needs.
    (all.len() <= 22).then(|| (all.parse().unwrap_or(0), fraction.len() as u32))
}

/// Parses a queue length or buffer, in packets or bytes.
pub(crate) fn parse_queue_length(text: &str) -> Result<QueueLength, (String, Option<String>)> {
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
    if SIZE.units.iter().any(|(symbol, _)| *symbol == unit) {
        return match SIZE.parse(text)? {
            0 => Err((format!("\"{text}\": a queue length must not be zero"), None)),
            bytes => Ok(QueueLength::Bytes(Bytes::new(bytes))),
        };
    }
    if unit.starts_with("packet") && text.contains('.') {
        return Err((format!("\"{text}\": packets are whole"), None));
    }
    let packets = PACKETS.parse(text).map_err(|(message, near)| {
        (message.replace("packets, packet", "packets, B, kB, MB, GB, KiB, MiB, GiB"), near)
    })?;
    Ok(QueueLength::Packets(u32::try_from(packets).expect("the limit is below 2³²")))
}

/// Parses a buffer: packets, bytes, a time or bandwidth-delay products.
pub(crate) fn parse_buffer(text: &str) -> Result<BufferSize, (String, Option<String>)> {
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
    if unit.eq_ignore_ascii_case("BDP") {
        let same_case = text.replace(unit, "BDP");
        return BDP.parse(&same_case).map(|thousandths| BufferSize::Bdp { thousandths });
    }
    if BUFFER_TIME.units.iter().any(|(symbol, _)| *symbol == unit) {
        return BUFFER_TIME.parse(text).map(|ns| BufferSize::Time(Span::from_nanos(ns)));
    }
    parse_queue_length(text).map(BufferSize::Length).map_err(|(message, near)| {
        (message.replace("KiB, MiB, GiB", "KiB, MiB, GiB, us, ms, s, BDP"), near)
    })
}

/// Writes a buffer as it is read.
pub(crate) fn write_buffer(size: BufferSize) -> String {
    match size {
        BufferSize::Length(length) => length.to_string(),
        BufferSize::Time(time) => BUFFER_TIME.write(time.as_nanos()),
        BufferSize::Bdp { thousandths } => BDP.write(thousandths),
    }
}

/// Returns the pattern of buffers.
pub(crate) fn buffer_pattern() -> String {
    let all = [SIZE.pattern(), BUFFER_TIME.pattern(), BDP.pattern()].join("|");
    format!("^[0-9]+ *packets?$|{all}")
}

/// Parses a quantity of a token bucket: in packets, or as `other`.
fn parse_tokens<T>(
    text: &str,
    [packets, other]: [&Dimension; 2],
    made: [fn(u64) -> T; 2],
) -> Result<T, (String, Option<String>)> {
    let place = usize::from(!text.contains("packet"));
    let read = [packets, other][place].parse(text).map(made[place]);
    let symbols = |dimension: &Dimension| {
        dimension.units.iter().map(|(symbol, _)| *symbol).collect::<Vec<_>>().join(", ")
    };
    read.map_err(|(message, near)| {
        let all = format!("{}, {}", symbols(packets), symbols(other));
        (message.replace(&symbols([packets, other][place]), &all), near)
    })
}

/// Parses an amount in a token bucket.
pub(crate) fn parse_token_amount(text: &str) -> Result<Tokens, (String, Option<String>)> {
    let in_packets = |thousandths| Tokens::Packets { thousandths };
    parse_tokens(text, [&TOKEN_PACKETS, &SIZE], [in_packets, |b| Tokens::Bytes(Bytes::new(b))])
}

/// Parses the fill rate of a token bucket.
pub(crate) fn parse_token_rate(text: &str) -> Result<TokenRate, (String, Option<String>)> {
    let in_packets = |thousandths_per_sec| TokenRate::Packets { thousandths_per_sec };
    let in_bits = |bps| TokenRate::Bits(Rate::from_bps(bps));
    parse_tokens(text, [&PACKET_RATE, &RATE_OR_ZERO], [in_packets, in_bits])
}

/// Writes an amount in a token bucket.
pub(crate) fn write_token_amount(tokens: Tokens) -> String {
    match tokens {
        Tokens::Packets { thousandths } => TOKEN_PACKETS.write(thousandths),
        Tokens::Bytes(bytes) => SIZE.write(bytes.get()),
    }
}

/// Writes the fill rate of a token bucket.
pub(crate) fn write_token_rate(rate: TokenRate) -> String {
    match rate {
        TokenRate::Packets { thousandths_per_sec } => PACKET_RATE.write(thousandths_per_sec),
        TokenRate::Bits(rate) => RATE_OR_ZERO.write(rate.as_bps()),
    }
}

/// Returns the patterns of both: in packets, or as the other dimension.
pub(crate) fn token_patterns() -> [String; 2] {
    let either = |a: &Dimension, b: &Dimension| format!("{}|{}", a.pattern(), b.pattern());
    [either(&TOKEN_PACKETS, &SIZE), either(&PACKET_RATE, &RATE_OR_ZERO)]
}

/// A type written as a quantity.
pub(crate) trait Quantity: Sized {
    const DIMENSION: Dimension;
    fn from_steps(steps: u64) -> Self;
    fn steps(&self) -> u64;
}
impl Quantity for Rate {
    const DIMENSION: Dimension = RATE;
    fn from_steps(steps: u64) -> Self {
        Rate::from_bps(steps)
    }
    fn steps(&self) -> u64 {
        self.as_bps()
    }
}
impl Quantity for RateOrOutage {
    const DIMENSION: Dimension = RATE_OR_ZERO;
    fn from_steps(steps: u64) -> Self {
        RateOrOutage(Rate::from_bps(steps))
    }
    fn steps(&self) -> u64 {
        self.0.as_bps()
    }
}
impl Quantity for Span {
    const DIMENSION: Dimension = TIME;
    fn from_steps(steps: u64) -> Self {
        Span::from_nanos(steps)
    }
    fn steps(&self) -> u64 {
        self.as_nanos()
    }
}
impl Quantity for Bytes {
    const DIMENSION: Dimension = SIZE;
    fn from_steps(steps: u64) -> Self {
        Bytes::new(steps)
    }
    fn steps(&self) -> u64 {
        self.get()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        Bytes, Dimension, PACKETS, QueueLength, RATE, Rate, SIZE, TIME, TokenRate, Tokens,
    };
    use super::{parse_queue_length, parse_token_amount, parse_token_rate};
    use super::{write_token_amount, write_token_rate};

    #[test]
    fn decimal_fractions_are_exact() {
        for (dimension, text, want) in [
            (&RATE, "0.05 Mb/s", 50_000),
            (&RATE, "4.8Gb/s", 4_800_000_000),
            (&RATE, " 1.000  MB/s ", 8_000_000),
            (&RATE, "1 KiB/s", 8_192),
            (&TIME, "0.1 ms", 100_000),
            (&TIME, "2 h", 7_200_000_000_000),
            (&TIME, "1.4999999999 ns", 1),
            (&TIME, "0 s", 0),
            (&SIZE, "2 MiB", 2_097_152),
            (&SIZE, "64 kB", 64_000),
        ] {
            assert_eq!(dimension.parse(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", " ", "b/s", "1", "1.", ".5 b/s", "1.2.3 b/s", "1e3 b/s", "+1 b/s", "٣ b/s"]
        {
            assert!(RATE.parse(text).is_err(), "{text:?}");
        }
        assert!(TIME.parse("0.1 ns").is_err(), "less than a step is not zero");
        assert!(SIZE.parse(&format!("{} B", "9".repeat(30))).is_err());
    }

    #[test]
    fn queue_lengths_are_packets_or_bytes() {
        assert_eq!(parse_queue_length("50 packets"), Ok(QueueLength::Packets(50)));
        assert_eq!(parse_queue_length("1 packet"), Ok(QueueLength::Packets(1)));
        assert_eq!(
            parse_queue_length("75 kB").map(|length| length.to_string()),
            Ok("75 kB".to_owned())
        );
        assert!(parse_queue_length("0 packets").is_err());
        assert!(parse_queue_length("75 kb").is_err());
    }

    #[test]
    fn what_token_buckets_hold_is_packets_or_bytes_and_may_be_nothing() {
        for (text, want) in [
            ("45 packets", Tokens::Packets { thousandths: 45_000 }),
            ("4.5 packets", Tokens::Packets { thousandths: 4_500 }),
            ("0 packets", Tokens::Packets { thousandths: 0 }),
            ("64 kB", Tokens::Bytes(Bytes::new(64_000))),
            ("0 B", Tokens::Bytes(Bytes::ZERO)),
        ] {
            assert_eq!(parse_token_amount(text), Ok(want), "{text}");
            assert_eq!(write_token_amount(want), text);
        }
        for (text, want) in [
            ("45 packets/s", TokenRate::Packets { thousandths_per_sec: 45_000 }),
            ("0.5 packets/s", TokenRate::Packets { thousandths_per_sec: 500 }),
            ("540 kb/s", TokenRate::Bits(Rate::from_bps(540_000))),
            ("0 b/s", TokenRate::Bits(Rate::from_bps(0))),
        ] {
            assert_eq!(parse_token_rate(text), Ok(want), "{text}");
            assert_eq!(write_token_rate(want), text);
        }
    }

    #[test]
    fn an_invalid_token_rate_is_reported_with_all_units() {
        for text in ["45 pakets/s", "45 packets/h"] {
            let (message, near) = parse_token_rate(text).expect_err("is no unit");
            assert!(message.contains("packets/s, packet/s, b/s"), "{message}");
            assert!(near.is_none_or(|near| parse_token_rate(&near).is_ok()));
        }
        let (message, _) = parse_token_amount("0.0001 packets").expect_err("is too little");
        assert_eq!(message, "\"0.0001 packets\" is less than 0.001 packets, the smallest step");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in 1..=PACKETS.max as u64, large in 0..=TIME.max as u64) {
            for dimension in [&RATE, &TIME, &SIZE, &PACKETS] {
                let both = [value, large.clamp(1, dimension.max as u64)];
                for value in both {
                    prop_assert_eq!(dimension.parse(&dimension.write(value)), Ok(value));
                }
            }
        }

        #[test]
        fn any_text_gets_an_answer(text in any::<String>()) {
            let dimensions: [&Dimension; 4] = [&RATE, &TIME, &SIZE, &PACKETS];
            dimensions.iter().for_each(|dimension| drop(dimension.parse(&text)));
            drop(parse_queue_length(&text));
            drop(parse_token_amount(&text));
            drop(parse_token_rate(&text));
        }
    }
}
