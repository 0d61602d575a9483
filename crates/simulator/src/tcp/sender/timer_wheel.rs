//! Expiry of Linux's timers, which stand in a wheel of levels (`calc_wheel_index` in kernel/time/timer.c): the later,
//! the coarser, and never early.
//!
//! ```text
//! time until expiry     rounded up to the next multiple of     with ticks of 4 ms
//! below   63 ticks       1 tick                                 below 252 ms    4 ms
//! below  504 ticks       8 ticks                                below   2 s     32 ms
//! below 4032 ticks      64 ticks                                below  16 s    256 ms
//! ...
//! ```
//!
//! All timers of a machine share the multiples, so that connections time out together.

use tidegate_mechanisms::units::{Span, Time};

/// Ticks until expiry from which on a timer leaves the first level.
const FIRST_LEVEL_TICKS: u64 = 63;

/// Binary logarithm of the ratio of the steps of successive levels.
const LEVEL_SHIFT: u32 = 3;

/// Number of the last level.
const LAST_LEVEL: u32 = 8;

/// Returns the time at which a timer expires that is set at `now` for `at`.
pub fn expiry(now: Time, at: Time, tick: Span) -> Time {
    if at == Time::NEVER {
        return at;
    }
    let tick_ns = tick.as_nanos();
    let ticks = at.since(now).as_nanos().div_ceil(tick_ns);
    let is_below = |level: &u32| ticks < FIRST_LEVEL_TICKS << (LEVEL_SHIFT * level);
    let level = (0..LAST_LEVEL).find(is_below).unwrap_or(LAST_LEVEL);
    let shift = LEVEL_SHIFT * level;
    let at_tick = now.as_nanos() / tick_ns + ticks;
    Time::from_nanos((((at_tick >> shift) + 1) << shift) * tick_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, with ticks of 4 ms.
    #[test]
    fn a_later_timer_has_a_coarser_step() {
        let ms = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let expires = |now, at| expiry(ms(now), ms(at), Span::from_millis(4));
        assert_eq!([expires(0, 1), expires(0, 4), expires(3, 4)], [ms(8); 3]);
        assert_eq!([expires(0, 248), expires(0, 252)], [ms(252), ms(256)]);
        assert_eq!([expires(1_000, 1_300), expires(1_010, 1_310)], [ms(1_312); 2], "together");
        assert_eq!([expires(0, 2_000), expires(0, 2_016)], [ms(2_016), ms(2_048)]);
        assert_eq!([expires(0, 16_000), expires(0, 16_128)], [ms(16_128), ms(16_384)]);
        assert_eq!(expiry(ms(5), Time::NEVER, Span::from_millis(4)), Time::NEVER);
    }
}
