//! The counters of a link at a moment, with what has passed of the time that they count in advance.

use tidegate_mechanisms::units::Time;

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
}

/// The counters of a link at a point in time.
#[derive(Clone, Copy)]
pub struct LinkReading<'a> {
    /// What it has accepted.
    pub accepted: Accepted,
    more: Option<&'a More>,
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
    /// Reads links at `now`, and starts their histograms and extremes anew.
    pub fn take(links: &mut [Link], now: Time) -> Self {
        let readings = LinkReadings::in_passing(links, now);
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

    /// Reads links at `now`.
    pub fn in_passing(links: &mut [Link], now: Time) -> Self {
        let mut more = Vec::new();
        for (number, link) in links.iter_mut().enumerate() {
            more.extend(More::of(link, now).map(|more| (number as u32, more)));
        }
        let accepted = Tally::of(links.iter().map(|link| link.accepted).collect());
        LinkReadings { accepted, count: links.len(), more }
    }

    /// That of the link with this number.
    pub fn of(&self, link: usize) -> LinkReading<'_> {
        let place = self.more.binary_search_by_key(&(link as u32), |(number, _)| *number);
        let more = place.ok().map(|place| &self.more[place].1);
        LinkReading { accepted: self.accepted.at(link), more }
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
