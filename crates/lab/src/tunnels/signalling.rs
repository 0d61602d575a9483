//! Messages between nodes besides users' packets: reports, echoes, end markers, and errors.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use tidegate_mechanisms::stage::{Ecn, Report};
use tidegate_mechanisms::units::Bytes;
use tidegate_simulator::Emulation;
use tidegate_wire::gtpu::{self, Header, MessageKind, PORT, element};

use super::paths::Path;
use super::{OUTER_LEN, Origin, Tunnels};
use crate::packet_store::PacketStore;
use crate::report;

impl Tunnels<'_> {
    /// Sends an end marker after the user has moved: no further packets of the user follow in its previous tunnel (3GPP
    /// TS 29.281, section 7.3.2), and all earlier ones have left.
    pub(super) fn mark_end(&mut self, teid: u32, left: Path) {
        let header = Header { kind: MessageKind::EndMarker, teid, sequence: None, n_pdu: None };
        self.message.clear();
        let fits = gtpu::emit(header, &[], &[], &mut self.message);
        fits.expect("a message of eight bytes fits into a packet");
        if self.send(left.begin, Ecn::NotEct, self.nodes[left.end].address, PORT) {
            self.counts.add("end markers sent");
        }
    }

    pub(super) fn send_report(&mut self, node: usize, sent: &Report, to: Ipv4Addr) {
        let Some(tunnel) = &sent.tunnel else { return };
        let sequence = Some(sent.number as u16);
        let header = Header { kind: MessageKind::EchoRequest, teid: 0, sequence, n_pdu: None };
        let mut element = Vec::new();
        gtpu::report::emit(&report::to_wire(tunnel), &mut element);
        self.message.clear();
        let fits = gtpu::emit(header, &[], &element, &mut self.message);
        fits.expect("a report fits into a packet");
        self.send(node, Ecn::NotEct, to, PORT);
    }

    /// Delivers the report in an echo request, if there is one, to the stage at its tunnel's beginning.
    pub(super) fn take_report(
        &mut self,
        node: usize,
        payload: &[u8],
        len: usize,
        from: SocketAddrV4,
        emulation: &mut Emulation<'_, PacketStore>,
    ) {
        let reported = match gtpu::report::parse(payload) {
            Ok(Some(reported)) => reported,
            Ok(None) => return,
            Err(_) => return self.counts.add("malformed"),
        };
        let Some(path) = self.paths.numbered(node, reported.teid) else {
            return self.counts.add("reports on no tunnel");
        };
        // A sender with another address is not the end of this tunnel, and the stage counts it as such.
        let is_end = *from.ip() == self.nodes[path.end].address;
        let end = path.egress.end.filter(|_| is_end).unwrap_or(u32::MAX);
        let user = self.plan.flows[path.ingress.flow as usize].user;
        let customer = self.plan.users[user].customer;
        let sent = Report {
            user: customer as u32,
            len: Bytes::new((OUTER_LEN + len) as u64),
            tunnel: Some(Box::new(report::from_wire(reported, end))),
            ..Report::default()
        };
        emulation.notify(path.ingress.node, &sent);
    }

    /// Handles an end marker of a tunnel, if one with this number leads from the sender to this node.
    pub(super) fn take_end_marker(&mut self, Origin { node, from, .. }: Origin, teid: u32) {
        let begin = self.node_of(IpAddr::V4(*from.ip()));
        let path = begin.and_then(|begin| self.paths.numbered(begin, teid));
        self.counts.add(match path {
            Some(path) if path.end == node => "end markers",
            _ => "end markers for no tunnel",
        });
    }

    pub(super) fn answer(
        &mut self,
        node: usize,
        to: SocketAddrV4,
        kind: MessageKind,
        payload: &[u8],
        sequence: Option<u16>,
    ) {
        let header = Header { kind, teid: 0, sequence: Some(sequence.unwrap_or(0)), n_pdu: None };
        self.message.clear();
        let fits = gtpu::emit(header, &[], payload, &mut self.message);
        fits.expect("an answer fits into a packet");
        self.send(node, Ecn::NotEct, *to.ip(), to.port());
    }

    /// Sends an error indication for data of an unknown tunnel (section 7.3.1): its number, and our address.
    pub(super) fn indicate_error(&mut self, node: usize, to: SocketAddrV4, teid: u32) {
        let elements = element::refused(teid, self.nodes[node].address);
        self.answer(
            node,
            SocketAddrV4::new(*to.ip(), PORT),
            MessageKind::ErrorIndication,
            &elements,
            None,
        );
    }
}
