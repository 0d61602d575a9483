//! CUBIC 2.1, of Linux 2.6.22 and of ns-2.35's Agent/TCP/Linux: whole segments, milliseconds, and a count of ACKs. S.
//! Ha, I. Rhee and L. Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", SIGOPS Operating Systems Review 42(5),
//! 2008; `tcp_cubic.c` of that time.
//!
//! ```text
//! slow start   cwnd ← cwnd + 1             per ACK, up to one above ssthresh
//! target     = W_max ± ⌊C |t + d − K|³⌋    d = smallest round-trip time; K = ∛((W_max − cwnd)/C)
//! interval   = cwnd/(target − cwnd)        100 cwnd where target ≤ cwnd; 50 while no loss has been seen
//!              at least cwnd 0.1 s/(16 d)  beyond K: 16 segments in 0.1 s at most
//! W_est      ← W_est + 1                   per ⌊23/8 cwnd⌋ ACKs
//! interval   ≤ cwnd/(W_est − cwnd)         where W_est > cwnd               (Reno-friendly)
//! interval   ← 16 interval/a               a: sixteenths of a segment that an ACK stands for, at first 32
//! cwnd       ← cwnd + 1                    per interval + 1 ACKs
//!
//! congestion:  W_max ← cwnd, or ⌊cwnd (1 + β)/2⌋ if cwnd < W_max           (fast convergence)
//!              ssthresh ← max(⌊β cwnd⌋, 2)
//! ```
//!
//! C = 410/1024, β = 819/1024; divisions round down. Three properties make it more aggressive than its equations. A
//! window that was just reduced equals its threshold, and grows by a segment at once. The segments per ACK are
//! estimated by `a ← a + acknowledged − ⌊a/16⌋`, which settles at 31 if each segment is acknowledged, so that intervals
//! are half of the correct ones. And the interval is computed again when cwnd has changed or 1/32 s has passed, while
//! the count of ACKs continues. A timeout resets all state.
//!
//! Differs from the kernel: the cube root is exact; times are rounded down once, not separately at sending and arrival.

use super::{Ack, MIN_SSTHRESH, Window};
use crate::units::Time;

/// β, in 1/1024.
const BETA: u64 = 819;
/// Share of the window kept on congestion.
pub const KEPT: f64 = BETA as f64 / 1024.0;
/// C, in 1/1024 segments per second³.
const C: f64 = 410.0;
/// Factor of cwnd for the ACKs per step of W_est, in eighths: ⌊8/3 (1 + β)/(1 − β)⌋.
const EIGHTHS_PER_STEP: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// Validity of an interval, ms.
const REFRESH_MS: u64 = 1_000 / 32;
/// Maximum growth beyond K, segments per 0.1 s.
const MOST: u64 = 16;
/// Time after the start of an epoch in which round-trip samples are ignored, ms.
const QUIET_MS: u64 = 1_000;

/// State of CUBIC 2.1.
#[derive(Clone, Debug)]
pub struct Cubic21 {
    /// Window before the last congestion, reduced for fast convergence; 0 if unknown.
    w_max: u64,
    lost: bool,
    /// Minimum round trip, ms; 0 before the first sample.
    delay_min: u64,
    epoch: Option<Epoch>,
    /// Window and time (ms) for which the interval was computed.
    judged: (u64, u64),
    interval: u64,
    /// ACKs counted towards the next step of the window.
    counted: u64,
    /// Segments per ACK, in sixteenths.
    per_ack: u64,
}

/// Congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Start of the stage, ms.
    start: u64,
    /// K, in 1/1024 s.
    k: u64,
    /// Window at the plateau of the curve.
    origin: u64,
    /// W_est.
    w_est: u64,
    /// ACKs counted towards the next step of W_est.
    acks: u64,
}

impl Epoch {
    fn new(now: u64, cwnd: u64, w_max: u64) -> Self {
        let lack = w_max.saturating_sub(cwnd);
        let k = libm::cbrt(lack as f64 / (C / 1024.0)) * 1024.0;
        Epoch { start: now, k: k as u64, origin: w_max.max(cwnd), w_est: cwnd, acks: 0 }
    }

    /// Returns W_cubic at `t`, in 1/1024 s after the start.
    fn w_cubic(&self, t: u64) -> u64 {
        let off = t.abs_diff(self.k) as f64 / 1024.0;
        let from_origin = (C / 1024.0 * off * off * off) as u64;
        match t < self.k {
            true => self.origin.saturating_sub(from_origin),
            false => self.origin + from_origin,
        }
    }
}

impl Default for Cubic21 {
    fn default() -> Self {
        Cubic21 {
            w_max: 0,
            lost: false,
            delay_min: 0,
            epoch: None,
            judged: (0, 0),
            interval: 1,
            counted: 0,
            per_ack: 32,
        }
    }
}

impl Cubic21 {
    /// Lets the window grow.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let now = in_ms(ack.now);
        self.per_ack = (self.per_ack + u64::from(ack.acked)).saturating_sub(self.per_ack >> 4);
        let quiet = self.epoch.is_some_and(|epoch| now - epoch.start < QUIET_MS);
        if let Some(rtt) = ack.rtt.filter(|_| !quiet) {
            let ms = (rtt.as_nanos() / 1_000_000).max(1);
            self.delay_min = if self.delay_min == 0 { ms } else { self.delay_min.min(ms) };
        }
        if !ack.window_limited {
            return;
        }
        if window.cwnd <= window.ssthresh {
            window.cwnd += 1.0;
            return;
        }
        self.judge(window.cwnd as u64, now);
        if self.counted >= self.interval {
            window.cwnd += 1.0;
            self.counted = 0;
        } else {
            self.counted += 1;
        }
    }

    /// Computes the interval, if it is not known.
    fn judge(&mut self, cwnd: u64, now: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acks += 1;
        }
        let (of, at) = self.judged;
        if of == cwnd && now - at <= REFRESH_MS {
            return;
        }
        self.judged = (cwnd, now);
        let w_max = self.w_max;
        let epoch =
            self.epoch.get_or_insert_with(|| Epoch { acks: 1, ..Epoch::new(now, cwnd, w_max) });
        let t = ((now + self.delay_min - epoch.start) << 10) / 1_000;
        let target = epoch.w_cubic(t);
        let mut interval = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.delay_min > 0 && t >= epoch.k {
            interval = interval.max(cwnd * 100 / (MOST * self.delay_min));
        }
        if !self.lost {
            interval = 50;
        }
        // Windows may fall below one segment, and steps of zero would not terminate.
        let per_step = ((cwnd * EIGHTHS_PER_STEP) >> 3).max(1);
        while epoch.acks > per_step {
            epoch.acks -= per_step;
            epoch.w_est += 1;
        }
        if epoch.w_est > cwnd {
            interval = interval.min(cwnd / (epoch.w_est - cwnd));
        }
        self.interval = (16 * interval / self.per_ack.max(1)).max(1);
    }

    /// Returns ssthresh after congestion.
    pub fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        let cwnd = window.cwnd as u64;
        let converges = cwnd < self.w_max;
        self.w_max = if converges { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        self.lost = true;
        self.epoch = None;
        self.counted = 0;
        ((cwnd * BETA / 1024) as f64).max(MIN_SSTHRESH)
    }

    /// Resets all state.
    pub fn on_timeout(&mut self) {
        *self = Cubic21::default();
    }
}

fn in_ms(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_at;
    use super::*;
    use crate::units::Span;

    /// Returns a controller after congestion at `cwnd` segments, and its window.
    fn lowered_from(cwnd: f64) -> (Cubic21, Window) {
        let mut cubic = Cubic21::default();
        let mut window = Window { cwnd, ssthresh: f64::INFINITY };
        window.ssthresh = cubic.ssthresh_on_congestion(&window);
        window.cwnd = window.ssthresh;
        (cubic, window)
    }

    #[test]
    fn what_is_kept_is_rounded_down_and_at_least_two() {
        for (cwnd, kept) in [(2.0, 2.0), (3.0, 2.0), (4.0, 3.0), (5.0, 3.0), (10.0, 7.0)] {
            assert_eq!(lowered_from(cwnd).1.cwnd, kept, "of {cwnd}");
        }
        let (mut cubic, _) = lowered_from(10.0);
        cubic.ssthresh_on_congestion(&Window { cwnd: 8.0, ssthresh: 7.0 });
        assert_eq!(cubic.w_max, 7, "fast convergence: ⌊8 · 1843/2048⌋");
    }

    /// At the threshold it is still in slow start, so that the first ACK adds a segment, and the second none.
    #[test]
    fn a_window_that_was_lowered_grows_at_once_by_one() {
        let (mut cubic, mut window) = lowered_from(10.0);
        for want in [8.0, 8.0] {
            cubic.on_ack(&mut window, &ack_at(1));
            assert_eq!(window.cwnd, want);
        }
    }

    /// From 32 sixteenths down to 31, whose integer part is the one segment that each ACK acknowledges.
    #[test]
    fn an_ack_of_each_segment_counts_for_almost_two() {
        let (mut cubic, mut window) = lowered_from(10.0);
        for _ in 0..100 {
            cubic.on_ack(&mut window, &ack_at(1));
        }
        assert_eq!(cubic.per_ack, 31);
    }

    /// K after a loss at 1000 segments is ∛(201/C), 7.95 s, at which the window is 1000 again.
    #[test]
    fn the_window_comes_back_at_k() {
        let (mut cubic, mut window) = lowered_from(1000.0);
        assert_eq!(window.cwnd, 799.0);
        let rtt = Some(Span::from_millis(200));
        let mut now = Time::from_nanos(1_000_000_000);
        while now.as_nanos() < 8_950_000_000 {
            cubic.on_ack(&mut window, &Ack { now, rtt, ..ack_at(0) });
            now += Span::from_nanos((2e8 / window.cwnd) as u64);
        }
        assert!((window.cwnd - 1000.0).abs() <= 5.0, "{}", window.cwnd);
    }
}
