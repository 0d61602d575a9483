//! On and off in turn: over TCP as fast as that goes while it is on, or over UDP at a rate.
//!
//! Over TCP, each time that it goes on is a connection of its own, which begins in slow start. When it goes
//! off it hands over nothing more; what has left is delivered, if need be while the next connection is open.

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{self, Distribution, FlowPlan, Traffic};

use super::{Application, Carrier, ConnectionId, End, System, cbr};

/// On and off in turn.
pub struct OnOff {
    plan: plan::OnOff,
    packet_size: Bytes,
    /// What it does now.
    phase: Phase,
    /// Since when, and until when.
    since: Time,
    until: Time,
    /// Datagrams so far, and before this phase.
    sent: u64,
    sent_before: u64,
}

enum Phase {
    Off,
    /// Over a connection, or none for UDP.
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

    /// A phase begins that takes so long on average.
    fn begin(&mut self, mean: Span, system: &mut System) {
        let length = match self.plan.distribution {
            Distribution::Fixed => mean,
            Distribution::Exponential => {
                Span::from_secs_f64(mean.as_secs() * system.random().exponential())
            }
        };
        self.since = system.now();
        self.until = self.since + length.max(Span::from_nanos(1));
    }

    /// Sends a datagram and plans the next.
    fn send(&mut self, system: &mut System) {
        let Some(rate) = self.plan.rate else { return };
        system.send_datagram(End::Sender, self.sent, self.packet_size, false);
        self.sent += 1;
        let next = self.since + cbr::offset(self.sent - self.sent_before, self.packet_size, rate);
        system.wake_at(next.min(self.until));
    }
}
