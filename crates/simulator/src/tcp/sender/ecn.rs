//! What a connection makes of congestion marks: what its packets carry, and what an echo stands for.

use tidegate_scenario::plan::{FeedbackPlan, TcpPlan};

use crate::packet::{Packet, flags};

/// How the receiver tells of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    /// Not at all.
    None,
    /// It echoes congestion until the sender says that it has answered (RFC 3168).
    Latched,
    /// It echoes every mark (RFC 8257, section 3.2).
    Each,
}

/// ECN as the sender uses it.
#[derive(Clone, Copy, Debug)]
pub struct Ecn {
    feedback: Feedback,
    /// The controller answers to marks in proportion to their share.
    in_proportion: bool,
    /// A request that is lost is repeated without (RFC 3168, section 6.1.1.1).
    falls_back: bool,
    /// The next new segment says that the window was reduced.
    announces: bool,
}

impl Ecn {
    /// As a plan has it.
    pub fn new(plan: &TcpPlan) -> Self {
        let feedback = match plan.marks_told_by() {
            None => Feedback::None,
            Some(FeedbackPlan::Classic) => Feedback::Latched,
            Some(FeedbackPlan::Dctcp) => Feedback::Each,
        };
        let (in_proportion, falls_back) = (plan.is_scalable(), plan.ecn_fallback);
        Ecn { feedback, in_proportion, falls_back, announces: false }
    }

    /// Whether the sender is told of every mark.
    #[inline]
    pub fn counts_marks(&self) -> bool {
        self.feedback == Feedback::Each
    }

    /// Whether the controller is told of every mark, and answers in proportion.
    #[inline]
    pub fn answers_in_proportion(&self) -> bool {
        self.in_proportion && self.counts_marks()
    }

    /// Whether an ACK echoes congestion.
    #[inline]
    pub fn is_echoed(&self, packet: &Packet) -> bool {
        packet.has(flags::ECE) && self.feedback != Feedback::None
    }

    /// What of the segments and bytes that an ACK delivers was marked, as far as it tells (RFC 8257, section
    /// 3.3: an ACK that echoes congestion does so for all that it acknowledges).
    #[inline]
    pub fn marked_of(&self, packet: &Packet, delivered: u32, bytes: u64) -> (u32, u64) {
        let all = self.counts_marks() && packet.has(flags::ECE);
        if all { (delivered, bytes) } else { (0, 0) }
    }

    /// A reduction ends when so many segments more are acknowledged than were out when it began: the one
    /// that announces it has to arrive before the next echo is news; not so where each mark is echoed.
    #[inline]
    pub fn segments_to_answer(&self) -> u64 {
        u64::from(!self.counts_marks())
    }

    /// The window was reduced.
    pub fn announce_reduction(&mut self) {
        self.announces = self.feedback != Feedback::None;
    }

    /// It was not after all.
    pub fn withhold_announcement(&mut self) {
        self.announces = false;
    }

    /// The flags of a new segment.
    #[inline]
    pub fn flags_of_new(&mut self) -> u32 {
        match self.feedback {
            Feedback::None => 0,
            _ if core::mem::take(&mut self.announces) => flags::ECT | flags::CWR,
            _ => flags::ECT,
        }
    }

    /// The flags of requests and of what is sent again: not ECN-capable by RFC 3168 (sections 6.1.1 and
    /// 6.1.5), but of scalable senders all packets are, or a queue that marks many would drop those
    /// (RFC 8257, section 3.6).
    #[inline]
    pub fn flags_of_control(&self) -> u32 {
        if self.answers_in_proportion() { flags::ECT } else { 0 }
    }

    /// The connection request was lost.
    pub fn on_request_lost(&mut self) {
        if self.falls_back {
            self.feedback = Feedback::None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ECN of a sender with this controller.
    fn ecn(controller: &str) -> Ecn {
        let options =
            format!("congestion_control = {controller:?}, ecn = true, ecn_fallback = true");
        Ecn::new(&crate::tcp::tests::classic_with(&options))
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
        assert_eq!(
            ["reno", "prague"].map(|controller| ecn(controller).marked_of(&echo, 2, 2_920)),
            [(0, 0), (2, 2_920)]
        );
        assert_eq!(ecn("prague").flags_of_control(), flags::ECT);
    }

    #[test]
    fn after_a_lost_request_nothing_is_ecn_capable() {
        let mut ecn = ecn("prague");
        ecn.on_request_lost();
        ecn.announce_reduction();
        assert_eq!((ecn.flags_of_new(), ecn.flags_of_control(), ecn.counts_marks()), (0, 0, false));
    }
}
