//! RACK-TLP: loss detection by send times, and a probe for losses at the tail. RFC 8985; where it leaves a choice, as
//! in Linux.
//!
//! ```text
//! segment lost          sent before the most recently sent segment that has arrived, and
//!                       now ≥ time sent + rtt + reordering window
//! rtt                   of the segment that arrived last
//! reordering window     min(min_rtt/4, srtt); 0 as long as nothing was seen to be reordered, in recovery
//!                       or from three sacked segments on
//! probe timeout        min(2 srtt + (200 ms if one segment is out, else 8 ms), timeout)
//! ```
//!
//! Retransmissions have send times as well, so that their loss is detected, too. If the reordering window delays the
//! decision, a timer checks again, rounded up to ticks and two ticks later. Reordering is detected when a segment
//! arrives that was sent once, and before others that have arrived. Links reorder where their wire does (`reorder`,
//! `jitter` without `keep_order`), and RFC 6057's scheduler when it releases a customer with a large backlog
//! (tests/reordering.rs). The reordering window does not grow beyond a quarter of the round trip (RFC 8985, section 6.2,
//! step 4, by D-SACKs, which these receivers do not send), and the minimum RTT is kept over the whole connection, not
//! for five minutes.
//!
//! The probe is a new segment, regardless of the window, or the last one retransmitted. If a later ACK covers more than
//! the probe's retransmission, a segment was lost and repaired by it: the window is reduced.

use core::hint::select_unpredictable;

use tidegate_mechanisms::units::{Span, Time};

use super::feedback::{AckSample, Feedback};
use super::outstanding::{LossDetection, LostRetransmissions, Outstanding};
use super::phase::Phase;
use crate::tcp::scoreboard::DUP_THRESH;

/// Maximum delay of the acknowledgement of a single segment.
const LONGEST_ACK_DELAY: Span = Span::from_millis(200);

/// Maximum reordering (Linux, `tcp_max_reordering`), segments.
const MOST_REORDERING: u32 = 300;

/// State of RACK-TLP.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    /// Send time and number of the most recently sent segment that has arrived.
    newest: (Time, u64),
    rtt: Span,
    /// Whether a segment has arrived since the last check for losses.
    advanced: bool,
    /// Maximum reordering observed, at least three segments; `None` before the first.
    reordering: Option<u32>,
    /// Number of ACKs that showed reordering.
    reorderings: u32,
    probe: Option<Probe>,
}

/// Outstanding tail loss probe.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Next new segment at the time of the probe.
    end: u64,
    /// Whether the probe was a retransmission.
    again: bool,
}

impl Rack {
    /// Starts with the round trip of the handshake.
    pub fn begin(&mut self, rtt: Span) {
        self.rtt = rtt;
    }

    /// Takes an ACK. Returns whether it shows that the probe has repaired a loss.
    #[inline]
    pub fn note(&mut self, ack: &AckSample, una: u64) -> bool {
        if let Some(samples) = &ack.samples
            && let Some(rtt) = samples.latest
        {
            self.advanced = true;
            self.rtt = rtt;
            self.newest = self.newest.max(samples.newest);
        }
        if ack.overtaken_by > 0 {
            let seen = ack.overtaken_by.min(MOST_REORDERING);
            self.reordering = self.reordering.max(Some(seen.max(DUP_THRESH)));
            self.reorderings += 1;
        }
        let Some(probe) = self.probe.filter(|probe| una >= probe.end) else { return false };
        let retransmitted = probe.again && una > probe.end;
        let awaited = probe.again && ack.delivered > 0;
        if !retransmitted && !awaited {
            self.probe = None;
        }
        retransmitted
    }

    /// Makes the next ACK check for losses, regardless of its contents.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// Returns the losses: segments sent long enough before one that has arrived.
    pub fn judge(
        &mut self,
        out: &Outstanding,
        phase: Phase,
        feedback: &Feedback,
        now: Time,
    ) -> Option<LossDetection> {
        if !core::mem::take(&mut self.advanced) {
            return None;
        }
        let board = out.board();
        let early = !matches!(phase, Phase::Recovery | Phase::Loss);
        // A single branch, since none of the three conditions is predictable.
        let patient = self.reordering.is_some() | (early & (board.sacked() < DUP_THRESH));
        let window = select_unpredictable(patient, reordering_window(feedback), Span::ZERO);
        let grace = self.rtt + window;
        let mut end = board.lost_below().max(out.una());
        let mut wait = None;
        while end < out.nxt() && self.is_overtaken(end, out) {
            if !board.is_sacked(end) && sent_at(out, end) + grace > now {
                wait = Some(self.longest_wait(end, out, grace, now));
                break;
            }
            end += 1;
        }
        let retransmissions = LostRetransmissions::Older(self.newest, grace);
        Some(LossDetection { below: end, head: false, retransmissions, wait })
    }

    fn is_overtaken(&self, segment: u64, out: &Outstanding) -> bool {
        (sent_at(out, segment), segment) < self.newest
    }

    /// Returns the time until the last of the late segments from `from` on counts as lost.
    fn longest_wait(&self, from: u64, out: &Outstanding, grace: Span, now: Time) -> Span {
        let late = (from..out.nxt()).take_while(|segment| self.is_overtaken(*segment, out));
        let last = late.filter(|segment| !out.board().is_sacked(*segment)).last().unwrap_or(from);
        (sent_at(out, last) + grace).since(now)
    }

    /// Returns the losses at a timeout: the first segment, and those sent more than a round trip ago.
    pub fn judge_timeout(&self, out: &Outstanding, now: Time) -> LossDetection {
        let board = out.board();
        let recent = (board.lost_below().max(out.una() + 1)..out.nxt())
            .find(|segment| !board.is_sacked(*segment) && sent_at(out, *segment) + self.rtt > now);
        let retransmissions = LostRetransmissions::Older((Time::NEVER, u64::MAX), self.rtt);
        LossDetection {
            below: recent.unwrap_or(out.nxt()),
            head: false,
            retransmissions,
            wait: None,
        }
    }

    /// Returns the assumed reordering of the path, segments.
    pub fn reordering(&self) -> u32 {
        self.reordering.unwrap_or(DUP_THRESH)
    }

    /// Returns the number of ACKs that showed reordering.
    pub fn reorderings(&self) -> u32 {
        self.reorderings
    }

    /// Whether a probe is outstanding.
    pub fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// Records a probe; `end` is the segment after it, `again` whether it is a retransmission.
    pub fn on_probe(&mut self, end: u64, again: bool) {
        self.probe = Some(Probe { end, again });
    }

    /// Cancels the probe, because the window is reduced for another reason.
    pub fn forget_probe(&mut self) {
        self.probe = None;
    }
}

/// Returns the time from the last ACK to the probe with `out` segments outstanding; `least` is added to all timers of
/// loss detection.
#[inline]
pub fn probe_timeout(srtt: Span, out: u32, least: Span) -> Span {
    srtt * 2 + if out == 1 { LONGEST_ACK_DELAY } else { least }
}

fn reordering_window(feedback: &Feedback) -> Span {
    let srtt = feedback.round_trip().srtt().unwrap_or(Span::ZERO);
    let quarter = |min: Span| Span::from_nanos(min.as_nanos() / 4);
    feedback.min_rtt().map_or(Span::ZERO, quarter).min(srtt)
}

fn sent_at(out: &Outstanding, segment: u64) -> Time {
    out.sent_at(segment).expect("times are remembered where losses are ack by them")
}
