//! The shared part of each topology as a graph, and the paths through it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::units::{Bytes, Span};

use crate::file::{Bottleneck, File, Link, ParkingLot};
use crate::plan::{Buffer, Line, LinkPlan};

/// Where users of a dumbbell send from and to.
pub(crate) const DUMBBELL: (&str, &str) = ("left", "right");

/// Buffer of the way back, which ACKs do not fill.
const REVERSE_BUFFER: Buffer = Buffer::Packets(10_000);

/// Unidirectional links between named nodes.
#[derive(Debug, Default)]
pub(crate) struct Network {
    pub links: Vec<LinkPlan>,
    ends: Vec<(String, String)>,
    /// Their numbers, in the order of the file.
    numbers: BTreeMap<String, u32>,
    /// Links that leave a node, ascending.
    leaving: BTreeMap<String, Vec<usize>>,
    price_encoding: Option<Encoding>,
}

impl Network {
    /// The network of the file's topology; empty if it has none.
    pub fn of(file: &File) -> Network {
        let price_encoding = file.price_encoding();
        let mut network = Network { price_encoding, ..Network::default() };
        if let Some(bottleneck) = &file.bottleneck {
            network.add_bottleneck(bottleneck, file.packet_size);
        }
        if let Some(lot) = &file.parking_lot {
            network.add_row(lot, file.packet_size);
        }
        for (name, link) in file.links.iter().flat_map(|links| &links.entries) {
            network.add_free(name, link, file.packet_size);
        }
        network
    }

    /// All nodes, in alphabetical order.
    pub fn nodes(&self) -> BTreeSet<&str> {
        self.ends.iter().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect()
    }

    /// The number of a node.
    ///
    /// # Panics
    /// If there is no node of that name.
    pub fn number(&self, node: &str) -> u32 {
        self.numbers[node]
    }

    /// How many nodes there are.
    pub fn len(&self) -> u32 {
        self.numbers.len() as u32
    }

    fn add(&mut self, from: &str, to: &str, link: LinkPlan) {
        let ends = [from, to].map(|node| {
            let next = self.len();
            *self.numbers.entry(node.to_owned()).or_insert(next)
        });
        let link = LinkPlan { ends: ends.into(), ..link };
        self.leaving.entry(from.to_owned()).or_default().push(self.links.len());
        self.ends.push((from.to_owned(), to.to_owned()));
        self.links.push(link);
    }

    fn add_bottleneck(&mut self, file: &Bottleneck, packet_size: Bytes) {
        let (left, right) = DUMBBELL;
        let plain = plain("bottleneck".to_owned(), &file.line, packet_size);
        let link = plain.with(file.mechanisms.0.clone(), self.price_encoding);
        let back = way_back("bottleneck.reverse".to_owned(), &link, file.duplex);
        self.add(left, right, link);
        self.add(right, left, back);
    }

    fn add_row(&mut self, file: &ParkingLot, packet_size: Bytes) {
        for hop in 0..file.hops.count() {
            let (from, to) = (format!("r{hop}"), format!("r{}", hop + 1));
            let (rate, delay) = (file.rate.at(hop), file.delay.at(hop));
            let name = format!("{from}-{to}");
            let plain = LinkPlan::plain(name, rate, delay, file.buffer.at(hop), packet_size);
            let link = plain.with(file.mechanisms.0.clone(), self.price_encoding);
            let back = way_back(format!("{to}-{from}"), &link, file.duplex);
            self.add(&from, &to, link);
            self.add(&to, &from, back);
        }
    }

    fn add_free(&mut self, name: &str, file: &Link, packet_size: Bytes) {
        let plain = plain(name.to_owned(), &file.line, packet_size);
        // What a link carried says how busy it was only if its rate stays.
        let monitored = file.bottleneck || !file.mechanisms.rate_changes.0.is_empty();
        let link =
            LinkPlan { monitored, ..plain.with(file.mechanisms.0.clone(), self.price_encoding) };
        if file.duplex {
            let back = way_back(format!("{name}.reverse"), &link, true);
            self.add(&file.to, &file.from, back);
        }
        self.add(&file.from, &file.to, link);
    }

    /// The links from one node to another with the least delay, then the fewest hops; ties go to
    /// the link that stands first. `None` if no path leads there.
    pub fn path(&self, from: &str, to: &str) -> Option<Vec<u32>> {
        // Distance and the link over which the node was reached.
        let mut reached: BTreeMap<&str, (Span, u32, Option<usize>)> = BTreeMap::new();
        let mut done = BTreeSet::new();
        let mut queue = BinaryHeap::from([Reverse((Span::ZERO, 0, from))]);
        reached.insert(from, (Span::ZERO, 0, None));
        while let Some(Reverse((delay, hops, node))) = queue.pop() {
            if node == to {
                return Some(self.trace(to, &reached));
            }
            if !done.insert(node) {
                continue;
            }
            for &link in self.leaving.get(node).into_iter().flatten() {
                let next = self.ends[link].1.as_str();
                // A sum of a million delays of 30 years would not fit.
                let total = delay.as_nanos().saturating_add(self.links[link].delay.as_nanos());
                let (total, hops) = (Span::from_nanos(total), hops + 1);
                let known = reached.get(next).map(|(delay, hops, _)| (*delay, *hops));
                if known.is_none_or(|known| (total, hops) < known) {
                    reached.insert(next, (total, hops, Some(link)));
                    queue.push(Reverse((total, hops, next)));
                }
            }
        }
        None
    }

    fn trace(&self, to: &str, reached: &BTreeMap<&str, (Span, u32, Option<usize>)>) -> Vec<u32> {
        let mut path = Vec::new();
        let mut node = to;
        while let Some((_, _, Some(link))) = reached.get(node) {
            path.push(u32::try_from(*link).expect("links of a file fit 32 bits"));
            node = &self.ends[*link].0;
        }
        path.reverse();
        path
    }
}

fn plain(name: String, line: &Line, packet_size: Bytes) -> LinkPlan {
    LinkPlan::plain(name, line.rate, line.delay, line.buffer, packet_size)
}

/// The way back of a link: an equal one, or one for ACKs alone.
fn way_back(name: String, link: &LinkPlan, duplex: bool) -> LinkPlan {
    if duplex {
        return LinkPlan { name, ..link.clone() };
    }
    LinkPlan::plain(name, link.rate, link.delay, REVERSE_BUFFER, link.packet_size)
}
