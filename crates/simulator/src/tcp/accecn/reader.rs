//! Evaluation of AccECN feedback at the sender. RFC 9768, sections 3.2.2.2, 3.2.2.5.2 and 3.2.3, appendix A.2.
//!
//! With the option, marked bytes are exact. So are marked packets, as long as the partial ones among them lack fewer
//! bytes than eight full segments: of the numbers that ACE allows, the reader takes the smallest one that explains the
//! marked bytes.
//!
//! With ACE alone, an ACK that delivers up to seven packets reports marks exactly. An ACK of more reports them modulo
//! 8, and the reader takes the largest number (`dSafer.cep`): marks are never missed, but up to seven eighths of the
//! delivered packets may be counted in excess. If ACKs deliver more than four packets on average, as with ACK thinning,
//! the reader takes the smallest number as Linux does: the largest would inflate even one mark in ten thousand. Marks
//! are then missed if an ACK reports eight or more.
//!
//! Without SACK, a duplicate ACK delivers one packet, and the next cumulative ACK delivers those that no duplicate
//! accounted for. A duplicate carries nothing that shows reordering. A reordered one has a smaller count, which looks
//! like up to seven new marks; from four on it is ignored.
//!
//! If bytes were marked and no packet was, the feedback has been tampered with, and the sender is not ECN-capable from
//! then on (section 3.2.3.2.5). The test requires that ACE cannot have wrapped and that the previous ACK had the option
//! too, so that no earlier estimate is being corrected.

use super::received::{BYTES_MODULUS, FIRST_BYTES, FIRST_PACKETS};
use super::{Ace, HandshakeOutcome};
use crate::packet::ReceivedBytes;

/// Modulus of the ACE counter.
const ACE_MODULUS: u32 = 8;
/// Shift of the moving average of packets delivered per ACK: gain 1/64, in units of 1/64.
const MEAN_SHIFT: u32 = 6;
/// Mean number of packets per ACK above which ACKs count as thinned.
const THINNED: u32 = 4;
/// Limit of bytes delivered before the first option: a later one may have wrapped.
const LATEST_FIRST_BYTES: u64 = (1 << 23) - 1;

/// Fields of an ACK that concern marks.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// ACE flags.
    pub ace: Ace,
    /// AccECN option.
    pub option: Option<ReceivedBytes>,
    /// Segments that the ACK delivers.
    pub delivered: u32,
    /// Payload bytes delivered.
    pub delivered_bytes: u64,
    /// Whether the ACK is not older than an earlier arrival. An ACK that delivers a packet without this, a duplicate
    /// without SACK, may be older.
    pub progresses: bool,
}

/// Marks newly reported by an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedMarks {
    /// Whether the sender has to react.
    pub congestion: bool,
    /// Marked segments.
    pub segments: u32,
    /// Payload of the marked segments, bytes.
    pub bytes: u64,
}

/// Trust in the receiver's option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// No option has arrived yet.
    Unseen,
    /// The option is used.
    Believed,
    /// The option is ignored: it was changed on the path, or came too late.
    Ignored,
}

/// AccECN counters of a sender.
#[derive(Clone, Debug)]
pub struct MarkReader {
    mss: u64,
    outcome: HandshakeOutcome,
    trust: Trust,
    /// Whether the peer's timestamp has advanced.
    newer: bool,
    /// Moving average of packets delivered per ACK, in units of 1/64; 0 before the first.
    mean_delivered: u32,
    delivered_bytes: u64,
    /// Marked packets.
    marked: u64,
    /// Bytes with ECT(0), CE and ECT(1) according to the last option.
    bytes: [u64; 3],
    /// Marked bytes reported to the sender.
    reported_bytes: u64,
    /// Whether the last ACK reported the marked bytes.
    in_step: bool,
}

impl MarkReader {
    /// Returns a reader for segments of `mss` bytes.
    pub fn new(mss: u64) -> Self {
        MarkReader {
            mss,
            outcome: HandshakeOutcome::default(),
            trust: Trust::Unseen,
            newer: false,
            mean_delivered: 0,
            delivered_bytes: 0,
            marked: 0,
            bytes: [0; 3],
            reported_bytes: 0,
            in_step: false,
        }
    }

    /// Starts at the end of the handshake. A marked SYN/ACK is the first packet in the client's counter; a marked SYN
    /// is not counted.
    pub fn begin(&mut self, outcome: HandshakeOutcome, answered: bool) {
        self.outcome = outcome;
        self.marked = u64::from(outcome.marked && answered);
    }

    /// Whether packets may be ECN-capable.
    #[inline]
    pub fn may_be_capable(&self) -> bool {
        self.outcome.capable
    }

    /// Handles the option of an ACK or SYN/ACK. Zeroed counters show tampering (section 3.2.3.2.4).
    pub fn note_option(&mut self, option: &ReceivedBytes) {
        let zeroed = |place| option.get(place) == Some(0);
        if self.trust == Trust::Unseen {
            let changed = zeroed(0) || zeroed(2);
            self.trust = if changed { Trust::Ignored } else { Trust::Believed };
        }
    }

    /// Whether the peer has sent the option.
    pub fn has_seen_option(&self) -> bool {
        self.trust != Trust::Unseen
    }

    /// Records that the next ACK has a later timestamp than all before.
    pub fn note_newer(&mut self) {
        self.newer = true;
    }

    /// Evaluates an ACK.
    #[inline(never)]
    pub fn read(&mut self, ack: &Arrived) -> ReportedMarks {
        let newer = core::mem::take(&mut self.newer) || ack.progresses;
        if self.outcome.deaf || !newer && !self.may_be_newer(ack) {
            return ReportedMarks::default();
        }
        let known = self.bytes[1];
        let by_option = self.read_option(ack);
        let was_in_step = core::mem::replace(&mut self.in_step, by_option);
        self.note_delivered(ack.delivered, ack.delivered_bytes);
        let least = self.least(ack.ace);
        let is_exact = was_in_step && (1..ACE_MODULUS).contains(&ack.delivered);
        if is_exact && least == 0 && self.bytes[1] > known {
            self.outcome.capable = false;
        }
        let segments = match by_option {
            true => self.explained(least),
            false => self.supposed(least, ack.delivered),
        };
        self.marked += u64::from(segments);
        let bytes = match by_option {
            true => self.bytes[1].saturating_sub(self.reported_bytes),
            false => self.estimated_bytes(segments, ack),
        };
        self.reported_bytes += bytes;
        ReportedMarks { congestion: segments > 0, segments, bytes }
    }

    /// Whether an ACK without the option that delivers `delivered` segments reports no mark, even if ACE may have
    /// wrapped.
    #[inline]
    pub fn has_no_news(&self, ace: Ace, delivered: u64) -> bool {
        !self.outcome.deaf && delivered < u64::from(ACE_MODULUS) && self.least(ace) == 0
    }

    /// Does the same as [`Self::read`] for an ACK that [has no news](Self::has_no_news).
    #[inline]
    pub fn pass_over(&mut self, delivered: u32, delivered_bytes: u64) {
        self.newer = false;
        self.note_lack_of_option();
        self.in_step = false;
        self.note_delivered(delivered, delivered_bytes);
    }

    /// Whether a duplicate reports fewer marks than half of ACE's range; otherwise it is older.
    fn may_be_newer(&self, ack: &Arrived) -> bool {
        ack.delivered > 0 && self.least(ack.ace) < ACE_MODULUS / 2
    }

    /// Returns the payload of this number of full segments, bytes.
    pub fn bytes_of(&self, segments: u32) -> u64 {
        u64::from(segments) * self.mss
    }

    /// Returns the number of new marks, modulo 8.
    #[inline]
    fn least(&self, ace: Ace) -> u32 {
        let behind = u64::from(ace.get()).wrapping_sub(self.marked + u64::from(FIRST_PACKETS));
        (behind % u64::from(ACE_MODULUS)) as u32
    }

    #[inline]
    fn note_lack_of_option(&mut self) {
        let late = self.delivered_bytes >= LATEST_FIRST_BYTES;
        if self.trust == Trust::Unseen && late {
            self.trust = Trust::Ignored;
        }
    }

    /// Reads the counters of an option. Returns whether there is a usable one.
    fn read_option(&mut self, ack: &Arrived) -> bool {
        let Some(option) = &ack.option else {
            self.note_lack_of_option();
            return false;
        };
        self.note_option(option);
        if self.trust != Trust::Believed {
            return false;
        }
        for (place, (bytes, first)) in self.bytes.iter_mut().zip(FIRST_BYTES).enumerate() {
            let Some(counter) = option.get(place) else { continue };
            let known = (*bytes % u64::from(BYTES_MODULUS)) as u32;
            let more = counter.wrapping_sub(first).wrapping_sub(known) % BYTES_MODULUS;
            // Differences in the upper half of the range mean an older option.
            if more < BYTES_MODULUS / 2 {
                *bytes += u64::from(more);
            }
        }
        option.get(1).is_some()
    }

    #[inline]
    fn note_delivered(&mut self, delivered: u32, delivered_bytes: u64) {
        self.delivered_bytes += delivered_bytes;
        let (mean, now) = (self.mean_delivered, delivered.min(1_000) << MEAN_SHIFT);
        self.mean_delivered = match mean {
            _ if delivered == 0 => mean,
            0 => now,
            _ => ((mean << MEAN_SHIFT) - mean + now) >> MEAN_SHIFT,
        };
    }

    /// Returns the smallest number congruent to `least` modulo 8 that explains the marked bytes.
    fn explained(&self, least: u32) -> u32 {
        let missing = self.bytes[1].div_ceil(self.mss).saturating_sub(self.marked);
        let missing = u32::try_from(missing).unwrap_or(u32::MAX / 2);
        least + missing.saturating_sub(least).next_multiple_of(ACE_MODULUS)
    }

    /// Returns the safest likely number congruent to `least` modulo 8.
    fn supposed(&self, least: u32, delivered: u32) -> u32 {
        let thinned = self.mean_delivered > THINNED << MEAN_SHIFT;
        if delivered < ACE_MODULUS || thinned {
            return least;
        }
        delivered - (delivered - least) % ACE_MODULUS
    }

    /// Estimates marked bytes by the mean size of the delivered segments (appendix A.3).
    fn estimated_bytes(&self, segments: u32, ack: &Arrived) -> u64 {
        match u64::from(ack.delivered) {
            0 => u64::from(segments) * self.mss,
            delivered => u64::from(segments) * ack.delivered_bytes / delivered,
        }
    }

    /// Returns the number of marked packets reported so far.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Returns the bytes with ECT(0), CE and ECT(1) according to the options so far.
    pub fn bytes(&self) -> [u64; 3] {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::accecn::handshake::Mode;

    const MSS: u64 = 1_000;

    fn reader() -> MarkReader {
        let mut reader = MarkReader::new(MSS);
        reader.begin(HandshakeOutcome::plain(Mode::Accurate), false);
        reader
    }

    /// Returns an ACK of `delivered` full segments with a total of `marked` marked packets.
    fn ack(marked: u32, delivered: u32) -> Arrived {
        Arrived {
            ace: Ace::new(marked + FIRST_PACKETS),
            option: None,
            delivered,
            delivered_bytes: u64::from(delivered) * MSS,
            progresses: delivered > 0,
        }
    }

    /// Adds counters of bytes to an ACK.
    fn with_option(ack: Arrived, [ect_0, ce, ect_1]: [u32; 3]) -> Arrived {
        let counters = [ect_0 + 1, ce, ect_1 + 1].map(|counter| counter % BYTES_MODULUS);
        Arrived { option: Some(ReceivedBytes { ect_1_first: true, fields: 3, counters }), ..ack }
    }

    /// For any history: passing over an ACK without news is equivalent to reading it.
    #[test]
    fn an_ack_without_news_may_be_passed_over() {
        let mut passed_over = 0;
        for (marked, delivered) in (0..9).flat_map(|marked| (1..12).map(move |n| (marked, n))) {
            let (mut reader, ack) = (reader(), ack(marked, delivered));
            reader.read(&super::tests::ack(3, 4));
            reader.note_newer();
            let (mut other, before) = (reader.clone(), format!("{reader:?}"));
            let reported = reader.read(&ack);
            if other.has_no_news(ack.ace, delivered.into()) {
                other.pass_over(ack.delivered, ack.delivered_bytes);
                assert_eq!(
                    (reported, format!("{other:?}")),
                    (ReportedMarks::default(), format!("{reader:?}"))
                );
                passed_over += 1;
            } else {
                assert!(reported.congestion || delivered > 7, "{marked} of {delivered}");
            }
            assert_ne!(before, format!("{reader:?}"));
        }
        assert_eq!(passed_over, 7, "three marks, and up to seven segments");
    }

    #[test]
    fn ace_says_how_many_of_up_to_seven_packets_were_marked() {
        let mut reader = reader();
        let reported = [(1, 2), (1, 1), (3, 4), (9, 7)].map(|(marked, delivered)| {
            let reported = reader.read(&ack(marked, delivered));
            (reported.segments, reported.bytes)
        });
        assert_eq!(reported, [(1, 1_000), (0, 0), (2, 2_000), (6, 6_000)]);
    }

    /// Appendix A.2.1: of nine packets exactly two were marked; of ten, two or ten.
    #[test]
    fn the_safest_number_is_taken_where_ace_may_have_wrapped() {
        for (delivered, want) in [(9, 2), (10, 10), (17, 10), (18, 18)] {
            let mut reader = reader();
            reader.read(&ack(0, 1));
            assert_eq!(reader.read(&ack(2, delivered)).segments, want, "of {delivered}");
        }
    }

    /// Linux: if ACKs of many packets are the rule.
    #[test]
    fn thinned_acks_do_not_count_as_wraps() {
        let mut reader = reader();
        assert_eq!([ack(0, 10), ack(1, 10)].map(|ack| reader.read(&ack).segments), [0, 1]);
    }

    #[test]
    fn the_option_says_how_often_ace_has_wrapped() {
        let mut reader = reader();
        reader.read(&with_option(ack(0, 1), [1_000, 0, 0]));
        let reported = reader.read(&with_option(ack(18, 40), [23_000, 18_000, 0]));
        assert_eq!((reported.segments, reported.bytes), (18, 18_000));
        let reported = reader.read(&with_option(ack(18, 40), [63_000, 18_000, 0]));
        assert_eq!(reported, ReportedMarks::default(), "none of forty");
        // Short segments: twelve of 700 B carry no less than nine full ones, and twelve modulo 8 is four.
        let reported = reader.read(&with_option(ack(30, 12), [63_000, 26_400, 0]));
        assert_eq!((reported.segments, reported.bytes), (12, 8_400));
    }

    /// Section 3.2.3.2.5: a middlebox clears marks in the flags.
    #[test]
    fn marked_bytes_without_a_marked_packet_end_ecn() {
        let capable = |acks: [Arrived; 3]| {
            let mut reader = reader();
            acks.iter().for_each(|ack| _ = reader.read(ack));
            reader.may_be_capable()
        };
        let first = with_option(ack(0, 1), [1_000, 0, 0]);
        let marked = with_option(ack(1, 2), [2_000, 1_000, 0]);
        assert!(capable([first, marked, with_option(ack(3, 2), [2_000, 3_000, 0])]));
        assert!(!capable([first, marked, with_option(ack(1, 2), [3_000, 2_000, 0])]));
        assert!(capable([first, marked, with_option(ack(9, 8), [2_000, 9_000, 0])]), "it wrapped");
        let made_good = with_option(ack(1, 1), [2_000, 1_000, 0]);
        assert!(capable([first, ack(1, 1), made_good]), "one came without the option");
    }

    #[test]
    fn the_counters_of_the_option_wrap() {
        let mut reader = reader();
        let mut reported = ReportedMarks::default();
        for n in 1..=5_000_u32 {
            let counters = [0, n * 8 * 1_000, 0];
            let next = reader.read(&with_option(ack(8 * n, 8), counters));
            reported = ReportedMarks { bytes: reported.bytes + next.bytes, ..next };
        }
        assert_eq!((reported.segments, reported.bytes), (8, 40_000_000));
    }

    #[test]
    fn an_ack_that_another_has_overtaken_says_nothing() {
        let mut reader = reader();
        reader.read(&ack(2, 4));
        assert_eq!(reader.read(&ack(1, 0)), ReportedMarks::default());
        reader.note_newer();
        assert_eq!(reader.read(&ack(3, 0)).segments, 1, "unless its own timestamp is newer");
    }

    /// Without SACK: twelve duplicates after a loss, two of which report marks, and then a cumulative ACK of all. A
    /// reordered duplicate is ignored.
    #[test]
    fn duplicates_report_a_packet_each() {
        let mut reader = reader();
        reader.read(&ack(0, 1));
        let duplicate = |marked| Arrived { progresses: false, ..ack(marked, 1) };
        let reported: Vec<_> = [0, 0, 1, 1, 1, 1, 0, 2, 2, 2, 2, 2]
            .map(|marked| reader.read(&duplicate(marked)).segments)
            .into_iter()
            .collect();
        assert_eq!(reported, [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(reader.read(&ack(2, 1)).segments, 0);
    }

    /// If only some ACKs have the option, the estimates in between are corrected.
    #[test]
    fn bytes_that_were_supposed_are_not_reported_again() {
        let mut reader = reader();
        let short = Arrived { delivered_bytes: 1_500, ..ack(1, 2) };
        assert_eq!(reader.read(&short).bytes, 750);
        assert_eq!(reader.read(&with_option(ack(2, 2), [2_500, 2_000, 0])).bytes, 1_250);
    }

    #[test]
    fn an_option_that_begins_with_nothing_or_late_is_ignored() {
        let zeroed = ReceivedBytes { ect_1_first: true, fields: 3, counters: [0, 0, 0] };
        let mut cleared = reader();
        cleared.note_option(&zeroed);
        let mut late = reader();
        late.read(&Arrived { delivered_bytes: LATEST_FIRST_BYTES, ..ack(0, 1) });
        late.read(&ack(0, 1));
        for mut reader in [cleared, late] {
            assert_eq!(reader.read(&with_option(ack(1, 1), [0, 500, 0])).bytes, 1_000, "by ACE");
        }
    }

    /// Section 3.2.2.1.
    #[test]
    fn a_deaf_sender_believes_nothing() {
        let mut reader = MarkReader::new(MSS);
        let outcome = HandshakeOutcome {
            deaf: true,
            capable: false,
            ..HandshakeOutcome::plain(Mode::Accurate)
        };
        reader.begin(outcome, false);
        assert_eq!(reader.read(&ack(3, 4)), ReportedMarks::default());
        assert!(!reader.may_be_capable());
    }
}
