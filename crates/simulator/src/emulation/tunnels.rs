//! External nodes at which tunnels begin and end: packets leave the network in front of them and come back behind.
//!
//! The stages that judge packets stay in the network, so that their counts and state appear in its tables.

use tidegate_mechanisms::stage::{Ecn, Report, Tunnel};
use tidegate_mechanisms::units::Time;

use tidegate_scenario::plan::Direction;

use super::{Delivery, Emulation};
use crate::contents::Contents;
use crate::packet::{PackedPacket, Packet, TunnelHeader, flags};
use crate::stages::{self, CongestionHeader};

/// Place of an external node on the path of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodePlace {
    /// Node: the number of its stage.
    pub node: u32,
    /// Flow.
    pub flow: u32,
    /// Direction of the path.
    pub direction: Direction,
    /// Index on the path, for [`Emulation::judge`] and [`Emulation::go_on`].
    pub hop: u32,
    /// Address of the nearest tunnel end, here or downstream: the number of a node of the topology.
    pub end: Option<u32>,
}

/// Packet that a node's stages are asked to judge.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Length of the packet on arrival, bytes.
    pub len: u16,
    /// Header fields; those of the outer header in a tunnel.
    pub header: CongestionHeader,
    /// Tunnel header fields, if it is in a tunnel.
    pub tunnel: Option<Tunnel>,
}

/// Verdict of a node's stages.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeVerdict {
    /// Drop reason, already counted; `None` if the packet goes on.
    pub dropped: Option<&'static str>,
    /// ECN field of the packet from here on.
    pub ecn: Ecn,
    /// Tunnel of the packet from here on.
    pub tunnel: Option<Tunnel>,
    /// Report to be sent.
    pub report: Option<Box<Report>>,
}

impl<C: Contents> Emulation<'_, C> {
    /// Returns the tunnels of all flows on all paths that they ever take: begin and end of each. Has to be called
    /// before any move.
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

    /// Returns the name of a node's stage, as in the table of stages.
    pub fn node_name(&self, node: u32) -> &str {
        self.network.stages.name(node)
    }

    /// Whether tunnels that begin at a node's stage copy the inner ConEx option into their headers.
    pub fn copies_declarations(&self, node: u32) -> bool {
        self.network.stages.copies_declarations(node)
    }

    /// Lets the stages of a place judge a packet of its flow.
    pub fn judge(&mut self, place: NodePlace, asked: Asked, at: Time) -> NodeVerdict {
        let Asked { len, header, tunnel } = asked;
        let NodePlace { flow, hop, direction, .. } = place;
        let flags = stages::flags_of(header, None, flags_of(direction) | flags::ECT);
        let packed = PackedPacket::of(&Packet { flow, hop, len, flags, ..Packet::default() });
        let (dropped, passing, report) = self.network.judge(packed, tunnel, at.max(self.now));
        NodeVerdict { dropped, ecn: passing.ecn, tunnel: passing.tunnel, report }
    }

    /// Continues a packet behind a place. Returns it if its route ends there.
    pub fn go_on(
        &mut self,
        place: NodePlace,
        number: u64,
        asked: Asked,
        at: Time,
    ) -> Option<Delivery> {
        self.resume_at(place, number, asked, flags_of(place.direction), at)
    }

    /// Continues a message between nodes behind a place, which need not be one of theirs: it takes the path of the
    /// flow's packets and is not counted among them. Returns it if its route ends there.
    pub fn send_on(
        &mut self,
        place: NodePlace,
        number: u64,
        asked: Asked,
        at: Time,
    ) -> Option<Delivery> {
        self.resume_at(place, number, asked, flags::ACK, at)
    }

    /// Sends a message of the node at a place to the begin of its tunnels, along the path of reports. Returns whether
    /// there is such a path.
    pub fn send_back(&mut self, place: NodePlace, number: u64, asked: Asked, at: Time) -> bool {
        let Some(hop) = self.network.report_path(place.flow, place.hop) else { return false };
        let flags = stages::flags_of(asked.header, None, flags::ACK | flags::BACK | flags::ECT);
        let packet =
            Packet { number, flow: place.flow, hop, len: asked.len, flags, ..Packet::default() };
        self.network.send(PackedPacket::of(&packet), at.max(self.now));
        true
    }

    /// Delivers a report to a node.
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
            // Nodes on the path read it.
            Some((payload, _)) => packet.payload = payload,
            None if self.reads_activity && direction == 0 => {
                packet.payload = self.network.contents.activity(number).to_bits();
            }
            None => {}
        }
        let (at, packed) = self.network.go_on(PackedPacket::of(&packet), at.max(self.now))?;
        Some(self.delivered(at, packed))
    }

    /// Returns a packet that has left in front of a node.
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

/// Returns the flags of packets of this direction.
pub(super) const fn flags_of(direction: Direction) -> u32 {
    match direction {
        Direction::Forward => 0,
        Direction::Reverse => flags::ACK | flags::BACK,
    }
}
