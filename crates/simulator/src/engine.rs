//! The event loop.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{MAX_RUN, Plan};

use crate::applications::Event;
use crate::ends::Ends;
use crate::event_queue::{Timers, Wake};
use crate::intervals;
use crate::link::Link;
use crate::network::{Network, Receivers};
use crate::output::{IntervalTables, RunOutput};
use crate::packet::{Packet, Parcel, flags};
use crate::probe::Reading;
use crate::random::Stream;
use crate::readings::{Readings, Received};
use crate::series::Series;
use crate::tables::{self, Finished};
use crate::tcp::{TimerId, World};
use crate::transit::Next;

/// A packet delivered early, for the counters.
struct Ahead {
    at: Time,
    payload_bytes: u64,
    flow: u32,
    len: u16,
    marked: bool,
}

/// A run under way.
pub struct Engine<'a> {
    plan: &'a Plan,
    seed: u64,
    network: Network,
    ends: Ends<'a>,
    /// What flows receive.
    received: Vec<Received>,
    series: Series,
    /// Events so far.
    events: u64,
    now: Time,
    timers: Timers,
    /// End of the measurement.
    end: Time,
    /// When the counters are read next, but for samples.
    reading_at: Time,
    /// When the next sample is taken.
    sample_at: Time,
    /// What arrives from here on does not count yet.
    counted_to: Time,
    /// What was delivered early and counts after that, and the payload that it puts in order, in bytes.
    ahead: Vec<Ahead>,
}

impl<'a> Engine<'a> {
    /// Everything at rest, the starts of the flows planned.
    ///
    /// # Panics
    /// If the run could be longer than the event queue can tell times apart.
    pub fn new(plan: &'a Plan, seed: u64, receivers: Receivers) -> Self {
        let longest = plan.warm_up + plan.duration + plan.drain_limit;
        assert!(longest < MAX_RUN, "a run ends before {MAX_RUN}");
        let (network, ways) = Network::new(plan, seed, receivers);
        let mut timers = Timers::default();
        for (i, flow) in plan.flows.iter().enumerate() {
            let room = flow.start.to.since(flow.start.from).as_secs();
            let draw = Stream::new(seed, &format!("flow/{i}/start")).unit();
            timers.push(flow.start.from + Span::from_secs_f64(draw * room), Wake::Start(i as u32));
        }
        let sample_at = plan.sample_interval.map_or(Time::NEVER, |step| Time::ZERO + step);
        if sample_at < Time::NEVER {
            timers.push(sample_at, Wake::Sample);
        }
        Engine {
            plan,
            seed,
            ends: Ends::new(plan, seed, ways),
            received: vec![Received::default(); plan.flows.len()],
            series: Series::new(plan),
            events: 0,
            now: Time::ZERO,
            network,
            timers,
            end: Time::ZERO + plan.warm_up + plan.duration,
            reading_at: Time::ZERO,
            sample_at,
            counted_to: Time::ZERO,
            ahead: Vec::new(),
        }
    }

    /// Runs to the end of the measurement, then until the awaited transfers are done.
    pub fn run(mut self) -> RunOutput {
        let start = Time::ZERO + self.plan.warm_up;
        let before = self.run_until(start, Reading::take);
        let intervals = self.run_intervals(start, &before);
        let after = self.run_until(self.end, Reading::take);
        let limit = self.end + self.plan.drain_limit;
        // Samples go on.
        self.count_to_next_look(Time::NEVER);
        self.run_events(limit, false);
        let ledger = self.network.ledger;
        assert_eq!(
            ledger.injected,
            ledger.delivered + ledger.dropped + self.network.under_way(),
            "every packet is delivered, dropped or still under way"
        );
        tables::collect(self.finished(intervals), &before, &after)
    }

    fn finished(self, intervals: IntervalTables) -> Finished<'a> {
        let unfinished: Vec<_> = self.ends.unfinished().collect();
        Finished {
            plan: self.plan,
            seed: self.seed,
            events: self.events,
            now: self.now,
            links: self.network.links,
            stages: self.network.stages,
            received: self.received,
            finished: self.ends.records,
            unfinished,
            series: self.series,
            intervals,
        }
    }

    /// Runs through the parts of the measurement, if it has several, and measures each.
    fn run_intervals(&mut self, start: Time, before: &Readings) -> IntervalTables {
        let mut tables = IntervalTables::default();
        let count = u64::from(self.plan.intervals);
        if count < 2 {
            return tables;
        }
        let length = intervals::length(self.plan);
        let mut last = None;
        for k in 0..count {
            let after = self.run_until(start + length * (k + 1), Reading::in_passing);
            let before = last.as_ref().unwrap_or(before);
            intervals::measure(&mut tables, self.plan, k as u32, before, &after);
            last = Some(after);
        }
        tables
    }

    /// Runs up to `end` and reads all counters there.
    fn run_until(&mut self, end: Time, read: fn(&mut Link, Time) -> Reading) -> Readings {
        self.count_to_next_look(end);
        self.run_events(end, true);
        Readings {
            links: self.network.links.iter_mut().map(|link| read(link, end)).collect(),
            losses: self.network.losses.clone(),
            received: self.received.clone(),
            sent: self.ends.sent(),
            stages: self.network.stages.counts(),
        }
    }

    /// Counts what was delivered early and arrives before anyone looks at the counters: at
    /// `reading_at`, or just after the next sample, which comes after what arrives at the same time.
    fn count_to_next_look(&mut self, reading_at: Time) {
        let after_sample = Time::from_nanos(self.sample_at.as_nanos().saturating_add(1));
        self.reading_at = reading_at;
        self.counted_to = reading_at.min(after_sample);
        let Engine { counted_to, ahead, received, .. } = self;
        ahead.retain(|packet| {
            let later = packet.at >= *counted_to;
            if !later {
                let got = &mut received[packet.flow as usize];
                got.add(packet.len, packet.marked, packet.payload_bytes);
            }
            later
        });
    }

    /// Processes events that come before `end`: all of them, or until the awaited transfers are done.
    fn run_events(&mut self, end: Time, all: bool) {
        while all || self.ends.awaited > 0 {
            let (arrival, timer) = (self.network.transit.next_time(), self.timers.next_time());
            let next = arrival.min(timer);
            if next >= end {
                return;
            }
            self.now = next;
            self.events += 1;
            if arrival > timer {
                self.wake();
                continue;
            }
            match self.network.transit.take_next() {
                Next::Packet(at, parcel) => self.arrive(at, parcel),
                Next::Station(place) => self.depart(place),
            }
        }
    }

    /// A packet departs from a station, and moves on where its arrival at the far end is no event. A function
    /// of its own, so that a packet that arrives need not be where this one is.
    #[inline(never)]
    fn depart(&mut self, place: usize) {
        if let Some((at, parcel)) = self.network.depart(place) {
            self.arrive(at, parcel);
        }
    }

    /// A packet reaches the end of a link. As [`Network::advance`], but that the packet stays where it is.
    #[inline(always)]
    fn arrive(&mut self, at: Time, parcel: Parcel) {
        if self.network.is_delivered(&parcel) {
            self.deliver(at, parcel);
        } else if let Some((at, parcel)) = self.network.forward(parcel, at) {
            self.deliver(at, parcel);
        }
    }

    /// A packet reaches the end of its route.
    #[inline(never)]
    fn deliver(&mut self, at: Time, parcel: Parcel) {
        let packet = &parcel.packet(at);
        let Engine { network, timers, received, ends, .. } = self;
        if at < self.end {
            received[packet.flow as usize].digest(packet);
        }
        let payload_bytes = ends.deliver(packet, World { now: packet.at, network, timers });
        if packet.flags & (flags::ACK | flags::BACK) == 0 {
            self.count(packet, payload_bytes);
        }
    }

    /// Counts a packet that reached its receiver, and the payload that it puts in order.
    #[inline]
    fn count(&mut self, packet: &Packet, payload_bytes: u64) {
        let &Packet { at, flow, len, .. } = packet;
        let marked = packet.has(flags::CE);
        if at >= self.counted_to {
            return self.ahead.push(Ahead { at, payload_bytes, flow, len, marked });
        }
        self.received[flow as usize].add(len, marked, payload_bytes);
    }

    /// The next timer fires.
    #[inline(never)]
    fn wake(&mut self) {
        let (_, wake) = self.timers.pop().expect("a timer is due");
        let Engine { network, timers, ends, now, .. } = self;
        let mut world = World { now: *now, network, timers };
        match wake {
            Wake::Sample => self.sample(),
            Wake::Start(flow) => ends.tell(flow, Event::Start, &mut world),
            Wake::Application(flow) => ends.tell(flow, Event::Wake, &mut world),
            Wake::Retransmit(half) => ends.wake_sender(TimerId(half), &mut world),
            Wake::DelayedAck(half) => ends.wake_receiver(TimerId(half), &mut world),
        }
    }

    fn sample(&mut self) {
        let Some(interval) = self.plan.sample_interval else { return };
        let Engine { plan, now, network, ends, received, series, .. } = self;
        series.sample_groups(plan, *now, received.iter().map(|got| got.arrivals.bytes));
        series.sample_links(plan, *now, &mut network.links);
        series.sample_flows(*now, ends);
        self.sample_at = self.now + interval;
        self.timers.push(self.sample_at, Wake::Sample);
        self.count_to_next_look(self.reading_at);
    }
}

#[cfg(test)]
mod tests;
