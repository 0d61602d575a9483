//! Bounds of the bandwidth and of the data in flight, set by losses and marks.

use super::{BETA, HEADROOM, LEAST_WINDOW, LOSS_THRESHOLD, Model, Sample, State, Undo};
use crate::sender::Window;
use crate::sender::path_model::{LostSegment, RateSample};

/// Maximum delivery rate of the current and the previous cycle of ProbeBW (`max_bw_filter`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBandwidth {
    before: f64,
    present: f64,
}

impl MaxBandwidth {
    pub(super) fn get(&self) -> f64 {
        self.before.max(self.present)
    }

    pub(super) fn update(&mut self, rate: f64) {
        self.present = self.present.max(rate);
    }

    /// Starts another cycle, unless the current one has no samples.
    pub(super) fn advance(&mut self) {
        if self.present > 0.0 {
            *self = MaxBandwidth { before: self.present, present: 0.0 };
        }
    }
}

/// Bounds, and the measurements of the current round trip that set them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    pub bw_latest: f64,
    pub inflight_latest: f64,
    pub is_loss_in_round: bool,
    pub loss_round_start: bool,
    loss_round_delivered: u64,
    /// Number of discontiguous losses in the current round trip, and in the previous one.
    losses: u32,
    pub losses_of_round: u32,
    last_lost: Option<u64>,
    /// Number of marked segments in the current round trip.
    marks: u32,
    pub is_bw_probe_sample: bool,
    pub prev_probe_too_high: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            is_loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0,
            losses: 0,
            losses_of_round: 0,
            last_lost: None,
            marks: 0,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
        }
    }
}

impl Bounds {
    pub(super) fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// Counts a loss. Returns whether it is the first of the round trip.
    pub(super) fn note_loss(&mut self, delivered: u64) -> bool {
        let first = !self.is_loss_in_round;
        if first {
            self.loss_round_delivered = delivered;
        }
        self.is_loss_in_round = true;
        first
    }

    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &Sample) {
        if self.loss_round_start {
            self.bw_latest = rs.delivery_rate;
            self.inflight_latest = rs.delivered as f64;
        }
    }

    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(LEAST_WINDOW)
    }
}

impl Model {
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &Sample) {
        let bounds = &mut self.bounds;
        bounds.loss_round_start = false;
        bounds.bw_latest = bounds.bw_latest.max(rs.delivery_rate);
        bounds.inflight_latest = bounds.inflight_latest.max(rs.delivered as f64);
        if rs.prior_delivered.is_some_and(|prior| prior >= bounds.loss_round_delivered) {
            bounds.loss_round_delivered = self.totals.delivered;
            bounds.loss_round_start = true;
            bounds.losses_of_round = core::mem::take(&mut bounds.losses);
            bounds.marks = 0;
        }
    }

    pub(super) fn update_congestion_signals(&mut self, window: &Window, rs: &Sample) {
        self.update_max_bw(rs);
        if !self.bounds.loss_round_start {
            return;
        }
        if self.bounds.is_loss_in_round && !self.state.probes_bandwidth() {
            self.lower_short_term(window);
        }
        self.bounds.is_loss_in_round = false;
    }

    /// `InitLowerBounds`, `LossLowerBounds`.
    fn lower_short_term(&mut self, window: &Window) {
        let (max_bw, bounds) = (self.max_bw.get(), &mut self.bounds);
        if bounds.bw_shortterm.is_infinite() {
            bounds.bw_shortterm = max_bw;
        }
        if bounds.inflight_shortterm.is_infinite() {
            bounds.inflight_shortterm = window.cwnd;
        }
        bounds.bw_shortterm = bounds.bw_latest.max(BETA * bounds.bw_shortterm);
        bounds.inflight_shortterm = bounds.inflight_latest.max(BETA * bounds.inflight_shortterm);
    }

    pub(super) fn is_inflight_too_high(&self, lost: f64, in_flight: f64) -> bool {
        lost > LOSS_THRESHOLD * in_flight || (lost > 0.0 && !self.selective)
    }

    /// `HandleLostPacket`.
    pub(super) fn handle_lost_segment(&mut self, window: &Window, lost: &LostSegment) {
        if self.bounds.note_loss(self.totals.delivered) {
            self.save_state_upon_loss(window);
        }
        if self.bounds.last_lost.is_none_or(|last| lost.segment != last + 1) {
            self.bounds.losses += 1;
        }
        self.bounds.last_lost = Some(lost.segment);
        if !self.bounds.is_bw_probe_sample {
            return;
        }
        let in_flight = f64::from(lost.in_flight);
        let since = (lost.totals.lost - lost.lost_before) as f64;
        if self.is_inflight_too_high(since, in_flight) {
            let at_loss = inflight_at_loss(in_flight, since);
            self.handle_inflight_too_high(window, at_loss, lost.app_limited);
        }
    }

    /// Processes marks as losses.
    pub(super) fn note_marks(&mut self, window: &Window, sample: &RateSample, rs: &Sample) {
        if sample.newly_marked == 0 && !sample.congestion {
            return;
        }
        if self.bounds.note_loss(self.totals.delivered) {
            self.save_state_upon_loss(window);
        }
        self.bounds.marks += sample.newly_marked;
        let counted = sample.newly_marked > 0;
        let many = f64::from(self.bounds.marks) > LOSS_THRESHOLD * rs.tx_in_flight;
        if self.bounds.is_bw_probe_sample && (many || !counted) {
            self.handle_inflight_too_high(window, rs.tx_in_flight, rs.app_limited);
        }
    }

    fn handle_inflight_too_high(&mut self, window: &Window, in_flight: f64, app_limited: bool) {
        self.bounds.prev_probe_too_high = true;
        self.bounds.is_bw_probe_sample = false;
        if !app_limited {
            let least = self.target_inflight(window) * BETA;
            self.bounds.inflight_longterm = in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down();
        }
    }

    /// Returns the target for the data in flight, limited by the window if congestion has reduced it.
    pub(super) fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp().min(window.cwnd)
    }

    pub(super) fn save_state_upon_loss(&mut self, window: &Window) {
        self.save_cwnd(window);
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bounds.bw_shortterm,
            inflight_shortterm: self.bounds.inflight_shortterm,
            inflight_longterm: self.bounds.inflight_longterm,
        };
    }

    pub(super) fn handle_spurious_loss_detection(&mut self, window: &mut Window) {
        self.restore_cwnd(window);
        self.reset_full_bw();
        let (undo, bounds) = (self.undo, &mut self.bounds);
        bounds.is_loss_in_round = false;
        bounds.bw_shortterm = bounds.bw_shortterm.max(undo.bw_shortterm);
        bounds.inflight_shortterm = bounds.inflight_shortterm.max(undo.inflight_shortterm);
        bounds.inflight_longterm = bounds.inflight_longterm.max(undo.inflight_longterm);
        self.undo.state = None;
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

/// Returns the data in flight at which the loss rate exceeded the threshold.
fn inflight_at_loss(in_flight: f64, lost: f64) -> f64 {
    let (in_flight_before, lost_before) = (in_flight - 1.0, lost - 1.0);
    let prefix = (LOSS_THRESHOLD * in_flight_before - lost_before) / (1.0 - LOSS_THRESHOLD);
    in_flight_before + prefix
}
