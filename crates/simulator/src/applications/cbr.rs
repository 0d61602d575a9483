//! UDP at a constant bit rate.

use tidegate_mechanisms::units::{Bytes, NANOS_PER_SEC, Span, Time};
use tidegate_scenario::plan::{self, FlowPlan, Traffic};

use super::{Application, System};

/// Full packets, equally far apart.
pub struct Cbr {
    bits_per_s: u64,
    packet_size: Bytes,
    started: Time,
    sent: u64,
}

impl Application for Cbr {
    const NAME: &'static str = "cbr";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Cbr(plan::Cbr { rate }) = flow.traffic else { return None };
        let packet_size = flow.packet_size;
        Some(Cbr { bits_per_s: rate.as_bps(), packet_size, started: Time::ZERO, sent: 0 })
    }

    fn start(&mut self, system: &mut System) {
        self.started = system.now();
        self.wake(system);
    }

    /// Sends a packet and plans the next. The times are multiples of the exact interval, so that
    /// rounding never adds up.
    fn wake(&mut self, system: &mut System) {
        system.send_datagram(self.sent, self.packet_size);
        self.sent += 1;
        let bits = u128::from(self.sent) * u128::from(self.packet_size.as_bits());
        let offset_ns = bits * u128::from(NANOS_PER_SEC) / u128::from(self.bits_per_s);
        system.wake_at(self.started + Span::from_nanos(offset_ns as u64));
    }
}
