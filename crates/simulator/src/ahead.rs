//! Events that links and flows count before their time. A link without a monitor may serve packets before they arrive,
//! and any link may accept a packet that it has not sent yet.

use std::sync::Arc;

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::MAX_LINKS;

use crate::link::Link;
use crate::memory::reserve_next;
use crate::probe::Accepted;

/// Events counted too early for the next reading of the counters.
pub struct Ahead {
    /// Packets that links have accepted and that leave after the reading.
    pending: Vec<Pending>,
    /// Sums of further ones by link, ascending. Before the last reading of a run, nothing else is read of packets.
    sums: Arc<Vec<Unsent>>,
    last_reading: Time,
    /// Number of pending packets from which on they are summed.
    sums_from: usize,
    /// Drops and marks of packets that arrive after the reading: time, link, signal.
    signals: Vec<(Time, u32, LinkSignal)>,
    /// Losses of sender's packets after the reading: time, flow.
    losses: Vec<(Time, u32)>,
}

/// Congestion signal of a link for one packet.
#[derive(Clone, Copy, Debug)]
pub enum LinkSignal {
    /// The packet is dropped.
    Drop(DropReason),
    /// The packet is marked.
    Mark,
}

/// Number of drops by reason, and of marks.
#[derive(Clone, Copy, Default)]
pub struct SignalCounts {
    pub drops: [u64; 4],
    pub marks: u64,
}

/// Minimum number of pending packets that are summed at a time.
const MANY: usize = 4096;

impl Ahead {
    /// Returns an empty record; no reading comes after `last_reading`.
    pub fn until(last_reading: Time) -> Self {
        Ahead {
            pending: Vec::new(),
            sums: Arc::default(),
            last_reading,
            sums_from: usize::MAX,
            signals: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// Records a packet that a link has accepted and that leaves it later.
    pub fn accept(&mut self, packet: Pending, links: &[Link]) {
        self.pending.push(packet);
        if self.pending.len() >= self.sums_from {
            self.sum(links);
            self.sums_from = self.sums.len().max(MANY);
        }
    }

    fn sum(&mut self, links: &[Link]) {
        add_by_link(Arc::make_mut(&mut self.sums), &mut self.pending, links);
        self.pending.clear();
    }

    /// Records a drop or mark of a packet that arrives at the later time `at`.
    pub fn signal(&mut self, at: Time, link: u32, signal: LinkSignal) {
        self.signals.push((at, link, signal));
    }

    /// Records a loss at a later time.
    pub fn lose(&mut self, at: Time, flow: u32) {
        self.losses.push((at, flow));
    }

    /// Sets the time of the next reading: events up to then are no longer early.
    pub fn expect_reading(&mut self, next: Time) {
        self.pending.retain(|packet| packet.departs > next);
        if next > self.last_reading {
            self.sums = Arc::default();
        }
        self.sums_from = if next == self.last_reading { MANY } else { usize::MAX };
        self.signals.retain(|(at, ..)| *at > next);
        self.losses.retain(|(at, _)| *at > next);
    }

    /// Returns, by link in ascending order, the packets accepted and not sent by `now`. Stations are asked for the
    /// packet in transmission, since none of their packets is pending.
    pub fn unsent(&mut self, links: &[Link], now: Time) -> Arc<Vec<Unsent>> {
        let mut all = Arc::default();
        if self.sums_from < usize::MAX {
            self.sum(links);
            all = Arc::clone(&self.sums);
        } else {
            add_by_link(Arc::make_mut(&mut all), &mut self.pending, links);
        }
        let transmitted = |(link, number): (&Link, u32)| {
            let (group, len, departs) = link.in_transmission(now)?;
            Some(Pending::new(number, group, len, false, departs))
        };
        let mut transmitted: Vec<_> = links.iter().zip(0..).filter_map(transmitted).collect();
        if !transmitted.is_empty() {
            add_by_link(Arc::make_mut(&mut all), &mut transmitted, links);
        }
        all
    }

    /// Returns the early drops and marks by link, in ascending order.
    pub fn signals(&self) -> Vec<(u32, SignalCounts)> {
        let mut all = std::collections::BTreeMap::<u32, SignalCounts>::new();
        for &(_, link, signal) in &self.signals {
            let of_link = all.entry(link).or_default();
            match signal {
                LinkSignal::Drop(reason) => of_link.drops[reason as usize] += 1,
                LinkSignal::Mark => of_link.marks += 1,
            }
        }
        all.into_iter().collect()
    }

    /// Subtracts the early losses of each flow from the losses counted.
    pub fn take_losses_from(&self, counted: &mut [u64]) {
        for &(_, flow) in &self.losses {
            counted[flow as usize] -= 1;
        }
    }
}

/// Adds packets to sums by link, which remain ascending.
fn add_by_link(sums: &mut Vec<Unsent>, packets: &mut [Pending], links: &[Link]) {
    packets.sort_unstable_by_key(|packet| packet.place);
    let known = sums.len();
    for packets in packets.chunk_by(|one, other| one.link() == other.link()) {
        let link = packets[0].link();
        let place = sums[..known].binary_search_by_key(&link, |unsent| unsent.link);
        let place = place.unwrap_or_else(|_| {
            reserve_next(sums);
            sums.push(Unsent::none_over(link));
            sums.len() - 1
        });
        let monitored = links[link as usize].is_monitored();
        packets.iter().for_each(|packet| sums[place].add(packet, monitored));
    }
    sums.sort_unstable_by_key(|unsent| unsent.link);
}

/// Packet that a link has accepted and that leaves it after the next reading. Links without a monitor may accept
/// packets before they arrive. The type is small, since all packets of a full queue are kept.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Twice the number of the link, plus one if the packet arrives there after the reading.
    place: u32,
    /// Index of the owner's group.
    group: u16,
    /// Length on the wire, bytes.
    len: u16,
    /// End of its transmission.
    departs: Time,
}

const _: () = assert!(MAX_LINKS <= 1 << 31 && size_of::<Pending>() == 16);

impl Pending {
    /// Returns a pending packet of a user of `group` at `link`; `ahead` if it arrives there after the reading.
    pub fn new(link: u32, group: u16, len: u16, ahead: bool, departs: Time) -> Self {
        Pending { place: link << 1 | u32::from(ahead), group, len, departs }
    }

    fn link(&self) -> u32 {
        self.place >> 1
    }

    fn is_ahead(&self) -> bool {
        self.place & 1 > 0
    }
}

/// Packets that a link has accepted and not sent at a point in time. The type is small, since most links have some.
#[derive(Clone)]
pub struct Unsent {
    /// Number of the link.
    pub link: u32,
    packets: u32,
    bytes: u64,
    /// Accepted packets by user group, of a monitored link.
    groups: Option<Box<ByGroup>>,
    /// Number of these packets that have not arrived yet.
    pub not_arrived: u32,
    /// Length of the packet that leaves first, bytes.
    pub first_len: u16,
    /// Departure time of that packet.
    pub first_departs: Time,
}

/// Packets by user group.
#[derive(Clone, Default)]
struct ByGroup(Vec<(u16, Accepted)>);

impl Unsent {
    fn none_over(link: u32) -> Self {
        Unsent {
            link,
            packets: 0,
            bytes: 0,
            groups: None,
            not_arrived: 0,
            first_len: 0,
            first_departs: Time::NEVER,
        }
    }

    /// Returns all of them.
    pub fn in_all(&self) -> Accepted {
        Accepted { packets: self.packets.into(), bytes: self.bytes }
    }

    /// Returns those of a user group, over a monitored link.
    pub fn of_group(&self, group: usize) -> Accepted {
        let mut groups = self.groups.iter().flat_map(|groups| &groups.0);
        let own = groups.find(|(of, _)| usize::from(*of) == group);
        own.map_or(Accepted::default(), |(_, accepted)| *accepted)
    }

    fn add(&mut self, packet: &Pending, monitored: bool) {
        let bytes = u64::from(packet.len);
        self.packets += 1;
        self.bytes += bytes;
        self.not_arrived += u32::from(packet.is_ahead());
        if packet.departs < self.first_departs {
            (self.first_len, self.first_departs) = (packet.len, packet.departs);
        }
        if monitored {
            let groups = &mut self.groups.get_or_insert_default().0;
            match groups.iter_mut().find(|(of, _)| *of == packet.group) {
                Some((_, accepted)) => accepted.add(bytes),
                None => groups.push((packet.group, Accepted { packets: 1, bytes })),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate_mechanisms::units::Span;
    use tidegate_scenario::Scenario;

    use super::*;

    proptest! {
        /// What is read of packets is the same whether or not they are summed in between.
        #[test]
        fn sums_of_many_packets_change_no_reading(
            packets in prop::collection::vec((0..6u32, 0..3u16, 40..1500u16, any::<bool>()), 0..20_000)
        ) {
            let text = "version = 1\n[bottleneck]\nrate = \"1 Mb/s\"\n[users.a]\ncount = 2\n";
            let plan = Scenario::parse(text, &[]).expect("valid").plan();
            let links: Vec<_> = plan.links.iter().map(|link| Link::new(link, 3, 1)).collect();
            let reading = Time::ZERO + Span::from_secs(1);
            let unsent_before = |last_reading| {
                let mut ahead = Ahead::until(last_reading);
                ahead.expect_reading(reading);
                for (number, &(link, group, len, later)) in (1..).zip(&packets) {
                    let departs = reading + Span::from_nanos(number);
                    ahead.accept(Pending::new(link, group, len, later, departs), &links);
                }
                ahead.unsent(&links, reading)
            };
            prop_assert_eq!(links.len(), 6);
            prop_assert_eq!(size_of::<Unsent>(), 40);
            let read = |all: Arc<Vec<Unsent>>| {
                let of_link = |unsent: &Unsent| {
                    let Unsent { link, not_arrived, first_len, first_departs, .. } = *unsent;
                    let groups = [0, 1, 2].map(|group| unsent.of_group(group));
                    (link, unsent.in_all(), groups, not_arrived, first_len, first_departs)
                };
                all.iter().map(of_link).collect::<Vec<_>>()
            };
            prop_assert_eq!(read(unsent_before(reading)), read(unsent_before(Time::NEVER)));
        }
    }
}
