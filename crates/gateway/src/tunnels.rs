//! What the nodes of a mobile network do with packets: real GTP-U over real UDP (3GPP TS 29.281).
//!
//! ```text
//!  emulation ──► gateway: stage judges ──► GTP-U, socket ──► its kernel, TUN ──► emulation (links between)
//!                  ▲ report                                                           │
//!                  └── TUN ◄── emulation (way back) ◄── TUN ◄── socket ◄── eNodeB: stage judges ◄── socket, TUN
//!                                                                            └──► emulation (radio)
//! ```
//!
//! Stages, links and their counts are those of the simulator; what is between two nodes is a packet that a kernel has
//! made and a kernel takes apart. The tunnel, its numbers, marks and reports are read from bytes alone.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use socket2::Socket;
use tidegate_mechanisms::stage::{Ecn, Report, Tunnel};
use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::Plan;
use tidegate_simulator::{Asked, Delivery, Emulation, NodePlace};
use tidegate_wire as wire;
use tidegate_wire::conex::{Conex, Declaration};
use tidegate_wire::gtpu::{self, Header, Kind, PORT, mark};
use tidegate_wire::packet::{self, View};

use crate::header::{self, ecn_of, wire_ecn};
use crate::host::FIRST_PORT;
use crate::shelf::Shelf;
use crate::{LabError, report, system};

/// IPv4 and UDP.
const OUTER_LEN: usize = 20 + 8;
/// Information elements (TS 29.281, section 8): a restart counter that is always 0, a tunnel's number, an address of
/// four bytes, and a list of one extension header.
const RECOVERY: [u8; 2] = [14, 0];
const TEID: u8 = 16;
const ADDRESS: [u8; 3] = [133, 0, 4];
const KNOWN_EXTENSIONS: [u8; 3] = [141, 1, mark::EXTENSION];
/// So many packets are read in a row, so that no node starves the others.
const BATCH: usize = 32;

/// A node, as the forwarder has it.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Name of its stage.
    pub name: &'a str,
    /// What its kernel sends is read here, what it gets is written.
    pub device: BorrowedFd<'a>,
    /// Its socket on the port of GTP-U.
    pub socket: &'a Socket,
    /// Its address.
    pub address: Ipv4Addr,
}

/// The nodes of a mobile network, and who has which tunnel.
pub struct Tunnels<'a> {
    plan: &'a Plan,
    nodes: Vec<Ends<'a>>,
    /// By flow.
    paths: Vec<Option<Path>>,
    /// A flow whose tunnel is between two nodes, by these.
    between: HashMap<(usize, usize), usize>,
    /// A flow of the tunnel, by the node where it begins, and its number.
    known: HashMap<(usize, u32), usize>,
    counts: Counts,
    /// The ECN field that each socket sends with.
    sends_with: Vec<Ecn>,
    packet: Vec<u8>,
    message: Vec<u8>,
}

/// The tunnel of a flow, from node to node.
#[derive(Clone, Copy, Debug)]
struct Path {
    begin: usize,
    end: usize,
    entered_at: NodePlace,
    left_at: NodePlace,
}

/// From where a message came, and with which ECN field.
#[derive(Clone, Copy, Debug)]
struct Came {
    node: usize,
    from: SocketAddrV4,
    ecn: Ecn,
}

/// Messages that nodes got, by kind and by what is wrong with them.
#[derive(Clone, Debug, Default)]
pub struct Counts(Vec<(&'static str, u64)>);

impl Counts {
    fn add(&mut self, what: &'static str) {
        match self.0.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += 1,
            None => self.0.push((what, 1)),
        }
    }

    /// One text each, such as `echo requests 12`.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|(what, count)| format!("{what} {count}")).collect()
    }
}

/// What becomes of a packet that a kernel has given to a node's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// It is in the network.
    Carried,
    /// No parser accepted it.
    Malformed,
    /// It is no packet of a tunnel.
    Foreign,
}

impl<'a> Tunnels<'a> {
    /// No nodes, so that there is no tunnel.
    pub fn none(plan: &'a Plan) -> Self {
        Tunnels {
            plan,
            nodes: Vec::new(),
            paths: vec![None; plan.flows.len()],
            between: HashMap::new(),
            known: HashMap::new(),
            counts: Counts::default(),
            sends_with: Vec::new(),
            packet: Vec::new(),
            message: Vec::new(),
        }
    }

    /// The nodes of a plan, by the order of their building.
    pub fn new(
        plan: &'a Plan,
        nodes: Vec<Ends<'a>>,
        emulation: &Emulation<'_, Shelf>,
    ) -> Result<Self, LabError> {
        let Tunnels { mut paths, mut between, .. } = Tunnels::none(plan);
        let places = emulation.node_places();
        for pair in places.windows(2).filter(|pair| pair[0].flow == pair[1].flow) {
            let [entered_at, left_at] = [pair[0], pair[1]];
            let number = |place: NodePlace| {
                let name = emulation.node_name(place.node);
                let found = nodes.iter().position(|node| node.name == name);
                found.ok_or_else(|| LabError::Setup(format!("there is no node {name}")))
            };
            let (begin, end) = (number(entered_at)?, number(left_at)?);
            let flow = entered_at.flow as usize;
            paths[flow] = Some(Path { begin, end, entered_at, left_at });
            between.insert((begin, end), flow);
        }
        let sends_with = vec![Ecn::NotEct; nodes.len()];
        Ok(Tunnels { nodes, paths, between, sends_with, ..Tunnels::none(plan) })
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Ends<'a>] {
        &self.nodes
    }

    /// Messages that nodes got.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A packet has come to a node over the network. Returns whether its kernel has taken it.
    pub fn arrive(
        &mut self,
        delivery: Delivery,
        emulation: &mut Emulation<'_, Shelf>,
        now: Time,
    ) -> bool {
        let Delivery { packet, flow, header, .. } = delivery;
        self.packet.clear();
        self.packet.extend_from_slice(emulation.contents().take(packet, header));
        let Some(path) = self.paths[flow as usize] else { return false };
        let to = |node: usize| IpAddr::V4(self.nodes[node].address);
        let address = packet::parse(&self.packet).map(|view| view.destination);
        for node in [path.begin, path.end] {
            if address == Ok(to(node)) {
                return rustix::io::write(self.nodes[node].device, &self.packet).is_ok();
            }
        }
        let asked = Asked { len: self.packet.len() as u16, header, tunnel: None };
        let judged = emulation.judge(path.entered_at, asked, now);
        let Some(tunnel) = judged.tunnel.filter(|_| judged.dropped.is_none()) else { return true };
        self.known.insert((path.begin, tunnel.teid), flow as usize);
        self.enclose(tunnel);
        self.send(path.begin, judged.ecn, self.nodes[path.end].address, PORT)
    }

    /// The packet in a message of its tunnel.
    fn enclose(&mut self, tunnel: Tunnel) {
        let Tunnel { teid, sequence, re_inserted, .. } = tunnel;
        let header = Header { kind: Kind::Data, teid, sequence: Some(sequence), n_pdu: None };
        let declares = |mark| Conex::declaring(Declaration { loss: false, mark, credit: false });
        let content = re_inserted.map(|mark| mark::emit(declares(mark)));
        let extension = content.as_ref().map(|content| (mark::EXTENSION, &content[..]));
        self.message.clear();
        let fits = gtpu::emit(header, extension.as_slice(), &self.packet, &mut self.message);
        fits.expect("a packet that was checked to fit its tunnel is shorter than 65,535 B");
    }

    /// Sends the message from a node's socket. Returns whether its kernel has taken it.
    fn send(&mut self, node: usize, ecn: Ecn, to: Ipv4Addr, port: u16) -> bool {
        let socket = self.nodes[node].socket;
        if self.sends_with[node] != ecn && socket.set_tos_v4(wire_ecn(ecn) as u32).is_ok() {
            self.sends_with[node] = ecn;
        }
        socket.send_to(&self.message, &SocketAddrV4::new(to, port).into()).is_ok()
    }

    /// A node's kernel has sent a packet: it goes into the network.
    pub fn fetched(
        &mut self,
        node: usize,
        bytes: &[u8],
        emulation: &mut Emulation<'_, Shelf>,
        now: Time,
    ) -> Fetched {
        let Ok(view) = packet::parse(bytes) else { return Fetched::Malformed };
        let of_gtpu =
            view.ports.is_some_and(|ports| [ports.source, ports.destination].contains(&PORT));
        let to = self.nodes.iter().position(|node| IpAddr::V4(node.address) == view.destination);
        let Some(to) = to.filter(|_| of_gtpu) else { return Fetched::Foreign };
        let len = bytes.len() as u16;
        let (header, _) = header::read(bytes, &view);
        let asked = Asked { len, header, tunnel: None };
        let number = emulation.contents().put(bytes, view);
        if let Some(path) = self.path_of_data(node, bytes) {
            let ended = emulation.go_on(path.entered_at, number, asked, now);
            debug_assert!(ended.is_none(), "tunnels do not end where they begin");
            return Fetched::Carried;
        }
        let path = |pair| self.between.get(&pair).and_then(|flow| self.paths[*flow]);
        if let Some(path) = path((node, to)) {
            emulation.send_on(path.entered_at, number, asked, now);
            return Fetched::Carried;
        }
        let back = path((to, node));
        if back.is_some_and(|path| emulation.send_back(path.left_at, number, asked, now)) {
            return Fetched::Carried;
        }
        emulation.contents().take(number, header);
        Fetched::Foreign
    }

    /// The tunnel of the user's packet in a packet that the node where it begins has sent.
    fn path_of_data(&self, node: usize, bytes: &[u8]) -> Option<Path> {
        let outer = gtpu::tunnel::open(bytes).ok().flatten()?;
        if outer.message.header.kind != Kind::Data {
            return None;
        }
        let inner = packet::parse(outer.payload(bytes)).ok()?;
        self.path_of(&inner).filter(|path| path.begin == node)
    }

    fn path_of(&self, inner: &View) -> Option<Path> {
        let flow = inner.ports?.destination.checked_sub(FIRST_PORT)?;
        *self.paths.get(usize::from(flow))?
    }

    /// Messages have come to a node's socket. Returns the packets that have reached the end of their way.
    pub fn receive(
        &mut self,
        node: usize,
        buffer: &mut [u8],
        emulation: &mut Emulation<'_, Shelf>,
        now: Time,
    ) -> Result<Vec<Delivery>, Errno> {
        let mut ended = Vec::new();
        for _ in 0..BATCH {
            match system::receive_with_tos(self.nodes[node].socket.as_fd(), buffer) {
                Ok((len, from, tos)) => {
                    let ecn = ecn_of(wire::Ecn::from_traffic_class(tos));
                    let came = Came { node, from, ecn };
                    ended.extend(self.message(came, &buffer[..len], emulation, now));
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

    /// A node looks at a message.
    fn message(
        &mut self,
        came: Came,
        bytes: &[u8],
        emulation: &mut Emulation<'_, Shelf>,
        now: Time,
    ) -> Option<Delivery> {
        let Came { node, from, .. } = came;
        let Ok(message) = gtpu::parse(bytes) else {
            self.counts.add("malformed");
            return None;
        };
        if message.not_understood(bytes, &[mark::EXTENSION]).is_some() {
            self.counts.add("extension headers not understood");
            self.answer(node, from, Kind::SupportedExtensions, &KNOWN_EXTENSIONS, None);
            return None;
        }
        let payload = &bytes[message.payload.clone()];
        match message.header.kind {
            Kind::Data => return self.data(came, bytes, &message, emulation, now),
            Kind::EchoRequest => {
                self.counts.add("echo requests");
                self.take_report(node, payload, bytes.len(), from, emulation);
                self.answer(node, from, Kind::EchoResponse, &RECOVERY, message.header.sequence);
            }
            Kind::EchoResponse => self.counts.add("echo responses"),
            Kind::ErrorIndication => self.counts.add("error indications"),
            Kind::EndMarker => self.counts.add("end markers"),
            Kind::SupportedExtensions => self.counts.add("notifications of extension headers"),
            Kind::Other(_) => self.counts.add("of other kinds"),
        }
        None
    }

    /// A user's packet comes out of its tunnel.
    fn data(
        &mut self,
        came: Came,
        bytes: &[u8],
        message: &gtpu::Message,
        emulation: &mut Emulation<'_, Shelf>,
        now: Time,
    ) -> Option<Delivery> {
        let Came { node, from, ecn } = came;
        let inner = &bytes[message.payload.clone()];
        let Ok(view) = packet::parse(inner) else {
            self.counts.add("malformed");
            return None;
        };
        let Some(path) = self.path_of(&view).filter(|path| path.end == node) else {
            self.counts.add("data for no tunnel");
            self.indicate_error(node, from, message.header.teid);
            return None;
        };
        let Some(sequence) = message.header.sequence else {
            self.counts.add("data without a number");
            return None;
        };
        self.counts.add("data");
        let (said, _) = header::read(inner, &view);
        let re_inserted = mark::parse(bytes, message)
            .map(|conex| conex.declaration().is_some_and(|declaration| declaration.mark));
        let tunnel =
            Tunnel { teid: message.header.teid, sequence, inner_ecn: said.ecn, re_inserted };
        let outer = tidegate_simulator::Header { ecn, ..said };
        let len = (OUTER_LEN + bytes.len()) as u16;
        let asked = Asked { len, header: outer, tunnel: Some(tunnel) };
        let judged = emulation.judge(path.left_at, asked, now);
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
        let header = tidegate_simulator::Header { ecn: judged.ecn, ..said };
        let asked = Asked { len: inner.len() as u16, header, tunnel: None };
        emulation.go_on(path.left_at, number, asked, now)
    }

    fn send_report(&mut self, node: usize, said: &Report, to: Ipv4Addr) {
        let Some(tunnel) = &said.tunnel else { return };
        let sequence = Some(said.number as u16);
        let header = Header { kind: Kind::EchoRequest, teid: 0, sequence, n_pdu: None };
        let mut element = Vec::new();
        gtpu::report::emit(&report::to_wire(tunnel), &mut element);
        self.message.clear();
        let fits = gtpu::emit(header, &[], &element, &mut self.message);
        fits.expect("a report fits into a packet");
        self.send(node, Ecn::NotEct, to, PORT);
    }

    /// The report in an echo request, if there is one, comes to the stage of its tunnel's beginning.
    fn take_report(
        &mut self,
        node: usize,
        payload: &[u8],
        len: usize,
        from: SocketAddrV4,
        emulation: &mut Emulation<'_, Shelf>,
    ) {
        let told = match gtpu::report::parse(payload) {
            Ok(Some(told)) => told,
            Ok(None) => return,
            Err(_) => return self.counts.add("malformed"),
        };
        let flow = self.known.get(&(node, told.teid)).copied();
        let Some((flow, path)) = flow.and_then(|flow| Some((flow, self.paths[flow]?))) else {
            return self.counts.add("reports on no tunnel");
        };
        // Whoever sends from another address is no end of this tunnel, and the stage counts him as a stranger.
        let is_end = *from.ip() == self.nodes[path.end].address;
        let end = path.left_at.end.filter(|_| is_end).unwrap_or(u32::MAX);
        let customer = self.plan.users[self.plan.flows[flow].user].customer;
        let said = Report {
            user: customer as u32,
            len: Bytes::new((OUTER_LEN + len) as u64),
            tunnel: Some(Box::new(report::from_wire(told, end))),
            ..Report::default()
        };
        emulation.tell(path.entered_at.node, &said);
    }

    fn answer(
        &mut self,
        node: usize,
        to: SocketAddrV4,
        kind: Kind,
        payload: &[u8],
        sequence: Option<u16>,
    ) {
        let header = Header { kind, teid: 0, sequence: Some(sequence.unwrap_or(0)), n_pdu: None };
        self.message.clear();
        let fits = gtpu::emit(header, &[], payload, &mut self.message);
        fits.expect("an answer fits into a packet");
        self.send(node, Ecn::NotEct, *to.ip(), to.port());
    }

    /// Data came for a tunnel that is not there (section 7.3.1): its number, and our address.
    fn indicate_error(&mut self, node: usize, to: SocketAddrV4, teid: u32) {
        let own = self.nodes[node].address.octets();
        let elements = [&[TEID][..], &teid.to_be_bytes(), &ADDRESS, &own].concat();
        self.answer(
            node,
            SocketAddrV4::new(*to.ip(), PORT),
            Kind::ErrorIndication,
            &elements,
            None,
        );
    }
}
