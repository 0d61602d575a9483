//! The sender's timer: one, which is set for whatever comes next.
//!
//! It sets a wake-up only where none comes soon enough already; one that comes too early sets the next.

use tidegate_mechanisms::units::{Span, Time};

use super::kernel::Kernel;
use crate::event_queue::TimerStatus;
use crate::tcp::HostContext;

/// What a timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The retransmission timeout.
    Timeout,
    /// A tail loss probe.
    Probe,
    /// To tell what is lost from what is only late.
    Reordering,
}

/// The timer.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    restarts_on_retransmit: bool,
    restarts_on_each_ack: bool,
    /// So many requests are repeated before the timeout begins to double.
    even_requests: u32,
    /// No less than this is added to what loss detection waits for.
    least: Span,
    purpose: Purpose,
    /// When it runs out.
    deadline: Time,
    /// When the wake-up that looks after it comes.
    wake_at: Time,
}

impl Timer {
    /// One that is not set. `restarts_on_retransmit`: by every retransmission of the first segment (RFC 6675,
    /// section 6), not only by the one that begins a fast recovery. `restarts_on_each_ack`: also by those that
    /// acknowledge nothing new.
    pub fn new(restarts_on_retransmit: bool, restarts_on_each_ack: bool) -> Self {
        Timer {
            restarts_on_retransmit,
            restarts_on_each_ack,
            even_requests: 0,
            least: Kernel::default().tick * 2,
            purpose: Purpose::Timeout,
            deadline: Time::NEVER,
            wake_at: Time::NEVER,
        }
    }

    /// What it is set for, or was last.
    #[inline]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// What is added to the waits of loss detection: two ticks of the kernel's clock.
    #[inline]
    pub fn least(&self) -> Span {
        self.least
    }

    /// A wait of loss detection as the kernel counts it: `least` more, in whole ticks (`usecs_to_jiffies`).
    pub fn in_ticks(&self, wait: Span) -> Span {
        let tick = (self.least.as_nanos() / 2).max(1);
        Span::from_nanos((wait + self.least).as_nanos().div_ceil(tick) * tick)
    }

    /// Sets that.
    pub fn set_least(&mut self, least: Span) {
        self.least = least;
    }

    /// So many requests are repeated before the timeout begins to double.
    pub fn even_requests(&self) -> u64 {
        u64::from(self.even_requests)
    }

    /// Sets that.
    pub fn set_even_requests(&mut self, requests: u32) {
        self.even_requests = requests;
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

    /// Sets it, or sets it again.
    #[inline]
    pub fn set(&mut self, purpose: Purpose, at: Time, ctx: &mut HostContext) {
        self.purpose = purpose;
        self.deadline = at;
        if at < self.wake_at {
            self.wake_sooner(ctx);
        }
    }

    /// Sets a wake-up for the deadline: rarely, as deadlines mostly move away.
    #[cold]
    fn wake_sooner(&mut self, ctx: &mut HostContext) {
        self.wake_at = self.deadline;
        ctx.wake_sender(self.deadline);
    }

    /// Stops it.
    #[inline]
    pub fn clear(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// A wake-up comes at `at`, which may be now or later. Tells what is known of it: deadlines never come sooner
    /// without another wake-up.
    #[inline]
    pub fn foresee(&mut self, at: Time) -> TimerStatus {
        if at != self.wake_at {
            return TimerStatus::Void;
        }
        if self.deadline <= at || !self.is_set() {
            return TimerStatus::Due;
        }
        self.wake_at = self.deadline;
        TimerStatus::Later(self.deadline)
    }

    /// A wake-up comes. Returns what the timer was set for, if it has run out.
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
        if !self.is_set() {
            return None;
        }
        self.clear();
        Some(core::mem::replace(&mut self.purpose, Purpose::Timeout))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::units::Span;

    use super::*;
    use crate::tcp::timelines::bench::idle_network;

    /// Setting it later, as each ACK does, sets no further wake-up; the one there is sets the next.
    #[test]
    fn one_wake_up_serves_however_often_it_is_set() {
        let (mut network, address, mut timers) = idle_network();
        let ms = |n| Time::ZERO + Span::from_millis(n);
        let mut timer = Timer::new(false, false);
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
