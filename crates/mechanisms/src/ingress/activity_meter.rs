//! Activity meter: by how many doublings a user exceeds his reference rate.
//! M. Menth and N. Zeitler, "Activity-Based Congestion Management", sections 3.2, 4.1 and 5.3.1;
//! equation numbers from there.
//!
//! A token bucket of size B whose fill F rises with the reference rate R_r and may fall below zero.
//! How far below says how active the user is; and the more active, the less a packet takes out, so
//! that F settles where inflow and outflow are equal:
//!
//! ```text
//! F ← min(B, F + R_r (t_now − t_last))                          (1)
//! A = 0 where F ≥ 0, else −F/(R_r I)                            (2)
//! F ← F − L 2^(−A)                                              (3)
//! A_s = log₂(R_t/R_r)        at a constant rate R_t > R_r       (7)
//! A_g = ⌈A/g⌉ g              what the packet carries            (5.3.1)
//! ```
//!
//! The inertia I is the time in which the activity falls by 1 when the user falls silent. It should
//! be at least the time that R_r takes for one packet (8), else the activity oscillates.
//!
//! Several meters that share a user's traffic give the same activity when each has its share of R_r
//! and B ("distributed meters", section 3.4).
//!
//! Where the paper leaves it open: the bucket starts full; the bucket is drained by the exact
//! activity also when the packet carries a rounded one; L counts every byte on the wire.

use crate::power::exp2;
use crate::units::{Bytes, Rate, Span, Time};

/// Parameters of the activity meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivityMeterParams {
    /// Reference rate R_r.
    pub reference_rate: Rate,
    /// Inertia I.
    pub inertia: Span,
    /// Burst allowance B.
    pub burst_allowance: Bytes,
    /// Step g to which activity is rounded up; `None` keeps it exact.
    pub granularity: Option<f64>,
}

impl Default for ActivityMeterParams {
    /// The paper's Table 1.
    fn default() -> Self {
        ActivityMeterParams {
            reference_rate: Rate::from_bps(50_000),
            inertia: Span::from_millis(600),
            burst_allowance: Bytes::ZERO,
            granularity: None,
        }
    }
}

/// State of one meter. The reference rate and the inertia must not be zero.
#[derive(Clone, Debug)]
pub struct ActivityMeter {
    params: ActivityMeterParams,
    /// F, in bytes.
    fill: f64,
    /// t_last.
    last: Time,
    /// R_r, in bytes per nanosecond.
    bytes_per_nano: f64,
    /// 1/(R_r I), in activity per byte.
    activity_per_byte: f64,
}

impl ActivityMeter {
    /// A meter with a full bucket.
    pub fn new(params: ActivityMeterParams) -> Self {
        let bytes_per_sec = params.reference_rate.as_bytes_per_sec();
        ActivityMeter {
            params,
            fill: params.burst_allowance.as_f64(),
            last: Time::ZERO,
            bytes_per_nano: bytes_per_sec * 1e-9,
            activity_per_byte: 1.0 / (bytes_per_sec * params.inertia.as_secs()),
        }
    }

    /// Meters a packet and returns the activity that it is to carry.
    #[inline]
    pub fn on_packet(&mut self, now: Time, len: Bytes) -> f32 {
        let elapsed_ns = now.since(self.last).as_nanos() as f64;
        self.last = now;
        self.fill = (self.fill + self.bytes_per_nano * elapsed_ns)
            .min(self.params.burst_allowance.as_f64());
        if self.fill >= 0.0 {
            // A = 0, 2^(−A) = 1: no power to take.
            self.fill -= len.as_f64();
            return 0.0;
        }
        let activity = -self.fill * self.activity_per_byte;
        self.fill -= len.as_f64() * exp2(-activity);
        match self.params.granularity {
            None => activity as f32,
            Some(g) => (libm::ceil(activity / g) * g) as f32,
        }
    }
}

#[cfg(test)]
#[path = "activity_meter_tests.rs"]
mod tests;
