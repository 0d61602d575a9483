//! What was sent and is not acknowledged: the scoreboard, when each segment left, how long each is.

use std::collections::VecDeque;

use tidegate_mechanisms::units::{Span, Time};

use super::samples::{AckReading, NamedBy, Samples};
use crate::packet::SackBlocks;
use crate::tcp::scoreboard::Scoreboard;
use crate::tcp::send_times::SendTimes;
use crate::tcp::short_segments::ShortSegments;

/// What a sender remembers of each segment beside what the scoreboard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentHistory {
    /// Nothing.
    None,
    /// In which order segments were retransmitted.
    Retransmissions,
    /// When each was sent.
    SendTimes,
}

/// A segment that was retransmitted.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    segment: u64,
    at: Time,
    /// The next new segment at that time.
    nxt: u64,
}

/// Which retransmissions are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LostRetransmissions {
    /// None is known to be.
    None,
    /// Those sent before a segment that has arrived (Linux `tcp_mark_lost_retrans`; exact where nothing is
    /// reordered): before new segments up to this one were.
    Overtaken(u64),
    /// Those sent before the given time and segment, and at least so long ago.
    Older((Time, u64), Span),
}

/// What an ACK, or a timer, shows to be lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossDetection {
    /// Everything below that has not arrived.
    pub below: u64,
    /// The first segment, once more if it was retransmitted.
    pub head: bool,
    /// Retransmissions.
    pub retransmissions: LostRetransmissions,
    /// After so long, more may be.
    pub wait: Option<Span>,
}

impl LossDetection {
    /// Nothing is.
    pub const NOTHING: LossDetection = LossDetection {
        below: 0,
        head: false,
        retransmissions: LostRetransmissions::None,
        wait: None,
    };
}

/// What was not known to be lost before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Segments, whether they were retransmitted since or not.
    pub segments: u32,
    /// Retransmissions.
    pub retransmissions: u32,
}

impl Lost {
    /// Whether anything is.
    pub fn any(&self) -> bool {
        self.segments + self.retransmissions > 0
    }
}

/// What an ACK says to have arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrivedData {
    /// Segments by which the acknowledgement moved.
    pub acknowledged: u32,
    /// Segments that have arrived, and were not known to.
    pub delivered: u32,
    /// Of them, those that are sacked.
    pub sacked: u32,
    /// Payload delivered.
    pub bytes: u64,
    /// By how many segments one that was sent once was overtaken, where the sender remembers that; 0 if
    /// none was.
    pub overtaken_by: u32,
}

/// The segments from `una`, the first that is not acknowledged, to `nxt`, the next to be sent.
pub struct Outstanding {
    una: u64,
    nxt: u64,
    /// Payload of a full segment, bytes.
    mss: u16,
    board: Scoreboard,
    short: ShortSegments,
    memory: SegmentHistory,
    times: SendTimes,
    /// In the order sent.
    retransmissions: VecDeque<Retransmission>,
}

impl Outstanding {
    /// Nothing was sent yet; full segments have `mss` bytes.
    pub fn new(memory: SegmentHistory, mss: u64) -> Self {
        Outstanding {
            una: 0,
            nxt: 0,
            mss: mss as u16,
            board: Scoreboard::default(),
            short: ShortSegments::default(),
            memory,
            times: SendTimes::default(),
            retransmissions: VecDeque::new(),
        }
    }

    /// Asks for what is known of the first segments, and where the next will be noted.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        self.board.prefetch(self.una);
        if self.memory == SegmentHistory::SendTimes {
            self.times.prefetch(self.una);
            self.times.prefetch(self.nxt);
        }
    }

    /// First segment not acknowledged.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Next segment to be sent for the first time.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Segments between the two.
    #[inline]
    pub fn count(&self) -> u32 {
        (self.nxt - self.una) as u32
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// What is known about each of them.
    #[inline]
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// Segments in the network, by what is sacked and lost (RFC 6675: pipe).
    #[inline]
    pub fn pipe(&self) -> u32 {
        let board = &self.board;
        (self.count() + board.retransmitted()).saturating_sub(board.sacked() + board.lost())
    }

    /// What a segment lacks for a full one, in bytes.
    #[inline]
    pub fn missing_bytes(&self, segment: u64) -> u16 {
        self.short.missing_bytes(segment)
    }

    /// Whether none of them lacks anything.
    #[inline]
    pub fn are_full(&self) -> bool {
        self.short.is_empty()
    }

    /// When a segment was sent last, where that is remembered.
    #[inline]
    pub fn sent_at(&self, segment: u64) -> Option<Time> {
        (self.memory == SegmentHistory::SendTimes).then(|| self.times.of(segment).0)
    }

    /// A new segment leaves that lacks so many bytes. Returns its number.
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

    /// A segment leaves that is lost.
    pub fn retransmit(&mut self, segment: u64, now: Time) {
        self.board.on_retransmit(self.una, segment, self.nxt);
        if self.memory != SegmentHistory::None {
            self.retransmissions.push_back(Retransmission { segment, at: now, nxt: self.nxt });
        }
        self.note_time(segment, now, true);
    }

    /// A segment leaves once more that is not known to be lost.
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

    /// The next that does.
    pub fn next_retransmit(&mut self) -> Option<u64> {
        self.board.next_retransmit(self.una, self.nxt)
    }

    /// Takes an ACK of new data in while nothing is sacked, lost or retransmitted.
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
            // The same once more tells nothing new, and whether it is cannot be guessed.
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

    /// Takes any other ACK in.
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

    /// Takes an ACK in that acknowledges nothing, where the times of segments are remembered and all are full.
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

    /// The segment after the highest that is sacked, or else acknowledged (Linux, `tcp_highest_sack_seq`).
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

    /// What is missing in segments that are not full and of which this holds.
    #[inline]
    fn short_bytes(&self, holds: impl Fn(&Scoreboard, u64) -> bool) -> u64 {
        if self.short.is_empty() {
            return 0;
        }
        let short = self.short.iter().filter(|(segment, _)| holds(&self.board, *segment));
        short.map(|(_, missing)| u64::from(missing)).sum()
    }

    /// Without SACK, a duplicate ACK stands for one segment that has left the network, and one that
    /// advances for those among it. After a timeout (`all_lost`) it stands for nothing: everything
    /// counts as lost, and what is retransmitted spuriously causes duplicates, too.
    pub fn count_unnamed(&mut self, acknowledged: u32, duplicate: bool, all_lost: bool) {
        let unnamed = self.board.sacked();
        if acknowledged > 0 {
            self.board.set_unnamed(unnamed.saturating_sub(acknowledged - 1));
        } else if duplicate && !all_lost {
            self.board.set_unnamed((unnamed + 1).min(self.count() - 1));
        }
    }

    /// Without SACK: so many duplicates stand for segments that have left the network.
    pub fn take_as_departed(&mut self, duplicates: u32) {
        self.board.set_unnamed(duplicates);
    }

    /// Forgets what is sacked and lost.
    pub fn forget_board(&mut self) {
        self.board.forget_sacked(self.una, self.nxt);
        self.board.forget_losses(self.una, self.nxt);
    }

    /// Forgets what duplicate ACKs stood for.
    pub fn forget_unnamed(&mut self) {
        self.board.set_unnamed(0);
    }

    /// Takes a detected in. Returns what is news of it.
    #[inline]
    pub fn lose(&mut self, detected: &LossDetection, now: Time) -> Lost {
        let known = detected.below <= self.board.lost_below().max(self.una);
        if known && !detected.head && self.retransmissions.is_empty() {
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

    /// Returns how many, where the loss of a retransmission is news as any other (RFC 8985).
    fn lose_retransmissions(&mut self, late: LostRetransmissions, now: Time) -> u32 {
        let mut lost = 0;
        while let Some(&retransmission) = self.retransmissions.front() {
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
            self.retransmissions.pop_front();
            if is_open {
                self.board.lose_retransmission(retransmission.segment);
                if let LostRetransmissions::Older(..) = late {
                    lost += 1;
                }
            }
        }
        lost
    }

    /// Whether a retransmission is the last of its segment, and neither arrived nor lost.
    fn is_open(&self, retransmission: &Retransmission) -> bool {
        retransmission.segment >= self.una
            && self.board.is_retransmitted(retransmission.segment)
            && self.sent_at(retransmission.segment).is_none_or(|at| at == retransmission.at)
    }

    /// After a timeout, everything below `end` is lost, but for what is sacked. With `go_back`, that, too.
    pub fn give_up(&mut self, end: u64, go_back: bool) {
        if go_back {
            self.board.forget_sacked(self.una, self.nxt);
        }
        self.board.mark_all_lost(self.una, end, self.nxt);
        self.retransmissions.clear();
    }

    /// The first segment counts as not retransmitted, so that it can be.
    pub fn forget_retransmission_of_first(&mut self) {
        self.board.forget_retransmission(self.una);
    }

    /// Nothing is lost after all.
    pub fn forget_losses(&mut self) {
        self.board.forget_losses(self.una, self.nxt);
        self.retransmissions.clear();
    }
}

#[cfg(test)]
#[path = "outstanding_tests.rs"]
mod tests;
