//! RACK-TLP: losses by the time at which segments were sent, and a probe for losses at the tail.
//! RFC 8985; where it leaves room, as Linux does.
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
//! Retransmissions have a time like any other segment, so that their loss is noticed, too. Where the
//! window makes a segment wait, a timer looks again, two ticks later and in whole ticks. The path reorders where a segment arrives that was sent
//! once and before others that have arrived; no link does that but RFC 6057's scheduler, when it releases a
//! customer of whom much still waits, which is rare (tests/reordering.rs). The reordering window does not
//! grow beyond a quarter of the round trip (RFC 8985, section 6.2, step 4, by duplicate SACKs, which receivers
//! here do not send), and a connection's smallest round-trip time is kept for all its life, not for five
//! minutes.
//!
//! The probe is a new segment, whatever the window, or else the last one again. If more than the
//! probe's repetition is acknowledged later, a segment was lost and recovered by it: the window shrinks.

use core::hint::select_unpredictable;

use tidegate_mechanisms::units::{Span, Time};

use super::feedback::{AckSample, Feedback};
use super::outstanding::{LossDetection, LostRetransmissions, Outstanding};
use super::phase::Phase;
use crate::tcp::scoreboard::DUP_THRESH;

/// What a receiver may delay the acknowledgement of a single segment by.
const LONGEST_ACK_DELAY: Span = Span::from_millis(200);

/// Reordering over more segments counts as over so many (Linux, `tcp_max_reordering`).
const MOST_REORDERING: u32 = 300;

/// What RACK-TLP knows.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    /// Time and number of the most recently sent segment that has arrived.
    newest: (Time, u64),
    rtt: Span,
    /// Something has arrived since the last look for losses.
    advanced: bool,
    /// Most segments by which one was seen to be overtaken, at least three; `None` before the first.
    reordering: Option<u32>,
    /// ACKs that showed one to be.
    reorderings: u32,
    probe: Option<Probe>,
}

/// A tail loss probe that is out.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The next new segment after it was sent.
    end: u64,
    /// It repeated a segment.
    again: bool,
}

impl Rack {
    /// The connection request was answered after `rtt`.
    pub fn begin(&mut self, rtt: Span) {
        self.rtt = rtt;
    }

    /// Takes note of an ACK. Returns whether the probe has recovered a loss.
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

    /// Losses are to be looked for again at the next ACK, whatever it says.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// What has been overtaken for long enough.
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
        // One question, since none of the three can be guessed.
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

    /// How long until the last of the segments from `from` on that are only late counts as lost.
    fn longest_wait(&self, from: u64, out: &Outstanding, grace: Span, now: Time) -> Span {
        let late = (from..out.nxt()).take_while(|segment| self.is_overtaken(*segment, out));
        let last = late.filter(|segment| !out.board().is_sacked(*segment)).last().unwrap_or(from);
        (sent_at(out, last) + grace).since(now)
    }

    /// The first segment counts as lost, and what was sent more than a round trip ago.
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

    /// By how many segments the path is taken to reorder.
    pub fn reordering(&self) -> u32 {
        self.reordering.unwrap_or(DUP_THRESH)
    }

    /// How many ACKs showed that a segment was overtaken.
    pub fn reorderings(&self) -> u32 {
        self.reorderings
    }

    /// Whether a probe is out.
    pub fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// A probe leaves: the last segment again, or a new one; `end` is the next after it.
    pub fn on_probe(&mut self, end: u64, again: bool) {
        self.probe = Some(Probe { end, again });
    }

    /// The window comes down for another reason.
    pub fn forget_probe(&mut self) {
        self.probe = None;
    }
}

/// How long after the last ACK a probe is due while so many segments are out; `least` is what any timer of
/// loss detection adds.
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
