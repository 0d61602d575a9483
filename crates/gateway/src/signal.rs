//! How congested the link is, from the queue of one of this box's own devices.
//!
//! No rate is configured: what the queue is served with is measured while it is not empty.
//!
//! ```text
//! r ← r + (1 − e^(−Δt/τ)) (Δbytes/Δt − r)     while packets wait;  τ = 100 ms
//! q = backlog/r                               0 for an empty queue
//! p from q by PI2 (tidegate_mechanisms::bottleneck::pi2)
//! ```
//!
//! While only observing, nothing answers to p, and PI2 would take it to 1. So p is then what the queue itself drops, as the
//! average of two seconds; where PI2 takes over it begins there.
//!
//! A target below the time of a few packets leaves a slow link idle, since no window is smaller than a packet. So the target is
//! at least the time of 3 full packets at the rate r, and up to twice as long where it is less than that of 6 (CAKE and CoDel
//! have such bounds, of 1.5 packets for each flow's own queue).
//!
//! A queue out of which nothing comes although packets wait is no congestion but a link that is down, or a qdisc that
//! counts elsewhere: it gives no probability.

use tidegate_mechanisms::bottleneck::pi2::Pi2;

use crate::settings::OwnQueueParams;

/// τ, in nanoseconds.
const RATE_MEMORY_NS: f64 = 1e8;
/// The same of the share that the queue drops.
const LOSS_MEMORY_NS: f64 = 2e9;
/// A queue that has not moved for so long is stalled.
const STALL_NS: u64 = 500_000_000;
/// Least backlog at the target, bytes: 3 full packets.
pub const LEAST_TARGET_BYTES: f64 = 3.0 * 1514.0;
/// Backlog up to which the target is raised to its double, bytes: 6 full packets.
const AMPLE_TARGET_BYTES: f64 = 6.0 * 1514.0;
/// No delay counts as longer, in seconds.
pub const MAX_DELAY_S: f64 = 2.0;
/// Updates that are further apart than this do not belong together.
const GAP_NS: u64 = 1_000_000_000;

/// What a device's queue says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Time, on the kernel's monotonic clock.
    pub now_ns: u64,
    /// Bytes that have left, since the queue was made.
    pub sent_bytes: u64,
    /// Packets that have left; 32 bits that wrap.
    pub sent_packets: u64,
    /// Packets that the queue has dropped; likewise.
    pub dropped_packets: u64,
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// Identity of the queue.
    pub handle: u32,
}

/// How a signal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// There is no signal by choice.
    #[default]
    Off,
    /// It gives a probability.
    Ok,
    /// Packets wait and none leaves.
    Stalled,
    /// The device has no queue.
    NoQueue,
    /// The device is not there, or down.
    NoDevice,
    /// No reflector answers.
    NoAnswer,
    /// It gives a probability, and may not see the queue of the customers.
    Blind,
}

impl State {
    const ALL: [State; 7] = [
        State::Off,
        State::Ok,
        State::Stalled,
        State::NoQueue,
        State::NoDevice,
        State::NoAnswer,
        State::Blind,
    ];

    /// From a word of the map.
    pub fn from_word(word: u64) -> State {
        State::ALL.get(word as usize).copied().unwrap_or_default()
    }

    /// For people.
    pub const fn text(self) -> &'static str {
        match self {
            State::Off => "no signal",
            State::Ok => "ok",
            State::Stalled => "packets wait and none leaves",
            State::NoQueue => "the device has no queue",
            State::NoDevice => "the device is not there",
            State::NoAnswer => "no reflector answers",
            State::Blind => {
                "the rate has a limit and the delay stays flat: a scheduler at the bottleneck may keep probes apart"
            }
        }
    }
}

/// What follows from a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// p; `None` if there is nothing to go by.
    pub probability: Option<f64>,
    /// q, in seconds.
    pub delay_s: f64,
    /// r, in bytes per second; 0 if it was never seen busy.
    pub rate: f64,
}

/// The queue, and PI2 on its delay.
#[derive(Clone, Debug)]
pub struct OwnQueue {
    controller: Pi2,
    target_s: f64,
    /// r.
    rate: f64,
    /// Share of packets that the queue drops.
    loss: f64,
    last: Option<Reading>,
    /// Time at which something left, or nothing waited.
    moved_ns: u64,
}

impl OwnQueue {
    /// Before the first reading.
    pub fn new(params: &OwnQueueParams) -> Self {
        let target_s = params.target.as_secs();
        OwnQueue {
            controller: params.controller(),
            target_s,
            rate: 0.0,
            loss: 0.0,
            last: None,
            moved_ns: 0,
        }
    }

    /// Continues with p′ of a control loop that has ended.
    pub fn resume(&mut self, base: f64) {
        self.controller.set_base(base);
    }

    /// p′.
    pub fn base(&self) -> f64 {
        self.controller.base()
    }

    /// Takes a reading. To be called once each interval of the controller. `acts` says whether p has consequences.
    pub fn on_reading(&mut self, now: Reading, acts: bool) -> Finding {
        let follows = |last: &Reading| {
            last.handle == now.handle
                && last.sent_bytes <= now.sent_bytes
                && now.now_ns > last.now_ns
                && now.now_ns - last.now_ns < GAP_NS
        };
        let last = self.last.replace(now).filter(follows);
        let Some(last) = last else {
            // Another queue, or the first reading.
            (self.rate, self.moved_ns) = (0.0, now.now_ns);
            return self.finding(Some(self.controller.probability()), 0.0);
        };
        let sent = now.sent_bytes - last.sent_bytes;
        if sent > 0 || now.backlog_bytes == 0 {
            self.moved_ns = now.now_ns;
        }
        if now.now_ns - self.moved_ns > STALL_NS {
            return self.finding(None, MAX_DELAY_S);
        }
        if last.backlog_bytes > 0 && now.backlog_bytes > 0 {
            self.learn_rate(sent as f64, (now.now_ns - last.now_ns) as f64);
        }
        let delay_s = match self.rate > 0.0 {
            true => (now.backlog_bytes as f64 / self.rate).min(MAX_DELAY_S),
            false => 0.0,
        };
        self.learn_loss(&last, &now);
        let p = if acts {
            self.controller.update_sparing(delay_s, self.target_s())
        } else {
            self.controller.follow(libm::sqrt(self.loss), delay_s);
            self.controller.probability()
        };
        self.finding(Some(p), delay_s)
    }

    /// What is aimed at, at the present rate.
    fn target_s(&self) -> f64 {
        if self.rate == 0.0 {
            return self.target_s;
        }
        let enough_s = (AMPLE_TARGET_BYTES / self.rate).min(2.0 * self.target_s);
        let least_s = (LEAST_TARGET_BYTES / self.rate).min(MAX_DELAY_S);
        self.target_s.max(enough_s).max(least_s)
    }

    fn learn_loss(&mut self, last: &Reading, now: &Reading) {
        let since = |now: u64, last: u64| f64::from((now as u32).wrapping_sub(last as u32));
        let dropped = since(now.dropped_packets, last.dropped_packets);
        let all = dropped + since(now.sent_packets, last.sent_packets);
        let share = if all > 0.0 { dropped / all } else { 0.0 };
        let elapsed_ns = (now.now_ns - last.now_ns) as f64;
        self.loss += (1.0 - libm::exp(-elapsed_ns / LOSS_MEMORY_NS)) * (share - self.loss);
    }

    fn learn_rate(&mut self, bytes: f64, elapsed_ns: f64) {
        let measured = bytes / elapsed_ns * 1e9;
        let weight =
            if self.rate == 0.0 { 1.0 } else { 1.0 - libm::exp(-elapsed_ns / RATE_MEMORY_NS) };
        self.rate += weight * (measured - self.rate);
    }

    fn finding(&self, probability: Option<f64>, delay_s: f64) -> Finding {
        Finding { probability, delay_s, rate: self.rate }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::{Span, Whole};

    use super::*;

    const STEP_NS: u64 = 16_000_000;

    fn queue() -> OwnQueue {
        let params = OwnQueueParams {
            target: Span::from_millis(15),
            max_rtt: Span::from_millis(100),
            coupling: Whole(2),
        };
        OwnQueue::new(&params)
    }

    /// A fluid queue that is filled and served at these rates, in bytes per second.
    struct Fluid {
        reading: Reading,
    }

    impl Fluid {
        fn new() -> Self {
            Fluid { reading: Reading { now_ns: 1, ..Reading::default() } }
        }
        fn drops(&mut self, dropped: u64, sent: u64) {
            self.reading.dropped_packets += dropped;
            self.reading.sent_packets += sent;
        }
        fn step(&mut self, arriving: f64, serving: f64) -> Reading {
            let arrived = (arriving * 0.016) as u64;
            let served = ((serving * 0.016) as u64).min(self.reading.backlog_bytes + arrived);
            self.reading.backlog_bytes = self.reading.backlog_bytes + arrived - served;
            self.reading.sent_bytes += served;
            self.reading.now_ns += STEP_NS;
            self.reading
        }
    }

    #[test]
    fn rate_and_delay_are_those_of_the_queue_also_after_an_unannounced_fall() {
        let (mut queue, mut fluid) = (queue(), Fluid::new());
        for _ in 0..60 {
            queue.on_reading(fluid.step(2.6e6, 2.5e6), true);
        }
        let finding = queue.on_reading(fluid.step(2.5e6, 2.5e6), true);
        assert!((finding.rate / 2.5e6 - 1.0).abs() < 0.01, "{finding:?}");
        let want = fluid.reading.backlog_bytes as f64 / 2.5e6;
        assert!((finding.delay_s / want - 1.0).abs() < 0.01, "{finding:?}, expected {want}");
        let before = finding.probability.expect("it moves");
        for _ in 0..60 {
            queue.on_reading(fluid.step(0.9e6, 0.83e6), true);
        }
        let finding = queue.on_reading(fluid.step(0.83e6, 0.83e6), true);
        assert!((finding.rate / 0.83e6 - 1.0).abs() < 0.01, "{finding:?}");
        assert!(finding.probability.expect("it moves") > before, "{finding:?}");
    }

    #[test]
    fn an_empty_queue_has_no_delay_and_takes_the_probability_to_zero() {
        let (mut queue, mut fluid) = (queue(), Fluid::new());
        for _ in 0..100 {
            queue.on_reading(fluid.step(3e6, 2.5e6), true);
        }
        assert!(queue.base() > 0.0);
        for _ in 0..1_000 {
            queue.on_reading(fluid.step(0.0, 2.5e6), true);
        }
        let finding = queue.on_reading(fluid.step(0.0, 2.5e6), true);
        assert_eq!((finding.probability, finding.delay_s), (Some(0.0), 0.0));
    }

    #[test]
    fn a_queue_that_does_not_move_gives_no_probability_and_one_that_moves_again_does() {
        let (mut queue, mut fluid) = (queue(), Fluid::new());
        queue.on_reading(fluid.step(3e6, 2.5e6), true);
        let stalled: Vec<_> =
            (0..60).map(|_| queue.on_reading(fluid.step(1e4, 0.0), true).probability).collect();
        assert!(stalled[20].is_some() && stalled[40..].iter().all(Option::is_none), "{stalled:?}");
        assert!(queue.on_reading(fluid.step(1e4, 2.5e6), true).probability.is_some());
    }

    /// Counters restart with another qdisc.
    #[test]
    fn another_queue_begins_anew() {
        let (mut queue, mut fluid) = (queue(), Fluid::new());
        for _ in 0..20 {
            queue.on_reading(fluid.step(3e6, 2.5e6), true);
        }
        let other = Reading { handle: 7, sent_bytes: 3, ..fluid.step(1e6, 1e6) };
        assert_eq!(queue.on_reading(other, true).rate, 0.0);
    }

    #[test]
    fn slow_links_have_a_target_of_six_packets_up_to_double_and_of_three_beyond() {
        let mut queue = queue();
        for (mbps, target_ms) in
            [(0.0, 15.0), (0.5, 72.7), (1.0, 36.3), (2.0, 30.0), (4.0, 18.2), (5.0, 15.0)]
        {
            queue.rate = mbps * 1e6 / 8.0;
            assert!(
                (queue.target_s() * 1e3 - target_ms).abs() < 0.05,
                "{mbps}: {}",
                queue.target_s()
            );
        }
    }

    #[test]
    fn while_observing_the_probability_is_the_share_that_the_queue_drops() {
        let (mut queue, mut fluid) = (queue(), Fluid::new());
        // A queue of 16 ms.
        let mut finding = queue.on_reading(fluid.step(5e6, 2.5e6), false);
        for _ in 0..1_000 {
            fluid.drops(2, 38);
            finding = queue.on_reading(fluid.step(2.5e6, 2.5e6), false);
        }
        let p = finding.probability.expect("it moves");
        assert!((p - 0.05).abs() < 1e-3, "{p}");
        // Where it acts from then on, it begins there.
        let next = queue.on_reading(fluid.step(2.5e6, 2.5e6), true).probability.expect("it moves");
        assert!((next - p).abs() < 0.02, "{next}");
    }
}
