//! What the gateway does, for people and as JSON: mode, signals, verdicts, and who gets and loses what.

use std::cmp::Reverse;
use std::fmt::Write;

use serde_json::{Value as Json, json};
use tidegate_mechanisms::fixed_point::{NEVER_Q24, ONE_Q24};

use crate::control::Mode;
use crate::customer::Customer;
use crate::maps::{Count, Direction, LAYOUT, Maps, Pins, REASONS, signal_word, word};
use crate::measures::{ACTIVITY_BOUNDS, activity, fairness, histogram};
use crate::metrics::Shown;
use crate::programs::{Cost, PROGRAMS, cost};
use crate::signal::State;
pub use crate::snapshot::Snapshot;

/// A direction's signal.
#[derive(Clone, Debug)]
pub struct Signal {
    /// How it is.
    pub state: State,
    /// Whether p counts.
    pub is_fresh: bool,
    /// p.
    pub probability: f64,
    /// Delay of the queue.
    pub delay_s: f64,
    /// Rate at which it is served.
    pub rate_bps: u64,
    /// Time since the last update.
    pub age_s: f64,
    /// A_avg.
    pub average_activity: f64,
}

/// All customers at once, in a direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    /// Those that are remembered.
    pub customers: u64,
    /// Those up to each of [`ACTIVITY_BOUNDS`].
    pub by_activity: [u64; ACTIVITY_BOUNDS.len()],
    /// Jain's index of those that share; `None` for fewer than two.
    pub fairness: Option<f64>,
}

/// What a customer got in a direction since the earlier snapshot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Got {
    /// Of its packets, dropped ones among them.
    pub rate_bps: f64,
    /// Share of packets that ABC dropped, or would have.
    pub lost_share: f64,
    /// Share of packets that were marked, or would have been.
    pub marked_share: f64,
    /// Share of packets beyond the ceiling.
    pub limited_share: f64,
}

impl Got {
    /// Rate of what passes.
    fn passed_bps(&self) -> f64 {
        self.rate_bps * (1.0 - self.lost_share - self.limited_share).max(0.0)
    }
}

/// Between two snapshots.
#[derive(Clone, Debug)]
pub struct Report {
    mode: Option<Mode>,
    loop_runs: bool,
    interface: String,
    uplink: String,
    seconds: f64,
    signals: [Signal; 2],
    verdicts: [[Count; REASONS.len()]; 2],
    crowds: [Crowd; 2],
    programs: Vec<(&'static str, Cost)>,
    /// Customers that are remembered.
    pub known: usize,
    /// Those that were active.
    pub active: usize,
    /// Those that got most.
    pub customers: Vec<(String, [Got; 2])>,
}

impl Report {
    /// From two snapshots; `maps` have the names of customers, and `names` are those of the customers' interface and of the uplink.
    pub fn between(
        maps: &Maps,
        before: &Snapshot,
        after: &Snapshot,
        names: [String; 2],
        loop_runs: bool,
        shown: Shown,
    ) -> Report {
        let seconds = after.now_ns.saturating_sub(before.now_ns).max(1) as f64 / 1e9;
        let [interface, uplink] = names;
        let signals = Direction::ALL.map(|direction| signal(after, direction));
        let mut customers: Vec<_> = after
            .customers
            .iter()
            .filter_map(|(who, now)| {
                let then = before.customers.get(who).copied().unwrap_or_default();
                let got = [0, 1].map(|direction| got(&then, now, direction, seconds));
                let is_active = got.iter().any(|got| got.rate_bps > 0.0);
                is_active.then_some((*who, got))
            })
            .collect();
        let sum = |got: &[Got; 2]| (got[0].rate_bps + got[1].rate_bps) as u64;
        customers.sort_by_key(|(who, got)| (Reverse(sum(got)), *who));
        let active = customers.len();
        let enforces = after.settings[word::ENFORCE] == 1;
        let inertia_ns = after.inertia_ns();
        let crowds = [0, 1].map(|direction| {
            let of = |customer: &Customer| activity(customer, direction, after.now_ns, inertia_ns);
            let (by_activity, all) = histogram(after.customers.values().map(of));
            let rates = customers.iter().map(|(who, got)| {
                let got = got[direction];
                let passed = if enforces { got.passed_bps() } else { got.rate_bps };
                (of(&after.customers[who]), passed)
            });
            Crowd { customers: all, by_activity, fairness: fairness(rates) }
        });
        customers.truncate(shown.customers);
        let verdicts = [0, 1].map(|direction| {
            std::array::from_fn(|reason| {
                let (then, now) =
                    (before.counts[direction][reason], after.counts[direction][reason]);
                Count {
                    packets: now.packets.saturating_sub(then.packets),
                    bytes: now.bytes.saturating_sub(then.bytes),
                }
            })
        });
        let ready = after.settings[word::READY] == LAYOUT;
        Report {
            mode: ready.then_some(if enforces { Mode::Enforce } else { Mode::Observe }),
            loop_runs,
            interface,
            uplink,
            seconds,
            signals,
            verdicts,
            crowds,
            programs: Vec::new(),
            known: after.customers.len(),
            active,
            customers: customers
                .into_iter()
                .enumerate()
                .map(|(rank, (who, got))| match who {
                    _ if shown.is_anonymous => (format!("#{}", rank + 1), got),
                    who => (who.name(maps), got),
                })
                .collect(),
        }
    }

    /// With what the programs have cost.
    pub fn with_programs(mut self, pins: &Pins) -> Report {
        let known = PROGRAMS.iter().filter_map(|(name, _)| Some((*name, cost(pins, name)?)));
        self.programs = known.collect();
        self
    }

    /// Whether packets are dropped and marked.
    pub fn enforces(&self) -> bool {
        self.mode == Some(Mode::Enforce)
    }

    /// Of a direction.
    pub fn signal(&self, direction: Direction) -> &Signal {
        &self.signals[direction as usize]
    }

    /// Of a direction.
    pub fn crowd(&self, direction: Direction) -> Crowd {
        self.crowds[direction as usize]
    }

    /// Rate of what passed.
    pub fn passed_bps(&self, direction: Direction) -> f64 {
        let names = REASONS.iter().map(|(name, _)| *name);
        let passed = names
            .zip(&self.verdicts[direction as usize])
            .filter(|(name, _)| !["dropped", "limited"].contains(name))
            .map(|(_, count)| count.bytes)
            .sum::<u64>();
        passed as f64 * 8.0 / self.seconds
    }

    /// Share of the rate of the queue that passed; `None` while the rate is not known.
    pub fn used(&self, direction: Direction) -> Option<f64> {
        let rate_bps = self.signal(direction).rate_bps;
        (rate_bps > 0).then(|| self.passed_bps(direction) / rate_bps as f64)
    }

    /// As JSON: one object.
    pub fn json(&self) -> Json {
        let directions = Direction::ALL.map(|direction| {
            let (signal, counts) =
                (&self.signals[direction as usize], &self.verdicts[direction as usize]);
            let verdicts: serde_json::Map<_, _> = REASONS
                .iter()
                .zip(counts)
                .map(|((name, _), count)| {
                    let count = json!({ "packets": count.packets, "bytes": count.bytes });
                    ((*name).to_owned(), count)
                })
                .collect();
            let crowd = self.crowd(direction);
            let classes = ACTIVITY_BOUNDS.iter().zip(crowd.by_activity);
            let classes: Vec<_> = classes
                .map(|(bound, count)| json!({ "up_to": bound, "customers": count }))
                .collect();
            let value = json!({
                "signal": signal.state.text(),
                "fresh": signal.is_fresh,
                "probability": signal.probability,
                "delay_s": signal.delay_s,
                "rate_bps": signal.rate_bps,
                "used": self.used(direction),
                "age_s": signal.age_s,
                "fairness": crowd.fairness,
                "customers_by_activity": classes,
                "average_activity": signal.average_activity,
                "verdicts": verdicts,
            });
            (direction.word().to_owned(), value)
        });
        let customers = self.customers.iter().map(|(name, got)| {
            let mut customer = json!({ "customer": name });
            for direction in Direction::ALL {
                let got = got[direction as usize];
                customer[direction.word()] = json!({
                    "rate_bps": got.rate_bps,
                    "lost": got.lost_share,
                    "marked": got.marked_share,
                    "limited": got.limited_share,
                });
            }
            customer
        });
        let mut report = json!({
            "mode": self.mode.map(Mode::word),
            "control_loop": self.loop_runs,
            "interface": self.interface,
            "uplink": self.uplink,
            "seconds": self.seconds,
            "programs": self
                .programs
                .iter()
                .map(|(name, cost)| json!({ "program": name, "packets": cost.runs, "ns": cost.ns }))
                .collect::<Vec<_>>(),
            "customers_known": self.known,
            "customers_active": self.active,
            "customers": customers.collect::<Vec<_>>(),
        });
        for (word, value) in directions {
            report[word] = value;
        }
        report
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("strings take everything");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let mode = self.mode.map_or("switched off", Mode::word);
        let ends = match self.loop_runs {
            true => "",
            false => "; the control loop does not run: everything passes",
        };
        writeln!(text, "{mode}: customers at {}, uplink {}{ends}\n", self.interface, self.uplink)?;
        for direction in Direction::ALL {
            let signal = &self.signals[direction as usize];
            write!(text, "{:<9}", direction.word())?;
            match (signal.state, signal.is_fresh) {
                (State::Ok | State::Blind, true) => {
                    let rate = signal.rate_bps as f64 / 1e6;
                    let (delay_ms, percent) = (signal.delay_s * 1e3, signal.probability * 100.0);
                    write!(text, "delay {delay_ms:.1} ms at {rate:.2} Mb/s, p {percent:.3} %, ")?;
                    writeln!(text, "average activity {:.2}", signal.average_activity)?;
                    if signal.state == State::Blind {
                        writeln!(text, "{:<9}{}", "", signal.state.text())?;
                    }
                }
                (State::Ok | State::Blind, false) => {
                    writeln!(text, "the probability is old: everything passes")?;
                }
                (state, _) => writeln!(text, "{}: everything passes", state.text())?,
            }
        }
        for direction in Direction::ALL {
            if let Some(index) = self.crowd(direction).fairness {
                writeln!(text, "fairness  {index:.3} of {}s (Jain's index)", direction.word())?;
            }
        }
        let (would, active) = (self.mode == Some(Mode::Observe), self.active);
        writeln!(text, "customers {active} active, {} known\n", self.known)?;
        if active > 0 {
            let lost = if would { "would lose" } else { "lost" };
            writeln!(
                text,
                "  {:<40} {:>11} {:>12} {:>11} {:>12}",
                "customer",
                "up [Mb/s]",
                format!("{lost} [%]"),
                "down [Mb/s]",
                format!("{lost} [%]")
            )?;
            for (name, got) in &self.customers {
                let [up, down] = got;
                writeln!(
                    text,
                    "  {name:<40} {:>11.3} {:>12.2} {:>11.3} {:>12.2}",
                    up.rate_bps / 1e6,
                    (up.lost_share + up.limited_share) * 100.0,
                    down.rate_bps / 1e6,
                    (down.lost_share + down.limited_share) * 100.0,
                )?;
            }
            if active > self.customers.len() {
                writeln!(text, "  … and {} more", active - self.customers.len())?;
            }
            writeln!(text)?;
        }
        writeln!(text, "  {:<64} {:>12} {:>12}", "packets", "up", "down")?;
        for (reason, (name, meaning)) in REASONS.iter().enumerate() {
            let [up, down] = [0, 1].map(|direction| self.verdicts[direction][reason].packets);
            if up + down > 0 {
                writeln!(text, "  {:<64} {up:>12} {down:>12}", format!("{name}: {meaning}"))?;
            }
        }
        Ok(())
    }
}

/// Of a snapshot.
pub fn signal(snapshot: &Snapshot, direction: Direction) -> Signal {
    let words = snapshot.signals[direction as usize];
    let minus_log2 = words[signal_word::MINUS_LOG2_P];
    let probability = match minus_log2 < NEVER_Q24 {
        true => libm::exp2(-(minus_log2 as f64) / ONE_Q24 as f64),
        false => 0.0,
    };
    let is_fresh = snapshot.now_ns <= words[signal_word::DEADLINE];
    Signal {
        state: State::from_word(words[signal_word::STATE]),
        is_fresh,
        probability: if is_fresh { probability } else { 0.0 },
        delay_s: words[signal_word::DELAY] as f64 / 1e9,
        rate_bps: words[signal_word::RATE],
        age_s: snapshot.now_ns.saturating_sub(words[signal_word::UPDATED]) as f64 / 1e9,
        average_activity: snapshot.averages[direction as usize],
    }
}

fn got(then: &Customer, now: &Customer, direction: usize, seconds: f64) -> Got {
    let (then, now) = (&then.usage[direction], &now.usage[direction]);
    let since = |now: u32, then: u32| f64::from(now.wrapping_sub(then));
    let packets = since(now.packets, then.packets).max(1.0);
    Got {
        rate_bps: now.bytes.saturating_sub(then.bytes) as f64 * 8.0 / seconds,
        lost_share: since(now.dropped, then.dropped) / packets,
        marked_share: since(now.marked, then.marked) / packets,
        limited_share: since(now.limited, then.limited) / packets,
    }
}
