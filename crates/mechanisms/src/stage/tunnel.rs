//! Common parts of both ends of a mobile network's tunnel: its header, and the rules for ECN fields.

use super::Ecn;
use crate::units::Bytes;
use crate::words;

/// Fields of a tunnel's header (GTP-U, 3GPP TS 29.281), and the inner header's ECN field. The outer one is
/// [`Passing::ecn`](super::Passing::ecn).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Tunnel endpoint identifier (TEID).
    pub teid: u32,
    /// Number of the packet in its tunnel, modulo 2¹⁶.
    pub sequence: u16,
    /// ECN field of the user's packet.
    pub inner_ecn: Ecn,
    /// Whether congestion of an earlier packet of the user was written into this header, for the nodes between to see;
    /// `None` without a field for it.
    pub re_inserted: Option<bool>,
}

/// Length of IPv4, UDP, and GTP-U with a sequence number.
const HEADERS: Bytes = Bytes::new(20 + 8 + 12);
/// Length of the extension header for re-inserted congestion.
const EXTENSION: Bytes = Bytes::new(4);

impl Tunnel {
    /// Drop reason for a packet with an unknown tunnel number.
    pub const UNKNOWN: &'static str = "no such tunnel";

    /// Returns the length added in a tunnel, with or without the field for re-insertion.
    pub fn overhead(has_room: bool) -> Bytes {
        if has_room { HEADERS + EXTENSION } else { HEADERS }
    }

    /// Returns the size of a packet after decapsulation.
    pub fn without(len: Bytes, has_room: bool) -> Bytes {
        Bytes::new(len.get() - Self::overhead(has_room).get())
    }
}

words! {
    /// Rules for ECN fields at encapsulation and decapsulation.
    pub enum EcnRules {
        /// The outer field copies the inner one; a mark on a packet that is not ECN-capable is a loss (RFC 6040, RFC
        /// 9601).
        Rfc6040 = "rfc6040",
        /// As in "Metering Re-ECN", section III: all packets in the tunnel may be marked, and packets that are not
        /// ECN-capable stay unchanged.
        ReEcn = "re-ecn",
        /// As in RFC 7713, section 5.5: all packets in the tunnel may be marked, and a mark on a packet that is not
        /// ECN-capable is a loss, visible in front of the tunnel's end.
        Rfc7713 = "rfc7713",
    }
}

impl EcnRules {
    /// Returns the outer field at encapsulation.
    pub const fn encapsulate(self, inner: Ecn) -> Ecn {
        match (self, inner) {
            (EcnRules::ReEcn | EcnRules::Rfc7713, Ecn::NotEct) => Ecn::Ect0,
            _ => inner,
        }
    }

    /// Returns the field after decapsulation; `None` if the packet is dropped.
    pub const fn decapsulate(self, inner: Ecn, outer: Ecn) -> Option<Ecn> {
        match (inner, outer) {
            (Ecn::NotEct, Ecn::Ce) if !matches!(self, EcnRules::ReEcn) => None,
            (Ecn::NotEct, _) => Some(Ecn::NotEct),
            (Ecn::Ce, _) | (_, Ecn::Ce) => Some(Ecn::Ce),
            (Ecn::Ect1, _) | (Ecn::Ect0, Ecn::Ect1) => Some(Ecn::Ect1),
            (Ecn::Ect0, _) => Some(Ecn::Ect0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

    /// RFC 6040, figure 4; rows: inner, columns: outer Not-ECT, ECT(0), ECT(1), CE.
    #[test]
    fn rfc_6040_decides_all_sixteen_combinations() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        let table = [
            (NotEct, [Some(NotEct), Some(NotEct), Some(NotEct), None]),
            (Ect0, [Some(Ect0), Some(Ect0), Some(Ect1), Some(Ce)]),
            (Ect1, [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)]),
            (Ce, [Some(Ce), Some(Ce), Some(Ce), Some(Ce)]),
        ];
        for (inner, decapsulate) in table {
            assert_eq!(ALL.map(|outer| EcnRules::Rfc6040.decapsulate(inner, outer)), decapsulate);
            assert_eq!(EcnRules::Rfc6040.encapsulate(inner), inner);
        }
    }

    /// RFC 7713, section 5.5: the outer field is always ECN-capable, and decapsulation is that of RFC 6040.
    #[test]
    fn rfc_7713_marks_everything_in_a_tunnel_and_loses_what_is_not_capable() {
        for inner in ALL {
            assert_eq!(EcnRules::Rfc7713.encapsulate(inner), EcnRules::ReEcn.encapsulate(inner));
            for outer in ALL {
                let left = EcnRules::Rfc7713.decapsulate(inner, outer);
                assert_eq!(
                    left,
                    EcnRules::Rfc6040.decapsulate(inner, outer),
                    "{inner:?} in {outer:?}"
                );
            }
        }
    }

    /// "Metering Re-ECN", section III, step 1: ECN-capable in the tunnel; packets that are not ECN-capable stay intact.
    #[test]
    fn re_ecn_marks_everything_in_a_tunnel_and_nothing_outside() {
        for inner in ALL {
            assert_ne!(EcnRules::ReEcn.encapsulate(inner), Ecn::NotEct);
            for outer in ALL {
                let left = EcnRules::ReEcn.decapsulate(inner, outer);
                let wanted = match inner {
                    Ecn::NotEct => Some(Ecn::NotEct),
                    _ => EcnRules::Rfc6040.decapsulate(inner, outer),
                };
                assert_eq!(left, wanted, "{inner:?} in {outer:?}");
            }
        }
    }
}
