//! Counters of a link at a point in time, corrected for times that are counted in advance.

use std::sync::Arc;

use tidegate_mechanisms::units::{NANOS_PER_SEC, Rate, Time};

use crate::ahead::{Ahead, SignalCounts, Unsent};
use crate::delay::DelayStatistics;
use crate::link::Link;

use crate::probe::{Accepted, LinkProbe, Monitor};
use crate::tally::Tally;

/// Counters of all links at a point in time. Most links have only `accepted`.
#[derive(Clone)]
pub struct LinkReadings {
    accepted: Tally<Accepted>,
    count: usize,
    /// Further counters, ascending by link.
    more: Vec<(u32, More)>,
    /// Packets accepted and not sent yet, ascending by link.
    unsent: Arc<Vec<Unsent>>,
    /// Drops and marks counted too early, ascending by link.
    early: Vec<(u32, SignalCounts)>,
}

/// Counters of a link at a point in time.
#[derive(Clone, Copy)]
pub struct LinkReading<'a> {
    /// Packets accepted.
    pub accepted: Accepted,
    more: Option<&'a More>,
    unsent: Option<&'a Unsent>,
    early: SignalCounts,
}

/// Function that reads links: [`LinkReadings::take`] or [`LinkReadings::in_passing`].
pub type ReadLinks = fn(&mut [Link], &mut Ahead, Time) -> LinkReadings;

/// Counters of monitored and managed links.
#[derive(Clone)]
struct More {
    probe: LinkProbe,
    /// Packets and bytes that are counted as accepted although a station would not have accepted them yet.
    not_begun: (u32, u64),
    /// Elapsed part of the times counted in advance, of a monitored link.
    passed: Option<TimePassed>,
}

/// Times up to a reading.
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
    /// Reads links at `now`, and resets their histograms and extremes; `ahead` has the events counted before their
    /// time.
    pub fn take(links: &mut [Link], ahead: &mut Ahead, now: Time) -> Self {
        let readings = LinkReadings::in_passing(links, ahead, now);
        for link in links {
            if link.monitor().is_none() {
                continue;
            }
            let (_, bytes) = link.backlog(now);
            let monitor = link.monitor().expect("monitored");
            monitor.sojourn.iter_mut().for_each(DelayStatistics::reset);
            monitor.most_bytes = bytes;
        }
        readings
    }

    /// Reads links at `now` as [`LinkReadings::take`], without resetting anything.
    pub fn in_passing(links: &mut [Link], ahead: &mut Ahead, now: Time) -> Self {
        let mut more = Vec::new();
        for (number, link) in links.iter_mut().enumerate() {
            more.extend(More::of(link, now).map(|more| (number as u32, more)));
        }
        let accepted = Tally::of(links.iter().map(|link| link.accepted).collect());
        let (unsent, early) = (ahead.unsent(links, now), ahead.signals());
        LinkReadings { accepted, count: links.len(), more, unsent, early }
    }

    /// Returns the reading of a link.
    pub fn of(&self, link: usize) -> LinkReading<'_> {
        let place = self.more.binary_search_by_key(&(link as u32), |(number, _)| *number);
        let more = place.ok().map(|place| &self.more[place].1);
        let place = self.unsent.binary_search_by_key(&(link as u32), |unsent| unsent.link);
        let unsent = place.ok().map(|place| &self.unsent[place]);
        let place = self.early.binary_search_by_key(&(link as u32), |(number, _)| *number);
        let early = place.map_or(SignalCounts::default(), |place| self.early[place].1);
        LinkReading { accepted: self.accepted.at(link), more, unsent, early }
    }

    /// Iterates over the readings of all links.
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
    /// Returns the packets accepted; with prices, only those that have left the queue, whether or not departures are
    /// events.
    pub fn sent(&self) -> Accepted {
        let Accepted { packets, bytes } = self.accepted;
        let (waiting, waiting_bytes) = self.more.map_or((0, 0), |more| more.not_begun);
        Accepted { packets: packets - u64::from(waiting), bytes: bytes - waiting_bytes }
    }

    /// Returns the number of packets that have arrived and were accepted.
    pub fn arrived(&self) -> u64 {
        self.accepted.packets - self.unsent.map_or(0, |unsent| unsent.not_arrived.into())
    }

    /// Returns the packets sent to the last bit.
    pub fn departed(&self) -> Accepted {
        let unsent = self.unsent.map(Unsent::in_all).unwrap_or_default();
        self.accepted.without(unsent)
    }

    /// Returns the packets sent to the last bit of a user group, at a monitored link.
    pub fn departed_of(&self, group: usize) -> Accepted {
        let unsent = self.unsent.map(|unsent| unsent.of_group(group));
        let counts = self.monitor().map(|monitor| monitor.groups[group]).unwrap_or_default();
        let accepted = Accepted { packets: counts.accepted, bytes: counts.accepted_bytes };
        accepted.without(unsent.unwrap_or_default())
    }

    /// Returns the time in ns that a link of this rate has been sending until the reading at `now`.
    pub fn sending_ns(&self, rate: Rate, now: Time) -> f64 {
        let transmission_ns =
            |bytes: u64| (8 * NANOS_PER_SEC) as f64 * bytes as f64 / rate.as_bps() as f64;
        let begun_ns = self.unsent.map_or(0.0, |unsent| {
            let rest = unsent.first_departs.since(now);
            transmission_ns(unsent.first_len.into()) - rest.as_nanos() as f64
        });
        transmission_ns(self.departed().bytes) + begun_ns.max(0.0)
    }

    /// Returns the number of packets marked by the link and passed.
    pub fn marks(&self) -> u64 {
        self.more.map_or(0, |more| more.probe.marks) - self.early.marks
    }

    /// Returns the number of drops by reason: full, AQM, wire, policer.
    pub fn drops(&self) -> [u64; 4] {
        let counted = self.more.map_or([0; 4], |more| more.probe.drops);
        core::array::from_fn(|reason| counted[reason] - self.early.drops[reason])
    }

    /// Returns the monitor, if the link is monitored.
    pub fn monitor(&self) -> Option<&'a Monitor> {
        self.more?.probe.monitor.as_deref()
    }

    /// Returns the elapsed part of the times counted in advance.
    ///
    /// # Panics
    ///
    /// If the link is not monitored.
    pub fn passed(&self) -> &'a TimePassed {
        self.more.and_then(|more| more.passed.as_ref()).expect("monitored")
    }
}

impl TimePassed {
    fn of(link: &mut Link, now: Time) -> Self {
        let [packets, bytes, busy] = link.remaining_time(now);
        let [packets_so_far, bytes_so_far] = link.time_so_far(now);
        let monitor = link.monitor().expect("monitored");
        TimePassed {
            backlog_packet_ns: monitor.sojourn_ns + monitor.lost_ns + packets_so_far - packets,
            backlog_byte_ns: monitor.sojourn_byte_ns + monitor.lost_byte_ns + bytes_so_far - bytes,
            busy_ns: monitor.busy_ns - busy,
        }
    }
}
