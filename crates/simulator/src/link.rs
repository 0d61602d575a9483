//! A link: queue, transmitter and propagation delay.
//!
//! FIFO service needs no event of its own. The departure time of a packet is known on arrival: the time at which the
//! transmitter becomes free plus the transmission time. The queue is therefore the list of future departures, and the
//! backlog at an arrival is its length after removing past ones. Back-to-back packets of one length depart at even
//! steps; the list has one entry for each such run, and usually no entry besides the last run.
//!
//! A mechanism that needs departures as events, or that serves in another order, runs in a [`Station`]; the link then
//! provides the rest.

mod departures;
mod management;
mod propagation;
mod rate_schedule;
mod waiting;

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::impairment::LossProcess;
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{Buffer, LinkKind, LinkPlan};

use crate::owner::Owner;
use crate::pace::Pace;
use crate::packet::PackedPacket;
use crate::probe::{Accepted, LinkProbe, Monitor};
use crate::random::Stream;
use crate::ring::Ring;
use crate::station::Station;
use crate::transmission::Transmission;
pub use departures::Departed;
use management::Management;
use propagation::Propagation;
use rate_schedule::RateSchedule;
use waiting::Run;

/// A unidirectional link. The fields that most packets need, including `accepted`, fit in one cache line; the rest is
/// allocated separately, and absent in most links.
#[repr(align(64))]
pub struct Link {
    /// Time at which the transmitter becomes free.
    free_at: Time,
    /// Reciprocal of a constant rate; see [`Pace`], which as a struct would take twice the space.
    reciprocal: u64,
    delay: Span,
    /// Counts of accepted packets.
    pub accepted: Accepted,
    rest: Option<Box<Rest>>,
    limit_packets: u32,
    /// Number of packets in the last run: back-to-back packets of `run_len` bytes, the last of which departs at
    /// `free_at`. Some of them may have left.
    run: u32,
    run_len: u16,
    shift: u8,
    /// Whether the link is plain and no packets wait before the run.
    at_once: bool,
    /// Whether a packet that finds the link idle passes without random draws or recording, at a constant rate.
    plain: bool,
    /// Whether its packets are captured or may be duplicated.
    observed: bool,
    /// Whether the exact backlog matters for every packet, as for an AQM or a byte limit. Otherwise past departures are
    /// removed only when the list looks full.
    exact: bool,
    /// Whether the AQM has to be updated between arrivals.
    looks_between: bool,
}

/// State that few links have or few packets need.
#[derive(Default)]
struct Rest {
    probe: LinkProbe,
    /// Packets that have not left yet, without the last run.
    waiting: Ring<Run>,
    /// Number of these packets.
    waiting_packets: u32,
    /// Bytes of these packets.
    waiting_bytes: u64,
    /// Buffer size, bytes.
    limit_bytes: u64,
    /// Rates over time, if the rate changes.
    schedule: Option<Box<RateSchedule>>,
    station: Option<Box<Station>>,
    management: Option<Box<Management>>,
    wire_loss: Option<Box<(LossProcess, Stream)>>,
    /// How long packets are on the wire, where that is not the same for all.
    propagation: Option<Box<Propagation>>,
}

/// A packet that a link has accepted.
#[derive(Clone, Copy, Debug)]
pub struct Forwarded {
    /// Arrival time at the far end.
    pub at: Time,
    /// What the link writes into the packet.
    pub written: Written,
}

/// What a link writes into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing.
    Nothing,
    /// A CE mark.
    Mark,
    /// A price in the payload word; see [`Link::reported`].
    Payload,
}

impl Link {
    /// Returns the link of a plan; its name selects its random streams.
    pub fn new(plan: &LinkPlan, groups: usize, seed: u64) -> Self {
        Link::with_station(plan, Station::new(plan, seed), groups, seed)
    }

    /// Returns a link, around a station if one is given.
    pub fn with_station(
        plan: &LinkPlan,
        station: Option<Box<Station>>,
        groups: usize,
        seed: u64,
    ) -> Self {
        let (limit_packets, limit_bytes) = match plan.buffer {
            // Departures are events, so no packet passes at once.
            _ if station.is_some() => (0, u64::MAX),
            Buffer::Packets(packets) => (packets, u64::MAX),
            Buffer::Bytes(bytes) => (u32::MAX, bytes.get()),
        };
        let management = if station.is_some() { None } else { Management::new(plan, seed) };
        let wire_loss = LossProcess::new(&plan.loss).map(|loss| {
            Box::new((loss, Stream::new(seed, format_args!("link/{}/wire", plan.name))))
        });
        let looks_between = management.as_ref().is_some_and(|own| own.judge.aqm.looks_between());
        let exact = management.is_some() || limit_bytes < u64::MAX;
        let schedule = RateSchedule::of(plan);
        let steady = schedule.is_none();
        let propagation = Propagation::of(plan, seed);
        let plain = !exact
            && !plan.monitored
            && wire_loss.is_none()
            && limit_packets > 0
            && steady
            && propagation.is_none();
        let probe = LinkProbe::new(plan.monitored.then_some(groups));
        let waiting = Ring::default();
        let rest = Rest {
            probe,
            waiting,
            waiting_packets: 0,
            waiting_bytes: 0,
            limit_bytes,
            schedule,
            station,
            management,
            wire_loss,
            propagation,
        };
        let Pace { reciprocal, shift } = Pace::new(plan.rate);
        Link {
            free_at: Time::ZERO,
            reciprocal,
            delay: plan.delay,
            accepted: Accepted::default(),
            rest: (!plain).then(|| Box::new(rest)),
            limit_packets,
            run: 0,
            run_len: 0,
            shift,
            at_once: plain,
            plain,
            observed: plan.duplicate.0 > 0.0,
            exact,
            looks_between,
        }
    }

    /// When a copy of the packet that was sent last arrives, if the wire has made one.
    #[inline]
    pub fn take_copy(&mut self) -> Option<Time> {
        self.rest.as_mut()?.propagation.as_mut()?.take_copy()
    }

    /// When the packet that was accepted last leaves.
    pub fn last_departure(&self) -> Time {
        self.free_at
    }

    /// Returns the probe of a monitored link, for measurements beyond `accepted`.
    pub fn probe(&self) -> Option<&LinkProbe> {
        self.rest.as_ref().map(|rest| &rest.probe)
    }

    /// Whether the link is monitored.
    pub fn is_monitored(&self) -> bool {
        self.probe().is_some_and(|probe| probe.monitor.is_some())
    }

    /// Returns the monitor, if the link is monitored.
    pub fn monitor(&mut self) -> Option<&mut Monitor> {
        self.rest.as_mut()?.probe.monitor.as_deref_mut()
    }

    fn station(&self) -> Option<&Station> {
        self.rest.as_ref()?.station.as_deref()
    }

    /// Whether an AQM judges its packets.
    #[inline]
    pub fn is_managed(&self) -> bool {
        let rest = self.rest.as_ref();
        rest.is_some_and(|rest| rest.management.is_some() || rest.station.is_some())
    }

    /// Returns the per-packet state of its mechanism, bytes.
    pub fn state_bytes(&self) -> u64 {
        let Some(rest) = &self.rest else { return 0 };
        let in_advance = rest.management.as_ref().map_or(0, |own| own.judge.state_bytes());
        rest.station.as_ref().map_or(in_advance, |station| station.state_bytes()) as u64
    }

    #[inline(always)]
    fn pace(&self) -> Pace {
        Pace { reciprocal: self.reciprocal, shift: self.shift }
    }

    /// Whether its packets are captured or may be duplicated.
    #[inline(always)]
    pub fn is_observed(&self) -> bool {
        self.observed
    }

    /// Lets its packets be captured.
    pub fn observe(&mut self) {
        self.observed = true;
    }

    /// Whether a packet passes at once at `now`: the link is idle and decides nothing, as for most packets on most
    /// links. Such packets use [`Link::pass_at_once`], others [`Link::offer`].
    #[inline(always)]
    pub fn is_free(&self, now: Time) -> bool {
        self.free_at <= now && self.at_once
    }

    /// Sends a packet over a link that is free at `now`. Returns its arrival time at the far end.
    #[inline(always)]
    pub fn pass_at_once(&mut self, len: u16, now: Time) -> Time {
        self.free_at = now + self.pace().transmission_time(len);
        (self.run, self.run_len) = (1, len);
        self.accepted.add(len.into());
        self.free_at + self.delay
    }

    /// Whether a packet that finds the link busy at `now` extends the last run, as the next packet of a burst does.
    #[inline(always)]
    pub fn is_joined_by(&self, len: u16, now: Time) -> bool {
        let room = self.run < self.limit_packets;
        self.at_once & (self.run_len == len) & room & (self.free_at > now)
    }

    /// Appends a packet to the last run ([`Self::is_joined_by`]). Returns its arrival time at the far end.
    #[inline(always)]
    pub fn join(&mut self, len: u16) -> Time {
        self.free_at += self.pace().transmission_time(len);
        self.run += 1;
        self.accepted.add(len.into());
        self.free_at + self.delay
    }

    /// Offers a packet of the given owner at `now`, which never decreases. A station refuses all without counting them;
    /// they use [`Link::arrive`].
    #[inline]
    pub fn offer(
        &mut self,
        packed: &PackedPacket,
        now: Time,
        owner: Owner,
    ) -> Result<Forwarded, DropReason> {
        if self.exact {
            return self.judge(packed, now, owner);
        }
        if self.free_at <= now {
            self.forget_waiting();
        } else if self.waiting_packets() >= self.limit_packets {
            self.strike_off_departed(now);
        }
        if self.plain {
            self.offer_plain(packed, now, owner)
        } else {
            self.accept(packed, now, owner, Written::Nothing)
        }
    }

    /// Offers a packet where only the queue length decides.
    #[inline]
    fn offer_plain(
        &mut self,
        packed: &PackedPacket,
        now: Time,
        owner: Owner,
    ) -> Result<Forwarded, DropReason> {
        let len = packed.len();
        if self.waiting_packets() >= self.limit_packets {
            return Err(self.overflow(owner, now, len));
        }
        self.enter(len);
        self.free_at = self.free_at.max(now) + self.pace().transmission_time(len);
        self.accepted.add(len.into());
        Ok(Forwarded { at: self.free_at + self.delay, written: Written::Nothing })
    }

    /// Offers a packet where the exact backlog matters.
    #[inline]
    fn judge(
        &mut self,
        packed: &PackedPacket,
        now: Time,
        owner: Owner,
    ) -> Result<Forwarded, DropReason> {
        if self.looks_between {
            self.catch_up(now);
        }
        if self.free_at <= now {
            self.forget_waiting();
        } else {
            self.strike_off_departed(now);
        }
        let (packets, bytes) = (self.waiting_packets(), self.waiting_bytes());
        let behind_first = self.without_first(packets, bytes);
        let rest = self.rest.as_deref_mut().expect("a link that is not plain has a rest");
        let written = match rest.management.is_some() {
            true => rest.manage(packed, now, owner, behind_first, now.since(self.free_at))?,
            false => Written::Nothing,
        };
        if bytes + u64::from(packed.len()) > rest.limit_bytes {
            return Err(self.overflow(owner, now, packed.len()));
        }
        self.accept(packed, now, owner, written)
    }

    /// Accepts a packet if there is room for one more.
    #[inline(always)]
    fn accept(
        &mut self,
        packed: &PackedPacket,
        now: Time,
        owner: Owner,
        written: Written,
    ) -> Result<Forwarded, DropReason> {
        let (len, bytes, begins) = (packed.len(), u64::from(packed.len()), self.free_at.max(now));
        if self.waiting_packets() >= self.limit_packets {
            return Err(self.overflow(owner, now, len));
        }
        let Transmission { ends, sending } = self.transmission(len, begins);
        self.enter(len);
        self.free_at = ends;
        self.accepted.add(bytes);
        let in_all = self.waiting_bytes();
        let rest = self.rest.as_deref_mut().expect("a link that is not plain has a rest");
        if let Some(monitor) = &mut rest.probe.monitor {
            monitor.on_accepted(owner.group, bytes, self.free_at - now, sending);
            if in_all > monitor.most_bytes {
                self.note_most_bytes(now);
            }
        }
        let rest = self.rest.as_deref_mut().expect("a link that is not plain has a rest");
        if rest.is_lost_on_wire() {
            rest.probe.on_drop(DropReason::Wire, owner.group);
            return Err(DropReason::Wire);
        }
        if written == Written::Mark {
            rest.probe.on_mark(owner.group);
        }
        let at = rest.far_end_at(self.free_at, self.delay);
        Ok(Forwarded { at, written })
    }

    /// Updates the maximum backlog in bytes, after removing past departures.
    #[inline(never)]
    fn note_most_bytes(&mut self, now: Time) {
        self.strike_off_departed(now);
        let bytes = self.waiting_bytes();
        if let Some(monitor) = self.monitor() {
            monitor.most_bytes = monitor.most_bytes.max(bytes);
        }
    }

    /// Returns the rare state, allocating it if absent.
    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// Returns the transmission of a packet that begins at this time.
    #[inline(always)]
    fn transmission(&self, len: u16, begins: Time) -> Transmission {
        match self.schedule() {
            None => {
                let sending = self.pace().transmission_time(len);
                Transmission { ends: begins + sending, sending }
            }
            Some(schedule) => schedule.transmission(len, begins),
        }
    }

    /// Returns the rates over time, if the rate changes.
    #[inline(always)]
    fn schedule(&self) -> Option<&RateSchedule> {
        self.rest.as_deref()?.schedule.as_deref()
    }

    /// Returns the sending time within an interval in which the link is always busy.
    fn sending(&self, from: Time, to: Time) -> Span {
        self.schedule().map_or(to.since(from), |schedule| schedule.sending(from, to.max(from)))
    }

    #[cold]
    fn overflow(&mut self, Owner { group, user, .. }: Owner, now: Time, len: u16) -> DropReason {
        let rest = self.rest();
        if rest.station.is_some() {
            return DropReason::Full;
        }
        if let Some(management) = &mut rest.management {
            management.judge.on_overflow(user, now, Bytes::new(len.into()));
        }
        rest.probe.on_drop(DropReason::Full, group);
        DropReason::Full
    }
}

/// Returns the time in which a link of this kind can send, nanoseconds: if its rate follows a trace, the time with a rate
/// above 0. An outage by `rate_changes` is a fault, and counts as time in which the link can send.
pub fn able_ns(kind: &LinkKind, from: Time, to: Time) -> f64 {
    let span = match kind.rate_trace.is_some().then(|| RateSchedule::of(kind)).flatten() {
        Some(schedule) => schedule.sending(from, to),
        None => to.since(from),
    };
    span.as_nanos().max(1) as f64
}

/// Whether a packet is lost.
#[inline(never)]
fn loses((loss, rng): &mut (LossProcess, Stream)) -> bool {
    loss.loses(|| rng.unit())
}

impl Rest {
    /// Returns the time at which a packet that departs now reaches the far end.
    #[inline]
    fn far_end_at(&mut self, departs: Time, delay: Span) -> Time {
        match &mut self.propagation {
            None => departs + delay,
            Some(own) => own.far_end_at(departs),
        }
    }

    #[inline]
    fn is_lost_on_wire(&mut self) -> bool {
        self.wire_loss.as_mut().is_some_and(|loss| loses(loss))
    }
}

#[cfg(test)]
mod model_tests;

#[cfg(test)]
mod station_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// One cache line, since large networks have hundreds of thousands of links.
    #[test]
    fn a_link_stays_small() {
        assert_eq!(size_of::<Link>(), 64);
    }
}
