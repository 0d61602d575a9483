//! ECN of a sender: codepoints of its packets, and the meaning of feedback.

use tidegate_scenario::plan::{FeedbackPlan, TcpPlan};

use super::outstanding::ArrivedData;
use crate::packet::{Packet, ReceivedBytes, flags};
use crate::tcp::accecn::handshake::{Client, Mode};
use crate::tcp::accecn::{Ace, Arrived, Codepoint, HandshakeOutcome, MarkReader, ReportedMarks};

/// Kind of the receiver's feedback.
#[derive(Clone, Debug)]
enum Feedback {
    /// No feedback.
    None,
    /// ECE is latched until CWR (RFC 3168).
    Latched,
    /// Each mark is echoed (RFC 8257, section 3.2).
    Each,
    /// Marks are counted (RFC 9768).
    Counted(Box<Counted>),
}

/// State for AccECN only.
#[derive(Clone, Debug)]
struct Counted {
    client: Client,
    reader: MarkReader,
    /// Without SACK: packets beyond the acknowledgement whose duplicates have reported their marks, including before a
    /// timeout.
    beyond: u32,
}

impl Counted {
    /// Returns the number of packets whose marks this ACK reports first: one for a duplicate; otherwise those without
    /// an earlier duplicate.
    fn newly_reported(&mut self, acknowledged: u32, duplicate: bool) -> u32 {
        if acknowledged == 0 {
            self.beyond += u32::from(duplicate);
            return u32::from(duplicate);
        }
        let ack = acknowledged.saturating_sub(self.beyond).max(1);
        self.beyond = self.beyond.saturating_sub(acknowledged - 1);
        ack
    }
}

/// Kind of an ACK with respect to duplicates without SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// The connection uses SACK.
    No,
    /// Without SACK: a duplicate.
    Duplicate,
    /// Without SACK: not a duplicate.
    Other,
}

/// Effect of successive marks at a window of one segment on the RTO.
#[derive(Clone, Copy, Debug)]
enum AtOne {
    /// Marks do not change the RTO.
    Ignored,
    /// Each successive mark doubles the RTO once more: first missing segment at the last mark, and number of marks in a
    /// row.
    Counted(u64, u32),
    /// Each mark except the first doubles the current RTO; the flag is set after the first.
    Lasting(bool),
}

/// ECN state of a sender.
#[derive(Clone, Debug)]
pub struct EcnSender {
    feedback: Feedback,
    /// Whether the controller reacts in proportion to the share of marks.
    in_proportion: bool,
    /// Whether a lost SYN is retransmitted without ECN (RFC 3168, section 6.1.1.1).
    falls_back: bool,
    /// Whether the next new segment sets CWR.
    announces: bool,
    /// Whether retransmissions are ECN-capable as new segments are.
    on_retransmits: bool,
    /// Whether a mark ends slow start.
    ends_slow_start: bool,
    /// Treatment of marks at a window of one segment.
    at_one: AtOne,
}

impl EcnSender {
    /// Returns the state for a plan and segments of `mss` bytes.
    pub fn new(plan: &TcpPlan, mss: u64) -> Self {
        let (in_proportion, falls_back) = (plan.is_scalable(), plan.ecn_fallback);
        let counted = || {
            let asks_with = if in_proportion { Codepoint::Ect1 } else { Codepoint::NotEct };
            let client = Client::new(asks_with, falls_back);
            Box::new(Counted { client, reader: MarkReader::new(mss), beyond: 0 })
        };
        let feedback = match plan.mark_feedback() {
            None => Feedback::None,
            Some(FeedbackPlan::Classic) => Feedback::Latched,
            Some(FeedbackPlan::Dctcp) => Feedback::Each,
            Some(FeedbackPlan::Accurate) => Feedback::Counted(counted()),
        };
        EcnSender {
            feedback,
            in_proportion,
            falls_back,
            announces: false,
            on_retransmits: plan.quirks.ecn_on_retransmits,
            ends_slow_start: plan.ecn_in_slow_start,
            at_one: match (
                plan.quirks.ecn_backoff && plan.ecn_to_one,
                plan.quirks.ecn_backoff_lasts,
            ) {
                (false, _) => AtOne::Ignored,
                (true, false) => AtOne::Counted(0, 0),
                (true, true) => AtOne::Lasting(false),
            },
        }
    }

    /// Whether a mark ends slow start.
    #[inline]
    pub fn ends_slow_start(&self) -> bool {
        self.ends_slow_start
    }

    /// Whether the sender gets feedback about every mark.
    #[inline]
    pub fn counts_marks(&self) -> bool {
        matches!(self.feedback, Feedback::Each | Feedback::Counted(_))
    }

    /// Whether segments may be ECN-capable: negotiated, and not disabled since.
    pub fn may_be_capable(&self) -> bool {
        match &self.feedback {
            Feedback::None => false,
            Feedback::Counted(counted) => counted.reader.may_be_capable(),
            Feedback::Latched | Feedback::Each => true,
        }
    }

    /// Whether the controller gets feedback about every mark and reacts in proportion.
    #[inline]
    pub fn answers_in_proportion(&self) -> bool {
        self.in_proportion && self.counts_marks()
    }

    /// Returns the marks that an ACK reports. With one echo per mark, ECE marks everything that the ACK delivers (RFC
    /// 8257, section 3.3). Without SACK, duplicates report the marks of the segments that they account for.
    #[inline]
    pub fn read(
        &mut self,
        packet: &Packet,
        option: Option<ReceivedBytes>,
        arrivals: &ArrivedData,
        unnamed: Unnamed,
    ) -> ReportedMarks {
        let congestion = packet.has(flags::ECE);
        match &mut self.feedback {
            Feedback::None => ReportedMarks::default(),
            Feedback::Latched => ReportedMarks { congestion, ..ReportedMarks::default() },
            Feedback::Each if congestion => {
                ReportedMarks { congestion, segments: arrivals.delivered, bytes: arrivals.bytes }
            }
            Feedback::Each => ReportedMarks::default(),
            Feedback::Counted(counted) => {
                let ArrivedData { acknowledged, delivered, bytes, .. } = *arrivals;
                let ack = match unnamed {
                    Unnamed::No => delivered,
                    _ => counted.newly_reported(acknowledged, unnamed == Unnamed::Duplicate),
                };
                counted.reader.read(&Arrived {
                    ace: Ace::of(packet),
                    option,
                    delivered: ack,
                    delivered_bytes: match u64::from(delivered) {
                        0 => counted.reader.bytes_of(ack),
                        delivered => bytes * u64::from(ack) / delivered,
                    },
                    progresses: acknowledged > 0 || delivered > 0,
                })
            }
        }
    }

    /// Whether an ACK without options that acknowledges `delivered` new segments reports no mark, for any earlier
    /// state.
    #[inline]
    pub fn has_no_news(&self, packet: &Packet, delivered: u64) -> bool {
        match &self.feedback {
            Feedback::Counted(counted) => counted.reader.has_no_news(Ace::of(packet), delivered),
            _ => !packet.has(flags::ECE),
        }
    }

    /// Takes such an ACK, which delivers these segments and bytes.
    #[inline]
    pub fn pass_over(&mut self, delivered: u32, delivered_bytes: u64) {
        if let Feedback::Counted(counted) = &mut self.feedback {
            counted.reader.pass_over(delivered, delivered_bytes);
            // No segment is missing, so none has arrived beyond the acknowledgement.
            counted.beyond = 0;
        }
    }

    /// Returns the number of segments after those outstanding that must be acknowledged before a reduction ends: one
    /// with latched ECE, whose CWR has to arrive before the next ECE counts; zero if each mark is reported.
    #[inline]
    pub fn segments_to_answer(&self) -> u64 {
        u64::from(!self.counts_marks())
    }

    /// Announces a reduction by CWR. Not needed where marks are counted (RFC 9768, section 3.1.5).
    pub fn announce_reduction(&mut self) {
        self.announces = matches!(self.feedback, Feedback::Latched | Feedback::Each);
    }

    /// Cancels the announcement of a reduction that was undone.
    pub fn withhold_announcement(&mut self) {
        self.announces = false;
    }

    /// Returns the flags of a new segment.
    #[inline]
    pub fn flags_of_new(&mut self) -> u32 {
        match &self.feedback {
            Feedback::None => 0,
            Feedback::Counted(counted) => self.flags_of_counted(counted),
            _ if core::mem::take(&mut self.announces) => flags::ECT | flags::CWR,
            _ => flags::ECT,
        }
    }

    /// Handles a mark at a window of one segment (`one`) or more; `una` is the first unacknowledged segment. Returns
    /// the number of doublings of the RTO.
    pub fn doublings(&mut self, one: bool, una: u64) -> u32 {
        match &mut self.at_one {
            AtOne::Ignored => 0,
            AtOne::Counted(last, in_a_row) => {
                let next = one && *last > 0 && una == *last + 1;
                *in_a_row = if next { *in_a_row + 1 } else { 0 };
                *last = if one { una } else { 0 };
                *in_a_row
            }
            AtOne::Lasting(any) => u32::from(core::mem::replace(any, one) && one),
        }
    }

    /// Handles a loss at a window of `cwnd` segments. A window above one has grown since the last mark.
    pub fn on_loss(&mut self, cwnd: f64) {
        if let AtOne::Lasting(any) = &mut self.at_one {
            *any &= cwnd <= 1.0;
        }
    }

    /// Whether a mark at a window of one segment keeps the RTO doubled as before its ACK.
    #[inline]
    pub fn backoff_lasts(&self) -> bool {
        matches!(self.at_one, AtOne::Lasting(_))
    }

    /// Returns the flags of a retransmission.
    pub fn retransmit_flags(&mut self) -> u32 {
        let by_quirk = !self.in_proportion && !matches!(self.feedback, Feedback::Counted(_));
        if self.on_retransmits && by_quirk { self.flags_of_new() } else { self.flags_of_control() }
    }

    /// Returns the ECN flags of retransmissions and ACKs: not ECN-capable by RFC 3168 (section 6.1.5). All packets of
    /// scalable senders are ECN-capable, since a queue that marks many would drop others (RFC 8257, section 3.6), and
    /// so are all with AccECN in Linux.
    #[inline]
    pub fn flags_of_control(&self) -> u32 {
        match &self.feedback {
            Feedback::Counted(counted) => self.flags_of_counted(counted),
            _ if self.answers_in_proportion() => flags::ECT,
            _ => 0,
        }
    }

    fn flags_of_counted(&self, counted: &Counted) -> u32 {
        match (counted.reader.may_be_capable(), self.in_proportion) {
            (false, _) => 0,
            (true, true) => Codepoint::Ect1.flags(),
            (true, false) => Codepoint::Ect0.flags(),
        }
    }

    /// Returns the flags of a SYN: not ECN-capable (RFC 3168, section 6.1.1), except for scalable senders.
    pub fn flags_of_request(&mut self) -> u32 {
        let in_proportion = self.answers_in_proportion();
        match &mut self.feedback {
            Feedback::Counted(counted) => {
                let sent = if in_proportion { Codepoint::Ect1 } else { Codepoint::NotEct };
                counted.client.request().flags() | sent.flags()
            }
            _ if in_proportion => flags::ECT,
            _ => 0,
        }
    }

    /// Handles the loss of a SYN.
    pub fn on_request_lost(&mut self) {
        if self.falls_back && !matches!(self.feedback, Feedback::Counted(_)) {
            self.feedback = Feedback::None;
        }
    }

    /// Handles the SYN/ACK. Returns whether the SYN was marked.
    pub fn on_answer(&mut self, answer: &Packet, option: Option<ReceivedBytes>) -> bool {
        let Feedback::Counted(counted) = &mut self.feedback else { return false };
        if let Some(option) = &option {
            counted.reader.note_option(option);
        }
        let outcome = counted.client.on_answer(Ace::of(answer));
        self.adopt(outcome, false);
        outcome.marked
    }

    /// Adopts the outcome of the handshake; `answered` for the end that sent the SYN/ACK.
    pub fn adopt(&mut self, outcome: HandshakeOutcome, answered: bool) {
        let Feedback::Counted(counted) = &mut self.feedback else { return };
        match outcome.mode {
            Mode::None => self.feedback = Feedback::None,
            Mode::Classic => self.feedback = Feedback::Latched,
            Mode::Accurate => counted.reader.begin(outcome, answered),
        }
    }

    /// Returns the AccECN reader, if marks are counted.
    pub fn reader(&self) -> Option<&MarkReader> {
        match &self.feedback {
            Feedback::Counted(counted) => Some(&counted.reader),
            _ => None,
        }
    }

    /// Returns the AccECN reader, mutable, if marks are counted.
    pub fn reader_mut(&mut self) -> Option<&mut MarkReader> {
        match &mut self.feedback {
            Feedback::Counted(counted) => Some(&mut counted.reader),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ECN state of a sender with this controller.
    fn ecn(controller: &str) -> EcnSender {
        let options =
            format!("congestion_control = {controller:?}, ecn = true, ecn_fallback = true");
        EcnSender::new(&crate::tcp::tests::classic_with(&options), 1_460)
    }

    #[test]
    fn one_new_segment_announces_a_reduction() {
        let mut ecn = ecn("reno");
        ecn.announce_reduction();
        let (first, second) = (ecn.flags_of_new(), ecn.flags_of_new());
        assert_eq!(
            [first, second, ecn.flags_of_control()],
            [flags::ECT | flags::CWR, flags::ECT, 0]
        );
    }

    #[test]
    fn all_that_an_echo_delivers_was_marked_where_each_mark_is_echoed() {
        let echo = Packet { flags: flags::ACK | flags::ECE, ..Packet::default() };
        let arrivals = ArrivedData { delivered: 2, bytes: 2_920, ..ArrivedData::default() };
        let ack = ["reno", "prague"].map(|controller| {
            let ack = ecn(controller).read(&echo, None, &arrivals, Unnamed::No);
            (ack.congestion, ack.segments, ack.bytes)
        });
        assert_eq!(ack, [(true, 0, 0), (true, 2, 2_920)]);
        assert_eq!(ecn("prague").flags_of_control(), flags::ECT);
    }

    #[test]
    fn a_row_of_marks_at_one_segment_ends_where_the_window_grows() {
        let options = "ecn = true, quirks.ecn_backoff = true, quirks.ecn_backoff_lasts = true";
        let mut ecn = EcnSender::new(&crate::tcp::tests::classic_with(options), 1_460);
        assert_eq!(
            [(true, 1), (true, 5), (false, 9), (true, 10)]
                .map(|(one, una)| ecn.doublings(one, una)),
            [0, 1, 0, 0]
        );
        ecn.on_loss(1.0);
        assert_eq!(
            ecn.doublings(true, 11),
            1,
            "a loss of the one segment there is does not end it"
        );
        ecn.on_loss(2.0);
        assert_eq!(ecn.doublings(true, 13), 0);
    }

    #[test]
    fn after_a_lost_request_nothing_is_ecn_capable() {
        let mut ecn = ecn("prague");
        ecn.on_request_lost();
        ecn.announce_reduction();
        assert_eq!((ecn.flags_of_new(), ecn.flags_of_control(), ecn.counts_marks()), (0, 0, false));
    }
}
