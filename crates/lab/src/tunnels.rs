//! Tunnel nodes of a mobile network: real GTP-U over real UDP (3GPP TS 29.281).
//!
//! ```text
//!  emulation ──► gateway: stage judges ──► GTP-U, socket ──► its kernel, TUN ──► emulation (links between)
//!                  ▲ report                                                           │
//!                  └── TUN ◄── emulation (reverse path) ◄── TUN ◄── socket ◄── eNodeB: stage judges ◄── socket, TUN
//!                                                                            └──► emulation (radio)
//! ```
//!
//! Stages, links and their counts are those of the simulator; packets between two nodes are sent and received by
//! kernels. The tunnel, its numbers, marks and reports are read from bytes only.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use socket2::Socket;
use tidegate_mechanisms::stage::{Declared, Ecn, Tunnel};
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::{Asked, Delivery, Emulation, NodePlace};
use tidegate_wire as wire;
use tidegate_wire::conex::{Conex, Declaration};
use tidegate_wire::gtpu::{self, Header, MessageKind, PORT, element, mark};
use tidegate_wire::packet::{self, View};

use crate::header::{self, ecn_of, wire_ecn};
use crate::packet_store::PacketStore;
use crate::{LabError, system};
use counts::MessageCounts;
use paths::{Path, Paths};

mod counts;
mod paths;
mod signalling;

/// Length of IPv4 and UDP headers, bytes.
const OUTER_LEN: usize = 20 + 8;
/// Maximum number of packets read in a row, so that no node starves the others.
const BATCH: usize = 32;

/// Parts of a node that the forwarder uses.
#[derive(Clone, Copy, Debug)]
pub struct TunnelEnds<'a> {
    /// Name of its stage.
    pub name: &'a str,
    /// Device from which its kernel's packets are read, and to which packets for it are written.
    pub device: BorrowedFd<'a>,
    /// Its socket on the port of GTP-U.
    pub socket: &'a Socket,
    /// Its address.
    pub address: Ipv4Addr,
}

/// Nodes of a mobile network, and tunnels of users.
pub struct Tunnels<'a> {
    plan: &'a Plan,
    nodes: Vec<TunnelEnds<'a>>,
    paths: Paths,
    counts: MessageCounts,
    /// ECN field with which each socket sends.
    sends_with: Vec<Ecn>,
    packet: Vec<u8>,
    message: Vec<u8>,
}

/// Sender of a message, and its ECN field.
#[derive(Clone, Copy, Debug)]
struct Origin {
    node: usize,
    from: SocketAddrV4,
    ecn: Ecn,
}

/// Outcome of a packet that has arrived at a node over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeOutcome {
    /// It is dropped, consumed by the node, or in transit again.
    Done,
    /// The node's kernel rejected it.
    Rejected,
    /// Its route ends behind the node.
    Ended(Delivery),
}

/// Outcome of a packet that a kernel has sent to a node's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// It is in the network.
    Carried,
    /// It could not be parsed.
    Malformed,
    /// It belongs to no tunnel.
    Unclassified,
}

impl<'a> Tunnels<'a> {
    /// Returns the state without nodes, and thus without tunnels.
    pub fn none(plan: &'a Plan) -> Self {
        Tunnels {
            plan,
            nodes: Vec::new(),
            paths: Paths::default(),
            counts: MessageCounts::default(),
            sends_with: Vec::new(),
            packet: Vec::new(),
            message: Vec::new(),
        }
    }

    /// Returns the state for the nodes of a plan, in the order of their building.
    pub fn new(
        plan: &'a Plan,
        nodes: Vec<TunnelEnds<'a>>,
        emulation: &Emulation<'_, PacketStore>,
    ) -> Result<Self, LabError> {
        let paths = Paths::new(plan, &nodes, emulation)?;
        let sends_with = vec![Ecn::NotEct; nodes.len()];
        Ok(Tunnels { nodes, paths, sends_with, ..Tunnels::none(plan) })
    }

    /// Returns the nodes.
    pub fn nodes(&self) -> &[TunnelEnds<'a>] {
        &self.nodes
    }

    /// Returns the counts of messages of the nodes.
    pub fn counts(&self) -> &MessageCounts {
        &self.counts
    }

    /// Returns the node with this address.
    fn node_of(&self, address: IpAddr) -> Option<usize> {
        self.nodes.iter().position(|node| IpAddr::V4(node.address) == address)
    }

    /// Handles a packet that has arrived at a node over the network.
    pub fn arrive(
        &mut self,
        delivery: Delivery,
        place: NodePlace,
        emulation: &mut Emulation<'_, PacketStore>,
        now: Time,
    ) -> NodeOutcome {
        let Delivery { packet, header, .. } = delivery;
        self.packet.clear();
        self.packet.extend_from_slice(emulation.contents().take(packet, header));
        let Ok(view) = packet::parse(&self.packet) else { return NodeOutcome::Rejected };
        let asked = Asked { len: self.packet.len() as u16, header, tunnel: None };
        if let Some(to) = self.node_of(view.destination) {
            return self.pass_on(to, place, view, asked, emulation, now);
        }
        let judged = emulation.judge(place, asked, now);
        if judged.dropped.is_some() {
            return NodeOutcome::Done;
        }
        if let Some((tunnel, path)) = judged.tunnel.zip(self.paths.beginning_at(place)) {
            let declared = header.declared;
            let copies = declared.conex && emulation.copies_declarations(place.node);
            let Declared { loss, mark, credit, .. } = declared;
            let copy = copies.then_some(Declaration { loss, mark, credit });
            return self.enter(path, (tunnel, copy), judged.ecn);
        }
        // A packet without a tunnel passes.
        let number = emulation.contents().put(&self.packet, view);
        let asked = Asked {
            header: tidegate_simulator::CongestionHeader { ecn: judged.ecn, ..header },
            ..asked
        };
        emulation.go_on(place, number, asked, now).map_or(NodeOutcome::Done, NodeOutcome::Ended)
    }

    /// Handles a message at a place, whose node may be its destination or not.
    fn pass_on(
        &self,
        to: usize,
        place: NodePlace,
        view: View,
        asked: Asked,
        emulation: &mut Emulation<'_, PacketStore>,
        now: Time,
    ) -> NodeOutcome {
        if self.paths.node_at(place) != Some(to) {
            let number = emulation.contents().put(&self.packet, view);
            let Some(ended) = emulation.send_on(place, number, asked, now) else {
                return NodeOutcome::Done;
            };
            // Its route ends between two nodes, and it is for the other.
            emulation.contents().take(ended.packet, ended.header);
        }
        let taken = rustix::io::write(self.nodes[to].device, &self.packet);
        if taken.is_ok() { NodeOutcome::Done } else { NodeOutcome::Rejected }
    }

    /// Passes a user's packet into its tunnel.
    fn enter(
        &mut self,
        path: Path,
        (tunnel, copy): (Tunnel, Option<Declaration>),
        ecn: Ecn,
    ) -> NodeOutcome {
        let user = self.plan.flows[path.ingress.flow as usize].user;
        if let Some((teid, left)) = self.paths.enter(user, path, tunnel.teid) {
            self.mark_end(teid, left);
        }
        self.enclose(tunnel, copy);
        match self.send(path.begin, ecn, self.nodes[path.end].address, PORT) {
            true => NodeOutcome::Done,
            false => NodeOutcome::Rejected,
        }
    }

    /// Encapsulates the packet, with a copy of its declarations if configured.
    fn enclose(&mut self, tunnel: Tunnel, copy: Option<Declaration>) {
        let Tunnel { teid, sequence, re_inserted, .. } = tunnel;
        let header =
            Header { kind: MessageKind::Data, teid, sequence: Some(sequence), n_pdu: None };
        // A packet with its own declaration takes none of the re-inserted congestion.
        let own = copy.is_some_and(|Declaration { loss, mark, .. }| loss || mark);
        let content = re_inserted.map(|met| mark::emit(mark::with_copy(met && !own, copy)));
        let extension = content.as_ref().map(|content| (mark::EXTENSION, &content[..]));
        self.message.clear();
        let fits = gtpu::emit(header, extension.as_slice(), &self.packet, &mut self.message);
        fits.expect("a packet that was checked to fit its tunnel is shorter than 65,535 B");
    }

    /// Sends the message from a node's socket. Returns whether its kernel has accepted it.
    fn send(&mut self, node: usize, ecn: Ecn, to: Ipv4Addr, port: u16) -> bool {
        let socket = self.nodes[node].socket;
        if self.sends_with[node] != ecn && socket.set_tos_v4(wire_ecn(ecn) as u32).is_ok() {
            self.sends_with[node] = ecn;
        }
        socket.send_to(&self.message, &SocketAddrV4::new(to, port).into()).is_ok()
    }

    /// Injects a packet that a node's kernel has sent.
    pub fn fetched(
        &mut self,
        node: usize,
        bytes: &[u8],
        emulation: &mut Emulation<'_, PacketStore>,
        now: Time,
    ) -> Fetched {
        let Ok(view) = packet::parse(bytes) else { return Fetched::Malformed };
        let of_gtpu =
            view.ports.is_some_and(|ports| [ports.source, ports.destination].contains(&PORT));
        let to = self.node_of(view.destination);
        let Some(to) = to.filter(|_| of_gtpu) else { return Fetched::Unclassified };
        let len = bytes.len() as u16;
        let (header, _) = header::read(bytes, &view);
        let asked = Asked { len, header, tunnel: None };
        let number = emulation.contents().put(bytes, view);
        if let Some((path, tunnel)) = self.path_of_data(node, to, bytes) {
            let asked = Asked { tunnel: Some(tunnel), ..asked };
            let ended = emulation.go_on(path.ingress, number, asked, now);
            debug_assert!(ended.is_none(), "tunnels do not end where they begin");
            return Fetched::Carried;
        }
        if let Some(path) = self.paths.between(node, to) {
            let ended = emulation.send_on(path.ingress, number, asked, now);
            debug_assert!(ended.is_none(), "tunnels do not end where they begin");
            return Fetched::Carried;
        }
        let back = self.paths.between(to, node);
        if back.is_some_and(|path| emulation.send_back(path.egress, number, asked, now)) {
            return Fetched::Carried;
        }
        emulation.contents().take(number, header);
        Fetched::Unclassified
    }

    /// Returns the tunnel of an encapsulated packet that its beginning has sent, and its header fields.
    fn path_of_data(&self, node: usize, to: usize, bytes: &[u8]) -> Option<(Path, Tunnel)> {
        let outer = gtpu::tunnel::open(bytes).ok().flatten()?;
        let Header { kind, teid, sequence, .. } = outer.message.header;
        if kind != MessageKind::Data {
            return None;
        }
        let inner = packet::parse(outer.payload(bytes)).ok()?;
        let path =
            self.paths.of_packet(&inner, Some(node), to).filter(|path| path.begin == node)?;
        let inner_ecn = header::read(outer.payload(bytes), &inner).0.ecn;
        let re_inserted = outer.mark(bytes).map(declares_congestion);
        let sequence = sequence.unwrap_or_default();
        Some((path, Tunnel { teid, sequence, inner_ecn, re_inserted }))
    }

    /// Reads messages at a node's socket. Returns the packets that have reached the end of their route.
    pub fn receive(
        &mut self,
        node: usize,
        buffer: &mut [u8],
        emulation: &mut Emulation<'_, PacketStore>,
        now: Time,
    ) -> Result<Vec<Delivery>, Errno> {
        let mut ended = Vec::new();
        for _ in 0..BATCH {
            match system::receive_with_tos(self.nodes[node].socket.as_fd(), buffer) {
                Ok((len, from, tos)) => {
                    let ecn = ecn_of(wire::EcnField::from_traffic_class(tos));
                    let origin = Origin { node, from, ecn };
                    ended.extend(self.message(origin, &buffer[..len], emulation, now));
                }
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => break,
                    Some(Errno::INTR | Errno::CONNREFUSED) => {}
                    other => return Err(other.unwrap_or(Errno::IO)),
                },
            }
        }
        Ok(ended)
    }

    /// Handles a message at a node.
    fn message(
        &mut self,
        origin: Origin,
        bytes: &[u8],
        emulation: &mut Emulation<'_, PacketStore>,
        now: Time,
    ) -> Option<Delivery> {
        let Origin { node, from, .. } = origin;
        let Ok(message) = gtpu::parse(bytes) else {
            self.counts.add("malformed");
            return None;
        };
        if message.not_understood(bytes, &[mark::EXTENSION]).is_some() {
            self.counts.add("extension headers not understood");
            self.answer(
                node,
                from,
                MessageKind::SupportedExtensions,
                &element::KNOWN_EXTENSIONS,
                None,
            );
            return None;
        }
        let payload = &bytes[message.payload.clone()];
        match message.header.kind {
            MessageKind::Data => return self.data(origin, bytes, &message, emulation, now),
            MessageKind::EchoRequest => {
                self.counts.add("echo requests");
                self.take_report(node, payload, bytes.len(), from, emulation);
                self.answer(
                    node,
                    from,
                    MessageKind::EchoResponse,
                    &element::RECOVERY,
                    message.header.sequence,
                );
            }
            MessageKind::EchoResponse => self.counts.add("echo responses"),
            MessageKind::ErrorIndication => self.counts.add("error indications"),
            MessageKind::EndMarker => self.take_end_marker(origin, message.header.teid),
            MessageKind::SupportedExtensions => {
                self.counts.add("notifications of extension headers")
            }
            MessageKind::Other(_) => self.counts.add("of other kinds"),
        }
        None
    }

    /// Decapsulates a user's packet.
    fn data(
        &mut self,
        origin: Origin,
        bytes: &[u8],
        message: &gtpu::Message,
        emulation: &mut Emulation<'_, PacketStore>,
        now: Time,
    ) -> Option<Delivery> {
        let Origin { node, from, ecn } = origin;
        let inner = &bytes[message.payload.clone()];
        let Ok(view) = packet::parse(inner) else {
            self.counts.add("malformed");
            return None;
        };
        let begin = self.node_of(IpAddr::V4(*from.ip()));
        let Some(path) = self.paths.of_packet(&view, begin, node) else {
            self.counts.add("data for no tunnel");
            self.indicate_error(node, from, message.header.teid);
            return None;
        };
        let Some(sequence) = message.header.sequence else {
            self.counts.add("data without a number");
            return None;
        };
        self.counts.add("data");
        let (header, _) = header::read(inner, &view);
        let re_inserted = mark::parse(bytes, message).map(declares_congestion);
        let tunnel =
            Tunnel { teid: message.header.teid, sequence, inner_ecn: header.ecn, re_inserted };
        let outer = tidegate_simulator::CongestionHeader { ecn, ..header };
        let len = (OUTER_LEN + bytes.len()) as u16;
        let asked = Asked { len, header: outer, tunnel: Some(tunnel) };
        let judged = emulation.judge(path.egress, asked, now);
        if let Some(report) = judged.report {
            self.send_report(node, &report, self.nodes[path.begin].address);
        }
        if let Some(reason) = judged.dropped {
            if reason == Tunnel::UNKNOWN {
                self.indicate_error(node, from, message.header.teid);
            }
            return None;
        }
        let number = emulation.contents().put(inner, view);
        let header = tidegate_simulator::CongestionHeader { ecn: judged.ecn, ..header };
        let asked = Asked { len: inner.len() as u16, header, tunnel: None };
        emulation.go_on(path.egress, number, asked, now)
    }
}

/// Whether the header signals congestion: by re-insertion, or by a copy of the sender's declarations.
fn declares_congestion(conex: Conex) -> bool {
    conex.declaration().is_some_and(|declaration| declaration.mark || declaration.loss)
}
