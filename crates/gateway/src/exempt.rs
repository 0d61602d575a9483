//! Where no address that is exempt can be, so that the programs need not ask the trie of prefixes for most packets.
//!
//! ```text
//! bit of an address = (first half & mask ⊕ second half & mask) · 2⁶⁴/φ  ≫ 58
//! ```
//!
//! The masks leave the bits that all prefixes of a family have. An address in one of them has the bit that the prefix
//! has set; one in none has a bit that is set by chance. Twin of `struct exempt_filter` in `bpf/gateway/gateway.bpf.c`.

use crate::prefix::{MAPPED_BITS, Prefix, mapped};

/// 2⁶⁴ over the golden ratio.
const HASH: u64 = 0x9e37_79b9_7f4a_7c15;

/// The filter, as the settings have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExemptFilter {
    /// A bit for each value of the hash.
    pub bits: u64,
    /// Of an IPv4 address, as its bytes lie in memory; the first half of such an address is 0.
    pub ipv4_mask: u64,
    /// Of the halves of an IPv6 address.
    pub ipv6_masks: [u64; 2],
}

impl ExemptFilter {
    /// Of these prefixes.
    pub fn of(prefixes: &[Prefix]) -> ExemptFilter {
        let all_ipv4 = Prefix { bits: MAPPED_BITS, address: mapped([0; 4].into()) };
        // One of IPv6 may have all of IPv4 in it.
        let ipv4: Vec<&Prefix> = prefixes
            .iter()
            .filter(|one| all_ipv4.contains(one) || one.contains(&all_ipv4))
            .collect();
        let ipv6: Vec<&Prefix> = prefixes.iter().filter(|one| !all_ipv4.contains(one)).collect();
        let masks = |of: &[&Prefix]| {
            let ones = Prefix { bits: 128, address: [0xff; 16] };
            let shortest = of.iter().map(|one| one.bits).min();
            shortest.map_or([0; 2], |bits| halves(ones.shortened(bits).address))
        };
        let [_, ipv4_mask] = masks(&ipv4);
        let mut filter = ExemptFilter { bits: 0, ipv4_mask, ipv6_masks: masks(&ipv6) };
        for (family, is_ipv4) in [(ipv4, true), (ipv6, false)] {
            for prefix in family {
                filter.bits |= filter.bit(prefix.address, is_ipv4);
            }
        }
        filter
    }

    /// The bit of an address.
    fn bit(&self, address: [u8; 16], is_ipv4: bool) -> u64 {
        let [first, second] = halves(address);
        let left = match is_ipv4 {
            true => second & self.ipv4_mask,
            false => first & self.ipv6_masks[0] ^ second & self.ipv6_masks[1],
        };
        1 << (left.wrapping_mul(HASH) >> 58)
    }

    /// In the order of the settings.
    pub fn words(self) -> [u64; 4] {
        [self.bits, self.ipv4_mask, self.ipv6_masks[0], self.ipv6_masks[1]]
    }
}

/// An address as two words, as its bytes lie in memory.
fn halves(address: [u8; 16]) -> [u64; 2] {
    let (first, second) = address.split_at(8);
    [first, second].map(|half| u64::from_ne_bytes(half.try_into().expect("eight bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str) -> Prefix {
        Prefix::parse(text).expect("it is right")
    }

    fn may_be_exempt(filter: &ExemptFilter, text: &str) -> bool {
        let host = prefix(text);
        filter.bits & filter.bit(host.address, host.is_ipv4()) != 0
    }

    #[test]
    fn nothing_is_exempt_without_prefixes() {
        let filter = ExemptFilter::of(&[]);
        assert!(!may_be_exempt(&filter, "10.0.0.1") && !may_be_exempt(&filter, "2001:db8::1"));
    }

    #[test]
    fn addresses_of_the_box_leave_out_most_others() {
        let own = ["10.0.0.1", "192.0.2.1", "2001:db8:1::1", "2001:db8:2::1"].map(prefix);
        let filter = ExemptFilter::of(&own);
        for one in own {
            assert!(may_be_exempt(&filter, &one.to_string()));
        }
        let others = (2..=255).map(|last| format!("10.0.7.{last}"));
        let asked = others.filter(|other| may_be_exempt(&filter, other)).count();
        // Four bits of 64 are 6 %.
        assert!(asked < 254 / 8, "{asked}");
    }

    #[test]
    fn a_prefix_around_all_of_ipv4_holds_ipv4() {
        let filter = ExemptFilter::of(&[prefix("::/0")]);
        assert!(may_be_exempt(&filter, "10.0.0.1") && may_be_exempt(&filter, "2001:db8::1"));
    }

    proptest! {
        /// What the trie would find is always asked for.
        #[test]
        fn no_address_of_a_prefix_is_left_out(
            addresses in prop::collection::vec((any::<u128>(), 0..=128u32, any::<bool>()), 1..20),
            low in any::<u128>(),
        ) {
            let prefixes: Vec<_> = addresses.iter().map(|&(address, bits, is_ipv4)| {
                let bits = if is_ipv4 { MAPPED_BITS + bits / 4 } else { bits };
                let address = match is_ipv4 {
                    true => mapped((address as u32).to_be_bytes().into()),
                    false => address.to_be_bytes(),
                };
                Prefix { bits: 128, address }.shortened(bits)
            }).collect();
            let filter = ExemptFilter::of(&prefixes);
            for prefix in &prefixes {
                let beyond = u128::MAX.checked_shr(prefix.bits).unwrap_or(0);
                let address = u128::from_be_bytes(prefix.address) | low & beyond;
                let host = Prefix { bits: 128, address: address.to_be_bytes() };
                prop_assert!(prefix.contains(&host));
                prop_assert!(filter.bits & filter.bit(host.address, host.is_ipv4()) != 0);
            }
        }
    }
}
