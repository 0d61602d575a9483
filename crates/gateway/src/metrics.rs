//! What monitoring reads: the maps as Prometheus metrics (OpenMetrics text).

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::maps::{Direction, Maps, Pins, REASONS};
use crate::measures::ACTIVITY_BOUNDS;
use crate::programs::{PROGRAMS, cost};
use crate::report::{Report, Snapshot};

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;
type Counters = Family<Labels, Counter>;
type Seconds = Family<Labels, Counter<f64, AtomicU64>>;

/// What of the customers is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Number of customers to list, those with the highest rates first.
    pub customers: usize,
    /// By their rank instead of their names.
    pub is_anonymous: bool,
}

impl Shown {
    /// Twenty customers, by name.
    pub const DEFAULT: Shown = Shown { customers: 20, is_anonymous: false };
}

/// All metrics. Rates and shares are those between the snapshots.
pub fn text(maps: &Maps, pins: &Pins, before: &Snapshot, after: &Snapshot, shown: Shown) -> String {
    let mut registry = Registry::with_prefix("tidegate");
    let report = Report::between(maps, before, after, Default::default(), true, shown);
    of_box(&mut registry, &report);
    of_directions(&mut registry, &report, after);
    of_customers(&mut registry, &report);
    of_programs(&mut registry, pins);
    let mut text = String::new();
    encode(&mut text, &registry).expect("strings take everything");
    text
}

fn of_box(registry: &mut Registry, report: &Report) {
    let gauge = |registry: &mut Registry, name: &str, help: &str, value: f64| {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    let enforces = f64::from(u8::from(report.enforces()));
    gauge(registry, "enforce", "1 if packets are dropped and marked, 0 if only counted", enforces);
    gauge(registry, "customers_known", "Customers that are remembered", report.known as f64);
    gauge(registry, "customers_active", "Customers with packets lately", report.active as f64);
}

fn of_directions(registry: &mut Registry, report: &Report, after: &Snapshot) {
    let family = |registry: &mut Registry, name: &str, help: &str| {
        let family = Gauges::default();
        registry.register(name, help, family.clone());
        family
    };
    let p = family(registry, "probability", "Probability p of a signal before differentiation");
    let fresh = family(registry, "signal_fresh", "1 if p counts, 0 if it is missing or old");
    let state = family(registry, "signal_state", "1 for the state that the signal is in");
    let age = family(registry, "signal_age_seconds", "Time since the last update of the signal");
    let delay = family(registry, "delay_seconds", "Queueing delay that the signal sees");
    let rate = family(registry, "rate_bits_per_second", "Rate at which the queue is served");
    let use_ = family(registry, "use_ratio", "Share of that rate which passes lately");
    let average = family(registry, "average_activity", "Average activity A_avg of packets");
    let fairness = family(
        registry,
        "fairness",
        "Jain's index of what passes lately of customers with an activity of at least 1",
    );
    let classes = family(registry, "customers_by_activity", "Customers up to an activity");
    let (packets, bytes) = (Counters::default(), Counters::default());
    registry.register("packets", "Packets by what became of them", packets.clone());
    registry.register_with_unit("seen", "Bytes by what became of them", Unit::Bytes, bytes.clone());
    for direction in Direction::ALL {
        let own = || vec![("direction", direction.word().to_owned())];
        let with = |key: &'static str, value: &str| [own(), vec![(key, value.to_owned())]].concat();
        let signal = report.signal(direction);
        p.get_or_create(&own()).set(signal.probability);
        fresh.get_or_create(&own()).set(f64::from(u8::from(signal.is_fresh)));
        state.get_or_create(&with("state", signal.state.text())).set(1.0);
        age.get_or_create(&own()).set(signal.age_s);
        delay.get_or_create(&own()).set(signal.delay_s);
        rate.get_or_create(&own()).set(signal.rate_bps as f64);
        if let Some(share) = report.used(direction) {
            use_.get_or_create(&own()).set(share);
        }
        average.get_or_create(&own()).set(signal.average_activity);
        let crowd = report.crowd(direction);
        if let Some(index) = crowd.fairness {
            fairness.get_or_create(&own()).set(index);
        }
        for (bound, count) in ACTIVITY_BOUNDS.iter().zip(crowd.by_activity) {
            classes.get_or_create(&with("le", &bound.to_string())).set(count as f64);
        }
        classes.get_or_create(&with("le", "+Inf")).set(crowd.customers as f64);
        for ((name, _), count) in REASONS.iter().zip(after.counts(direction)) {
            packets.get_or_create(&with("verdict", name)).inc_by(count.packets);
            bytes.get_or_create(&with("verdict", name)).inc_by(count.bytes);
        }
    }
}

fn of_customers(registry: &mut Registry, report: &Report) {
    let rate = Gauges::default();
    let lost = Gauges::default();
    registry.register(
        "customer_rate_bits_per_second",
        "Rate of a customer's packets lately, dropped ones among them; those that send most",
        rate.clone(),
    );
    registry.register(
        "customer_lost_ratio",
        "Share of a customer's packets that was dropped lately, by ABC or beyond the ceiling",
        lost.clone(),
    );
    for (name, got) in &report.customers {
        for direction in Direction::ALL {
            let got = got[direction as usize];
            let labels =
                vec![("customer", name.clone()), ("direction", direction.word().to_owned())];
            rate.get_or_create(&labels).set(got.rate_bps);
            lost.get_or_create(&labels).set(got.lost_share + got.limited_share);
        }
    }
}

fn of_programs(registry: &mut Registry, pins: &Pins) {
    let (seconds, runs) = (Seconds::default(), Counters::default());
    let known: Vec<_> =
        PROGRAMS.iter().filter_map(|(name, _)| Some((*name, cost(pins, name)?))).collect();
    if known.is_empty() {
        return;
    }
    let help = "Time that a program took, while kernel.bpf_stats_enabled is 1";
    registry.register_with_unit("program", help, Unit::Seconds, seconds.clone());
    registry.register("program_runs", "Packets that a program saw meanwhile", runs.clone());
    for (name, cost) in known {
        let labels = vec![("program", name.to_owned())];
        seconds.get_or_create(&labels).inc_by(cost.ns as f64 / 1e9);
        runs.get_or_create(&labels).inc_by(cost.runs);
    }
}
