//! Departures still to come at a link.

use core::hint::select_unpredictable;

use tidegate_mechanisms::units::{Span, Time};

use super::{Link, Rest};

/// Packets of one length that depart at even steps.
#[derive(Clone, Copy, Default)]
pub(super) struct Run {
    /// Departure time of the first packet.
    departs: Time,
    step: Span,
    packets: u32,
    pub(super) len: u16,
}

impl Run {
    /// Returns the packet-ns and byte-ns from `now` until they have departed.
    fn remaining_time(&self, now: Time) -> [u128; 2] {
        let (packets, first) = (u128::from(self.packets), self.departs.since(now).as_nanos());
        let steps = packets * packets.saturating_sub(1) / 2;
        let packet_ns = packets * u128::from(first) + steps * u128::from(self.step.as_nanos());
        [packet_ns, packet_ns * u128::from(self.len)]
    }
}

impl Link {
    /// Returns the number of packets waiting or in transmission, including past departures not removed yet.
    #[inline]
    pub(super) fn waiting_packets(&self) -> u32 {
        self.run + self.rest.as_ref().map_or(0, |rest| rest.waiting_packets)
    }

    #[inline]
    pub(super) fn waiting_bytes(&self) -> u64 {
        let run = u64::from(self.run) * u64::from(self.run_len);
        run + self.rest.as_ref().map_or(0, |rest| rest.waiting_bytes)
    }

    /// Returns `packets` and `bytes` of the backlog without the packet in transmission.
    #[inline(always)]
    pub(super) fn without_first(&self, packets: u32, bytes: u64) -> (u32, u64) {
        let first = self.rest.as_ref().and_then(|rest| rest.waiting.front());
        let first = first.map_or(self.run_len, |first| first.len);
        let in_transmission = if packets == 0 { 0 } else { u64::from(first) };
        (packets.saturating_sub(1), bytes - in_transmission)
    }

    /// Empties the queue.
    #[inline]
    pub(super) fn forget_waiting(&mut self) {
        self.run = 0;
        self.at_once = self.plain;
        if let Some(rest) = self.rest.as_mut().filter(|rest| rest.waiting_packets > 0) {
            rest.waiting.clear();
            (rest.waiting_packets, rest.waiting_bytes) = (0, 0);
        }
    }

    /// Adds an accepted packet to the last run, or starts a new run with it.
    #[inline]
    pub(super) fn enter(&mut self, len: u16) {
        // Where the rate changes, steps are uneven: each packet is a run of its own.
        if self.run > 0 && (len != self.run_len || self.schedule().is_some()) {
            self.set_run_aside();
        }
        self.run += 1;
        self.run_len = len;
    }

    /// Returns the last run, without removed packets.
    #[inline]
    fn last_run(&self) -> Run {
        let step = self.pace().transmission_time(self.run_len);
        let first_to_last = step * u64::from(self.run.saturating_sub(1));
        let departs = Time::from_nanos(self.free_at.as_nanos() - first_to_last.as_nanos());
        Run { departs, step, packets: self.run, len: self.run_len }
    }

    #[inline(never)]
    fn set_run_aside(&mut self) {
        let run = self.last_run();
        let rest = self.rest();
        rest.waiting.push(run);
        rest.waiting_packets += run.packets;
        rest.waiting_bytes += u64::from(run.packets) * u64::from(run.len);
        self.run = 0;
        self.at_once = false;
    }

    #[inline]
    pub(super) fn strike_off_departed(&mut self, now: Time) {
        if let Some(rest) = self.rest.as_mut().filter(|rest| rest.waiting_packets > 0)
            && rest.strike_off_departed(now)
        {
            return;
        }
        if self.run > 0 {
            let Run { departs, step, .. } = self.last_run();
            // The number of steps, and whether there is one, is unpredictable; a division is faster than a loop.
            let steps = now.since(departs).as_nanos() / step.as_nanos().max(1) + 1;
            let over = select_unpredictable(departs <= now, steps, 0);
            self.run = u64::from(self.run).saturating_sub(over) as u32;
        }
    }

    /// Returns the packets and bytes waiting at a time, without the one in transmission. Departures at that very time
    /// come after it.
    pub(super) fn waits_at(&mut self, at: Time) -> (u32, u64) {
        self.strike_off_departed(Time::from_nanos(at.as_nanos().saturating_sub(1)));
        self.without_first(self.waiting_packets(), self.waiting_bytes())
    }

    /// Updates the state to `now`.
    fn bring_to(&mut self, now: Time) {
        if self.looks_between {
            self.catch_up(now);
        }
        self.strike_off_departed(now);
    }

    /// Returns the packets and bytes waiting or in transmission at `now`.
    pub fn backlog(&mut self, now: Time) -> (u32, u64) {
        if let Some(station) = self.station() {
            return station.backlog();
        }
        self.bring_to(now);
        (self.waiting_packets(), self.waiting_bytes())
    }

    /// Returns the packets and bytes that wait for transmission at `now`, before other events at that time, for an AQM
    /// that is updated between arrivals.
    pub fn not_begun(&mut self, now: Time) -> (u32, u64) {
        if !self.looks_between {
            return (0, 0);
        }
        self.catch_up(now);
        self.waits_at(now)
    }

    /// Returns the queueing time of accepted packets that lies after `now`: packet-ns, byte-ns, and ns in transmission.
    pub fn remaining_time(&mut self, now: Time) -> [u128; 3] {
        if let Some(station) = self.station() {
            let [packet_ns, byte_ns] = station.remaining_time(now);
            let end = station.in_transmission().map(|(.., departs)| departs);
            let sending = end.map_or(Span::ZERO, |end| self.sending(now, end));
            return [packet_ns, byte_ns, sending.as_nanos().into()];
        }
        self.bring_to(now);
        let (rest, last) = (self.rest.as_ref(), (self.run > 0).then(|| self.last_run()));
        let mut sums = [0; 3];
        for run in rest.iter().flat_map(|rest| rest.waiting.iter()).chain(&last) {
            let [packet_ns, byte_ns] = run.remaining_time(now);
            sums[0] += packet_ns;
            sums[1] += byte_ns;
        }
        sums[2] = u128::from(self.sending(now, self.free_at).as_nanos());
        sums
    }
}

impl Rest {
    /// Removes past departures. Returns whether packets still wait.
    fn strike_off_departed(&mut self, now: Time) -> bool {
        while let Some(first) = self.waiting.front_mut() {
            if first.departs > now {
                return true;
            }
            first.departs += first.step;
            first.packets -= 1;
            self.waiting_packets -= 1;
            self.waiting_bytes -= u64::from(first.len);
            if first.packets == 0 {
                self.waiting.pop();
            }
        }
        false
    }
}
