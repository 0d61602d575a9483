//! How congested a bottleneck beyond this box is, from the delay of probes that pass it.
//!
//! ```text
//! q_i = RTT_i − base_i        reflector i: base_i is the least round trip of the last ten minutes
//! q   = min over i of q_i     what all paths share is the bottleneck near this box
//! p from q by PI2
//! ```
//!
//! A probe that is lost counts as the longest delay that its reflector has shown in the last ten seconds: a full queue loses
//! probes, too. PI2 squares what it controls, so that its gain falls with p as PIE's table has it (RFC 8033, section 4.2).
//!
//! While only observing, nothing answers to p. It is then the share of probes that is lost, as the average of two seconds.
//!
//! As for the box's own queue, the target is at least the time of 3 full packets; the rate for it is that of what passes.
//!
//! Blind spots: round trips add up both directions. A scheduler that isolates flows keeps probes out of the queue of the
//! others: while customers fill a link that they do not share, the delay stays flat. The signal then says that it may be
//! blind.

use tidegate_mechanisms::bottleneck::pi2::Pi2;

use crate::settings::DelayParams;
use crate::signal::{Finding, LEAST_TARGET_BYTES, MAX_DELAY_S};

/// Slots of the windows, and their lengths.
const BASE_SLOTS: usize = 10;
const BASE_SLOT_NS: u64 = 60_000_000_000;
const LONGEST_SLOTS: usize = 2;
const LONGEST_SLOT_NS: u64 = 5_000_000_000;
/// A reflector that has not answered for so long does not count.
const SILENT_NS: u64 = 3_000_000_000;
/// Memory of the share of lost probes, and of the rate of what passes.
const LOSS_MEMORY_NS: f64 = 2e9;
const RATE_MEMORY_NS: f64 = 1e9;
/// Time over which a plateau is looked for, in samples and between them.
const PLATEAU_SAMPLES: usize = 20;
const PLATEAU_STEP_NS: u64 = 1_000_000_000;
/// The rate of a plateau varies by less than this share.
const PLATEAU_SPREAD: f64 = 0.03;

/// A value over a window that slides in slots.
#[derive(Clone, Debug)]
struct Window<const SLOTS: usize> {
    slots: [Option<f64>; SLOTS],
    slot_ns: u64,
    begun_ns: u64,
    better: fn(f64, f64) -> f64,
}

impl<const SLOTS: usize> Window<SLOTS> {
    fn new(slot_ns: u64, better: fn(f64, f64) -> f64) -> Self {
        Window { slots: [None; SLOTS], slot_ns, begun_ns: 0, better }
    }

    fn add(&mut self, now_ns: u64, value: f64) {
        if now_ns.saturating_sub(self.begun_ns) >= self.slot_ns {
            self.slots.rotate_right(1);
            (self.slots[0], self.begun_ns) = (None, now_ns);
        }
        let now = self.slots[0].map_or(value, |before| (self.better)(before, value));
        self.slots[0] = Some(now);
    }

    fn value(&self) -> Option<f64> {
        self.slots.iter().flatten().copied().reduce(self.better)
    }
}

#[derive(Clone, Debug)]
struct Reflector {
    base: Window<BASE_SLOTS>,
    longest: Window<LONGEST_SLOTS>,
    /// q_i of the last probe.
    delay_s: f64,
    answered_ns: Option<u64>,
}

/// The reflectors, and PI2 on their delay.
#[derive(Clone, Debug)]
pub struct Delay {
    controller: Pi2,
    target_s: f64,
    reflectors: Vec<Reflector>,
    loss: f64,
    outcomes: [u32; 2],
    rate: f64,
    last: Option<(u64, u64)>,
    plateau: Plateau,
}

impl Delay {
    /// Before the first probe, with this number of reflectors.
    pub fn new(params: &DelayParams, reflectors: usize) -> Self {
        let reflector = Reflector {
            base: Window::new(BASE_SLOT_NS, f64::min),
            longest: Window::new(LONGEST_SLOT_NS, f64::max),
            delay_s: 0.0,
            answered_ns: None,
        };
        Delay {
            controller: params.controller(),
            target_s: params.target.as_secs(),
            reflectors: vec![reflector; reflectors],
            loss: 0.0,
            outcomes: [0; 2],
            rate: 0.0,
            last: None,
            plateau: Plateau::default(),
        }
    }

    /// Continues with p′ of a control loop that has ended.
    pub fn resume(&mut self, base: f64) {
        self.controller.set_base(base);
    }

    /// Continues with the least round trip of a reflector that was seen before.
    pub fn resume_path(&mut self, reflector: usize, rtt_s: f64, now_ns: u64) {
        self.reflectors[reflector].base.add(now_ns, rtt_s);
    }

    /// Least round trip of each reflector, in seconds.
    pub fn paths(&self) -> impl Iterator<Item = Option<f64>> {
        self.reflectors.iter().map(|one| one.base.value())
    }

    /// p′.
    pub fn base(&self) -> f64 {
        self.controller.base()
    }

    /// Whether customers may fill a link whose queue the probes do not see.
    pub fn is_blind(&self) -> bool {
        self.plateau.is_found
    }

    /// A probe of a reflector was answered.
    pub fn on_answer(&mut self, reflector: usize, sent_ns: u64, now_ns: u64) {
        let rtt_s = now_ns.saturating_sub(sent_ns) as f64 / 1e9;
        let one = &mut self.reflectors[reflector];
        one.base.add(now_ns, rtt_s);
        one.delay_s = (rtt_s - one.base.value().unwrap_or(rtt_s)).max(0.0);
        one.longest.add(now_ns, one.delay_s);
        one.answered_ns = Some(now_ns);
        self.outcomes[0] += 1;
    }

    /// A probe of a reflector was lost.
    pub fn on_loss(&mut self, reflector: usize) {
        let one = &mut self.reflectors[reflector];
        one.delay_s = one.longest.value().unwrap_or(one.delay_s);
        self.outcomes[1] += 1;
    }

    /// Time after which a probe of a reflector is lost, in nanoseconds.
    pub fn timeout_ns(&self, reflector: usize) -> u64 {
        let one = &self.reflectors[reflector];
        let usual_s = one.base.value().unwrap_or(0.0) + 2.0 * one.longest.value().unwrap_or(0.0);
        ((usual_s + 0.1).clamp(0.2, 1.0) * 1e9) as u64
    }

    /// The step of the controller. `passed_bytes` counts what has passed; `acts` says whether p has consequences.
    pub fn update(&mut self, now_ns: u64, passed_bytes: u64, acts: bool) -> Finding {
        self.learn_rate(now_ns, passed_bytes);
        let is_heard = |one: &&Reflector| {
            one.answered_ns.is_some_and(|then| now_ns.saturating_sub(then) < SILENT_NS)
        };
        let delays = self.reflectors.iter().filter(is_heard).map(|one| one.delay_s);
        let Some(delay_s) = delays.reduce(f64::min) else {
            return Finding { probability: None, delay_s: 0.0, rate: self.rate };
        };
        let delay_s = delay_s.min(MAX_DELAY_S);
        self.plateau.look(now_ns, self.rate, delay_s < self.target_s / 2.0);
        let p = if acts {
            let least_s = if self.rate > 0.0 { LEAST_TARGET_BYTES / self.rate } else { 0.0 };
            // A link that is not full passes less than its rate.
            let target_s = self.target_s.max(least_s.min(2.0 * self.target_s));
            self.controller.update_sparing(delay_s, target_s)
        } else {
            self.controller.follow(libm::sqrt(self.loss), delay_s);
            self.controller.probability()
        };
        Finding { probability: Some(p), delay_s, rate: self.rate }
    }

    fn learn_rate(&mut self, now_ns: u64, passed_bytes: u64) {
        let Some((then_ns, before)) = self.last.replace((now_ns, passed_bytes)) else { return };
        let elapsed_ns = now_ns.saturating_sub(then_ns).max(1) as f64;
        let measured = passed_bytes.saturating_sub(before) as f64 / elapsed_ns * 1e9;
        let weight = |memory_ns: f64| 1.0 - libm::exp(-elapsed_ns / memory_ns);
        self.rate += weight(RATE_MEMORY_NS) * (measured - self.rate);
        let [answered, lost] = std::mem::take(&mut self.outcomes).map(f64::from);
        if answered + lost > 0.0 {
            self.loss += weight(LOSS_MEMORY_NS) * (lost / (answered + lost) - self.loss);
        }
    }
}

/// Looks for a rate that stays where it is although the delay is flat: senders that adapt find a limit that no probe sees.
#[derive(Clone, Debug, Default)]
struct Plateau {
    rates: Vec<f64>,
    next_ns: u64,
    is_found: bool,
}

impl Plateau {
    fn look(&mut self, now_ns: u64, rate: f64, is_flat: bool) {
        if !is_flat {
            // What is seen is not hidden.
            self.rates.clear();
            self.is_found = false;
        }
        if now_ns < self.next_ns {
            return;
        }
        self.next_ns = now_ns + PLATEAU_STEP_NS;
        self.rates.push(rate);
        if self.rates.len() < PLATEAU_SAMPLES {
            return;
        }
        let (least, most) = self
            .rates
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
        self.is_found = most > 1e5 / 8.0 && (most - least) < PLATEAU_SPREAD * most;
        self.rates.remove(0);
    }
}

#[cfg(test)]
#[path = "delay_tests.rs"]
mod tests;
