//! Linux's CUBIC: RFC 9438 in whole segments, milliseconds and with a few rules of its own.
//! S. Ha, I. Rhee and L. Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", SIGOPS Operating
//! Systems Review 42(5), 2008; arithmetic as in Linux 4.4 and later.
//!
//! ```text
//! target   = W_max ± ⌊C |t + d − K|³⌋     d = smallest round-trip time; K = ∛((W_max − cwnd)/C)
//! interval = cwnd/(target − cwnd)         100 cwnd where target ≤ cwnd
//!            at most 20                   while no loss has been seen
//! W_est    ← W_est + 1                    per ⌊15/8 cwnd⌋ segments acknowledged
//! interval ≤ cwnd/(W_est − cwnd)          where W_est > cwnd               (Reno-friendly)
//! cwnd     ← cwnd + 1                     per max(interval, 2) segments acknowledged
//!
//! congestion:  W_max ← cwnd, or ⌊cwnd (1 + β)/2⌋ if cwnd < W_max         (fast convergence)
//!              ssthresh ← max(⌊β cwnd⌋, 2)
//! ```
//!
//! C = 410/1024, β = 717/1024; divisions round down. The interval is worked out again when cwnd has
//! changed or 1/32 s has passed. Slow start counts all segments acknowledged, and ends at ssthresh
//! or by a [`Detector`]. A timeout forgets everything. While nothing is in flight t stands still
//! (`cubictcp_cwnd_event`), be it for a pause of the application or because one ACK acknowledges all.
//!
//! Differs from RFC 9438: the target is that of one *smallest* round trip ahead; the
//! Reno-friendly window keeps its slope above the window before the loss; after a slow start
//! without loss the window grows by at least 5 % a round trip.

use super::slow_start::{Detector, SlowStartExit};
use super::whole_segments::WholeSegments;
use super::{Ack, MIN_SSTHRESH, Window};
use crate::units::{Span, Time};

/// Share of the window kept on congestion.
pub const BETA: f64 = 717.0 / 1024.0;
/// Aggressiveness, in segments per second³.
const C: f64 = 410.0 / 1024.0;
/// K is a whole number of these, in 1/s.
const K_PER_SEC: u64 = 1024;
/// K for so many segments between the window and that before the loss, which are few mostly.
const SMALL_K: [u16; 64] = small_k();
const REFRESH: Span = Span::from_nanos(31_250_000);
/// So far ahead it is asked whether the curve stays where it is.
const AHEAD: Span = Span::from_millis(200);
/// Interval while no loss has been seen: 5 % of the window per round trip.
const MAX_INTERVAL_BEFORE_LOSS: u32 = 20;
/// Half a window per round trip.
const MIN_INTERVAL: u32 = 2;
/// Samples are no measure of the path for so long after the window was reduced.
const QUIET: Span = Span::from_secs(1);

/// What is not negative, rounded down.
#[inline]
fn whole(segments: f64) -> f64 {
    segments as i64 as f64
}

/// By the least that is too much: 410/1024 (k/1024)³ > n.
const fn small_k() -> [u16; 64] {
    let (mut all, mut n, mut k) = ([0; 64], 0, 0_u64);
    while n < all.len() {
        while 410 * (k + 1) * (k + 1) * (k + 1) <= (n as u64) << 40 {
            k += 1;
        }
        all[n] = k as u16;
        n += 1;
    }
    all
}

/// K, where the window lacks so much to that before the loss.
fn k_of(lack: f64) -> f64 {
    let few = lack as u32;
    let k = match SMALL_K.get(few as usize) {
        Some(k) if f64::from(few) == lack => f64::from(*k),
        _ => whole(libm::cbrt(lack / C) * K_PER_SEC as f64),
    };
    k / K_PER_SEC as f64
}

/// State of Linux's CUBIC.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    exit: SlowStartExit,
    detector: Detector,
    whole: WholeSegments,
    /// Window before the last congestion, scaled down for fast convergence; 0 where nothing is known.
    w_max: f64,
    /// Shortest round trip; [`Span::ZERO`] before the first sample.
    delay_min: Span,
    epoch: Option<Epoch>,
    pace: Pace,
}

/// Segments per step of the window. Only where they have been counted are they worked out, by a division; whether
/// they have takes none.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// The window and the time that it is of.
    cwnd: f64,
    at: Time,
    /// What the window lacks to its aim.
    lack: f64,
    /// No more than so many.
    most: u32,
}

impl Pace {
    /// None yet.
    const NONE: Pace = Pace { cwnd: 0.0, at: Time::ZERO, lack: 0.0, most: u32::MAX };

    /// Whether so many are enough for a step. Windows are whole numbers, so that this is what [`Self::interval`] tells.
    #[inline]
    fn is_reached_by(&self, counted: u32) -> bool {
        let by_aim = (f64::from(counted) + 1.0) * self.lack > self.cwnd;
        counted >= MIN_INTERVAL && (by_aim | (counted >= self.most))
    }

    /// Segments per step.
    fn interval(&self) -> u32 {
        let to_aim = if self.lack > 0.0 { (self.cwnd / self.lack) as u32 } else { u32::MAX };
        to_aim.min(self.most).max(MIN_INTERVAL)
    }
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// K, in seconds.
    k: f64,
    /// Where the curve is flat.
    origin: f64,
    /// W_est.
    w_est: f64,
    /// Segments counted towards the next step of W_est.
    counted: u32,
    aim: Aim,
}

/// Where the curve was last, and how long it stays there. It is a whole number that never falls, as each operation that it
/// is made of rounds the greater to the greater: if it is the same at two times, it is between them.
#[derive(Clone, Copy, Debug)]
struct Aim {
    segments: f64,
    /// From this time of the stage on, ns,
    from_ns: u64,
    /// and for so long, ns.
    for_ns: u32,
}

impl Aim {
    /// None yet.
    const NONE: Aim = Aim { segments: 0.0, from_ns: u64::MAX, for_ns: 0 };

    #[inline]
    fn is_of(&self, t: Span) -> bool {
        t.as_nanos().wrapping_sub(self.from_ns) <= u64::from(self.for_ns)
    }
}

impl Epoch {
    fn new(now: Time, cwnd: f64, w_max: f64) -> Self {
        let (k, origin) = if w_max <= cwnd { (0.0, cwnd) } else { (k_of(w_max - cwnd), w_max) };
        Epoch { start: now, k, origin, w_est: cwnd, counted: 0, aim: Aim::NONE }
    }

    /// W_cubic, `t` seconds after the start.
    fn w_cubic(&self, t: f64) -> f64 {
        let off = (t - self.k).abs();
        let from_origin = whole(C * off * off * off);
        if t < self.k { self.origin - from_origin } else { self.origin + from_origin }
    }

    /// The same in whole segments, which are worked out for two times at once: mostly they are the same for long.
    #[inline]
    fn aim(&mut self, t: Span) -> f64 {
        if !self.aim.is_of(t) {
            self.look_ahead(t);
        }
        self.aim.segments
    }

    #[inline(never)]
    fn look_ahead(&mut self, t: Span) {
        let (segments, later) = (self.w_cubic(t.as_secs()), self.w_cubic((t + AHEAD).as_secs()));
        let for_ns = if later == segments { AHEAD.as_nanos() as u32 } else { 0 };
        self.aim = Aim { segments, from_ns: t.as_nanos(), for_ns };
    }

    /// Lets W_est follow the segments acknowledged.
    fn follow_reno(&mut self, cwnd: f64) {
        let per_step = (cwnd as u32 * 15 / 8).max(1);
        // Mostly there is none, or one.
        while self.counted > per_step {
            self.counted -= per_step;
            self.w_est += 1.0;
        }
    }
}

impl LinuxCubic {
    /// A controller of a new connection.
    pub fn new(exit: SlowStartExit) -> Self {
        LinuxCubic {
            detector: Detector::new(&exit),
            exit,
            whole: WholeSegments::default(),
            w_max: 0.0,
            delay_min: Span::ZERO,
            epoch: None,
            pace: Pace::NONE,
        }
    }

    /// Lets the window grow.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let quiet = self.epoch.is_some_and(|epoch| ack.now.since(epoch.start) < QUIET);
        if let Some(rtt) = ack.rtt.filter(|_| !quiet) {
            let first = self.delay_min == Span::ZERO;
            self.delay_min = if first { rtt } else { self.delay_min.min(rtt) };
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = self.slow_start(window, ack);
        }
        if ack.window_limited && acked > 0 && !window.in_slow_start() {
            self.avoid_congestion(window, ack.now, acked);
        }
    }

    /// Returns the segments that are left for congestion avoidance.
    fn slow_start(&mut self, window: &mut Window, ack: &Ack) -> u32 {
        // Delay is watched also while the window is not filled; only growth stops.
        let opinion = self.detector.on_ack(ack, window.cwnd);
        if opinion.exit {
            window.ssthresh = window.cwnd;
            self.detector = Detector::Off;
        }
        match opinion.segments {
            _ if !ack.window_limited => 0,
            None => WholeSegments::slow_start(window, ack.acked),
            Some(segments) => {
                window.cwnd += segments;
                0
            }
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, now: Time, acked: u32) {
        let cwnd = window.cwnd;
        let w_max = self.w_max;
        let fresh = self.epoch.is_none();
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, cwnd, w_max));
        epoch.counted += acked;
        let known = cwnd == self.pace.cwnd && now.since(self.pace.at) <= REFRESH;
        if fresh || !known {
            let target = epoch.aim(now.since(epoch.start) + self.delay_min);
            epoch.follow_reno(cwnd);
            // The shorter of two intervals is that of the further aim.
            let lack = target.max(epoch.w_est) - cwnd;
            let mut most = if w_max == 0.0 { MAX_INTERVAL_BEFORE_LOSS } else { u32::MAX };
            if target <= cwnd {
                most = most.min(100 * cwnd as u32);
            }
            self.pace = Pace { cwnd, at: now, lack, most };
        }
        let pace = self.pace;
        self.whole.grow_at(
            window,
            acked,
            |counted| pace.is_reached_by(counted),
            || pace.interval(),
        );
    }

    /// ssthresh after congestion.
    pub fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        let cwnd = window.cwnd;
        let converges = cwnd < self.w_max;
        self.w_max = if converges { whole(cwnd * (1.0 + BETA) / 2.0) } else { cwnd };
        self.epoch = None;
        self.whole.reset();
        whole(BETA * cwnd).max(MIN_SSTHRESH)
    }

    /// The clock has stood still since the last segment left.
    pub fn on_start(&mut self, silence: Span, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + silence).min(now);
        }
    }

    /// Forgets everything.
    pub fn on_timeout(&mut self) {
        *self = LinuxCubic::new(self.exit.clone());
    }
}

#[cfg(test)]
#[path = "linux_cubic_tests.rs"]
mod tests;
