//! Congestion fields in headers of real packets: reading and writing.

use std::net::IpAddr;

use tidegate_mechanisms::stage::{Declared, Ecn, ReEcn};
use tidegate_simulator::CongestionHeader;
use tidegate_wire::conex::{Cdo, Conex, Declaration};
use tidegate_wire::packet::{self, View};
use tidegate_wire::re_ecn::{self, ReEcnCodepoint};
use tidegate_wire::{self as wire, WireError};

/// Error in a packet's declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The packet could not be parsed: it declares nothing.
    Malformed(WireError),
    /// The fields are inconsistent, and ignored: L, E or C without X, a reserved bit, or the unused codepoint of
    /// re-ECN.
    Inconsistent,
}

/// Returns the congestion fields of a packet, and their errors.
pub fn read(bytes: &[u8], view: &View) -> (CongestionHeader, Result<(), Fault>) {
    let (declared, fault) = match declared(bytes, view) {
        Ok((declared, true)) => (declared, Err(Fault::Inconsistent)),
        Ok((declared, false)) => (declared, Ok(())),
        Err(error) => (Declared::default(), Err(Fault::Malformed(error))),
    };
    (CongestionHeader { ecn: ecn_of(view.ecn), declared }, fault)
}

/// Writes the congestion fields of a packet, if they differ from the sender's. Returns whether the packet had room for
/// all.
pub fn write(bytes: &mut [u8], view: &View, header: CongestionHeader) -> bool {
    let (before, _) = read(bytes, view);
    match header.ecn {
        same if same == before.ecn => {}
        // A queue that marks all packets cannot do so here: the sender would not understand the mark.
        Ecn::Ce => {
            packet::set_ce(bytes, view);
        }
        other => packet::set_ecn(bytes, view, wire_ecn(other)),
    }
    header.declared == before.declared || declare(bytes, view, header.declared) == Ok(true)
}

/// Returns the declarations of a sender, by the ConEx option (RFC 7837, IPv6) and by re-ECN's bit (IPv4), and whether
/// they are inconsistent.
fn declared(bytes: &[u8], view: &View) -> Result<(Declared, bool), WireError> {
    if view.source.is_ipv4() {
        let codepoint = re_ecn::read(bytes)?;
        let declared = Declared { re: codepoint.fields().1, ..Declared::default() };
        return Ok((declared, codepoint == ReEcnCodepoint::Unused));
    }
    let found = packet::find_conex(bytes, view, Cdo::default(), NO_TUNNELS)?;
    Ok(found.map_or_else(Default::default, |(conex, _)| {
        let declared = conex.declaration().map(|Declaration { loss, mark, credit }| Declared {
            conex: true,
            loss,
            mark,
            credit,
            re: false,
        });
        (declared.unwrap_or_default(), conex.is_odd())
    }))
}

/// The emulated network has tunnels of its own; tunnels of hosts are opaque.
const NO_TUNNELS: usize = 0;

/// Writes declarations. Returns whether the packet has room for them.
fn declare(bytes: &mut [u8], view: &View, declared: Declared) -> Result<bool, WireError> {
    let Declared { conex, loss, mark, credit, re } = declared;
    match view.source {
        IpAddr::V4(_) => {
            let (ecn, _) = re_ecn::read(bytes)?.fields();
            re_ecn::write(bytes, ReEcnCodepoint::of(ecn, re))?;
            Ok(!conex)
        }
        IpAddr::V6(_) => {
            let declaring = Conex::declaring(Declaration { loss, mark, credit });
            let conex = if conex { declaring } else { Conex::NOT_CONEX };
            Ok(packet::write_conex(bytes, view, Cdo::default(), conex)? && !re)
        }
    }
}

/// Returns the meaning of a header in re-ECN.
pub fn re_ecn_of(header: CongestionHeader) -> ReEcn {
    let CongestionHeader { ecn, declared } = header;
    ReEcn::of(ecn, declared.re)
}

/// Converts the ECN field of real packets.
pub fn ecn_of(ecn: wire::EcnField) -> Ecn {
    match ecn {
        wire::EcnField::NotEct => Ecn::NotEct,
        wire::EcnField::Ect0 => Ecn::Ect0,
        wire::EcnField::Ect1 => Ecn::Ect1,
        wire::EcnField::Ce => Ecn::Ce,
    }
}

/// Converts the ECN field for real packets.
pub fn wire_ecn(ecn: Ecn) -> wire::EcnField {
    match ecn {
        Ecn::NotEct => wire::EcnField::NotEct,
        Ecn::Ect0 => wire::EcnField::Ect0,
        Ecn::Ect1 => wire::EcnField::Ect1,
        Ecn::Ce => wire::EcnField::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: u8 = 17;

    /// Returns an IPv6 datagram with a ConEx option, and an IPv4 one.
    fn packets() -> [Vec<u8>; 2] {
        let udp = [0, 1, 0, 2, 0, 8, 0, 0];
        let option = Cdo::default().emit(UDP, Conex::declaring(Declaration::default()));
        let mut v6 = vec![0x60, 0, 0, 0, 0, 16, 60, 64];
        v6.extend([[0x20, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]; 2].concat());
        v6.extend([&option[..], &udp].concat());
        let mut v4 = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, UDP, 0, 0, 198, 18, 1, 1, 198, 19, 0, 1];
        let words = v4.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum = words.sum::<u32>();
        v4[10..12].copy_from_slice(&(!((sum >> 16) + (sum & 0xFFFF)) as u16).to_be_bytes());
        v4.extend(udp);
        [v6, v4]
    }

    #[test]
    fn what_stages_write_is_read_again_where_the_packet_has_room_for_it() {
        let [v6, v4] = packets();
        let conex = Declared { conex: true, mark: true, credit: true, ..Declared::default() };
        let re_ecn = Declared { re: true, ..Declared::default() };
        for (bytes, declared, room) in [
            (&v6, conex, true),
            (&v6, Declared::default(), true),
            (&v6, re_ecn, false),
            (&v4, re_ecn, true),
            (&v4, conex, false),
        ] {
            for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
                let mut bytes = bytes.clone();
                let view = packet::parse(&bytes).expect("a packet");
                let header = CongestionHeader { ecn, declared };
                assert_eq!(write(&mut bytes, &view, header), room);
                let view = packet::parse(&bytes).expect("still a packet");
                let (now, fault) = read(&bytes, &view);
                let means_nothing = now.ecn == Ecn::Ect0 && now.declared.re;
                assert_eq!(fault, if means_nothing { Err(Fault::Inconsistent) } else { Ok(()) });
                assert_eq!(now.ecn, ecn);
                assert_eq!(now.declared == declared, room);
            }
        }
    }

    /// Packets that are not ECN-capable are not marked, for any queue of the scenario.
    #[test]
    fn a_mark_is_written_where_the_sender_listens() {
        for bytes in packets() {
            let view = packet::parse(&bytes).expect("a packet");
            let (header, _) = read(&bytes, &view);
            let mut copy = bytes.clone();
            assert!(write(&mut copy, &view, CongestionHeader { ecn: Ecn::Ce, ..header }));
            assert_eq!(copy, bytes);
        }
    }

    #[test]
    fn an_invalid_declaration_is_reported_and_nothing_is_declared() {
        let [mut v6, _] = packets();
        let twice = [17, 0, 0x1E, 1, 0x80, 0x1E, 1, 0x80];
        v6[40..48].copy_from_slice(&twice);
        let view = packet::parse(&v6).expect("a packet");
        let (header, error) = read(&v6, &view);
        assert_eq!(header.declared, Declared::default());
        assert_eq!(error, Err(Fault::Malformed(WireError::RepeatedOption { at: 5 })));
    }

    /// RFC 7837, section 4: L, E and C are meaningless without X, and reserved bits always.
    #[test]
    fn an_inconsistent_header_is_reported_and_read_as_if_absent() {
        let [v6, mut v4] = packets();
        let conex = |bits: u8| {
            let mut bytes = v6.clone();
            bytes[44] = bits;
            let (header, fault) = read(&bytes, &packet::parse(&bytes).expect("a packet"));
            (header.declared, fault)
        };
        let took_part = Declared { conex: true, loss: true, ..Declared::default() };
        assert_eq!(conex(0x70), (Declared::default(), Err(Fault::Inconsistent)));
        assert_eq!(conex(0xC1), (took_part, Err(Fault::Inconsistent)));
        assert_eq!(conex(0xC0), (took_part, Ok(())));
        assert_eq!(conex(0x00), (Declared::default(), Ok(())));
        re_ecn::write(&mut v4, ReEcnCodepoint::Unused).expect("a packet");
        let (header, fault) = read(&v4, &packet::parse(&v4).expect("a packet"));
        assert_eq!((header.ecn, header.declared.re), (Ecn::Ect0, true));
        assert_eq!(fault, Err(Fault::Inconsistent));
    }
}
