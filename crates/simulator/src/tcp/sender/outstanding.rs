//! Segments sent and not acknowledged: scoreboard, send times, and lengths.

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Span, Time};

use super::samples::{AckReading, NamedBy, Samples};
use crate::packet::SackBlocks;
use crate::tcp::scoreboard::Scoreboard;
use crate::tcp::send_times::SendTimes;
use crate::tcp::short_segments::ShortSegments;

/// History kept of each segment besides the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentHistory {
    /// No history.
    None,
    /// Order of retransmissions.
    Retransmissions,
    /// Send time of each segment.
    SendTimes,
}

/// Retransmitted segment.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    segment: u64,
    at: Time,
    /// Next new segment at the time of the retransmission.
    nxt: u64,
}

/// Criterion for lost retransmissions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LostRetransmissions {
    /// No retransmission is known to be lost.
    None,
    /// Retransmissions sent before new segments up to this one, which has arrived, are lost (Linux
    /// `tcp_mark_lost_retrans`; exact without reordering).
    Overtaken(u64),
    /// Retransmissions sent before this time and segment, and at least this long ago, are lost.
    Older((Time, u64), Span),
}

/// Losses shown by an ACK or a timer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossDetection {
    /// Segments below this that have not arrived are lost.
    pub below: u64,
    /// Whether the first segment is lost, including its retransmission.
    pub head: bool,
    /// Criterion for lost retransmissions.
    pub retransmissions: LostRetransmissions,
    /// Time after which further segments may be lost.
    pub wait: Option<Span>,
}

impl LossDetection {
    /// No loss.
    pub const NOTHING: LossDetection = LossDetection {
        below: 0,
        head: false,
        retransmissions: LostRetransmissions::None,
        wait: None,
    };
}

/// Newly detected losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Lost segments, retransmitted since or not.
    pub segments: u32,
    /// Lost retransmissions.
    pub retransmissions: u32,
}

impl Lost {
    /// Whether anything is newly lost.
    pub fn any(&self) -> bool {
        self.segments + self.retransmissions > 0
    }
}

/// Data that an ACK reports as arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrivedData {
    /// Segments newly acknowledged by the cumulative ACK.
    pub acknowledged: u32,
    /// Segments newly known to have arrived.
    pub delivered: u32,
    /// Segments newly sacked, included in `delivered`.
    pub sacked: u32,
    /// Payload delivered, bytes.
    pub bytes: u64,
    /// Reordering of a segment sent once, in segments, if send times are kept; 0 without reordering.
    pub overtaken_by: u32,
}

/// Segments from `una`, the first unacknowledged one, to `nxt`, the next to be sent.
pub struct Outstanding {
    una: u64,
    nxt: u64,
    /// Payload of a full segment, bytes.
    mss: u16,
    board: Scoreboard,
    short: ShortSegments,
    memory: SegmentHistory,
    times: SendTimes,
    /// Retransmissions in the order sent.
    #[expect(clippy::box_collection, reason = "few connections have any at a time")]
    retransmissions: Option<Box<VecDeque<Retransmission>>>,
}

impl Outstanding {
    /// Returns the state before the first segment; full segments have `mss` bytes.
    pub fn new(memory: SegmentHistory, mss: u64) -> Self {
        Outstanding {
            una: 0,
            nxt: 0,
            mss: mss as u16,
            board: Scoreboard::default(),
            short: ShortSegments::default(),
            memory,
            times: SendTimes::default(),
            retransmissions: None,
        }
    }

    /// Prefetches the state of the first segments, and of the next to be sent.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        self.board.prefetch(self.una);
        if self.memory == SegmentHistory::SendTimes {
            self.times.prefetch(self.una);
            self.times.prefetch(self.nxt);
        }
    }

    /// Returns the first unacknowledged segment.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Returns the next segment to be sent for the first time.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Returns the number of segments from `una` to `nxt`.
    #[inline]
    pub fn count(&self) -> u32 {
        (self.nxt - self.una) as u32
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// Returns the scoreboard.
    #[inline]
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// Returns the number of segments in the network according to the scoreboard (RFC 6675: pipe).
    #[inline]
    pub fn pipe(&self) -> u32 {
        let board = &self.board;
        (self.count() + board.retransmitted()).saturating_sub(board.sacked() + board.lost())
    }

    /// Returns the number of bytes that a segment lacks to a full one.
    #[inline]
    pub fn missing_bytes(&self, segment: u64) -> u16 {
        self.short.missing_bytes(segment)
    }

    /// Whether all segments are full.
    #[inline]
    pub fn are_full(&self) -> bool {
        self.short.is_empty()
    }

    /// Returns the last send time of a segment, if send times are kept.
    #[inline]
    pub fn sent_at(&self, segment: u64) -> Option<Time> {
        (self.memory == SegmentHistory::SendTimes).then(|| self.times.of(segment).0)
    }

    /// Adds a new segment that lacks `missing_bytes` to a full one. Returns its number.
    #[inline]
    pub fn add(&mut self, missing_bytes: u16, now: Time) -> u64 {
        let segment = self.nxt;
        if missing_bytes > 0 {
            self.short.note(segment, missing_bytes);
        }
        self.nxt += 1;
        self.note_time(segment, now, false);
        segment
    }

    /// Records the retransmission of a lost segment.
    pub fn retransmit(&mut self, segment: u64, now: Time) {
        self.board.on_retransmit(self.una, segment, self.nxt);
        if self.memory != SegmentHistory::None {
            let sent = Retransmission { segment, at: now, nxt: self.nxt };
            self.retransmissions.get_or_insert_default().push_back(sent);
        }
        self.note_time(segment, now, true);
    }

    /// Records the retransmission of a segment that is not known to be lost.
    #[inline]
    pub fn repeat(&mut self, segment: u64, now: Time) {
        self.note_time(segment, now, true);
    }

    #[inline]
    fn note_time(&mut self, segment: u64, now: Time, again: bool) {
        if self.memory == SegmentHistory::SendTimes {
            self.times.note(self.una, segment, now, again);
        }
    }

    /// Whether a lost segment waits for its retransmission.
    #[inline]
    pub fn needs_retransmit(&self) -> bool {
        self.board.lost() > self.board.retransmitted()
    }

    /// Returns the next lost segment to be retransmitted.
    pub fn next_retransmit(&mut self) -> Option<u64> {
        self.board.next_retransmit(self.una, self.nxt)
    }

    /// Takes an ACK of new data while nothing is sacked, lost or retransmitted.
    #[inline(always)]
    pub fn take_expected(
        &mut self,
        ack: u64,
        reading: AckReading,
        samples: &mut Option<Samples>,
    ) -> ArrivedData {
        let una = self.una;
        if self.memory == SegmentHistory::SendTimes {
            let samples = samples.insert(Samples::default());
            samples.arrive(&self.times, una, NamedBy::ByNumber, reading);
            // Repeating the call for the same segment changes nothing, and whether it is the same is unpredictable.
            samples.arrive(&self.times, ack - 1, NamedBy::ByNumber, reading);
        }
        let count = self.board.advance(una, ack);
        self.una = ack;
        let mut bytes = u64::from(count) * u64::from(self.mss);
        if !self.short.is_empty() {
            bytes -= self.short.release(ack);
        }
        ArrivedData { acknowledged: count, delivered: count, sacked: 0, bytes, overtaken_by: 0 }
    }

    /// Takes any other ACK.
    #[inline(always)]
    pub fn take(
        &mut self,
        ack: u64,
        blocks: &SackBlocks,
        reading: AckReading,
        samples: &mut Option<Samples>,
    ) -> ArrivedData {
        let sacked_before = self.short_bytes(Scoreboard::is_sacked);
        let mut arrivals = match self.memory {
            SegmentHistory::SendTimes => {
                self.take_timed(ack, blocks, reading, samples.insert(Samples::default()))
            }
            _ => self.take_by(ack, blocks, |_, _| {}),
        };
        arrivals.bytes = u64::from(arrivals.delivered) * u64::from(self.mss);
        if !self.short.is_empty() {
            let released = self.short.release(ack);
            arrivals.bytes -= released + self.short_bytes(Scoreboard::is_sacked) - sacked_before;
        }
        arrivals
    }

    /// Takes an ACK that acknowledges nothing, if send times are kept and all segments are full.
    #[inline(always)]
    pub fn take_blocks(
        &mut self,
        blocks: &SackBlocks,
        reading: AckReading,
        samples: &mut Option<Samples>,
    ) -> ArrivedData {
        let samples = samples.insert(Samples::default());
        let arrivals = self.take_at_times(self.una, blocks, reading, samples);
        ArrivedData { bytes: u64::from(arrivals.delivered) * u64::from(self.mss), ..arrivals }
    }

    #[inline(never)]
    fn take_timed(
        &mut self,
        ack: u64,
        blocks: &SackBlocks,
        reading: AckReading,
        samples: &mut Samples,
    ) -> ArrivedData {
        self.take_at_times(ack, blocks, reading, samples)
    }

    #[inline(always)]
    fn take_at_times(
        &mut self,
        ack: u64,
        blocks: &SackBlocks,
        reading: AckReading,
        samples: &mut Samples,
    ) -> ArrivedData {
        let highest_before = self.highest_arrived();
        for segment in (self.una..ack).filter(|segment| !self.board.is_sacked(*segment)) {
            samples.arrive(&self.times, segment, NamedBy::ByNumber, reading);
        }
        let note = |times: &SendTimes, segment| {
            samples.arrive(times, segment, NamedBy::InBlock, reading);
        };
        let arrivals = self.take_by(ack, blocks, note);
        let late = samples.first_original;
        let overtaken_by = if late < highest_before {
            self.highest_arrived().saturating_sub(late) as u32
        } else {
            0
        };
        ArrivedData { overtaken_by, ..arrivals }
    }

    /// Returns the segment after the highest one sacked or acknowledged (Linux, `tcp_highest_sack_seq`).
    fn highest_arrived(&self) -> u64 {
        if self.board.sacked() > 0 { self.board.highest_sacked() } else { self.una }
    }

    #[inline(always)]
    fn take_by(
        &mut self,
        ack: u64,
        blocks: &SackBlocks,
        mut on_sacked: impl FnMut(&SendTimes, u64),
    ) -> ArrivedData {
        let acknowledged = (ack - self.una) as u32;
        let fresh = if acknowledged > 0 { self.board.advance(self.una, ack) } else { 0 };
        self.una = ack;
        let mut sacked = 0;
        for &(start, end) in blocks.iter().take_while(|(start, end)| start < end) {
            let times = &self.times;
            let on_new = |segment| on_sacked(times, segment);
            sacked += self.board.sack(ack, self.nxt, start, end, on_new);
        }
        ArrivedData { acknowledged, delivered: fresh + sacked, sacked, ..ArrivedData::default() }
    }

    /// Returns the total of bytes missing in the partial segments selected by `holds`.
    #[inline]
    fn short_bytes(&self, holds: impl Fn(&Scoreboard, u64) -> bool) -> u64 {
        if self.short.is_empty() {
            return 0;
        }
        let short = self.short.iter().filter(|(segment, _)| holds(&self.board, *segment));
        short.map(|(_, missing)| u64::from(missing)).sum()
    }

    /// Without SACK, a duplicate ACK accounts for one segment that has left the network, and an ACK of new data for
    /// those below it. After a timeout (`all_lost`) a duplicate accounts for nothing: everything counts as lost, and
    /// spurious retransmissions cause duplicates, too.
    pub fn count_unnamed(&mut self, acknowledged: u32, duplicate: bool, all_lost: bool) {
        let unnamed = self.board.sacked();
        if acknowledged > 0 {
            self.board.set_unnamed(unnamed.saturating_sub(acknowledged - 1));
        } else if duplicate && !all_lost {
            self.board.set_unnamed((unnamed + 1).min(self.count() - 1));
        }
    }

    /// Without SACK: takes this number of duplicates as segments that have left the network.
    pub fn take_as_departed(&mut self, duplicates: u32) {
        self.board.set_unnamed(duplicates);
    }

    /// Clears all sacked and lost marks.
    pub fn forget_board(&mut self) {
        self.board.forget_sacked(self.una, self.nxt);
        self.board.forget_losses(self.una, self.nxt);
    }

    /// Clears the segments accounted for by duplicate ACKs.
    pub fn forget_unnamed(&mut self) {
        self.board.set_unnamed(0);
    }

    /// Marks detected losses. Returns those that are new.
    #[inline]
    pub fn lose(&mut self, detected: &LossDetection, now: Time) -> Lost {
        let known = detected.below <= self.board.lost_below().max(self.una);
        let resent = self.retransmissions.as_ref().is_some_and(|resent| !resent.is_empty());
        if known && !detected.head && !resent {
            return Lost::default();
        }
        self.lose_more(detected, now)
    }

    fn lose_more(&mut self, detected: &LossDetection, now: Time) -> Lost {
        let (una, nxt) = (self.una, self.nxt);
        let lost_before = self.board.lost();
        if detected.below > una {
            self.board.mark_lost_below(una, nxt, detected.below);
        }
        if detected.head {
            self.board.mark_head_lost(una, nxt);
        }
        let retransmissions = self.lose_retransmissions(detected.retransmissions, now);
        Lost { segments: self.board.lost() - lost_before, retransmissions }
    }

    /// Marks lost retransmissions. Returns how many of them count as a new loss (RFC 8985).
    fn lose_retransmissions(&mut self, late: LostRetransmissions, now: Time) -> u32 {
        let mut lost = 0;
        while let Some(retransmission) = self.first_retransmission() {
            let is_late = match late {
                LostRetransmissions::None => false,
                LostRetransmissions::Overtaken(highest) => retransmission.nxt < highest,
                LostRetransmissions::Older(than, age) => {
                    (retransmission.at, retransmission.segment) < than
                        && retransmission.at + age <= now
                }
            };
            let is_open = self.is_open(&retransmission);
            if is_open && !is_late {
                break;
            }
            self.retransmissions.as_mut().and_then(|resent| resent.pop_front());
            if is_open {
                self.board.lose_retransmission(retransmission.segment);
                if let LostRetransmissions::Older(..) = late {
                    lost += 1;
                }
            }
        }
        lost
    }

    fn first_retransmission(&self) -> Option<Retransmission> {
        self.retransmissions.as_ref()?.front().copied()
    }

    fn forget_retransmissions(&mut self) {
        if let Some(resent) = &mut self.retransmissions {
            resent.clear();
        }
    }

    /// Whether a retransmission is the last of its segment, and neither arrived nor lost.
    fn is_open(&self, retransmission: &Retransmission) -> bool {
        retransmission.segment >= self.una
            && self.board.is_retransmitted(retransmission.segment)
            && self.sent_at(retransmission.segment).is_none_or(|at| at == retransmission.at)
    }

    /// Marks everything unsacked below `end` as lost after a timeout; with `go_back`, sacked segments as well.
    pub fn give_up(&mut self, end: u64, go_back: bool) {
        if go_back {
            self.board.forget_sacked(self.una, self.nxt);
        }
        self.board.mark_all_lost(self.una, end, self.nxt);
        self.forget_retransmissions();
    }

    /// Marks the first segment as not retransmitted, so that it can be.
    pub fn forget_retransmission_of_first(&mut self) {
        self.board.forget_retransmission(self.una);
    }

    /// Clears all losses, which were spurious.
    pub fn forget_losses(&mut self) {
        self.board.forget_losses(self.una, self.nxt);
        self.forget_retransmissions();
    }
}

#[cfg(test)]
#[path = "outstanding_tests.rs"]
mod tests;
