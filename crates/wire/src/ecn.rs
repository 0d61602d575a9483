//! Explicit congestion notification (RFC 3168): two bits of every IP header.

/// ECN field. The numbers are the bits on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EcnField {
    /// Not ECN-capable: congestion is signalled by loss.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport, the codepoint of low-latency traffic (RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable transport.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl EcnField {
    /// Returns the ECN field from the lower two bits of IPv4's type of service or IPv6's traffic class.
    pub const fn from_traffic_class(class: u8) -> Self {
        match class & 0b11 {
            0b00 => EcnField::NotEct,
            0b01 => EcnField::Ect1,
            0b10 => EcnField::Ect0,
            _ => EcnField::Ce,
        }
    }

    /// Whether congestion may be signalled by a mark: ECT(0), ECT(1), or CE.
    pub const fn is_capable(self) -> bool {
        !matches!(self, EcnField::NotEct)
    }

    /// Whether a router may change the field to CE: ECT(0) or ECT(1).
    pub const fn is_ect(self) -> bool {
        matches!(self, EcnField::Ect0 | EcnField::Ect1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_traffic_class_has_the_codepoint_of_its_lower_two_bits() {
        for class in 0..=u8::MAX {
            assert_eq!(EcnField::from_traffic_class(class) as u8, class & 0b11);
        }
    }
}
