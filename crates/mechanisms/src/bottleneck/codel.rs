//! CoDel, controlled delay: signals at departure when packets have waited longer than a target for a whole interval,
//! with a rate that increases while that lasts. RFC 8289, pseudo-code of section 5.
//!
//! A packet leaving the queue has waited for its *sojourn time*. Once that has been at least the target for an interval
//! without a break, CoDel signals, and repeats the signals:
//!
//! ```text
//! above  sojourn ≥ target  and  more than one largest packet waits behind
//! ok     above at every departure of the last interval
//! start  ok: signal; count ← count − lastcount if that is > 1 and the last signal was due less
//!        than 16 intervals ago, else 1; lastcount ← count; next ← now + interval/√count
//! go on  now ≥ next: signal; count ← count + 1; next ← next + interval/√count
//! stop   not ok
//! ```
//!
//! A signal drops the packet and takes the next one from the queue, or marks it, if it is ECN-capable and the queue may
//! mark, and sends it. After the first drop the next packet is sent regardless of its sojourn time; later ones may be
//! dropped in a row until `next` is in the future.
//!
//! The maximum packet size is that of the largest one seen, as in the pseudo-code; Linux takes the device's MTU. Times
//! are whole nanoseconds and the square root is exact. With `linux_arithmetic`, times are in units of 1024 ns and the
//! root is iterated, as in Linux (from 3.5 on; that of 2009 had no CoDel).

use super::{Arrival, ManageQueue, Place};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::units::{Bytes, Span, Time};

parameters! {
    /// Controlled delay: signals at departure when packets have waited too long for a whole interval. It has no
    /// probability, so that no differentiation applies.
    pub struct CodelParams {
        /// Target of the standing queue's delay.
        pub target: Span = "5 ms",
        /// Time for which it may be exceeded; about a worst-case round-trip time.
        pub interval: Span = "100 ms",
        /// Compute signal times as Linux, which approximates the square root.
        pub linux_arithmetic: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
    }
    check goes_on;
}

fn goes_on(params: &CodelParams) -> Option<ParameterError> {
    interval_is_a_time(params.interval)
}

/// Returns an error for an interval of zero: signals are interval/√count apart.
pub(super) fn interval_is_a_time(interval: Span) -> Option<ParameterError> {
    let endless = "0 s would signal without end; write e.g. \"100 ms\"".to_owned();
    (interval == Span::ZERO).then_some(("interval", endless))
}

/// Parameters of CoDel at one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodelRules {
    /// Acceptable standing delay.
    pub target: Span,
    /// Time for which the delay may be higher; about a worst-case round-trip time.
    pub interval: Span,
    /// No signal while no more than this waits.
    pub max_packet: Bytes,
    /// Arithmetic of signal times.
    pub arithmetic: CodelArithmetic,
}

/// Computation of the time to the next signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodelArithmetic {
    /// As in the pseudo-code of RFC 8289.
    #[default]
    Rfc,
    /// As in Linux.
    Linux,
}

/// Time unit of Linux's CoDel, ns.
const TICK_NS: u64 = 1024;

impl CodelRules {
    /// Returns the rules before the first packet.
    pub const fn new(target: Span, interval: Span, linux_arithmetic: bool) -> Self {
        let arithmetic =
            if linux_arithmetic { CodelArithmetic::Linux } else { CodelArithmetic::Rfc };
        CodelRules { target, interval, max_packet: Bytes::ZERO, arithmetic }
    }

    /// Rounds nanoseconds down to the arithmetic's unit.
    #[inline]
    const fn rounded(&self, ns: u64) -> u64 {
        match self.arithmetic {
            CodelArithmetic::Rfc => ns,
            CodelArithmetic::Linux => ns / TICK_NS * TICK_NS,
        }
    }

    #[inline]
    const fn target(&self) -> Span {
        Span::from_nanos(self.rounded(self.target.as_nanos()))
    }

    #[inline]
    const fn interval(&self) -> Span {
        Span::from_nanos(self.rounded(self.interval.as_nanos()))
    }
}

/// Packet just taken from the front of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<P> {
    /// The packet, or a handle.
    pub packet: P,
    /// Its sojourn time.
    pub sojourn: Span,
    /// Packets that wait behind it.
    pub backlog_packets: u32,
    /// Bytes that wait behind it.
    pub backlog_bytes: u64,
}

/// CoDel on one queue.
#[derive(Clone, Debug)]
pub struct Codel {
    rules: CodelRules,
    state: CodelState,
    /// Largest packet before the one judged last.
    max_packet_before: Bytes,
}

impl ManageQueue for Codel {
    type Params = CodelParams;

    const ABOUT: About = About {
        name: "codel",
        title: "CoDel",
        source: "RFC 8289",
        usage: r#"bottleneck.aqm = { kind = "codel" }"#,
        file: "bottleneck/codel.rs",
        text: crate::mechanism::source_text!("codel.rs"),
    };

    const SEES_DEPARTURES: bool = true;

    const UNDIFFERENTIATED: Option<&'static str> = Some(
        "CoDel signals at departure, by time and not by a probability that could differ from packet \
         to packet",
    );

    fn new(params: CodelParams, _place: &Place) -> Result<Self, ParameterError> {
        let CodelParams { target, interval, linux_arithmetic } = params;
        let rules = CodelRules::new(target, interval, linux_arithmetic);
        Ok(Codel { rules, state: CodelState::default(), max_packet_before: Bytes::ZERO })
    }

    /// CoDel has no probability at arrival, where it only updates the largest packet.
    #[inline]
    fn probability(&mut self, arrival: &Arrival) -> f64 {
        self.max_packet_before = self.rules.max_packet;
        self.rules.max_packet = self.rules.max_packet.max(arrival.len);
        0.0
    }

    /// The packet did not enter the queue.
    #[inline]
    fn on_overflow(&mut self) {
        self.rules.max_packet = self.max_packet_before;
    }

    #[inline]
    fn dequeue<P>(
        &mut self,
        now: Time,
        _draw: impl FnMut() -> f64,
        pop: impl FnMut() -> Option<Head<P>>,
        signal: impl FnMut(P) -> Option<P>,
    ) -> Option<P> {
        self.state.dequeue(&self.rules, now, pop, signal)
    }

    fn state_bytes(&self) -> usize {
        size_of::<CodelState>()
    }
}

/// State of CoDel, or of one of the queues of FQ-CoDel.
#[derive(Clone, Debug, Default)]
pub struct CodelState {
    /// Time at which the sojourn time will have been above the target for an interval.
    ok_from: Option<Time>,
    /// Time of the next signal, or of the last one.
    next: Time,
    /// Signals since dropping started; `first` is the count it started at.
    count: u32,
    last_count: u32,
    dropping: bool,
    /// 1/√count in units of 2⁻¹⁶, as iterated by Linux.
    inverse_root: u16,
}

impl CodelState {
    /// Returns the packet to send now, if there is one. `pop` takes packets from the front of the queue. `signal` gets
    /// those that CoDel signals: it drops one (and returns `None`) or marks and returns it.
    #[inline]
    pub fn dequeue<P>(
        &mut self,
        rules: &CodelRules,
        clock: Time,
        mut pop: impl FnMut() -> Option<Head<P>>,
        mut signal: impl FnMut(P) -> Option<P>,
    ) -> Option<P> {
        let now = Time::from_nanos(rules.rounded(clock.as_nanos()));
        let (mut packet, mut ok) = self.take(rules, clock, &mut pop)?;
        if !self.dropping {
            if !ok {
                return Some(packet);
            }
            let marked = signal(packet);
            let sent = marked.or_else(|| Some(self.take(rules, clock, &mut pop)?.0));
            self.start(rules, now);
            return sent;
        }
        self.dropping = ok;
        while self.dropping && now >= self.next {
            self.count_to(self.count.saturating_add(1));
            if let Some(marked) = signal(packet) {
                self.next += self.pause(rules);
                return Some(marked);
            }
            (packet, ok) = self.take(rules, clock, &mut pop)?;
            self.dropping = ok;
            if ok {
                self.next += self.pause(rules);
            }
        }
        Some(packet)
    }

    /// Handles the drop of `packets` at the head of the queue by a full buffer: as in Linux's FQ-CoDel they count as
    /// signals, so that the next ones come sooner.
    pub const fn on_overflow(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Takes a packet. Returns whether it may be dropped. An empty queue is not above the target, and ends the
    /// dropping.
    #[inline]
    fn take<P>(
        &mut self,
        rules: &CodelRules,
        clock: Time,
        pop: &mut impl FnMut() -> Option<Head<P>>,
    ) -> Option<(P, bool)> {
        let Some(Head { packet, sojourn, backlog_bytes, .. }) = pop() else {
            self.ok_from = None;
            self.dropping = false;
            return None;
        };
        let arrived = clock.as_nanos() - sojourn.as_nanos();
        let now = rules.rounded(clock.as_nanos());
        let sojourn = Span::from_nanos(now - rules.rounded(arrived));
        Some((packet, self.is_ok_to_drop(rules, Time::from_nanos(now), sojourn, backlog_bytes)))
    }

    #[inline]
    fn is_ok_to_drop(
        &mut self,
        rules: &CodelRules,
        now: Time,
        sojourn: Span,
        backlog_bytes: u64,
    ) -> bool {
        if sojourn < rules.target() || backlog_bytes <= rules.max_packet.get() {
            self.ok_from = None;
            return false;
        }
        let ok_from = *self.ok_from.get_or_insert(now + rules.interval());
        match rules.arithmetic {
            CodelArithmetic::Rfc => now >= ok_from,
            CodelArithmetic::Linux => now > ok_from,
        }
    }

    /// Starts dropping, near the previous count if that was recent.
    #[cold]
    fn start(&mut self, rules: &CodelRules, now: Time) {
        let since_last = self.count - self.last_count;
        let recent = now.since(self.next) < rules.interval() * 16;
        self.count_to(if since_last > 1 && recent { since_last } else { 1 });
        self.last_count = self.count;
        self.next = now + self.pause(rules);
        self.dropping = true;
    }

    fn count_to(&mut self, count: u32) {
        self.count = count;
        if count == 1 {
            self.inverse_root = u16::MAX;
        } else {
            self.newton_step();
        }
    }

    /// One Newton step towards 1/√count; all numbers are fractions of 2³² (Linux, `codel_Newton_step`). The bracket is
    /// divided by 4 first, to prevent an overflow of the product.
    fn newton_step(&mut self) {
        let y = u64::from(self.inverse_root) << 16;
        let square = (y * y) >> 32;
        let bracket = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.inverse_root = (bracket.wrapping_mul(y) >> (31 + 16)) as u16;
    }

    /// Returns interval/√count.
    fn pause(&self, rules: &CodelRules) -> Span {
        let interval = rules.interval().as_nanos();
        match rules.arithmetic {
            CodelArithmetic::Rfc => {
                let count = f64::from(self.count);
                Span::from_nanos((interval as f64 / libm::sqrt(count)) as u64)
            }
            CodelArithmetic::Linux => {
                let ticks = (interval / TICK_NS * u64::from(self.inverse_root)) >> 16;
                Span::from_nanos(ticks * TICK_NS)
            }
        }
    }
}

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
