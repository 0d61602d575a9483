//! CUBIC of Linux: RFC 9438 in whole segments and milliseconds, with a few rules of its own. S. Ha, I. Rhee and L. Xu,
//! "CUBIC: a new TCP-friendly high-speed TCP variant", SIGOPS Operating Systems Review 42(5), 2008; arithmetic as in
//! Linux 4.4 and later.
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
//! C = 410/1024, β = 717/1024; divisions round down. The interval is computed again when cwnd has changed or 1/32 s has
//! passed. Slow start counts all segments acknowledged, and ends at ssthresh or by a [`Detector`]. A timeout resets all
//! state. While nothing is in flight t stops (`cubictcp_cwnd_event`), because of a pause of the application or of one
//! ACK for everything.
//!
//! Differs from RFC 9438: the target is one *minimum* round trip ahead; the Reno-friendly window keeps its slope above
//! the window before the loss; after a slow start without loss the window grows by at least 5 % a round trip.

use super::slow_start::{Detector, SlowStartExit};
use super::whole_segments::WholeSegments;
use super::{Ack, MIN_SSTHRESH, Window};
use crate::units::{Span, Time};

/// Share of the window kept on congestion.
pub const BETA: f64 = 717.0 / 1024.0;
/// Aggressiveness, in segments per second³.
const C: f64 = 410.0 / 1024.0;
/// Resolution of K, 1/s.
const K_PER_SEC: u64 = 1024;
/// K for small differences between the window and that before the loss, which are the most frequent.
const SMALL_K: [u16; 64] = small_k();
const REFRESH: Span = Span::from_nanos(31_250_000);
/// Look-ahead for the time at which the curve changes.
const AHEAD: Span = Span::from_millis(200);
/// Maximum interval before the first loss: 5 % of the window per round trip.
const MAX_INTERVAL_BEFORE_LOSS: u32 = 20;
/// Minimum interval: growth of half a window per round trip.
const MIN_INTERVAL: u32 = 2;
/// Time after a reduction in which round-trip samples are ignored.
const QUIET: Span = Span::from_secs(1);

/// Rounds a non-negative number down.
#[inline]
fn whole(segments: f64) -> f64 {
    segments as i64 as f64
}

/// Returns the smallest k with 410/1024 (k/1024)³ > n, for each n.
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

/// Returns K for a window that is `lack` segments below that before the loss.
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
    /// Window before the last congestion, reduced for fast convergence; 0 if unknown.
    w_max: f64,
    /// Minimum round trip; [`Span::ZERO`] before the first sample.
    delay_min: Span,
    epoch: Option<Epoch>,
    pace: Pace,
}

/// Segments per step of the window. The number is computed by a division only when a step is due; checking whether it
/// is takes none.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Window for which it was computed.
    cwnd: f64,
    /// Time for which it was computed.
    at: Time,
    /// Difference of the window to its target.
    lack: f64,
    /// Upper limit of the interval.
    most: u32,
}

impl Pace {
    /// No pace known.
    const NONE: Pace = Pace { cwnd: 0.0, at: Time::ZERO, lack: 0.0, most: u32::MAX };

    /// Whether `counted` segments are enough for a step. Windows are integers, so that this agrees with
    /// [`Self::interval`].
    #[inline]
    fn is_reached_by(&self, counted: u32) -> bool {
        let by_aim = (f64::from(counted) + 1.0) * self.lack > self.cwnd;
        counted >= MIN_INTERVAL && (by_aim | (counted >= self.most))
    }

    /// Returns the segments per step.
    fn interval(&self) -> u32 {
        let to_aim = if self.lack > 0.0 { (self.cwnd / self.lack) as u32 } else { u32::MAX };
        to_aim.min(self.most).max(MIN_INTERVAL)
    }
}

/// Congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// K, seconds.
    k: f64,
    /// Window at the plateau of the curve.
    origin: f64,
    /// W_est.
    w_est: f64,
    /// Segments counted towards the next step of W_est.
    counted: u32,
    aim: Aim,
}

/// Last value of the curve, and the time for which it stays the same. It is a non-decreasing integer, since each
/// operation rounds monotonically: if it is equal at two times, it is equal between them.
#[derive(Clone, Copy, Debug)]
struct Aim {
    segments: f64,
    /// Start of this time within the stage, ns.
    from_ns: u64,
    /// Length of this time, ns.
    for_ns: u32,
}

impl Aim {
    /// No value known.
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

    /// Returns W_cubic, `t` seconds after the start.
    fn w_cubic(&self, t: f64) -> f64 {
        let off = (t - self.k).abs();
        let from_origin = whole(C * off * off * off);
        if t < self.k { self.origin - from_origin } else { self.origin + from_origin }
    }

    /// Returns W_cubic in whole segments, computed for two times at once, since it is mostly the same for long.
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

    /// Updates W_est by the segments acknowledged.
    fn follow_reno(&mut self, cwnd: f64) {
        let per_step = (cwnd as u32 * 15 / 8).max(1);
        // There is mostly no step, or one.
        while self.counted > per_step {
            self.counted -= per_step;
            self.w_est += 1.0;
        }
    }
}

impl LinuxCubic {
    /// Returns the controller of a new connection.
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

    /// Grows in slow start. Returns the segments left for congestion avoidance.
    fn slow_start(&mut self, window: &mut Window, ack: &Ack) -> u32 {
        // Delay is monitored even while the window is not filled; only growth stops.
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
            // The shorter of two intervals is that of the higher target.
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

    /// Returns ssthresh after congestion.
    pub fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        let cwnd = window.cwnd;
        let converges = cwnd < self.w_max;
        self.w_max = if converges { whole(cwnd * (1.0 + BETA) / 2.0) } else { cwnd };
        self.epoch = None;
        self.whole.reset();
        whole(BETA * cwnd).max(MIN_SSTHRESH)
    }

    /// Excludes the time since the last segment was sent.
    pub fn on_start(&mut self, silence: Span, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + silence).min(now);
        }
    }

    /// Resets all state.
    pub fn on_timeout(&mut self) {
        *self = LinuxCubic::new(self.exit.clone());
    }
}

#[cfg(test)]
#[path = "linux_cubic_tests.rs"]
mod tests;
