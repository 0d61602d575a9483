//! How much may be in flight: the controller's window, how it comes down, when it may grow, its limit.
//!
//! A window that nobody fills says nothing about the network and must not grow (RFC 7661). Two ways
//! to tell: an ACK that finds the window full; or, as in Linux since 3.16, one that comes within a
//! round trip of a moment at which it was full, or, in slow start, at which half of it was in use.

use core::hint::select_unpredictable;

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

/// How far the window was used in the last round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Whether it was full at some time.
    full: bool,
    /// Most segments that were out at a time.
    most_out: u32,
    /// The round trip ends when this is acknowledged.
    end: u64,
}

/// What lets the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrowsBy {
    /// What an ACK acknowledges (RFC 5681).
    Acknowledged,
    /// What it delivers beyond what duplicates have told, as in Linux since 3.18.
    Delivered,
}

/// What counts as in flight during a fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipe {
    /// What is neither sacked nor lost (RFC 6675).
    ByScoreboard,
    /// What was out when it began, less what ACKs stand for, so that lost segments count (ns-2). It
    /// may fall below nothing.
    ByAcks(i32),
}

/// The window of one sender.
pub struct SendWindow {
    window: Window,
    controller: Controller,
    grows_by: GrowsBy,
    reduces_by: ReductionPlan,
    /// It may come down to half of the threshold, where a reduction lets it.
    reduces_to_half: bool,
    reduction: Reduction,
    /// New data on the first two duplicate ACKs (RFC 3042).
    limited_transmit: bool,
    /// One segment for each, and nothing for further ones, whatever has arrived.
    limited_by_count: bool,
    /// Marks may bring the window below two segments, and below one (RFC 3168, section 6.1.2).
    marks_to_one: bool,
    /// Losses may bring it below two segments.
    losses_to_one: bool,
    /// The threshold is a whole number.
    whole_threshold: bool,
    pipe: Pipe,
    /// Most segments that may be out.
    limit: u32,
    /// A round trip ends when this is acknowledged.
    round_end: u64,
    /// How far the window was used of late, where that is looked at round by round.
    usage: Option<Usage>,
    /// After a pause the window comes down to no less than so many segments, where it does.
    restarts_at: Option<u32>,
    /// So many requests more may be lost before the first window is one segment.
    forgiven_requests: u32,
}

impl SendWindow {
    /// As a plan has it, for segments of `mss` bytes.
    pub fn new(plan: &TcpPlan, mss: u64) -> Self {
        let segments = |limit: Bytes| (limit.get() / mss).clamp(1, u64::from(u32::MAX)) as u32;
        // A kernel's count, where it detects losses by time or has no SACK to tell them by.
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
            // Linux's CUBIC and BIC have no `min_cwnd`, Reno's is half.
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

    /// From now on the controller offers to pay so much.
    pub fn offer(&mut self, willingness: Demand) {
        self.controller.set_willingness(willingness);
    }

    /// The controller goes by prices, which travel so.
    pub fn read_prices(&mut self, encoding: Encoding) {
        self.controller.set_price_encoding(encoding);
    }

    /// What its controller takes for the price of its path.
    pub fn path_price(&self) -> Option<f64> {
        self.controller.path_price()
    }

    /// Congestion window and slow-start threshold.
    #[inline]
    pub fn get(&self) -> Window {
        self.window
    }

    /// Congestion window, segments.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Whole segments that may be in flight.
    #[inline]
    pub fn allowed(&self) -> u32 {
        (self.window.cwnd as u32).min(self.limit)
    }

    /// Most segments that may be out, sacked ones included.
    #[inline]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Nothing may be sent any more.
    pub fn close(&mut self) {
        self.limit = 0;
    }

    /// Whether duplicate ACKs count one by one.
    pub fn limits_by_count(&self) -> bool {
        self.limited_by_count
    }

    /// Segments that count against the window after so many duplicate ACKs.
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

    /// A fast recovery has begun, and its first retransmission, which does not count, has left.
    pub fn begin_recovery(&mut self, out: &Outstanding) {
        if let Pipe::ByAcks(segments) = &mut self.pipe {
            *segments = out.count() as i32 - DUP_THRESH as i32;
        }
    }

    /// An ACK during a fast recovery.
    pub fn on_ack_in_recovery(&mut self, ack: &AckSample) {
        if let Pipe::ByAcks(segments) = &mut self.pipe {
            *segments -= 1 + i32::from(ack.advances());
        }
    }

    /// Whether so many segments in flight fill the congestion window.
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

    /// Whether its use is looked at round by round.
    #[inline]
    pub fn watches_use(&self) -> bool {
        self.usage.is_some()
    }

    /// All that may be sent has been; the window is `full`, or might as well be.
    #[inline]
    pub fn note_use(&mut self, full: bool, out: &Outstanding) {
        let count = out.count();
        let Some(usage) = &mut self.usage else { return };
        if full || out.una() >= usage.end || (!usage.full && count > usage.most_out) {
            *usage = Usage { full, most_out: count, end: out.nxt() };
        }
    }

    /// Tells a scalable controller what an ACK delivers.
    pub fn count_marks(&mut self, marks: &Marks) {
        self.controller.on_marks(&mut self.window, marks);
    }

    /// Whether the controller lowers the window for marks itself.
    pub fn lowers_for_marks(&self) -> bool {
        self.controller.lowers_for_marks()
    }

    /// Begins to come down for a loss.
    pub fn reduce_for_loss(&mut self, in_flight: u32, now: Time) {
        let ssthresh = self.controller.ssthresh_on_congestion(&self.window, now, in_flight);
        self.begin(ssthresh, self.losses_to_one);
    }

    /// Begins to come down for a congestion mark.
    pub fn reduce_for_mark(&mut self, in_flight: u32, now: Time) {
        let ssthresh = self.controller.ssthresh_on_mark(&self.window, now, in_flight);
        self.begin(ssthresh, self.marks_to_one);
    }

    /// Whether the reduction for the last mark was a smaller one than for a loss.
    pub fn mark_weighed_less(&self) -> bool {
        self.controller.mark_weighed_less()
    }

    /// Comes down at once for a loss that is recovered already.
    pub fn reduce_at_once(&mut self, in_flight: u32, now: Time) {
        self.reduce_for_loss(in_flight, now);
        if !self.models_path() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.controller.on_recovery_exit(&mut self.window, now);
    }

    /// Comes down to the threshold; with `to_one`, to half a window even where the threshold stays above.
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

    /// Comes down to the threshold there is.
    pub fn glide(&mut self) {
        if self.models_path() {
            return;
        }
        self.reduction = Reduction::begin(self.reduces_by, self.window.cwnd, self.reduces_to_half);
        if self.is_reduced_at_once() {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
    }

    /// Whether the reduction under way is over as it begins (RFC 6675, step 4.2).
    pub fn is_reduced_at_once(&self) -> bool {
        matches!(self.reduction, Reduction::Immediate)
    }

    /// Whether the ACK that ends the reduction lets nothing grow (Linux, as long as it halved the rate).
    pub fn rests_after_reduction(&self) -> bool {
        matches!(self.reduction, Reduction::RateHalving { .. })
    }

    /// Whether the ACK of all that was out ends the reduction, and counts for nothing else (ns-2, Agent/TCP/Linux).
    pub fn ends_apart(&self) -> bool {
        matches!(self.reduction, Reduction::ToThreshold { .. })
    }

    /// An ACK during a reduction.
    #[inline(never)]
    pub fn reduce(&mut self, progress: AckProgress) {
        let Window { cwnd, ssthresh } = self.window;
        self.window.cwnd = self.reduction.on_ack(cwnd, ssthresh, progress);
    }

    /// A segment leaves.
    #[inline]
    pub fn on_sent(&mut self) {
        self.reduction.on_sent();
        if let Pipe::ByAcks(segments) = &mut self.pipe {
            *segments += 1;
        }
    }

    /// A reduction is over.
    pub fn finish(&mut self, in_flight: u32) {
        let Window { cwnd, ssthresh } = self.window;
        self.window.cwnd = self.reduction.finish(cwnd, ssthresh, in_flight);
    }

    /// Losses are recovered.
    pub fn on_recovered(&mut self, now: Time) {
        self.controller.on_recovery_exit(&mut self.window, now);
    }

    /// Goes back to the window there was before. Returns whether the threshold does.
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

    /// One segment more may be out.
    pub fn widen(&mut self) {
        self.window.cwnd += 1.0;
    }

    /// Comes down to the threshold, if it is above that.
    pub fn deflate_to_threshold(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    /// Halves to a whole number, and leaves the threshold.
    pub fn halve(&mut self) {
        self.window.cwnd = (self.window.cwnd.floor() / 2.0).floor();
    }

    /// Takes what duplicates have released for its own, up to the threshold.
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

    /// A connection request was lost: slow start ends at the lowest threshold.
    pub fn lower_threshold_to_least(&mut self) {
        self.window.ssthresh = MIN_SSTHRESH;
    }

    /// Whether what counts as in flight is told by ACKs.
    pub fn counts_by_acks(&self) -> bool {
        self.pipe != Pipe::ByScoreboard
    }

    /// Starts over with one segment after a timeout.
    pub fn start_over(&mut self, now: Time) {
        self.controller.on_timeout(&mut self.window, now);
    }

    /// The connection request was lost (RFC 5681, section 3.1).
    pub fn on_request_lost(&mut self) {
        match self.forgiven_requests.checked_sub(1) {
            Some(left) => self.forgiven_requests = left,
            None => self.allow(1),
        }
    }

    /// The application goes on after a `silence` of more than a timeout, in which everything was
    /// acknowledged: the window halves for each of them (RFC 2861, section 3.1; Linux, `tcp_cwnd_restart`).
    /// What RFC 2861 says of a window that was not filled does not come about in Linux, where every ACK
    /// counts as if it had been.
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

    /// With nothing in flight something leaves, after a `silence` that may have been a round trip or a pause.
    pub fn start(&mut self, silence: Span, now: Time) {
        self.controller.on_start(silence, now);
    }

    /// Whether the controller models its path, and moves the window itself.
    #[inline]
    pub fn models_path(&self) -> bool {
        matches!(self.reduction, Reduction::ByModel)
    }

    /// The connection is established.
    pub fn begin_model(&mut self, beginning: &Beginning) {
        if let Some(model) = self.controller.path_model_mut() {
            model.begin(&self.window, beginning);
        }
    }

    /// A sample for a controller that models its path. Returns whether what is in flight counts as limited by the
    /// application.
    pub fn model(&mut self, sample: &RateSample) -> bool {
        let model = self.controller.path_model_mut();
        model.is_some_and(|model| model.on_sample(&mut self.window, sample))
    }

    /// A segment is lost, says the same ACK.
    pub fn model_loss(&mut self, lost: &LostSegment) {
        if let Some(model) = self.controller.path_model_mut() {
            model.on_lost(&self.window, lost);
        }
    }

    /// The application goes on where the controller models its path.
    pub fn restart_model(&mut self, now: Time) {
        if let Some(model) = self.controller.path_model_mut() {
            model.on_restart(&mut self.window, now);
        }
    }

    /// A timeout where the controller models its path.
    pub fn model_timeout(&mut self, totals: Totals) {
        if let Some(model) = self.controller.path_model_mut() {
            model.on_timeout(totals);
        }
    }

    /// Pacing rate in segments per second and fewest segments of a burst, where the controller sets them.
    pub fn own_pacing(&self) -> Option<(f64, u32)> {
        let model = self.controller.path_model()?;
        Some((model.pacing_rate(), model.least_burst()))
    }

    /// What the controller takes its path for, if it models it.
    pub fn path_estimate(&self) -> Option<PathEstimate> {
        Some(self.controller.path_model()?.estimate())
    }

    /// Whether the window was full at some time in the last round trip.
    pub fn was_full(&self, in_flight: u32) -> bool {
        self.usage.map_or(in_flight >= self.window.cwnd as u32, |usage| usage.full)
    }

    /// So many segments may be in flight.
    pub fn allow(&mut self, segments: u32) {
        self.window.cwnd = f64::from(segments);
    }

    /// So many segments less, but one at least.
    pub fn deflate(&mut self, segments: u32) {
        self.window.cwnd = (self.window.cwnd - f64::from(segments)).max(1.0);
    }

    /// No more than so many.
    pub fn hold(&mut self, segments: u32) {
        self.window.cwnd = self.window.cwnd.min(f64::from(segments));
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
