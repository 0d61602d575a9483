//! Conversion of packets to and from the view that stages have of them.

use tidegate_mechanisms::stage::{Crossing, Declared, Ecn, Passing, Sequence, Tunnel};
use tidegate_mechanisms::units::{Bytes, Time};

use crate::packet::{PackedPacket, TunnelHeader, flags};

/// Returns a packet as stages see it, without headers of its connection and tunnel.
pub fn passing(packed: PackedPacket, user: u32, signal: f32, now: Time) -> Passing {
    let CongestionHeader { ecn, declared } = header_of(packed.flags());
    Passing {
        now,
        len: Bytes::new(packed.len().into()),
        user,
        flow: packed.flow(),
        sequence: None,
        is_ack: packed.has(flags::ACK),
        is_request: packed.has(flags::SYN),
        ecn,
        tunnel: None,
        tunnel_end: None,
        declared,
        signal,
        lower_effort: packed.has(flags::LOWER_EFFORT),
    }
}

/// Returns the position of a packet within its connection.
pub fn sequence_of(packed: &PackedPacket) -> Sequence {
    let (connection, number) = (packed.connection(), packed.number());
    Sequence { connection, number, sent: packed.stamp() }
}

/// Returns the tunnel of a packet from its header.
pub fn tunnel_of(packed: &PackedPacket, header: TunnelHeader) -> Tunnel {
    let TunnelHeader { teid, sequence, re_inserted } = header;
    let inner_ecn = ecn_of(packed.flags(), flags::INNER_ECT, flags::INNER_ECT_1, flags::INNER_CE);
    Tunnel { teid, sequence, inner_ecn, re_inserted }
}

/// Congestion fields of a packet's header, as stages see them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionHeader {
    /// The ECN field.
    pub ecn: Ecn,
    /// Declarations of the sender.
    pub declared: Declared,
}

/// Returns the congestion fields of these flags.
pub fn header_of(flags: u32) -> CongestionHeader {
    let has = |flag: u32| flags & flag != 0;
    let declared = Declared {
        conex: has(flags::CONEX),
        loss: has(flags::LOSS),
        mark: has(flags::MARK),
        credit: has(flags::CREDIT),
        re: has(flags::RE),
    };
    CongestionHeader { ecn: ecn_of(flags, flags::ECT, flags::ECT_1, flags::CE), declared }
}

fn ecn_of(flags: u32, ect: u32, ect_1: u32, ce: u32) -> Ecn {
    match () {
        () if flags & ce != 0 => Ecn::Ce,
        () if flags & ect == 0 => Ecn::NotEct,
        () if flags & ect_1 != 0 => Ecn::Ect1,
        () => Ecn::Ect0,
    }
}

/// Returns a packet as a tunnel end sees it.
#[inline(always)]
pub fn crossing(
    packed: &PackedPacket,
    header: Option<TunnelHeader>,
    (user, tunnel_end): (u32, Option<u32>),
    now: Time,
) -> Crossing {
    let flags = packed.flags();
    Crossing {
        now,
        len: Bytes::new(packed.len().into()),
        user,
        flow: packed.flow(),
        connection: packed.connection(),
        is_ack: flags & flags::ACK != 0,
        is_request: flags & flags::SYN != 0,
        declares: flags & flags::CONEX != 0 && flags & (flags::LOSS | flags::MARK) != 0,
        ecn: ecn_of(flags, flags::ECT, flags::ECT_1, flags::CE),
        tunnel: header.map(|header| tunnel_of(packed, header)),
        tunnel_end,
    }
}

/// Returns `before` with its congestion fields replaced. ECT stays set together with CE, since it records the sender's
/// codepoint.
pub fn flags_of(header: CongestionHeader, inner_ecn: Option<Ecn>, before: u32) -> u32 {
    use flags::*;
    const DECLARED: u32 = CONEX | LOSS | MARK | CREDIT | RE;
    let Declared { conex, loss, mark, credit, re } = header.declared;
    let declared = [(conex, CONEX), (loss, LOSS), (mark, MARK), (credit, CREDIT), (re, RE)];
    let declared = declared.iter().filter(|(holds, _)| *holds).fold(0, |all, (_, flag)| all | flag);
    with_ecn(header.ecn, inner_ecn, before & !DECLARED) | declared
}

/// Returns `before` with its ECN fields replaced.
#[inline]
pub fn with_ecn(outer: Ecn, inner: Option<Ecn>, before: u32) -> u32 {
    use flags::*;
    const INNER: u32 = TUNNEL | INNER_ECT | INNER_ECT_1 | INNER_CE;
    let ecn = |field: Ecn, ect: u32, ect_1: u32, ce: u32| match field {
        Ecn::NotEct => 0,
        Ecn::Ect0 => ect,
        Ecn::Ect1 => ect | ect_1,
        Ecn::Ce => before & (ect | ect_1) | ce,
    };
    let inner = inner.map(|field| TUNNEL | ecn(field, INNER_ECT, INNER_ECT_1, INNER_CE));
    let other = before & !(ECT | ECT_1 | CE | INNER);
    other | ecn(outer, ECT, ECT_1, CE) | inner.unwrap_or(0)
}

/// How many stages of its present place have held a packet with these flags.
pub fn held(flags: u32) -> u32 {
    u32::from(flags & flags::HELD != 0) + 2 * u32::from(flags & flags::HELD_TWICE != 0)
}

/// Returns the flags of a packet that this number of stages of its present place have held.
pub fn with_held(flags: u32, held: u32) -> u32 {
    let bit = |place: u32, flag| if held >> place & 1 == 1 { flag } else { 0 };
    flags & !(flags::HELD | flags::HELD_TWICE) | bit(0, flags::HELD) | bit(1, flags::HELD_TWICE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;

    const HEADER: TunnelHeader = TunnelHeader { teid: 7, sequence: 9, re_inserted: Some(true) };

    fn seen(flags: u32) -> Passing {
        let packed = PackedPacket::of(&Packet { flags, len: 1500, ..Packet::default() });
        let tunnel = (flags & flags::TUNNEL != 0).then(|| tunnel_of(&packed, HEADER));
        Passing { tunnel, ..passing(packed, 0, 0.0, Time::ZERO) }
    }

    #[test]
    fn what_stages_leave_alone_stays_and_what_they_write_is_read_again() {
        let fields = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let tunnels = fields.map(Some).into_iter().chain([None]);
        let words = [0, 0b1_1111, 0b0_1010, 0b1_0101];
        for (ecn, inner_ecn, bits) in tunnels
            .flat_map(|inner| fields.map(|ecn| (ecn, inner)))
            .flat_map(|(ecn, inner)| words.map(|bits| (ecn, inner, bits)))
        {
            let bit = |place: u32| bits >> place & 1 == 1;
            let [conex, loss, mark, credit, re] = [0, 1, 2, 3, 4].map(bit);
            let declared = Declared { conex, loss, mark, credit, re };
            let own = flags::ACK | flags::SACK | flags::AE;
            let TunnelHeader { teid, sequence, re_inserted } = HEADER;
            let tunnel = |inner_ecn| Tunnel { teid, sequence, inner_ecn, re_inserted };
            let written = Passing { ecn, tunnel: inner_ecn.map(tunnel), declared, ..seen(own) };
            let flags = flags_of(CongestionHeader { ecn, declared }, inner_ecn, own);
            assert_eq!(seen(flags), written);
            let again = flags_of(header_of(flags), inner_ecn, flags);
            assert_eq!(again, flags, "{ecn:?} {inner_ecn:?} {bits:b}");
            assert_eq!(flags & own, own);
        }
    }

    /// A mark by a queue does the same: the sender's own codepoint remains distinguishable.
    #[test]
    fn a_mark_leaves_what_the_sender_has_set() {
        let before = flags::ECT | flags::ECT_1;
        let marked = CongestionHeader { ecn: Ecn::Ce, ..CongestionHeader::default() };
        assert_eq!(flags_of(marked, None, before), before | flags::CE);
    }
}
