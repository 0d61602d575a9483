//! Options of TCP, each declared once.

use tidegate_mechanisms::parameters::{Nested, ParameterError};
use tidegate_mechanisms::sender::SenderParams;
use tidegate_mechanisms::units::{Bytes, OrOff, Span, Whole};
use tidegate_mechanisms::{parameters, words};

use super::ConexPlan;

words! {
    /// Detection and repair of losses.
    pub enum RecoveryPlan {
        /// Selective acknowledgements, RFC 6675, without rules 3 and 4 of its NextSeg: segments not known to be lost
        /// are not retransmitted early, as in ns-2.
        Sack = "sack",
        /// Partial acknowledgements, RFC 6582.
        NewReno = "newreno",
        /// Fast retransmit and fast recovery only, RFC 5681.
        Reno = "reno",
        /// Fast retransmit only: a loss detected by duplicate ACKs is handled as a timeout, from a window of one
        /// segment (Jacobson 1988).
        Tahoe = "tahoe",
        /// Forward acknowledgement: as sack, but a segment counts as lost as soon as one sent three segments later has
        /// arrived.
        Fack = "fack",
        /// RACK-TLP, RFC 8985, as in Linux: detection by the sending time of segments, and a probe for losses at the
        /// tail.
        Rack = "rack",
    }
}

impl RecoveryPlan {
    /// Whether it uses selective acknowledgements.
    pub fn is_selective(self) -> bool {
        !matches!(self, RecoveryPlan::Reno | RecoveryPlan::NewReno | RecoveryPlan::Tahoe)
    }
}

words! {
    /// Reduction of the window after a congestion signal.
    pub enum ReductionPlan {
        /// Immediately.
        Immediate = "immediate",
        /// By one segment on every second ACK.
        RateHalving = "rate-halving",
        /// As rate-halving; cubic stops at the threshold, others at half of it. The ACK of all data in flight ends the
        /// reduction and has no other effect, nor does its mark, as in ns-2's Agent/TCP/Linux.
        Ns2Linux = "ns2-linux",
        /// Proportional rate reduction, RFC 9937.
        Prr = "prr",
    }
}

words! {
    /// Segments retransmitted after a timeout.
    pub enum AfterTimeoutPlan {
        /// Everything from the first missing segment on.
        GoBackN = "go-back-n",
        /// Segments not selectively acknowledged.
        KeepScoreboard = "keep-scoreboard",
    }
}

words! {
    /// Feedback of marks by a receiver.
    pub enum FeedbackPlan {
        /// ECE until the sender sets CWR: once per round trip, RFC 3168.
        Classic = "classic",
        /// Each mark, by separate ACKs of marked and unmarked segments, RFC 8257, section 3.2.
        Dctcp = "dctcp",
        /// Each mark, by the counters of AccECN, RFC 9768, negotiated in the handshake.
        Accurate = "accurate",
    }
}

words! {
    /// Acknowledgements that carry the AccECN option, with counters of bytes.
    pub enum OptionPlan {
        /// None: three bits count marked packets, which is exact while no ACK reports more than seven.
        Off = "off",
        /// Two after each change of the ECN field, and at least three per round trip.
        Changes = "changes",
        /// Every acknowledgement with room for it.
        Each = "each",
    }
}

words! {
    /// Named TCP stack.
    pub enum StackPlan {
        /// Current Linux, by the profile of that name.
        Linux = "linux",
        /// Linux of 2009, by the profile of that name.
        Linux2629 = "linux-2.6.29",
        /// A plain research TCP with SACK, by the profile of that name.
        Classic = "classic",
        /// Only the RFCs 6675, 6298, 6928, 3168.
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

/// Number of the most frequently set options of [`TcpPlan`], which come first.
#[cfg(test)]
pub(crate) const COMMON_OPTIONS: usize = 10;

parameters! {
    /// TCP options. Defaults come from the scenario's tcp section, then from the stack.
    pub struct TcpPlan {
        /// Named TCP stack, which sets all other keys; other keys override it one by one. A group that names a stack
        /// starts from it, and takes nothing from the scenario's tcp section.
        pub stack: StackPlan =
            { linux: "linux", classic: "classic", linux_2_6_29: "linux-2.6.29" },
        /// Congestion controller.
        pub congestion_control: SenderParams =
            { linux: "cubic", classic: "reno", linux_2_6_29: "reno" },
        /// ECN, RFC 3168. Always on for senders that react to each mark: dctcp, prague, sbrm, direct-window and
        /// vegas-cp.
        pub ecn: bool = "false",
        /// Feedback of marks by the receiver, for any controller; values other than "classic" need ECN. With "classic",
        /// dctcp and prague react to marks as to losses, and their packets carry ECT(0). Default: "dctcp" for senders
        /// that react to each mark, which need exact feedback, else "classic".
        pub feedback: Option<FeedbackPlan>,
        /// Detection and repair of losses.
        pub loss_recovery: RecoveryPlan = { linux: "rack", classic: "sack", linux_2_6_29: "fack" },
        /// Initial window, in segments.
        pub initial_window: Whole<1, 10_000> = { linux: "10", classic: "2", linux_2_6_29: "3" },
        /// Largest window, in bytes of payload. Default: none.
        pub window_limit: Option<Bytes>,
        /// Longest delay of an acknowledgement, or "off".
        pub delayed_ack: OrOff = { linux: "40 ms", classic: "off", linux_2_6_29: "40 ms" },
        /// Smallest retransmission timeout.
        pub min_rto: Span = "200 ms",
        /// Declaration of congestion by the sender (ConEx).
        pub conex: ConexPlan = "off",
        /// Reduction of the window after a congestion signal.
        pub window_reduction: ReductionPlan =
            { linux: "prr", classic: "immediate", linux_2_6_29: "rate-halving" },
        /// New data on the first two duplicate ACKs, RFC 3042.
        pub limited_transmit: bool = "true",
        /// RFC 7323 timestamps: 12 bytes of every segment, and a round-trip sample per ACK.
        pub timestamps: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// With "accurate" feedback: acknowledgements that carry the AccECN option. The default is that of Linux.
        pub accurate_option: OptionPlan = "each",
        /// A lost connection request is repeated without ECN, RFC 3168, section 6.1.1.1, as in Linux since 4.1. With
        /// "accurate" feedback it is repeated once unchanged and then without ECN, RFC 9768, section 3.1.4.1.
        pub ecn_fallback: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// A congestion mark may reduce the window to one segment, and at one segment the next segment waits for the
        /// retransmission timer, RFC 3168, section 6.1.2. Otherwise a window never falls below two, as in Linux. With
        /// window_reduction immediate only, and not for dctcp and prague.
        pub ecn_to_one: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// A congestion mark ends slow start, RFC 3168, section 6.1.2. Otherwise only a loss ends it, and marks are
        /// ignored before. Not for senders that react to each mark.
        pub ecn_in_slow_start: bool = "true",
        /// Detect spurious timeouts, F-RTO with SACK, RFC 5682.
        pub frto: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// Segments retransmitted after a timeout (with rack only overdue ones): all from the first missing segment on,
        /// in order, regardless of selective acknowledgements ("go-back-n"; RFC 2018, section 8, clears those marks),
        /// or only segments without one ("keep-scoreboard", RFC 6675, section 5.1).
        pub after_timeout: AfterTimeoutPlan =
            { linux: "keep-scoreboard", classic: "go-back-n", linux_2_6_29: "keep-scoreboard" },
        /// Every retransmission of the first missing segment restarts the retransmission timer, the careful variant of
        /// RFC 6675, section 6, as in Linux. Otherwise only the beginning of a fast recovery does.
        pub rearm_on_retransmit: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// With loss_recovery newreno, the segment that a partial ACK of a fast recovery shows to be missing is
        /// retransmitted immediately, RFC 6582, section 3.2, step 3, as in ns-2. Otherwise it waits for room in the
        /// window: if more than half of the window was lost, until the timeout.
        pub retransmit_at_once: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery newreno, every partial ACK of a fast recovery restarts the retransmission timer, so that
        /// a recovery of many segments continues with one per round trip, the slow but steady variant, as in Linux and
        /// in ns-2's Agent/TCP/FullTcp/Newreno. Otherwise only the first does, and longer recoveries end by a timeout,
        /// the impatient variant of RFC 6582, section 3.2, step 3, and of ns-2's Agent/TCP/Newreno.
        pub rearm_on_partial_acks: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// Slow-start threshold of a new connection, in segments, as in early TCPs and in ns-2 (window_). Default:
        /// none.
        pub initial_ssthresh: Option<Whole<1, 1_000_000>>,
        /// Number of ACKs at the start of a connection that are not delayed.
        pub quick_acks: u32 = { linux: "16", classic: "0", linux_2_6_29: "16" },
        /// The same number of ACKs is not delayed after idle time of a retransmission timeout and after a duplicate
        /// segment, as in Linux.
        pub quick_acks_again: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// With quick_acks_again, the same holds after an out-of-order segment and, with ECN, after a segment that is
        /// not ECN-capable and therefore a retransmission, as in Linux before 4.18.
        pub quick_acks_out_of_order: bool =
            { linux: "false", classic: "false", linux_2_6_29: "true" },
        /// The delay of acknowledgements adapts: it doubles each time it expires, up to the round-trip time of the
        /// handshake, and decreases when segments follow closely, as in Linux.
        pub adaptive_delayed_ack: bool = { linux: "false", classic: "false", linux_2_6_29: "true" },
        /// The receiver advertises a window that grows with received data, dynamic right-sizing, and does not delay
        /// ACKs meanwhile, as in Linux. The window never limits the sender.
        pub receive_autotuning: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// The last segment of a transfer and of a burst, on which the sender sets PSH and which the application reads
        /// immediately, is acknowledged without delay, as in Linux.
        pub quick_push: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// Segments, or bursts, leave at the pacing rate instead of as ACKs release them: at twice the window a round
        /// trip in slow start, then at 1.2 times (prague: once), as Linux's internal pacing and its queue fq have it; with
        /// bbr and bbr3 always, at the rate of their model. Default: true for prague, which has it from Linux, else false,
        /// as Linux without fq.
        pub pacing: Option<bool>,
        /// Segments are sent in bursts of at least two, up to a millisecond of data at the sending rate, and a single
        /// segment waits for the next ACK if that is due within a millisecond, as with segmentation offload in Linux.
        /// The bursts of prague are a quarter of a millisecond.
        pub segment_bursts: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// The window may grow if it was full at some time in the last round trip, and in slow start if it was half
        /// full, as in Linux since 3.16, instead of if it is full when the ACK arrives.
        pub window_use_per_round: bool = { linux: "true", classic: "false", linux_2_6_29: "false" },
        /// After idle time of more than a retransmission timeout with nothing in flight, the window is halved for each
        /// timeout, down to the initial window, RFC 2861, as in Linux (`tcp_slow_start_after_idle`).
        pub slow_start_after_idle: bool = { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// Number of SYNs that may be lost before the initial window is one segment, RFC 5681, section 3.1. Linux since
        /// 3.1: one.
        pub forgiven_requests: u32 = { linux: "1", classic: "0", linux_2_6_29: "0" },
        /// Largest retransmission timeout.
        pub max_rto: Span = { linux: "120 s", classic: "64 s", linux_2_6_29: "120 s" },
        /// Retransmission timeout before the first round-trip sample.
        pub initial_rto: Span = { linux: "1 s", classic: "3 s", linux_2_6_29: "3 s" },
        /// The minimum timeout bounds the variance term, srtt + max(4 rttvar, min_rto), as in Linux, instead of the
        /// sum, max(srtt + 4 rttvar, min_rto).
        pub min_rto_bounds_variance: bool =
            { linux: "true", classic: "false", linux_2_6_29: "true" },
        /// Deviations of single implementations from the RFCs.
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
    /// Rules of single implementations, mostly of ns-2, set individually. A stack sets them together.
    pub struct TcpQuirks {
        /// The first congestion mark after a timeout reduces the window even during the recovery from the timeout, and
        /// an ACK that echoes a mark does not increase the window, as in ns-2. Otherwise marks are ignored during that
        /// recovery, since the timeout has reduced the window further.
        pub ecn_after_timeout: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With a window of one segment, each further successive mark doubles the time for which the next segment
        /// waits, as in ns-2. With ecn_to_one.
        pub ecn_backoff: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With ecn_backoff, a mark at a window of one segment keeps the backoff of the wait, including that by
        /// timeouts, regardless of the RTT sample of its ACK, and each further mark doubles it again, as in ns-2.
        /// Otherwise an RTT sample resets the backoff, and successive marks begin again: once, twice, three times.
        pub ecn_backoff_lasts: bool = "false",
        /// Retransmissions are ECN-capable as well, and may carry CWR, as in ns-2, contrary to RFC 3168, section 6.1.5.
        /// Always so for dctcp and prague.
        pub ecn_on_retransmits: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// A loss may reduce the window below two segments, to half of its size, as in ns-2. With window_reduction
        /// immediate only.
        pub loss_to_one: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery sack and window_reduction immediate, lost segments count as in flight until ACKs report
        /// that an equal amount has left the network: one segment for each ACK of a fast recovery, two if it
        /// acknowledges data, as in ns-2. If half a window is lost, nothing may be sent until the timeout.
        pub lost_in_flight: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery sack, selective acknowledgements are stored for one fast recovery, as in ns-2: during it
        /// all missing segments below a sacked segment are lost, at its end the scoreboard is cleared, and none begins
        /// before more is acknowledged than was in flight at the last timeout. Otherwise RFC 6675.
        pub scoreboard_per_recovery: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// Outside a fast recovery the first two duplicate ACKs permit one segment each, and further ones none (RFC
        /// 3042 to the letter), also during recovery from a timeout, as in ns-2. Otherwise data reported by duplicate
        /// ACKs as arrived do not count as in flight. With limited_transmit.
        pub limited_transmit_by_count: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// The slow-start threshold is an integer number of segments, rounded down, as in ns-2.
        pub whole_threshold: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// Every timeout lowers the slow-start threshold to half of the current window, as in ns-2. Otherwise further
        /// timeouts of the same data do not change it, RFC 5681, section 3.1.
        pub lower_at_each_timeout: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// A lost connection request lowers the slow-start threshold to two segments, as in ns-2.
        pub lower_for_request: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery reno or newreno, the ACK that ends a fast recovery increases the window, as in ns-2.
        pub grow_at_end: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// Without timestamps, the RTT measurement of a segment continues while others are retransmitted in a fast
        /// recovery, and its result counts when the recovery ends, as in ns-2. Otherwise every retransmission ends the
        /// measurement.
        pub rtt_through_recovery: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// The host's random delay (host_jitter) delays all segments that the window permits together, but not those
        /// that duplicate ACKs permit before a fast recovery, nor its first retransmission, as in ns-2 with overhead_.
        /// Otherwise each packet has a separate delay.
        pub jitter_per_burst: bool = { linux: "false", classic: "true", linux_2_6_29: "false" },
        /// With loss_recovery newreno and ECN, a fast recovery that begins during the reduction for a mark is part of
        /// it, as in ns-2: it does not reduce the window further, ends with the data in flight at the mark, and may
        /// begin after a timeout, too. Otherwise it ends with all data in flight at its beginning.
        pub recovery_within_mark: bool = "false",
        /// With loss_recovery newreno, a partial ACK that acknowledges more segments than duplicate ACKs have permitted
        /// deflates the window by the difference, even below the slow-start threshold, and with a window below one
        /// segment duplicate ACKs still permit segments, as in ns-2. Otherwise the window stays at the threshold.
        pub deflate_below_threshold: bool = "false",
        /// With loss_recovery reno, three duplicate ACKs begin a fast recovery even for segments sent before the last
        /// one began, and each halves the window, as in 4.3BSD and in ns-2's Agent/TCP/FullTcp. During the reduction
        /// for a mark it halves the window and keeps the threshold. Until all data in flight at the beginning of the
        /// last fast recovery are acknowledged, marks do not reduce the window, and their echoes do not increase it. A
        /// timeout halves a window inflated by duplicate ACKs; one after the reduction for a mark keeps the threshold,
        /// and marks are ignored during its recovery. Otherwise no fast recovery begins before that data are
        /// acknowledged, RFC 6582, section 3.2, step 2.
        pub repeated_recovery: bool = "false",
        /// With loss_recovery reno or newreno, each duplicate ACK from the fourth on permits a segment even during the
        /// recovery from a timeout and for data in flight at that timeout, and the next ACK of new data reduces the
        /// window to the slow-start threshold if it is above, as in ns-2's Agent/TCP/FullTcp. Otherwise duplicate ACKs
        /// have no effect then.
        pub inflation_after_timeout: bool = "false",
        /// Every ACK of new data starts the retransmission timer with the RTT estimate before its own sample, and then
        /// resets the backoff of the timeout, as in ns-2's Agent/TCP/FullTcp. Otherwise an RTT sample resets the
        /// backoff, and counts immediately, RFC 6298, section 5.
        pub progress_ends_backoff: bool = "false",
        /// With loss_recovery fack, number of sacked segments above a segment, or of duplicate ACKs for the first
        /// missing one, from which it counts as lost. Linux: three; ns-2's Agent/TCP/Linux: four (scoreboard1.cc).
        pub loss_threshold: Whole<1, 255> = "3",
        /// Every ACK restarts the retransmission timer, even one that acknowledges no new data, as in ns-2's
        /// Agent/TCP/Linux (not in its other agents): while duplicate ACKs arrive, there is no timeout. Otherwise only
        /// ACKs of new data restart it, RFC 6298, section 5.3.
        pub rearm_on_each_ack: bool = "false",
        /// With timestamps, every ACK is an RTT sample for the timeout, even a duplicate. A duplicate echoes the
        /// timestamp of the last in-order segment, so that timeouts grow while a segment is missing, as in ns-2's
        /// Agent/TCP/Linux (tcp-linux.cc, time_processing). Otherwise only ACKs of new data are samples, RFC 7323,
        /// section 4.1. Not with loss_recovery rack.
        pub rtt_on_each_ack: bool = "false",
        /// A sample below the smoothed RTT by more than the mean deviation increases the deviation by an eighth of the
        /// usual amount, as in Linux (tcp_rtt_estimator) and ns-2's Agent/TCP/Linux. Otherwise RFC 6298.
        pub damp_rtt_falls: bool = "false",
        /// The fourth successive backoff of the timeout and each further one clear the smoothed RTT: the next sample is
        /// treated as the first, RFC 6298, section 5, as in ns-2.
        pub backoff_forgets_rtt: bool = "false",
        /// The sender's timers expire in steps of Linux's timer wheel, with 250 ticks a second: within 252 ms at the
        /// next tick of 4 ms, within 2 s at the next multiple of 32 ms, within 16 s of 256 ms, and later of 2 s.
        /// Connections then time out together. Otherwise timers are exact.
        pub timer_wheel: bool = "false",
        /// Tick of the clock that measures round trips for the timeout, in whole ticks, with srtt and rttvar in eighths
        /// and quarters of a tick, rounded down, Jacobson 1988, appendix A, as in ns-2 (tcpTick_, 10 ms unless set), or
        /// "off" for an exact clock.
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
    /// Returns the kind of mark feedback; `None` without ECN.
    pub fn mark_feedback(&self) -> Option<FeedbackPlan> {
        let usual = || match self.congestion_control.is_scalable() {
            true => FeedbackPlan::Dctcp,
            false => FeedbackPlan::Classic,
        };
        self.ecn.then(|| self.feedback.unwrap_or_else(usual))
    }

    /// Whether the sender reacts to marks in proportion to their share, so that each has to be reported.
    pub fn is_scalable(&self) -> bool {
        let exact = self.mark_feedback().is_some_and(|reported| reported != FeedbackPlan::Classic);
        exact && self.congestion_control.is_scalable()
    }

    /// Whether segments are paced.
    pub fn is_paced(&self) -> bool {
        self.pacing.unwrap_or(self.congestion_control.is_paced())
    }

    /// Returns the options of delayed acknowledgements, if they are delayed.
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

    /// Returns the options of the retransmission timer.
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
    /// Maximum delay.
    pub timeout: Span,
    /// Number of ACKs at the start of a connection that are not delayed (Linux: 16).
    pub quick_acks: u32,
    /// Whether as many again are not delayed after an idle time of a timeout, and after a duplicate segment (Linux).
    pub quick_acks_again: bool,
    /// Whether as many again are not delayed after a segment out of order (Linux before 4.18).
    pub quick_acks_out_of_order: bool,
    /// Whether the delay adapts (Linux's `ato`); `timeout` is its minimum.
    pub adaptive: bool,
    /// Whether ACKs are not delayed while the receive window grows by dynamic right-sizing (Linux).
    pub autotuning: bool,
    /// Whether ACKs of pushed segments, the last of a burst and of a transfer, are not delayed.
    pub quick_push: bool,
}

/// Retransmission timeout (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoPlan {
    /// RTO before the first round-trip sample.
    pub initial: Span,
    /// Minimum RTO.
    pub min: Span,
    /// Maximum RTO.
    pub max: Span,
    /// Whether the formula is `srtt + max(4 rttvar, min)` as in Linux, instead of `max(srtt + 4 rttvar, min)`.
    pub min_bounds_variance: bool,
    /// Whether the fourth doubling and later ones discard the smoothed round trip.
    pub backoff_forgets: bool,
    /// Whether an ACK with a sample restarts the timer with the previous estimate.
    pub lags: bool,
    /// Whether a sample below srtt by more than rttvar raises rttvar by only an eighth of the usual amount.
    pub damp_falls: bool,
    /// Clock granularity, if the clock is not exact.
    pub tick: Option<Span>,
}
