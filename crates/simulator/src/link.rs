//! A link: a queue, a transmitter and a pipe.
//!
//! First-come-first-served service needs no event of its own. The moment a packet leaves is known
//! when it arrives: when the transmitter is free, plus its transmission time. So the queue is the
//! list of the departures still to come, and the backlog that an arriving packet meets is its
//! length after those that are over have been struck off.
//!
//! A mechanism that must see departures, or that serves in another order, stands in a [`Station`]
//! instead; the link then has the rest.

use tidegate_mechanisms::bottleneck::{Arrival, Judge, Verdict};
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{Buffer, LinkPlan, MechanismsPlan};

use crate::build;
use crate::pace::Pace;
use crate::packet::{Parcel, flags};
use crate::probe::LinkProbe;
use crate::random::Stream;
use crate::ring::Ring;
use crate::station::{Sent, Station};

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// The buffer was full.
    Full,
    /// The AQM chose it.
    Aqm,
    /// It was lost on the wire.
    Wire,
    /// Its customer's policer chose it.
    Policer,
}

/// Whose packet it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// Index of the user group.
    pub group: u16,
    /// Index of the user.
    pub user: u32,
    /// Its flow answers marks in proportion (L4S).
    pub scalable: bool,
}

/// A unidirectional link. What most packets need of it comes first, in one cache line, counters
/// included.
#[repr(C, align(64))]
pub struct Link {
    /// When the transmitter is free.
    free_at: Time,
    pace: Pace,
    delay: Span,
    /// Length of the last packet accepted, if it is not entered yet; 0 otherwise.
    not_entered: u16,
    /// The link is plain, and its list empty.
    at_once: bool,
    /// Whether a packet that finds the link idle passes, with nothing to draw or to record, and at the
    /// rate that there always is.
    plain: bool,
    /// Whether the exact backlog matters for every packet. Otherwise departures are struck off
    /// only when the list looks full.
    exact: bool,
    /// What is measured.
    pub probe: LinkProbe,
    /// Packets that have not left yet, the one in transmission first. The last one accepted is
    /// entered when the next arrives before it has left, so that an idle link keeps no list.
    waiting: Ring<Waiting>,
    /// Bytes of those.
    waiting_bytes: u64,
    limit_packets: usize,
    limit_bytes: u64,
    station: Option<Box<Station>>,
    management: Option<Box<Management>>,
    wire_loss: Option<Box<(f64, Stream)>>,
}

#[derive(Clone, Copy, Default)]
struct Waiting {
    departs: Time,
    len: u32,
}

/// Active queue management.
struct Management {
    judge: Judge,
    ecn: bool,
    ecn_marks_all: bool,
    rng: Stream,
}

/// What a link did to a packet that it accepted.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// When it reaches the far end.
    pub at: Time,
    /// It has got a mark here, and had none before.
    pub newly_marked: bool,
}

/// A packet that has left a station.
#[derive(Clone, Copy)]
pub struct Departed {
    /// The packet.
    pub parcel: Parcel,
    /// When it is due at the far end.
    pub at: Time,
    /// The wire has lost it.
    pub lost_on_wire: bool,
}

impl Link {
    /// A link as planned; `number` names its random streams.
    pub fn new(plan: &LinkPlan, number: usize, groups: usize, seed: u64) -> Self {
        Link::with_station(plan, Station::new(plan, number, seed), number, groups, seed)
    }

    /// A link around a station, if it is given one.
    pub fn with_station(
        plan: &LinkPlan,
        station: Option<Box<Station>>,
        number: usize,
        groups: usize,
        seed: u64,
    ) -> Self {
        let (limit_packets, limit_bytes) = match plan.buffer {
            // Nothing passes at once where departures are events.
            _ if station.is_some() => (0, u64::MAX),
            Buffer::Packets(n) => (n as usize, u64::MAX),
            Buffer::Bytes(n) => (usize::MAX, n.get()),
        };
        let judge = if station.is_some() { None } else { build::judge(plan) };
        let management = judge.map(|judge| {
            let rng = Stream::new(seed, &format!("link/{number}/aqm"));
            let MechanismsPlan { ecn, ecn_marks_all, .. } = *plan.mechanisms;
            Box::new(Management { judge, ecn, ecn_marks_all, rng })
        });
        let wire_loss = (plan.loss > 0.0)
            .then(|| Box::new((plan.loss, Stream::new(seed, &format!("link/{number}/wire")))));
        let exact = plan.monitored || management.is_some() || limit_bytes < u64::MAX;
        let pace = Pace::new(plan);
        let plain = !exact && wire_loss.is_none() && limit_packets > 0 && pace.is_steady();
        Link {
            free_at: Time::ZERO,
            not_entered: 0,
            at_once: plain,
            plain,
            exact,
            waiting: Ring::default(),
            waiting_bytes: 0,
            limit_packets,
            limit_bytes,
            pace,
            delay: plan.delay,
            station,
            management,
            wire_loss,
            probe: LinkProbe::new(plan.monitored.then_some(groups)),
        }
    }

    /// Whether an AQM looks at its packets.
    #[inline]
    pub fn is_managed(&self) -> bool {
        self.management.is_some() || self.station.is_some()
    }

    /// Bytes that the mechanism in front of it remembers from packet to packet.
    pub fn state_bytes(&self) -> u64 {
        let in_advance = self.management.as_ref().map_or(0, |own| own.judge.state_bytes());
        self.station.as_ref().map_or(in_advance, |station| station.state_bytes()) as u64
    }

    /// Whether a packet passes at once at `now`, as most packets do on most links: they find them
    /// idle, and nothing to be decided there. They go by [`Link::pass_at_once`], others by
    /// [`Link::offer`].
    #[inline(always)]
    pub fn is_free(&self, now: Time) -> bool {
        self.free_at <= now && self.at_once
    }

    /// A packet passes a link that is free at `now`. Returns when it reaches the far end.
    #[inline(always)]
    pub fn pass_at_once(&mut self, len: u16, now: Time) -> Time {
        self.free_at = now + self.pace.steady_time(len);
        self.not_entered = len;
        self.probe.on_accepted(len.into());
        self.free_at + self.delay
    }

    /// Offers a packet of the given owner at `now`, which never goes back. A station refuses all,
    /// without counting them: they go to [`Link::arrive`].
    #[inline]
    pub fn offer(&mut self, parcel: &Parcel, now: Time, owner: Owner) -> Result<Passed, Drop> {
        if self.free_at <= now {
            self.waiting.clear();
            self.waiting_bytes = 0;
            self.not_entered = 0;
            self.at_once = self.plain;
        } else {
            self.enter_last();
            if self.exact || self.waiting.len() >= self.limit_packets {
                self.strike_off_departed(now);
            }
        }
        let marked = self.management.is_some() && self.manage(parcel, now, owner)?;
        let len = parcel.len();
        let bytes = u64::from(len);
        if self.waiting.len() >= self.limit_packets || self.waiting_bytes + bytes > self.limit_bytes
        {
            return Err(self.overflow(owner, now, len));
        }
        let begins = self.free_at.max(now);
        let transmission = self.pace.transmission_time(len, begins);
        let departs = begins + transmission;
        self.free_at = departs;
        self.not_entered = len;
        self.probe.on_accepted(bytes);
        if let Some(monitor) = &mut self.probe.monitor {
            monitor.on_accepted(owner.group, bytes, departs - now, transmission);
        }
        if self.wire_loss.is_some() && self.is_lost_on_wire() {
            self.probe.on_drop(Drop::Wire, owner.group);
            return Err(Drop::Wire);
        }
        if marked {
            self.probe.on_mark(owner.group);
        }
        let newly_marked = marked && !parcel.has(flags::CE);
        Ok(Passed { at: departs + self.delay, newly_marked })
    }

    /// Lets the AQM judge; returns whether it marks a packet that may pass. It sees the packets that wait, not the one in transmission, as in ns-2, ns-3, INET and Linux.
    #[inline]
    fn manage(
        &mut self,
        parcel: &Parcel,
        now: Time,
        Owner { group, user, .. }: Owner,
    ) -> Result<bool, Drop> {
        let Some(management) = &mut self.management else { return Ok(false) };
        let in_transmission = self.waiting.front().map_or(0, |first| u64::from(first.len));
        let arrival = Arrival {
            now,
            len: Bytes::new(parcel.len().into()),
            user,
            activity: parcel.activity(),
            backlog_packets: self.waiting.len().saturating_sub(1) as u32,
            backlog_bytes: self.waiting_bytes - in_transmission,
            idle: now.since(self.free_at),
        };
        self.probe.on_activity(group, arrival.activity);
        let Management { judge, ecn, ecn_marks_all, rng } = &mut **management;
        let may_mark = *ecn && (*ecn_marks_all || parcel.has(flags::ECT));
        match judge.signal(&arrival, || rng.unit()).verdict(may_mark) {
            Verdict::Pass => Ok(false),
            Verdict::Mark => Ok(true),
            Verdict::Drop(loss) => {
                self.probe.on_drop(loss.into(), group);
                Err(loss.into())
            }
        }
    }

    #[cold]
    fn overflow(&mut self, Owner { group, user, .. }: Owner, now: Time, len: u16) -> Drop {
        if self.station.is_some() {
            return Drop::Full;
        }
        if let Some(management) = &mut self.management {
            management.judge.on_overflow(user, now, Bytes::new(len.into()));
        }
        self.probe.on_drop(Drop::Full, group);
        Drop::Full
    }

    fn is_lost_on_wire(&mut self) -> bool {
        self.wire_loss.as_mut().is_some_and(|loss| loss.1.unit() < loss.0)
    }

    #[inline]
    fn enter_last(&mut self) {
        let len = core::mem::take(&mut self.not_entered);
        if len > 0 {
            self.waiting.push(Waiting { departs: self.free_at, len: len.into() });
            self.waiting_bytes += u64::from(len);
            self.at_once = false;
        }
    }

    #[inline]
    fn strike_off_departed(&mut self, now: Time) {
        while let Some(first) = self.waiting.front()
            && first.departs <= now
        {
            self.waiting_bytes -= u64::from(first.len);
            self.waiting.pop();
        }
    }

    /// Packets and bytes waiting or in transmission at `now`.
    pub fn backlog(&mut self, now: Time) -> (u32, u64) {
        if let Some(station) = &self.station {
            return station.backlog();
        }
        self.enter_last();
        self.strike_off_departed(now);
        (self.waiting.len() as u32, self.waiting_bytes)
    }

    /// The part of the accepted packets' time here that lies after `now`: packet-ns, byte-ns, and
    /// ns in transmission.
    pub fn time_to_come(&mut self, now: Time) -> [u128; 3] {
        if let Some(station) = &self.station {
            return station.time_to_come(now);
        }
        self.enter_last();
        self.strike_off_departed(now);
        let mut sums = [0; 3];
        for packet in self.waiting.iter() {
            let rest = u128::from(packet.departs.since(now).as_nanos());
            sums[0] += rest;
            sums[1] += rest * u128::from(packet.len);
        }
        sums[2] = u128::from(self.free_at.since(now).as_nanos());
        sums
    }

    /// The part of the time of packets here that is not counted yet: packet-ns and byte-ns.
    pub fn time_so_far(&self, now: Time) -> [u128; 2] {
        self.station.as_ref().map_or([0; 2], |station| station.time_so_far(now))
    }

    /// Whether its departures are events.
    pub const fn is_station(&self) -> bool {
        self.station.is_some()
    }

    /// Offers a packet to a station at `now`. Returns when the transmitter will be done, if the
    /// packet has set it to work.
    ///
    /// # Panics
    /// If this is no station.
    pub fn arrive(&mut self, parcel: Parcel, owner: Owner, now: Time) -> Option<Time> {
        let station = self.station.as_mut().expect("departures are events");
        station.arrive(parcel, owner, now, &mut self.probe);
        if station.is_idle() { self.begin(now) } else { None }
    }

    /// The transmitter of a station takes its next packet. Returns when it will be done.
    fn begin(&mut self, now: Time) -> Option<Time> {
        let Link { station, pace, probe, .. } = self;
        let station = station.as_mut().expect("departures are events");
        station.begin(now, probe, |len| pace.transmission_time(len, now))
    }

    /// The transmitter of a station is done at `now`. Returns what it has sent, with the time at
    /// which that reaches the far end, and when it will be done again.
    ///
    /// # Panics
    /// If this is no station, or it was sending nothing.
    pub fn depart(&mut self, now: Time) -> (Departed, Option<Time>) {
        let station = self.station.as_mut().expect("departures are events");
        let Sent { parcel, group, marked } = station.end();
        let lost_on_wire = self.is_lost_on_wire();
        if lost_on_wire {
            self.probe.on_drop(Drop::Wire, group);
        } else if marked {
            self.probe.on_mark(group);
        }
        let at = now + self.delay;
        (Departed { parcel, at, lost_on_wire }, self.begin(now))
    }

    /// Takes a packet that a station has lost.
    pub fn take_lost(&mut self) -> Option<Parcel> {
        self.station.as_mut()?.lost.pop()
    }

    /// Packets in a station.
    pub fn at_station(&self) -> u64 {
        self.station.as_ref().map_or(0, |station| station.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four cache lines, the first for most packets. There are hundreds of thousands of them in large networks.
    #[test]
    fn a_link_stays_small() {
        assert!(size_of::<Link>() <= 256, "{} bytes", size_of::<Link>());
        let counters = core::mem::offset_of!(Link, probe) + core::mem::offset_of!(LinkProbe, marks);
        assert!(counters <= 64, "{counters} bytes before others");
    }
}
