//! The sender's timer: a single one, set for the next action.
//!
//! It requests a wake-up only if none comes soon enough already; an early wake-up requests the next.

use tidegate_mechanisms::units::{Span, Time};

use super::kernel::Kernel;
use super::timer_wheel;
use crate::event_queue::TimerStatus;
use crate::tcp::HostContext;

/// Purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Retransmission timeout.
    Timeout,
    /// Tail loss probe.
    Probe,
    /// Reordering timer of loss detection.
    Reordering,
    /// Release of paced segments.
    Release,
}

/// Timer of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    restarts_on_retransmit: bool,
    restarts_on_each_ack: bool,
    /// Number of SYN retransmissions before the timeout begins to double.
    even_requests: u8,
    /// Whether it expires in steps of Linux's timer wheel.
    in_wheel: bool,
    /// Tick of the kernel's clock, µs.
    tick_us: u16,
    purpose: Purpose,
    /// Expiry time.
    deadline: Time,
    /// Release time of paced segments: a second alarm besides the deadline.
    release: Time,
    /// Time of the pending wake-up.
    wake_at: Time,
}

impl Timer {
    /// Returns a timer that is not set. With `restarts_on_retransmit`, every retransmission of the first segment
    /// restarts it (RFC 6675, section 6), not only the one that starts a fast recovery. With `restarts_on_each_ack`, so
    /// do ACKs of no new data. With `in_wheel`, it expires in steps of Linux's timer wheel.
    pub fn new(restarts_on_retransmit: bool, restarts_on_each_ack: bool, in_wheel: bool) -> Self {
        Timer {
            restarts_on_retransmit,
            restarts_on_each_ack,
            even_requests: 0,
            in_wheel,
            tick_us: micros(Kernel::default().tick),
            purpose: Purpose::Timeout,
            deadline: Time::NEVER,
            release: Time::NEVER,
            wake_at: Time::NEVER,
        }
    }

    /// Returns the purpose for which it is or was last set.
    #[inline]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Returns the purpose of its next expiry.
    #[cfg(test)]
    pub fn next_purpose(&self) -> Purpose {
        if self.release < self.deadline { Purpose::Release } else { self.purpose }
    }

    /// Returns the time added to the waits of loss detection: two ticks of the kernel's clock.
    #[inline]
    pub fn least(&self) -> Span {
        self.tick() * 2
    }

    /// Returns a tick of the kernel's clock.
    pub fn tick(&self) -> Span {
        Span::from_micros(self.tick_us.into())
    }

    /// Returns a wait of loss detection as the kernel counts it: plus `least`, rounded up to ticks
    /// (`usecs_to_jiffies`).
    pub fn in_ticks(&self, wait: Span) -> Span {
        let tick = self.tick().as_nanos();
        Span::from_nanos((wait + self.least()).as_nanos().div_ceil(tick) * tick)
    }

    /// Sets the tick of the kernel's clock.
    pub fn set_tick(&mut self, tick: Span) {
        self.tick_us = micros(tick);
    }

    /// Returns the number of SYN retransmissions before the timeout begins to double.
    pub fn even_requests(&self) -> u64 {
        u64::from(self.even_requests)
    }

    /// Sets the number of SYN retransmissions before the timeout begins to double.
    pub fn set_even_requests(&mut self, requests: u32) {
        self.even_requests = requests.min(u8::MAX.into()) as u8;
    }

    /// Whether every retransmission of the first segment restarts it.
    #[inline]
    pub fn restarts_on_retransmit(&self) -> bool {
        self.restarts_on_retransmit
    }

    /// Whether every ACK restarts it.
    #[inline]
    pub fn restarts_on_each_ack(&self) -> bool {
        self.restarts_on_each_ack
    }

    /// Whether it is set.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.deadline != Time::NEVER
    }

    /// Sets or resets the timer.
    #[inline]
    pub fn set(&mut self, purpose: Purpose, at: Time, ctx: &mut HostContext) {
        let at = if self.in_wheel { timer_wheel::expiry(ctx.now, at, self.tick()) } else { at };
        self.purpose = purpose;
        self.deadline = at;
        if at < self.wake_at {
            self.wake_sooner(ctx);
        }
    }

    /// Sets the release time of paced segments.
    pub fn set_release(&mut self, at: Time, ctx: &mut HostContext) {
        self.release = at;
        if at < self.wake_at {
            self.wake_sooner(ctx);
        }
    }

    /// Requests an earlier wake-up, which is rare, since deadlines mostly move to later times.
    #[cold]
    fn wake_sooner(&mut self, ctx: &mut HostContext) {
        self.wake_at = self.first();
        ctx.wake_sender(self.wake_at);
    }

    /// Returns the time of its next action.
    #[inline]
    fn first(&self) -> Time {
        self.deadline.min(self.release)
    }

    /// Whether it is set for a retransmission timeout.
    #[inline]
    pub fn is_set_for_timeout(&self) -> bool {
        self.is_set() && self.purpose == Purpose::Timeout
    }

    /// Stops the timer.
    #[inline]
    pub fn clear(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// Returns the status of a wake-up due at `at`, now or later: deadlines never move to an earlier time without
    /// another wake-up.
    #[inline]
    pub fn foresee(&mut self, at: Time) -> TimerStatus {
        if at != self.wake_at {
            return TimerStatus::Void;
        }
        let first = self.first();
        if first <= at || first == Time::NEVER {
            return TimerStatus::Due;
        }
        self.wake_at = first;
        TimerStatus::Later(first)
    }

    /// Handles a wake-up. Returns the purpose of the timer, if it has expired.
    pub fn on_wake(&mut self, ctx: &mut HostContext) -> Option<Purpose> {
        match self.foresee(ctx.now) {
            TimerStatus::Due => {}
            TimerStatus::Later(at) => {
                ctx.wake_sender(at);
                return None;
            }
            TimerStatus::Void => return None,
        }
        self.wake_at = Time::NEVER;
        if self.release <= ctx.now {
            self.release = Time::NEVER;
            if self.is_set() {
                self.wake_sooner(ctx);
            }
            return Some(Purpose::Release);
        }
        if !self.is_set() {
            return None;
        }
        self.clear();
        Some(core::mem::replace(&mut self.purpose, Purpose::Timeout))
    }
}

/// Returns whole microseconds, at least one.
fn micros(span: Span) -> u16 {
    u16::try_from(span.as_nanos() / 1_000).unwrap_or(u16::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::Span;

    use super::*;
    use crate::tcp::timelines::bench::idle_network;

    /// The release of paced segments and the deadline are independent alarms.
    #[test]
    fn a_release_leaves_the_deadline_as_it_was() {
        let (mut network, address, mut timers) = idle_network();
        let ms = |n| Time::ZERO + Span::from_millis(n);
        let mut timer = Timer::new(false, false, false);
        let mut woken = Vec::new();
        let mut ctx = |now, timers: &mut _, act: &mut dyn FnMut(&mut HostContext)| {
            act(&mut HostContext { now, network: &mut network, timers, address, prompt: false });
        };
        ctx(ms(0), &mut timers, &mut |d| timer.set(Purpose::Probe, ms(50), d));
        ctx(ms(0), &mut timers, &mut |d| timer.set_release(ms(20), d));
        while let Some((at, _)) = timers.pop() {
            ctx(at, &mut timers, &mut |d| woken.extend(timer.on_wake(d).map(|what| (at, what))));
        }
        assert_eq!(woken, [(ms(20), Purpose::Release), (ms(50), Purpose::Probe)]);
    }

    /// Moving it to a later time, as each ACK does, requests no further wake-up; the pending one requests the next.
    #[test]
    fn one_wake_up_serves_however_often_it_is_set() {
        let (mut network, address, mut timers) = idle_network();
        let ms = |n| Time::ZERO + Span::from_millis(n);
        let mut timer = Timer::new(false, false, false);
        let mut wakes = Vec::new();
        let mut ctx = |now, timers: &mut _, act: &mut dyn FnMut(&mut HostContext)| {
            act(&mut HostContext { now, network: &mut network, timers, address, prompt: false });
        };
        for n in 0..100 {
            ctx(ms(n), &mut timers, &mut |d| timer.set(Purpose::Timeout, ms(n + 200), d));
        }
        while let Some((at, _)) = timers.pop() {
            ctx(at, &mut timers, &mut |d| wakes.push((at, timer.on_wake(d))));
        }
        assert_eq!(wakes, [(ms(200), None), (ms(299), Some(Purpose::Timeout))]);
        assert!(!timer.is_set());
    }
}
