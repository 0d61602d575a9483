//! Activity meter: log2 of the factor by which a user exceeds its reference rate. M. Menth and N. Zeitler,
//! "Activity-Based Congestion Management", sections 3.2, 4.1 and 5.3.1; equation numbers from there.
//!
//! A token bucket of size B whose fill F rises with the reference rate R_r and may become negative. The deficit
//! determines the activity of the user; the higher the activity, the less a packet drains, so that F settles where
//! inflow and outflow are equal:
//!
//! ```text
//! F ← min(B, F + R_r (t_now − t_last))                          (1)
//! A = 0 where F ≥ 0, else −F/(R_r I)                            (2)
//! F ← F − L 2^(−A)                                              (3)
//! A_s = log₂(R_t/R_r)        at a constant rate R_t > R_r       (7)
//! A_g = ⌈A/g⌉ g              what the packet carries            (5.3.1)
//! ```
//!
//! The inertia I is the time in which the activity falls by 1 after the user stops. It should be at least the time that
//! R_r takes for one packet (8); otherwise the activity oscillates.
//!
//! Several meters that share a user's traffic give the same activity when each has its share of R_r
//! and B ("distributed meters", section 3.4).
//!
//! Not specified by the paper: the bucket starts full; it is drained by the exact activity even if the packet carries a
//! rounded one; L counts every byte on the wire.

use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, too_short};
use crate::power::exp2;
use crate::stage::{Capabilities, FastVerdict, PacketSummary, Passage, Passing, Stage};
use crate::units::{Bytes, Rate, Span, Step, Time, Whole};

parameters! {
    /// Writes into each packet log2 of the factor by which its user exceeds the reference rate.
    pub struct ActivityMeterParams {
        /// Reference rate R_r that the user is entitled to.
        pub reference_rate: Rate,
        /// Inertia I: time in which activity falls by 1.
        pub inertia: Span = "600 ms",
        /// Burst allowance B: bytes that pass at activity 0 after a pause.
        pub burst_allowance: Bytes = "0 B",
        /// Step g to whose multiples activity is rounded up. Default: exact.
        pub granularity: Option<Step>,
        /// Number of meters visited in rotation, each with its share of R_r and B.
        pub meters: Whole<1, 1000> = "1",
    }
    check ActivityMeterParams::errors;
}

impl ActivityMeterParams {
    fn errors(&self) -> Vec<ParameterError> {
        let mut errors = too_short(&[("inertia", self.inertia)]);
        if self.reference_rate.as_bps() < u64::from(self.meters.0) {
            errors.push(("reference_rate", "less than 1 b/s for each meter".to_owned()));
        }
        errors
    }
}

/// State of one meter. The reference rate and the inertia must not be zero.
#[derive(Clone, Debug)]
pub struct ActivityMeter {
    /// Burst allowance B, bytes.
    burst_allowance: f64,
    /// Granularity g.
    granularity: Option<f64>,
    /// Fill F, bytes.
    fill: f64,
    /// Time t_last of the last update.
    last: Time,
    /// Reference rate R_r, bytes per nanosecond.
    bytes_per_nano: f64,
    /// 1/(R_r I), activity per byte.
    activity_per_byte: f64,
}

impl Stage for ActivityMeter {
    type Params = ActivityMeterParams;

    const ABOUT: About = About {
        name: "activity-meter",
        title: "Activity meter",
        source: "Menth and Zeitler, Activity-Based Congestion Management, section 3.2",
        usage: r#"users.NAME.meter = { reference_rate = "0.05 Mb/s" }"#,
        file: "ingress/activity_meter.rs",
        text: crate::mechanism::source_text!("activity_meter.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities {
        order_only: true,
        writes_signal: true,
        has_fast_path: true,
        ..Capabilities::NONE
    };

    /// Returns a meter with a full bucket.
    fn new(params: ActivityMeterParams) -> Self {
        let bytes_per_sec = params.reference_rate.as_bytes_per_sec();
        ActivityMeter {
            burst_allowance: params.burst_allowance.as_f64(),
            granularity: params.granularity.map(|step| step.0),
            fill: params.burst_allowance.as_f64(),
            last: Time::ZERO,
            bytes_per_nano: bytes_per_sec * 1e-9,
            activity_per_byte: 1.0 / (bytes_per_sec * params.inertia.as_secs()),
        }
    }

    fn replicas(params: &ActivityMeterParams) -> Vec<ActivityMeterParams> {
        let meters = u64::from(params.meters.0);
        let one = ActivityMeterParams {
            reference_rate: Rate::from_bps(params.reference_rate.as_bps() / meters),
            burst_allowance: Bytes::new(params.burst_allowance.get() / meters),
            meters: Whole(1),
            ..params.clone()
        };
        vec![one; meters as usize]
    }

    #[inline]
    fn fast_path(&mut self, packet: &PacketSummary) -> FastVerdict {
        FastVerdict::Signal(self.on_packet(packet.now, packet.len))
    }

    #[inline]
    fn pass(&mut self, packet: &mut Passing, _draw: impl FnMut() -> f64) -> Passage {
        packet.signal = self.on_packet(packet.now, packet.len);
        Passage::On
    }
}

impl ActivityMeter {
    /// Meters a packet and returns the activity that it has to carry.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, len: Bytes) -> f32 {
        // Signed, since that conversion is one instruction, and times fit.
        let elapsed_ns = now.since(self.last).as_nanos() as i64 as f64;
        self.last = now;
        let filled = self.fill + self.bytes_per_nano * elapsed_ns;
        // One instruction, where `min` takes five because of NaN.
        self.fill = if filled < self.burst_allowance { filled } else { self.burst_allowance };
        if self.fill >= 0.0 {
            // A = 0, 2^(−A) = 1: no power needed.
            self.fill -= len.as_f64();
            return 0.0;
        }
        let activity = -self.fill * self.activity_per_byte;
        self.fill -= len.as_f64() * exp2(-activity);
        match self.granularity {
            None => activity as f32,
            Some(g) => (libm::ceil(activity / g) * g) as f32,
        }
    }
}

#[cfg(test)]
#[path = "activity_meter_tests.rs"]
mod tests;
