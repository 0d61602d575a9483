//! Packets of random sizes at random intervals over UDP, always or by turns with silence: kinds of traffic without
//! feedback.

use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{self, FlowPlan};

use super::{Application, Carrier, End, System};

/// Minimum size of a packet on the wire, bytes: headers of IPv4 and UDP.
const SMALLEST: u64 = 28;

/// Sender of a stream.
pub struct PacketStream {
    plan: plan::PacketStream,
    packet_size: Bytes,
    sent: u64,
    /// Time of the next packets.
    next: Time,
    /// End of this turn of sending; `None` if it has no turns.
    until: Option<Time>,
    /// End of the flow.
    ends: Option<Time>,
}

impl Application for PacketStream {
    const NAME: &'static str = "packet-stream";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let packet_size = flow.packet_size;
        let plan = flow.traffic.packet_stream(packet_size)?;
        let (sent, next, until, ends) = (0, Time::ZERO, None, None);
        Some(PacketStream { plan, packet_size, sent, next, until, ends })
    }

    fn start(&mut self, system: &mut System) {
        self.ends = self.plan.lasts.map(|lasts| system.now() + lasts);
        self.begin_turn(system);
        // The first packet of a process that varies comes after an interval: others of the group start elsewhere.
        if self.plan.intervals == plan::Variation::Fixed {
            self.next = system.now();
        } else {
            self.next = self.after(system.now(), system);
        }
        self.wait(system);
    }

    fn wake(&mut self, system: &mut System) {
        let now = system.now();
        if self.ends.is_some_and(|ends| now >= ends) {
            return;
        }
        if self.until.is_some_and(|until| now >= until) {
            self.be_silent(system);
            return;
        }
        if now >= self.next {
            self.send(system);
            self.next = self.after(self.next, system);
        }
        self.wait(system);
    }
}

impl PacketStream {
    /// Draws the end of a turn of sending.
    fn begin_turn(&mut self, system: &mut System) {
        let Some(turns) = &self.plan.turns else { return };
        let on = turns.on_times.time(turns.on, || system.random().unit());
        self.until = Some(system.now() + on.max(Span::from_nanos(1)));
    }

    /// Draws a time of silence, at whose end the next turn begins. Time between packets does not count in silence.
    fn be_silent(&mut self, system: &mut System) {
        let Some(turns) = &self.plan.turns else { return };
        let off = turns.off_times.time(turns.off, || system.random().unit());
        let off = off.max(Span::from_nanos(1));
        let on = turns.on_times.time(turns.on, || system.random().unit());
        let silent_since = self.until.unwrap_or(system.now());
        self.until = Some(silent_since + off + on.max(Span::from_nanos(1)));
        self.next += off;
        self.wait(system);
    }

    /// Draws the time of the packets that follow those at `last`.
    fn after(&self, last: Time, system: &mut System) -> Time {
        let plan::PacketStream { interval, intervals, .. } = &self.plan;
        last + intervals.time(*interval, || system.random().unit()).max(Span::from_nanos(1))
    }

    /// Asks to be woken for the next packets, or at the end of the turn.
    fn wait(&self, system: &mut System) {
        system.wake_at(self.until.map_or(self.next, |until| until.min(self.next)));
    }

    /// Sends as many packets as it takes.
    fn send(&mut self, system: &mut System) {
        let drawn = self.plan.sizes.draw(|| system.random().unit());
        let size = libm::round(self.plan.mean_bits / 8.0 * drawn) as u64;
        let full = self.packet_size.get();
        let mut left = size.max(SMALLEST);
        while left > 0 {
            let packet = Bytes::new(left.min(full).max(SMALLEST));
            system.send_datagram(End::Sender, self.sent, packet, self.plan.ecn);
            self.sent += 1;
            left = left.saturating_sub(full);
        }
    }
}
