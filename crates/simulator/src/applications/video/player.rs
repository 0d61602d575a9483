//! Video player: states by the buffer level (Sanhaji et al. 2015, section VI-B), and quality of experience.
//!
//! ```text
//! buffer > θ₀, or all there   it plays, at first and after a stall
//! buffer < θ₁, not all there  it stalls
//! QoE(L, N) = 3.50 exp(−(0.15 L + 0.19) N) + 1.50        N stalls of L s on average        (2)
//! ```

use tidegate_mechanisms::units::{NANOS_PER_SEC, Span, Time};
use tidegate_scenario::plan;

/// State of the player.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Initial buffering.
    Starting,
    /// Playing since the time given; the span had been played before.
    Playing(Time, Span),
    /// Stalled since the time given; the span has been played.
    Stalled(Time, Span),
    /// Finished at the time given.
    Done(Time),
}

/// Player and its statistics.
#[derive(Clone, Debug)]
pub struct Player {
    rate_bps: u64,
    size_bytes: u64,
    length: Span,
    start_above: Span,
    stall_below: Span,
    received_bytes: u64,
    state: State,
    begun: Time,
    startup: Option<Span>,
    stalls: u32,
    stalled: Span,
}

impl Player {
    /// Returns a player with an empty buffer.
    pub fn new(plan: &plan::Video) -> Self {
        Player {
            rate_bps: plan.rate.as_bps(),
            size_bytes: plan.size_bytes(),
            length: plan.length,
            start_above: plan.start_above,
            stall_below: plan.stall_below,
            received_bytes: 0,
            state: State::Starting,
            begun: Time::ZERO,
            startup: None,
            stalls: 0,
            stalled: Span::ZERO,
        }
    }

    /// Starts at the request for the video.
    pub fn begin(&mut self, now: Time) {
        self.begun = now;
    }

    /// Takes received bytes.
    pub fn receive(&mut self, bytes: u64) {
        self.received_bytes += bytes;
    }

    /// Whether it is playing, so that arrivals need no check before the scheduled one.
    pub fn is_playing(&self) -> bool {
        matches!(self.state, State::Playing(..) | State::Done(_))
    }

    /// Returns the length of video received.
    fn received(&self) -> Span {
        let nanos = u128::from(8 * self.received_bytes) * u128::from(NANOS_PER_SEC);
        Span::from_nanos((nanos / u128::from(self.rate_bps)) as u64)
    }

    fn has_all(&self) -> bool {
        self.received_bytes >= self.size_bytes
    }

    /// Updates the state. Returns the time of the next check, if it is playing.
    pub fn look(&mut self, now: Time) -> Option<Time> {
        match self.state {
            State::Starting if self.may_start(Span::ZERO) => {
                self.startup = Some(now.since(self.begun));
                self.state = State::Playing(now, Span::ZERO);
            }
            State::Stalled(since, played) if self.may_start(played) => {
                self.stalled = self.stalled + now.since(since);
                self.state = State::Playing(now, played);
            }
            State::Playing(since, before) => {
                let played = (before + now.since(since)).min(self.length);
                if played == self.length {
                    self.state = State::Done(since + (self.length - before));
                } else if !self.has_all() && self.received() <= played + self.stall_below {
                    self.stalls += 1;
                    self.state = State::Stalled(now, played);
                }
            }
            _ => {}
        }
        let State::Playing(since, before) = self.state else { return None };
        let end = if self.has_all() { self.length } else { self.received() - self.stall_below };
        Some((since + (end - before)).max(now))
    }

    fn may_start(&self, played: Span) -> bool {
        self.has_all() || self.received() > played + self.start_above
    }

    /// Reports the metrics up to `now`.
    pub fn metrics(&self, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let (current_stall, played) = match self.state {
            State::Starting => (Span::ZERO, Span::ZERO),
            State::Playing(since, before) => (Span::ZERO, before + now.since(since)),
            State::Stalled(since, played) => (now.since(since), played),
            State::Done(_) => (Span::ZERO, self.length),
        };
        let ended_s = match self.state {
            State::Done(at) => at.as_secs(),
            _ => f64::NAN,
        };
        let stalled_s = (self.stalled + current_stall).as_secs();
        let mean_s = if self.stalls > 0 { stalled_s / f64::from(self.stalls) } else { 0.0 };
        each("stalls", f64::from(self.stalls));
        each("mean_stall_s", mean_s);
        each("startup_s", self.startup.map_or(f64::NAN, Span::as_secs));
        each("played_s", played.min(self.length).as_secs());
        each("ended_s", ended_s);
        each("qoe", quality_of_experience(mean_s, f64::from(self.stalls)));
    }
}

/// Returns the quality of experience for this number of stalls of this mean length: 5 without stalls, down to 1.5
/// (Sanhaji et al. 2015, equation 2).
pub fn quality_of_experience(mean_stall_s: f64, stalls: f64) -> f64 {
    3.50 * libm::exp(-(0.15 * mean_stall_s + 0.19) * stalls) + 1.50
}

#[cfg(test)]
pub mod tests {
    use tidegate_mechanisms::units::{Bytes, Factor, Rate};

    use super::*;

    /// Parameters of the paper: 300 s at 1128 kb/s.
    pub fn video() -> plan::Video {
        plan::Video {
            request: None,
            rate: Rate::from_bps(1_128_000),
            length: Span::from_secs(300),
            burst: Span::from_secs(40),
            chunk: Bytes::new(65_536),
            speed: Factor(1.25),
            socket_buffer: Bytes::new(2_000_000),
            start_above: Span::from_millis(2_200),
            stall_below: Span::from_millis(400),
        }
    }

    fn reported(player: &Player, now: Time, name: &str) -> f64 {
        let mut found = f64::NAN;
        player.metrics(now, &mut |what, value| {
            if what == name {
                found = value
            }
        });
        found
    }

    /// Plays data arriving at a constant rate for some time.
    fn played(bps: u64, seconds: u64) -> (Player, Time) {
        let mut player = Player::new(&video());
        let (mut now, mut next) = (Time::ZERO, Time::NEVER);
        for ms in 1..=seconds * 1_000 {
            now = Time::ZERO + Span::from_millis(ms);
            let total = (bps * ms / 8_000).min(42_300_000);
            player.receive(total - player.received_bytes);
            if !player.is_playing() || next <= now {
                next = player.look(now).unwrap_or(Time::NEVER);
            }
        }
        (player, now)
    }

    /// 0.4 Mb/s is 0.355 of the video's rate: 1.8 s of video take 5.1 s to arrive and 2.8 s to play while 0.355 of that
    /// arrives, so that a stall occurs every 7.9 s.
    #[test]
    fn stalls_take_as_long_as_the_video_between_the_thresholds_takes_to_come() {
        let (player, now) = played(400_000, 600);
        let share: f64 = 400.0 / 1128.0;
        let (stall_s, play_s) = (1.8 / share, 1.8 / (1.0 - share));
        assert!((reported(&player, now, "startup_s") - 2.2 / share).abs() < 0.01);
        assert!((reported(&player, now, "mean_stall_s") - stall_s).abs() < 0.1);
        let want = (600.0 - 2.2 / share) / (stall_s + play_s);
        assert!((reported(&player, now, "stalls") - want).abs() < 1.5, "{want}");
        assert!(reported(&player, now, "ended_s").is_nan());
    }

    #[test]
    fn a_video_that_comes_fast_enough_plays_to_its_end() {
        let (player, now) = played(2_000_000, 301);
        // 2.2 s of video take 1.24 s to arrive.
        assert!((reported(&player, now, "startup_s") - 1.24).abs() < 0.01);
        let (player, now) = played(2_000_000, 302);
        let done = ["stalls", "played_s", "qoe"].map(|name| reported(&player, now, name));
        assert_eq!(done, [0.0, 300.0, 5.0]);
        assert!((reported(&player, now, "ended_s") - 301.24).abs() < 0.01);
    }

    /// The last 2 s have arrived; there are no 2.2 s left to wait for.
    #[test]
    fn the_end_of_a_video_is_played_however_short_it_is() {
        let mut player = Player::new(&plan::Video { length: Span::from_secs(2), ..video() });
        player.receive(281_999);
        assert_eq!(player.look(Time::ZERO), None);
        player.receive(1);
        let end = Time::ZERO + Span::from_secs(2);
        assert_eq!(player.look(Time::ZERO), Some(end));
        assert_eq!(player.look(end), None);
        assert_eq!(reported(&player, end, "played_s"), 2.0);
    }

    /// Equation (2) by hand: one stall of 5 s is 3.5 · exp(−0.94) + 1.5.
    #[test]
    fn quality_falls_with_stalls_and_their_length() {
        for (mean_s, stalls, want) in
            [(0.0, 0.0, 5.0), (5.0, 1.0, 2.867), (1.0, 2.0, 3.273), (10.0, 20.0, 1.5)]
        {
            let got = quality_of_experience(mean_s, stalls);
            assert!((got - want).abs() < 1e-3, "{mean_s} s, {stalls}: {got}");
        }
    }
}
