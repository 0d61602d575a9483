//! How a sender detects lost segments: by the count of what arrived after them, or by time.
//!
//! ```text
//! Reno, NewReno    the third duplicate ACK: the first segment; NewReno: after it each partial ACK
//! SACK             three sacked segments above a hole, or the third duplicate    (RFC 6675, IsLost)
//! FACK             a sacked segment three above a hole, or as many as the plan has; a retransmission, if something
//!                  sent after it is sacked
//! time             see [`super::rack`]
//! ```

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{RecoveryPlan, TcpPlan};

use super::feedback::{AckSample, Feedback};
use super::outstanding::{LossDetection, LostRetransmissions, Outstanding, SegmentHistory};
use super::phase::{Phase, RecoveryPoints};
use super::rack::Rack;
use crate::memory::prefetch;
use crate::tcp::scoreboard::DUP_THRESH;

/// The path of one sender.
pub enum Detection {
    /// Without SACK: duplicate ACKs so far.
    Duplicates(u32),
    /// With SACK.
    Holes {
        /// Duplicate ACKs so far.
        duplicates: u32,
        /// What was sent so many before something that has arrived is lost (FACK).
        forward: Option<u32>,
        /// The scoreboard lives for one fast recovery, in which every hole is lost (ns-2).
        for_one_recovery: bool,
    },
    /// By time (RFC 8985).
    Time(Box<Rack>),
}

impl Detection {
    /// As a plan has it.
    pub fn new(plan: &TcpPlan) -> Self {
        match plan.loss_recovery {
            RecoveryPlan::Reno | RecoveryPlan::NewReno | RecoveryPlan::Tahoe => {
                Detection::Duplicates(0)
            }
            RecoveryPlan::Sack => Detection::Holes {
                duplicates: 0,
                forward: None,
                for_one_recovery: plan.quirks.scoreboard_per_recovery,
            },
            RecoveryPlan::Fack => Detection::Holes {
                duplicates: 0,
                forward: Some(plan.quirks.loss_threshold.0),
                for_one_recovery: false,
            },
            RecoveryPlan::Rack => Detection::Time(Box::default()),
        }
    }

    /// Asks for what it keeps elsewhere.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        if let Detection::Time(rack) = self {
            prefetch(&**rack);
        }
    }

    /// What has to be remembered of segments for it.
    pub fn memory(&self) -> SegmentHistory {
        match self {
            Detection::Holes { forward: Some(_), .. } => SegmentHistory::Retransmissions,
            Detection::Time(_) => SegmentHistory::SendTimes,
            _ => SegmentHistory::None,
        }
    }

    /// Whether losses at the tail are probed for.
    #[inline]
    pub fn probes(&self) -> bool {
        matches!(self, Detection::Time(_))
    }

    /// Duplicate ACKs so far, where they are counted.
    #[inline]
    pub fn duplicates(&self) -> u32 {
        match self {
            Detection::Duplicates(duplicates) | Detection::Holes { duplicates, .. } => *duplicates,
            Detection::Time(_) => 0,
        }
    }

    /// Whether what is sacked is forgotten as recovery ends.
    pub fn forgets_scoreboard(&self) -> bool {
        matches!(self, Detection::Holes { for_one_recovery: true, .. })
    }

    /// By how many segments the path is taken to reorder.
    pub fn reordering(&self) -> u32 {
        match self {
            Detection::Time(rack) => rack.reordering(),
            _ => DUP_THRESH,
        }
    }

    /// Whether the path reorders by more than duplicates are counted, so that what is sacked before the rest has
    /// come lets the window grow (Linux, `tcp_may_raise_cwnd`).
    #[inline]
    pub fn expects_reordering(&self) -> bool {
        self.reordering() > DUP_THRESH
    }

    /// How many ACKs showed that a segment was overtaken, where the sender knows.
    pub fn reorderings(&self) -> u32 {
        match self {
            Detection::Time(rack) => rack.reorderings(),
            _ => 0,
        }
    }

    /// Whether a probe is out.
    pub fn is_probing(&self) -> bool {
        matches!(self, Detection::Time(rack) if rack.is_probing())
    }

    /// A probe leaves: the last segment again, or a new one; `end` is the next after it.
    pub fn on_probe(&mut self, end: u64, again: bool) {
        if let Detection::Time(rack) = self {
            rack.on_probe(end, again);
        }
    }

    /// The connection request was answered after `rtt`.
    pub fn begin(&mut self, rtt: Span) {
        if let Detection::Time(rack) = self {
            rack.begin(rtt);
        }
    }

    /// Takes note of an ACK that acknowledges up to `una`. Returns whether it shows that the probe which
    /// is out has recovered a loss at the tail.
    #[inline(always)]
    pub fn note(&mut self, ack: &AckSample, una: u64) -> bool {
        match self {
            Detection::Duplicates(duplicates) | Detection::Holes { duplicates, .. } => {
                if ack.advances() {
                    *duplicates = 0;
                } else {
                    *duplicates += u32::from(ack.duplicate);
                }
                false
            }
            Detection::Time(rack) => rack.note(ack, una),
        }
    }

    /// What is lost, if anything can be.
    #[inline(always)]
    pub fn judge(
        &mut self,
        out: &Outstanding,
        points: &RecoveryPoints,
        feedback: &Feedback,
        now: Time,
    ) -> Option<LossDetection> {
        match self {
            Detection::Duplicates(duplicates) => head_is_lost(*duplicates, out, points)
                .then_some(LossDetection { head: true, ..LossDetection::NOTHING }),
            Detection::Holes { for_one_recovery: true, duplicates, .. } => {
                let below = match points.phase {
                    Phase::Recovery => out.board().highest_sacked(),
                    Phase::Open | Phase::Reducing
                        if *duplicates >= DUP_THRESH && points.allow_recovery(out.una()) =>
                    {
                        out.una() + 1
                    }
                    _ => 0,
                };
                (below > 0).then_some(LossDetection { below, ..LossDetection::NOTHING })
            }
            Detection::Holes { duplicates, forward, .. } => {
                (out.board().sacked() > 0).then(|| judge_holes(*duplicates, *forward, out))
            }
            Detection::Time(rack) => rack.judge(out, points.phase, feedback, now),
        }
    }

    /// What counts as lost when the retransmission timer runs out, where that is told by time.
    pub fn judge_timeout(&self, out: &Outstanding, now: Time) -> Option<LossDetection> {
        match self {
            Detection::Time(rack) => Some(rack.judge_timeout(out, now)),
            _ => None,
        }
    }

    /// Recovery is over, or begins again.
    pub fn start_over(&mut self) {
        if let Detection::Duplicates(duplicates) | Detection::Holes { duplicates, .. } = self {
            *duplicates = 0;
        }
    }

    /// What counted as lost does not, or enough time has passed: the next look is a fresh one.
    pub fn look_again(&mut self) {
        self.start_over();
        if let Detection::Time(rack) = self {
            rack.look_again();
        }
    }

    /// The window comes down for another reason than a loss at the tail.
    pub fn forget_probe(&mut self) {
        if let Detection::Time(rack) = self {
            rack.forget_probe();
        }
    }
}

fn head_is_lost(duplicates: u32, out: &Outstanding, points: &RecoveryPoints) -> bool {
    match points.phase {
        // RFC 6582, step 2: no second recovery for segments sent before the last one ended.
        Phase::Open | Phase::Reducing => {
            duplicates == DUP_THRESH && points.allow_recovery(out.una())
        }
        Phase::Recovery => points.partial_acks && duplicates == 0 && out.una() < points.end,
        _ => false,
    }
}

fn judge_holes(duplicates: u32, forward: Option<u32>, out: &Outstanding) -> LossDetection {
    let board = out.board();
    let head = if duplicates >= forward.unwrap_or(DUP_THRESH) { out.una() + 1 } else { 0 };
    let overtaken = LostRetransmissions::Overtaken(board.highest_sacked());
    LossDetection {
        below: board.overtaken_below(forward).max(head),
        retransmissions: if forward.is_some() { overtaken } else { LostRetransmissions::None },
        ..LossDetection::NOTHING
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::SackBlocks;
    use crate::tcp::sender::samples::AckReading;
    use crate::tcp::tests::classic_with;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    fn points(phase: Phase, end: u64, recover: u64) -> RecoveryPoints {
        RecoveryPoints { phase, end, recover, partial_acks: true }
    }

    /// A sender's detection, with ten segments out that left at 0, 1, … 9 ms.
    struct Bench {
        detection: Detection,
        feedback: Feedback,
        out: Outstanding,
    }

    impl Bench {
        fn new(recovery: &str) -> Self {
            Self::with(&format!("loss_recovery = {recovery:?}"))
        }

        fn with(options: &str) -> Self {
            let plan = classic_with(options);
            let (detection, mut feedback) = (Detection::new(&plan), Feedback::new(&plan));
            feedback.begin(Some(Span::from_millis(100)), Time::ZERO);
            let mut out = Outstanding::new(detection.memory(), 1_460);
            (0..10).for_each(|n| _ = out.add(0, ms(n)));
            Bench { detection, feedback, out }
        }

        /// An ACK of nothing new that reports this block, and what it shows to be lost.
        fn duplicate(
            &mut self,
            block: (u64, u64),
            points: &RecoveryPoints,
            now: Time,
        ) -> LossDetection {
            let blocks: SackBlocks = [block, (0, 0), (0, 0)];
            let reading = AckReading { now, min_rtt: Span::from_millis(100) };
            let mut samples = None;
            self.out.take(0, &blocks, reading, &mut samples);
            let ack =
                AckSample { duplicate: true, samples: samples.as_ref(), ..AckSample::default() };
            self.detection.note(&ack, self.out.una());
            let judged = self.detection.judge(&self.out, points, &self.feedback, now);
            judged.unwrap_or(LossDetection::NOTHING)
        }
    }

    /// RFC 6582, section 3.2, step 2.
    #[test]
    fn the_third_duplicate_signals_loss_unless_it_repeats_what_was_sent_before_the_last_recovery_ended()
     {
        for (recover, lost) in [(0, [false, false, true, false]), (7, [false; 4])] {
            let mut bench = Bench::new("newreno");
            let open = points(Phase::Open, 0, recover);
            let heads = [(); 4].map(|()| bench.duplicate((0, 0), &open, ms(100)).head);
            assert_eq!(heads, lost, "recover {recover}");
        }
    }

    #[test]
    fn holes_need_three_segments_above_them_or_one_sent_three_later() {
        for (options, below) in [
            ("loss_recovery = 'sack'", [0, 0, 1]),
            ("loss_recovery = 'fack'", [0, 2, 6]),
            ("loss_recovery = 'fack', quirks.loss_threshold = 4", [0, 1, 5]),
        ] {
            let mut bench = Bench::with(options);
            let open = points(Phase::Open, 0, 0);
            let blocks = [(1, 2), (4, 5), (8, 9)];
            let found = blocks.map(|block| bench.duplicate(block, &open, ms(100)).below);
            assert_eq!(found, below, "{options}");
        }
    }

    /// RFC 8985, section 6.2: sent before what has arrived, and a quarter of the round trip late.
    #[test]
    fn time_detects_what_was_overtaken_and_how_long_to_wait_for_the_rest() {
        let mut bench = Bench::new("rack");
        let open = points(Phase::Open, 0, 0);
        let early = bench.duplicate((4, 5), &open, ms(104));
        assert_eq!((early.below, early.wait), (0, Some(Span::from_millis(3 + 100 + 25 - 104))));
        bench.detection.look_again();
        assert_eq!(bench.duplicate((0, 0), &open, ms(127)).below, 3, "sent at 0, 1 and 2 ms");
        bench.detection.look_again();
        let recovering = points(Phase::Recovery, 10, 10);
        assert_eq!(bench.duplicate((0, 0), &recovering, ms(127)).below, 4, "none to wait for");
    }

    /// RFC 8985, section 6.2, step 5: nothing else waits. A repetition of what was lost is the most recently sent of
    /// what has arrived, so that all that is left was overtaken; what had been in the ring's other places was, too.
    #[test]
    fn the_wait_ends_with_the_last_segment_sent_however_many_there_were_before() {
        let wait = |before: u64| {
            let mut bench = Bench::new("rack");
            (10..before).for_each(|_| _ = bench.out.add(0, ms(9)));
            let reading = AckReading { now: ms(10), min_rtt: Span::from_millis(100) };
            bench.out.take(before, &SackBlocks::default(), reading, &mut None);
            (0..10).for_each(|n| _ = bench.out.add(0, ms(200 + 10 * n)));
            bench.out.repeat(before, ms(300));
            let mut samples = None;
            let reading = AckReading { now: ms(400), ..reading };
            bench.out.take(before + 1, &SackBlocks::default(), reading, &mut samples);
            let ack =
                AckSample { acknowledged: 1, samples: samples.as_ref(), ..AckSample::default() };
            bench.detection.note(&ack, bench.out.una());
            let open = points(Phase::Open, 0, 0);
            bench.detection.judge(&bench.out, &open, &bench.feedback, ms(400)).unwrap().wait
        };
        let waits = [10, 60, 100, 1_000].map(wait);
        assert_eq!(waits, [Some(Span::from_millis(290 + 100 + 25 - 400)); 4]);
    }

    /// RFC 8985, section 7.4.
    #[test]
    fn a_probe_has_recovered_a_loss_if_more_than_its_repetition_is_acknowledged() {
        for (again, end, una, retransmitted) in
            [(true, 10, 11, true), (true, 10, 10, false), (false, 11, 12, false)]
        {
            let mut detection = Bench::new("rack").detection;
            detection.on_probe(end, again);
            let ack = AckSample { acknowledged: 1, delivered: 1, ..AckSample::default() };
            assert_eq!(detection.note(&ack, una), retransmitted);
        }
    }
}
