//! UDP at a constant bit rate.

use tidegate_mechanisms::units::{Bytes, NANOS_PER_SEC, Rate, Span, Time};
use tidegate_scenario::plan::{self, Blind, BlindConex, FlowPlan, Traffic};

use super::reported::Reported;
use super::{Application, Carrier, Datagram, End, System};
use crate::packet::flags;

/// Sender of full packets at equal intervals. If its receiver reports congestion, both ends are this application.
pub struct Cbr {
    rate: Rate,
    packet_size: Bytes,
    lasts: Option<Span>,
    started: Time,
    sent: u64,
    /// Flags of every packet.
    always: u32,
    /// Shares of packets that declare congestion, with their flags.
    declares: [(f64, u32); 3],
    /// Declarations of what its receiver reports.
    reported: Option<Box<Reported>>,
}

impl Application for Cbr {
    const NAME: &'static str = "cbr";

    fn of(flow: &FlowPlan) -> Option<Self> {
        let Traffic::Cbr(plan) = &*flow.traffic else { return None };
        let plan::Cbr { rate, ecn, lasts, .. } = *plan;
        let (takes_part, declares) = declared(&plan.conex);
        let always = takes_part | if ecn { flags::ECT } else { 0 };
        let (packet_size, started, sent) = (flow.packet_size, Time::ZERO, 0);
        let reported = match &plan.conex {
            BlindConex::Reported(plan) => Some(Reported::conex(plan)),
            BlindConex::ReEcn(plan) => Reported::re_ecn(plan),
            BlindConex::Off | BlindConex::Blind(_) => None,
        };
        let (always, reported) = match reported {
            Some(reported) => (if ecn { flags::ECT } else { 0 }, Some(Box::new(reported))),
            None => (always, None),
        };
        Some(Cbr { rate, packet_size, lasts, started, sent, always, declares, reported })
    }

    fn listens(&self) -> bool {
        self.reported.is_some()
    }

    fn on_datagram(&mut self, at: End, datagram: Datagram, system: &mut System) {
        if let (End::Receiver, Some(reported)) = (at, &mut self.reported) {
            let Datagram { number, marked } = datagram;
            reported.on_arrival(system.now(), number, marked, self.packet_size);
        }
    }

    fn start(&mut self, system: &mut System) {
        self.started = system.now();
        if let Some(reported) = &mut self.reported {
            reported.begin(self.started);
        }
        self.wake(system);
    }

    /// Sends a packet and schedules the next.
    fn wake(&mut self, system: &mut System) {
        if self.lasts.is_some_and(|lasts| system.now().since(self.started) >= lasts) {
            return;
        }
        let own = |&(share, flag): &(f64, u32)| if is_due(self.sent, share) { flag } else { 0 };
        let some: u32 = match &mut self.reported {
            Some(reported) => reported.declare(system.now(), self.sent, self.packet_size),
            None => self.declares.iter().map(own).sum(),
        };
        system.send_flagged(End::Sender, self.sent, self.packet_size, self.always | some);
        self.sent += 1;
        system.wake_at(self.started + offset(self.sent, self.packet_size, self.rate));
    }
}

/// Returns the flags of every packet of a ConEx-capable sender, and the share of packets for each declaration.
fn declared(conex: &BlindConex) -> (u32, [(f64, u32); 3]) {
    match conex {
        BlindConex::Off | BlindConex::Reported(_) => (0, [(0.0, 0); 3]),
        BlindConex::ReEcn(_) => (flags::ECT | flags::ECT_1 | flags::RE, [(0.0, 0); 3]),
        BlindConex::Blind(Blind { losses, marks, credit, ce }) => {
            let ce = if *ce { flags::ECT | flags::CE } else { 0 };
            let shares = [(losses, flags::LOSS), (marks, flags::MARK), (credit, flags::CREDIT)];
            (flags::CONEX | ce, shares.map(|(share, flag)| (share.0, flag)))
        }
    }
}

/// Whether packet number `sent` belongs to an evenly spaced share of all packets.
fn is_due(sent: u64, share: f64) -> bool {
    let so_far = |packets: u64| (packets as f64 * share).floor();
    so_far(sent + 1) > so_far(sent)
}

/// Returns the send time of packet number `sent` at a constant rate, since the start: a multiple of the exact interval,
/// so that rounding errors do not accumulate.
pub fn offset(sent: u64, packet_size: Bytes, rate: Rate) -> Span {
    let bits = u128::from(sent) * u128::from(packet_size.as_bits());
    Span::from_nanos((bits * u128::from(NANOS_PER_SEC) / u128::from(rate.as_bps())) as u64)
}
