//! ConEx sender: re-insertion of the congestion experienced (RFC 7713). M. Kühlewind and R. Scheffenegger, RFC 7786
//! (TCP modifications for ConEx); and as simulated by A. Sanhaji et al., IARIA IJAT 8(3&4), 2015, section III.
//!
//! ```text
//!           RFC 7786: amounts are bytes of payload              Sanhaji: amounts are packets
//! LEG       += each retransmission                              += 1 for each, or for some (losses)
//!           −= those that turn out to be spurious         likewise
//! CEG       += delivered and marked, where each mark is reported    += 1 for each
//!           += delivered, where an ACK echoes congestion        += 1 for each round trip that echoes it
//! a packet  X; L if LEG > 0; E if CEG > 0; of each −= payload   X; L if LEG > 0, else E if CEG > 0; −= 1
//!           C while CSC is below what it is to cover (credit)   none
//! ```
//!
//! Gauges are signed: an excess declaration offsets later congestion. The modes of RFC 7786 follow from the connection:
//! SACK or, without it, an estimate of the losses of the first round trip (estimate); ECN feedback per mark, as a
//! latched echo, or none. Declarations on lost packets may be repeated (in_flight_declarations).
//!
//! Re-ECN counts bytes on the wire, and declares both in one codepoint (re_ecn).
//!
//! Packets with payload carry declarations, retransmissions included; SYNs and acknowledgements declare nothing.
//! Declarations take no bytes on the wire, as in the paper, where they are in the IPv4 header. RFC 7786 allows negative
//! gauges to be reset after a round trip; these keep them. Cheating is a separate step (cheat) between the congestion
//! experienced and the gauges.

mod cheat;
mod credit;
mod declared;
mod estimate;
mod in_flight_declarations;
mod losses;
mod re_ecn;
pub mod replay;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{
    CarrierPlan, CheatPlan, ConexPlan, CreditPlan, LossesPlan, PerSignal, Rfc7786, TcpPlan,
};

use super::ecn::EcnSender;
use super::feedback::AckSample;
use super::outstanding::Outstanding;
use crate::packet::flags;
use crate::tcp::Sizes;
use cheat::Cheat;
pub use cheat::CongestionGauges;
use credit::CreditState;
pub use declared::DeclarationTotals;
use estimate::Estimate;
use in_flight_declarations::InFlightDeclarations;
use losses::Losses;
use re_ecn::ReEcnSender;

/// Unit of amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Payload bytes.
    Payload,
    /// Bytes on the wire, of packets with this header length.
    Wire { header: u64 },
    /// Packets, regardless of size.
    Packets,
}

/// Segment about to be retransmitted.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    /// Segment number.
    pub segment: u64,
    /// Payload, bytes.
    pub bytes: u64,
    /// Whether ACKs report the loss, and not the timer.
    pub by_acks: bool,
    /// Current time.
    pub now: Time,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
}

/// Packet with payload that is being sent.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Segment number.
    pub segment: u64,
    /// Payload, bytes.
    pub bytes: u64,
    /// Whether it is a retransmission.
    pub again: bool,
    /// Segments in flight, including this one.
    pub in_flight: u32,
    /// Current time.
    pub now: Time,
}

/// State of a ConEx sender.
#[derive(Debug)]
pub struct ConexSender {
    unit: Unit,
    mss: u64,
    /// Congestion experienced and not declared: LEG (losses) and CEG (marks) of RFC 7786.
    gauges: CongestionGauges,
    cheat: Option<Cheat>,
    credit: Option<CreditState>,
    carrier: CarrierPlan,
    losses: Losses,
    /// Segment below which ECE belongs to a mark already counted.
    echo_end: u64,
    in_flight_declarations: InFlightDeclarations,
    /// Loss estimate of RFC 7786, without SACK.
    estimate: Option<Estimate>,
    re_ecn: Option<ReEcnSender>,
    /// Whether it declares exactly the congestion experienced.
    plain: bool,
    /// Declarations so far, including the flow's earlier connections.
    declared: DeclarationTotals,
}

/// Part of a plan common to all kinds of declarations.
struct Kind<'a> {
    unit: Unit,
    credit: CreditPlan,
    carrier: CarrierPlan,
    losses: LossesPlan,
    repeats_lost: bool,
    cheat: &'a CheatPlan,
}

impl ConexSender {
    /// Returns the state for a plan and these segment sizes; `None` if nothing is declared.
    pub fn new(plan: &TcpPlan, sizes: &Sizes, sack: bool) -> Option<Box<Self>> {
        let Kind { unit, credit, carrier, losses, repeats_lost, cheat } =
            Kind::of(&plan.conex, sizes)?;
        let re_ecn = match &plan.conex {
            ConexPlan::ReEcn(plan) => Some(ReEcnSender::new(plan)),
            _ => None,
        };
        let credit = CreditState::new(credit).filter(|_| !matches!(cheat, CheatPlan::Never(_)));
        let cheat = Cheat::new(cheat);
        Some(Box::new(ConexSender {
            unit,
            mss: sizes.mss(),
            gauges: CongestionGauges::default(),
            plain: cheat.is_none() && credit.is_none() && re_ecn.is_none(),
            cheat,
            credit,
            carrier,
            losses: Losses::new(losses),
            echo_end: 0,
            in_flight_declarations: InFlightDeclarations::new(repeats_lost),
            estimate: (!sack && unit == Unit::Payload).then(Estimate::default),
            re_ecn,
            declared: DeclarationTotals::default(),
        }))
    }

    /// Continues for an earlier connection of the flow: takes its declarations and its undeclared congestion.
    pub fn go_on(&mut self, declared: DeclarationTotals, left: CongestionGauges) {
        self.declared = declared;
        self.gauges += left;
    }

    /// Returns the declarations so far, including the flow's earlier connections.
    pub fn declared(&self) -> DeclarationTotals {
        self.declared
    }

    /// Returns the undeclared congestion that the flow's next connection takes over, when all data are acknowledged.
    pub fn undeclared(&self) -> CongestionGauges {
        let CongestionGauges { loss, mark } = self.gauges;
        match self.carrier {
            CarrierPlan::NewDataOrNext => CongestionGauges { loss: loss.max(0), mark: mark.max(0) },
            CarrierPlan::Any | CarrierPlan::NewData => CongestionGauges::default(),
        }
    }

    /// Returns the flags that it sets itself, without those that it adds.
    pub fn own_flags(&self) -> u32 {
        if self.re_ecn.is_some() { re_ecn::ECN_FIELD } else { 0 }
    }

    /// Returns the amount of `segments` segments with a total of `bytes` payload.
    fn amount(&self, segments: u32, bytes: u64) -> i64 {
        match self.unit {
            Unit::Payload => bytes as i64,
            Unit::Wire { header } => (bytes + u64::from(segments) * header) as i64,
            Unit::Packets => i64::from(segments),
        }
    }

    /// Returns the amount of full segments.
    fn full(&self, segments: u32) -> i64 {
        self.amount(segments, u64::from(segments) * self.mss)
    }

    /// Handles an ACK: the marks that it reports and, without SACK, the losses.
    #[inline(never)]
    pub fn on_ack(&mut self, ack: &AckSample, ecn: &EcnSender, out: &Outstanding, now: Time) {
        self.in_flight_declarations.on_ack(out.una());
        let (mark, segment) = (self.marked(ack, ecn, out), self.full(1));
        let loss = self.estimate.as_mut().map_or(0, |estimate| estimate.on_ack(ack, segment));
        self.meet(CongestionGauges { loss, mark }, now);
    }

    fn marked(&mut self, ack: &AckSample, ecn: &EcnSender, out: &Outstanding) -> i64 {
        if ecn.counts_marks() {
            return self.amount(ack.marked, ack.marked_bytes);
        }
        match self.unit {
            _ if !ack.congestion => 0,
            // Without SACK, the segments that duplicates account for have been delivered as well.
            Unit::Payload if self.estimate.is_some() => self.full(ack.departed),
            Unit::Payload => ack.delivered_bytes as i64,
            // An ECE with the ACK of later data than all that is outstanding reports another mark.
            Unit::Packets | Unit::Wire { .. } if out.una() >= self.echo_end => {
                self.echo_end = out.nxt() + 1;
                self.full(1)
            }
            Unit::Packets | Unit::Wire { .. } => 0,
        }
    }

    /// Adds congestion experienced; negative amounts cancel earlier ones.
    fn meet(&mut self, met: CongestionGauges, now: Time) {
        if met == CongestionGauges::default() {
            return;
        }
        let met = match &self.re_ecn {
            Some(re_ecn) => re_ecn.declarable(met),
            None => {
                self.spend_credit(met.loss + met.mark);
                met
            }
        };
        self.gauges += match &mut self.cheat {
            None => met,
            Some(cheat) => cheat.admits(met, now),
        };
    }

    fn spend_credit(&mut self, amount: i64) {
        let keeps = self.cheat.as_ref().is_some_and(Cheat::keeps_credit);
        if let Some(credit) = self.credit.as_mut().filter(|_| !keeps) {
            credit.spend(amount);
        }
    }

    /// Whether it leaves its connection to begin another, as a cheater that has used up its credit may.
    pub fn goes(&self) -> bool {
        let Some(cheat) = &self.cheat else { return false };
        cheat.goes(self.credit.as_ref().map_or(0, CreditState::level))
    }

    /// Handles a segment about to be retransmitted: it is lost, and so are the declarations on it.
    pub fn on_retransmit(&mut self, retransmission: &Retransmission, out: &Outstanding) {
        let Retransmission { segment, bytes, by_acks, now, srtt } = *retransmission;
        let (amount, full) = (self.amount(1, bytes), self.full(1));
        let in_flight = by_acks.then(|| self.full(out.count()));
        let news = match &mut self.estimate {
            Some(estimate) => estimate.on_retransmit(amount, full, in_flight),
            None if self.losses.declares(by_acks) => amount,
            None => 0,
        };
        self.meet(CongestionGauges { loss: news, mark: 0 }, now);
        if let (None, Some(credit), Some(srtt)) = (&self.re_ecn, &mut self.credit, srtt) {
            credit.note_loss(now, srtt);
        }
        let met = if self.estimate.is_some() { amount } else { news };
        let declared = self.in_flight_declarations.on_retransmit(segment, amount, met);
        self.gauges += counted(declared, amount);
        if declared & flags::CREDIT != 0 {
            self.spend_credit(amount);
        }
    }

    /// Cancels the losses of retransmissions before `una`, which were spurious.
    pub fn on_spurious_retransmits(&mut self, una: u64, now: Time) {
        for retransmission in self.in_flight_declarations.take_retransmissions_before(una) {
            self.meet(CongestionGauges { loss: -retransmission.met, mark: 0 }, now);
            self.gauges -= counted(retransmission.declared, retransmission.amount);
        }
    }

    /// Starts another recovery after a timeout.
    pub fn on_timeout(&mut self) {
        self.in_flight_declarations.forget_retransmissions();
        self.losses.begin();
    }

    /// Ends the recovery.
    pub fn on_recovered(&mut self) {
        self.in_flight_declarations.forget_retransmissions();
        self.losses.begin();
        if let Some(estimate) = &mut self.estimate {
            estimate.end();
        }
    }

    /// Whether a new packet with payload declares nothing, as most do.
    #[inline(always)]
    pub fn has_nothing_to_declare(&self) -> bool {
        self.plain && self.gauges.loss <= 0 && self.gauges.mark <= 0
    }

    /// Returns the declaration flags of a packet with payload that is sent now.
    pub fn declare(&mut self, departure: &Departure) -> u32 {
        let Departure { segment, bytes, again, in_flight, now } = *departure;
        let amount = self.amount(1, bytes);
        let in_flight_bytes = (u64::from(in_flight) * self.mss) as i64;
        let mut declared = 0;
        if let Some(cheat) = &mut self.cheat {
            cheat.sees(in_flight_bytes);
            self.gauges += cheat.due(now);
        }
        if !again || self.carrier == CarrierPlan::Any {
            declared = self.choose();
            self.gauges -= counted(declared, amount);
        }
        if self.re_ecn.as_mut().is_some_and(|re_ecn| re_ecn.was_idle(now)) {
            self.credit.iter_mut().for_each(CreditState::restart);
        }
        // Re-ECN has no codepoint for a declaration combined with credit.
        let may = self.re_ecn.is_none() || declared == 0;
        let asked =
            may && self.credit.as_mut().is_some_and(|own| own.give(bytes as i64, in_flight_bytes));
        let hoarded = may && self.cheat.as_mut().is_some_and(|cheat| cheat.hoards(bytes as i64));
        if asked || hoarded {
            declared |= flags::CREDIT;
        }
        self.in_flight_declarations.note(segment, declared);
        if declared != 0 {
            self.declared.note(declared, bytes);
        }
        match self.re_ecn {
            Some(_) => ReEcnSender::coded(declared),
            None => flags::CONEX | declared,
        }
    }

    /// Returns the flags that the gauges require; in the paper a packet stands for one signal.
    fn choose(&self) -> u32 {
        let loss = if self.gauges.loss > 0 { flags::LOSS } else { 0 };
        let mark = if self.gauges.mark > 0 { flags::MARK } else { 0 };
        match self.unit {
            Unit::Packets if loss != 0 => loss,
            _ => loss | mark,
        }
    }
}

impl<'a> Kind<'a> {
    fn of(plan: &'a ConexPlan, sizes: &Sizes) -> Option<Self> {
        Some(match plan {
            ConexPlan::Off => return None,
            ConexPlan::Rfc7786(Rfc7786 { credit, carrier, repeats_lost, cheat }) => Kind {
                unit: Unit::Payload,
                credit: *credit,
                carrier: *carrier,
                losses: LossesPlan::Each,
                repeats_lost: *repeats_lost,
                cheat,
            },
            ConexPlan::PerSignal(PerSignal { losses, carrier, repeats_lost, cheat }) => Kind {
                unit: Unit::Packets,
                credit: CreditPlan::Off,
                carrier: *carrier,
                losses: *losses,
                repeats_lost: *repeats_lost,
                cheat,
            },
            ConexPlan::ReEcn(plan) => Kind {
                unit: Unit::Wire { header: sizes.header.into() },
                credit: plan.credit,
                carrier: CarrierPlan::Any,
                losses: LossesPlan::Each,
                repeats_lost: !plan.losses,
                cheat: &plan.cheat,
            },
        })
    }
}

/// Returns the amount that flags count on each gauge.
fn counted(declared: u32, amount: i64) -> CongestionGauges {
    let of = |flag| if declared & flag != 0 { amount } else { 0 };
    CongestionGauges { loss: of(flags::LOSS), mark: of(flags::MARK) }
}
