//! BBR version 1: a model of the path, its rate and its shortest round trip, sets window and pacing rate.
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh and V. Jacobson, "BBR: congestion-based congestion
//! control", Communications of the ACM 60(2), 2017; by the rules of Linux's `net/ipv4/tcp_bbr.c`.
//!
//! ```text
//! BtlBw  = largest delivery rate in the last 10 round trips
//! RTprop = smallest round trip in the last 10 s
//! rate   = 0.99 · pacing gain · BtlBw
//! cwnd   = cwnd gain · BtlBw · RTprop + ACK aggregation + 3 bursts, at least 4 segments
//!
//! state      pacing gain                   cwnd gain    until
//! Startup    2.89                          2.89         BtlBw has grown by less than 25 % in 3 round trips
//! Drain      0.34                          2.89         no more in flight than BtlBw · RTprop
//! ProbeBW    5/4, 3/4, 1, 1, 1, 1, 1, 1    2            RTprop is 10 s old; a gain lasts RTprop, the first until as much
//!                                                       is in flight or a loss, the second at most until that has drained
//! ProbeRTT   1                             cwnd = 4     200 ms and a round trip with 4 segments in flight
//! ```
//!
//! ProbeBW begins with a random one of its gains, but for 3/4. Losses change neither model nor rate. In the first round
//! trip of a recovery as many segments leave as arrive (packet conservation); later the window grows back, and its end
//! restores it. Where an interval and the next have many losses and the same rate, the flow keeps to that rate: a policer
//! (`lt_bw`). Marks (ECN) mean nothing to it.
//!
//! Bandwidths are floating-point numbers where Linux has 24 bits after the point, and times are in nanoseconds where it
//! has microseconds and, for RTprop's age, ticks.

mod aggregation;
mod long_term;

use super::path_model::{
    Beginning, Draws, ModelPath, PathEstimate, RateSample, Recovering, Totals,
};
use super::windowed_max::WindowedMax;
use super::{Ack, Control, Sender, Window};
use crate::mechanism::About;
use crate::parameters;
use crate::units::{Span, Time};
use aggregation::Aggregation;
use long_term::{LongTerm, PolicerFinding, PolicerSample};

/// Gain of Startup, 2/ln 2, in Linux's fixed point.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// Gain of Drain, the inverse of Startup's.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Gain of the window in ProbeBW.
const CWND_GAIN: f64 = 2.0;
/// Gains of ProbeBW, each for a round trip.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Length of the bandwidth filter, round trips.
const BANDWIDTH_ROUNDS: u32 = 10;
/// Age of the minimum round-trip time at which it is measured again.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Time in ProbeRTT with the minimum window.
const PROBE_RTT: Span = Span::from_millis(200);
/// Minimum window, segments.
const LEAST_WINDOW: u32 = 4;
/// Minimum growth of the bandwidth while the pipe is not full.
const FULL_GROWTH: f64 = 1.25;
/// Number of round trips without this growth that end Startup.
const FULL_ROUNDS: u32 = 3;
/// Pacing rate as a fraction of the model's rate.
const PACING_MARGIN: f64 = 0.99;
/// Rate of payload below which a burst may be a single segment, bytes per second.
const SINGLE_BELOW: f64 = 1.2e6 / 8.0;
/// Size of the largest burst (`GSO_MAX_SIZE - 1 - MAX_TCP_HEADER`), bytes.
const LARGEST_BURST: f64 = 65_536.0 - 1.0 - 320.0;
/// Initial window of Linux (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;

parameters! {
    /// BBR version 1, as Linux has it. Paces its segments.
    pub struct BbrParams {}
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR.
#[derive(Clone, Debug)]
pub struct Bbr(Box<Model>);

/// State of BBR. Rates are in segments per second.
#[derive(Clone, Debug, Default)]
struct Model {
    mss: f64,
    draws: Draws,
    state: State,
    totals: Totals,
    pacing_rate: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    bandwidth: WindowedMax,
    rounds: u32,
    round_start: bool,
    /// Number of delivered segments at which the current round trip ends.
    round_end: u64,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// Whether an RTT sample was available when the pacing rate was set first.
    has_seen_rtt: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    cycle_at: Time,
    cycle_index: usize,
    full: bool,
    full_bandwidth: f64,
    full_rounds: u32,
    idle_restart: bool,
    recovering: Recovering,
    packet_conservation: bool,
    /// Window before recovery or ProbeRTT.
    prior_cwnd: u32,
    aggregation: Aggregation,
    long_term: LongTerm,
}

impl Sender for Bbr {
    type Params = BbrParams;

    const ABOUT: About = About {
        name: "bbr",
        title: "BBR",
        source: "Cardwell et al., Communications of the ACM 60(2), 2017; Linux, tcp_bbr.c",
        usage: r#"tcp.congestion_control = "bbr""#,
        file: "sender/bbr.rs",
        text: crate::mechanism::source_text!("bbr.rs"),
    };

    const IS_PACED: bool = true;
}

impl Control for Bbr {
    fn new(_params: BbrParams) -> Self {
        Bbr(Box::default())
    }

    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// Begins loss recovery: the window is stored for its end, and the threshold is kept.
    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        self.0.save_cwnd(window.cwnd as u32);
        window.ssthresh
    }

    fn beta(&self) -> f64 {
        1.0
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
            draws: Draws::new(beginning.seed),
            min_rtt: rtt,
            min_rtt_at: now,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            ..Model::default()
        };
        self.aggregation.begin(now);
        self.start_pacing(window, rtt);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &RateSample) -> bool {
        self.totals = sample.totals;
        self.update_bandwidth(sample);
        if sample.delivery().is_some() {
            let (bandwidth, cwnd) = (self.bandwidth(), window.cwnd as u32);
            let acked = sample.newly_delivered;
            self.aggregation.on_ack(acked, bandwidth, cwnd, self.round_start, sample.now);
        }
        if self.state == State::ProbeBw && self.is_next_phase(sample) {
            self.next_phase(self.totals.delivered_at);
        }
        self.check_full(sample);
        self.check_drain(window, sample);
        let limits = self.update_min_rtt(window, sample);
        self.update_gains();
        self.pace(window, sample);
        self.set_window(window, sample);
        limits
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) {
        self.idle_restart = true;
        self.aggregation.begin(now);
        match self.state {
            State::ProbeBw => self.set_pacing_rate(self.bandwidth()),
            State::ProbeRtt => self.check_probe_rtt_done(window, now),
            State::Startup | State::Drain => {}
        }
    }

    fn on_timeout(&mut self, totals: Totals) {
        self.recovering = Recovering::Timeout;
        self.full_bandwidth = 0.0;
        // A timeout counts as the end of a round trip.
        self.round_start = true;
        self.totals = totals;
        self.look_for_policer(true, false);
    }

    fn on_undo(&mut self, _window: &mut Window) {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        self.long_term.reset(self.totals);
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn least_burst(&self) -> u32 {
        if self.pacing_rate * self.mss < SINGLE_BELOW { 1 } else { 2 }
    }

    fn estimate(&self) -> PathEstimate {
        PathEstimate {
            state: match self.state {
                State::Startup => "startup",
                State::Drain => "drain",
                State::ProbeBw => "probe-bw",
                State::ProbeRtt => "probe-rtt",
            },
            bandwidth: self.bandwidth(),
            pacing_rate: self.pacing_rate,
            min_rtt: self.min_rtt,
            inflight_hi: None,
            inflight_lo: None,
        }
    }
}

impl Model {
    /// Returns the estimated bandwidth: that of a policer, if one is detected.
    fn bandwidth(&self) -> f64 {
        self.long_term.rate().unwrap_or(self.bandwidth.get())
    }

    /// Sets the pacing rate to the gain of Startup times the window per round trip, or per 1 ms.
    fn start_pacing(&mut self, window: &Window, rtt: Option<Span>) {
        self.has_seen_rtt = rtt.is_some();
        let rtt_s = rtt.map_or(1e-3, |rtt| rtt.as_secs().max(1e-6));
        self.pacing_rate = PACING_MARGIN * HIGH_GAIN * window.cwnd / rtt_s;
    }

    fn pace(&mut self, window: &Window, sample: &RateSample) {
        if !self.has_seen_rtt && sample.srtt.is_some() {
            self.start_pacing(window, sample.srtt);
        }
        self.set_pacing_rate(self.pacing_gain * self.bandwidth());
    }

    /// Sets the pacing rate, which may only increase before the pipe is full.
    fn set_pacing_rate(&mut self, rate: f64) {
        let rate = PACING_MARGIN * rate;
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some((newest, delivered, interval)) = sample.delivery() else { return };
        if newest.delivered_before >= self.round_end {
            self.round_end = self.totals.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.look_for_policer(sample.newly_lost > 0, newest.app_limited);
        let bandwidth = delivered as f64 / interval.as_secs();
        if !newest.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, bandwidth);
        }
    }

    fn look_for_policer(&mut self, losses: bool, app_limited: bool) {
        let finding = self.long_term.on_sample(&PolicerSample {
            totals: self.totals,
            losses,
            app_limited,
            round_start: self.round_start,
            in_probe_bw: self.state == State::ProbeBw,
            mss: self.mss,
        });
        match finding {
            PolicerFinding::None => {}
            PolicerFinding::Policed => self.pacing_gain = 1.0,
            PolicerFinding::Over => self.enter_probe_bw(),
        }
    }

    /// Returns bandwidth times minimum round-trip time times a gain, segments.
    fn bdp(&self, bandwidth: f64, gain: f64) -> u32 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_WINDOW };
        libm::ceil(bandwidth * min_rtt.as_secs() * gain) as u32
    }

    /// Adds room for three bursts of segmentation offload and for delayed ACKs.
    fn with_bursts(&self, segments: u32) -> u32 {
        let segments = (segments + 3 * self.burst() + 1) & !1;
        segments + if self.state == State::ProbeBw && self.cycle_index == 0 { 2 } else { 0 }
    }

    fn inflight(&self, gain: f64) -> u32 {
        self.with_bursts(self.bdp(self.bandwidth.get(), gain))
    }

    /// Returns the size of a burst, segments: the data sent in a millisecond.
    fn burst(&self) -> u32 {
        let bytes = (self.pacing_rate * self.mss / 1024.0).min(LARGEST_BURST);
        ((bytes / self.mss) as u32).max(self.least_burst()).min(127)
    }

    /// Returns the number of segments in the network when the next is sent.
    fn in_network(&self, in_flight: u32, sample: &RateSample) -> u32 {
        let delivered = (self.bandwidth() * sample.until_departure.as_secs()) as u32;
        let burst = if self.pacing_gain > 1.0 { self.burst() } else { 0 };
        (in_flight + burst).saturating_sub(delivered)
    }

    fn is_next_phase(&self, sample: &RateSample) -> bool {
        let passed = self.totals.delivered_at.since(self.cycle_at);
        let is_full_length = self.min_rtt.is_some_and(|min_rtt| passed > min_rtt);
        if self.pacing_gain == 1.0 {
            return is_full_length;
        }
        let in_flight = self.in_network(sample.prior_in_flight, sample);
        if self.pacing_gain > 1.0 {
            let reached = in_flight >= self.inflight(self.pacing_gain);
            return is_full_length && (sample.newly_lost > 0 || reached);
        }
        is_full_length || in_flight <= self.inflight(1.0)
    }

    fn next_phase(&mut self, now: Time) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_at = now;
    }

    /// Enters ProbeBW with a random gain other than that of draining.
    fn enter_probe_bw(&mut self) {
        self.state = State::ProbeBw;
        self.cycle_index = CYCLE.len() - 1 - self.draws.below(CYCLE.len() as u32 - 1) as usize;
        self.next_phase(self.totals.delivered_at);
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.full || !self.round_start || sample.app_limited() {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= FULL_GROWTH * self.full_bandwidth {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window, sample: &RateSample) {
        if self.state == State::Startup && self.full {
            self.state = State::Drain;
            window.ssthresh = f64::from(self.inflight(1.0));
        }
        let is_drained = || self.in_network(sample.in_flight, sample) <= self.inflight(1.0);
        if self.state == State::Drain && is_drained() {
            self.enter_probe_bw();
        }
    }

    /// Updates the minimum RTT. Returns whether the data in flight count as limited by the application.
    fn update_min_rtt(&mut self, window: &mut Window, sample: &RateSample) -> bool {
        let now = sample.now;
        let expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt {
            let shorter = self.min_rtt.is_none_or(|min_rtt| rtt <= min_rtt);
            if shorter || (expired && !sample.maybe_delayed) {
                (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
            }
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.save_cwnd(window.cwnd as u32);
            self.probe_rtt_done = None;
        }
        let probes = self.state == State::ProbeRtt;
        if probes {
            self.probe_rtt(window, sample);
        }
        if sample.delivery().is_some() {
            self.idle_restart = false;
        }
        probes
    }

    fn probe_rtt(&mut self, window: &mut Window, sample: &RateSample) {
        if self.probe_rtt_done.is_none() {
            if sample.in_flight <= LEAST_WINDOW {
                self.probe_rtt_done = Some(sample.now + PROBE_RTT);
                self.probe_rtt_round_done = false;
                self.round_end = self.totals.delivered;
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(window, sample.now);
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_at = now;
        window.cwnd = window.cwnd.max(f64::from(self.prior_cwnd));
        if self.full {
            self.enter_probe_bw();
        } else {
            self.state = State::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (DRAIN_GAIN, HIGH_GAIN),
            State::ProbeBw if self.long_term.rate().is_some() => (1.0, CWND_GAIN),
            State::ProbeBw => (CYCLE[self.cycle_index], CWND_GAIN),
            State::ProbeRtt => (1.0, 1.0),
        };
    }

    /// Stores the last window that neither recovery nor ProbeRTT has reduced.
    fn save_cwnd(&mut self, cwnd: u32) {
        let is_cut = self.recovering != Recovering::No || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    fn set_window(&mut self, window: &mut Window, sample: &RateSample) {
        let acked = sample.newly_delivered;
        if acked > 0 {
            let (cwnd, conserves) = self.recovered(window.cwnd as u32, sample);
            let cwnd = if conserves { cwnd } else { self.grown(cwnd, acked) };
            window.cwnd = f64::from(cwnd);
        }
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(f64::from(LEAST_WINDOW));
        }
    }

    /// Returns the window during recovery, and whether packet conservation applies.
    fn recovered(&mut self, cwnd: u32, sample: &RateSample) -> (u32, bool) {
        let mut cwnd = if sample.newly_lost > 0 {
            cwnd.saturating_sub(sample.newly_lost).max(1)
        } else {
            cwnd
        };
        let conserved = sample.in_flight + sample.newly_delivered;
        let before = core::mem::replace(&mut self.recovering, sample.recovering);
        if sample.recovering == Recovering::Fast && before != Recovering::Fast {
            self.packet_conservation = true;
            self.round_end = self.totals.delivered;
            cwnd = conserved;
        } else if before != Recovering::No && sample.recovering == Recovering::No {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation { (cwnd.max(conserved), true) } else { (cwnd, false) }
    }

    /// Returns the window increased towards the model's window, by at most the acknowledged segments.
    fn grown(&self, cwnd: u32, acked: u32) -> u32 {
        let bandwidth = self.bandwidth();
        let aggregation = if self.full { self.aggregation.allowance(bandwidth) } else { 0 };
        let target = self.with_bursts(self.bdp(bandwidth, self.cwnd_gain) + aggregation);
        let cwnd = if self.full {
            (cwnd + acked).min(target)
        } else if cwnd < target || self.totals.delivered < u64::from(INITIAL_WINDOW) {
            cwnd + acked
        } else {
            cwnd
        };
        cwnd.max(LEAST_WINDOW)
    }
}

#[cfg(test)]
#[path = "bbr_tests.rs"]
mod tests;
