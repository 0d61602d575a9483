//! PI2's controller: a base probability from the delay of a queue, in fixed steps.
//! K. De Schepper et al., "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016;
//! gains as RFC 9332, appendix A, derives them.
//!
//! ```text
//! α = 0.1 T/R²,   β = 0.3/R                 T step, R largest RTT
//! p′ ← clamp(p′ + α (q − q₀) + β (q − q_prev), 0, 1)     every T; q delay, q₀ target
//! p  = p′²                                  for senders whose window goes with 1/√p
//! ```

use crate::units::Span;

/// State and gains. The caller keeps the time.
#[derive(Clone, Debug)]
pub struct Pi2 {
    alpha_hz: f64,
    beta_hz: f64,
    /// p′.
    base: f64,
    /// q at the last update, in seconds.
    delay_s: f64,
}

impl Pi2 {
    /// A short queue is spared below this p.
    pub const SPARED_BELOW: f64 = 0.2;

    /// Before the first update.
    pub fn new(alpha_hz: f64, beta_hz: f64) -> Self {
        Pi2 { alpha_hz, beta_hz, base: 0.0, delay_s: 0.0 }
    }

    /// α, in Hz: gain of the distance to the target.
    pub fn alpha_hz(step: Span, max_rtt: Span) -> f64 {
        let rtt_s = max_rtt.as_secs();
        0.1 * step.as_secs() / (rtt_s * rtt_s)
    }

    /// β, in Hz: gain of the change since the last update.
    pub fn beta_hz(max_rtt: Span) -> f64 {
        0.3 / max_rtt.as_secs()
    }

    /// The controller's step, with q and q₀ in seconds.
    pub fn update(&mut self, delay_s: f64, target_s: f64) {
        let error_s = delay_s - target_s;
        let change = self.alpha_hz * error_s + self.beta_hz * (delay_s - self.delay_s);
        self.base = (self.base + change).clamp(0.0, 1.0);
        self.delay_s = delay_s;
    }

    /// The step of a gateway's controller. Returns the p of signals until the next one: 0 while both delays are below
    /// half the target and p is below 0.2 (RFC 8033, section 4.1). Else p, which takes a second to fall, would keep a
    /// link empty.
    pub fn update_sparing(&mut self, delay_s: f64, target_s: f64) -> f64 {
        let is_calm = delay_s.max(self.delay_s) < target_s / 2.0;
        self.update(delay_s, target_s);
        let p = self.probability();
        if is_calm && p < Self::SPARED_BELOW { 0.0 } else { p }
    }

    /// p′.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// Continues where another controller has ended.
    pub fn set_base(&mut self, base: f64) {
        self.base = base.clamp(0.0, 1.0);
    }

    /// Takes p′ from elsewhere for this step, at this delay.
    pub fn follow(&mut self, base: f64, delay_s: f64) {
        self.set_base(base);
        self.delay_s = delay_s;
    }

    /// p: probability of a signal for senders that answer as Reno does.
    pub fn probability(&self) -> f64 {
        self.base * self.base
    }

    /// Whether a further update of an empty queue changes nothing.
    pub fn is_at_rest(&self) -> bool {
        self.base == 0.0 && self.delay_s == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9332, appendix A.1: target 15 ms, largest round trip 100 ms, update every 16 ms as Linux has it.
    #[test]
    fn gains_are_those_of_linux() {
        let (step, rtt) = (Span::from_millis(16), Span::from_millis(100));
        assert!((Pi2::alpha_hz(step, rtt) - 0.16).abs() < 1e-12);
        assert!((Pi2::beta_hz(rtt) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_queue_that_has_emptied_is_spared_unless_p_is_large() {
        for (base, spared) in [(0.3, true), (0.6, false)] {
            let mut pi2 = Pi2::new(0.16, 3.0);
            pi2.set_base(base);
            assert!(pi2.update_sparing(0.02, 0.015) > 0.0, "more than half the target");
            assert!(pi2.update_sparing(0.0, 0.015) > 0.0, "it had more a step ago");
            let p = pi2.update_sparing(0.0, 0.015);
            assert_eq!(p == 0.0, spared);
            assert!(pi2.probability() > 0.0, "it goes on from there");
        }
    }

    #[test]
    fn a_queue_at_its_target_keeps_the_probability() {
        let mut pi2 = Pi2::new(0.16, 3.0);
        pi2.update(0.115, 0.015);
        let base = pi2.base();
        assert!((base - (0.16 * 0.1 + 3.0 * 0.115)).abs() < 1e-12, "{base}");
        pi2.update(0.015, 0.015);
        let settled = pi2.base();
        pi2.update(0.015, 0.015);
        assert_eq!(pi2.base(), settled);
        assert_eq!(pi2.probability(), settled * settled);
    }
}
