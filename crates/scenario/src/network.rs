//! Shared part of each topology as a graph, and paths through it.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::rc::Rc;

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, Span};

use crate::file::{Between, Bottleneck, File, Link, Mobile, ParkingLot};
use crate::plan::{Buffer, Line, LinkDelay, LinkPlan, ReverseLine};

/// Default ingress and egress of users of a dumbbell.
pub(crate) const DUMBBELL: (&str, &str) = ("left", "right");

/// Buffer of the reverse path, which ACKs do not fill.
const REVERSE_BUFFER: Buffer = Buffer::Packets(10_000);

/// Unidirectional links between named nodes.
#[derive(Debug, Default)]
pub(crate) struct Network {
    pub links: Vec<LinkPlan>,
    /// Numbers of the nodes, in the order of the file.
    numbers: BTreeMap<String, u32>,
    /// Outgoing links of each node, ascending.
    outgoing: Vec<Vec<u32>>,
    /// Numbers of links by name.
    by_name: BTreeMap<String, u32>,
    price_encoding: Option<Encoding>,
    /// Cache of shortest-path trees by root.
    trees: RefCell<BTreeMap<u32, Rc<Tree>>>,
}

/// Shortest-path tree: by node number, the link over which the node is reached.
#[derive(Debug)]
struct Tree(Vec<Option<u32>>);

impl Network {
    /// Returns the network of the file's topology; empty if it has none.
    pub fn of(file: &File) -> Network {
        let price_encoding = file.price_encoding();
        let mut network = Network { price_encoding, ..Network::default() };
        if let Some(bottleneck) = &file.bottleneck {
            network.add_bottleneck(bottleneck, file.packet_size);
        }
        if let Some(lot) = &file.parking_lot {
            network.add_row(lot, file.packet_size);
        }
        if let Some(mobile) = &file.mobile {
            network.add_mobile(mobile, file.packet_size);
        }
        for (name, link) in file.links.iter().flat_map(|links| &links.entries) {
            network.add_free(name, link, file.packet_size);
        }
        network
    }

    /// Returns all nodes, in alphabetical order.
    pub fn nodes(&self) -> BTreeSet<&str> {
        self.numbers.keys().map(String::as_str).collect()
    }

    /// Returns the number of a node.
    ///
    /// # Panics
    ///
    /// If there is no node of that name.
    pub fn number(&self, node: &str) -> u32 {
        self.numbers[node]
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// Returns the link of this name.
    pub fn link(&self, name: &str) -> Option<&LinkPlan> {
        self.number_of_link(name).map(|number| &self.links[number as usize])
    }

    /// Returns the number of a link by its name.
    pub fn number_of_link(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    fn add(&mut self, from: &str, to: &str, link: LinkPlan) {
        let ends = [from, to].map(|node| {
            let next = self.len();
            *self.numbers.entry(node.to_owned()).or_insert(next)
        });
        let number = u32::try_from(self.links.len()).expect("links of a file fit 32 bits");
        self.outgoing.resize_with(self.numbers.len(), Vec::new);
        self.outgoing[ends[0] as usize].push(number);
        self.by_name.insert(link.name.to_string(), number);
        self.links.push(LinkPlan { ends: ends.into(), ..link });
    }

    fn add_bottleneck(&mut self, file: &Bottleneck, packet_size: Bytes) {
        let (left, right) = DUMBBELL;
        let plain = plain("bottleneck".to_owned(), &file.line, packet_size);
        let link = plain.with(file.mechanisms.0.clone(), self.price_encoding);
        let back = reverse_link("bottleneck.reverse".to_owned(), &link, file.duplex);
        let back = differing(back, &file.reverse);
        self.add(left, right, link.queued_by(file.kernel_qdisc.clone()));
        self.add(right, left, back);
    }

    fn add_row(&mut self, file: &ParkingLot, packet_size: Bytes) {
        for hop in 0..file.hops.count() {
            let (from, to) = (format!("r{hop}"), format!("r{}", hop + 1));
            let (rate, delay) = (file.rate.at(hop), file.delay.at(hop));
            let name = format!("{from}-{to}");
            let plain = LinkPlan::plain(name, rate, delay, file.buffer_at(hop), packet_size);
            let link = plain.with(file.mechanisms.0.clone(), self.price_encoding);
            let back = reverse_link(format!("{to}-{from}"), &link, file.duplex);
            self.add(&from, &to, link);
            self.add(&to, &from, back);
        }
    }

    /// Adds the links of a mobile network, with the bottleneck between R3 and R2; each uplink precedes its downlink.
    fn add_mobile(&mut self, file: &Mobile, packet_size: Bytes) {
        for Between { above, below, down, up } in file.links(packet_size, self.price_encoding) {
            if above == "R2" {
                let plain = plain("bottleneck".to_owned(), &file.line, packet_size);
                let link = plain.with(file.mechanisms.0.clone(), self.price_encoding);
                let back = reverse_link("bottleneck.reverse".to_owned(), &link, file.duplex);
                let back = differing(back, &file.reverse);
                self.add("R2", "R3", back);
                self.add("R3", "R2", link);
            }
            self.add(&below, &above, up);
            self.add(&above, &below, down);
        }
    }

    fn add_free(&mut self, name: &str, file: &Link, packet_size: Bytes) {
        let plain = plain(name.to_owned(), &file.line, packet_size);
        // The carried traffic determines the utilization only if the rate is constant.
        let link = plain.with(file.mechanisms.0.clone(), self.price_encoding);
        let monitored = file.bottleneck || link.changes_rate();
        let link = link.watched(monitored);
        if file.duplex {
            let back =
                differing(reverse_link(format!("{name}.reverse"), &link, true), &file.reverse);
            self.add(&file.to, &file.from, back);
        }
        self.add(&file.from, &file.to, link);
    }

    /// Returns the links from one node to another with the least delay, then the fewest hops; ties go to the link that
    /// is first in the file. `None` if there is no path.
    pub fn path(&self, from: &str, to: &str) -> Option<Vec<u32>> {
        let [from, to] = [from, to].map(|node| self.numbers.get(node).copied());
        let (from, to) = from.zip(to)?;
        let tree = self.trees.borrow().get(&from).cloned();
        let tree = tree.unwrap_or_else(|| {
            let tree = Rc::new(self.search(from));
            self.trees.borrow_mut().insert(from, Rc::clone(&tree));
            tree
        });
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let link = tree.0[node as usize]?;
            path.push(link);
            node = self.links[link as usize].ends.0;
        }
        path.reverse();
        Some(path)
    }

    /// Dijkstra's algorithm. Of nodes at the same distance, the alphabetically first is expanded first.
    fn search(&self, from: u32) -> Tree {
        let mut ranks = vec![0; self.numbers.len()];
        self.numbers.values().zip(0..).for_each(|(node, rank)| ranks[*node as usize] = rank);
        let mut reached: Vec<Option<(Span, u32)>> = vec![None; ranks.len()];
        let mut over = vec![None; ranks.len()];
        let mut done = vec![false; ranks.len()];
        reached[from as usize] = Some((Span::ZERO, 0));
        let mut queue = BinaryHeap::from([Reverse((Span::ZERO, 0, ranks[from as usize], from))]);
        while let Some(Reverse((delay, hops, _, node))) = queue.pop() {
            if std::mem::replace(&mut done[node as usize], true) {
                continue;
            }
            for &number in &self.outgoing[node as usize] {
                let link = &self.links[number as usize];
                let next = link.ends.1 as usize;
                // A sum of a million delays of 30 years would overflow.
                let total = delay.as_nanos().saturating_add(link.delay.as_nanos());
                let there = (Span::from_nanos(total), hops + 1);
                if reached[next].is_none_or(|known| there < known) {
                    reached[next] = Some(there);
                    over[next] = Some(number);
                    queue.push(Reverse((there.0, there.1, ranks[next], link.ends.1)));
                }
            }
        }
        Tree(over)
    }
}

/// Returns the stages on the reverse path at a place: those configured there, and the counterparts of tunnel ends at
/// the node.
fn turned_round(there: &[StageParams], node: &[StageParams]) -> Vec<StageParams> {
    let others = there.iter().filter(|stage| !stage.is_of_tunnels()).cloned();
    others.chain(node.iter().filter_map(StageParams::counterpart)).collect()
}

fn plain(name: String, line: &Line, packet_size: Bytes) -> LinkPlan {
    LinkPlan::on_line(name, &line.rate, &line.delay, line.buffer(), packet_size)
}

/// Returns a reverse link with its settings, monitored if its rate follows a trace.
fn differing(mut back: LinkPlan, own: &ReverseLine) -> LinkPlan {
    if let Some(rate) = &own.reverse_rate {
        back = back.at_rate(rate);
    }
    if let Some(delay) = &own.reverse_delay {
        back = back.with_delay(delay);
    }
    let monitored = back.monitored || back.rate_trace.is_some();
    if monitored == back.monitored { back } else { back.watched(true) }
}

/// Returns the reverse path of a link: an equal one, or one for ACKs only. Tunnel ends belong to nodes, and so also to
/// the other end of an equal link, in their role for that direction.
fn reverse_link(name: String, link: &LinkPlan, duplex: bool) -> LinkPlan {
    let has_tunnels = || link.ingress.iter().chain(&link.egress).any(StageParams::is_of_tunnels);
    if duplex && has_tunnels() {
        let mut declared = link.declared.clone();
        (declared.ingress, declared.egress) =
            (turned_round(&link.ingress, &link.egress), turned_round(&link.egress, &link.ingress));
        let back = link.clone().with(declared, link.price_encoding);
        return LinkPlan { name: name.into(), ..back.watched(link.monitored) };
    }
    if duplex {
        return LinkPlan { name: name.into(), ..link.clone() };
    }
    let plain = LinkPlan::plain(name, link.rate, link.delay, REVERSE_BUFFER, link.packet_size);
    match &link.delay_trace {
        None => plain,
        // Both directions change their path at the same time.
        Some(trace) => plain.with_delay(&LinkDelay::Traced(trace.clone())),
    }
}
