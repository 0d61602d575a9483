//! The cycle of ProbeBW: Down, Cruise, Refill, Up.

use super::{Model, Sample, State};
use crate::sender::Window;
use crate::units::{Span, Time};

/// Maximum number of round trips between two Up states, as for a Reno flow that recovers from a loss.
const RENO_ROUNDS: f64 = 63.0;
/// Maximum exponent of the step by which the long-term bound grows.
const MOST_DOUBLINGS: u32 = 30;

/// Data that ACKs report in relation to the last probe (`ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No probe.
    #[default]
    Init,
    /// Data sent in Refill.
    Refilling,
    /// Data sent before Up.
    ProbeStarting,
    /// Data sent in Up.
    ProbeFeedback,
    /// Data sent in Up, after the end of Up.
    ProbeStopping,
}

/// State of the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    pub rounds_since_probe_up: u32,
    bw_probe_wait: Span,
    cycle_stamp: Time,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: Option<f64>,
    pub prev_probe_precautionary: bool,
}

impl Model {
    pub(super) fn start_down(&mut self) {
        self.bounds.reset_congestion_signals();
        self.cycle.probe_up_acked_per_inc = None;
        self.cycle.rounds_since_probe_up = self.draws.below(2);
        self.cycle.bw_probe_wait = Span::from_secs_f64(2.0 + self.draws.unit());
        self.cycle.cycle_stamp = self.now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.bounds.reset_short_term();
        self.cycle.bw_probe_up_rounds = 0;
        self.cycle.bw_probe_up_acked = 0.0;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, window: &Window, rs: &Sample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = rs.delivery_rate;
        self.state = State::Up;
        self.raise_inflight_longterm_slope(window);
    }

    pub(super) fn update_probe_bw_cycle_phase(&mut self, window: &Window, rs: &Sample) {
        if !self.full_bw_reached || self.adapt_long_term_model(window, rs) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(window) => self.start_refill(),
            State::Down if self.is_time_to_cruise(rs) => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.bounds.is_bw_probe_sample = true;
                self.start_up(window, rs);
            }
            State::Up if self.is_time_to_go_down(window, rs) => {
                self.bounds.prev_probe_too_high = false;
                self.start_down();
            }
            _ => {}
        }
    }

    /// Whether a random time of 2 to 3 s has passed, or the number of round trips that a Reno flow with this window
    /// needs to recover from a loss.
    fn is_time_to_probe(&self, window: &Window) -> bool {
        let cycle = &self.cycle;
        let rounds = self.target_inflight(window).min(RENO_ROUNDS);
        self.now > cycle.cycle_stamp + cycle.bw_probe_wait
            || f64::from(cycle.rounds_since_probe_up) >= rounds
    }

    fn is_time_to_cruise(&self, rs: &Sample) -> bool {
        rs.in_flight <= self.bounds.inflight_with_headroom()
            && rs.in_flight <= self.inflight(self.max_bw.get())
    }

    fn is_time_to_go_down(&mut self, window: &Window, rs: &Sample) -> bool {
        let longterm = self.bounds.inflight_longterm;
        if self.bounds.prev_probe_too_high && rs.in_flight >= longterm {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if rs.window_limited && window.cwnd >= longterm {
            self.reset_full_bw();
            self.full_bw = rs.delivery_rate;
            return false;
        }
        self.full_bw_now
    }

    /// Adapts the long-term bounds. Returns whether it has made a transition.
    fn adapt_long_term_model(&mut self, window: &Window, rs: &Sample) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.bounds.is_bw_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            let in_probe_bw = self.state.is_in_probe_bw();
            if in_probe_bw && !rs.app_limited {
                self.max_bw.advance();
            }
            let was_safe = !self.bounds.prev_probe_too_high;
            if in_probe_bw && self.cycle.prev_probe_precautionary && was_safe {
                self.start_refill();
                return true;
            }
        }
        let longterm = self.bounds.inflight_longterm;
        if longterm.is_finite() && !self.is_inflight_too_high(rs.lost, rs.tx_in_flight) {
            self.bounds.inflight_longterm = longterm.max(rs.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(window, rs);
            }
        }
        false
    }

    fn probe_inflight_longterm_upward(&mut self, window: &Window, rs: &Sample) {
        if !rs.window_limited || window.cwnd < self.bounds.inflight_longterm {
            return;
        }
        if let Some(per_inc) = self.cycle.probe_up_acked_per_inc {
            self.cycle.bw_probe_up_acked += rs.newly_acked;
            let steps = (self.cycle.bw_probe_up_acked / per_inc) as u32;
            self.cycle.bw_probe_up_acked -= f64::from(steps) * per_inc;
            self.bounds.inflight_longterm += f64::from(steps);
        }
        if self.round_start {
            self.raise_inflight_longterm_slope(window);
        }
    }

    /// Doubles the growth of the long-term bound per round trip.
    fn raise_inflight_longterm_slope(&mut self, window: &Window) {
        let growth = f64::from(1u32 << self.cycle.bw_probe_up_rounds);
        self.cycle.bw_probe_up_rounds = (self.cycle.bw_probe_up_rounds + 1).min(MOST_DOUBLINGS);
        self.cycle.probe_up_acked_per_inc = Some((window.cwnd / growth).max(1.0));
    }
}
