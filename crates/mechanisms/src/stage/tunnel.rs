//! What the two ends of a mobile network's tunnel have in common: its header, and what becomes of ECN fields.

use super::Ecn;
use crate::units::Bytes;
use crate::words;

/// What the header of a tunnel says (GTP-U, 3GPP TS 29.281), and the inner header's ECN field. The outer one
/// is [`Passing::ecn`](super::Passing::ecn).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Which tunnel (TEID).
    pub teid: u32,
    /// Number of the packet in its tunnel, modulo 2¹⁶.
    pub sequence: u16,
    /// ECN field of the user's packet.
    pub inner_ecn: Ecn,
    /// Whether congestion that an earlier packet of the user has met was written into this one's header, for the
    /// nodes between to see; `None` where there is no room for it.
    pub re_inserted: Option<bool>,
}

/// IPv4, UDP, and GTP-U with a sequence number.
const HEADERS: Bytes = Bytes::new(20 + 8 + 12);
/// The extension header into which congestion is re-inserted.
const EXTENSION: Bytes = Bytes::new(4);

impl Tunnel {
    /// Why a packet is dropped at the end of tunnels that knows none of its number.
    pub const UNKNOWN: &'static str = "no such tunnel";

    /// What a packet is longer by in a tunnel with or without room for re-inserting.
    pub fn overhead(has_room: bool) -> Bytes {
        if has_room { HEADERS + EXTENSION } else { HEADERS }
    }

    /// The size of a packet that leaves a tunnel.
    pub fn without(len: Bytes, has_room: bool) -> Bytes {
        Bytes::new(len.get() - Self::overhead(has_room).get())
    }
}

words! {
    /// ECN fields at encapsulation and decapsulation.
    pub enum EcnRules {
        /// As today: the outer field is the inner one, a mark on what is not ECN-capable is a loss (RFC 6040, RFC
        /// 9601).
        Rfc6040 = "rfc6040",
        /// As in "Metering Re-ECN", section III: all that is in the tunnel may be marked, and what is not
        /// ECN-capable stays as it was.
        ReEcn = "re-ecn",
        /// As in RFC 7713, section 5.5: all that is in the tunnel may be marked, and a mark on what is not ECN-capable is
        /// a loss, which shows before its end.
        Rfc7713 = "rfc7713",
    }
}

impl EcnRules {
    /// The outer field of a packet that enters.
    pub const fn encapsulate(self, inner: Ecn) -> Ecn {
        match (self, inner) {
            (EcnRules::ReEcn | EcnRules::Rfc7713, Ecn::NotEct) => Ecn::Ect0,
            _ => inner,
        }
    }

    /// The field of the packet that leaves; `None` if it is dropped.
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

    /// RFC 7713, section 5.5: the outer field is capable whatever the inner one is, and the end is that of RFC 6040.
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

    /// "Metering Re-ECN", section III, step 1: capable in the tunnel; what is not capable is left intact.
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
