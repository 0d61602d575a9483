//! TCP's options: each is declared here, once, and used where the endpoint does what it says.

use tidegate_mechanisms::parameters::{Nested, ParameterError};
use tidegate_mechanisms::sender::SenderParams;
use tidegate_mechanisms::units::{Bytes, OrOff, Span, Whole};
use tidegate_mechanisms::{parameters, words};

use super::ConexPlan;

words! {
    /// How losses are detected and recovered.
    pub enum RecoveryPlan {
        /// Selective acknowledgements, RFC 6675, without rules 3 and 4 of its NextSeg: what is not known to
        /// be lost is not retransmitted ahead of time, as in ns-2.
        Sack = "sack",
        /// Partial acknowledgements, RFC 6582.
        NewReno = "newreno",
        /// Fast retransmit and fast recovery alone, RFC 5681.
        Reno = "reno",
        /// Fast retransmit alone: a loss found by duplicates is answered as a timeout is, from a window of one
        /// segment (Jacobson 1988).
        Tahoe = "tahoe",
        /// Forward acknowledgement: as sack, but a segment counts as lost as soon as one that was
        /// sent three later has arrived.
        Fack = "fack",
        /// By the time at which segments were sent, and with a probe for losses at the tail,
        /// RACK-TLP, RFC 8985, as in Linux.
        Rack = "rack",
    }
}

impl RecoveryPlan {
    /// Whether selective acknowledgements tell what has arrived.
    pub fn is_selective(self) -> bool {
        !matches!(self, RecoveryPlan::Reno | RecoveryPlan::NewReno | RecoveryPlan::Tahoe)
    }
}

words! {
    /// How the window shrinks after a congestion signal.
    pub enum ReductionPlan {
        /// At once.
        Immediate = "immediate",
        /// By one segment on every second ACK.
        RateHalving = "rate-halving",
        /// The same, by cubic down to the threshold and never below it, by others to half of it, and the ACK of all that was out
        /// ends it and counts for nothing else, nor does its mark, as in ns-2's Agent/TCP/Linux.
        Ns2Linux = "ns2-linux",
        /// Proportional rate reduction, RFC 9937.
        Prr = "prr",
    }
}

words! {
    /// What is retransmitted after a timeout.
    pub enum AfterTimeoutPlan {
        /// Everything from the first missing segment on.
        GoBackN = "go-back-n",
        /// What has not been selectively acknowledged.
        KeepScoreboard = "keep-scoreboard",
    }
}

words! {
    /// How a receiver reports the marks that it gets.
    pub enum FeedbackPlan {
        /// That there was one, until the sender says that it has answered: once per round trip, RFC 3168.
        Classic = "classic",
        /// Each, by acknowledging marked and unmarked segments apart, RFC 8257, section 3.2.
        Dctcp = "dctcp",
        /// Each, by counters, AccECN, RFC 9768. Both ends agree on it in the handshake.
        Accurate = "accurate",
    }
}

words! {
    /// With which acknowledgements accurate feedback sends its option, the counters of bytes.
    pub enum OptionPlan {
        /// With none: three bits count marked packets, which is exact as long as none that arrives reports
        /// more than seven.
        Off = "off",
        /// With two after a packet that was marked or not as the one before, and three times per round trip.
        Changes = "changes",
        /// With each that has room for it.
        Each = "each",
    }
}

words! {
    /// A named TCP.
    pub enum StackPlan {
        /// Today's Linux, by the profile of that name.
        Linux = "linux",
        /// Linux of 2009, by the profile of that name.
        Linux2629 = "linux-2.6.29",
        /// A plain research TCP with SACK, by the profile of that name.
        Classic = "classic",
        /// By the RFCs, and nothing else: 6675, 6298, 6928, 3168.
        Rfc = "rfc",
        /// Agent/TCP/Sack1 of ns-2.
        Ns2Sack1 = "ns2-sack1",
        /// Agent/TCP/Newreno of ns-2.
        Ns2NewReno = "ns2-newreno",
        /// Agent/TCP/FullTcp of ns-2, which has Reno's recovery.
        Ns2FullTcp = "ns2-fulltcp",
        /// Agent/TCP/Linux of ns-2.35, with whichever of Linux's congestion controllers.
        Ns2Linux = "ns2-linux",
    }
}

/// The options of [`TcpPlan`] that are set most, which stand first.
#[cfg(test)]
pub(crate) const COMMON_OPTIONS: usize = 10;

parameters! {
    /// TCP options. What is not given comes from the scenario's tcp section, then from the
    /// stack.
    pub struct TcpPlan {
        /// Which TCP this is. It sets all other keys together; what else is given overrides it key by key. A group that
        /// names a stack starts from it, and takes nothing from the scenario's tcp section.
        pub stack: StackPlan =
            { linux: "linux", classic: "classic", linux_2_6_29: "linux-2.6.29" },
        /// Congestion controller.
        pub congestion_control: SenderParams =
            { linux: "cubic", classic: "reno", linux_2_6_29: "reno" },
        /// ECN, RFC 3168. Always on for senders that answer each mark: dctcp, prague, sbrm, direct-window and vegas-cp.
        pub ecn: bool = "false",
        /// How the receiver reports marks, whatever the controller is; what is not "classic" needs ECN. With
        /// "classic", dctcp and prague answer to marks as to losses, and their packets carry ECT(0). Default:
        /// "dctcp" for those that answer each mark, which live by exact feedback, else "classic".
        pub feedback: Option<FeedbackPlan>,
        /// How losses are detected and recovered.
        pub loss_recovery: RecoveryPlan = { linux: "rack", classic: "sack", linux_2_6_29: "fack" },
        /// Initial window, in segments.
        pub initial_window: Whole<1, 10_000> = { linux: "10", classic: "2", linux_2_6_29: "3" },
        /// Largest window, in bytes of payload. Default: none.
        pub window_limit: Option<Bytes>,
        /// Longest delay of an acknowledgement, or "off".
        pub delayed_ack: OrOff = { linux: "40 ms", classic: "off", linux_2_6_29: "40 ms" },
        /// Smallest retransmission timeout.
        pub min_rto: Span = "200 ms",
        /// What the sender declares of the congestion it has met (ConEx).
        pub conex: ConexPlan = "off",
        /// How the window shrinks after a congestion signal.
        pub window_reduction: ReductionPlan =
            { linux: "prr", classic: "immediate", linux_2_6_29: "rate-halving" },
        /// New data on the first two duplicate ACKs, RFC 3042.
        pub limited_transmit: bool = "true",
        /// RFC 7323 timestamps: 12 bytes of every segment, and a round-trip sample per ACK.
        pub timestamps: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// With "accurate" feedback: which acknowledgements have its option. The default is Linux's.
        pub accurate_option: OptionPlan = "each",
        /// A connection request that is lost is repeated without ECN, RFC 3168, section 6.1.1.1, as
        /// in Linux since 4.1. With "accurate" feedback once as it was, and then without, RFC 9768, section 3.1.4.1.
        pub ecn_fallback: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// A congestion mark may lower the window to one segment, and at one segment the next waits for
        /// the retransmission timer, RFC 3168, section 6.1.2. Else a window never falls below two, as in
        /// Linux. With window_reduction immediate only, and not for dctcp and prague.
        pub ecn_to_one: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// A congestion mark ends slow start, RFC 3168, section 6.1.2. Else only a loss does, and marks are answered from
        /// then on. Not for senders that answer each mark.
        pub ecn_in_slow_start: bool = "true",
        /// Find out first whether a timeout was spurious, F-RTO with SACK, RFC 5682.
        pub frto: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// What is retransmitted after a timeout (rack keeps to what is late): everything from the first missing segment on, in order,
        /// without asking what is selectively acknowledged ("go-back-n"; RFC 2018, section 8, turns
        /// those marks off), or only what is not ("keep-scoreboard", RFC 6675, section 5.1).
        pub after_timeout: AfterTimeoutPlan =
            { linux: "keep-scoreboard", classic: "go-back-n", linux_2_6_29: "keep-scoreboard" },
        /// Whenever the first missing segment is retransmitted, the retransmission timer is restarted, the
        /// careful variant of RFC 6675, section 6, as in Linux. Else only when a fast recovery begins.
        pub rearm_on_retransmit: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// With loss_recovery newreno, what a partial ACK of a fast recovery shows to be missing is retransmitted at once, RFC 6582,
        /// section 3.2, step 3, as in ns-2. Else it waits for room in the window: where more than half of it was lost, for the timeout.
        pub retransmit_at_once: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery newreno, every partial ACK of a fast recovery restarts the retransmission timer, so that one in which many
        /// segments are missing goes on at one a round trip, the slow but steady variant, as in Linux and in ns-2's
        /// Agent/TCP/FullTcp/Newreno. Else the first alone does, and what takes longer ends by a timeout, the impatient variant that
        /// RFC 6582 has, section 3.2, step 3, and ns-2's Agent/TCP/Newreno.
        pub rearm_on_partial_acks: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// Slow-start threshold of a new connection, in segments, as of the first TCPs and of ns-2 (window_). Default: none.
        pub initial_ssthresh: Option<Whole<1, 1_000_000>>,
        /// So many ACKs at the start of a connection are not delayed.
        pub quick_acks: u32 = { linux: "16", classic: "0", linux_2_6_29: "16" },
        /// As many again are not delayed after a silence of a retransmission timeout and after a
        /// segment that had arrived before, as in Linux.
        pub quick_acks_again: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// With quick_acks_again, so too after a segment out of order and, with ECN, after one that is not
        /// ECN-capable and thus a retransmission, as in Linux before 4.18.
        pub quick_acks_out_of_order: bool =
            { linux: "false", classic: "false", linux_2_6_29: "true" },
        /// The delay of acknowledgements adapts: it doubles each time it runs out, up to the round-trip
        /// time of the handshake, and falls again when segments follow closely, as in Linux.
        pub adaptive_delayed_ack: bool = { linux: "false", classic: "false", linux_2_6_29: "true" },
        /// The receiver offers a window that grows with what arrives, dynamic right-sizing, and does
        /// not delay ACKs while it does, as in Linux. It never limits the sender.
        pub receive_autotuning: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// The last segment of a transfer and of a burst, which the sender marks with PSH and the
        /// application reads at once, is acknowledged without delay, as in Linux.
        pub quick_push: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// Segments, or bursts, leave at the pacing rate instead of as ACKs release them: at twice the window a round
        /// trip in slow start, then at 1.2 times (prague: once), as Linux's internal pacing and its queue fq have it; with
        /// bbr and bbr3 always, at the rate of their model. Default: true for prague, which has it from Linux, else false,
        /// as Linux without fq.
        pub pacing: Option<bool>,
        /// Segments are sent in bursts of two and more, as many as a millisecond's worth, and one alone waits
        /// for the next ACK if that is due within a millisecond, as segmentation offload has it in Linux.
        /// prague's are a quarter of a millisecond's worth.
        pub segment_bursts: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// The window may grow if it was full at some time in the last round trip, and in slow start
        /// if it was half full, as in Linux since 3.16, instead of if the ACK finds it full.
        pub window_use_per_round: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// After a pause of more than a retransmission timeout, in which nothing was in flight, the window
        /// halves for each of them, down to the initial window, RFC 2861, as in Linux
        /// (`tcp_slow_start_after_idle`).
        pub slow_start_after_idle: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// So many connection requests may be lost before the first window is one segment, RFC 5681,
        /// section 3.1. Linux since 3.1: one.
        pub forgiven_requests: u32 = { linux: "1", classic: "0", linux_2_6_29: "0" },
        /// Largest retransmission timeout.
        pub max_rto: Span = { linux: "120 s", classic: "64 s", linux_2_6_29: "120 s" },
        /// Retransmission timeout before the first round-trip sample.
        pub initial_rto: Span = { linux: "1 s", classic: "3 s", linux_2_6_29: "3 s" },
        /// The smallest timeout bounds the variance term, srtt + max(4 rttvar, min_rto), as in
        /// Linux, instead of the sum, max(srtt + 4 rttvar, min_rto).
        pub min_rto_bounds_variance: bool =
            { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// What single implementations do against the RFCs or beside them.
        pub quirks: Nested<TcpQuirks>,
    }
    check cannot_be;
    retired {
        hystart: "congestion_control = { kind = \"cubic\", slow_start_exit = ... }, which is \
            \"hystart\" (before: \"rfc9406\" or true), \"linux-hystart\" (\"linux\") or \
            \"loss\" (\"off\" or false)",
        cubic_growth: "congestion_control = { kind = \"cubic\", growth = ... }",
        reference_rtt: "congestion_control = { kind = \"prague\", reference_rtt = ... }",
        willingness_to_pay: "congestion_control = { kind = \"sbrm\", willingness_to_pay = ... }",
        kappa: "congestion_control = { kind = \"sbrm\", kappa = ... }",
        whole_segments: "congestion_control = { kind = \"reno\", whole_segments = ... }, or dctcp",
        byte_counting: "congestion_control = { kind = \"reno\", byte_counting = ... }, or dctcp",
    }
}

parameters! {
    /// Rules of single implementations, mostly ns-2's, one by one. A stack sets them together.
    pub struct TcpQuirks {
        /// The first congestion mark after a timeout lowers the window also during the recovery from it, and
        /// an ACK that echoes one lets it grow no further, as in ns-2. Else a recovery of everything, as the
        /// stronger measure, is answer enough.
        pub ecn_after_timeout: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With a window of one segment, each further mark in a row doubles the time for which the next
        /// segment waits, as in ns-2. With ecn_to_one.
        pub ecn_backoff: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With ecn_backoff, a mark at a window of one segment leaves the wait doubled as often as it was, also by
        /// timeouts, whatever round trip its ACK shows, and each further one doubles that once more, as in ns-2. Else
        /// a round trip ends all doubling, and consecutive marks double again: once, twice, three times.
        pub ecn_backoff_lasts: bool = "false",
        /// Retransmissions are ECN-capable, too, and may carry CWR, as in ns-2, against
        /// RFC 3168, section 6.1.5. Always so for dctcp and prague.
        pub ecn_on_retransmits: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// A loss may lower the window below two segments, to half of what it was, as in ns-2. With
        /// window_reduction immediate only.
        pub loss_to_one: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery sack and window_reduction immediate, what is lost counts as in flight until ACKs say that as much has left
        /// the network: one segment for each ACK of a fast recovery, two if it acknowledges data, as in
        /// ns-2. Where half a window is lost, nothing may be sent until the timeout.
        pub lost_in_flight: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery sack, what is sacked is remembered for one fast recovery, as in ns-2: in it
        /// whatever is missing below something that is sacked is lost, at its end all is forgotten, and none
        /// begins before more is acknowledged than was out at the last timeout. Else RFC 6675.
        pub scoreboard_per_recovery: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// Outside of a fast recovery the first two duplicate ACKs release one segment each, and further
        /// ones of none (RFC 3042 to the letter), also during recovery from a timeout, as in ns-2. Else
        /// what duplicate ACKs report as arrived does not count as in flight. With limited_transmit.
        pub limited_transmit_by_count: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// The slow-start threshold is a whole number of segments, rounded down, as in ns-2.
        pub whole_threshold: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// Every timeout lowers the slow-start threshold to half of the window there is, as in ns-2. Else
        /// further ones of the same data leave it as it is, RFC 5681, section 3.1.
        pub lower_at_each_timeout: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// A lost connection request lowers the slow-start threshold to two segments, as in ns-2.
        pub lower_for_request: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery reno or newreno, the ACK that ends a fast recovery lets the window grow, as in
        /// ns-2.
        pub grow_at_end: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// Without timestamps, the segment whose round trip is being measured goes on being measured while
        /// others are retransmitted in a fast recovery, and the result counts when that ends, as in ns-2. Else
        /// whatever is retransmitted ends the measurement.
        pub rtt_through_recovery: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// The host's random delay (host_jitter) delays together all segments that the window releases, but not
        /// those that duplicate ACKs release before a fast recovery, nor the first that is retransmitted in it, as
        /// ns-2 does with overhead_. Else each packet has a delay of its own.
        pub jitter_per_burst: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery newreno and ECN, a fast recovery that begins while a mark is being answered is part of that, as in
        /// ns-2: it lowers the window no further, ends with what was out at the mark, and begins after a timeout, too, where
        /// else none does. Else it ends with all that is out when it begins.
        pub recovery_within_mark: bool = "false",
        /// With loss_recovery newreno, a partial ACK that acknowledges more than duplicates have released takes the rest from the
        /// window, below the slow-start threshold too, and at a window below one segment duplicates release segments all the
        /// same, as in ns-2. Else the window stays at the threshold.
        pub deflate_below_threshold: bool = "false",
        /// With loss_recovery reno, three duplicates begin a fast recovery also where segments are missing that were sent before the last
        /// one began, each of which halves the window, as in 4.3BSD and in ns-2's Agent/TCP/FullTcp. While a mark is being answered the
        /// window halves and the threshold stays, and marks are not answered before all is acknowledged that was out when the last fast
        /// recovery began, nor lets an echo of one the window grow. A timeout halves a window as duplicates have widened it; one that
        /// follows the answer to a mark keeps the threshold, and marks are not answered while it is recovered. Else none begins before
        /// that, RFC 6582, section 3.2, step 2.
        pub repeated_recovery: bool = "false",
        /// With loss_recovery reno or newreno, duplicates from the fourth on release a segment each also while a timeout is being
        /// recovered and for what was out then, and the next ACK of new data brings the window back to the slow-start threshold where it
        /// is above that, as in ns-2's Agent/TCP/FullTcp. Else they have no effect then.
        pub inflation_after_timeout: bool = "false",
        /// Every ACK of new data starts the retransmission timer by the round trips before its own, and then ends the doubling of
        /// the timeout, as in ns-2's Agent/TCP/FullTcp. Else a round trip that was measured does, and counts at once, RFC 6298, section 5.
        pub progress_ends_backoff: bool = "false",
        /// With loss_recovery fack, a segment is lost when one so many above it is sacked, or after as many duplicate ACKs
        /// for the first that is missing. Linux: three; ns-2's Agent/TCP/Linux: four (scoreboard1.cc).
        pub loss_threshold: Whole<1, 255> = "3",
        /// Every ACK restarts the retransmission timer, also one that acknowledges nothing new, as in ns-2's
        /// Agent/TCP/Linux (not its other agents): as long as duplicate ACKs arrive, nothing times out. Else only what
        /// acknowledges new data, RFC 6298, section 5.3.
        pub rearm_on_each_ack: bool = "false",
        /// With timestamps, every ACK is a sample of the round trip for the timeout, duplicates too. Their echo is of what arrived in
        /// order last, so that timeouts grow while something is missing, as in ns-2's Agent/TCP/Linux (tcp-linux.cc,
        /// time_processing). Else only what acknowledges new data, RFC 7323, section 4.1. Not with loss_recovery rack.
        pub rtt_on_each_ack: bool = "false",
        /// A round trip below the smoothed one by more than its deviation lets that grow by an eighth of the usual, as in Linux
        /// (tcp_rtt_estimator) and ns-2's Agent/TCP/Linux. Else RFC 6298.
        pub damp_rtt_falls: bool = "false",
        /// The fourth doubling of the timeout in a row and each further one forget the smoothed round trip: the next
        /// sample counts as the first, RFC 6298, section 5, as in ns-2.
        pub backoff_forgets_rtt: bool = "false",
        /// Tick of the clock that measures round trips for the timeout, in whole ticks and fractions of
        /// an eighth and a quarter of one that are rounded down, Jacobson 1988, appendix A, as in ns-2
        /// (tcpTick_, 10 ms unless set), or "off" for an exact clock.
        pub rtt_tick: OrOff = { linux: "off", classic: "1 ms", linux_2_6_29: "off" },
    }
}

fn cannot_be(tcp: &TcpPlan) -> Vec<ParameterError> {
    let checks = [
        (tcp.min_rto == Span::ZERO, "min_rto", "must not be zero"),
        (tcp.min_rto > tcp.max_rto, "min_rto", "is above max_rto"),
        (tcp.initial_rto > tcp.max_rto, "initial_rto", "is above max_rto"),
        (tcp.initial_rto == Span::ZERO, "initial_rto", "must not be zero"),
    ];
    let failed = checks.into_iter().filter(|(fails, ..)| *fails);
    let mut errors: Vec<ParameterError> =
        failed.map(|(_, key, message)| (key, message.to_owned())).collect();
    let renos = matches!(tcp.congestion_control, SenderParams::Reno(_));
    if tcp.loss_recovery == RecoveryPlan::Tahoe && !renos {
        let message =
            "Tahoe's window is Reno's: write congestion_control = \"reno\", or newreno here";
        errors.push(("loss_recovery", message.to_owned()));
    }
    errors
}

impl TcpPlan {
    /// How the receiver reports marks; `None` without ECN.
    pub fn mark_feedback(&self) -> Option<FeedbackPlan> {
        let usual = || match self.congestion_control.is_scalable() {
            true => FeedbackPlan::Dctcp,
            false => FeedbackPlan::Classic,
        };
        self.ecn.then(|| self.feedback.unwrap_or_else(usual))
    }

    /// Whether it answers to marks in proportion to their share, for which it has to be told of each.
    pub fn is_scalable(&self) -> bool {
        let exact = self.mark_feedback().is_some_and(|reported| reported != FeedbackPlan::Classic);
        exact && self.congestion_control.is_scalable()
    }

    /// Whether segments are paced.
    pub fn is_paced(&self) -> bool {
        self.pacing.unwrap_or(self.congestion_control.is_paced())
    }

    /// When acknowledgements are delayed, if they are.
    pub fn delayed_acks(&self) -> Option<DelayedAckPlan> {
        let plan = |timeout| DelayedAckPlan {
            timeout,
            quick_acks: self.quick_acks,
            quick_acks_again: self.quick_acks_again,
            quick_acks_out_of_order: self.quick_acks_out_of_order,
            adaptive: self.adaptive_delayed_ack,
            autotuning: self.receive_autotuning,
            quick_push: self.quick_push,
        };
        self.delayed_ack.span().map(plan)
    }

    /// The options of the retransmission timer.
    pub fn rto(&self) -> RtoPlan {
        RtoPlan {
            initial: self.initial_rto,
            min: self.min_rto,
            max: self.max_rto,
            min_bounds_variance: self.min_rto_bounds_variance,
            backoff_forgets: self.quirks.backoff_forgets_rtt,
            lags: self.quirks.progress_ends_backoff,
            damp_falls: self.quirks.damp_rtt_falls,
            tick: self.quirks.rtt_tick.span(),
        }
    }
}

/// Delayed acknowledgements (RFC 1122, RFC 5681): every second full segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAckPlan {
    /// The longest delay.
    pub timeout: Span,
    /// So many ACKs at the start of a connection are not delayed (Linux: 16).
    pub quick_acks: u32,
    /// So many again after a silence of a timeout, and after a segment that came twice (Linux).
    pub quick_acks_again: bool,
    /// And after a segment out of order (Linux before 4.18).
    pub quick_acks_out_of_order: bool,
    /// The delay adapts (Linux's `ato`); `timeout` is its least.
    pub adaptive: bool,
    /// Not delayed while the receiver's window grows, by dynamic right-sizing (Linux).
    pub autotuning: bool,
    /// Nor for segments that the sender pushes, the last of a burst and of a transfer.
    pub quick_push: bool,
}

/// Retransmission timeout (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoPlan {
    /// Before the first round-trip sample.
    pub initial: Span,
    /// Smallest.
    pub min: Span,
    /// Largest.
    pub max: Span,
    /// `srtt + max(4 rttvar, min)` as in Linux, instead of `max(srtt + 4 rttvar, min)`.
    pub min_bounds_variance: bool,
    /// The fourth doubling and further ones forget the smoothed round trip.
    pub backoff_forgets: bool,
    /// An ACK that is measured starts the timer by what was measured before.
    pub lags: bool,
    /// A fall by more than the deviation lets that grow by an eighth of the usual.
    pub damp_falls: bool,
    /// Tick of the clock, if it is not exact.
    pub tick: Option<Span>,
}
