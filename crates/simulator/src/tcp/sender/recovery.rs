//! Losses and marks: how the sender finds them, and what it does about its window.
//!
//! RFC 6675 (SACK), RFC 6582 (NewReno), RFC 5681 (Reno) and RFC 3168 (ECN).

use tidegate_mechanisms::sender::{MIN_SSTHRESH, Window};
use tidegate_mechanisms::units::Time;

use super::{Sender, State};
use crate::tcp::Door;
use crate::tcp::reduction::{Progress, Reduction};
use crate::tcp::scoreboard::DUP_THRESH;

impl Sender {
    /// Without SACK, a duplicate ACK stands for one segment that has left the network, and an
    /// advancing one for those among it. After a time-out it stands for nothing: everything counts
    /// as lost, and what is sent again in vain causes duplicates, too.
    #[inline]
    pub(super) fn count_duplicate(&mut self, newly: u32, duplicate: bool) {
        if newly > 0 {
            self.dup_acks = 0;
            if !self.sack {
                self.board.sacked = self.board.sacked.saturating_sub(newly - 1);
            }
        } else if duplicate {
            self.dup_acks += 1;
            if !self.sack && self.state != State::Loss {
                let room = (self.nxt - self.una) as u32 - 1;
                self.board.sacked = (self.board.sacked + 1).min(room);
            }
        }
    }

    #[inline]
    pub(super) fn look_for_losses(&mut self) {
        if self.sack {
            if self.board.sacked > 0 {
                self.board.detect_losses(self.una, self.nxt, self.forward_ack);
                if self.dup_acks >= DUP_THRESH {
                    self.board.mark_lost_below(self.una, self.nxt, self.una + 1);
                }
                if self.forward_ack {
                    self.board.detect_lost_repairs(self.una);
                }
            }
            return;
        }
        match self.state {
            // RFC 6582, step 2: no second recovery for segments sent before the last one ended.
            State::Open | State::Reducing
                if self.dup_acks == DUP_THRESH
                    && (self.una > self.recover || self.recover == 0) =>
            {
                self.board.mark_head_lost(self.una, self.nxt);
            }
            State::Recovery if self.partial_acks && self.dup_acks == 0 && self.una < self.point => {
                self.board.mark_head_lost(self.una, self.nxt);
            }
            _ => {}
        }
    }

    pub(super) fn enter_recovery(&mut self, door: &mut Door) {
        self.counts.recoveries += 1;
        let marked = self.state == State::Reducing;
        self.remember_for_undo(marked);
        // A reduction in proportion to the marks may have been a small one (RFC 8257, section 3.5).
        if !marked || self.counts_marks {
            self.begin_reduction(door.now);
        }
        // Linux goes on with the reduction for a mark where there is one, to its end.
        if !marked || self.rack.is_none() {
            self.point = self.nxt;
        }
        self.state = State::Recovery;
        self.recover = self.nxt;
        if !self.rearm_on_repair {
            self.restart_timer(door);
        }
        // RFC 6675, step 4.3: the first lost segment goes out whatever is in flight.
        if matches!(self.reduction, Reduction::Immediate) {
            self.repair_next(door);
        }
    }

    /// For a loss.
    pub(super) fn begin_reduction(&mut self, now: Time) {
        let in_flight = self.in_flight();
        let ssthresh = self.controller.ssthresh_on_congestion(&self.window, now, in_flight);
        self.begin_reduction_to(ssthresh);
    }

    fn begin_reduction_to(&mut self, ssthresh: f64) {
        self.window.ssthresh = ssthresh;
        self.reduction = Reduction::begin(self.reduction_plan, self.window.cwnd);
        if matches!(self.reduction, Reduction::Immediate) {
            self.window.cwnd = self.window.ssthresh;
        }
        self.announce_reduction = self.ecn;
        if let Some(rack) = &mut self.rack {
            rack.forget_probe();
        }
    }

    /// RFC 3168, section 6.1.2: once per window, also when the echo comes with the ACK of all that
    /// was outstanding.
    pub(super) fn on_congestion_echo(&mut self, door: &mut Door) {
        if self.state != State::Open {
            return;
        }
        let flight_size = self.in_flight();
        let ssthresh = self.controller.ssthresh_on_mark(&self.window, door.now, flight_size);
        let halved = self.window.cwnd / 2.0;
        self.begin_reduction_to(ssthresh);
        if let Some(rack) = &mut self.rack {
            rack.undo = None;
        }
        self.state = State::Reducing;
        self.point = self.nxt;
        if self.ecn_to_one && ssthresh <= MIN_SSTHRESH {
            self.window.cwnd = halved;
            // A window of one segment cannot be halved: the next waits for the timer.
            if halved < 1.0 {
                self.restart_timer(door);
            }
        }
    }

    #[inline]
    pub(super) fn point_reached(&self, newly: u32) -> bool {
        match self.state {
            State::Recovery if !self.partial_acks => newly > 0,
            State::Recovery => self.una >= self.point,
            State::Loss => self.una >= self.point && self.rack.is_none(),
            _ => false,
        }
    }

    pub(super) fn leave_reduction(&mut self, now: Time) {
        if self.state != State::Loss {
            self.window.cwnd = self.reduction.finish(self.window.cwnd, self.window.ssthresh);
        }
        if !self.sack {
            self.board.forget_unnamed();
        }
        self.state = State::Open;
        self.dup_acks = 0;
        self.controller.on_recovery_exit(&mut self.window, now);
    }

    pub(super) fn reduce(&mut self, progress: Progress) {
        let Window { cwnd, ssthresh } = self.window;
        self.window.cwnd = self.reduction.on_ack(cwnd, ssthresh, progress);
    }
}
