//! Random numbers: one seed per run, one named stream per component.
//!
//! The streams of ChaCha are disjoint by construction, and neighbouring seeds are unrelated. A name identifies the
//! component and the purpose (`flow/heavy.0.2/start`, `link/bottleneck/aqm`), never a position in a list: adding a
//! user, a flow, a link or a stage leaves the random numbers of all others unchanged, so that two scenarios run with
//! the same seed have common random numbers.

use core::fmt::{self, Display, Write};
use std::borrow::Cow;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::{PausePlan, Plan};

/// Random numbers of one component.
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// Returns the stream of the component called `name` in the run with this seed.
    pub fn new(seed: u64, name: impl Display) -> Self {
        Stream(generator(seed, fnv1a(name)))
    }

    /// Returns the stream of a flow (an index into [`Plan::flows`]) for this purpose.
    pub fn of_flow(seed: u64, plan: &Plan, flow: usize, purpose: &str) -> Self {
        Stream::new(seed, format_args!("flow/{}/{purpose}", plan.flow_name(flow)))
    }

    /// Draws uniformly from `[0, 1)`, with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws uniformly from `0..=max`, by scaling 32 random bits, or 64 if `max` does not fit in 32 bits.
    #[inline]
    pub fn up_to(&mut self, max: u64) -> u64 {
        up_to(max, || self.0.next_u32())
    }

    /// Draws from the standard normal distribution (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let (radius, turn) = (libm::sqrt(2.0 * self.exponential()), self.unit());
        radius * libm::cos(core::f64::consts::TAU * turn)
    }

    /// Draws the pause after a transfer that took this long.
    pub fn pause(&mut self, plan: PausePlan, took: Span) -> Span {
        match plan {
            PausePlan::Fixed(span) => span,
            PausePlan::Exponential(mean) => {
                Span::from_secs_f64(mean.as_secs() * self.exponential())
            }
            PausePlan::Every { mean, deviation } => {
                let apart_s = mean.as_secs() + deviation.as_secs() * self.normal();
                Span::from_secs_f64((apart_s - took.as_secs()).max(0.0))
            }
        }
    }

    /// Draws from the gamma distribution with this shape and scale 1, whose mean is the shape (G. Marsaglia and W.
    /// Tsang, ACM Transactions on Mathematical Software 26(3), 2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let raised = libm::pow(1.0 - self.unit(), 1.0 / shape);
            return self.gamma(shape + 1.0) * raised;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let v = libm::pow(1.0 + c * x, 3.0);
            if v > 0.0 && -self.exponential() < x * x / 2.0 + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }

    /// Draws the number of trials up to the first success, each with this probability.
    pub fn geometric(&mut self, probability: f64) -> u64 {
        if probability >= 1.0 {
            return 1;
        }
        1 + (self.exponential() / -libm::log1p(-probability)) as u64
    }

    /// Draws from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

/// As [`Stream::up_to`]; `word` draws 32 bits.
#[inline]
fn up_to(max: u64, mut word: impl FnMut() -> u32) -> u64 {
    let first = u64::from(word());
    if max < u64::from(u32::MAX) {
        return (first * (max + 1)) >> 32;
    }
    let both = u64::from(word()) << 32 | first;
    ((u128::from(both) * (u128::from(max) + 1)) >> 64) as u64
}

/// Returns the label of a place in the names of random streams, which differs from the name of the place if that ends
/// in one of `LABELS`. Stored results depend on these labels: another label selects other random numbers.
pub fn stream_label(place: &str) -> Cow<'_, str> {
    let labelled = |(end, label): &(&str, &str)| Some(place.strip_suffix(end)?.to_owned() + label);
    LABELS.iter().find_map(labelled).map_or(Cow::Borrowed(place), Cow::Owned)
}

const LABELS: [(&str, &str); 3] =
    [(".ingress", ".entry"), (".egress", ".exit"), (".receiver_access.reverse", ".egress.reverse")];

/// Returns the generator at the beginning of a stream.
fn generator(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(b"tidegate");
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(stream);
    rng
}

/// Words buffered by a sparse stream: with the other state of a host they fill a cache line.
const FEW: usize = 10;

/// A [`Stream`] with a small buffer, recreated when that is used up.
pub struct SparseStream {
    stream: u64,
    /// Words generated so far.
    made: u32,
    /// Words left in the buffer: the last ones generated.
    left: u32,
    stock: [u32; FEW],
}

impl SparseStream {
    /// Returns the stream of the component called `name`.
    pub fn new(name: impl Display) -> Self {
        SparseStream { stream: fnv1a(name), made: 0, left: 0, stock: [0; FEW] }
    }

    /// As [`Stream::up_to`], in the run with this seed.
    #[inline(never)]
    pub fn up_to(&mut self, seed: u64, max: u64) -> u64 {
        up_to(max, || self.word(seed))
    }

    #[inline]
    fn word(&mut self, seed: u64) -> u32 {
        if self.left == 0 {
            self.fill(seed);
        }
        self.left -= 1;
        self.stock[FEW - 1 - self.left as usize]
    }

    #[inline(never)]
    fn fill(&mut self, seed: u64) {
        let mut rng = generator(seed, self.stream);
        rng.set_word_pos(self.made.into());
        self.stock.fill_with(|| rng.next_u32());
        (self.made, self.left) = (self.made + FEW as u32, FEW as u32);
    }
}

/// FNV-1a, 64 bits, of a name: stable across versions and machines.
fn fnv1a(name: impl Display) -> u64 {
    struct Hash(u64);
    impl Write for Hash {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            for &byte in part.as_bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    write!(hash, "{name}").expect("a hash takes everything");
    hash.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_alone() {
        let draw = |seed, name| Stream::new(seed, name).unit();
        assert_eq!(draw(1, "link/0"), draw(1, "link/0"));
        assert_ne!(draw(1, "link/0"), draw(2, "link/0"));
        assert_ne!(draw(1, "link/0"), draw(1, "link/1"));
    }

    /// Draws of 32 and of 64 bits, so that the latter straddle block ends.
    #[test]
    fn a_sparse_stream_gives_the_numbers_of_the_stream() {
        let (mut stream, mut sparse) = (Stream::new(9, "host"), SparseStream::new("host"));
        for draw in 0..300 {
            let max = if draw % 5 == 0 { u64::MAX / 3 } else { 120_000 };
            assert_eq!(sparse.up_to(9, max), stream.up_to(max), "draw {draw}");
        }
    }

    #[test]
    fn a_wide_draw_takes_the_bits_of_two_words() {
        let (mut stream, mut words) = (Stream::new(5, "wide"), Stream::new(5, "wide").0);
        for skipped in 0..200 {
            let word = words.next_u64();
            assert_eq!(stream.up_to(u64::MAX), word, "after {skipped}");
            assert_eq!(stream.0.next_u32(), words.next_u32());
        }
    }

    /// Mean and variance of a gamma distribution equal its shape; those of a geometric one are 1/p and (1 − p)/p².
    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let mut stream = Stream::new(5, "moments");
        let mut moments = |draw: &mut dyn FnMut(&mut Stream) -> f64| {
            let all: Vec<f64> = (0..50_000).map(|_| draw(&mut stream)).collect();
            let mean = all.iter().sum::<f64>() / 50_000.0;
            (mean, all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 50_000.0)
        };
        for shape in [0.3, 1.0, 2.5, 40.0] {
            let (mean, variance) = moments(&mut |stream| stream.gamma(shape));
            assert!((mean / shape - 1.0).abs() < 0.03, "{shape}: mean {mean}");
            assert!((variance / shape - 1.0).abs() < 0.08, "{shape}: variance {variance}");
        }
        for p in [1.0, 0.5, 0.02] {
            let (mean, variance) = moments(&mut |stream| stream.geometric(p) as f64);
            let want = (1.0 - p) / (p * p);
            assert!((mean * p - 1.0).abs() < 0.03, "{p}: mean {mean}");
            assert!((variance - want).abs() <= 0.08 * want, "{p}: variance {variance}");
        }
    }

    #[test]
    fn a_bounded_draw_reaches_both_ends_and_never_more() {
        let mut stream = Stream::new(5, "bounds");
        let draws: Vec<u64> = (0..1000).map(|_| stream.up_to(3)).collect();
        assert_eq!(draws.iter().min(), Some(&0));
        assert_eq!(draws.iter().max(), Some(&3));
    }

    /// The smallest and largest of 1000 draws lie in the outer hundredths, except in 4 of 100,000 cases.
    #[test]
    fn a_bounded_draw_reaches_beyond_32_bits() {
        let (mut stream, max) = (Stream::new(5, "bounds"), 100_000_000_000);
        let draws: Vec<u64> = (0..1000).map(|_| stream.up_to(max)).collect();
        assert!(draws.iter().all(|draw| *draw <= max));
        assert!(draws.iter().any(|draw| *draw < max / 100));
        assert!(draws.iter().any(|draw| *draw > max / 100 * 99));
        stream.up_to(u64::MAX);
    }
}
