//! Nodes outside at which tunnels begin and end: packets leave the network in front of them and come back behind.
//!
//! The stages that judge them stay with the network, so that what they count and have stands in its tables.

use tidegate_mechanisms::stage::{Ecn, Report, Tunnel};
use tidegate_mechanisms::units::Time;

use tidegate_scenario::plan::Direction;

use super::{Delivery, Emulation};
use crate::contents::Contents;
use crate::packet::{PackedPacket, Packet, TunnelHeader, flags};
use crate::stages::{self, CongestionHeader};

/// A place on the path of a flow where a node outside stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodePlace {
    /// Which node: the number of its stage.
    pub node: u32,
    /// The flow.
    pub flow: u32,
    /// Which of its paths.
    pub direction: Direction,
    /// The place, for [`Emulation::judge`] and [`Emulation::go_on`].
    pub hop: u32,
    /// Address of the nearest end of tunnels, here or further on: the number of a node of the topology.
    pub end: Option<u32>,
}

/// What a node is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Bytes of the packet as it comes.
    pub len: u16,
    /// What its header says; the outer one in a tunnel.
    pub header: CongestionHeader,
    /// What the tunnel's header says, if it is in one.
    pub tunnel: Option<Tunnel>,
}

/// What the stages of a node say.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeVerdict {
    /// Why it was dropped, which has been counted; else it goes on.
    pub dropped: Option<&'static str>,
    /// Its ECN field from then on.
    pub ecn: Ecn,
    /// The tunnel that it is in from then on.
    pub tunnel: Option<Tunnel>,
    /// A report that leaves.
    pub report: Option<Box<Report>>,
}

impl<C: Contents> Emulation<'_, C> {
    /// The tunnels of all flows on all paths that they ever take: where each begins, and where it ends. To be asked
    /// before anything moves.
    pub fn tunnels(&self) -> Vec<[NodePlace; 2]> {
        let mut all = Vec::new();
        for (path, routes) in self.routes.iter().enumerate() {
            let flow = self.plan.path(path).0 as u32;
            for (direction, first) in
                [(Direction::Forward, routes.forward), (Direction::Reverse, routes.reverse)]
            {
                let mut open = None;
                for (hop, node) in self.network.nodes_on(first) {
                    let place = self.place(node, flow, direction, hop);
                    match self.network.stages.ends_tunnels_at(node) {
                        false => open = Some(place),
                        true => all.extend(open.take().map(|begins| [begins, place])),
                    }
                }
            }
        }
        all
    }

    fn place(&self, node: u32, flow: u32, direction: Direction, hop: u32) -> NodePlace {
        NodePlace { node, flow, direction, hop, end: self.network.tunnel_end(hop) }
    }

    /// Name of a node's stage, as in the table of stages.
    pub fn node_name(&self, node: u32) -> &str {
        self.network.stages.name(node)
    }

    /// Whether tunnels that begin at a node's stage say in their headers what the inner ConEx option does.
    pub fn copies_declarations(&self, node: u32) -> bool {
        self.network.stages.copies_declarations(node)
    }

    /// What the stages of a place say of a packet of its flow.
    pub fn judge(&mut self, place: NodePlace, asked: Asked, at: Time) -> NodeVerdict {
        let Asked { len, header, tunnel } = asked;
        let NodePlace { flow, hop, direction, .. } = place;
        let flags = stages::flags_of(header, None, flags_of(direction) | flags::ECT);
        let packed = PackedPacket::of(&Packet { flow, hop, len, flags, ..Packet::default() });
        let (dropped, passing, report) = self.network.judge(packed, tunnel, at.max(self.now));
        NodeVerdict { dropped, ecn: passing.ecn, tunnel: passing.tunnel, report }
    }

    /// A packet goes on behind a place. Returns it if its path ends there.
    pub fn go_on(
        &mut self,
        place: NodePlace,
        number: u64,
        asked: Asked,
        at: Time,
    ) -> Option<Delivery> {
        self.resume_at(place, number, asked, flags_of(place.direction), at)
    }

    /// A message between nodes goes on behind a place, where one of them stands or another: it takes the path of the
    /// flow's packets, and is none of them. Returns it if its path ends there.
    pub fn send_on(
        &mut self,
        place: NodePlace,
        number: u64,
        asked: Asked,
        at: Time,
    ) -> Option<Delivery> {
        self.resume_at(place, number, asked, flags::ACK, at)
    }

    /// A message of the node at a place to the beginning of its tunnels: it takes the path of reports. Returns whether
    /// there is one.
    pub fn send_back(&mut self, place: NodePlace, number: u64, asked: Asked, at: Time) -> bool {
        let Some(hop) = self.network.report_path(place.flow, place.hop) else { return false };
        let flags = stages::flags_of(asked.header, None, flags::ACK | flags::BACK | flags::ECT);
        let packet =
            Packet { number, flow: place.flow, hop, len: asked.len, flags, ..Packet::default() };
        self.network.send(PackedPacket::of(&packet), at.max(self.now));
        true
    }

    /// A report has come to a node.
    pub fn notify(&mut self, node: u32, report: &Report) {
        self.network.stages.notify(node, report);
    }

    fn resume_at(
        &mut self,
        NodePlace { flow, hop, .. }: NodePlace,
        number: u64,
        asked: Asked,
        direction: u32,
        at: Time,
    ) -> Option<Delivery> {
        let header = asked.tunnel.and_then(|tunnel| {
            let Tunnel { teid, sequence, re_inserted, inner_ecn } = tunnel;
            Some((TunnelHeader { teid, sequence, re_inserted }.pack()?, inner_ecn))
        });
        let inner_ecn = header.map(|(_, inner_ecn)| inner_ecn);
        let flags = stages::flags_of(asked.header, inner_ecn, direction | flags::ECT);
        let mut packet = Packet { number, flow, hop, len: asked.len, flags, ..Packet::default() };
        match header {
            // Nodes on the path see it.
            Some((payload, _)) => packet.payload = payload,
            None if self.reads_activity && direction == 0 => {
                packet.payload = self.network.contents.activity(number).to_bits();
            }
            None => {}
        }
        let (at, packed) = self.network.go_on(PackedPacket::of(&packet), at.max(self.now))?;
        Some(self.delivered(at, packed))
    }

    /// A packet that has left in front of a node.
    pub(super) fn exited(&mut self) -> Option<Delivery> {
        let (at, packed) = self.network.exited.pop()?;
        let packet = packed.packet(at);
        let direction =
            if packet.has(flags::ACK) { Direction::Reverse } else { Direction::Forward };
        let node = self.network.node_at(packed.hop());
        let place = node.map(|node| self.place(node, packet.flow, direction, packed.hop()));
        let header = stages::header_of(packet.flags);
        Some(Delivery { packet: packet.number, flow: packet.flow, direction, at, header, place })
    }
}

/// The flags that packets of this direction have.
pub(super) const fn flags_of(direction: Direction) -> u32 {
    match direction {
        Direction::Forward => 0,
        Direction::Reverse => flags::ACK | flags::BACK,
    }
}
