//! Congestion window: the controller's window, its reduction, conditions for growth, and limits.
//!
//! A window that is not used says nothing about the network and must not grow (RFC 7661). There are two criteria: an
//! ACK finds the window full; or, as in Linux since 3.16, it arrives within a round trip of a moment at which the
//! window was full or, in slow start, half used.

use core::hint::select_unpredictable;
use core::mem::offset_of;

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::sender::{
    Ack, Beginning, Controller, LostSegment, MIN_SSTHRESH, Marks, PathEstimate, RateSample,
    SenderParams, Totals, Window,
};
use tidegate_mechanisms::units::{Bytes, Demand, Span, Time};
use tidegate_scenario::plan::{RecoveryPlan, ReductionPlan, TcpPlan};

use super::feedback::AckSample;
use super::outstanding::Outstanding;
use super::phase::Phase;
use crate::build;
use crate::tcp::reduction::{AckProgress, Reduction};
use crate::tcp::scoreboard::DUP_THRESH;

/// Use of the window in the last round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Whether it was full at some time.
    full: bool,
    /// Maximum number of segments outstanding.
    most_out: u32,
    /// The round trip ends when this segment is acknowledged.
    end: u64,
}

/// Measure of progress that lets the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrowsBy {
    /// Segments acknowledged (RFC 5681).
    Acknowledged,
    /// Segments delivered beyond those accounted for by duplicates, as in Linux since 3.18.
    Delivered,
}

/// Count of segments in flight during a fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipe {
    /// Segments neither sacked nor lost (RFC 6675).
    ByScoreboard,
    /// Segments outstanding at its start less those accounted for by ACKs, so that lost segments count (ns-2). May
    /// become negative.
    ByAcks(i32),
}

/// Window of one sender.
#[repr(C)]
pub struct SendWindow {
    window: Window,
    pipe: Pipe,
    /// Maximum number of outstanding segments.
    limit: u32,
    /// Number of further SYN losses until the initial window is one segment.
    forgiven_requests: u32,
    grows_by: GrowsBy,
    reduces_by: ReductionPlan,
    /// Whether it may fall to half of the threshold, if the reduction allows.
    reduces_to_half: bool,
    /// Whether the first two duplicate ACKs allow new segments (RFC 3042).
    limited_transmit: bool,
    /// Whether each of them allows one segment, and further ones none, regardless of the segments that have arrived.
    limited_by_count: bool,
    /// Whether marks may reduce the window below two segments, and below one (RFC 3168, section 6.1.2).
    marks_to_one: bool,
    /// Whether losses may reduce it below two segments.
    losses_to_one: bool,
    /// Whether the threshold is an integer.
    whole_threshold: bool,
    /// The round trip ends when this segment is acknowledged.
    round_end: u64,
    reduction: Reduction,
    /// Recent use of the window, if evaluated per round trip.
    usage: Option<Usage>,
    controller: Controller,
    /// Minimum window after a pause, segments, if a pause reduces it.
    restarts_at: Option<u32>,
}

impl SendWindow {
    /// Number of bytes, from the first, that most ACKs need: many controllers are small or boxed.
    pub const OFTEN: usize = offset_of!(SendWindow, controller) + 24;

    /// Returns the window of a plan, for segments of `mss` bytes.
    pub fn new(plan: &TcpPlan, mss: u64) -> Self {
        let segments = |limit: Bytes| (limit.get() / mss).clamp(1, u64::from(u32::MAX)) as u32;
        // As Linux counts with RACK, or without SACK information.
        let sack = plan.loss_recovery.is_selective();
        let by_delivery =
            plan.loss_recovery == RecoveryPlan::Rack || (!sack && plan.window_use_per_round);
        let at_once = plan.window_reduction == ReductionPlan::Immediate;
        let by_acks =
            plan.quirks.lost_in_flight && at_once && plan.loss_recovery == RecoveryPlan::Sack;
        let controller = build::controller(plan.congestion_control.clone());
        let models_path = controller.path_model().is_some();
        SendWindow {
            window: Window {
                ssthresh: plan.initial_ssthresh.map_or(f64::INFINITY, |most| f64::from(most.0)),
                ..Window::new(plan.initial_window.0)
            },
            controller,
            grows_by: if by_delivery { GrowsBy::Delivered } else { GrowsBy::Acknowledged },
            reduces_by: plan.window_reduction,
            // Linux's CUBIC and BIC have no `min_cwnd`; Reno's is half.
            reduces_to_half: !matches!(plan.congestion_control, SenderParams::Cubic(_)),
            reduction: if models_path { Reduction::ByModel } else { Reduction::Immediate },
            limited_transmit: plan.limited_transmit,
            limited_by_count: plan.limited_transmit
                && plan.quirks.limited_transmit_by_count
                && !matches!(plan.loss_recovery, RecoveryPlan::Rack | RecoveryPlan::Fack),
            marks_to_one: plan.ecn_to_one && at_once && !plan.is_scalable(),
            losses_to_one: plan.quirks.loss_to_one && at_once,
            whole_threshold: plan.quirks.whole_threshold && at_once && !plan.is_scalable(),
            pipe: if by_acks { Pipe::ByAcks(0) } else { Pipe::ByScoreboard },
            limit: plan.window_limit.map_or(u32::MAX, segments),
            round_end: 0,
            // A paced sender seldom finds its window full at an ACK.
            usage: (plan.window_use_per_round || plan.is_paced() || models_path)
                .then(Usage::default),
            restarts_at: plan.slow_start_after_idle.then_some(plan.initial_window.0),
            forgiven_requests: plan.forgiven_requests,
        }
    }

    /// Sets the willingness to pay of the controller.
    pub fn offer(&mut self, willingness: Demand) {
        self.controller.set_willingness(willingness);
    }

    /// Makes the controller read prices in this encoding.
    pub fn read_prices(&mut self, encoding: Encoding) {
        self.controller.set_price_encoding(encoding);
    }

    /// Returns the controller's estimate of the price of its path.
    pub fn path_price(&self) -> Option<f64> {
        self.controller.path_price()
    }

    /// Returns the congestion window and slow-start threshold.
    #[inline]
    pub fn get(&self) -> Window {
        self.window
    }

    /// Returns the congestion window, segments.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Returns the number of segments that may be in flight.
    #[inline]
    pub fn allowed(&self) -> u32 {
        (self.window.cwnd as u32).min(self.limit)
    }

    /// Returns the maximum number of outstanding segments, including sacked ones.
    #[inline]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Closes the window.
    pub fn close(&mut self) {
        self.limit = 0;
    }

    /// Whether duplicate ACKs are counted for limited transmit.
    pub fn limits_by_count(&self) -> bool {
        self.limited_by_count
    }

    /// Returns the segments that count against the window after a number of duplicate ACKs.
    #[inline]
    pub fn in_flight(&self, out: &Outstanding, phase: Phase, duplicates: u32) -> u32 {
        match self.pipe {
            Pipe::ByAcks(segments) if phase == Phase::Recovery => segments.max(0) as u32,
            _ if self.limited_by_count && phase != Phase::Recovery => {
                let out = if phase == Phase::Loss { out.pipe() } else { out.count() };
                out.saturating_sub(duplicates.min(DUP_THRESH - 1))
            }
            _ if self.limited_transmit || !matches!(phase, Phase::Open | Phase::Reducing) => {
                out.pipe()
            }
            _ => out.count(),
        }
    }

    /// Starts a fast recovery, after its first retransmission, which does not count.
    pub fn begin_recovery(&mut self, out: &Outstanding) {
        if let Pipe::ByAcks(segments) = &mut self.pipe {
            *segments = out.count() as i32 - DUP_THRESH as i32;
        }
    }

    /// Takes an ACK during a fast recovery.
    pub fn on_ack_in_recovery(&mut self, ack: &AckSample) {
        if let Pipe::ByAcks(segments) = &mut self.pipe {
            *segments -= 1 + i32::from(ack.advances());
        }
    }

    /// Whether `in_flight` segments fill the congestion window.
    #[inline]
    pub fn is_full(&self, in_flight: u32) -> bool {
        in_flight >= self.window.cwnd as u32
    }

    /// Lets the window grow by an ACK that found `in_flight` segments in the network.
    #[inline(always)]
    pub fn grow(
        &mut self,
        ack: &AckSample,
        in_flight: u32,
        srtt: Option<Span>,
        out: &Outstanding,
        now: Time,
    ) {
        let round_start = out.una() > self.round_end;
        self.round_end = select_unpredictable(round_start, out.nxt(), self.round_end);
        let ack = Ack {
            now,
            acked: match self.grows_by {
                GrowsBy::Acknowledged => ack.acknowledged,
                GrowsBy::Delivered => ack.departed,
            },
            delivered_bytes: ack.delivered_bytes,
            marked: ack.marked,
            rtt: ack.rtt,
            one_way_delay: ack.one_way_delay,
            srtt,
            in_flight,
            window_limited: self.limits(in_flight),
            round_start,
        };
        self.controller.on_ack(&mut self.window, &ack);
    }

    #[inline]
    fn limits(&self, in_flight: u32) -> bool {
        let Some(usage) = self.usage else { return in_flight + 1 > self.window.cwnd as u32 };
        let half_used = self.window.cwnd < f64::from(2 * usage.most_out);
        usage.full || (self.window.in_slow_start() && half_used)
    }

    /// Whether its use is evaluated per round trip.
    #[inline]
    pub fn watches_use(&self) -> bool {
        self.usage.is_some()
    }

    /// Records that nothing more can be sent; the window is `full`, or counts as full.
    #[inline]
    pub fn note_use(&mut self, full: bool, out: &Outstanding) {
        let count = out.count();
        let Some(usage) = &mut self.usage else { return };
        if full || out.una() >= usage.end || (!usage.full && count > usage.most_out) {
            *usage = Usage { full, most_out: count, end: out.nxt() };
        }
    }

    /// Reports the marks of an ACK to a scalable controller.
    pub fn count_marks(&mut self, marks: &Marks) {
        self.controller.on_marks(&mut self.window, marks);
    }

    /// Whether the controller itself reduces the window for marks.
    pub fn lowers_for_marks(&self) -> bool {
        self.controller.lowers_for_marks()
    }

    /// Starts the reduction for a loss.
    pub fn reduce_for_loss(&mut self, in_flight: u32, now: Time) {
        let ssthresh = self.controller.ssthresh_on_congestion(&self.window, now, in_flight);
        self.begin(ssthresh, self.losses_to_one);
    }

    /// Starts the reduction for a congestion mark.
    pub fn reduce_for_mark(&mut self, in_flight: u32, now: Time) {
        let ssthresh = self.controller.ssthresh_on_mark(&self.window, now, in_flight);
        self.begin(ssthresh, self.marks_to_one);
    }

    /// Whether the reduction for the last mark was smaller than for a loss.
    pub fn mark_weighed_less(&self) -> bool {
        self.controller.mark_weighed_less()
    }

    /// Reduces the window at once, for a loss that is already repaired.
    pub fn reduce_at_once(&mut self, in_flight: u32, now: Time) {
        self.reduce_for_loss(in_flight, now);
        if !self.models_path() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.controller.on_recovery_exit(&mut self.window, now);
    }

    /// Starts a reduction to the threshold; with `to_one`, to half of the window even if the threshold stays above.
    fn begin(&mut self, ssthresh: f64, to_one: bool) {
        let halved = self.window.cwnd / 2.0;
        self.set_threshold(ssthresh);
        self.glide();
        if self.is_reduced_at_once() {
            let below = to_one && ssthresh <= halved.max(MIN_SSTHRESH);
            self.window.cwnd = if below { halved } else { ssthresh };
        }
    }

    fn set_threshold(&mut self, ssthresh: f64) {
        self.window.ssthresh = if self.whole_threshold { ssthresh.floor() } else { ssthresh };
    }

    /// Starts a reduction to the present threshold.
    pub fn glide(&mut self) {
        if self.models_path() {
            return;
        }
        self.reduction = Reduction::begin(self.reduces_by, self.window.cwnd, self.reduces_to_half);
        if self.is_reduced_at_once() {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
    }

    /// Whether the current reduction is complete at its start (RFC 6675, step 4.2).
    pub fn is_reduced_at_once(&self) -> bool {
        matches!(self.reduction, Reduction::Immediate)
    }

    /// Whether the ACK that ends the reduction does not let the window grow (Linux, as long as it used rate halving).
    pub fn rests_after_reduction(&self) -> bool {
        matches!(self.reduction, Reduction::RateHalving { .. })
    }

    /// Whether the ACK of all outstanding data ends the reduction and has no other effect (ns-2, Agent/TCP/Linux).
    pub fn ends_apart(&self) -> bool {
        matches!(self.reduction, Reduction::ToThreshold { .. })
    }

    /// Reduces the window by an ACK.
    #[inline(never)]
    pub fn reduce(&mut self, progress: AckProgress) {
        let Window { cwnd, ssthresh } = self.window;
        self.window.cwnd = self.reduction.on_ack(cwnd, ssthresh, progress);
    }

    /// Counts a segment sent.
    #[inline]
    pub fn on_sent(&mut self) {
        self.reduction.on_sent();
        if let Pipe::ByAcks(segments) = &mut self.pipe {
            *segments += 1;
        }
    }

    /// Ends a reduction.
    pub fn finish(&mut self, in_flight: u32) {
        let Window { cwnd, ssthresh } = self.window;
        self.window.cwnd = self.reduction.finish(cwnd, ssthresh, in_flight);
    }

    /// Notifies the controller that losses are repaired.
    pub fn on_recovered(&mut self, now: Time) {
        self.controller.on_recovery_exit(&mut self.window, now);
    }

    /// Restores an earlier window. Returns whether the threshold is restored as well.
    pub fn go_back(&mut self, before: Window) -> bool {
        match self.controller.path_model_mut() {
            Some(model) => model.on_undo(&mut self.window),
            None => self.window.cwnd = self.window.cwnd.max(before.cwnd),
        }
        let raises = before.ssthresh > self.window.ssthresh;
        if raises {
            self.window.ssthresh = before.ssthresh;
        }
        raises
    }

    /// Allows one more outstanding segment.
    pub fn widen(&mut self) {
        self.window.cwnd += 1.0;
    }

    /// Reduces the window to the threshold, if it is above.
    pub fn deflate_to_threshold(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    /// Halves the window, rounded to an integer, and keeps the threshold.
    pub fn halve(&mut self) {
        self.window.cwnd = (self.window.cwnd.floor() / 2.0).floor();
    }

    /// Adds the inflation by duplicates to the window, up to the threshold.
    pub fn keep_inflation(&mut self, segments: u32) {
        let inflated = self.window.cwnd + f64::from(segments);
        self.window.cwnd = inflated.min(self.window.ssthresh.max(self.window.cwnd));
    }

    /// Lowers the threshold for a timeout, as from the given window.
    pub fn lower_threshold(&mut self, cwnd: f64, in_flight: u32, now: Time) {
        let window = Window { cwnd, ..self.window };
        let ssthresh = self.controller.ssthresh_on_congestion(&window, now, in_flight);
        self.set_threshold(ssthresh);
    }

    /// Lowers the threshold to its minimum after the loss of a SYN.
    pub fn lower_threshold_to_least(&mut self) {
        self.window.ssthresh = MIN_SSTHRESH;
    }

    /// Whether ACKs determine the number of segments in flight.
    pub fn counts_by_acks(&self) -> bool {
        self.pipe != Pipe::ByScoreboard
    }

    /// Restarts with one segment after a timeout.
    pub fn start_over(&mut self, now: Time) {
        self.controller.on_timeout(&mut self.window, now);
    }

    /// Handles the loss of a SYN (RFC 5681, section 3.1).
    pub fn on_request_lost(&mut self) {
        match self.forgiven_requests.checked_sub(1) {
            Some(left) => self.forgiven_requests = left,
            None => self.allow(1),
        }
    }

    /// Restarts after an idle time (`silence`) longer than an RTO, with everything acknowledged: the window is halved
    /// for each RTO (RFC 2861, section 3.1; Linux, `tcp_cwnd_restart`). RFC 2861's rule for a window that was not
    /// filled does not apply in Linux, where every ACK counts as if it had been.
    pub fn restart(&mut self, silence: Span, rto: Span, phase: Phase) {
        let Some(least) = self.restarts_at.filter(|_| !self.models_path()) else { return };
        let Window { cwnd, ssthresh } = &mut self.window;
        if !matches!(phase, Phase::Reducing | Phase::Recovery) {
            *ssthresh = ssthresh.max(f64::from(*cwnd as u32 / 2 + *cwnd as u32 / 4));
        }
        let halvings = (silence.as_nanos() - 1) / rto.as_nanos();
        let halved = (*cwnd as u32).checked_shr(halvings.min(31) as u32).unwrap_or(0);
        *cwnd = cwnd.min(f64::from(halved.max(least)));
    }

    /// Handles the first transmission with nothing in flight, after a `silence` that may have been a round trip or a
    /// pause.
    pub fn start(&mut self, silence: Span, now: Time) {
        self.controller.on_start(silence, now);
    }

    /// Whether the controller models its path, and sets the window itself.
    #[inline]
    pub fn models_path(&self) -> bool {
        matches!(self.reduction, Reduction::ByModel)
    }

    /// Starts the model of the controller at the establishment of the connection.
    pub fn begin_model(&mut self, beginning: &Beginning) {
        if let Some(model) = self.controller.path_model_mut() {
            model.begin(&self.window, beginning);
        }
    }

    /// Passes a sample to a controller that models its path. Returns whether the data in flight count as limited by the
    /// application.
    pub fn model(&mut self, sample: &RateSample) -> bool {
        let model = self.controller.path_model_mut();
        model.is_some_and(|model| model.on_sample(&mut self.window, sample))
    }

    /// Passes a lost segment to the controller, before the sample of the same ACK.
    pub fn model_loss(&mut self, lost: &LostSegment) {
        if let Some(model) = self.controller.path_model_mut() {
            model.on_lost(&self.window, lost);
        }
    }

    /// Notifies the controller's model that the application resumes.
    pub fn restart_model(&mut self, now: Time) {
        if let Some(model) = self.controller.path_model_mut() {
            model.on_restart(&mut self.window, now);
        }
    }

    /// Notifies the controller's model of a timeout.
    pub fn model_timeout(&mut self, totals: Totals) {
        if let Some(model) = self.controller.path_model_mut() {
            model.on_timeout(totals);
        }
    }

    /// Returns the pacing rate in segments per second and the minimum size of a burst, if the controller sets them.
    pub fn own_pacing(&self) -> Option<(f64, u32)> {
        let model = self.controller.path_model()?;
        Some((model.pacing_rate(), model.least_burst()))
    }

    /// Returns the controller's estimate of its path, if it models it.
    pub fn path_estimate(&self) -> Option<PathEstimate> {
        Some(self.controller.path_model()?.estimate())
    }

    /// Whether the window was full at some time in the last round trip.
    pub fn was_full(&self, in_flight: u32) -> bool {
        self.usage.map_or(in_flight >= self.window.cwnd as u32, |usage| usage.full)
    }

    /// Sets the number of segments that may be in flight.
    pub fn allow(&mut self, segments: u32) {
        self.window.cwnd = f64::from(segments);
    }

    /// Reduces the window by a number of segments, but not below one.
    pub fn deflate(&mut self, segments: u32) {
        self.window.cwnd = (self.window.cwnd - f64::from(segments)).max(1.0);
    }

    /// Limits the window to a number of segments.
    pub fn hold(&mut self, segments: u32) {
        self.window.cwnd = self.window.cwnd.min(f64::from(segments));
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
