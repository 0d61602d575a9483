//! CUBIC: the window grows by a cubic function of the time since the last congestion.
//! RFC 9438, section 4; names from there, windows in segments, times in seconds.
//!
//! ```text
//! W_cubic(t) = C (t − K)³ + W_max               K = ∛((W_max − cwnd_epoch)/C)
//! target     = clamp(W_cubic(t + RTT), cwnd, 1.5 cwnd)
//! W_est     ← W_est + α segments_acked/cwnd     α = 3 (1 − β)/(1 + β), 1 from cwnd_prior on
//! cwnd      ← W_est                             if W_cubic(t) < W_est   (Reno-friendly)
//! cwnd      ← cwnd + (target − cwnd)/cwnd       else, per segment acknowledged
//!
//! congestion:   W_max ← cwnd, or cwnd (1 + β)/2 if cwnd < W_max         (fast convergence)
//!               cwnd_prior ← cwnd,  ssthresh ← max(β cwnd, 2)
//! ```
//!
//! C = 0.4, β = 0.7 by default. The time t counts from the first ACK in congestion avoidance, and stops while the
//! sender does not fill its window (section 5.8). After a timeout, or when slow start has ended without loss, K = 0 and
//! W_max = cwnd at that first ACK (sections 4.8 and 4.10).
//!
//! Slow start counts up to two segments per ACK (RFC 3465), or follows a [`Detector`]
//! such as HyStart++ (RFC 9406) until the first congestion.
//!
//! Differs from the RFC: β is applied to cwnd, not to the data in flight, as in Linux; an ACK of several segments
//! counts as that many steps toward the target, as in Linux, but never exceeds it.

use super::cubic_2_1::{self, Cubic21};
use super::linux_cubic::LinuxCubic;
use super::reno::BYTE_COUNTING_LIMIT;
use super::slow_start::{Detector, SlowStartExit};
use super::{Ack, Control, MIN_SSTHRESH, Sender, Window};
use crate::mechanism::About;
use crate::parameters::ParameterError;
use crate::units::{Share, Span, Time};
use crate::{parameters, words};

/// Default share of the window kept on congestion.
pub const BETA: f64 = 0.7;
/// Aggressiveness, in segments per second³.
pub const C: f64 = 0.4;

/// Returns α of the Reno-friendly region: with it, Reno that keeps β has the same average window as Reno.
fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

words! {
    /// Computation of CUBIC's window.
    pub enum CubicGrowth {
        /// RFC 9438, in real numbers.
        Rfc9438 = "rfc9438",
        /// Linux, in whole segments and with additional rules.
        Linux = "linux",
        /// Linux 2.6.22 and ns-2.35: version 2.1, which keeps 819/1024.
        Linux2622 = "linux-2.6.22",
    }
}

parameters! {
    /// RFC 9438.
    pub struct CubicParams {
        /// Computation of the window: as in RFC 9438, in real numbers; as in Linux, in whole segments and with
        /// additional rules; or as in Linux 2.6.22 and ns-2.35: version 2.1.
        pub growth: CubicGrowth = { linux: "linux", classic: "rfc9438", linux_2_6_29: "rfc9438" },
        /// β: the share of the window that is kept on congestion, with growth rfc9438. Default: 0.7.
        pub beta: Option<Share>,
        /// Condition that ends slow start before a loss does.
        pub slow_start_exit: SlowStartExit =
            { linux: "linux-hystart", classic: "loss", linux_2_6_29: "loss" },
    }
    check beta_is_of_the_rfc;
}

fn beta_is_of_the_rfc(params: &CubicParams) -> Option<ParameterError> {
    let kept = params.beta?;
    let kept_by_linux = match params.growth {
        CubicGrowth::Rfc9438 => None,
        CubicGrowth::Linux => Some(717),
        CubicGrowth::Linux2622 => Some(819),
    };
    if let Some(share) = kept_by_linux {
        let message = format!("goes with growth \"rfc9438\"; Linux's keeps {share}/1024");
        return Some(("beta", message));
    }
    (kept.0 <= 0.0 || kept.0 >= 1.0).then(|| ("beta", "must lie between 0 and 1".to_owned()))
}

/// CUBIC, computed by one of the variants. Their state is larger than that of other controllers, which share the room.
#[derive(Clone, Debug)]
pub enum Cubic {
    /// In floating point.
    Rfc9438(Box<Rfc9438Cubic>),
    /// As in Linux.
    Linux(Box<LinuxCubic>),
    /// As in Linux 2.6.22.
    Linux2622(Box<Cubic21>),
}

impl Sender for Cubic {
    type Params = CubicParams;

    const ABOUT: About = About {
        name: "cubic",
        title: "CUBIC",
        source: "RFC 9438",
        usage: r#"tcp.congestion_control = { kind = "cubic", growth = "rfc9438" }"#,
        file: "sender/cubic.rs",
        text: crate::mechanism::source_text!("cubic.rs"),
    };
}

/// Dispatches to the variant.
macro_rules! either {
    ($self:expr, $own:ident => $what:expr) => {
        match $self {
            Cubic::Rfc9438($own) => $what,
            Cubic::Linux($own) => $what,
            Cubic::Linux2622($own) => $what,
        }
    };
}

impl Control for Cubic {
    fn new(params: CubicParams) -> Self {
        match params.growth {
            CubicGrowth::Rfc9438 => {
                let beta = params.beta.map_or(BETA, |share| share.0);
                Cubic::Rfc9438(Box::new(Rfc9438Cubic::new(beta, &params.slow_start_exit)))
            }
            CubicGrowth::Linux => Cubic::Linux(Box::new(LinuxCubic::new(params.slow_start_exit))),
            CubicGrowth::Linux2622 => Cubic::Linux2622(Box::default()),
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        either!(self, own => own.on_ack(window, ack));
    }

    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        either!(self, own => own.ssthresh_on_congestion(window))
    }

    fn on_timeout(&mut self) {
        either!(self, own => own.on_timeout());
    }

    fn on_recovery_exit(&mut self) {
        match self {
            Cubic::Rfc9438(own) => own.on_recovery_exit(),
            Cubic::Linux(_) | Cubic::Linux2622(_) => {}
        }
    }

    fn on_start(&mut self, silence: Span, now: Time) {
        match self {
            Cubic::Rfc9438(_) | Cubic::Linux2622(_) => {}
            Cubic::Linux(own) => own.on_start(silence, now),
        }
    }

    fn beta(&self) -> f64 {
        match self {
            Cubic::Rfc9438(own) => own.beta,
            Cubic::Linux(_) => super::linux_cubic::BETA,
            Cubic::Linux2622(_) => cubic_2_1::KEPT,
        }
    }
}

/// State of CUBIC in floating point.
#[derive(Clone, Debug)]
pub struct Rfc9438Cubic {
    /// Share of the window kept on congestion, β.
    beta: f64,
    /// Detector of the end of the first slow start.
    detector: Detector,
    /// Window before the last congestion, reduced for fast convergence; `None` if unknown: initially and after a
    /// timeout.
    w_max: Option<f64>,
    /// Window before the last congestion.
    cwnd_prior: f64,
    /// Present congestion avoidance stage.
    epoch: Option<Epoch>,
}

/// Congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time at which t is 0.
    start: Time,
    /// Time of its last ACK.
    last_ack: Time,
    /// K, seconds.
    k: f64,
    /// W_max of this stage.
    w_max: f64,
    /// W_est.
    w_est: f64,
}

impl Epoch {
    fn new(now: Time, cwnd: f64, w_max: Option<f64>) -> Self {
        let w_max = w_max.unwrap_or(cwnd).max(cwnd);
        let k = libm::cbrt((w_max - cwnd) / C);
        Epoch { start: now, last_ack: now, k, w_max, w_est: cwnd }
    }

    /// Returns W_cubic, `t` seconds after the start.
    fn w_cubic(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.w_max
    }
}

impl Rfc9438Cubic {
    /// Returns the controller of a new connection.
    pub fn new(beta: f64, exit: &SlowStartExit) -> Self {
        let detector = Detector::new(exit);
        Rfc9438Cubic { beta, detector, w_max: None, cwnd_prior: 0.0, epoch: None }
    }

    /// Lets the window grow.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if window.in_slow_start() {
            self.slow_start(window, ack);
        } else {
            self.avoid_congestion(window, ack);
        }
    }

    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        // Delay is monitored even while the window is not filled; only growth stops.
        let opinion = self.detector.on_ack(ack, window.cwnd);
        if ack.window_limited {
            let counted = f64::from(ack.acked.min(BYTE_COUNTING_LIMIT));
            window.cwnd += opinion.segments.unwrap_or(counted);
        }
        if opinion.exit {
            window.ssthresh = window.cwnd;
            self.detector = Detector::Off;
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, ack: &Ack) {
        let cwnd = window.cwnd;
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(ack.now, cwnd, w_max));
        let since_last = ack.now.since(epoch.last_ack);
        epoch.last_ack = ack.now;
        if !ack.window_limited {
            epoch.start += since_last;
            return;
        }
        let acked = f64::from(ack.acked);
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { alpha(self.beta) };
        epoch.w_est += alpha * acked / cwnd;

        let t = ack.now.since(epoch.start).as_secs();
        if epoch.w_cubic(t) < epoch.w_est {
            // Never downward: W_est starts at cwnd, but a step toward the target may exceed it.
            window.cwnd = cwnd.max(epoch.w_est);
        } else {
            let rtt = ack.srtt.unwrap_or(Span::ZERO).as_secs();
            let target = epoch.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd);
            window.cwnd += (target - cwnd) * (acked / cwnd).min(1.0);
        }
    }

    /// Returns ssthresh after congestion.
    pub fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        let cwnd = window.cwnd;
        let had_more = self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if had_more { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd });
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.detector = Detector::Off;
        (self.beta * cwnd).max(MIN_SSTHRESH)
    }

    /// Discards the window before the timeout.
    pub fn on_timeout(&mut self) {
        self.w_max = None;
        self.epoch = None;
        self.detector = Detector::Off;
    }

    /// Makes the next ACK start a new stage.
    pub fn on_recovery_exit(&mut self) {
        self.epoch = None;
    }
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
