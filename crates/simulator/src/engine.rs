//! The event loop.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{MAX_RUN, Plan};

use crate::arrivals::Arrivals;
use crate::digest::Digest;
use crate::event_queue::{Timers, Wake};
use crate::intervals::{self, Counted};
use crate::link::Link;
use crate::network::{Network, Receivers, Ways};
use crate::output::{IntervalTables, RunOutput};
use crate::packet::{Packet, Parcel, flags};
use crate::probe::Reading;
use crate::random::Stream;
use crate::series::Series;
use crate::source::{Source, TransferRecord, UDP_HEADER_BYTES};
use crate::tables;
use crate::tcp::Door;
use crate::tcp::sender::SenderCounts;
use crate::transit::Next;

/// What reached a flow's receiver.
#[derive(Clone, Copy, Default)]
pub struct Received {
    /// Packets.
    pub arrivals: Arrivals,
    /// Payload in order, bytes.
    pub payload_bytes: u64,
    /// What happened to the flow's packets, by direction: the receiver may be served ahead of time,
    /// so that the two can take turns in one way or another.
    pub digests: [Digest; 2],
}

impl Received {
    #[inline]
    fn add(&mut self, len: u16, marked: bool, payload_bytes: u64) {
        self.arrivals.add(len, marked);
        self.payload_bytes += payload_bytes;
    }
}

/// All counters at one point in time.
pub struct Readings {
    /// By link.
    pub links: Vec<Reading>,
    /// By flow.
    pub losses: Vec<u64>,
    /// By flow.
    pub received: Vec<Received>,
    /// By flow.
    pub sent: Vec<SenderCounts>,
}

impl Counted for Readings {
    fn links(&self) -> &[Reading] {
        &self.links
    }

    fn received_bytes(&self, flow: usize) -> u64 {
        self.received[flow].arrivals.bytes
    }
}

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
    /// What is run.
    pub plan: &'a Plan,
    /// Its seed.
    pub seed: u64,
    /// Links and packets.
    pub network: Network,
    /// What flows send.
    pub sources: Vec<Source>,
    /// What flows receive.
    pub received: Vec<Received>,
    /// Finished transfers.
    pub transfers: Vec<TransferRecord>,
    /// Time series.
    pub series: Series,
    /// Events so far.
    pub events: u64,
    /// The present.
    pub now: Time,
    ways: Vec<Ways>,
    timers: Timers,
    awaited: usize,
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
        let sources: Vec<Source> =
            (plan.flows.iter().enumerate()).map(|(i, flow)| Source::new(flow, i, seed)).collect();
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
        let awaited = sources.iter().filter(|s| matches!(s, Source::Tcp(t) if t.is_awaited()));
        Engine {
            plan,
            seed,
            awaited: awaited.count(),
            received: vec![Received::default(); sources.len()],
            sources,
            transfers: Vec::new(),
            series: Series::new(plan),
            events: 0,
            now: Time::ZERO,
            network,
            ways,
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
        let output = RunOutput { intervals, ..tables::collect(&mut self, &before, &after) };
        let ledger = self.network.ledger;
        assert_eq!(
            ledger.injected,
            ledger.delivered + ledger.dropped + self.network.under_way(),
            "every packet is delivered, dropped or still under way"
        );
        output
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
            sent: self.sources.iter().map(Source::counts).collect(),
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
        while all || self.awaited > 0 {
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
        let Engine { network, timers, received, sources, .. } = self;
        let flow = packet.flow as usize;
        let now = packet.at;
        let got = &mut received[flow];
        if now < self.end {
            got.digests[usize::from(packet.has(flags::BACK))].mix_packet(packet);
        }
        let mut door = Door { network, timers, now, flow: packet.flow, ways: self.ways[flow] };
        let Source::Tcp(tcp) = &mut sources[flow] else {
            return self.count(packet, u64::from(packet.len - UDP_HEADER_BYTES));
        };
        if packet.has(flags::ACK) {
            tcp.connection_of(packet).sender.on_ack(packet, &mut door);
            if let Some(record) = tcp.check_finished(&mut door) {
                self.awaited -= usize::from(tcp.is_awaited());
                self.transfers.push(record);
            }
            return;
        }
        let connection = tcp.connection_of(packet);
        let before = connection.received_bytes();
        connection.on_data(packet, &mut door);
        let payload_bytes = connection.received_bytes() - before;
        self.count(packet, payload_bytes);
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
        let flow = match wake {
            Wake::Sample => return self.sample(),
            Wake::Start(id)
            | Wake::Retransmit(id)
            | Wake::DelayedAck(id)
            | Wake::Application(id) => id,
        };
        let source = &mut self.sources[flow as usize];
        let mut door = Door {
            network: &mut self.network,
            timers: &mut self.timers,
            now: self.now,
            flow,
            ways: self.ways[flow as usize],
        };
        match (wake, source) {
            (Wake::Start(_), source) => source.start(&mut door),
            (Wake::Application(_), Source::Cbr(cbr)) => cbr.send(&mut door),
            (Wake::Application(_), Source::Tcp(tcp)) => tcp.write(&mut door),
            (Wake::Retransmit(_), Source::Tcp(tcp)) => tcp.connection.sender.on_timer(&mut door),
            (Wake::DelayedAck(_), Source::Tcp(tcp)) => {
                tcp.connection.on_delayed_ack_timer(&mut door);
            }
            _ => unreachable!("timers belong to the source that set them"),
        }
    }

    fn sample(&mut self) {
        let Some(interval) = self.plan.sample_interval else { return };
        let Engine { plan, now, network, sources, received, series, .. } = self;
        series.sample(plan, *now, network, sources, received);
        self.sample_at = self.now + interval;
        self.timers.push(self.sample_at, Wake::Sample);
        self.count_to_next_look(self.reading_at);
    }
}
