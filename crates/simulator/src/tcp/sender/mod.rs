//! The sending end of a connection, in parts that each write their own state alone:
//!
//! ```text
//! ACK ─► feedback ──► detection ──► recovery ──► window ──► transmit ─► segments
//!        what it      what is       open, re-    how much   lost ones first,
//!        tells        lost          covering …   in flight  then the stream
//!            └─► outstanding: what was sent and is not acknowledged ◄┘
//! ```
//!
//! What a part has learned goes on as a value; where an event moves several of them, the order stands in
//! one place, [`ack`] or [`timeout`]. What a profile chooses is a variant of the part
//! that it concerns, made with the sender. Sequence machinery in the style of RFC 6675 and of Linux.

mod ack;
mod bursts;
mod conex;
mod delivery_rate;
mod detection;
mod ecn;
mod feedback;
mod frto;
mod handshake;
pub mod info;
pub mod kernel;
mod model;
mod outstanding;
mod pacer;
mod phase;
mod rack;
mod recovery;
mod rules;
mod samples;
mod spurious_rto;
mod state_changes;
pub mod stream;
mod timeout;
mod timer;
mod transmit;
mod undo;
mod window;

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::sender::PathEstimate;
use tidegate_mechanisms::units::{Demand, Time};
use tidegate_scenario::plan::TcpPlan;

use super::packed_option::PackedOption;
use super::{HostContext, Sizes};
use conex::ConexSender;
pub use conex::{CongestionGauges, DeclarationTotals};
use detection::Detection;
use ecn::EcnSender;
use feedback::Feedback;
use outstanding::{Outstanding, SegmentHistory};
use phase::Phase;
use recovery::Recovery;
use stream::SendStream;
pub use timer::Purpose;
use timer::Timer;
use transmit::Transmit;
use window::SendWindow;

/// Counters of a sender from the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderCounts {
    /// Segments and connection requests sent, again or for the first time.
    pub sent: u64,
    /// Of them, those retransmitted.
    pub retransmits: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// ACKs over which the means below are taken.
    pub acks: u64,
    /// Sum of the window over ACKs, segments.
    pub cwnd_sum: f64,
    /// Sum of the smoothed round-trip time over ACKs, ns.
    pub srtt_sum_ns: u64,
    /// ACKs before the first round trip was measured, which that sum has nothing of.
    pub acks_without_srtt: u64,
}

/// One sender.
pub struct TcpSender {
    /// What the application has written.
    stream: SendStream,
    /// What was sent and is not acknowledged.
    outstanding: Outstanding,
    /// What ACKs tell.
    feedback: Feedback,
    /// What congestion marks mean.
    ecn: EcnSender,
    /// What is lost.
    detection: Detection,
    /// Where the sender stands.
    recovery: Recovery,
    /// How much may be in flight.
    window: SendWindow,
    /// When something is done unasked.
    timer: Timer,
    /// How segments leave.
    transmit: Transmit,
    /// What is declared of congestion, by those that do.
    conex: Option<Box<ConexSender>>,
    /// When the connection was established.
    established: PackedOption,
    /// Counters.
    pub counts: SenderCounts,
}

impl TcpSender {
    /// Where its timer is.
    pub const TIMER: usize = core::mem::offset_of!(TcpSender, timer);

    /// A closed sender with nothing to send yet.
    pub fn new(plan: &TcpPlan, sizes: Sizes) -> Self {
        let mss = sizes.mss();
        let detection = Detection::new(plan);
        let pushes = plan.delayed_acks().is_some_and(|delay| delay.quick_push);
        let feedback = Feedback::new(plan);
        let window = SendWindow::new(plan, mss);
        let models_path = window.models_path();
        let history = if models_path { SegmentHistory::SendTimes } else { detection.memory() };
        TcpSender {
            stream: SendStream::new(mss),
            outstanding: Outstanding::new(history, mss),
            conex: ConexSender::new(plan, &sizes, feedback.uses_sack()),
            feedback,
            ecn: EcnSender::new(plan, mss),
            detection,
            recovery: Recovery::new(plan),
            window,
            timer: Timer::new(plan.rearm_on_retransmit, plan.quirks.rearm_on_each_ack),
            transmit: Transmit::new(sizes, plan, pushes, models_path),
            established: PackedOption::NONE,
            counts: SenderCounts::default(),
        }
    }

    /// When the connection was established, if it was.
    pub fn established(&self) -> Option<Time> {
        self.established.get().map(Time::from_nanos)
    }

    /// Asks for what it keeps elsewhere.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        self.outstanding.prefetch_rest();
        self.detection.prefetch_rest();
    }

    /// From now on it offers to pay so much.
    pub fn offer(&mut self, willingness: Demand) {
        self.window.offer(willingness);
    }

    /// Its controller goes by prices, which travel so.
    pub fn read_prices(&mut self, encoding: Encoding) {
        self.window.read_prices(encoding);
        if encoding.is_in_payload() {
            self.feedback.read_prices();
        }
    }

    /// The application writes so many bytes more; [`u64::MAX`] for no end of them. What does not fill a
    /// segment waits for the next bytes, for [`TcpSender::push`] or [`TcpSender::end`]. Once all that is to be
    /// said at a time is said, [`TcpSender::on_written`] lets it leave.
    pub fn write(&mut self, bytes: u64) {
        self.stream.write(bytes);
    }

    /// What is written so far may leave in a segment that is not full.
    pub fn push(&mut self) {
        self.stream.push();
    }

    /// Nothing more will be written.
    pub fn end(&mut self) {
        self.stream.end();
    }

    /// Nothing more will be written, and what has not left will not. A connection that is not there yet is
    /// no longer requested.
    pub fn stop(&mut self) {
        self.stream.stop(self.outstanding.nxt());
        if self.recovery.phase() == Phase::SynSent {
            self.recovery.go_on(Phase::Closed, 0);
            self.timer.clear();
        }
    }

    /// Sends what has been written, as far as the window allows. To be called after [`TcpSender::write`],
    /// [`TcpSender::push`] and [`TcpSender::end`] once the connection has been requested; before, it does nothing.
    pub fn on_written(&mut self, ctx: &mut HostContext) {
        if self.recovery.is_connected() {
            self.restart_after_pause(ctx.now);
            self.send(ctx);
        }
    }

    /// What the application writes after a pause finds a smaller window (RFC 2861).
    fn restart_after_pause(&mut self, now: Time) {
        let out = &self.outstanding;
        let (silence, rto) = (self.transmit.silence(now), self.feedback.round_trip().rto());
        if out.is_empty() && silence > rto && self.stream.ready(out.nxt()) > 0 {
            self.window.restart(silence, rto, self.recovery.phase());
        }
    }

    /// The first segment that is not acknowledged.
    #[inline]
    pub fn una(&self) -> u64 {
        self.outstanding.una()
    }

    /// What was written and is not acknowledged, bytes; of a segment that was not full as if it were.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.stream.bytes_after(self.outstanding.una())
    }

    /// What is acknowledged, bytes; of a segment that was not full as if it were.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.outstanding.una() * self.stream.mss()
    }

    /// Whether everything that was written, and need not wait for more, is acknowledged.
    #[inline]
    pub fn has_all_acknowledged(&self) -> bool {
        self.stream.is_acknowledged(self.outstanding.una())
    }

    /// Whether all that was and will be written is acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.stream.is_done(self.outstanding.una())
    }

    /// Whether the connection agreed on SACK.
    pub fn uses_sack(&self) -> bool {
        self.feedback.uses_sack()
    }

    /// Congestion window, segments.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    /// Smoothed round-trip time in seconds, if there is one.
    pub fn srtt_s(&self) -> Option<f64> {
        self.feedback.round_trip().srtt().map(|srtt| srtt.as_secs())
    }

    /// What its controller takes its path for, if it models it.
    pub fn path_estimate(&self) -> Option<PathEstimate> {
        self.window.path_estimate()
    }

    /// The seed of its controller's random numbers, if it draws any.
    pub fn seed_model(&mut self, seed: impl FnOnce() -> u64) {
        if let Some(rate) = self.transmit.rate_mut() {
            rate.seed = seed();
        }
    }

    /// Segments in the network.
    pub fn in_network(&self) -> u32 {
        self.in_flight()
    }

    /// The price of its path as it knows it, if it goes by prices.
    pub fn path_price(&self) -> Option<f64> {
        self.window.path_price()
    }

    /// What it has declared of congestion; nothing of who declares none.
    pub fn declarations(&self) -> DeclarationTotals {
        self.conex.as_ref().map_or_else(DeclarationTotals::default, |conex| conex.declared())
    }

    /// What it leaves to the flow's next connection to declare.
    pub fn undeclared(&self) -> CongestionGauges {
        self.conex.as_ref().map_or_else(CongestionGauges::default, |conex| conex.undeclared())
    }

    /// It goes on for earlier connections of its flow.
    pub fn go_on(
        &mut self,
        sent: SenderCounts,
        declared: DeclarationTotals,
        left: CongestionGauges,
    ) {
        self.counts = sent;
        if let Some(conex) = &mut self.conex {
            conex.go_on(declared, left);
        }
    }

    /// What the timer is set for.
    #[cfg(test)]
    pub(crate) fn awaits(&self) -> Purpose {
        self.timer.next_purpose()
    }

    /// Segments that count against the window.
    #[inline]
    fn in_flight(&self) -> u32 {
        let duplicates = self.detection.duplicates();
        self.window.in_flight(&self.outstanding, self.recovery.phase(), duplicates)
    }
}
