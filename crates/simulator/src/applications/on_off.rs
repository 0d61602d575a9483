//! On/off traffic: during on periods, a greedy sender over TCP or a constant rate over UDP.
//!
//! Over TCP, each on period has its own connection, which begins in slow start. At the end of the period the sender
//! writes nothing more; data that have left are delivered, possibly while the next connection is open.

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{self, FlowPlan, Traffic};

use super::{Application, Carrier, ConnectionId, End, System, cbr};

/// On/off sender.
pub struct OnOff {
    plan: plan::OnOff,
    packet_size: Bytes,
    /// Current phase.
    phase: Phase,
    /// Start of the phase.
    since: Time,
    /// End of the phase.
    until: Time,
    /// Datagrams sent so far.
    sent: u64,
    /// Datagrams sent before this phase.
    sent_before: u64,
}

enum Phase {
    Off,
    /// On, with the connection; `None` for UDP.
    On(Option<ConnectionId>),
}

impl Application for OnOff {
    const NAME: &'static str = "on-off";
    const OVERLAPS: bool = true;

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::OnOff(plan) = &*flow.traffic else { return None };
        Some(OnOff {
            plan: plan.clone(),
            packet_size: flow.packet_size,
            phase: Phase::Off,
            since: Time::ZERO,
            until: Time::ZERO,
            sent: 0,
            sent_before: 0,
        })
    }

    fn start(&mut self, system: &mut System) {
        self.go_on(system);
    }

    fn wake(&mut self, system: &mut System) {
        match self.phase {
            _ if system.now() < self.until => self.send(system),
            Phase::Off => self.go_on(system),
            Phase::On(connection) => self.go_off(connection, system),
        }
    }
}

impl OnOff {
    fn go_on(&mut self, system: &mut System) {
        self.begin(self.plan.on, system);
        self.sent_before = self.sent;
        if self.plan.rate.is_some() {
            self.phase = Phase::On(None);
            return self.send(system);
        }
        let connection = system.open(End::Sender);
        system.write_without_end(End::Sender, connection);
        self.phase = Phase::On(Some(connection));
        system.wake_at(self.until);
    }

    fn go_off(&mut self, connection: Option<ConnectionId>, system: &mut System) {
        self.begin(self.plan.off, system);
        self.phase = Phase::Off;
        if let Some(connection) = connection {
            system.stop(End::Sender, connection);
        }
        system.wake_at(self.until);
    }

    /// Starts a phase of this mean duration.
    fn begin(&mut self, mean: Span, system: &mut System) {
        let length = self.plan.distribution.time(mean, || system.random().unit());
        self.since = system.now();
        self.until = self.since + length.max(Span::from_nanos(1));
    }

    /// Sends a datagram and schedules the next.
    fn send(&mut self, system: &mut System) {
        let Some(rate) = self.plan.rate else { return };
        system.send_datagram(End::Sender, self.sent, self.packet_size, false);
        self.sent += 1;
        let next = self.since + cbr::offset(self.sent - self.sent_before, self.packet_size, rate);
        system.wake_at(next.min(self.until));
    }
}
