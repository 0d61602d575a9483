//! Maps whose keys are numbers of a run's own, such as those of links. A large network looks each of its routes up, and
//! no key comes from outside, so a cheap hash is enough. The order of such a map must decide nothing, as that of any.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with keys made of numbers.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Multiplicative hash of words.
#[derive(Clone, Copy, Default)]
pub struct NumberHasher(u64);

impl NumberHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        // The golden ratio, as in SplitMix64: an odd number whose bits are spread evenly.
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for NumberHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.add(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.add(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // A product's low bits depend on few bits, and maps choose places by them.
        self.0.rotate_left(26)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_that_differ_in_a_link_have_places_of_their_own() {
        let mut known = NumberMap::default();
        for link in 0..100_000u32 {
            known.insert((vec![link, 7, link + 1], Some(link % 3)), link);
        }
        assert_eq!(known.len(), 100_000);
        assert_eq!(known.get(&(vec![5, 7, 6], Some(2))), Some(&5));
        assert_eq!(known.get(&(vec![5, 7, 5], Some(2))), None);
    }
}
