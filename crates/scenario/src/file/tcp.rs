//! TCP's options, and the profiles that set them together.

use tidegate_mechanisms::sender::SenderParams;
use tidegate_mechanisms::units::{Bytes, Span};

use crate::chosen::Preferred;
use crate::declare::{choice, section};
use crate::value::{Integer, OrOff};

choice! {
    /// A set of TCP options.
    pub enum Profile {
        /// Today's Linux kernel.
        Linux = "linux",
        /// A plain research TCP, close to ns-2's.
        Classic = "classic",
        /// The kernel of 2009, which many papers used; written by its source, and not compared with it in runs.
        Linux2629 = "linux-2.6.29",
    }
}

choice! {
    /// How losses are found and repaired.
    pub enum LossRecovery {
        /// Selective acknowledgements, RFC 6675, without rules 3 and 4 of its NextSeg: what is not known to
        /// be lost is not sent again ahead of time, as in ns-2.
        Sack = "sack",
        /// Partial acknowledgements, RFC 6582.
        NewReno = "newreno",
        /// Fast retransmit and fast recovery alone, RFC 5681.
        Reno = "reno",
        /// Forward acknowledgement: as sack, but a segment counts as lost as soon as one that was
        /// sent three later has arrived.
        Fack = "fack",
        /// By the time at which segments were sent, and with a probe for losses at the tail,
        /// RACK-TLP, RFC 8985, as in Linux.
        Rack = "rack",
    }
}

choice! {
    /// How the window shrinks after a congestion signal.
    pub enum WindowReduction {
        /// At once.
        Immediate = "immediate",
        /// By one segment on every second ACK.
        RateHalving = "rate-halving",
        /// Proportional rate reduction, RFC 9937.
        Prr = "prr",
    }
}

choice! {
    /// What is sent again after a time-out.
    pub enum AfterTimeout {
        /// Everything from the first missing segment on.
        GoBackN = "go-back-n",
        /// What has not been selectively acknowledged.
        KeepScoreboard = "keep-scoreboard",
    }
}

section! {
    /// TCP options. What is not given comes from the scenario's tcp section, then from the
    /// profile.
    pub struct Tcp {
        /// Congestion controller.
        optional congestion_control: Preferred<SenderParams>;
        /// How losses are found and repaired.
        optional loss_recovery: LossRecovery;
        /// How the window shrinks after a congestion signal.
        optional window_reduction: WindowReduction;
        /// New data on the first two duplicate ACKs, RFC 3042.
        optional limited_transmit: bool;
        /// RFC 7323 timestamps: 12 bytes of every segment, and a round-trip sample per ACK.
        optional timestamps: bool;
        /// ECN, RFC 3168. Always on for dctcp and prague.
        optional ecn: bool;
        /// A connection request that is lost is repeated without ECN, RFC 3168, section 6.1.1.1, as
        /// in Linux since 4.1.
        optional ecn_fallback: bool;
        /// A congestion mark may lower the window to one segment, and at one segment the next waits for
        /// the retransmission timer, RFC 3168, section 6.1.2. Else a window never falls below two, as in
        /// Linux. With window_reduction immediate only, and not for dctcp and prague.
        optional ecn_to_one: bool;
        /// Find out first whether a time-out was premature, F-RTO with SACK, RFC 5682.
        optional frto: bool;
        /// What is sent again after a time-out (rack keeps to what is late): everything from the first missing segment on, in order,
        /// without asking what is selectively acknowledged ("go-back-n"; RFC 2018, section 8, turns
        /// those marks off), or only what is not ("keep-scoreboard", RFC 6675, section 5.1).
        optional after_timeout: AfterTimeout;
        /// Whenever the first missing segment is sent again, the retransmission timer starts anew, the
        /// careful variant of RFC 6675, section 6, as in Linux. Else only when a fast recovery begins.
        optional rearm_on_repair: bool;
        /// Initial window, in segments.
        optional initial_window: Integer<1, 10_000>;
        /// Largest window, in bytes of payload. Default: none.
        optional window_limit: Bytes;
        /// Longest delay of an acknowledgement, or "off".
        optional delayed_ack: OrOff;
        /// So many ACKs at the start of a connection are not delayed.
        optional quick_acks: Integer<0, 1_000_000>;
        /// As many again are not delayed after a silence of a retransmission time-out and after a
        /// segment that had arrived before, as in Linux.
        optional quick_acks_again: bool;
        /// With quick_acks_again, so too after a segment out of order and, with ECN, after one that is not
        /// ECN-capable and thus a retransmission, as in Linux before 4.18.
        optional quick_acks_out_of_order: bool;
        /// The delay of acknowledgements adapts: it doubles each time it runs out, up to the round-trip
        /// time of the handshake, and comes down again when segments follow closely, as in Linux.
        optional adaptive_delayed_ack: bool;
        /// The receiver offers a window that grows with what arrives, dynamic right-sizing, and does
        /// not delay ACKs while it does, as in Linux. It never limits the sender.
        optional receive_autotuning: bool;
        /// The last segment of a transfer and of a burst, which the sender marks with PSH and the
        /// application reads at once, is acknowledged without delay, as in Linux.
        optional quick_push: bool;
        /// Segments leave in bursts of two and more, as many as a millisecond's worth, and one alone waits
        /// for the next ACK if that is due within a millisecond, as segmentation offload has it in Linux.
        /// Not for prague, which spreads its segments.
        optional segment_bursts: bool;
        /// The window may grow if it was full at some time in the last round trip, and in slow start
        /// if it was half full, as in Linux since 3.16, instead of if the ACK finds it full.
        optional window_use_per_round: bool;
        /// Smallest retransmission time-out.
        optional min_rto: Span;
        /// Largest retransmission time-out.
        optional max_rto: Span;
        /// Retransmission time-out before the first round-trip sample.
        optional initial_rto: Span;
        /// The smallest time-out bounds the variance term, srtt + max(4 rttvar, min_rto), as in
        /// Linux, instead of the sum, max(srtt + 4 rttvar, min_rto).
        optional min_rto_bounds_variance: bool;
    }
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

impl Tcp {
    /// These options, and where they are open, those of `base`.
    pub fn over(&self, base: &Tcp) -> Tcp {
        let own = self.clone();
        let congestion_control = match (&own.congestion_control, &base.congestion_control) {
            (Some(own), Some(base)) => Some(own.over(base)),
            (own, base) => own.clone().or(base.clone()),
        };
        Tcp {
            congestion_control,
            loss_recovery: own.loss_recovery.or(base.loss_recovery),
            window_reduction: own.window_reduction.or(base.window_reduction),
            limited_transmit: own.limited_transmit.or(base.limited_transmit),
            timestamps: own.timestamps.or(base.timestamps),
            ecn: own.ecn.or(base.ecn),
            ecn_fallback: own.ecn_fallback.or(base.ecn_fallback),
            ecn_to_one: own.ecn_to_one.or(base.ecn_to_one),
            frto: own.frto.or(base.frto),
            after_timeout: own.after_timeout.or(base.after_timeout),
            rearm_on_repair: own.rearm_on_repair.or(base.rearm_on_repair),
            initial_window: own.initial_window.or(base.initial_window),
            window_limit: own.window_limit.or(base.window_limit),
            delayed_ack: own.delayed_ack.or(base.delayed_ack),
            quick_acks: own.quick_acks.or(base.quick_acks),
            quick_acks_again: own.quick_acks_again.or(base.quick_acks_again),
            quick_acks_out_of_order: own.quick_acks_out_of_order.or(base.quick_acks_out_of_order),
            adaptive_delayed_ack: own.adaptive_delayed_ack.or(base.adaptive_delayed_ack),
            receive_autotuning: own.receive_autotuning.or(base.receive_autotuning),
            quick_push: own.quick_push.or(base.quick_push),
            segment_bursts: own.segment_bursts.or(base.segment_bursts),
            window_use_per_round: own.window_use_per_round.or(base.window_use_per_round),
            min_rto: own.min_rto.or(base.min_rto),
            max_rto: own.max_rto.or(base.max_rto),
            initial_rto: own.initial_rto.or(base.initial_rto),
            min_rto_bounds_variance: own.min_rto_bounds_variance.or(base.min_rto_bounds_variance),
        }
    }
}

impl Tcp {
    /// The congestion controller, with the profile's values for what is open.
    pub fn sender(&self, profile: Profile) -> Option<SenderParams> {
        self.congestion_control.as_ref()?.settled(profile)
    }

    /// Whether the congestion controller answers to congestion marks in proportion to their share, and
    /// so has no use without ECN.
    pub fn is_scalable(&self, profile: Profile) -> bool {
        self.sender(profile).is_some_and(|sender| sender.is_scalable())
    }
}

impl Profile {
    /// Every option but the window limit, which no profile sets.
    pub fn tcp(self) -> Tcp {
        let linux = Tcp {
            congestion_control: Some(Preferred::named("cubic")),
            loss_recovery: Some(LossRecovery::Rack),
            window_reduction: Some(WindowReduction::Prr),
            limited_transmit: Some(true),
            timestamps: Some(true),
            ecn: Some(false),
            ecn_fallback: Some(true),
            ecn_to_one: Some(false),
            frto: Some(true),
            after_timeout: Some(AfterTimeout::KeepScoreboard),
            rearm_on_repair: Some(true),
            initial_window: Some(Integer(10)),
            window_limit: None,
            delayed_ack: Some(OrOff::On(Span::from_millis(40))),
            quick_acks: Some(Integer(16)),
            quick_acks_again: Some(true),
            quick_acks_out_of_order: Some(false),
            adaptive_delayed_ack: Some(false),
            receive_autotuning: Some(true),
            quick_push: Some(true),
            segment_bursts: Some(true),
            window_use_per_round: Some(true),
            min_rto: Some(Span::from_millis(200)),
            max_rto: Some(Span::from_secs(120)),
            initial_rto: Some(Span::from_secs(1)),
            min_rto_bounds_variance: Some(true),
        };
        match self {
            Profile::Linux => linux,
            Profile::Classic => Tcp {
                congestion_control: Some(Preferred::named("reno")),
                window_use_per_round: Some(false),
                loss_recovery: Some(LossRecovery::Sack),
                ecn_fallback: Some(false),
                ecn_to_one: Some(true),
                frto: Some(false),
                after_timeout: Some(AfterTimeout::GoBackN),
                rearm_on_repair: Some(false),
                window_reduction: Some(WindowReduction::Immediate),
                timestamps: Some(false),
                initial_window: Some(Integer(2)),
                delayed_ack: Some(OrOff::Off),
                quick_acks: Some(Integer(0)),
                quick_acks_again: Some(false),
                receive_autotuning: Some(false),
                quick_push: Some(false),
                segment_bursts: Some(false),
                initial_rto: Some(Span::from_secs(3)),
                max_rto: Some(Span::from_secs(64)),
                min_rto_bounds_variance: Some(false),
                ..linux
            },
            Profile::Linux2629 => Tcp {
                congestion_control: Some(Preferred::named("reno")),
                window_use_per_round: Some(false),
                ecn_fallback: Some(false),
                loss_recovery: Some(LossRecovery::Fack),
                quick_acks_out_of_order: Some(true),
                adaptive_delayed_ack: Some(true),
                receive_autotuning: Some(false),
                quick_push: Some(false),
                segment_bursts: Some(false),
                window_reduction: Some(WindowReduction::RateHalving),
                initial_window: Some(Integer(3)),
                initial_rto: Some(Span::from_secs(3)),
                ..linux
            },
        }
    }
}
