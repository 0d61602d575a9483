//! Tunnels by nodes, flows, and numbers.

use std::collections::HashMap;

use tidegate_scenario::plan::Plan;
use tidegate_simulator::{Direction, Emulation, NodePlace};
use tidegate_wire::packet::View;

use super::TunnelEnds;
use crate::LabError;
use crate::hosts::FIRST_PORT;
use crate::packet_store::PacketStore;

/// Tunnel of a flow on one of its paths, from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Node where it begins.
    pub begin: usize,
    /// Node where it ends.
    pub end: usize,
    /// Place of the beginning on the path.
    pub ingress: NodePlace,
    /// Place of the end on the path.
    pub egress: NodePlace,
}

/// All tunnels.
#[derive(Debug, Default)]
pub struct Paths {
    /// Tunnels by flow, of all paths that it ever takes.
    of_flows: Vec<Vec<Path>>,
    /// One of the tunnels between two nodes.
    between: HashMap<(usize, usize), Path>,
    /// One of the tunnels with a number, by the node where they begin; absent before the first packet.
    numbered: HashMap<(usize, u32), Path>,
    /// Number of the tunnel of a user, by the node where it begins.
    taken: HashMap<(usize, usize), u32>,
    /// Nodes by their stages.
    nodes: HashMap<u32, usize>,
}

impl Paths {
    /// Returns the tunnels of a plan, between these nodes.
    pub fn new(
        plan: &Plan,
        nodes: &[TunnelEnds],
        emulation: &Emulation<'_, PacketStore>,
    ) -> Result<Self, LabError> {
        let mut paths = Paths { of_flows: vec![Vec::new(); plan.flows.len()], ..Paths::default() };
        for [ingress, egress] in emulation.tunnels() {
            let mut number = |place: NodePlace| {
                let name = emulation.node_name(place.node);
                let found = nodes.iter().position(|node| node.name == name);
                let found =
                    found.ok_or_else(|| LabError::Setup(format!("there is no node {name}")))?;
                paths.nodes.insert(place.node, found);
                Ok(found)
            };
            let (begin, end) = (number(ingress)?, number(egress)?);
            let path = Path { begin, end, ingress, egress };
            let own = &mut paths.of_flows[ingress.flow as usize];
            // A user that returns takes its earlier path.
            if !own.contains(&path) {
                own.push(path);
            }
            paths.between.entry((begin, end)).or_insert(path);
        }
        Ok(paths)
    }

    /// Returns the node at a place.
    pub fn node_at(&self, place: NodePlace) -> Option<usize> {
        self.nodes.get(&place.node).copied()
    }

    /// Returns the tunnel that begins at a place.
    pub fn beginning_at(&self, place: NodePlace) -> Option<Path> {
        let own = &self.of_flows[place.flow as usize];
        own.iter().find(|path| path.ingress.hop == place.hop).copied()
    }

    /// Returns a tunnel from one node to another.
    pub fn between(&self, begin: usize, end: usize) -> Option<Path> {
        self.between.get(&(begin, end)).copied()
    }

    /// Returns the tunnel that ends at a node in which this packet of a user may be: the one from node `begin` if there
    /// is one, else any.
    pub fn of_packet(&self, inner: &View, begin: Option<usize>, end: usize) -> Option<Path> {
        let mut all = self.of_packet_at(inner, end).peekable();
        let any = all.peek().copied();
        all.find(|path| Some(path.begin) == begin).or(any)
    }

    /// Iterates over the tunnels that end at a node in which the packet may be.
    fn of_packet_at(&self, inner: &View, end: usize) -> impl Iterator<Item = Path> {
        // Servers listen on a port for each flow.
        let flow = |port: u16| self.of_flows.get(usize::from(port.checked_sub(FIRST_PORT)?));
        let routes = inner.ports.map(|ports| {
            [
                (Direction::Forward, flow(ports.destination)),
                (Direction::Reverse, flow(ports.source)),
            ]
        });
        routes.into_iter().flatten().flat_map(move |(direction, paths)| {
            let there = move |path: &&Path| path.ingress.direction == direction && path.end == end;
            paths.into_iter().flatten().filter(there).copied()
        })
    }

    /// Records the tunnel that a user's packet enters. If it replaces another, returns that one's number and path.
    pub fn enter(&mut self, user: usize, path: Path, teid: u32) -> Option<(u32, Path)> {
        self.numbered.entry((path.begin, teid)).or_insert(path);
        let before = self.taken.insert((path.begin, user), teid)?;
        let left = || Some((before, self.numbered(path.begin, before)?));
        if before == teid { None } else { left() }
    }

    /// Returns the tunnel that begins at a node and has this number.
    pub fn numbered(&self, begin: usize, teid: u32) -> Option<Path> {
        self.numbered.get(&(begin, teid)).copied()
    }
}
