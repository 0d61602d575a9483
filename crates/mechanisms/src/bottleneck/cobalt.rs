//! COBALT, CoDel and BLUE together: the AQM of each of CAKE's queues.
//! T. Hoeiland-Joergensen, D. Taht and J. Morton, "Piece of CAKE: A Comprehensive Queue Management
//! Solution for Home Gateways", IEEE LANMAN 2018; rules as in Linux's `sch_cake.c`.
//!
//! COBALT combines CoDel's schedule with a counter that decreases as it has increased, so that no state has to be
//! estimated when a queue builds up again, and BLUE, a drop probability that overflows raise and an empty queue lowers,
//! against flows that do not respond to CoDel's signals:
//!
//! ```text
//! packet leaves   above:  sojourn > target and sojourn > 4 packets' time;   begins: count ← max(1, count), next ← now + interval/√count
//!                 due (count > 0, now ≥ next) and above:  signal, count + 1, next + interval/√count
//!                 due and not above:  count − 1, next + interval/√count, until it is not due
//!                 dropped with probability p, whether ECN-capable or not
//!                 count = 0: next ← now + interval;   late and nothing dropped: next ← now
//! overflow        p ← p + 2⁻⁸;    above, next ← now, count ← max(1, count)
//! found empty     p ← p − 2⁻¹²;   not above;   if due: count − 1, next + interval/√count
//! ```
//!
//! p moves at most once per target. Where the link's rate is known, as with CAKE's shaper, target is at least one and a
//! half packets' time, interval grows by as much as target does and is at least two targets (`cake_set_rate`), and a
//! sojourn of up to four packets' time is never `above`. It differs from the kernel's in the square root, which is exact.
//! As there, 1/√count is 0 until `count` changes after a queue's first packet that is `above` (`cobalt_vars_init`): the
//! first signal of a new queue comes with the packet after that one, and not an interval later.

use super::{DropReason, Verdict};
use crate::units::{Span, Time};

/// Step of BLUE's increase, in units of 2⁻³².
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// Parameters of COBALT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltParams {
    /// Acceptable delay.
    pub target: Span,
    /// Time for which the delay may be higher; about a worst-case round-trip time.
    pub interval: Span,
    /// Transmission time of a full packet; zero if the rate is unknown.
    pub packet_time: Span,
}

impl CobaltParams {
    /// Returns the parameters for a link that takes `packet_time` to send a full packet (Linux, `cake_set_rate`).
    pub fn at_rate(target: Span, interval: Span, packet_time: Span) -> Self {
        let raised = target.max(Span::from_nanos(packet_time.as_nanos() * 3 / 2));
        let interval = (interval + (raised - target)).max(raised * 2);
        CobaltParams { target: raised, interval, packet_time }
    }

    /// Whether a packet has waited too long.
    #[inline]
    fn is_above(&self, sojourn: Span) -> bool {
        sojourn > self.target && sojourn > self.packet_time * 4
    }
}

/// State of one queue.
#[derive(Clone, Debug, Default)]
pub struct Cobalt {
    /// Number of signals, which determines their rate.
    count: u32,
    /// Whether 1/√count has been computed; before, it is 0.
    has_root: bool,
    above: bool,
    /// Time of the next signal; with a count of zero, the time until which the state is kept.
    next: Time,
    /// Drop probability p of BLUE, in units of 2⁻³².
    blue: u32,
    blue_moved: Time,
}

impl Cobalt {
    /// Judges a packet that leaves after `sojourn`; `draw` returns a random number in [0, 1). The last packet of a
    /// queue is never dropped.
    #[inline]
    pub fn on_departure(
        &mut self,
        params: &CobaltParams,
        now: Time,
        sojourn: Span,
        may_mark: bool,
        is_last: bool,
        draw: impl FnOnce() -> f64,
    ) -> Verdict {
        let was_due = self.is_due(now);
        let mut late = now > self.next;
        let above = params.is_above(sojourn);
        if above {
            if !self.above {
                self.next = now + self.pause(params);
            }
            self.count = self.count.max(1);
        }
        self.above = above;
        let (mut mark, mut drop) = (false, false);
        if was_due && self.above {
            (mark, drop) = (may_mark, !may_mark);
            self.count = self.count.saturating_add(1);
            self.has_root = true;
            self.next += self.pause(params);
            late = now > self.next;
        } else if was_due {
            while self.is_due(now) {
                self.step_down(params);
            }
            late = now > self.next;
        }
        drop |= self.blue > 0 && draw() * 4_294_967_296.0 < f64::from(self.blue);
        if self.count == 0 {
            self.next = now + params.interval;
        } else if late && !drop {
            self.next = now;
        }
        match drop && !is_last {
            true => Verdict::Drop(DropReason::Aqm),
            false if mark => Verdict::Mark,
            false => Verdict::Pass,
        }
    }

    /// Handles the drop of a packet of this queue by a full buffer.
    pub fn on_overflow(&mut self, params: &CobaltParams, now: Time) {
        if now.since(self.blue_moved) > params.target {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_moved = now;
        }
        (self.above, self.next, self.count) = (true, now, self.count.max(1));
    }

    /// Handles a turn of the queue at which no packet waited.
    pub fn on_empty(&mut self, params: &CobaltParams, now: Time) {
        if self.blue > 0 && now.since(self.blue_moved) > params.target {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_moved = now;
        }
        self.above = false;
        if self.is_due(now) {
            self.step_down(params);
        }
    }

    /// Whether the state is equal to the initial one.
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.blue == 0 && self.count == 0 && now >= self.next
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.next
    }

    fn step_down(&mut self, params: &CobaltParams) {
        self.count -= 1;
        self.has_root = true;
        self.next += self.pause(params);
    }

    /// Returns interval/√count; the whole interval for a count of zero, and zero before the first change of the count.
    fn pause(&self, params: &CobaltParams) -> Span {
        if !self.has_root {
            return Span::ZERO;
        }
        let interval_ns = params.interval.as_nanos() as f64;
        Span::from_nanos((interval_ns / libm::sqrt(f64::from(self.count.max(1)))) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARAMS: CobaltParams = CobaltParams {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        packet_time: Span::ZERO,
    };

    const DROP: Verdict = Verdict::Drop(DropReason::Aqm);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn judge(cobalt: &mut Cobalt, ms: u64, sojourn_ms: u64, may_mark: bool) -> Verdict {
        let never = || panic!("BLUE is at rest");
        cobalt.on_departure(&PARAMS, at(ms), Span::from_millis(sojourn_ms), may_mark, false, never)
    }

    /// Returns the state of a queue that has signalled before.
    fn known() -> Cobalt {
        Cobalt { has_root: true, ..Cobalt::default() }
    }

    /// Delays of 20 ms from 50 ms on: the first signal at the second such packet, the next one 100/√2 ms later.
    #[test]
    fn the_first_signal_of_a_new_queue_does_not_wait_for_an_interval() {
        let mut cobalt = Cobalt::default();
        let signals_ms = (0..160).filter(|ms| {
            judge(&mut cobalt, *ms, if *ms < 50 { 1 } else { 20 }, true) == Verdict::Mark
        });
        assert_eq!(signals_ms.collect::<Vec<_>>(), [51, 121]);
    }

    /// Linux, `cake_set_rate`, by hand: 1500 B take 12 ms at 1 Mb/s, and 0.12 ms at 100 Mb/s.
    #[test]
    fn a_slow_link_raises_target_and_interval() {
        let (target, interval) = (PARAMS.target, PARAMS.interval);
        for (packet_us, want_ms) in [(12_000, (18, 113)), (120, (5, 100)), (120_000, (180, 360))] {
            let raised = CobaltParams::at_rate(target, interval, Span::from_micros(packet_us));
            let want = (Span::from_millis(want_ms.0), Span::from_millis(want_ms.1));
            assert_eq!((raised.target, raised.interval), want, "{packet_us} us");
        }
    }

    /// At 12 ms a packet, a persistent delay of 48 ms causes no signal.
    #[test]
    fn less_than_four_packets_are_not_signalled() {
        let params = CobaltParams::at_rate(PARAMS.target, PARAMS.interval, Span::from_millis(12));
        for (sojourn_ms, signals) in [(48, false), (49, true)] {
            let (mut cobalt, sojourn) = (Cobalt::default(), Span::from_millis(sojourn_ms));
            let never = || panic!("BLUE is at rest");
            let mut judge = |ms| cobalt.on_departure(&params, at(ms), sojourn, true, false, never);
            let marked = (1..1_000).any(|n| judge(12 * n) == Verdict::Mark);
            assert_eq!(marked, signals, "{sojourn_ms} ms");
        }
    }

    /// Departures every millisecond, after 20 ms each from the 50th on: the first signal at 150 ms, the
    /// following ones 100/√2 = 70.7, 57.7, 50, 44.7 ms later each, seen at the next whole millisecond.
    #[test]
    fn signals_come_closer_by_the_square_root_of_their_number() {
        for (may_mark, signal) in [(true, Verdict::Mark), (false, DROP)] {
            let mut cobalt = known();
            let mut signals_ms = Vec::new();
            for ms in 0..400 {
                let verdict = judge(&mut cobalt, ms, if ms < 50 { 1 } else { 20 }, may_mark);
                assert!(verdict == Verdict::Pass || verdict == signal, "{verdict:?}");
                signals_ms.extend((verdict == signal).then_some(ms));
            }
            assert_eq!(signals_ms, [150, 221, 279, 329, 374]);
        }
    }

    /// Three signals have raised the counter to 4; at low delay it decreases with the same times: 50 ms after the last
    /// signal to 3, 57.7 ms later to 2, 70.7 to 1, 100 to 0.
    #[test]
    fn the_counter_goes_down_as_it_came_up() {
        let mut cobalt = known();
        let mut changes = Vec::new();
        for ms in 0..800 {
            let before = cobalt.count;
            judge(&mut cobalt, ms, if (50..300).contains(&ms) { 20 } else { 1 }, true);
            if cobalt.count != before {
                changes.push((ms, cobalt.count));
            }
        }
        let up = [(50, 1), (150, 2), (221, 3), (279, 4)];
        let down = [(329, 3), (387, 2), (457, 1), (557, 0)];
        assert_eq!(changes, [up, down].concat());
        // Kept for 100 ms after the last packet.
        assert!(!cobalt.is_at_rest(at(898)) && cobalt.is_at_rest(at(899)));
    }

    /// 2⁻⁸ up for an overflow, 2⁻¹² down for an empty queue, once in 5 ms.
    #[test]
    fn blue_rises_by_overflows_and_falls_when_the_queue_is_empty() {
        let mut cobalt = Cobalt::default();
        for ms in 100..130 {
            cobalt.on_overflow(&PARAMS, at(ms));
        }
        assert_eq!(
            f64::from(cobalt.blue) / 4_294_967_296.0,
            5.0 / 256.0,
            "at 100, 106, ... 124 ms"
        );
        let below = 5.0 / 256.0 - 1e-9;
        for (draw, is_last, want) in [
            (below, false, DROP),
            (below, true, Verdict::Pass),
            (5.0 / 256.0, false, Verdict::Pass),
        ] {
            let mut cobalt = Cobalt { count: 0, ..cobalt.clone() };
            let verdict = cobalt.on_departure(&PARAMS, at(130), Span::ZERO, true, is_last, || draw);
            assert_eq!(verdict, want, "marks are not enough, and one packet is left");
        }
        for ms in 130..160 {
            cobalt.on_empty(&PARAMS, at(ms));
        }
        let want = 5.0 / 256.0 - 5.0 / 4096.0;
        assert_eq!(f64::from(cobalt.blue) / 4_294_967_296.0, want, "at 130, 136, ... 154 ms");
        assert!(!cobalt.is_at_rest(at(10_000)));
    }

    proptest! {
        #[test]
        fn no_signal_while_the_delay_is_low(steps in prop::collection::vec(0u64..300, 1..300)) {
            let (mut cobalt, mut now_ms) = (Cobalt::default(), 0);
            for step in steps {
                now_ms += step;
                prop_assert_eq!(judge(&mut cobalt, now_ms, 5, false), Verdict::Pass);
            }
        }
    }
}
