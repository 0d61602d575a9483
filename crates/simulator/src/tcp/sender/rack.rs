//! RACK-TLP: losses by the time at which segments were sent, and a probe for losses at the tail.
//! RFC 8985; where it leaves room, as Linux does.
//!
//! ```text
//! segment lost          sent before the most recently sent segment that has arrived, and
//!                       now ≥ time sent + rtt + reordering window
//! rtt                   of the segment that arrived last
//! reordering window     0 in recovery, or from three sacked segments on; else min(min_rtt/4, srtt)
//! probe time-out        min(2 srtt + (200 ms if one segment is out, else 8 ms), time-out)
//! ```
//!
//! Retransmissions have a time like any other segment, so that their loss is noticed, too. Where the
//! window makes a segment wait, a timer looks again. No link reorders but RFC 6057's scheduler, when it
//! releases a customer of whom much still waits, which is rare (tests/reordering.rs); so the reordering window
//! does not grow (RFC 8985, section 6.2, step 4), and a connection's smallest round-trip time is kept
//! for all its life, not for five minutes.
//!
//! The probe is a new segment, whatever the window, or else the last one again. If more than the
//! probe's repetition is acknowledged later, a segment was lost and repaired by it: the window shrinks.

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Span, Time};

use super::undo::Undo;
use super::{Sender, State, Timer};
use crate::tcp::Door;
use crate::tcp::reduction::Progress;
use crate::tcp::scoreboard::{DUP_THRESH, Scoreboard};
use crate::tcp::send_times::SendTimes;

/// Two ticks of a kernel that counts 250 a second: no timer is set to less.
const MIN_TIMER: Span = Span::from_millis(8);
/// What a receiver may delay the acknowledgement of a single segment by.
const LONGEST_ACK_DELAY: Span = Span::from_millis(200);

/// What RACK-TLP knows.
pub(super) struct Rack {
    pub times: SendTimes,
    /// Time and number of the most recently sent segment that has arrived.
    newest: (Time, u64),
    pub rtt: Span,
    min_rtt: Span,
    /// When something was sent last.
    pub last_sent: Time,
    /// Something has arrived since the last look for losses.
    advanced: bool,
    /// Retransmissions in the order sent.
    pub repairs: VecDeque<(u64, Time)>,
    probe: Option<Probe>,
    /// After a time-out that may turn out to have been premature (F-RTO).
    pub frto: bool,
    /// Something was acknowledged since the last time-out.
    pub progress: bool,
    /// What the reduction under way may be taken back to.
    pub undo: Option<Undo>,
}

/// What the times of segments show to be lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Detected {
    /// Segments.
    pub segments: u32,
    /// Retransmissions.
    pub repairs: u32,
    /// After so long, more may be.
    pub wait: Option<Span>,
}

impl Detected {
    /// Whether anything is.
    pub fn any(&self) -> bool {
        self.segments + self.repairs > 0
    }
}

/// A tail loss probe that is out.
struct Probe {
    /// `nxt` after it was sent.
    end: u64,
    /// It repeated a segment.
    again: bool,
}

/// Round-trip times that an ACK shows, of segments that were sent once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples {
    /// Of the first and the last segment acknowledged.
    pub acked: Option<(Span, Span)>,
    /// Of the first and the last segment sacked.
    pub sacked: Option<(Span, Span)>,
    /// Among those acknowledged was one that had been sent again.
    pub ambiguous: bool,
    /// The first segment that has arrived and was sent once; [`u64::MAX`] for none.
    pub first_original: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Samples { acked: None, sacked: None, ambiguous: false, first_original: u64::MAX }
    }
}

impl Samples {
    /// For the smoothed round-trip time.
    pub fn for_estimate(&self) -> Option<Span> {
        let acked = self.acked.filter(|_| !self.ambiguous);
        acked.or(self.sacked).map(|(first, _)| first)
    }

    /// Free of what the receiver waited for: of the segment that caused the ACK.
    pub fn of_path(&self) -> Option<Span> {
        let acked = self.acked.filter(|_| !self.ambiguous);
        self.sacked.or(acked).map(|(_, last)| last)
    }
}

impl Rack {
    pub fn new() -> Self {
        Rack {
            times: SendTimes::default(),
            newest: (Time::ZERO, 0),
            rtt: Span::ZERO,
            last_sent: Time::ZERO,
            min_rtt: Span::from_nanos(u64::MAX),
            advanced: false,
            repairs: VecDeque::new(),
            probe: None,
            frto: false,
            progress: true,
            undo: None,
        }
    }

    /// Segments `una..ack` are acknowledged; none of them was sacked or lost.
    #[inline]
    pub fn on_clean_ack(&mut self, una: u64, ack: u64, now: Time) -> Samples {
        let mut samples = Samples::default();
        self.arrive(una, now, &mut samples, false);
        if ack - 1 > una {
            self.arrive(ack - 1, now, &mut samples, false);
        }
        self.note_min(&samples);
        samples
    }

    /// A segment has arrived, says an ACK.
    pub fn arrive(&mut self, segment: u64, now: Time, samples: &mut Samples, by_sack: bool) {
        let (at, again) = self.times.of(segment);
        let rtt = now.since(at);
        if again {
            samples.ambiguous |= !by_sack;
            if rtt < self.min_rtt {
                return; // Rather of what was sent before.
            }
        } else {
            let pair = if by_sack { &mut samples.sacked } else { &mut samples.acked };
            *pair = Some((pair.map_or(rtt, |(first, _)| first), rtt));
            samples.first_original = samples.first_original.min(segment);
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max((at, segment));
    }

    /// The connection request was answered after `rtt`.
    pub fn begin(&mut self, rtt: Span) {
        (self.rtt, self.min_rtt) = (rtt, rtt);
    }

    pub fn min_rtt_us(&self) -> u64 {
        self.min_rtt.as_nanos() / 1_000
    }

    pub fn note_min(&mut self, samples: &Samples) {
        if let Some(rtt) = samples.of_path() {
            self.min_rtt = self.min_rtt.min(rtt);
        }
    }

    /// Losses are to be looked for again at the next ACK, whatever it says.
    pub fn advance_again(&mut self) {
        self.advanced = true;
    }

    /// Repairs count as lost that were sent a round trip before `now`, or earlier.
    pub fn lose_repairs_until(&mut self, una: u64, board: &mut Scoreboard, now: Time) {
        let rtt = self.rtt;
        self.lose_repairs(una, board, |_, at| at + rtt <= now);
    }

    /// Repairs, in the order sent, count as lost as long as they are late. Returns how many did.
    fn lose_repairs(
        &mut self,
        una: u64,
        board: &mut Scoreboard,
        is_late: impl Fn(u64, Time) -> bool,
    ) -> u32 {
        let mut lost = 0;
        while let Some(&(segment, at)) = self.repairs.front() {
            let open =
                segment >= una && board.is_repaired(segment) && self.times.of(segment).0 == at;
            if open && !is_late(segment, at) {
                break;
            }
            self.repairs.pop_front();
            if open {
                board.lose_repair(segment);
                lost += 1;
            }
        }
        lost
    }

    /// The window comes down for another reason.
    pub fn forget_probe(&mut self) {
        self.probe = None;
    }
}

impl Sender {
    /// Marks what has been overtaken for long enough.
    pub(super) fn detect_by_time(&mut self, now: Time) -> Detected {
        let patient =
            !matches!(self.state, State::Recovery | State::Loss) && self.board.sacked < DUP_THRESH;
        let (una, nxt) = (self.una, self.nxt);
        let srtt = self.round_trip.srtt().unwrap_or(Span::ZERO);
        let (Some(rack), board) = (&mut self.rack, &mut self.board) else {
            return Detected::default();
        };
        if !std::mem::take(&mut rack.advanced) {
            return Detected::default();
        }
        let quarter = Span::from_nanos(rack.min_rtt.as_nanos() / 4);
        let grace = rack.rtt + if patient { quarter.min(srtt) } else { Span::ZERO };
        let (lost_before, newest) = (board.lost, rack.newest);
        let mut end = board.lost_below().max(una);
        let mut wait = None;
        while end < nxt && (rack.times.of(end).0, end) < newest {
            if !board.is_sacked(end) && rack.times.of(end).0 + grace > now {
                wait = Some(rack.longest_wait(end, board, grace, now));
                break;
            }
            end += 1;
        }
        board.mark_lost_below(una, nxt, end);
        let segments = board.lost - lost_before;
        let is_late = |segment, at| (at, segment) < newest && at + grace <= now;
        let repairs = rack.lose_repairs(una, board, is_late);
        Detected { segments, repairs, wait }
    }

    /// Looks again for losses after `wait`.
    pub(super) fn wait_for_reordering(&mut self, wait: Span, door: &mut Door) {
        let wait = (wait + MIN_TIMER).min(self.round_trip.rto());
        self.set_timer(Timer::Reordering, door.now + wait, door);
    }

    /// Time enough has passed for what was only late.
    pub(super) fn on_reordering_timer(&mut self, door: &mut Door) {
        if let Some(rack) = &mut self.rack {
            rack.advanced = true;
        }
        if self.detect_by_time(door.now).any() {
            if self.state != State::Recovery {
                self.enter_recovery(door);
                self.reduce(Progress { delivered: 1, in_flight: self.in_flight(), safe: false });
            }
            self.send(door);
        }
        if self.deadline == Time::NEVER {
            self.restart_timer(door);
        }
    }

    /// Sets the timer for the tail loss probe, where one may be sent, at `latest` at the given time;
    /// that of the time-out otherwise.
    #[inline]
    pub(super) fn schedule_probe(&mut self, latest: Time, door: &mut Door) {
        let quiet = matches!(self.state, State::Open | State::Reducing);
        let (out, sacked) = (self.nxt - self.una, self.board.sacked);
        let (Some(srtt), true) = (self.round_trip.srtt(), quiet && out > 0 && sacked == 0) else {
            return self.restart_timer(door);
        };
        let allowance = if out == 1 { LONGEST_ACK_DELAY } else { MIN_TIMER };
        self.set_timer(Timer::Probe, (door.now + srtt * 2 + allowance).min(latest), door);
    }

    /// When the time-out of the first segment is due.
    pub(super) fn time_out_of_first(&self, now: Time) -> Time {
        let rto = self.round_trip.rto();
        let sent = self.rack.as_ref().map_or(now, |rack| rack.times.of(self.una).0);
        if sent + rto > now { sent + rto } else { now + rto }
    }

    /// The probe is due.
    pub(super) fn send_probe(&mut self, door: &mut Door) {
        if self.rack.as_ref().is_none_or(|rack| rack.probe.is_some()) {
            let at = self.time_out_of_first(door.now);
            return self.set_timer(Timer::TimeOut, at, door);
        }
        let again = self.available() == 0;
        if again {
            self.counts.retransmits += 1;
            self.transmit(self.nxt - 1, self.capable(), true, door);
        } else {
            self.send_new(false, door);
        }
        if let Some(rack) = &mut self.rack {
            rack.probe = Some(Probe { end: self.nxt, again });
        }
        self.restart_timer(door);
    }

    /// What an ACK says about a probe.
    pub(super) fn judge_probe(&mut self, ack: u64, news: bool, now: Time) {
        let Some(probe) = self.rack.as_ref().and_then(|rack| rack.probe.as_ref()) else { return };
        if ack < probe.end {
            return;
        }
        let repaired = probe.again && ack > probe.end;
        if repaired {
            self.begin_reduction(now);
            self.window.cwnd = self.window.ssthresh;
            self.controller.on_recovery_exit(&mut self.window, now);
        } else if !probe.again || !news {
            self.rack.as_mut().expect("has a probe").forget_probe();
        }
    }
}

impl Rack {
    /// How long until the last of the segments from `from` on that are only late counts as lost.
    fn longest_wait(&self, from: u64, board: &Scoreboard, grace: Span, now: Time) -> Span {
        let late = (from..).take_while(|s| (self.times.of(*s).0, *s) < self.newest);
        let last = late.filter(|segment| !board.is_sacked(*segment)).last().unwrap_or(from);
        (self.times.of(last).0 + grace).since(now)
    }
}
