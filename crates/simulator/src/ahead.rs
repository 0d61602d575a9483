//! What links and flows count of later than their counters are read. A link without a monitor may serve packets before they
//! arrive, and any may accept one that it has not sent yet.

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::MAX_LINKS;

use crate::link::Link;
use crate::probe::Accepted;

/// What is counted too early for the next reading.
#[derive(Default)]
pub struct Ahead {
    /// Packets that links have accepted and that leave them later.
    pending: Vec<Pending>,
    /// Drops and marks of packets that arrive later.
    signals: Vec<(Time, u32, LinkSignal)>,
    /// Flows that lose one of their sender's packets later.
    losses: Vec<(Time, u32)>,
}

/// What a link does to a packet, apart from sending it.
#[derive(Clone, Copy, Debug)]
pub enum LinkSignal {
    /// It is dropped.
    Drop(DropReason),
    /// It is marked.
    Mark,
}

/// Drops by reason, and marks.
#[derive(Clone, Copy, Default)]
pub struct SignalCounts {
    pub drops: [u64; 4],
    pub marks: u64,
}

impl Ahead {
    /// A link has accepted a packet that leaves it later.
    pub fn accept(&mut self, packet: Pending) {
        self.pending.push(packet);
    }

    /// A link drops or marks a packet that arrives at this later time.
    pub fn signal(&mut self, at: Time, link: u32, signal: LinkSignal) {
        self.signals.push((at, link, signal));
    }

    /// A flow loses a packet at this later time.
    pub fn lose(&mut self, at: Time, flow: u32) {
        self.losses.push((at, flow));
    }

    /// Counters are read next at this time: what happens up to then is not early any more.
    pub fn expect_reading(&mut self, next: Time) {
        self.pending.retain(|packet| packet.departs > next);
        self.signals.retain(|(at, ..)| *at > next);
        self.losses.retain(|(at, _)| *at > next);
    }

    /// What all links that have any such have accepted and not sent by `now`, in their order. Stations are asked for the packet
    /// in transmission, since none of theirs is pending.
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

    /// Drops and marks that are early, of all links that have any, in their order.
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

    /// Takes the losses that are early from those that were counted of each flow.
    pub fn take_losses_from(&self, counted: &mut [u64]) {
        for &(_, flow) in &self.losses {
            counted[flow as usize] -= 1;
        }
    }
}

/// A packet that a link has accepted, and that leaves it after the counters are read next. Links without a monitor may
/// accept packets ahead of time, before they arrive. It is small, since all of a full queue are kept.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Twice the number of the link, and one more if it arrives there after the counters are read.
    place: u32,
    /// Index of its owner's group.
    group: u16,
    /// Its length on the wire.
    len: u16,
    /// When its transmission ends.
    departs: Time,
}

const _: () = assert!(MAX_LINKS <= 1 << 31 && size_of::<Pending>() == 16);

impl Pending {
    /// A packet of a user in this group, accepted by this link; `ahead` if it arrives there after the counters are read.
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

/// What a link has accepted and not sent at a point in time.
#[derive(Clone)]
pub struct Unsent {
    pub in_all: Accepted,
    /// By user group, of a monitored link.
    pub groups: Vec<(u16, Accepted)>,
    /// Packets of these that have not arrived yet.
    pub not_arrived: u32,
    /// Of the packet that leaves first its length, and when it does.
    pub first_len: u16,
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
