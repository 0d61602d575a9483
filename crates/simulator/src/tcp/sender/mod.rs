//! The sending end of a connection, in parts that write only their own state:
//!
//! ```text
//! ACK ─► feedback ──► detection ──► recovery ──► window ──► transmit ─► segments
//!        value of     lost          open, re-    how much   lost ones first,
//!        an ACK       segments      covering …   in flight  then the stream
//!            └─► outstanding: segments sent, not acknowledged ◄──────┘
//! ```
//!
//! A part passes on its results as a value; where an event affects several parts, [`ack`] or [`timeout`] defines the
//! order. A profile's choice is a variant of the part concerned, made with the sender. Sequence processing follows RFC
//! 6675 and Linux.

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
mod timer_wheel;
mod transmit;
mod undo;
mod window;

use core::mem::offset_of;
use core::ops::Range;

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::sender::PathEstimate;
use tidegate_mechanisms::units::{Demand, Time};
use tidegate_scenario::plan::TcpPlan;

use super::packed_option::PackedOption;
use super::{HostContext, Sizes};
use conex::ConexSender;
pub use conex::{CongestionGauges, DeclarationTotals, replay};
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

/// Counters of a sender since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderCounts {
    /// Segments and SYNs sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// ACKs over which the sums below are taken.
    pub acks: u64,
    /// Sum of the congestion window over ACKs, segments.
    pub cwnd_sum: f64,
    /// Sum of the smoothed round-trip time over ACKs, ns.
    pub srtt_sum_ns: u64,
    /// ACKs before the first round-trip sample, which `srtt_sum_ns` does not include.
    pub acks_without_srtt: u64,
}

/// One sender. It has eleven cache lines, in the order of [`TcpSender::OFTEN`].
#[repr(C)]
pub struct TcpSender {
    /// Transmission of segments.
    transmit: Transmit,
    /// Data written by the application.
    stream: SendStream,
    /// Declaration of congestion, if the sender declares any.
    conex: Option<Box<ConexSender>>,
    /// Timers of the sender.
    timer: Timer,
    /// Loss detection.
    detection: Detection,
    /// ECN state.
    ecn: EcnSender,
    /// Congestion window.
    window: SendWindow,
    /// Recovery state.
    recovery: Recovery,
    /// Segments sent and not acknowledged.
    outstanding: Outstanding,
    /// When the connection was established.
    established: PackedOption,
    /// Counters.
    pub counts: SenderCounts,
    /// Reader of ACKs.
    feedback: Feedback,
}

impl TcpSender {
    /// Offset of the timer, for prefetching.
    pub const TIMER: usize = offset_of!(TcpSender, timer);

    /// Bytes that most ACKs need, for prefetching. Between them is what only some controllers, losses and marks need; so
    /// these structures have their fields in C's order.
    pub const OFTEN: [Range<usize>; 2] = [
        0..offset_of!(TcpSender, window) + SendWindow::OFTEN,
        offset_of!(TcpSender, recovery) + Recovery::OFTEN..size_of::<TcpSender>(),
    ];

    /// Returns a closed sender without data.
    pub fn new(plan: &TcpPlan, sizes: Sizes) -> Self {
        let mss = sizes.mss();
        let detection = Detection::new(plan);
        let pushes = plan.delayed_acks().is_some_and(|delay| delay.quick_push);
        let window = SendWindow::new(plan, mss);
        let models_path = window.models_path();
        let feedback = Feedback::new(plan, models_path);
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
            timer: Timer::new(
                plan.rearm_on_retransmit,
                plan.quirks.rearm_on_each_ack,
                plan.quirks.timer_wheel,
            ),
            transmit: Transmit::new(sizes, plan, pushes, models_path),
            established: PackedOption::NONE,
            counts: SenderCounts::default(),
        }
    }

    /// Returns the time at which the connection was established, if it was.
    pub fn established(&self) -> Option<Time> {
        self.established.get().map(Time::from_nanos)
    }

    /// Prefetches state kept elsewhere.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        self.outstanding.prefetch_rest();
        self.detection.prefetch_rest();
    }

    /// Sets its willingness to pay.
    pub fn offer(&mut self, willingness: Demand) {
        self.window.offer(willingness);
    }

    /// Makes its controller read prices in this encoding.
    pub fn read_prices(&mut self, encoding: Encoding) {
        self.window.read_prices(encoding);
        if encoding.is_in_payload() {
            self.feedback.read_prices();
        }
    }

    /// Writes `bytes` more from the application; [`u64::MAX`] for unlimited data. A partial segment waits for more
    /// data, for [`TcpSender::push`] or for [`TcpSender::end`]. After all writes of an event, [`TcpSender::on_written`]
    /// starts transmission.
    pub fn write(&mut self, bytes: u64) {
        self.stream.write(bytes);
    }

    /// Allows the data written so far to leave in a partial segment.
    pub fn push(&mut self) {
        self.stream.push();
    }

    /// Ends the data.
    pub fn end(&mut self) {
        self.stream.end();
    }

    /// Ends the data and discards what has not been sent. A connection that is not established yet is no longer
    /// requested.
    pub fn stop(&mut self) {
        self.stream.stop(self.outstanding.nxt());
        if self.recovery.phase() == Phase::SynSent {
            self.recovery.go_on(Phase::Closed, 0);
            self.timer.clear();
        }
    }

    /// Sends written data as far as the window allows. Called after [`TcpSender::write`], [`TcpSender::push`] and
    /// [`TcpSender::end`] once the connection has been requested; before, it does nothing.
    pub fn on_written(&mut self, ctx: &mut HostContext) {
        if self.recovery.is_connected() {
            self.restart_after_pause(ctx.now);
            self.send(ctx);
        }
    }

    /// Reduces the window for data written after a pause (RFC 2861).
    fn restart_after_pause(&mut self, now: Time) {
        let out = &self.outstanding;
        let (silence, rto) = (self.transmit.silence(now), self.feedback.round_trip().rto());
        if out.is_empty() && silence > rto && self.stream.ready(out.nxt()) > 0 {
            self.window.restart(silence, rto, self.recovery.phase());
        }
    }

    /// Returns the first unacknowledged segment.
    #[inline]
    pub fn una(&self) -> u64 {
        self.outstanding.una()
    }

    /// Returns the bytes written and not acknowledged; a partial segment counts as full.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.stream.bytes_after(self.outstanding.una())
    }

    /// Returns the bytes acknowledged; a partial segment counts as full.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.outstanding.una() * self.stream.mss()
    }

    /// Whether all written data that need not wait for more is acknowledged.
    #[inline]
    pub fn has_all_acknowledged(&self) -> bool {
        self.stream.is_acknowledged(self.outstanding.una())
    }

    /// Whether all data is written and acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.stream.is_done(self.outstanding.una())
    }

    /// Whether the connection negotiated SACK.
    pub fn uses_sack(&self) -> bool {
        self.feedback.uses_sack()
    }

    /// Returns the congestion window, segments.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    /// Returns the smoothed round-trip time in seconds, if there is a sample.
    pub fn srtt_s(&self) -> Option<f64> {
        self.feedback.round_trip().srtt().map(|srtt| srtt.as_secs())
    }

    /// Returns the controller's estimate of its path, if it models it.
    pub fn path_estimate(&self) -> Option<PathEstimate> {
        self.window.path_estimate()
    }

    /// Sets the seed of the controller's random numbers, if it draws any.
    pub fn seed_model(&mut self, seed: impl FnOnce() -> u64) {
        if let Some(rate) = self.transmit.rate_mut() {
            rate.seed = seed();
        }
    }

    /// Returns the number of segments in the network.
    pub fn in_network(&self) -> u32 {
        self.in_flight()
    }

    /// Returns the controller's estimate of the price of its path, if it uses prices.
    pub fn path_price(&self) -> Option<f64> {
        self.window.path_price()
    }

    /// Returns its declarations of congestion; zero if it declares none.
    pub fn declarations(&self) -> DeclarationTotals {
        self.conex.as_ref().map_or_else(DeclarationTotals::default, |conex| conex.declared())
    }

    /// Returns the undeclared congestion that the flow's next connection takes over.
    pub fn undeclared(&self) -> CongestionGauges {
        self.conex.as_ref().map_or_else(CongestionGauges::default, |conex| conex.undeclared())
    }

    /// Continues for earlier connections of its flow.
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

    /// Returns what the timer is set for.
    #[cfg(test)]
    pub(crate) fn awaits(&self) -> Purpose {
        self.timer.next_purpose()
    }

    /// Returns the number of segments that count against the window.
    #[inline]
    fn in_flight(&self) -> u32 {
        let duplicates = self.detection.duplicates();
        self.window.in_flight(&self.outstanding, self.recovery.phase(), duplicates)
    }
}
