//! The last ten minutes, in memory: what the page shows. Nothing of it is written to a disk.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::control::now_ns;
use crate::error::Error;
use crate::maps::{Direction, LAYOUT, Maps, Pins, word};
use crate::metrics::Shown;
use crate::report::{Report, Signal};
use crate::snapshot::{Snapshot, Who};

/// Time that is remembered.
pub const LENGTH_NS: u64 = 600_000_000_000;
/// Least time between two points.
pub const STEP: Duration = Duration::from_secs(2);
/// A point takes at most this share of a CPU: many customers are read less often.
const MOST_SHARE: u32 = 50;
/// Customers are added up over slots of this length.
const SLOT_NS: u64 = 60_000_000_000;

/// A direction at a time.
#[derive(Clone, Debug)]
pub struct Level {
    /// The signal.
    pub signal: Signal,
    /// Rate of what passed.
    pub passed_bps: f64,
}

/// Both directions at a time.
#[derive(Clone, Debug)]
pub struct Point {
    /// When, on the kernel's clock.
    pub now_ns: u64,
    /// Customers with packets.
    pub active: usize,
    /// By direction.
    pub levels: [Level; 2],
}

/// What became of a customer's packets in a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Dropped ones among them.
    pub bytes: u64,
    /// Likewise.
    pub packets: u64,
    /// Dropped by ABC, or would have been.
    pub lost: u64,
    /// Marked likewise.
    pub marked: u64,
    /// Beyond the ceiling.
    pub limited: u64,
}

impl Tally {
    /// Of all packets, those that ABC dropped.
    pub fn lost_share(&self) -> f64 {
        share(self.lost, self.packets)
    }

    /// Those beyond the ceiling.
    pub fn limited_share(&self) -> f64 {
        share(self.limited, self.packets)
    }

    /// Those that were marked.
    pub fn marked_share(&self) -> f64 {
        share(self.marked, self.packets)
    }

    /// With those of another.
    pub fn add(&mut self, other: &Tally) {
        self.bytes += other.bytes;
        self.packets += other.packets;
        self.lost += other.lost;
        self.marked += other.marked;
        self.limited += other.limited;
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[derive(Clone, Debug, Default)]
struct Slot {
    begun_ns: u64,
    ended_ns: u64,
    customers: HashMap<Who, [Tally; 2]>,
}

/// The last ten minutes.
#[derive(Clone, Debug, Default)]
pub struct History {
    points: VecDeque<Point>,
    /// In the mode of now: would-be losses and losses do not add up.
    slots: VecDeque<Slot>,
    enforces: bool,
}

/// All customers of a window of time.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Its length.
    pub seconds: f64,
    /// Those who have sent or received, most bytes first.
    pub customers: Vec<(Who, [Tally; 2])>,
}

impl History {
    /// Takes what was between two snapshots.
    pub fn add(&mut self, maps: &Maps, before: &Snapshot, after: &Snapshot) {
        let none = Shown { customers: 0, is_anonymous: true };
        let report = Report::between(maps, before, after, Default::default(), true, none);
        let enforces = report.enforces();
        if std::mem::replace(&mut self.enforces, enforces) != enforces {
            self.slots.clear();
        }
        let now_ns = after.now_ns();
        let levels = Direction::ALL.map(|direction| Level {
            signal: report.signal(direction).clone(),
            passed_bps: report.passed_bps(direction),
        });
        self.points.push_back(Point { now_ns, active: report.active, levels });
        self.tally(before, after);
        let is_old = |then_ns: u64| now_ns.saturating_sub(then_ns) > LENGTH_NS;
        while self.points.front().is_some_and(|point| is_old(point.now_ns)) {
            self.points.pop_front();
        }
        while self.slots.front().is_some_and(|slot| is_old(slot.ended_ns)) {
            self.slots.pop_front();
        }
    }

    fn tally(&mut self, before: &Snapshot, after: &Snapshot) {
        let (begun_ns, ended_ns) = (before.now_ns(), after.now_ns());
        if self.slots.back().is_none_or(|slot| ended_ns - slot.begun_ns > SLOT_NS) {
            self.slots.push_back(Slot { begun_ns, ..Slot::default() });
        }
        let slot = self.slots.back_mut().expect("it was just pushed");
        slot.ended_ns = ended_ns;
        for (who, now) in &after.customers {
            let then = before.customers.get(who).copied().unwrap_or_default();
            let since = |now: u32, then: u32| u64::from(now.wrapping_sub(then));
            let news = [0, 1].map(|way| {
                let (now, then) = (&now.usage[way], &then.usage[way]);
                Tally {
                    bytes: now.bytes.saturating_sub(then.bytes),
                    packets: since(now.packets, then.packets),
                    lost: since(now.dropped, then.dropped),
                    marked: since(now.marked, then.marked),
                    limited: since(now.limited, then.limited),
                }
            });
            // Counters that start at zero again are another customer's.
            if now.usage[0].bytes < then.usage[0].bytes || now.usage[1].bytes < then.usage[1].bytes
            {
                continue;
            }
            if news.iter().any(|tally| tally.packets > 0) {
                let sums = slot.customers.entry(*who).or_default();
                sums.iter_mut().zip(&news).for_each(|(sum, new)| sum.add(new));
            }
        }
    }

    /// Whether packets are dropped and marked.
    pub fn enforces(&self) -> bool {
        self.enforces
    }

    /// The points, the oldest first.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter()
    }

    /// Customers in the time since the mode was last changed, ten minutes at most.
    pub fn window(&self) -> Window {
        let mut all: HashMap<Who, [Tally; 2]> = HashMap::new();
        for slot in &self.slots {
            for (who, news) in &slot.customers {
                let sums = all.entry(*who).or_default();
                sums.iter_mut().zip(news).for_each(|(sum, new)| sum.add(new));
            }
        }
        let (first, last) = (self.slots.front(), self.slots.back());
        let begun_ns = first.map_or(0, |slot| slot.begun_ns);
        let ended_ns = last.map_or(0, |slot| slot.ended_ns);
        let mut customers: Vec<_> = all.into_iter().collect();
        let bytes = |tallies: &[Tally; 2]| tallies[0].bytes + tallies[1].bytes;
        customers.sort_by_key(|(who, tallies)| (std::cmp::Reverse(bytes(tallies)), *who));
        Window { seconds: ended_ns.saturating_sub(begun_ns) as f64 / 1e9, customers }
    }
}

/// Looks again and again on a thread of its own.
///
/// # Errors
/// If there can be no thread.
pub fn keep(pins: Pins, history: Arc<Mutex<History>>) -> Result<(), Error> {
    let look = move || {
        let mut before: Option<Snapshot> = None;
        let mut pause = STEP;
        loop {
            thread::sleep(pause);
            let maps = Maps::open(&pins).ok().flatten();
            let ready = |maps: &Maps| maps.settings()[word::READY] == LAYOUT;
            let Some(maps) = maps.filter(ready) else { continue };
            let after = Snapshot::take(&maps, now_ns());
            let taken = Duration::from_nanos(now_ns().saturating_sub(after.now_ns()));
            pause = STEP.max(taken * MOST_SHARE);
            if let (Some(before), Ok(mut history)) = (&before, history.lock()) {
                history.add(&maps, before, &after);
            }
            before = Some(after);
        }
    };
    let started = thread::Builder::new().name("history".to_owned()).spawn(look);
    started.map(|_| ()).map_err(|error| Error::of("the thread of the page", &error))
}
