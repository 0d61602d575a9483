//! What a gateway has seen, as a scenario file: what enforcing would change can be simulated before it is done.
//!
//! Every second the customers' rates and activities are read. Customers that exceed their reference rate nearly all the
//! time are steady; those that do now and then send bursts; the others are background. Steady customers of about the same
//! activity are a group of the scenario. No address and no name is in it.
//!
//! A gateway reads nothing behind the IP header, so that it does not know flows. An unmanaged link shares by flow: where it
//! is full, a customer with k times the rate of those who get least has k flows in the scenario. Where it is never full,
//! nothing shows whether customers adapt, and they keep their rates.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use std::{fs, io, thread};

use crate::control::{Mode, now_ns};
use crate::customer::{Terms, rate_bps};
use crate::error::Error;
use crate::maps::{Direction, Maps, Pins, signal_word, word};
use crate::measures::activity;
use crate::report::signal;
use crate::scenario_text::{self, About};
use crate::signal::State;
use crate::snapshot::{Snapshot, Who};

/// A link whose queue is this long is full: CoDel's target (RFC 8289).
const FULL_DELAY_S: f64 = 0.005;
/// A link that is full in a smaller share of the samples is not full.
const FULL_SHARE: f64 = 0.1;
/// Shares of the samples in which a customer exceeds its reference rate.
const STEADY_SHARE: f64 = 0.9;
const BURSTS_SHARE: f64 = 0.02;
/// Most flows of a customer in the scenario.
const MAX_FLOWS: f64 = 100.0;

/// A link and its customers between two readings, in one direction.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Time between the readings.
    pub seconds: f64,
    /// Delay of the queue; `None` while the signal says nothing.
    pub delay_s: Option<f64>,
    /// Rate at which the queue is served; 0 while it is not known.
    pub rate_bps: f64,
    /// Bytes that wait.
    pub backlog_bytes: f64,
    /// Those that have sent or received.
    pub customers: Vec<SampleOfCustomer>,
}

/// A customer in a sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleOfCustomer {
    /// Which one.
    pub who: Who,
    /// R_r.
    pub reference_bps: u64,
    /// Of what it has sent.
    pub rate_bps: f64,
    /// A.
    pub activity: f64,
}

impl Sample {
    /// From two snapshots.
    fn between(
        before: &Snapshot,
        after: &Snapshot,
        direction: Direction,
        terms: &BTreeMap<u32, Terms>,
    ) -> Sample {
        let seconds = after.now_ns.saturating_sub(before.now_ns).max(1) as f64 / 1e9;
        let place = direction as usize;
        let default_bps = rate_bps(after.settings[word::METER]);
        let customers = after.customers.iter().filter_map(|(who, now)| {
            let then = before.customers.get(who).copied().unwrap_or_default();
            let bytes = now.usage[place].bytes.saturating_sub(then.usage[place].bytes);
            let reference_bps = match who {
                Who::Listed(slot) => {
                    terms.get(slot).map_or(default_bps, |terms| rate_bps(terms.ns_per_byte_q16))
                }
                Who::Learned(_) => default_bps,
            };
            (bytes > 0).then(|| SampleOfCustomer {
                who: *who,
                reference_bps,
                rate_bps: bytes as f64 * 8.0 / seconds,
                activity: activity(now, place, after.now_ns, after.inertia_ns()),
            })
        });
        let customers = customers.collect();
        let seen = signal(after, direction);
        let says = seen.is_fresh && matches!(seen.state, State::Ok | State::Blind);
        Sample {
            seconds,
            delay_s: says.then_some(seen.delay_s),
            rate_bps: seen.rate_bps as f64,
            backlog_bytes: after.signals[place][signal_word::BACKLOG] as f64,
            customers,
        }
    }
}

/// What is known of a customer.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    reference_bps: u64,
    bits: f64,
    /// Seconds in which it exceeded its reference rate, and bits, activity and bursts of these.
    busy_s: f64,
    busy_bits: f64,
    busy_activity: f64,
    bursts: f64,
    /// Number of the last sample in which it did.
    last_busy: usize,
}

/// All samples together: a record for each customer, and 16 bytes for each sample.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    seconds: f64,
    samples: usize,
    heard: usize,
    full: usize,
    delays_s: Vec<f64>,
    full_rates: Vec<f64>,
    most_backlog_bytes: f64,
    /// Highest rate of all customers together.
    most_bps: f64,
    bits: f64,
    customers: HashMap<Who, Seen>,
}

/// What the customers of a group do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Traffic {
    /// TCP with this number of flows.
    Flows(u64),
    /// As fast as this, whatever the link does.
    Rate,
    /// TCP transfers with pauses.
    Bursts {
        /// Mean bits of one.
        bits: f64,
        /// Mean time between two.
        pause_s: f64,
    },
    /// Packets now and then.
    Background,
}

/// Customers that are about equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// How many.
    pub count: u64,
    /// R_r of each.
    pub reference_bps: u64,
    /// Whole part of the mean activity, of steady customers.
    pub activity: u64,
    /// Mean rate of each.
    pub rate_bps: f64,
    /// What they do.
    pub traffic: Traffic,
}

/// The link and its customers, as a scenario has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Length of the capture.
    pub seconds: f64,
    /// Rate of the link.
    pub rate_bps: f64,
    /// Whether the link has been full, so that its rate is known.
    pub is_full: bool,
    /// Share of the time in which it was.
    pub full_share: f64,
    /// Whether the signal ever said something.
    pub is_heard: bool,
    /// Half of the time the delay of the queue was below this, and 95 % of the time below that.
    pub delays_s: [f64; 2],
    /// Longest queue, bytes; 0 if there was none.
    pub queue_bytes: f64,
    /// Customers that have sent.
    pub customers: usize,
    /// Groups of them.
    pub groups: Vec<Group>,
}

/// Class of steady customers, bursts and background, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Steady(u64),
    Bursts,
    Background,
}

impl Capture {
    /// Takes a sample.
    pub fn add(&mut self, sample: &Sample) {
        self.samples += 1;
        self.seconds += sample.seconds;
        if let Some(delay_s) = sample.delay_s {
            self.heard += 1;
            self.delays_s.push(delay_s);
            let by_delay = delay_s * sample.rate_bps / 8.0;
            self.most_backlog_bytes =
                self.most_backlog_bytes.max(by_delay).max(sample.backlog_bytes);
            if delay_s >= FULL_DELAY_S && sample.rate_bps > 0.0 {
                self.full += 1;
                self.full_rates.push(sample.rate_bps);
            }
        }
        let sum: f64 = sample.customers.iter().map(|one| one.rate_bps).sum();
        self.most_bps = self.most_bps.max(sum);
        self.bits += sum * sample.seconds;
        for one in &sample.customers {
            let seen = self.customers.entry(one.who).or_default();
            let bits = one.rate_bps * sample.seconds;
            seen.reference_bps = one.reference_bps;
            seen.bits += bits;
            if one.rate_bps > one.reference_bps as f64 {
                seen.busy_s += sample.seconds;
                seen.busy_bits += bits;
                seen.busy_activity += one.activity * sample.seconds;
                seen.bursts += f64::from(u8::from(seen.last_busy + 1 < self.samples));
                // The first sample begins a burst, too.
                seen.bursts = seen.bursts.max(1.0);
                seen.last_busy = self.samples;
            }
        }
    }

    /// Bits of all customers.
    pub fn bits(&self) -> f64 {
        self.bits
    }

    fn class(&self, seen: &Seen) -> Class {
        let share = seen.busy_s / self.seconds;
        match share {
            STEADY_SHARE.. => Class::Steady((seen.busy_activity / seen.busy_s) as u64),
            BURSTS_SHARE.. => Class::Bursts,
            _ => Class::Background,
        }
    }

    /// What comes out; `None` if no customer has sent anything.
    pub fn picture(&self) -> Option<Picture> {
        let mut classes: BTreeMap<(u64, Class), Vec<Seen>> = BTreeMap::new();
        for seen in self.customers.values() {
            classes.entry((seen.reference_bps, self.class(seen))).or_default().push(*seen);
        }
        if classes.is_empty() {
            return None;
        }
        let full_share = self.full as f64 / self.samples.max(1) as f64;
        let is_full = full_share >= FULL_SHARE;
        let rate_bps = if is_full { median(&self.full_rates) } else { self.most_bps };
        let mean =
            |all: &[Seen], of: fn(&Seen) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        let rate = |all: &[Seen]| mean(all, |seen| seen.bits) / self.seconds;
        let steady = classes.iter().filter(|((_, class), _)| matches!(class, Class::Steady(_)));
        let least_bps = steady.map(|(_, all)| rate(all)).fold(f64::INFINITY, f64::min);
        let groups = classes.iter().map(|((reference_bps, class), all)| {
            let rate_bps = rate(all);
            let traffic = match class {
                Class::Steady(_) if is_full => {
                    Traffic::Flows((rate_bps / least_bps).round().clamp(1.0, MAX_FLOWS) as u64)
                }
                Class::Steady(_) => Traffic::Rate,
                Class::Bursts => {
                    let bursts = mean(all, |seen| seen.bursts);
                    let idle_s = self.seconds - mean(all, |seen| seen.busy_s);
                    Traffic::Bursts {
                        bits: mean(all, |seen| seen.busy_bits) / bursts,
                        pause_s: idle_s / bursts,
                    }
                }
                Class::Background => Traffic::Background,
            };
            let activity = if let Class::Steady(activity) = class { *activity } else { 0 };
            Group {
                count: all.len() as u64,
                reference_bps: *reference_bps,
                activity,
                rate_bps,
                traffic,
            }
        });
        Some(Picture {
            seconds: self.seconds,
            rate_bps,
            is_full,
            full_share,
            is_heard: self.heard > 0,
            delays_s: [0.5, 0.95].map(|share| quantile(&self.delays_s, share)),
            queue_bytes: self.most_backlog_bytes,
            customers: self.customers.len(),
            groups: groups.collect(),
        })
    }
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (share * sorted.len() as f64) as usize;
    sorted.get(place).or(sorted.last()).copied().unwrap_or_default()
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// How long.
    pub length: Duration,
    /// Time between two samples.
    pub every: Duration,
    /// Which direction; `None` for the one with more bytes.
    pub direction: Option<Direction>,
}

/// Looks for as long as asked, and returns the scenario.
///
/// # Errors
/// If there is no gateway, it ends meanwhile, or no customer sends anything.
pub fn run(
    pins: &Pins,
    request: Request,
    mut progress: impl FnMut(Duration, usize),
) -> Result<String, Error> {
    let absent = || {
        let advice = "first, in another shell: tidegate-gateway observe eth1 --uplink eth0";
        Error::Failed(format!("no gateway is here; {advice}"))
    };
    let open = || Maps::open_settled(pins)?.ok_or_else(absent);
    let mut captures = [Capture::default(), Capture::default()];
    let mut before = Snapshot::take(&open()?, now_ns());
    let started = before.now_ns;
    let (mut is_enforced, mut passed) = (false, Duration::ZERO);
    while passed < request.length {
        thread::sleep(request.every.min(request.length - passed));
        // A reload may have replaced them.
        let maps = open()?;
        let terms = maps.terms();
        let after = Snapshot::take(&maps, now_ns());
        is_enforced |= after.settings[word::ENFORCE] == 1;
        for (capture, direction) in captures.iter_mut().zip(Direction::ALL) {
            capture.add(&Sample::between(&before, &after, direction, &terms));
        }
        passed = Duration::from_nanos(after.now_ns - started);
        let customers = captures.iter().map(|one| one.customers.len()).max().unwrap_or_default();
        progress(passed, customers);
        before = after;
    }
    let [up, down] = &captures;
    let busier = if down.bits() > up.bits() { Direction::Download } else { Direction::Upload };
    let direction = request.direction.unwrap_or(busier);
    let picture = captures[direction as usize].picture().ok_or_else(|| {
        let word = direction.word();
        Error::Failed(format!("no packet of a customer in {} s of {word}s", passed.as_secs()))
    })?;
    let mode = if is_enforced { Mode::Enforce } else { Mode::Observe };
    let target_ns = before.signals[direction as usize][signal_word::TARGET];
    let about = About { direction, mode, settings: before.settings, target_ns };
    Ok(scenario_text::write(&picture, &about))
}

/// Writes a file as a whole or not at all.
///
/// # Errors
/// If the disk or its rights do not allow it.
pub fn save(path: &std::path::Path, text: &str) -> Result<(), Error> {
    let partial = path.with_extension("partial");
    let write = || -> io::Result<()> {
        fs::write(&partial, text)?;
        fs::rename(&partial, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&partial);
        Error::of(&path.display().to_string(), &error)
    })
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
