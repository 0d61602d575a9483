//! Events that links and flows count before their time. A link without a monitor may serve packets before they arrive,
//! and any link may accept a packet that it has not sent yet.

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::MAX_LINKS;

use crate::link::Link;
use crate::probe::Accepted;

/// Events counted too early for the next reading of the counters.
#[derive(Default)]
pub struct Ahead {
    /// Packets that links have accepted and that leave after the reading.
    pending: Vec<Pending>,
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

impl Ahead {
    /// Records a packet that a link has accepted and that leaves it later.
    pub fn accept(&mut self, packet: Pending) {
        self.pending.push(packet);
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
        self.signals.retain(|(at, ..)| *at > next);
        self.losses.retain(|(at, _)| *at > next);
    }

    /// Returns, by link in ascending order, the packets accepted and not sent by `now`. Stations are asked for the
    /// packet in transmission, since none of their packets is pending.
    pub fn unsent(&mut self, links: &[Link], now: Time) -> Vec<(u32, Unsent)> {
        self.pending.sort_unstable_by_key(|packet| packet.place);
        let of_link = |packets: &[Pending]| {
            let link = packets[0].link();
            (link, Unsent::of(&links[link as usize], packets))
        };
        let same_link = |one: &Pending, other: &Pending| one.link() == other.link();
        let mut all: Vec<_> = self.pending.chunk_by(same_link).map(of_link).collect();
        for (link, number) in links.iter().zip(0..) {
            if let Some((group, len, departs)) = link.in_transmission(now) {
                all.push(of_link(&[Pending::new(number, group, len, false, departs)]));
            }
        }
        all.sort_unstable_by_key(|(link, _)| *link);
        debug_assert!(all.windows(2).all(|two| two[0].0 < two[1].0), "one entry a link");
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

/// Packets that a link has accepted and not sent at a point in time.
#[derive(Clone)]
pub struct Unsent {
    pub in_all: Accepted,
    /// Accepted packets by user group, of a monitored link.
    pub groups: Vec<(u16, Accepted)>,
    /// Number of these packets that have not arrived yet.
    pub not_arrived: u32,
    /// Length of the packet that leaves first, bytes.
    pub first_len: u16,
    /// Departure time of that packet.
    pub first_departs: Time,
}

impl Unsent {
    fn of(link: &Link, packets: &[Pending]) -> Self {
        let mut unsent = Unsent {
            in_all: Accepted::default(),
            groups: Vec::new(),
            not_arrived: 0,
            first_len: 0,
            first_departs: Time::NEVER,
        };
        let monitored = link.is_monitored();
        for packet in packets {
            unsent.add(packet, monitored);
        }
        unsent
    }

    fn add(&mut self, packet: &Pending, monitored: bool) {
        let bytes = u64::from(packet.len);
        self.in_all.add(bytes);
        self.not_arrived += u32::from(packet.is_ahead());
        if packet.departs < self.first_departs {
            (self.first_len, self.first_departs) = (packet.len, packet.departs);
        }
        if monitored {
            match self.groups.iter_mut().find(|(of, _)| *of == packet.group) {
                Some((_, accepted)) => accepted.add(bytes),
                None => self.groups.push((packet.group, Accepted { packets: 1, bytes })),
            }
        }
    }
}
