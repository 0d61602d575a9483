//! The network between external hosts.

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Bytes, Rate, Span, Time};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::{Cbr, Plan, Traffic};
use tidegate_simulator::output::LinkTable;
use tidegate_simulator::{
    CongestionHeader, Contents, Direction, Emulated, Emulation, Release, run,
};

/// Two senders at constant rates, in total above the link's; one has a meter, and the other sends at twice its rate.
const SCENARIO: &str = r#"
version = 1
warm_up = "1 s"
duration = "3 s"
sample_interval = "100 ms"
host_jitter = "off"
[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "60 packets"
aqm = { kind = "piecewise-linear", function = "pf-11-17-24-0.01" }
differentiation = { kind = "abc", gamma = 2.0 }
[users.heavy]
traffic = { kind = "cbr", rate = "8 Mb/s" }
start = "0 s"
meter = { reference_rate = "5 Mb/s" }
[users.light]
traffic = { kind = "cbr", rate = "4 Mb/s" }
start = "0 s"
meter = { reference_rate = "5 Mb/s" }
"#;

/// Stores one activity per packet, as a header would.
#[derive(Default)]
struct Slab {
    activities: Vec<f32>,
    discarded: u64,
}

impl Contents for Slab {
    const OUTSIDE: bool = true;

    fn set_activity(&mut self, packet: u64, activity: f32) -> f32 {
        self.activities[packet as usize] = activity;
        activity
    }

    fn activity(&mut self, packet: u64) -> f32 {
        self.activities[packet as usize]
    }

    fn copy(&mut self, packet: u64) -> u64 {
        packet
    }

    fn discard(&mut self, _: u64) {
        self.discarded += 1;
    }
}

fn plan() -> Plan {
    Scenario::parse(SCENARIO, &[]).expect("the scenario is valid").plan()
}

/// The same plan with the measurement in three intervals.
fn plan_in_parts() -> Plan {
    let parts = "intervals = { count = 3, length = \"1 s\" }";
    let scenario = SCENARIO.replace("duration = \"3 s\"", parts);
    Scenario::parse(&scenario, &[]).expect("the scenario is valid").plan()
}

/// Sends the packets of the plan's constant-bit-rate sources, and returns what was delivered.
fn emulate(plan: &Plan) -> (Emulated, u64, u64) {
    emulate_with(plan, None)
}

/// The same; in place of a link's queue outside there is a first-in first-out one that lets packets go as said.
fn emulate_with(plan: &Plan, release: Option<Release>) -> (Emulated, u64, u64) {
    let mut queue = FifoOutside { release, rate: plan.links[0].rate, ..FifoOutside::default() };
    let end = Time::ZERO + plan.warm_up + plan.duration + Span::from_millis(1);
    let mut sends: Vec<(Time, u32, u16)> = Vec::new();
    for (flow, planned) in plan.flows.iter().enumerate() {
        let Traffic::Cbr(Cbr { rate, .. }) = *planned.traffic else { panic!("all flows are CBR") };
        let len = planned.packet_size;
        let at = |n: u64| Span::from_nanos(n * len.as_bits() * 1_000_000_000 / rate.as_bps());
        let times = (0..).map(|n| Time::ZERO + at(n)).take_while(|&at| at < end);
        sends.extend(times.map(|at| (at, flow as u32, len.get() as u16)));
    }
    sends.sort_by_key(|&(at, flow, _)| (at, flow));
    let mut emulation = Emulation::new(plan, 1, Slab::default());
    let mut delivered = 0;
    for (at, flow, len) in sends {
        delivered += queue.advance(&mut emulation, at);
        let packet_store = emulation.contents();
        packet_store.activities.push(0.0);
        let number = packet_store.activities.len() as u64 - 1;
        emulation.inject(flow, Direction::Forward, number, len, CongestionHeader::default(), at);
    }
    delivered += queue.advance(&mut emulation, end);
    let discarded = emulation.contents().discarded;
    (emulation.finish().expect("the measurement is over"), delivered, discarded)
}

#[derive(Default)]
struct FifoOutside {
    release: Option<Release>,
    rate: Rate,
    free: Time,
    /// When each packet is let go, and its handle.
    inside: VecDeque<(Time, u32)>,
}

impl FifoOutside {
    /// Lets time pass up to `until`; returns how many packets are delivered.
    fn advance(&mut self, emulation: &mut Emulation<Slab>, until: Time) -> u64 {
        let (mut delivered, mut now) = (0, Time::ZERO);
        loop {
            while let Some(arrived) = self.release.and_then(|_| emulation.for_queue(0)) {
                let begins = now.max(self.free);
                self.free = begins + self.rate.transmission_time(Bytes::new(1500));
                let is_begin = self.release == Some(Release::Begin);
                self.inside.push_back((if is_begin { begins } else { self.free }, arrived.handle));
            }
            let (next, own) = (emulation.next_time(), self.inside.front().copied());
            match own.filter(|(at, _)| *at <= next.min(until)).zip(self.release) {
                Some(((at, handle), release)) => {
                    self.inside.pop_front();
                    let ended = emulation.served(0, handle, false, at, release);
                    delivered += u64::from(ended.is_some());
                }
                None if next <= until => {
                    now = next;
                    delivered += u64::from(emulation.advance().is_some());
                }
                None => return delivered,
            }
        }
    }
}

fn bottleneck(table: &LinkTable) -> (u64, u64, u64, f64, f64) {
    let i = table.name.iter().position(|name| name == "bottleneck").expect("there is one");
    let drops = table.drops_aqm[i] + table.drops_full[i];
    let backlog = table.mean_backlog_packets[i];
    (table.arrivals[i], table.departures[i], drops, backlog, table.p95_sojourn_s[i])
}

#[test]
fn an_emulated_network_measures_what_a_simulated_one_does() {
    let plan = plan();
    let (emulated, ..) = emulate(&plan);
    let simulated = run(&plan, 1);
    assert_eq!(bottleneck(&emulated.links), bottleneck(&simulated.links));
    assert_eq!(emulated.link_groups.drops, simulated.link_groups.drops);
    assert_eq!(emulated.link_groups.mean_activity, simulated.link_groups.mean_activity);
    assert_eq!(emulated.losses, simulated.flows.losses);
    assert!(emulated.losses[0] > emulated.losses[1], "activity reaches the bottleneck");
    let throughput = |i: usize| emulated.received[i].bytes as f64 * 8.0 / 3.0;
    assert_eq!([throughput(0), throughput(1)], simulated.flows.throughput_bps[..]);
    assert_eq!(emulated.group_series, simulated.group_series);
    // As text, in which the missing prices (NaN) compare equal.
    assert_eq!(format!("{:?}", emulated.link_series), format!("{:?}", simulated.link_series));
}

#[test]
fn the_parts_of_a_measurement_are_those_of_a_simulation_and_leave_the_whole_as_it_is() {
    let (whole, ..) = emulate(&plan());
    let (parts, ..) = emulate(&plan_in_parts());
    let simulated = run(&plan_in_parts(), 1).intervals;
    assert_eq!(parts.intervals.groups, simulated.groups);
    assert_eq!(parts.intervals.links, simulated.links);
    assert_eq!(parts.intervals.links.interval, [0, 1, 2]);
    assert_eq!(parts.intervals.groups.interval, [0, 0, 1, 1, 2, 2]);
    assert!(parts.intervals.links.drops.iter().all(|&drops| drops > 0));
    assert_eq!(bottleneck(&parts.links), bottleneck(&whole.links));
    assert_eq!(parts.received, whole.received);
    assert_eq!(parts.losses, whole.losses);
    assert_eq!(format!("{:?}", parts.link_series), format!("{:?}", whole.link_series));
    assert!(whole.intervals.links.interval.is_empty());
}

#[test]
fn the_packet_store_is_notified_of_every_end() {
    let (emulated, delivered, discarded) = emulate(&plan());
    assert_eq!((emulated.ledger.delivered, emulated.ledger.dropped), (delivered, discarded));
    assert!(discarded > 0);
}

/// Reports of stages cross it as in a simulation, without involving hosts or the packet store.
#[test]
fn stages_report_to_each_other_and_to_no_other() {
    let stages = "buffer = \"60 packets\"\ningress = [{ kind = \"mark-counter\" }]\n\
                  egress = [{ kind = \"congestion-reporter\" }, { kind = \"mark-counter\" }]\n";
    let text = SCENARIO.replace("buffer = \"60 packets\"\n", stages);
    let plan = Scenario::parse(&text, &[]).expect("the scenario is valid").plan();
    let (emulated, delivered, discarded) = emulate(&plan);
    assert_eq!(emulated.stages, run(&plan, 1).stages);
    let table = &emulated.stages;
    let reports: Vec<_> = (0..table.value.len())
        .filter(|&row| table.count[row] == "reports")
        .map(|row| table.value[row])
        .collect();
    assert_eq!(reports.len(), 2, "on each user");
    let ledger = emulated.ledger;
    assert!(ledger.delivered > delivered && ledger.dropped == discarded);
}

#[test]
fn there_is_no_result_before_the_end() {
    let plan = plan();
    assert_eq!(Emulation::new(&plan, 1, Slab::default()).finish(), None);
    let parts = plan_in_parts();
    let mut emulation = Emulation::new(&parts, 1, Slab::default());
    while emulation.next_time() < Time::ZERO + Span::from_secs(4) {
        emulation.advance();
    }
    assert_eq!(emulation.finish(), None, "the third part is not over");
}

/// A queue outside is measured as the link's own would be, whether it lets packets go before or after their transmission.
#[test]
fn a_queue_outside_is_measured_as_the_links_own() {
    let text = SCENARIO.replace("rate = \"8 Mb/s\"", "rate = \"5.9 Mb/s\"");
    let own = "buffer = \"5000 packets\"\n";
    let (before, after) = text.split_once("buffer = ").expect("it has one");
    let after = after.split_once("[users.heavy]").expect("and users").1;
    let plan = |queue: &str| {
        let text = format!("{before}{queue}[users.heavy]{after}");
        Scenario::parse(&text, &[]).expect("the scenario is valid").plan()
    };
    let (expected, delivered, _) = emulate(&plan(own));
    for release in [Release::Begin, Release::End] {
        let outside = plan(&format!("{own}kernel_qdisc = \"pfifo\"\n"));
        let (found, ..) = emulate_with(&outside, Some(release));
        let ((a, b), name) = ((bottleneck(&found.links), bottleneck(&expected.links)), release);
        assert_eq!((a.0, a.1, a.2), (b.0, b.1, b.2), "{name:?}");
        assert!((a.3 / b.3 - 1.0).abs() < 1e-6 && (a.4 / b.4 - 1.0).abs() < 1e-6, "{a:?} {b:?}");
        assert_eq!(found.received, expected.received, "{name:?}");
        assert_eq!(found.ledger.delivered, expected.ledger.delivered, "{name:?}");
    }
    assert!(delivered > 2_000);
}
