//! Reads the feedback of an ACK into one value. Each kind of feedback (prices, ECN counters, one-way delay) is a field
//! of it.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{RecoveryPlan, TcpPlan};

use super::ecn::{EcnSender, Unnamed};
use super::outstanding::{ArrivedData, Outstanding};
use super::samples::{AckReading, Samples};
use crate::packet::{Options, Packet, SackBlocks, flags};
use crate::tcp::packed_option::PackedOption;
use crate::tcp::round_trip::RoundTrip;

/// Feedback of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample<'a> {
    /// Segments newly acknowledged by the cumulative ACK.
    pub acknowledged: u32,
    /// Segments newly known to have arrived.
    pub delivered: u32,
    /// Segments newly sacked, included in `delivered`.
    pub sacked: u32,
    /// Marked segments of those delivered, if every mark is reported.
    pub marked: u32,
    /// Marked bytes of those delivered, if every mark is reported.
    pub marked_bytes: u64,
    /// Segments that have left the network according to duplicate ACKs without SACK.
    pub departed: u32,
    /// Payload delivered, bytes.
    pub delivered_bytes: u64,
    /// Reordering of a segment sent once, in segments, if known; 0 without reordering.
    pub overtaken_by: u32,
    /// Whether the ACK advances nothing but, with SACK, carries new information.
    pub duplicate: bool,
    /// Whether the ACK sets ECE, or reports new marks.
    pub congestion: bool,
    /// Echoed timestamp, with timestamps.
    pub echo: Time,
    /// Round-trip time for the controller.
    pub rtt: Option<Span>,
    /// One-way delay of the acknowledged segment, if the receiver reports its arrival time.
    pub one_way_delay: Option<Span>,
    /// Prices carried by segments, as reported by the receiver; 0 if not reported.
    pub prices: u32,
    /// Round-trip times by segment, if known.
    pub samples: Option<&'a Samples>,
}

impl AckSample<'_> {
    /// Whether new data is acknowledged.
    #[inline]
    pub fn advances(&self) -> bool {
        self.acknowledged > 0
    }
}

/// Minimum RTT before the first sample.
const UNKNOWN: Span = Span::from_nanos(u64::MAX);

/// Method of measuring round trips.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// Timestamp echo of each ACK (RFC 7323).
    Echo {
        /// Whether duplicate ACKs give samples for the RTO.
        duplicates: bool,
    },
    /// One timed segment at a time (RFC 6298, section 3).
    OneSegment(Option<(u64, Time)>),
    /// Send time of each segment, as in Linux; otherwise the timestamp, if there is one.
    EachSegment {
        /// Whether there are timestamps.
        echo: bool,
    },
}

/// Recovery state before an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// No recovery that affects reading ACKs.
    Open,
    /// Fast recovery that the ACK does not end.
    Recovery,
    /// After a timeout: duplicate ACKs do not account for segments.
    Loss,
}

/// What even an expected ACK reports, beyond the number of the next segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConstantNews {
    None,
    /// Prices, in its options or its payload word.
    Prices,
    /// A sample of the delivery rate, for a controller that models its path.
    DeliveryRate,
}

/// Reader of ACKs, and state across ACKs.
pub struct Feedback {
    sack: bool,
    clock: Clock,
    round_trip: RoundTrip,
    /// Minimum RTT, if send times of segments are known.
    min_rtt: Span,
    /// During retransmission after a timeout: number of segments in the SACK blocks of the last duplicate; none before
    /// the first ACK of new data.
    named: PackedOption,
    /// Whether a measurement continues through a fast recovery and counts at its end.
    through_recovery: bool,
    news: ConstantNews,
    /// Whether the SYN was retransmitted.
    request_repeated: bool,
}

impl Feedback {
    /// Returns the reader of a plan. `samples_rate`: the controller needs samples of the delivery rate.
    pub fn new(plan: &TcpPlan, samples_rate: bool) -> Self {
        let echo = plan.timestamps;
        let clock = match plan.loss_recovery {
            RecoveryPlan::Rack => Clock::EachSegment { echo },
            _ if echo => Clock::Echo { duplicates: plan.quirks.rtt_on_each_ack },
            _ => Clock::OneSegment(None),
        };
        let sack = plan.loss_recovery.is_selective();
        Feedback {
            sack,
            clock,
            round_trip: RoundTrip::new(plan.rto()),
            min_rtt: UNKNOWN,
            named: PackedOption::NONE,
            through_recovery: plan.quirks.rtt_through_recovery,
            news: if samples_rate { ConstantNews::DeliveryRate } else { ConstantNews::None },
            request_repeated: false,
        }
    }

    /// Makes the reader expect prices in ACKs.
    pub fn read_prices(&mut self) {
        self.news = ConstantNews::Prices;
    }

    /// Whether even an expected ACK has to be read further.
    #[inline]
    pub fn needs_every_ack(&self) -> bool {
        self.news != ConstantNews::None
    }

    /// Returns the prices that an ACK without options reports.
    #[inline]
    pub fn prices_of(&self, packet: &Packet) -> u32 {
        if self.news == ConstantNews::Prices { packet.payload } else { 0 }
    }

    /// Whether the connection negotiated SACK.
    pub fn uses_sack(&self) -> bool {
        self.sack
    }

    /// Returns the estimator of the round-trip time and RTO.
    #[inline]
    pub fn round_trip(&self) -> &RoundTrip {
        &self.round_trip
    }

    /// Returns the minimum RTT, if send times of segments are known.
    #[inline]
    pub fn min_rtt(&self) -> Option<Span> {
        let known = self.min_rtt < UNKNOWN && matches!(self.clock, Clock::EachSegment { .. });
        known.then_some(self.min_rtt)
    }

    #[inline]
    fn reading(&self, packet: &Packet) -> AckReading {
        let echoes = matches!(self.clock, Clock::EachSegment { echo: true });
        let echo = echoes.then_some(packet.stamp);
        AckReading { now: packet.at, min_rtt: self.min_rtt, echo }
    }

    /// Reads an ACK of new data outside of recovery; `samples` receives the round-trip times by segment.
    #[inline(always)]
    pub fn read_expected<'a>(
        &mut self,
        packet: &Packet,
        out: &mut Outstanding,
        samples: &'a mut Option<Samples>,
    ) -> AckSample<'a> {
        let arrivals = out.take_expected(packet.number, self.reading(packet), samples);
        let samples = samples.as_ref();
        let rtt = self.measure(packet, &arrivals, samples, false);
        AckSample {
            acknowledged: arrivals.acknowledged,
            delivered: arrivals.delivered,
            sacked: 0,
            marked: 0,
            marked_bytes: 0,
            departed: arrivals.delivered,
            delivered_bytes: arrivals.bytes,
            overtaken_by: 0,
            duplicate: false,
            congestion: false,
            echo: packet.stamp,
            rtt,
            one_way_delay: None,
            prices: 0,
            samples,
        }
    }

    /// Reads an ACK that acknowledges nothing and has only SACK blocks, if send times are recorded and all segments are
    /// full.
    #[inline(always)]
    pub fn read_blocks<'a>(
        &mut self,
        packet: &Packet,
        blocks: &SackBlocks,
        out: &mut Outstanding,
        samples: &'a mut Option<Samples>,
    ) -> AckSample<'a> {
        let arrivals = out.take_blocks(blocks, self.reading(packet), samples);
        let samples = samples.as_ref();
        let rtt = self.measure(packet, &arrivals, samples, false);
        let ArrivedData { delivered, sacked, bytes, overtaken_by, .. } = arrivals;
        AckSample {
            delivered,
            sacked,
            departed: delivered,
            delivered_bytes: bytes,
            duplicate: delivered > 0 && !out.is_empty(),
            overtaken_by,
            echo: packet.stamp,
            rtt,
            samples,
            ..AckSample::default()
        }
    }

    /// Reads any other ACK, with `blocks`, which are its own or none, and its other options.
    #[inline(always)]
    pub fn read<'a>(
        &mut self,
        packet: &Packet,
        (sack, options): (&SackBlocks, &Options),
        stage: RecoveryState,
        ecn: &mut EcnSender,
        out: &mut Outstanding,
        samples: &'a mut Option<Samples>,
    ) -> AckSample<'a> {
        let arrivals = out.take(packet.number, sack, self.reading(packet), samples);
        let samples = samples.as_ref();
        let ArrivedData { acknowledged, delivered, sacked, bytes, overtaken_by } = arrivals;
        let rtt = self.measure(packet, &arrivals, samples, stage == RecoveryState::Recovery);
        let news = !self.sack || delivered > 0;
        let duplicate = acknowledged == 0 && !out.is_empty() && news;
        let unnamed = match (self.sack, duplicate) {
            (true, _) => Unnamed::No,
            (false, true) => Unnamed::Duplicate,
            (false, false) => Unnamed::Other,
        };
        let mut departed = delivered;
        if !self.sack {
            departed = departed_unnamed(acknowledged, out.board().sacked(), duplicate);
            out.count_unnamed(acknowledged, duplicate, stage == RecoveryState::Loss);
        }
        let marks = ecn.read(packet, options.received_bytes, &arrivals, unnamed);
        AckSample {
            acknowledged,
            delivered,
            sacked,
            marked: marks.segments,
            marked_bytes: marks.bytes,
            departed,
            delivered_bytes: bytes,
            overtaken_by,
            duplicate,
            congestion: marks.congestion,
            echo: packet.stamp,
            rtt,
            one_way_delay: options.received_at.map(|at| at.since(packet.stamp)),
            prices: match packet.has(flags::OPTIONS) {
                true => options.payload,
                false => self.prices_of(packet),
            },
            samples,
        }
    }

    /// Whether an ACK that was read without its blocks, while retransmitting everything after a timeout, is a
    /// duplicate: it advances nothing, and after an ACK of new data its blocks name a different number of segments than
    /// before.
    #[inline(never)]
    pub fn is_duplicate(&mut self, ack: &AckSample, options: &Options) -> bool {
        if !self.sack {
            return ack.duplicate;
        }
        let named = options.sack.iter().map(|(start, end)| end.saturating_sub(*start)).sum();
        let named = PackedOption::some(named);
        let duplicate = !ack.advances() && self.named != PackedOption::NONE && self.named != named;
        if duplicate {
            self.named = named;
        } else if ack.advances() {
            self.named = PackedOption::some(0);
        }
        duplicate
    }

    /// Takes the round-trip sample of an ACK; `in_recovery` if a fast recovery continues. Returns the sample for the
    /// controller.
    #[inline(always)]
    fn measure(
        &mut self,
        packet: &Packet,
        arrivals: &ArrivedData,
        samples: Option<&Samples>,
        in_recovery: bool,
    ) -> Option<Span> {
        let now = packet.at;
        let echoed = (arrivals.acknowledged > 0).then(|| now.since(packet.stamp));
        let (estimate, rtt) = match &mut self.clock {
            Clock::Echo { duplicates: true } => (Some(now.since(packet.stamp)), echoed),
            Clock::Echo { duplicates: false } => (echoed, echoed),
            Clock::OneSegment(_) if in_recovery && self.through_recovery && self.sack => {
                (None, None)
            }
            Clock::OneSegment(timed) if in_recovery && self.through_recovery => {
                timed.take_if(|(segment, _)| packet.number > *segment);
                (None, None)
            }
            Clock::OneSegment(timed) => {
                let done = timed.take_if(|(segment, _)| packet.number > *segment);
                let rtt = done.map(|(_, sent)| now.since(sent));
                (rtt, rtt)
            }
            Clock::EachSegment { echo } => {
                let rtt = samples.and_then(Samples::of_path);
                self.min_rtt = rtt.map_or(self.min_rtt, |rtt| rtt.min(self.min_rtt));
                let estimate = samples.and_then(Samples::for_estimate);
                (estimate.or(echoed.filter(|_| *echo)), rtt)
            }
        };
        match estimate {
            Some(rtt) => self.round_trip.sample(rtt, now),
            None => self.round_trip.settle(),
        }
        rtt
    }

    /// Records a retransmission of the SYN.
    pub fn on_request_repeated(&mut self) {
        self.request_repeated = true;
    }

    /// Returns the round trip of a SYN answered now. After several SYNs, the SYN/ACK shows it only by the echoed
    /// timestamp of the SYN that it answers, which was sent at `requested` (Karn; RFC 6298, section 3).
    pub fn round_trip_of_request(&self, requested: Time, now: Time) -> Option<Span> {
        let shown = !self.request_repeated || self.echoes();
        shown.then(|| now.since(requested))
    }

    /// Whether ACKs echo timestamps.
    fn echoes(&self) -> bool {
        match self.clock {
            Clock::Echo { .. } => true,
            Clock::EachSegment { echo } => echo,
            Clock::OneSegment(_) => false,
        }
    }

    /// Takes the round trip of the handshake, if there is one.
    pub fn begin(&mut self, rtt: Option<Span>, now: Time) {
        let Some(rtt) = rtt else { return self.round_trip.begin_unknown() };
        self.round_trip.sample(rtt, now);
        self.round_trip.settle();
        self.min_rtt = rtt;
    }

    /// Records a new segment.
    #[inline]
    pub fn on_sent(&mut self, segment: u64, now: Time) {
        if let Clock::OneSegment(timed @ None) = &mut self.clock {
            *timed = Some((segment, now));
        }
    }

    /// Records a retransmission: round trips over it are ambiguous (Karn).
    #[inline]
    pub fn on_retransmit(&mut self) {
        if !self.through_recovery {
            self.stop_measuring();
        }
    }

    /// Records the start of a fast recovery: a measurement through an earlier recovery ends here.
    pub fn on_recovery(&mut self) {
        if self.through_recovery {
            self.stop_measuring();
        }
    }

    /// Cancels the current measurement.
    pub fn stop_measuring(&mut self) {
        if let Clock::OneSegment(timed) = &mut self.clock {
            *timed = None;
        }
    }

    /// Ends the backoff of the RTO.
    pub fn end_backoff(&mut self) {
        self.round_trip.end_backoff();
    }

    /// Handles a timeout: doubles the RTO.
    pub fn back_off(&mut self) {
        self.round_trip.back_off();
        self.named = PackedOption::NONE;
    }

    /// Doubles the RTO as of before the mark's ACK `times` times, then takes the sample `rtt` of that ACK without
    /// ending the backoff.
    pub fn back_off_before(
        &mut self,
        earlier: RoundTrip,
        times: u32,
        rtt: Option<Span>,
        now: Time,
    ) {
        self.round_trip = earlier;
        (0..times).for_each(|_| self.round_trip.back_off());
        if let Some(rtt) = rtt {
            self.round_trip.sample_backed_off(rtt, now);
        }
    }
}

/// Returns the segments accounted for without SACK: one for each duplicate, and those that a later acknowledgement
/// covers beyond the duplicates (Linux, `tcp_remove_reno_sacks`).
fn departed_unnamed(acknowledged: u32, unnamed: u32, duplicate: bool) -> u32 {
    match acknowledged {
        0 => u32::from(duplicate),
        _ => acknowledged.saturating_sub(unnamed).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::flags;
    use crate::tcp::accecn::Ace;
    use crate::tcp::sender::outstanding::SegmentHistory;
    use crate::tcp::tests::classic_with;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    fn ack(number: u64, at_ms: u64) -> Packet {
        Packet { at: ms(at_ms), number, flags: flags::ACK, ..Packet::default() }
    }

    /// Returns a reader with these options, and ten segments sent at 0, 1, … 9 ms.
    fn reader(options: &str, memory: SegmentHistory) -> (Feedback, EcnSender, Outstanding) {
        let plan = classic_with(options);
        let (mut feedback, mut out) =
            (Feedback::new(&plan, false), Outstanding::new(memory, 1_460));
        for n in 0..10 {
            let segment = out.add(0, ms(n));
            feedback.on_sent(segment, ms(n));
        }
        (feedback, EcnSender::new(&plan, 1_460), out)
    }

    #[test]
    fn without_timestamps_one_segment_is_timed_at_a_time() {
        let (mut feedback, _, mut out) = reader("", SegmentHistory::None);
        let mut rtt = |feedback: &mut Feedback, number, at| {
            feedback.read_expected(&ack(number, at), &mut out, &mut None).rtt
        };
        let both = [rtt(&mut feedback, 1, 100), rtt(&mut feedback, 2, 101)];
        assert_eq!(both, [Some(Span::from_millis(100)), None]);
        feedback.on_sent(10, ms(110));
        feedback.on_retransmit();
        assert_eq!(rtt(&mut feedback, 3, 120), None, "Karn");
    }

    #[test]
    fn the_times_of_segments_report_more_than_the_echo_of_a_delayed_ack() {
        for (options, memory, want) in [
            ("timestamps = true", SegmentHistory::None, 100),
            ("timestamps = true, loss_recovery = \"rack\"", SegmentHistory::SendTimes, 99),
        ] {
            let (mut feedback, _, mut out) = reader(options, memory);
            let mut samples = None;
            let sample = feedback.read_expected(&ack(2, 100), &mut out, &mut samples);
            assert_eq!(sample.rtt, Some(Span::from_millis(want)), "{options}");
        }
    }

    /// ns-2, tcp-linux.cc, `time_processing`: the RTO grows while a segment is missing.
    #[test]
    fn duplicates_are_samples_for_the_timeout_alone() {
        for (each, want_ms) in [("false", 200), ("true", 550)] {
            let options = format!(
                "timestamps = true, loss_recovery = 'fack', quirks.rtt_on_each_ack = {each}"
            );
            let (mut feedback, mut ecn, mut out) =
                reader(&options, SegmentHistory::Retransmissions);
            (0..20).for_each(|_| feedback.round_trip.sample(Span::from_millis(100), ms(0)));
            let duplicate = Packet { stamp: ms(0), ..ack(0, 500) };
            let read = (&[(1, 2), (0, 0), (0, 0)], &Options::default());
            let mut samples = None;
            let ack = feedback.read(
                &duplicate,
                read,
                RecoveryState::Open,
                &mut ecn,
                &mut out,
                &mut samples,
            );
            assert_eq!((ack.duplicate, ack.rtt), (true, None));
            let rto_ms = feedback.round_trip().rto().as_nanos() / 1_000_000;
            assert!(rto_ms.abs_diff(want_ms) < 5, "{each}: {rto_ms}");
        }
    }

    /// With SACK blocks or without.
    #[test]
    fn prices_are_read_in_recovery_too() {
        let (mut feedback, mut ecn, mut out) = reader("", SegmentHistory::None);
        feedback.read_prices();
        let beside_blocks =
            Options { payload: 7, sack: [(3, 5), (0, 0), (0, 0)], ..Options::default() };
        for stage in [RecoveryState::Open, RecoveryState::Recovery, RecoveryState::Loss] {
            let mut prices = |packet: &Packet, options: &Options| {
                let (blocks, mut samples) = ((&options.sack, options), None);
                feedback.read(packet, blocks, stage, &mut ecn, &mut out, &mut samples).prices
            };
            let with_options = Packet { flags: flags::ACK | flags::OPTIONS, ..ack(0, 0) };
            assert_eq!(prices(&with_options, &beside_blocks), 7, "{stage:?}");
            assert_eq!(prices(&Packet { payload: 8, ..ack(0, 0) }, &Options::NONE), 8, "{stage:?}");
        }
    }

    /// Without SACK, the third duplicate accounts for a third segment, which an ACK of five covers.
    #[test]
    fn duplicates_count_for_segments_that_no_ack_names() {
        let (mut feedback, mut ecn, mut out) =
            reader("loss_recovery = \"newreno\"", SegmentHistory::None);
        let mut read = |number| {
            let (packet, options) = (ack(number, 100), Options::default());
            let blocks = (&options.sack, &options);
            let (ecn, out) = (&mut ecn, &mut out);
            let mut samples = None;
            let ack = feedback.read(&packet, blocks, RecoveryState::Open, ecn, out, &mut samples);
            (ack.departed, ack.delivered, ack.duplicate)
        };
        assert_eq!([read(0), read(0), read(0)].map(|(departed, ..)| departed), [1; 3]);
        assert_eq!(read(5), (2, 5, false));
    }

    /// The first of ten segments is lost and no other is marked. The ACK after its retransmission delivers it alone, so
    /// that the three-bit counter is unambiguous.
    #[test]
    fn what_duplicates_stood_for_is_not_taken_for_marked() {
        let accurate = r#"loss_recovery = "newreno", ecn = true, feedback = "accurate""#;
        let (mut feedback, mut ecn, mut out) = reader(accurate, SegmentHistory::None);
        let marked = [0, 0, 0, 0, 0, 0, 0, 0, 0, 10].map(|number| {
            // The receiver counts from 5 on.
            let packet = Packet { flags: flags::ACK | Ace::new(5).flags(), ..ack(number, 100) };
            let (options, mut samples) = (Options::default(), None);
            let blocks = (&options.sack, &options);
            feedback
                .read(&packet, blocks, RecoveryState::Open, &mut ecn, &mut out, &mut samples)
                .marked
        });
        assert_eq!(marked, [0; 10]);
    }

    /// A timeout clears the segments accounted for by duplicates, but not the marks reported with them.
    #[test]
    fn what_was_reported_before_a_timeout_is_not_taken_for_marked() {
        let accurate = r#"loss_recovery = "newreno", ecn = true, feedback = "accurate""#;
        let (mut feedback, mut ecn, mut out) = reader(accurate, SegmentHistory::None);
        let mut read = |number, stage, out: &mut Outstanding| {
            let packet = Packet { flags: flags::ACK | Ace::new(5).flags(), ..ack(number, 100) };
            let (options, mut samples) = (Options::default(), None);
            let blocks = (&options.sack, &options);
            feedback.read(&packet, blocks, stage, &mut ecn, out, &mut samples).marked
        };
        let before: u32 = (0..9).map(|_| read(0, RecoveryState::Open, &mut out)).sum();
        out.forget_unnamed();
        assert_eq!([before, read(10, RecoveryState::Loss, &mut out)], [0, 0]);
    }
}
