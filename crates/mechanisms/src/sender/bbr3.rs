//! BBR version 3: as BBR a model of the path, but with bounds that losses and marks have shown.
//! N. Cardwell, I. Swett and J. Beshay, "BBR Congestion Control", draft-ietf-ccwg-bbr; names and constants are the draft's.
//!
//! ```text
//! max_bw    largest delivery rate of this and the last cycle of ProbeBW
//! min_rtt   smallest round trip in the last 10 s
//! bw        min(max_bw, bw_shortterm)
//! rate      0.99 · pacing gain · bw
//! cwnd      cwnd gain · bw · min_rtt + extra_acked, at least 3 bursts and 4 segments;
//!           at most inflight_longterm and inflight_shortterm
//!
//! state      pacing gain  cwnd gain  until
//! Startup    2.77         2          3 round trips without 25 % more, or a round trip with over 2 % lost in 6 places
//! Drain      0.5          2          no more in flight than bw · min_rtt, or 3 round trips
//! Down       0.9          2          that, and 15 % below inflight_longterm
//! Cruise     1            2          2 to 3 s since Down began, or as many round trips as segments in flight, 63 at most
//! Refill     1            2          a round trip
//! Up         1.25         2.25       a plateau as in Startup, over 2 % lost, or inflight_longterm after a cycle with such
//! ProbeRTT   1            0.5        200 ms and a round trip with half of bw · min_rtt in flight; begins 5 s after the last
//!
//! over 2 % lost in Refill or Up    inflight_longterm ← max(in flight when the lost segment left, 0.7 · min(bdp, cwnd))
//! a round trip with a loss         bw_shortterm ← max(bw_latest, 0.7 bw_shortterm), inflight_shortterm likewise;
//!   elsewhere                      Refill forgets both
//! Up, at inflight_longterm         inflight_longterm grows by 1, 2, 4, ... segments a round trip
//! ```
//!
//! The draft asks that marks (ECN) count as congestion and leaves open how. Here they count as losses do: a round trip with
//! a mark lowers the short-term bounds, and marks of over 2 % of what was in flight, or an echo that does not tell how many
//! there were (RFC 3168), the long-term one.

mod bounds;
mod probe_bw;

use super::path_model::{
    Beginning, Draws, LostSegment, ModelPath, PathEstimate, RateSample, Recovering, Totals,
};
use super::windowed_max::WindowedMax;
use super::{Ack, Control, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::units::{Span, Time};
use bounds::MaxBandwidth;
use probe_bw::AckPhase;

/// Pacing rate as a fraction of the estimated bandwidth (`PacingMarginPercent`).
const PACING_MARGIN: f64 = 0.99;
/// Maximum tolerated loss rate (`LossThresh`).
const LOSS_THRESHOLD: f64 = 0.02;
/// Multiplicative decrease of a bound on loss (`Beta`).
const BETA: f64 = 0.7;
/// Fraction of the long-term bound that Cruise leaves to other flows (`Headroom`).
const HEADROOM: f64 = 0.15;
/// Minimum window, segments (`MinPipeCwnd`).
const LEAST_WINDOW: f64 = 4.0;
/// Validity of the minimum round-trip time (`MinRTTFilterLen`).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Interval between two ProbeRTT states (`ProbeRTTInterval`).
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
/// Duration of ProbeRTT (`ProbeRTTDuration`).
const PROBE_RTT: Span = Span::from_millis(200);
/// Length of the ACK aggregation filter, round trips (`ExtraAckedFilterLen`).
const EXTRA_ACKED_ROUNDS: u32 = 10;
/// Minimum growth of the bandwidth before a plateau.
const FULL_GROWTH: f64 = 1.25;
/// Number of round trips without this growth that end Startup.
const FULL_ROUNDS: u32 = 3;
/// Number of discontiguous losses that end Startup (`BBRStartupFullLossCnt`).
const FULL_LOSSES: u32 = 6;
/// Number of round trips after which Drain ends.
const DRAIN_ROUNDS: u32 = 3;
/// Size of the largest burst, bytes.
const LARGEST_BURST: f64 = 65_536.0;

parameters! {
    /// BBR version 3, draft-ietf-ccwg-bbr. Paces its segments; not in the lab, as no released kernel has it.
    pub struct Bbr3Params {}
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => 2.77,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    fn cwnd_gain(self) -> f64 {
        match self {
            State::Up => 2.25,
            State::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    fn probes_bandwidth(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    fn is_in_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3(Box<Model>);

/// State of BBR, with the names of the draft where it defines one. Rates are in segments per second.
#[derive(Clone, Debug, Default)]
struct Model {
    mss: f64,
    selective: bool,
    initial_window: f64,
    draws: Draws,
    state: State,
    totals: Totals,
    now: Time,
    recovering: Recovering,
    prior_cwnd: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    max_bw: MaxBandwidth,
    bw: f64,
    round_count: u32,
    round_start: bool,
    next_round_delivered: u64,
    min_rtt: Option<Span>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<Span>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,
    drain_start_round: u32,
    extra_acked_interval_start: Time,
    extra_acked_delivered: f64,
    extra_acked: WindowedMax,
    bounds: bounds::Bounds,
    undo: Undo,
    cycle: probe_bw::Cycle,
}

/// State restored after a spurious recovery (`undo_...`).
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// Data of the newest segment of an ACK (`RS`).
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    delivery_rate: f64,
    delivered: u64,
    /// Number of segments delivered when the segment was sent.
    prior_delivered: Option<u64>,
    tx_in_flight: f64,
    lost: f64,
    app_limited: bool,
    newly_acked: f64,
    in_flight: f64,
    window_limited: bool,
}

impl Sample {
    fn of(sample: &RateSample) -> Self {
        let acked = Sample {
            newly_acked: f64::from(sample.newly_delivered),
            in_flight: f64::from(sample.in_flight),
            window_limited: sample.window_limited,
            ..Sample::default()
        };
        let Some(newest) = sample.newest else { return acked };
        let rate = |(_, delivered, interval): (_, u64, Span)| delivered as f64 / interval.as_secs();
        Sample {
            delivery_rate: sample.delivery().map_or(0.0, rate),
            delivered: sample.totals.delivered - newest.delivered_before,
            prior_delivered: Some(newest.delivered_before),
            tx_in_flight: f64::from(newest.in_flight),
            lost: (sample.totals.lost - newest.lost_before) as f64,
            app_limited: newest.app_limited,
            ..acked
        }
    }
}

impl Sender for Bbr3 {
    type Params = Bbr3Params;

    const ABOUT: About = About {
        name: "bbr3",
        title: "BBRv3",
        source: "draft-ietf-ccwg-bbr",
        usage: r#"tcp.congestion_control = "bbr3""#,
        file: "sender/bbr3.rs",
        text: crate::mechanism::source_text!("bbr3.rs"),
    };

    const IS_PACED: bool = true;
}

impl Control for Bbr3 {
    fn new(_params: Bbr3Params) -> Self {
        Bbr3(Box::default())
    }

    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// Begins loss recovery and stores the state that may be restored (`OnEnterFastRecovery`, `OnEnterRTO`).
    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.0.save_state_upon_loss(window);
        window.ssthresh
    }

    fn beta(&self) -> f64 {
        BETA
    }

    fn path_model(&self) -> Option<&dyn ModelPath> {
        Some(&*self.0)
    }

    fn path_model_mut(&mut self) -> Option<&mut dyn ModelPath> {
        Some(&mut *self.0)
    }
}

impl ModelPath for Model {
    fn begin(&mut self, window: &Window, beginning: &Beginning) {
        let Beginning { now, rtt, .. } = *beginning;
        *self = Model {
            mss: beginning.mss as f64,
            selective: beginning.selective,
            initial_window: window.cwnd,
            draws: Draws::new(beginning.seed),
            now,
            min_rtt: rtt,
            min_rtt_stamp: now,
            probe_rtt_min_delay: rtt,
            probe_rtt_min_stamp: now,
            extra_acked_interval_start: now,
            ..Model::default()
        };
        self.start_pacing(window, rtt);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &RateSample) -> bool {
        (self.totals, self.now) = (sample.totals, sample.now);
        let rs = Sample::of(sample);
        self.follow_recovery(window, sample.recovering);
        self.note_marks(window, sample, &rs);
        self.update_latest_delivery_signals(&rs);
        self.update_congestion_signals(window, &rs);
        self.update_ack_aggregation(window, &rs);
        self.check_full_bw_reached(&rs);
        self.check_startup_done(&rs);
        self.check_drain_done(&rs);
        self.update_probe_bw_cycle_phase(window, &rs);
        self.update_min_rtt(sample.rtt);
        let limits = self.check_probe_rtt(window, &rs);
        self.bounds.advance_latest_delivery_signals(&rs);
        self.bw = self.max_bw.get().min(self.bounds.bw_shortterm);
        if !self.has_seen_rtt && sample.srtt.is_some() {
            self.start_pacing(window, sample.srtt);
        }
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_cwnd(window, &rs);
        limits
    }

    fn on_lost(&mut self, window: &Window, lost: &LostSegment) {
        (self.totals, self.now) = (lost.totals, lost.now);
        self.handle_lost_segment(window, lost);
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) {
        self.now = now;
        self.idle_restart = true;
        self.extra_acked_interval_start = now;
        if self.state.is_in_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window);
        }
    }

    fn on_timeout(&mut self, totals: Totals) {
        self.totals = totals;
        self.recovering = Recovering::Timeout;
        self.bounds.note_loss(totals.delivered);
    }

    fn on_undo(&mut self, window: &mut Window) {
        self.handle_spurious_loss_detection(window);
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn least_burst(&self) -> u32 {
        2
    }

    fn estimate(&self) -> PathEstimate {
        let finite = |bound: f64| Some(bound).filter(|bound| bound.is_finite());
        PathEstimate {
            state: match self.state {
                State::Startup => "startup",
                State::Drain => "drain",
                State::Down => "probe-bw-down",
                State::Cruise => "probe-bw-cruise",
                State::Refill => "probe-bw-refill",
                State::Up => "probe-bw-up",
                State::ProbeRtt => "probe-rtt",
            },
            bandwidth: self.bw,
            pacing_rate: self.pacing_rate,
            min_rtt: self.min_rtt,
            inflight_hi: finite(self.bounds.inflight_longterm),
            inflight_lo: finite(self.bounds.inflight_shortterm),
        }
    }
}

impl Model {
    /// `InitPacingRate`.
    fn start_pacing(&mut self, window: &Window, rtt: Option<Span>) {
        self.has_seen_rtt = rtt.is_some();
        let rtt_s = rtt.map_or(1e-3, |rtt| rtt.as_secs().max(1e-6));
        self.pacing_rate = State::Startup.pacing_gain() * window.cwnd / rtt_s;
    }

    /// `SetPacingRateWithGain`.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = PACING_MARGIN * gain * self.bw;
        // A Startup that losses have ended may have no sample yet.
        if (self.full_bw_reached && rate > 0.0) || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Follows the state of recovery, at whose end the window is restored.
    fn follow_recovery(&mut self, window: &mut Window, recovering: Recovering) {
        let before = core::mem::replace(&mut self.recovering, recovering);
        if before != Recovering::No && recovering == Recovering::No {
            self.restore_cwnd(window);
        }
    }

    fn save_cwnd(&mut self, window: &Window) {
        let is_cut = self.recovering != Recovering::No || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_cut { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    fn restore_cwnd(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    fn start_round(&mut self) {
        self.next_round_delivered = self.totals.delivered;
    }

    fn update_round(&mut self, rs: &Sample) {
        self.round_start =
            rs.prior_delivered.is_some_and(|prior| prior >= self.next_round_delivered);
        if self.round_start {
            self.start_round();
            self.round_count = self.round_count.wrapping_add(1);
            self.cycle.rounds_since_probe_up += 1;
        }
    }

    fn update_max_bw(&mut self, rs: &Sample) {
        self.update_round(rs);
        let is_larger = rs.delivery_rate >= self.max_bw.get();
        if rs.delivery_rate > 0.0 && (is_larger || !rs.app_limited) {
            self.max_bw.update(rs.delivery_rate);
        }
    }

    fn update_ack_aggregation(&mut self, window: &Window, rs: &Sample) {
        let interval = self.now.since(self.extra_acked_interval_start);
        let mut expected = self.bw * interval.as_secs();
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = self.now;
            expected = 0.0;
        }
        self.extra_acked_delivered += rs.newly_acked;
        let extra = (self.extra_acked_delivered - expected).min(window.cwnd);
        let rounds = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(rounds, self.round_count, extra);
    }

    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    fn check_full_bw_reached(&mut self, rs: &Sample) {
        if self.full_bw_now || !self.round_start || rs.app_limited {
            return;
        }
        if rs.delivery_rate >= FULL_GROWTH * self.full_bw {
            self.reset_full_bw();
            self.full_bw = rs.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_startup_done(&mut self, rs: &Sample) {
        if self.state == State::Startup && self.losses_end_startup(rs) {
            self.undo.state = Some(State::Startup);
            self.full_bw_reached = true;
            self.bounds.inflight_longterm = self.bdp().max(self.bounds.inflight_latest);
        }
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// `CheckStartupHighLoss`.
    fn losses_end_startup(&self, rs: &Sample) -> bool {
        if self.recovering != Recovering::Fast {
            return false;
        }
        if !self.selective {
            return self.bounds.is_loss_in_round;
        }
        let bounds = &self.bounds;
        let lost_in_round = bounds.loss_round_start && bounds.losses_of_round >= FULL_LOSSES;
        lost_in_round && self.is_inflight_too_high(rs.lost, rs.tx_in_flight)
    }

    fn check_drain_done(&mut self, rs: &Sample) {
        let rounds = self.round_count.wrapping_sub(self.drain_start_round);
        if self.state == State::Drain
            && (rs.in_flight <= self.inflight(self.bw) || rounds > DRAIN_ROUNDS)
        {
            self.start_down();
        }
    }

    fn update_min_rtt(&mut self, rtt: Option<Span>) {
        self.probe_rtt_expired = self.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        let shorter = |rtt: Span, than: Option<Span>| than.is_none_or(|than| rtt < than);
        if let Some(rtt) = rtt
            && (shorter(rtt, self.probe_rtt_min_delay) || self.probe_rtt_expired)
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (Some(rtt), self.now);
        }
        let expired = self.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(delay) = self.probe_rtt_min_delay
            && (shorter(delay, self.min_rtt) || expired)
        {
            (self.min_rtt, self.min_rtt_stamp) = (Some(delay), self.probe_rtt_min_stamp);
        }
    }

    /// Runs `CheckProbeRTT`. Returns whether the data in flight count as limited by the application.
    fn check_probe_rtt(&mut self, window: &mut Window, rs: &Sample) -> bool {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt_done_stamp = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        let probes = self.state == State::ProbeRtt;
        if probes {
            self.handle_probe_rtt(window, rs);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
        probes
    }

    fn handle_probe_rtt(&mut self, window: &mut Window, rs: &Sample) {
        if self.probe_rtt_done_stamp.is_none() {
            if rs.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(self.now + PROBE_RTT);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(window);
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window) {
        if self.probe_rtt_done_stamp.is_none_or(|done| self.now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = self.now;
        self.restore_cwnd(window);
        self.bounds.reset_short_term();
        if self.full_bw_reached {
            self.start_down();
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `BDPMultiple`.
    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |min_rtt| gain * bw * min_rtt.as_secs())
    }

    fn bdp(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0)
    }

    /// Returns the size of the largest burst, segments (`SetSendQuantum`).
    fn burst(&self) -> f64 {
        let bytes = (self.pacing_rate * self.mss * 1e-3).min(LARGEST_BURST);
        (bytes / self.mss).max(2.0)
    }

    /// `QuantizationBudget`.
    fn with_bursts(&self, segments: f64) -> f64 {
        let segments = segments.max(3.0 * self.burst()).max(LEAST_WINDOW);
        if self.state == State::Up { segments + 2.0 } else { segments }
    }

    /// Returns `Inflight(1.0)` at a bandwidth.
    fn inflight(&self, bw: f64) -> f64 {
        self.with_bursts(self.bdp_multiple(bw, 1.0))
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, State::ProbeRtt.cwnd_gain()).max(LEAST_WINDOW)
    }

    fn set_cwnd(&mut self, window: &mut Window, rs: &Sample) {
        let target = self.bdp_multiple(self.bw, self.state.cwnd_gain()) + self.extra_acked.get();
        let max_inflight = self.with_bursts(target);
        let few = (self.totals.delivered as f64) < self.initial_window;
        let grown = window.cwnd + rs.newly_acked;
        window.cwnd = if self.full_bw_reached {
            grown.min(max_inflight)
        } else if window.cwnd < max_inflight || few {
            grown
        } else {
            window.cwnd
        };
        window.cwnd = window.cwnd.max(LEAST_WINDOW);
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        window.cwnd = window.cwnd.min(self.bound_for_model());
    }

    /// `BoundCwndForModel`.
    fn bound_for_model(&self) -> f64 {
        let bounds = &self.bounds;
        let cap = match self.state {
            State::Down | State::Refill | State::Up => bounds.inflight_longterm,
            State::Cruise | State::ProbeRtt => bounds.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        cap.min(bounds.inflight_shortterm).max(LEAST_WINDOW)
    }
}

#[cfg(test)]
#[path = "bbr3_tests.rs"]
mod tests;
