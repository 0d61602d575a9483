//! A link: a queue, a transmitter and a pipe.
//!
//! First-come-first-served service needs no event of its own. The moment a packet leaves is known
//! when it arrives: when the transmitter is free, plus its transmission time. So the queue is the
//! list of the departures still to come, and the backlog that an arriving packet meets is its
//! length after those that are over have been struck off. Packets of one length that follow each other without a
//! pause depart at even steps, so the list has an entry for each such run, and mostly no more than the last one.
//!
//! A mechanism that must see departures, or that serves in another order, stands in a [`Station`]
//! instead; the link then has the rest.

use tidegate_mechanisms::bottleneck::{Arrival, DropReason, Judge, Verdict};
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{Buffer, LinkPlan, RateChange};

use crate::build;
use crate::owner::Owner;
use crate::pace::Pace;
use crate::packet::{Parcel, flags};
use crate::probe::{Accepted, LinkProbe, Monitor};
use crate::random::Stream;
use crate::ring::Ring;
use crate::station::{Sent, Station};

/// A unidirectional link. What most packets need of it is in one cache line, what is accepted included; the rest
/// lies elsewhere, and of most links there is none.
#[repr(align(64))]
pub struct Link {
    /// When the transmitter is free.
    free_at: Time,
    /// The rate: see [`Pace`], which in one piece would take twice the room.
    reciprocal: u64,
    delay: Span,
    /// What it has accepted.
    pub accepted: Accepted,
    rest: Option<Box<Rest>>,
    limit_packets: u32,
    /// The last packets accepted, all of `run_len` bytes and sent without a pause, the last of which departs
    /// when the transmitter is free. Some of them may have left, if not all.
    run: u32,
    run_len: u16,
    shift: u8,
    /// The link is plain, and no packets wait before the run.
    at_once: bool,
    /// Whether a packet that finds the link idle passes, with nothing to draw or to record, and at the
    /// rate that there always is.
    plain: bool,
    /// Whether the exact backlog matters for every packet, as it does for an AQM and where bytes are limited.
    /// Otherwise departures are struck off only when the list looks full.
    exact: bool,
    /// Whether the AQM looks at the queue also while nothing comes.
    looks_between: bool,
}

/// What few links have, or few packets need.
#[derive(Default)]
struct Rest {
    probe: LinkProbe,
    /// Packets that have not left yet, but for the last run.
    waiting: Ring<Run>,
    /// So many.
    waiting_packets: u32,
    /// Bytes of those.
    waiting_bytes: u64,
    /// Room in bytes.
    limit_bytes: u64,
    /// Rates to come, last first.
    changes: Vec<RateChange>,
    /// Whether there were any.
    unsteady: bool,
    station: Option<Box<Station>>,
    management: Option<Box<Management>>,
    wire_loss: Option<Box<(f64, Stream)>>,
}

/// Packets of one length that depart at even steps.
#[derive(Clone, Copy, Default)]
struct Run {
    /// When the first of them does.
    departs: Time,
    step: Span,
    packets: u32,
    len: u16,
}

impl Run {
    /// Packet-ns and byte-ns from `now` on until they have departed.
    fn time_to_come(&self, now: Time) -> [u128; 2] {
        let (packets, first) = (u128::from(self.packets), self.departs.since(now).as_nanos());
        let steps = packets * packets.saturating_sub(1) / 2;
        let packet_ns = packets * u128::from(first) + steps * u128::from(self.step.as_nanos());
        [packet_ns, packet_ns * u128::from(self.len)]
    }
}

/// Active queue management.
struct Management {
    judge: Judge,
    ecn: bool,
    ecn_marks_all: bool,
    /// How packets learn of its price, if they carry it.
    tells_price: Option<Encoding>,
    /// The word of the packet that was told last.
    told: u32,
    rng: Stream,
}

/// A packet that a link has accepted and sends.
#[derive(Clone, Copy, Debug)]
pub struct Forwarded {
    /// When it reaches the far end.
    pub at: Time,
    /// What it has got here.
    pub written: Written,
}

/// What a link writes into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing.
    Nothing,
    /// A mark.
    Mark,
    /// Another word: see [`Link::told`].
    Word,
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
            Buffer::Packets(packets) => (packets, u64::MAX),
            Buffer::Bytes(bytes) => (u32::MAX, bytes.get()),
        };
        let judge = if station.is_some() { None } else { build::judge(plan) };
        let management = judge.map(|judge| {
            let rng = Stream::new(seed, &format!("link/{number}/aqm"));
            let asks_price = plan.aqm.asks_price().is_some();
            let (ecn, ecn_marks_all) = (plan.ecn || asks_price, plan.ecn_marks_all);
            let tells_price = plan.price_encoding.filter(|own| asks_price && own.is_in_word());
            Box::new(Management { judge, ecn, ecn_marks_all, tells_price, told: 0, rng })
        });
        let wire_loss = (plan.loss.0 > 0.0)
            .then(|| Box::new((plan.loss.0, Stream::new(seed, &format!("link/{number}/wire")))));
        let looks_between = management.as_ref().is_some_and(|own| own.judge.aqm.looks_between());
        let exact = management.is_some() || limit_bytes < u64::MAX;
        let changes: Vec<_> = plan.rate_changes.0.iter().rev().cloned().collect();
        let unsteady = !changes.is_empty();
        let plain =
            !exact && !plan.monitored && wire_loss.is_none() && limit_packets > 0 && !unsteady;
        let probe = LinkProbe::new(plan.monitored.then_some(groups));
        let waiting = Ring::default();
        let rest = Rest {
            probe,
            waiting,
            waiting_packets: 0,
            waiting_bytes: 0,
            limit_bytes,
            changes,
            unsteady,
            station,
            management,
            wire_loss,
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
            exact,
            looks_between,
        }
    }

    /// What else is measured, if anything may be.
    pub fn probe(&self) -> Option<&LinkProbe> {
        self.rest.as_ref().map(|rest| &rest.probe)
    }

    /// What only bottlenecks keep.
    pub fn monitor(&mut self) -> Option<&mut Monitor> {
        self.rest.as_mut()?.probe.monitor.as_deref_mut()
    }

    fn station(&self) -> Option<&Station> {
        self.rest.as_ref()?.station.as_deref()
    }

    /// Whether an AQM looks at its packets.
    #[inline]
    pub fn is_managed(&self) -> bool {
        let rest = self.rest.as_ref();
        rest.is_some_and(|rest| rest.management.is_some() || rest.station.is_some())
    }

    /// Bytes that the mechanism in front of it remembers from packet to packet.
    pub fn state_bytes(&self) -> u64 {
        let Some(rest) = &self.rest else { return 0 };
        let in_advance = rest.management.as_ref().map_or(0, |own| own.judge.state_bytes());
        rest.station.as_ref().map_or(in_advance, |station| station.state_bytes()) as u64
    }

    #[inline(always)]
    fn pace(&self) -> Pace {
        Pace { reciprocal: self.reciprocal, shift: self.shift }
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
        self.free_at = now + self.pace().transmission_time(len);
        (self.run, self.run_len) = (1, len);
        self.accepted.add(len.into());
        self.free_at + self.delay
    }

    /// Offers a packet of the given owner at `now`, which never goes back. A station refuses all,
    /// without counting them: they go to [`Link::arrive`].
    #[inline]
    pub fn offer(
        &mut self,
        parcel: &Parcel,
        now: Time,
        owner: Owner,
    ) -> Result<Forwarded, DropReason> {
        if self.exact {
            return self.judge(parcel, now, owner);
        }
        if self.free_at <= now {
            self.forget_waiting();
        } else if self.waiting_packets() >= self.limit_packets {
            self.strike_off_departed(now);
        }
        if self.plain {
            self.offer_plain(parcel, now, owner)
        } else {
            self.accept(parcel, now, owner, Written::Nothing)
        }
    }

    /// Where nothing but the length of the queue decides.
    #[inline]
    fn offer_plain(
        &mut self,
        parcel: &Parcel,
        now: Time,
        owner: Owner,
    ) -> Result<Forwarded, DropReason> {
        let len = parcel.len();
        if self.waiting_packets() >= self.limit_packets {
            return Err(self.overflow(owner, now, len));
        }
        self.enter(len);
        self.free_at = self.free_at.max(now) + self.pace().transmission_time(len);
        self.accepted.add(len.into());
        Ok(Forwarded { at: self.free_at + self.delay, written: Written::Nothing })
    }

    /// Where the exact backlog matters.
    #[inline]
    fn judge(&mut self, parcel: &Parcel, now: Time, owner: Owner) -> Result<Forwarded, DropReason> {
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
            true => rest.manage(parcel, now, owner, behind_first, now.since(self.free_at))?,
            false => Written::Nothing,
        };
        if bytes + u64::from(parcel.len()) > rest.limit_bytes {
            return Err(self.overflow(owner, now, parcel.len()));
        }
        self.accept(parcel, now, owner, written)
    }

    /// Lets the AQM look at the queue as it was until now.
    #[inline(never)]
    fn catch_up(&mut self, now: Time) {
        let rest = self.rest.as_deref_mut();
        let Some(mut management) = rest.and_then(|rest| rest.management.take()) else { return };
        management.judge.aqm.catch_up(now, |at| self.waits_at(at));
        self.rest().management = Some(management);
    }

    /// Accepts a packet where there is room for one more.
    #[inline(always)]
    fn accept(
        &mut self,
        parcel: &Parcel,
        now: Time,
        owner: Owner,
        written: Written,
    ) -> Result<Forwarded, DropReason> {
        let (len, bytes, begins) = (parcel.len(), u64::from(parcel.len()), self.free_at.max(now));
        let mut pace = self.pace();
        if self.waiting_packets() >= self.limit_packets {
            return Err(self.overflow(owner, now, len));
        }
        let rest = self.rest.as_deref_mut().expect("a link that is not plain has a rest");
        if rest.unsteady {
            pace = self.pace_at(begins);
        }
        let transmission = pace.transmission_time(len);
        self.enter(len);
        self.free_at = begins + transmission;
        self.accepted.add(bytes);
        let rest = self.rest.as_deref_mut().expect("a link that is not plain has a rest");
        if let Some(monitor) = &mut rest.probe.monitor {
            monitor.on_accepted(owner.group, bytes, self.free_at - now, transmission);
        }
        if rest.is_lost_on_wire() {
            rest.probe.on_drop(DropReason::Wire, owner.group);
            return Err(DropReason::Wire);
        }
        if written == Written::Mark {
            rest.probe.on_mark(owner.group);
        }
        Ok(Forwarded { at: self.free_at + self.delay, written })
    }

    /// What few links have, and now this one.
    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// The pace of what is sent from `start` on.
    #[inline(never)]
    fn pace_at(&mut self, start: Time) -> Pace {
        if let Some(rest) = &mut self.rest {
            while let Some(change) = rest.changes.pop_if(|change| Time::ZERO + change.at <= start) {
                Pace { reciprocal: self.reciprocal, shift: self.shift } = Pace::new(change.rate);
            }
        }
        self.pace()
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

    /// Packets waiting or in transmission, as far as they are not struck off.
    #[inline]
    fn waiting_packets(&self) -> u32 {
        self.run + self.rest.as_ref().map_or(0, |rest| rest.waiting_packets)
    }

    #[inline]
    fn waiting_bytes(&self) -> u64 {
        let run = u64::from(self.run) * u64::from(self.run_len);
        run + self.rest.as_ref().map_or(0, |rest| rest.waiting_bytes)
    }

    /// Of so many packets and bytes, which are all that are here, those that are not in transmission.
    #[inline(always)]
    fn without_first(&self, packets: u32, bytes: u64) -> (u32, u64) {
        let first = self.rest.as_ref().and_then(|rest| rest.waiting.front());
        let first = first.map_or(self.run_len, |first| first.len);
        let in_transmission = if packets == 0 { 0 } else { u64::from(first) };
        (packets.saturating_sub(1), bytes - in_transmission)
    }

    /// All have departed.
    #[inline]
    fn forget_waiting(&mut self) {
        self.run = 0;
        self.at_once = self.plain;
        if let Some(rest) = self.rest.as_mut().filter(|rest| rest.waiting_packets > 0) {
            rest.waiting.clear();
            (rest.waiting_packets, rest.waiting_bytes) = (0, 0);
        }
    }

    /// A packet is accepted: one more of the run, or the first of the next.
    #[inline]
    fn enter(&mut self, len: u16) {
        let unsteady = self.rest.as_ref().is_some_and(|rest| rest.unsteady);
        if self.run > 0 && (len != self.run_len || unsteady) {
            self.set_run_aside();
        }
        self.run += 1;
        self.run_len = len;
    }

    /// The last run, as far as it is not struck off.
    #[inline]
    fn last_run(&self) -> Run {
        let step = self.pace().transmission_time(self.run_len);
        let first_to_last = step * u64::from(self.run.saturating_sub(1));
        let departs = Time::from_nanos(self.free_at.as_nanos() - first_to_last.as_nanos());
        Run { departs, step, packets: self.run, len: self.run_len }
    }

    #[inline(never)]
    fn set_run_aside(&mut self) {
        let run = self.last_run();
        let rest = self.rest();
        rest.waiting.push(run);
        rest.waiting_packets += run.packets;
        rest.waiting_bytes += u64::from(run.packets) * u64::from(run.len);
        self.run = 0;
        self.at_once = false;
    }

    #[inline]
    fn strike_off_departed(&mut self, now: Time) {
        if let Some(rest) = self.rest.as_mut().filter(|rest| rest.waiting_packets > 0)
            && rest.strike_off_departed(now)
        {
            return;
        }
        if self.run > 0 {
            let Run { departs, step, .. } = self.last_run();
            if departs <= now {
                // How many steps there are cannot be guessed, so that a division is quicker than a loop.
                let over = now.since(departs).as_nanos() / step.as_nanos() + 1;
                self.run = u64::from(self.run).saturating_sub(over) as u32;
            }
        }
    }

    /// Packets and bytes that wait at `now` for their transmission, before anything else happens then, where an AQM
    /// looks at them in between.
    pub fn not_begun(&mut self, now: Time) -> (u32, u64) {
        if !self.looks_between {
            return (0, 0);
        }
        self.catch_up(now);
        self.waits_at(now)
    }

    /// Packets and bytes that wait at a time, the one in transmission not counted. What leaves then does so after.
    fn waits_at(&mut self, at: Time) -> (u32, u64) {
        self.strike_off_departed(Time::from_nanos(at.as_nanos().saturating_sub(1)));
        self.without_first(self.waiting_packets(), self.waiting_bytes())
    }

    /// All is as it is at `now`.
    fn bring_to(&mut self, now: Time) {
        if self.looks_between {
            self.catch_up(now);
        }
        self.strike_off_departed(now);
    }

    /// Packets and bytes waiting or in transmission at `now`.
    pub fn backlog(&mut self, now: Time) -> (u32, u64) {
        if let Some(station) = self.station() {
            return station.backlog();
        }
        self.bring_to(now);
        (self.waiting_packets(), self.waiting_bytes())
    }

    /// What the word of the packet says that was told a price last.
    pub fn told(&self) -> u32 {
        let management = self.rest.as_ref().and_then(|rest| rest.management.as_ref());
        management.map_or(0, |own| own.told)
    }

    /// The price that its queue asks, if it asks any.
    pub fn price(&self) -> Option<f64> {
        if let Some(station) = self.station() {
            return station.price();
        }
        self.rest.as_ref()?.management.as_ref()?.judge.price()
    }

    /// The part of the accepted packets' time here that lies after `now`: packet-ns, byte-ns, and
    /// ns in transmission.
    pub fn time_to_come(&mut self, now: Time) -> [u128; 3] {
        if let Some(station) = self.station() {
            return station.time_to_come(now);
        }
        self.bring_to(now);
        let (rest, last) = (self.rest.as_ref(), (self.run > 0).then(|| self.last_run()));
        let mut sums = [0; 3];
        for run in rest.iter().flat_map(|rest| rest.waiting.iter()).chain(&last) {
            let [packet_ns, byte_ns] = run.time_to_come(now);
            sums[0] += packet_ns;
            sums[1] += byte_ns;
        }
        sums[2] = u128::from(self.free_at.since(now).as_nanos());
        sums
    }

    /// The part of the time of packets here that is not counted yet: packet-ns and byte-ns.
    pub fn time_so_far(&self, now: Time) -> [u128; 2] {
        self.station().map_or([0; 2], |station| station.time_so_far(now))
    }

    /// Whether its departures are events.
    pub fn is_station(&self) -> bool {
        self.station().is_some()
    }

    /// Offers a packet to a station at `now`. Returns when the transmitter will be done, if the
    /// packet has set it to work.
    ///
    /// # Panics
    /// If this is no station.
    pub fn arrive(&mut self, parcel: Parcel, owner: Owner, now: Time) -> Option<Time> {
        let Rest { station, probe, .. } = self.rest();
        let station = station.as_mut().expect("departures are events");
        station.arrive(parcel, owner, now, probe);
        if station.is_idle() { self.begin(now) } else { None }
    }

    /// The transmitter of a station takes its next packet. Returns when it will be done.
    fn begin(&mut self, now: Time) -> Option<Time> {
        let (pace, Link { accepted, rest, .. }) = (self.pace_at(now), self);
        let Rest { station, probe, .. } = rest.as_deref_mut()?;
        let station = station.as_mut().expect("departures are events");
        station.begin(now, accepted, probe, |len| pace.transmission_time(len))
    }

    /// The transmitter of a station is done at `now`. Returns what it has sent, with the time at
    /// which that reaches the far end, and when it will be done again.
    ///
    /// # Panics
    /// If this is no station, or it was sending nothing.
    pub fn depart(&mut self, now: Time) -> (Departed, Option<Time>) {
        let station = self.rest().station.as_mut().expect("departures are events");
        let Sent { parcel, group, marked } = station.end();
        let lost_on_wire = self.rest().is_lost_on_wire();
        if lost_on_wire {
            self.rest().probe.on_drop(DropReason::Wire, group);
        } else if marked {
            self.rest().probe.on_mark(group);
        }
        let at = now + self.delay;
        (Departed { parcel, at, lost_on_wire }, self.begin(now))
    }

    /// Takes a packet that a station has lost.
    pub fn take_lost(&mut self) -> Option<Parcel> {
        self.rest.as_mut()?.station.as_mut()?.lost.pop()
    }

    /// Packets in a station.
    pub fn at_station(&self) -> u64 {
        self.station().map_or(0, Station::len)
    }
}

/// Whether what has this probability happens.
#[inline(never)]
fn happens((probability, rng): &mut (f64, Stream)) -> bool {
    rng.unit() < *probability
}

impl Rest {
    /// Lets the AQM judge; returns what it writes into a packet that may pass. It sees the packets and bytes that
    /// wait, without the packet in transmission, as in ns-2, ns-3, INET and Linux.
    #[inline]
    fn manage(
        &mut self,
        parcel: &Parcel,
        now: Time,
        Owner { group, user, .. }: Owner,
        (backlog_packets, backlog_bytes): (u32, u64),
        idle: Span,
    ) -> Result<Written, DropReason> {
        let Some(management) = &mut self.management else { return Ok(Written::Nothing) };
        let Management { judge, ecn, ecn_marks_all, tells_price, told, rng } = &mut **management;
        let arrival = Arrival {
            now,
            len: Bytes::new(parcel.len().into()),
            user,
            activity: if tells_price.is_some() { 0.0 } else { parcel.activity() },
            backlog_packets,
            backlog_bytes,
            idle,
        };
        self.probe.on_activity(group, arrival.activity);
        let may_mark = *ecn && (*ecn_marks_all || parcel.has(flags::ECT));
        match judge.signal(&arrival, || rng.unit()).verdict(may_mark) {
            // Acknowledgements have other things in their word.
            Verdict::Pass => Ok(match tells_price {
                Some(encoding) if parcel.carries_prices() => {
                    let price = judge.price().unwrap_or(0.0);
                    *told = encoding.write(parcel.word(), price, || rng.unit());
                    Written::Word
                }
                _ => Written::Nothing,
            }),
            Verdict::Mark => Ok(Written::Mark),
            Verdict::Drop(reason) => {
                self.probe.on_drop(reason, group);
                Err(reason)
            }
        }
    }

    #[inline]
    fn is_lost_on_wire(&mut self) -> bool {
        self.wire_loss.as_mut().is_some_and(|loss| happens(loss))
    }

    /// Returns whether some still wait.
    fn strike_off_departed(&mut self, now: Time) -> bool {
        while let Some(first) = self.waiting.front_mut() {
            if first.departs > now {
                return true;
            }
            first.departs += first.step;
            first.packets -= 1;
            self.waiting_packets -= 1;
            self.waiting_bytes -= u64::from(first.len);
            if first.packets == 0 {
                self.waiting.pop();
            }
        }
        false
    }
}

#[cfg(test)]
mod model_tests;

#[cfg(test)]
mod station_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// One cache line. There are hundreds of thousands of them in large networks.
    #[test]
    fn a_link_stays_small() {
        assert_eq!(size_of::<Link>(), 64);
    }
}
