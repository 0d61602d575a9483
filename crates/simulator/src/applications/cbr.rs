//! UDP at a constant bit rate.

use tidegate_mechanisms::units::{Bytes, NANOS_PER_SEC, Rate, Span, Time};
use tidegate_scenario::plan::{self, FlowPlan, Traffic};

use super::{Application, End, System};

/// Full packets, equally far apart.
pub struct Cbr {
    rate: Rate,
    packet_size: Bytes,
    started: Time,
    sent: u64,
}

impl Application for Cbr {
    const NAME: &'static str = "cbr";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Cbr(plan::Cbr { rate }) = *flow.traffic else { return None };
        let packet_size = flow.packet_size;
        Some(Cbr { rate, packet_size, started: Time::ZERO, sent: 0 })
    }

    fn start(&mut self, system: &mut System) {
        self.started = system.now();
        self.wake(system);
    }

    /// Sends a packet and plans the next.
    fn wake(&mut self, system: &mut System) {
        system.send_datagram(End::Sender, self.sent, self.packet_size, false);
        self.sent += 1;
        system.wake_at(self.started + offset(self.sent, self.packet_size, self.rate));
    }
}

/// When a packet leaves at a constant rate, after `sent` have: a multiple of the exact interval, so that
/// rounding never adds up.
pub fn offset(sent: u64, packet_size: Bytes, rate: Rate) -> Span {
    let bits = u128::from(sent) * u128::from(packet_size.as_bits());
    Span::from_nanos((bits * u128::from(NANOS_PER_SEC) / u128::from(rate.as_bps())) as u64)
}
