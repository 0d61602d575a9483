//! Loss detection: by the number of segments that arrived later, or by time.
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

/// Loss detection of one sender.
pub enum Detection {
    /// Without SACK: number of duplicate ACKs.
    Duplicates(u32),
    /// With SACK: holes in the scoreboard.
    Holes {
        /// Number of duplicate ACKs.
        duplicates: u32,
        /// Distance below the highest sacked segment from which on segments are lost (FACK).
        forward: Option<u32>,
        /// Whether the scoreboard is kept for one fast recovery, in which every hole counts as lost (ns-2).
        for_one_recovery: bool,
    },
    /// By time (RFC 8985).
    Time(Box<Rack>),
}

impl Detection {
    /// Returns the detection of a plan.
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

    /// Prefetches state kept elsewhere.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        if let Detection::Time(rack) = self {
            prefetch(&**rack);
        }
    }

    /// Returns the history of segments that it needs.
    pub fn memory(&self) -> SegmentHistory {
        match self {
            Detection::Holes { forward: Some(_), .. } => SegmentHistory::Retransmissions,
            Detection::Time(_) => SegmentHistory::SendTimes,
            _ => SegmentHistory::None,
        }
    }

    /// Whether it sends tail loss probes.
    #[inline]
    pub fn probes(&self) -> bool {
        matches!(self, Detection::Time(_))
    }

    /// Returns the number of duplicate ACKs, if they are counted.
    #[inline]
    pub fn duplicates(&self) -> u32 {
        match self {
            Detection::Duplicates(duplicates) | Detection::Holes { duplicates, .. } => *duplicates,
            Detection::Time(_) => 0,
        }
    }

    /// Whether SACK information is cleared at the end of recovery.
    pub fn forgets_scoreboard(&self) -> bool {
        matches!(self, Detection::Holes { for_one_recovery: true, .. })
    }

    /// Returns the assumed reordering of the path, segments.
    pub fn reordering(&self) -> u32 {
        match self {
            Detection::Time(rack) => rack.reordering(),
            _ => DUP_THRESH,
        }
    }

    /// Whether the path reorders by more than the duplicate threshold, so that sacked segments let the window grow
    /// before the rest is acknowledged (Linux, `tcp_may_raise_cwnd`).
    #[inline]
    pub fn expects_reordering(&self) -> bool {
        self.reordering() > DUP_THRESH
    }

    /// Returns the number of ACKs that showed reordering, if they are counted.
    pub fn reorderings(&self) -> u32 {
        match self {
            Detection::Time(rack) => rack.reorderings(),
            _ => 0,
        }
    }

    /// Whether a probe is outstanding.
    pub fn is_probing(&self) -> bool {
        matches!(self, Detection::Time(rack) if rack.is_probing())
    }

    /// Records a tail loss probe; `end` is the segment after it, `again` whether it is a retransmission.
    pub fn on_probe(&mut self, end: u64, again: bool) {
        if let Detection::Time(rack) = self {
            rack.on_probe(end, again);
        }
    }

    /// Starts with the round trip of the handshake.
    pub fn begin(&mut self, rtt: Span) {
        if let Detection::Time(rack) = self {
            rack.begin(rtt);
        }
    }

    /// Takes an ACK that acknowledges up to `una`. Returns whether it shows that the outstanding probe has repaired a
    /// tail loss.
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

    /// Returns the losses that an ACK shows.
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

    /// Returns the losses at a retransmission timeout, if they are determined by time.
    pub fn judge_timeout(&self, out: &Outstanding, now: Time) -> Option<LossDetection> {
        match self {
            Detection::Time(rack) => Some(rack.judge_timeout(out, now)),
            _ => None,
        }
    }

    /// Resets the state at the end or restart of a recovery.
    pub fn start_over(&mut self) {
        if let Detection::Duplicates(duplicates) | Detection::Holes { duplicates, .. } = self {
            *duplicates = 0;
        }
    }

    /// Resets the check for losses after an undo or a pause.
    pub fn look_again(&mut self) {
        self.start_over();
        if let Detection::Time(rack) = self {
            rack.look_again();
        }
    }

    /// Cancels the probe, because the window is reduced for another reason than a tail loss.
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

    /// Detection of a sender, with ten segments outstanding that were sent at 0, 1, … 9 ms.
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
            let (detection, mut feedback) = (Detection::new(&plan), Feedback::new(&plan, false));
            feedback.begin(Some(Span::from_millis(100)), Time::ZERO);
            let mut out = Outstanding::new(detection.memory(), 1_460);
            (0..10).for_each(|n| _ = out.add(0, ms(n)));
            Bench { detection, feedback, out }
        }

        /// Delivers an ACK of no new data with this block, and returns the losses that it shows.
        fn duplicate(
            &mut self,
            block: (u64, u64),
            points: &RecoveryPoints,
            now: Time,
        ) -> LossDetection {
            let blocks: SackBlocks = [block, (0, 0), (0, 0)];
            let reading = AckReading { now, min_rtt: Span::from_millis(100), echo: None };
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

    /// RFC 8985, section 6.2: segments sent before one that has arrived are lost a quarter of the round trip later.
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

    /// RFC 8985, section 6.2, step 5: only reordered segments wait. The retransmission of a lost segment is the most
    /// recently sent of those delivered, so that all the rest was sent before; so were earlier occupants of the ring.
    #[test]
    fn the_wait_ends_with_the_last_segment_sent_however_many_there_were_before() {
        let wait = |before: u64| {
            let mut bench = Bench::new("rack");
            (10..before).for_each(|_| _ = bench.out.add(0, ms(9)));
            let reading = AckReading { now: ms(10), min_rtt: Span::from_millis(100), echo: None };
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
