//! The counters of a link at a moment, with what has passed of the time that they count in advance.

use tidegate_mechanisms::units::{NANOS_PER_SEC, Rate, Time};
use tidegate_scenario::plan::MAX_LINKS;

use crate::link::Link;

use crate::probe::{Accepted, LinkProbe, Monitor};
use crate::readings::Tally;

/// The counters of all links at a point in time. Of most links there is nothing to be read but what they have
/// accepted.
#[derive(Clone)]
pub struct LinkReadings {
    accepted: Tally<Accepted>,
    count: usize,
    /// In the order of links.
    more: Vec<(u32, More)>,
    /// What links have accepted and not sent yet, where they have any such, in the order of links.
    unsent: Vec<(u32, Unsent)>,
}

/// The counters of a link at a point in time.
#[derive(Clone, Copy)]
pub struct LinkReading<'a> {
    /// What it has accepted.
    pub accepted: Accepted,
    more: Option<&'a More>,
    unsent: Option<&'a Unsent>,
}

/// How links are read: [`LinkReadings::take`] or [`LinkReadings::in_passing`].
pub type ReadLinks = fn(&mut [Link], &mut [Pending], Time) -> LinkReadings;

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

    /// When its transmission ends.
    pub fn departs(&self) -> Time {
        self.departs
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
struct Unsent {
    in_all: Accepted,
    /// By user group, of a monitored link.
    groups: Vec<(u16, Accepted)>,
    /// Packets of these that have not arrived yet.
    not_arrived: u32,
    /// Of the packet that leaves first its length, and when it does.
    first_len: u16,
    first_departs: Time,
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

    /// Of all links that have any such, in their order. Stations are asked for the packet in transmission, since there is
    /// none of theirs among those that are `pending`.
    fn of_all(links: &[Link], pending: &mut [Pending], now: Time) -> Vec<(u32, Self)> {
        pending.sort_unstable_by_key(|packet| packet.place);
        let of_link = |packets: &[Pending]| {
            let link = packets[0].link();
            (link, Unsent::of(&links[link as usize], packets))
        };
        let same_link = |one: &Pending, other: &Pending| one.link() == other.link();
        let mut all: Vec<_> = pending.chunk_by(same_link).map(of_link).collect();
        for (link, number) in links.iter().zip(0..) {
            if let Some((group, len, departs)) = link.in_transmission(now) {
                all.push(of_link(&[Pending::new(number, group, len, false, departs)]));
            }
        }
        all.sort_unstable_by_key(|(link, _)| *link);
        debug_assert!(all.windows(2).all(|two| two[0].0 < two[1].0), "one entry a link");
        all
    }
}

/// What there is to be read of few links.
#[derive(Clone)]
struct More {
    probe: LinkProbe,
    /// Packets and bytes that are accepted and wait, as far as they would not be accepted yet at a station.
    not_begun: (u32, u64),
    /// What has passed of the time that its counters count in advance, of a monitored link.
    passed: Option<TimePassed>,
}

/// Time up to a reading.
#[derive(Clone, Copy)]
pub struct TimePassed {
    /// Integral of the backlog, packet-ns.
    pub backlog_packet_ns: u128,
    /// Integral of the backlog, byte-ns.
    pub backlog_byte_ns: u128,
    /// Time in transmission, ns.
    pub busy_ns: u128,
}

impl LinkReadings {
    /// Reads links at `now`, and starts their histograms and extremes anew; `pending` are all packets that leave a link
    /// after `now` for which that was known when they were accepted.
    pub fn take(links: &mut [Link], pending: &mut [Pending], now: Time) -> Self {
        let readings = LinkReadings::in_passing(links, pending, now);
        for link in links {
            if link.monitor().is_none() {
                continue;
            }
            let (_, bytes) = link.backlog(now);
            let monitor = link.monitor().expect("monitored");
            monitor.sojourn.reset();
            monitor.most_bytes = bytes;
        }
        readings
    }

    /// Reads links at `now`, as [`LinkReadings::take`].
    pub fn in_passing(links: &mut [Link], pending: &mut [Pending], now: Time) -> Self {
        let mut more = Vec::new();
        for (number, link) in links.iter_mut().enumerate() {
            more.extend(More::of(link, now).map(|more| (number as u32, more)));
        }
        let accepted = Tally::of(links.iter().map(|link| link.accepted).collect());
        let unsent = Unsent::of_all(links, pending, now);
        LinkReadings { accepted, count: links.len(), more, unsent }
    }

    /// That of the link with this number.
    pub fn of(&self, link: usize) -> LinkReading<'_> {
        let place = self.more.binary_search_by_key(&(link as u32), |(number, _)| *number);
        let more = place.ok().map(|place| &self.more[place].1);
        let place = self.unsent.binary_search_by_key(&(link as u32), |(number, _)| *number);
        let unsent = place.ok().map(|place| &self.unsent[place].1);
        LinkReading { accepted: self.accepted.at(link), more, unsent }
    }

    /// Those of all links.
    pub fn iter(&self) -> impl Iterator<Item = LinkReading<'_>> {
        (0..self.count).map(|link| self.of(link))
    }
}

impl More {
    fn of(link: &mut Link, now: Time) -> Option<Self> {
        let not_begun = link.not_begun(now);
        let passed = link.monitor().is_some().then(|| TimePassed::of(link, now));
        let probe = link.probe().filter(|probe| !probe.is_blank()).cloned();
        probe.map(|probe| More { probe, not_begun, passed })
    }
}

impl<'a> LinkReading<'a> {
    /// What it has accepted; of what is asked a price only what has left the queue, whether or not that is an event.
    pub fn sent(&self) -> Accepted {
        let Accepted { packets, bytes } = self.accepted;
        let (waiting, waiting_bytes) = self.more.map_or((0, 0), |more| more.not_begun);
        Accepted { packets: packets - u64::from(waiting), bytes: bytes - waiting_bytes }
    }

    /// Packets that have arrived and were accepted.
    pub fn arrived(&self) -> u64 {
        self.accepted.packets - self.unsent.map_or(0, |unsent| unsent.not_arrived.into())
    }

    /// What it has sent to the last bit.
    pub fn departed(&self) -> Accepted {
        let unsent = self.unsent.map(|unsent| unsent.in_all).unwrap_or_default();
        self.accepted.without(unsent)
    }

    /// The same of a user group, at a monitored link.
    pub fn departed_of(&self, group: usize) -> Accepted {
        let groups = self.unsent.map_or(&[][..], |unsent| &unsent.groups);
        let unsent = groups.iter().find(|(of, _)| usize::from(*of) == group);
        let counts = self.monitor().map(|monitor| monitor.groups[group]).unwrap_or_default();
        let accepted = Accepted { packets: counts.accepted, bytes: counts.accepted_bytes };
        accepted.without(unsent.map(|(_, unsent)| *unsent).unwrap_or_default())
    }

    /// For how many nanoseconds a link of this rate has been sending until `now`, when this was read.
    pub fn sending_ns(&self, rate: Rate, now: Time) -> f64 {
        let transmission_ns =
            |bytes: u64| (8 * NANOS_PER_SEC) as f64 * bytes as f64 / rate.as_bps() as f64;
        let begun_ns = self.unsent.map_or(0.0, |unsent| {
            let rest = unsent.first_departs.since(now);
            transmission_ns(unsent.first_len.into()) - rest.as_nanos() as f64
        });
        transmission_ns(self.departed().bytes) + begun_ns.max(0.0)
    }

    /// Packets that have passed with a mark set here.
    pub fn marks(&self) -> u64 {
        self.more.map_or(0, |more| more.probe.marks)
    }

    /// Drops by reason: full, AQM, wire, policer.
    pub fn drops(&self) -> [u64; 4] {
        self.more.map_or([0; 4], |more| more.probe.drops)
    }

    /// What only bottlenecks keep.
    pub fn monitor(&self) -> Option<&'a Monitor> {
        self.more?.probe.monitor.as_deref()
    }

    /// What has passed of the time that is counted in advance.
    ///
    /// # Panics
    /// If the link is not monitored.
    pub fn passed(&self) -> &'a TimePassed {
        self.more.and_then(|more| more.passed.as_ref()).expect("monitored")
    }
}

impl TimePassed {
    fn of(link: &mut Link, now: Time) -> Self {
        let [packets, bytes, busy] = link.time_to_come(now);
        let [packets_so_far, bytes_so_far] = link.time_so_far(now);
        let monitor = link.monitor().expect("monitored");
        TimePassed {
            backlog_packet_ns: monitor.sojourn_ns + monitor.lost_ns + packets_so_far - packets,
            backlog_byte_ns: monitor.sojourn_byte_ns + monitor.lost_byte_ns + bytes_so_far - bytes,
            busy_ns: monitor.busy_ns - busy,
        }
    }
}
