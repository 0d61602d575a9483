//! Addresses and prefixes as the maps have them: 16 bytes, IPv4 as ::ffff:a.b.c.d.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits before an IPv4 address.
pub const MAPPED_BITS: u32 = 96;

/// A prefix of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    /// Of 128, with the 96 before an IPv4 address.
    pub bits: u32,
    /// Bits beyond the prefix are zero.
    pub address: [u8; 16],
}

/// An address as the maps have it.
pub fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// An address of a map, as people write it.
pub fn unmapped(address: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(address).to_canonical()
}

impl Prefix {
    /// The prefix of one address.
    pub fn host(address: IpAddr) -> Prefix {
        Prefix { bits: 128, address: mapped(address) }
    }

    /// Reads `192.0.2.0/24`, `2001:db8::/32`, or one address.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Prefix, String> {
        let example = "write e.g. 192.0.2.0/24 or 2001:db8::/32";
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address
            .parse()
            .map_err(|_| format!("\"{text}\" is no address or prefix; {example}"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits.map(str::parse::<u32>) {
            None => most,
            Some(Ok(bits)) if bits <= most => bits,
            Some(_) => {
                return Err(format!("\"{text}\": the length is from 0 to {most}; {example}"));
            }
        };
        let bits = if address.is_ipv4() { bits + MAPPED_BITS } else { bits };
        let prefix = Prefix { bits, address: mask(mapped(address), bits) };
        if prefix.address != mapped(address) {
            return Err(format!("\"{text}\" has bits beyond its length; write {prefix}"));
        }
        Ok(prefix)
    }

    /// The prefix of fewer bits around this one.
    pub fn shortened(&self, bits: u32) -> Prefix {
        Prefix { bits, address: mask(self.address, bits) }
    }

    /// Whether another prefix lies in this one, or is the same.
    pub fn contains(&self, other: &Prefix) -> bool {
        self.bits <= other.bits && mask(other.address, self.bits) == self.address
    }

    /// Whether this is all of IPv4.
    pub fn is_all_ipv4(&self) -> bool {
        *self == Prefix { bits: MAPPED_BITS, address: mapped(Ipv4Addr::UNSPECIFIED.into()) }
    }

    /// Whether this is IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.bits >= MAPPED_BITS && unmapped(self.address).is_ipv4()
    }

    /// Whether its first address is one that the programs never judge: unspecified, loopback, link-local, multicast.
    pub fn is_local(&self) -> bool {
        match unmapped(self.address) {
            IpAddr::V4(v4) => {
                let first = v4.octets()[0];
                first == 0 || first == 127 || first >= 224 || v4.is_link_local()
            }
            IpAddr::V6(v6) => {
                let octets = v6.octets();
                octets[..8] == [0; 8] || v6.is_multicast() || v6.is_unicast_link_local()
            }
        }
    }

    /// Reads prefixes that stand between commas or spaces.
    ///
    /// # Errors
    /// What is wrong with the first that cannot be read.
    pub fn parse_all(text: &str) -> Result<Vec<Prefix>, String> {
        let words = text.split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty());
        words.map(Prefix::parse).collect()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = unmapped(self.address);
        let before = if address.is_ipv4() { MAPPED_BITS } else { 0 };
        write!(f, "{address}/{}", self.bits.saturating_sub(before))
    }
}

fn mask(address: [u8; 16], bits: u32) -> [u8; 16] {
    let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
    (u128::from_be_bytes(address) & mask).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read_and_written() {
        for text in ["192.0.2.0/24", "0.0.0.0/0", "10.1.2.3/32", "2001:db8::/32", "::/0"] {
            assert_eq!(Prefix::parse(text).map(|prefix| prefix.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(Prefix::parse("10.1.2.3"), Prefix::parse("10.1.2.3/32"));
        let all = Prefix::parse_all("10.0.0.0/8, fd00::/8").expect("they are right");
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn errors_say_what_to_write() {
        for (text, want) in [
            ("10.0.0", "no address"),
            ("10.0.0.0/33", "from 0 to 32"),
            ("::/129", "from 0 to 128"),
            ("10.0.0.1/8", "write 10.0.0.0/8"),
            ("10.0.0.0/x", "from 0 to 32"),
        ] {
            let error = Prefix::parse(text).expect_err("it is wrong");
            assert!(error.contains(want), "{error}");
        }
    }
}
