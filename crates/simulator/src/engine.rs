//! The event loop.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::Plan;

use crate::applications::{AnyApplication, ApplicationEvent};
use crate::capture::{Capture, CaptureSink};
use crate::delay::Delays;
use crate::endpoints::Endpoints;
use crate::event_queue::{Owners, TimerStatus, Timers};
use crate::intervals;
use crate::link_reading::{LinkReadings, ReadLinks};
use crate::memory::{large_list, prefetch};
use crate::network::Network;
use crate::output::{ApplicationTable, IntervalTables, RunOutput};
use crate::packet::{PackedPacket, flags};
use crate::progress::Progress;
use crate::random::Stream;
use crate::readings::{Reached, Readings};
use crate::series::Series;
use crate::tables::{self, Finished};
use crate::tally::Tally;
use crate::tcp::SimContext;
use crate::topology::Receivers;
use crate::transit::NextEvent;
use crate::wake::{TimerId, Wake};

/// Packet that was delivered early and arrives after the next reading, with the payload bytes that it delivers in
/// order.
struct Ahead {
    at: Time,
    packed: PackedPacket,
    queueing: Span,
    payload_bytes: u64,
}

/// Readings of a completed run.
struct Measured {
    before: Readings,
    after: Readings,
    intervals: IntervalTables,
    applications: ApplicationTable,
}

/// Number of flows from which on the data of packets are prefetched.
const MANY: usize = 1 << 12;
/// Prefetch distances in packets: for the packet itself, for its path and flow, for its connection and options, and for
/// the data that the connection refers to.
const STEPS_AHEAD: [usize; 4] = [14, 6, 4, 2];

/// A run in progress.
pub struct Engine<'a> {
    plan: &'a Plan,
    seed: u64,
    network: Network,
    ends: Endpoints<'a>,
    /// Packets and bytes that reached the ends of flows.
    reached: Vec<Reached>,
    delays: Delays,
    series: Series,
    /// Number of events so far.
    events: u64,
    now: Time,
    timers: Timers,
    /// End of the measurement.
    end: Time,
    /// Time of the last start or offer of a flow.
    last_start: Time,
    /// Time of the next reading of the counters; later arrivals do not count yet.
    reading_at: Time,
    ahead: Vec<Ahead>,
    /// Whether the network is large enough for prefetching.
    prefetches: bool,
    /// Links monitored only because they are captured.
    watched_for_capture: Vec<usize>,
    /// Whom to report to how far the run is.
    progress: Progress<'a>,
}

impl<'a> Engine<'a> {
    /// Returns an idle engine with the starts of the flows scheduled.
    ///
    /// # Panics
    ///
    /// If the run could be longer than the event queue can represent.
    pub fn new(plan: &'a Plan, seed: u64, receivers: Receivers) -> Self {
        let (network, routes) =
            Network::new(plan, seed, receivers, AnyApplication::will_listen_or_overlap);
        let mut timers = Timers::with_lines(network.delayed_acks.places());
        let mut last_start = Time::ZERO;
        for (i, flow) in plan.flows.iter().enumerate() {
            let at = |when, purpose| {
                plan.time_of(i, when, || Stream::of_flow(seed, plan, i, purpose).unit())
            };
            let start = at(flow.start, "start");
            last_start = last_start.max(start);
            timers.push(start, Wake::Start(i as u32));
            if let Some(stop) = flow.stop {
                timers.push(at(stop, "stop"), Wake::Stop(i as u32));
            }
        }
        for (number, moved) in plan.moves.iter().enumerate() {
            timers.push(moved.at, Wake::Move(number as u32));
        }
        for (number, offer) in plan.offers.iter().enumerate() {
            last_start = last_start.max(offer.at);
            timers.push(offer.at, Wake::Offer(number as u32));
        }
        let series = Series::new(plan);
        if series.next() < Time::NEVER {
            timers.push(series.next(), Wake::Sample);
        }
        let (delays, flows) = Delays::new(plan, &routes, true);
        let reached = |delays| Reached { delays, ..Reached::default() };
        Engine {
            plan,
            seed,
            ends: Endpoints::new(plan, seed, routes),
            reached: large_list(flows.into_iter().map(reached)),
            delays,
            series,
            events: 0,
            now: Time::ZERO,
            network,
            timers,
            end: Time::ZERO + plan.warm_up + plan.duration,
            last_start,
            reading_at: Time::ZERO,
            ahead: Vec::new(),
            prefetches: plan.flows.len() >= MANY,
            watched_for_capture: Vec::new(),
            progress: Progress::silent(),
        }
    }

    /// Reports the progress of the run while it runs.
    pub fn reporting(self, progress: Progress<'a>) -> Self {
        Engine { progress, ..self }
    }

    /// Runs as [`Self::run`], and captures what leaves these links, of which `watched` are monitored for that alone.
    /// Returns also the number of packets left out.
    pub fn run_captured(
        mut self,
        links: &[usize],
        watched: Vec<usize>,
        sink: CaptureSink,
    ) -> (RunOutput, u64) {
        links.iter().for_each(|&link| self.network.links[link].observe());
        // Packets are captured in the order of their departures.
        self.network.leave_sectors();
        self.network.capture = Some(Box::new(Capture::new(self.plan, links, sink)));
        self.watched_for_capture = watched;
        let measured = self.measure();
        let left_out = self.network.capture.as_ref().map_or(0, |capture| capture.left_out());
        (self.output(measured), left_out)
    }

    /// Runs to the end of the measurement, then until the awaited transfers are done.
    pub fn run(mut self) -> RunOutput {
        let measured = self.measure();
        self.output(measured)
    }

    fn measure(&mut self) -> Measured {
        let start = Time::ZERO + self.plan.warm_up;
        let before = self.run_until(start, LinkReadings::take);
        self.ends.measure(start);
        self.delays.reset();
        let intervals = self.run_intervals(start, &before);
        let after = self.run_until(self.end, LinkReadings::take);
        let applications = self.ends.applications(self.end);
        let limit = self.end + self.plan.drain_limit;
        self.release_until(Time::NEVER);
        // Sampling goes on.
        self.run_slices::<false>(limit);
        let ledger = self.network.ledger;
        assert_eq!(
            ledger.injected,
            ledger.delivered + ledger.dropped + self.network.in_transit(),
            "every packet is delivered, dropped or still in transit"
        );
        Measured { before, after, intervals, applications }
    }

    fn output(self, measured: Measured) -> RunOutput {
        let Measured { before, after, intervals, applications } = measured;
        tables::collect(self.finished(intervals, applications), &before, &after)
    }

    fn finished(self, intervals: IntervalTables, applications: ApplicationTable) -> Finished<'a> {
        let unfinished: Vec<_> = self.ends.unfinished().collect();
        Finished {
            plan: self.plan,
            seed: self.seed,
            events: self.events,
            now: self.now,
            delays: self.delays.table(self.plan),
            links: self.network.links,
            stages: self.network.stages,
            reached: self.reached,
            finished: self.ends.records,
            unfinished,
            applications,
            series: self.series,
            intervals,
            watched_for_capture: self.watched_for_capture,
        }
    }

    /// Runs and measures each interval of the measurement, if it has several.
    fn run_intervals(&mut self, start: Time, before: &Readings) -> IntervalTables {
        let mut tables = IntervalTables::default();
        let count = u64::from(self.plan.intervals);
        if count < 2 {
            return tables;
        }
        let length = intervals::length(self.plan);
        let mut last = None;
        for k in 0..count {
            let after = self.run_until(start + length * (k + 1), LinkReadings::in_passing);
            let before = last.as_ref().unwrap_or(before);
            intervals::measure(&mut tables, self.plan, k as u32, before, &after);
            intervals::measure_flows(&mut tables.flows, self.plan, k as u32, before, &after);
            last = Some(after);
        }
        tables
    }

    /// Runs up to `end` and reads all counters there.
    fn run_until(&mut self, end: Time, read: ReadLinks) -> Readings {
        self.count_until(end);
        self.run_slices::<true>(end);
        let drains = self.plan.drain_limit > Span::ZERO && self.ends.awaited > 0;
        if end == self.end && !drains {
            self.network.discard_packets();
        }
        Readings {
            links: self.network.read_links(read, end),
            losses: Tally::of(self.network.losses()),
            received: Tally::of(self.reached.iter().map(|got| got.received).collect()),
            sent: Tally::of(self.ends.sent()),
            declared: Tally::of(self.ends.declared()),
            stages: self.network.stages.counts(),
        }
    }

    /// Sets the next reading to `end`: counts the early deliveries that arrive before it.
    fn count_until(&mut self, end: Time) {
        self.reading_at = end;
        let Engine { ahead, reached, delays, .. } = self;
        ahead.retain(|&Ahead { at, ref packed, queueing, payload_bytes }| {
            let later = at >= end;
            if !later {
                let reached = &mut reached[packed.flow() as usize];
                reached.received.add(packed.len(), packed.has(flags::CE), payload_bytes);
                delays.record(reached.delays, packed, at, queueing);
            }
            later
        });
        self.release_until(end);
    }

    /// Allows packets to pass counting stages ahead of time until `end`, and forwards the packets deferred by the last
    /// reading.
    fn release_until(&mut self, end: Time) {
        for (at, packed) in self.network.read_next_at(end) {
            if let Some((at, packed)) = self.network.release(packed, at) {
                self.deliver(at, packed);
            }
        }
    }

    /// As [`Self::run_events`], and reports how far the run is in between. Where a slice ends changes nothing.
    fn run_slices<const ALL: bool>(&mut self, end: Time) {
        while self.progress.next() < end && (ALL || self.ends.awaited > 0) {
            self.run_events::<ALL>(self.progress.next());
            let hops = self.network.links.iter().map(|link| link.accepted.packets).sum();
            self.progress.report(hops);
        }
        self.run_events::<ALL>(end);
    }

    /// Processes events before `end`: all of them, or until the awaited transfers are done.
    fn run_events<const ALL: bool>(&mut self, end: Time) {
        if ALL && self.network.sectors.is_some() {
            self.run_in_sectors(end);
        }
        while ALL || self.ends.awaited > 0 {
            let arrival = self.network.transit.next_time_in_run();
            let timer = self.timers.next_time();
            let next = arrival.min(timer);
            if next >= end {
                return;
            }
            if arrival > timer {
                self.wake(next);
                continue;
            }
            self.now = next;
            self.events += 1;
            if self.prefetches {
                self.prefetch(self.network.transit.next_key());
            }
            match self.network.transit.take_next() {
                NextEvent::Packet(at, packed) => self.arrive(at, packed),
                NextEvent::Station(place) => self.depart(place, next),
            }
        }
    }

    /// Prefetches what the packets after the one with this key need.
    #[inline(never)]
    fn prefetch(&self, key: u64) {
        let Engine { network, ends, reached, timers, .. } = self;
        let [itself, first, second, third] =
            STEPS_AHEAD.map(|later| network.transit.coming(key, later));
        if let Some(packed) = itself {
            prefetch(packed);
        }
        if let Some(packed) = first {
            network.prefetch_path(packed);
            network.transit.prefetch_place(key, STEPS_AHEAD[1]);
        }
        if let Some(packed) = second {
            if network.prefetch_links(packed.hop()) {
                prefetch(&reached[packed.flow() as usize]);
                ends.prefetch_connection(packed, network, &timers.acks);
                network.options.prefetch(packed);
            } else {
                network.prefetch_owner(packed);
            }
        }
        if let Some(packed) = third {
            ends.prefetch_rest(packed, network);
        }
    }

    /// Completes a transmission of a station, and forwards the packet if its arrival at the far end is no event. A
    /// separate function, so that arriving packets need not be copied to the same stack slot.
    #[inline(never)]
    fn depart(&mut self, place: usize, now: Time) {
        if let Some((at, packed)) = self.network.depart(place, now) {
            self.arrive(at, packed);
        }
    }

    /// Handles the arrival of a packet at the end of a link, as [`Network::advance`] but without moving the packet.
    #[inline(always)]
    fn arrive(&mut self, at: Time, packed: PackedPacket) {
        if let Some((at, packed)) = self.network.arrive(packed, at) {
            self.deliver(at, packed);
        }
    }

    /// Handles a packet that reaches the end of its route.
    #[inline(never)]
    fn deliver(&mut self, at: Time, packed: PackedPacket) {
        let Engine { network, timers, reached, ends, .. } = self;
        let payload_bytes = ends.deliver(&packed, SimContext { now: at, network, timers });
        // After the delivery, which needs all registers.
        let packet = &packed.packet(at);
        if at < self.end {
            reached[packet.flow as usize].digest(packet);
        }
        if packet.flags & (flags::ACK | flags::BACK) == 0 {
            self.count(&packed, at, payload_bytes);
        }
    }

    /// Counts a packet that reached its receiver, and its payload delivered in order.
    #[inline]
    fn count(&mut self, packed: &PackedPacket, at: Time, payload_bytes: u64) {
        let Reached { received, delays, .. } = &mut self.reached[packed.flow() as usize];
        let queueing = self.delays.queueing(*delays, packed, at);
        self.series.count(delays.group, at, packed.len(), queueing);
        if at < self.reading_at {
            received.add(packed.len(), packed.has(flags::CE), payload_bytes);
            self.delays.record(*delays, packed, at, queueing);
        } else if self.reading_at < self.end {
            core::hint::cold_path();
            self.ahead.push(Ahead { at, packed: *packed, queueing, payload_bytes });
        }
    }

    /// Handles the next timer, which is due at `at`. A bound of delayed acknowledgements, none of which is due, is no
    /// event: it depends on the order in which they were set.
    #[inline(never)]
    fn wake(&mut self, at: Time) {
        match self.timers.acks.next_time() <= at {
            true => self.wake_receiver(at),
            false => self.wake_other(at),
        }
    }

    /// Handles the next timer of a receiver, if one is due at `at`.
    fn wake_receiver(&mut self, at: Time) {
        let Engine { network, timers, ends, now, events, .. } = self;
        if let Some(half) = timers.take_ack(at) {
            (*now, *events) = (at, *events + 1);
            ends.wake_receiver(half, &mut SimContext { now: at, network, timers });
        }
    }

    /// Handles the next timer that is not a receiver's.
    fn wake_other(&mut self, at: Time) {
        let Engine { network, timers, ends, now, prefetches, events, .. } = self;
        (*now, *events) = (at, *events + 1);
        if timers.day_is_over() {
            timers.begin_day(|wake, at, after| {
                if *prefetches {
                    after.into_iter().for_each(|wake| ends.prefetch_timer(wake));
                }
                ends.foresee(wake, at)
            });
            if timers.next_of(Owners::Senders) > *now {
                return;
            }
        }
        let wake = timers.next_wake().expect("a timer is due");
        match ends.foresee(wake, *now) {
            TimerStatus::Later(at) => return timers.put_off(wake, at),
            prospect => {
                timers.pop_planned();
                if prospect == TimerStatus::Void {
                    return;
                }
            }
        }
        let mut sim = SimContext { now: *now, network, timers };
        match wake {
            Wake::Sample => self.sample(),
            Wake::Move(number) => ends.reroute(number as usize),
            Wake::Offer(number) => ends.offer(number as usize),
            Wake::Stop(flow) => ends.stop(flow, &mut sim),
            Wake::Start(flow) => ends.notify(flow, ApplicationEvent::Start, &mut sim),
            Wake::Application(flow) => ends.notify(flow, ApplicationEvent::Wake, &mut sim),
            Wake::Retransmit(half) => ends.wake_sender(TimerId(half), &mut sim),
            Wake::DelayedAck(_) => unreachable!("receivers have timers of their own"),
        }
    }

    #[inline(never)]
    fn sample(&mut self) {
        let Engine { plan, network, ends, series, .. } = self;
        let next = series.sample(plan, &mut network.links, &network.stages, Some(ends));
        self.timers.push(next, Wake::Sample);
    }
}

mod in_sectors;

#[cfg(test)]
mod fast_path_tests;

#[cfg(test)]
mod sector_tests;

#[cfg(test)]
mod tests;
