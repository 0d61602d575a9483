//! How congested a bottleneck of a known rate is: the backlog of a queue that is only counted, and that is served at a share of
//! the rate.
//!
//! ```text
//! b ← max(0, b + Δbytes − s r Δt)      Δbytes have passed; s share, r rate
//! q = b/(s r)                          p from q by PI2
//! ```
//!
//! Blind spot: a bottleneck that is slower than said has a queue that this one does not see.

use tidegate_mechanisms::bottleneck::pi2::Pi2;

use crate::settings::RateParams;
use crate::signal::{Finding, LEAST_TARGET_BYTES, MAX_DELAY_S};

/// The queue, and PI2 on its delay.
#[derive(Clone, Debug)]
pub struct VirtualQueue {
    controller: Pi2,
    target_s: f64,
    /// s r, in bytes per second.
    rate: f64,
    /// b.
    backlog: f64,
    last: Option<(u64, u64)>,
}

impl VirtualQueue {
    /// An empty queue.
    pub fn new(params: &RateParams) -> Self {
        let rate = params.rate.as_bps() as f64 / 8.0 * params.share.0;
        VirtualQueue {
            controller: params.controller(),
            target_s: params.target.as_secs().max(LEAST_TARGET_BYTES / rate),
            rate,
            backlog: 0.0,
            last: None,
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

    /// b.
    pub fn backlog_bytes(&self) -> u64 {
        self.backlog as u64
    }

    /// The step of the controller; `passed_bytes` counts what has passed. While only observing nothing answers to p, which
    /// stays at 0: a queue that is only counted drops nothing.
    pub fn update(&mut self, now_ns: u64, passed_bytes: u64, acts: bool) -> Finding {
        if let Some((then_ns, before)) = self.last.replace((now_ns, passed_bytes)) {
            let came = passed_bytes.saturating_sub(before) as f64;
            let served = now_ns.saturating_sub(then_ns) as f64 / 1e9 * self.rate;
            // More than the longest delay is not remembered.
            self.backlog = (self.backlog + came - served).clamp(0.0, MAX_DELAY_S * self.rate);
        }
        let delay_s = self.backlog / self.rate;
        let p = if acts {
            self.controller.update_sparing(delay_s, self.target_s)
        } else {
            self.controller.follow(0.0, delay_s);
            0.0
        };
        Finding { probability: Some(p), delay_s, rate: self.rate }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::{Rate, Share, Span, Whole};

    use super::*;

    #[test]
    fn what_passes_above_the_share_of_the_rate_waits() {
        let mut queue = VirtualQueue::new(&RateParams {
            rate: Rate::from_bps(10_000_000),
            share: Share(0.8),
            target: Span::from_millis(15),
            max_rtt: Span::from_millis(100),
            coupling: Whole(2),
        });
        let (mut now, mut passed) = (1 << 40, 0);
        let mut step = |bytes: u64, acts: bool| {
            now += 16_000_000;
            passed += bytes;
            queue.update(now, passed, acts)
        };
        // 16 ms at 8 Mb/s are 16 kB.
        step(0, true);
        for _ in 0..100 {
            assert_eq!(step(16_000, true).delay_s, 0.0);
        }
        for _ in 0..10 {
            step(17_000, true);
        }
        let finding = step(16_000, true);
        assert!((finding.delay_s - 0.01).abs() < 1e-9, "{finding:?}");
        for _ in 0..100 {
            step(17_000, true);
        }
        assert!(step(16_000, true).probability > Some(0.0));
        assert_eq!(step(16_000, false).probability, Some(0.0));
        assert_eq!(queue.base(), 0.0);
    }
}
