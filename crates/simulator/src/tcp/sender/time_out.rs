//! The retransmission timer, and what its running out means.
//!
//! RFC 6298, section 5, and F-RTO with SACK (RFC 5682; Linux since 2.6.21), which finds out whether
//! a time-out was premature before it sends everything again:
//!
//! ```text
//! time-out                     send the first segment again
//! 1st ACK  all acknowledged    repair is over, cwnd = 2
//!          advances            send two new segments
//! 2nd ACK  advances, or sacks what was sent once and before    the time-out was premature
//!          otherwise           everything not sacked is lost, cwnd = in flight + 3
//! ```
//!
//! Details (the windows above, and ssthresh on repeated time-outs) as in Linux 2.6.29
//! (`tcp_enter_frto`, `tcp_process_frto`, `tcp_enter_frto_loss`).

use tidegate_mechanisms::sender::Window;
use tidegate_mechanisms::units::Time;

use super::{Sender, State, Timer};
use crate::event_queue::Wake;
use crate::tcp::Door;
use crate::tcp::reduction::Reduction;

/// What F-RTO knows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// Whether an ACK has advanced since the time-out.
    advanced: bool,
    /// What was outstanding at the time-out ends here.
    outstanding_to: u64,
}

impl Sender {
    /// RFC 6298, section 5. The wake-up is set only where none comes soon enough already; one that
    /// comes too early sets the next.
    #[inline]
    pub(super) fn restart_timer(&mut self, door: &mut Door) {
        if self.una == self.nxt && self.state != State::SynSent && self.window.cwnd >= 1.0 {
            self.deadline = Time::NEVER;
            return;
        }
        self.set_timer(Timer::TimeOut, door.now + self.round_trip.rto(), door);
    }

    /// Restarts the timer after progress.
    #[inline]
    pub(super) fn rearm(&mut self, door: &mut Door) {
        match self.rack {
            Some(_) => self.schedule_probe(door.now + self.round_trip.rto(), door),
            None => self.restart_timer(door),
        }
    }

    #[inline]
    pub(super) fn set_timer(&mut self, timer: Timer, at: Time, door: &mut Door) {
        self.timer = timer;
        self.deadline = at;
        if self.deadline < self.timer_at {
            self.timer_at = self.deadline;
            door.wake(self.deadline, Wake::Retransmit(door.flow));
        }
    }

    /// The wake-up of the retransmission timer comes.
    pub fn on_timer(&mut self, door: &mut Door) {
        if door.now != self.timer_at {
            return;
        }
        self.timer_at = Time::NEVER;
        if self.deadline == Time::NEVER {
            return;
        }
        if self.deadline > door.now {
            self.timer_at = self.deadline;
            return door.wake(self.deadline, Wake::Retransmit(door.flow));
        }
        self.deadline = Time::NEVER;
        match core::mem::replace(&mut self.timer, Timer::TimeOut) {
            Timer::Probe => return self.send_probe(door),
            Timer::Reordering => return self.on_reordering_timer(door),
            Timer::TimeOut => {}
        }
        if self.una == self.nxt && self.state != State::SynSent {
            // Nothing is missing: the window was below one segment (RFC 3168, section 6.1.2).
            self.window.cwnd = 1.0;
            return self.send(door);
        }
        self.round_trip.back_off();
        if self.state == State::SynSent {
            // RFC 5681, section 3.1: a lost request leaves an initial window of one segment.
            self.window.cwnd = 1.0;
            self.ecn &= !self.ecn_fallback;
            self.counts_marks &= self.ecn;
            self.counts.sent += 1;
            self.counts.retransmits += 1;
            return self.send_request(door);
        }
        self.on_time_out(door);
    }

    fn on_time_out(&mut self, door: &mut Door) {
        self.counts.timeouts += 1;
        self.dup_acks = 0;
        self.timed = None;
        self.announce_reduction = self.ecn;
        self.recover = self.nxt;
        if self.rack.is_some() {
            return self.lose_by_time(door);
        }
        self.lower_threshold(door.now);
        if self.frto {
            return self.probe_time_out(door);
        }
        self.controller.on_timeout(&mut self.window, door.now);
        self.window.cwnd = 1.0;
        if !self.sack {
            self.board.forget_unnamed();
        }
        self.give_up(self.nxt);
        self.state = State::Loss;
        self.point = self.nxt;
        self.send(door);
    }

    /// All of what was sent before `end` is lost, but for what is sacked, where that counts.
    fn give_up(&mut self, end: u64) {
        if self.go_back_n {
            self.board.forget_sacked(self.una, self.nxt);
        }
        self.board.mark_all_lost(self.una, end, self.nxt);
    }

    /// Whether everything is sent again, whatever is sacked.
    #[inline]
    pub(super) fn goes_back(&self) -> bool {
        self.go_back_n && self.state == State::Loss
    }

    /// RFC 5681, section 3.1: further time-outs of the same data leave ssthresh as it is, and so
    /// does one amid a reduction that has been made already.
    fn lower_threshold(&mut self, now: Time) {
        let flight_size = self.in_flight();
        let window = match self.state {
            State::Open => self.window,
            // Linux: another time-out while probing, after progress.
            State::Probing if self.probe.advanced => Window { cwnd: 2.0, ..self.window },
            _ => return,
        };
        self.window.ssthresh = self.controller.ssthresh_on_congestion(&window, now, flight_size);
    }

    fn probe_time_out(&mut self, door: &mut Door) {
        let repairing = matches!(self.state, State::Recovery | State::Loss);
        self.probe = Probe {
            advanced: false,
            outstanding_to: if repairing && self.point > self.una { self.point } else { self.nxt },
        };
        self.board.forget_repair(self.una);
        self.window.cwnd = self.window.cwnd.min(f64::from(self.in_flight() + 1));
        self.state = State::Probing;
        self.point = self.nxt;
        self.send_again(self.una, door);
    }

    /// An ACK arrives while probing.
    pub(super) fn judge_time_out(&mut self, newly: u32, sacks_more: bool, now: Time) {
        if self.una >= self.probe.outstanding_to {
            let allowed = if self.probe.advanced { 3 } else { 2 };
            return self.take_as_lost(allowed, now);
        }
        if !self.probe.advanced {
            if newly == 0 {
                // The first segment has not arrived: nothing new is to be sent.
                self.window.cwnd = self.window.cwnd.min(f64::from(self.in_flight()));
            } else if self.stream.ready(self.nxt) > 0
                && (self.nxt - self.una) as u32 <= self.window_limit
            {
                self.window.cwnd = f64::from(self.in_flight() + 2);
                self.probe.advanced = true;
            } else {
                self.take_as_lost(2, now);
            }
            return;
        }
        let sacks_new = sacks_more && self.board.highest_sacked() > self.probe.outstanding_to;
        if sacks_new || (newly == 0 && !sacks_more) {
            return self.take_as_lost(3, now);
        }
        // Premature. The window comes down all the same, as for a congestion mark.
        self.reduction = Reduction::begin(self.reduction_plan, self.window.cwnd);
        self.state = State::Reducing;
        self.point = self.nxt;
    }

    /// The time-out was right: repair what was outstanding, and is not sacked.
    fn take_as_lost(&mut self, allowed: u32, now: Time) {
        self.give_up(self.probe.outstanding_to);
        self.controller.on_timeout(&mut self.window, now);
        self.window.cwnd = f64::from(self.in_flight() + allowed);
        self.state = State::Loss;
        self.point = self.probe.outstanding_to;
    }
}
