//! Links: parameters declared once for files and plans, and planned links.

use std::ops::Deref;
use std::sync::Arc;

use tidegate_mechanisms::bottleneck::scheduler::{Capacity, DEFAULT_BUFFER, SchedulerParams};
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams, Place};
use tidegate_mechanisms::impairment::{JitterParams, Loss};
use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::{ParameterError, Tables};
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::stage::StageParams;
pub use tidegate_mechanisms::units::QueueLength as Buffer;
use tidegate_mechanisms::units::{
    BufferSize, Bytes, Probability, Rate, RateOrOutage, Span, Spans, Whole,
};

use super::link_name::LinkName;
use super::traced::{LinkDelay, LinkRate, TracedDelay, TracedRate};
use crate::kernel_qdisc::KernelQdisc;

parameters! {
    /// Parameters of every link.
    pub struct Line {
        /// Bits on the wire per second, or { trace = "FILE" }.
        pub rate: LinkRate,
        /// One-way propagation delay, or { trace = "FILE" }. Where it becomes shorter, packets keep their order.
        pub delay: LinkDelay = "5 ms",
        /// Room for waiting packets, the one in transmission included: packets, bytes, the time in which the link sends
        /// them ("50 ms"), or bandwidth-delay products ("1 BDP": the rate times the longest round-trip time, without
        /// queues, of the groups whose data cross the link). Default: 100 packets; with a scheduler that is a qdisc of
        /// Linux, that of the qdisc: 10240 packets for "fq-codel", 10000 for "dualpi2", and for "cake" four times
        /// the rate times rtt, between 4 MiB and 10240 full packets.
        pub buffer: Option<BufferSize>,
    }
}

impl Line {
    /// Returns the room for waiting packets. Until a file is resolved, it is that of the default where it depends on
    /// something else.
    pub fn buffer(&self) -> Buffer {
        length(self.buffer)
    }
}

/// Returns the packets or bytes of a resolved buffer.
pub(crate) fn length(size: Option<BufferSize>) -> Buffer {
    match size {
        Some(BufferSize::Length(length)) => length,
        _ => DEFAULT_BUFFER,
    }
}

parameters! {
    /// The reverse direction of a link, where it differs.
    pub struct ReverseLine {
        /// Rate of the reverse direction, or { trace = "FILE" }. Default: that of the link, or the mean of its trace; with
        /// duplex its trace.
        pub reverse_rate: Option<LinkRate>,
        /// Delay of the reverse direction, or { trace = "FILE" }. Default: that of the link.
        pub reverse_delay: Option<LinkDelay>,
    }
}

parameters! {
    /// A user's own link, in both directions.
    pub struct AccessPlan {
        /// Bits on the wire per second. Default "1 Gb/s".
        pub rate: Rate = "1 Gb/s",
        /// One-way propagation delay; of several, the users of the group have one each, in turn. Default "100 us".
        pub delay: Spans = "100 us",
        /// Capacity for waiting packets, including the one in transmission. Default "1000 packets".
        pub buffer: Buffer = "1000 packets",
    }
}

parameters! {
    /// Mechanisms in front of a link and on it.
    pub struct LinkMechanisms {
        /// Which packets are lost on the wire: a probability, also "1 %", or a model such as
        /// { kind = "gilbert-elliott", p = 0.01, r = 0.25 } or { kind = "packets", packets = "3, 10-12" }.
        pub loss: Loss = "0.0",
        /// Probability that a packet arrives twice. Packets in tunnels and reports do not.
        pub duplicate: Probability = "0.0",
        /// Delays that differ from packet to packet, such as { kind = "normal", spread = "3 ms" }; netem's distributions.
        pub jitter: Option<JitterParams>,
        /// Probability that a packet is sent ahead: it arrives without any delay, before those that left earlier.
        pub reorder: Probability = "0.0",
        /// With reorder: at most one of this number of packets is sent ahead, as netem's gap.
        pub reorder_gap: Whole<1, 1000000> = "1",
        /// How congestion is signalled.
        pub aqm: AqmParams = "drop-tail",
        /// Mark ECN-capable packets where the AQM would drop others.
        pub ecn: bool = "false",
        /// With ecn: mark every packet, even one that is not ECN-capable (requests, retransmissions). Contrary to RFC
        /// 3168; simple queue models do it.
        pub ecn_marks_all: bool = "false",
        /// Differentiation: whose packets the AQM's signals fall on.
        pub differentiation: DifferentiationParams = "none",
        /// Scheduler: which packet is sent next. Every kind but "fifo" has its own signalling and sharing, so that aqm
        /// and differentiation keep their defaults.
        pub scheduler: SchedulerParams = "fifo",
        /// Rates from given times on, such as [{ at = "20 s", rate = "3 Mb/s" }], or an outage. A packet in
        /// transmission continues at the new rate. AQM and scheduler keep the initial rate.
        pub rate_changes: Tables<RateChange> = "[]",
        /// Stages at the beginning of the link, in front of its queue, in this order; all users of the link pass them.
        pub ingress: Vec<StageParams> = "[]",
        /// Stages at the end of the link.
        pub egress: Vec<StageParams> = "[]",
    }
    check LinkMechanisms::errors;
}

parameters! {
    /// Change of a link's rate.
    pub struct RateChange {
        /// Time after the start of the run, warm-up included.
        pub at: Span,
        /// Bits on the wire per second; "0 b/s" is an outage, in which nothing is sent. The last of several is more than 0.
        pub rate: RateOrOutage,
    }
}

impl LinkMechanisms {
    /// Returns no mechanisms.
    pub fn none() -> Self {
        LinkMechanisms {
            loss: Loss::NONE,
            duplicate: Probability(0.0),
            jitter: None,
            reorder: Probability(0.0),
            reorder_gap: Whole(1),
            aqm: AqmParams::DropTail,
            ecn: false,
            ecn_marks_all: false,
            differentiation: DifferentiationParams::None,
            scheduler: SchedulerParams::Fifo,
            rate_changes: Tables(Vec::new()),
            ingress: Vec::new(),
            egress: Vec::new(),
        }
    }

    fn errors(&self) -> Vec<ParameterError> {
        let own = match self.scheduler {
            SchedulerParams::Fifo => self.misplaced_differentiation().into_iter().collect(),
            _ => self.has_no_place(),
        };
        own.into_iter().chain(self.goes_back_in_time()).chain(self.ends_in_outage()).collect()
    }

    /// Returns an error for a differentiation on an AQM that has no probability per packet, or for AICP-a on one
    /// without thresholds.
    fn misplaced_differentiation(&self) -> Option<ParameterError> {
        let message = match (self.aqm.undifferentiated(), &self.differentiation) {
            (_, DifferentiationParams::None) => return None,
            (Some(why), _) => format!("{why}; give differentiation.kind = \"none\""),
            (None, DifferentiationParams::AicpA(_)) if !self.aqm.has_thresholds() => {
                "aicp-a moves the thresholds of RED; give aqm.kind = \"red\" or \"adaptive-red\""
                    .to_owned()
            }
            (None, _) => return None,
        };
        Some(("differentiation", message))
    }

    /// Returns errors for AQM and differentiation with a scheduler other than FIFO, which leaves nothing to decide on
    /// arrivals.
    fn has_no_place(&self) -> Vec<ParameterError> {
        let aqm = (
            self.aqm != AqmParams::DropTail,
            "aqm",
            "only with the scheduler \"fifo\"; others bring their own signal",
        );
        let differentiation = (
            self.differentiation != DifferentiationParams::None,
            "differentiation",
            "only with the scheduler \"fifo\"; others share by themselves",
        );
        let given = [aqm, differentiation].into_iter().filter(|(is_there, ..)| *is_there);
        given.map(|(_, key, message)| (key, message.to_owned())).collect()
    }

    /// Returns an error for an outage at the end, since waiting packets would never be served.
    fn ends_in_outage(&self) -> Option<ParameterError> {
        let last = self.rate_changes.0.last().filter(|last| last.rate.0.as_bps() == 0)?;
        let message = format!(
            "the outage from {} on never ends; add a change to the rate after it, which may lie after the end of the run",
            last.at
        );
        Some(("rate_changes", message))
    }

    fn goes_back_in_time(&self) -> Option<ParameterError> {
        let pair = self.rate_changes.0.windows(2).find(|pair| pair[1].at <= pair[0].at)?;
        let message = format!("times must ascend, but {} follows {}", pair[1].at, pair[0].at);
        Some(("rate_changes", message))
    }
}

/// A unidirectional link with the queue in front of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPlan {
    /// Name.
    pub name: LinkName,
    /// Numbers of the nodes at its beginning and at its end. Hosts are nodes too.
    pub ends: (u32, u32),
    /// Properties, accessible as its own. Equal links share them: with 100,000 users they would be most of the plan.
    pub kind: Arc<LinkKind>,
}

/// Properties of a link: rate, delay, buffer and mechanisms.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkKind {
    /// Bits on the wire per second; the mean of a trace.
    pub rate: Rate,
    /// Propagation delay; the shortest of a trace.
    pub delay: Span,
    /// The rate over time, if it follows a trace.
    pub rate_trace: Option<TracedRate>,
    /// The delay over time, if it follows a trace.
    pub delay_trace: Option<TracedDelay>,
    /// Room for waiting packets, the one in transmission included.
    pub buffer: Buffer,
    /// Whether histograms and time series are recorded (bottlenecks), or only counters.
    pub monitored: bool,
    /// Size of a full packet of the scenario.
    pub packet_size: Bytes,
    /// Encoding of prices in this scenario, if given.
    pub price_encoding: Option<Encoding>,
    /// Mechanisms as declared.
    pub declared: LinkMechanisms,
    /// Kernel qdisc in the lab, which replaces buffer, AQM and scheduler.
    pub kernel_qdisc: Option<KernelQdisc>,
}

impl Deref for LinkPlan {
    type Target = LinkKind;

    fn deref(&self) -> &LinkKind {
        &self.kind
    }
}

impl Deref for LinkKind {
    type Target = LinkMechanisms;

    fn deref(&self) -> &LinkMechanisms {
        &self.declared
    }
}

impl LinkKind {
    /// Whether its rate changes with time.
    pub fn changes_rate(&self) -> bool {
        self.rate_trace.is_some() || !self.rate_changes.0.is_empty()
    }

    /// Whether all packets are on the wire for the same time.
    pub fn has_one_delay(&self) -> bool {
        self.delay_trace.is_none() && self.jitter.is_none() && self.reorder.0 == 0.0
    }

    /// Whether packets arrive in the order in which they left, each once.
    pub fn keeps_order(&self) -> bool {
        let in_order = self.jitter.as_ref().is_none_or(JitterParams::keeps_order);
        in_order && self.reorder.0 == 0.0 && self.duplicate.0 == 0.0
    }

    /// The least time that a packet is on the wire.
    pub fn least_delay(&self) -> Span {
        match &self.jitter {
            _ if self.reorder.0 > 0.0 => Span::ZERO,
            None => self.delay,
            Some(jitter) => {
                Span::from_secs_f64((self.delay.as_secs() + jitter.bounds_s().0).max(0.0))
            }
        }
    }

    /// The longest time that a packet is on the wire, unless it has to wait for those before it.
    pub fn longest_delay(&self) -> Span {
        let traced = self.delay_trace.iter().flat_map(|own| own.trace.steps().iter());
        let longest = traced.map(|(_, delay)| *delay).fold(self.delay, Span::max);
        let more_s = self.jitter.as_ref().map_or(0.0, |jitter| jitter.bounds_s().1.max(0.0));
        longest + Span::from_secs_f64(more_s)
    }
}

impl LinkPlan {
    /// Returns an unmonitored link without mechanisms and without position.
    pub fn plain(
        name: impl Into<LinkName>,
        rate: Rate,
        delay: Span,
        buffer: Buffer,
        packet_size: Bytes,
    ) -> Self {
        let declared = LinkMechanisms::none();
        let (monitored, price_encoding) = (false, None);
        let kind = LinkKind {
            rate,
            delay,
            rate_trace: None,
            delay_trace: None,
            buffer,
            monitored,
            packet_size,
            price_encoding,
            declared,
            kernel_qdisc: None,
        };
        LinkPlan { name: name.into(), ends: (0, 0), kind: kind.into() }
    }

    /// A link with this rate and delay, which may follow traces.
    pub(crate) fn on_line(
        name: impl Into<LinkName>,
        rate: &LinkRate,
        delay: &LinkDelay,
        buffer: Buffer,
        packet_size: Bytes,
    ) -> Self {
        let plain = Self::plain(name, rate.nominal(), delay.nominal(), buffer, packet_size);
        plain.at_rate(rate).with_delay(delay)
    }

    /// The same with another rate.
    pub(crate) fn at_rate(mut self, rate: &LinkRate) -> Self {
        let kind = Arc::make_mut(&mut self.kind);
        (kind.rate, kind.rate_trace) = (rate.nominal(), rate.traced().cloned());
        self
    }

    /// The same with another delay.
    pub(crate) fn with_delay(mut self, delay: &LinkDelay) -> Self {
        let kind = Arc::make_mut(&mut self.kind);
        (kind.delay, kind.delay_trace) = (delay.nominal(), delay.traced().cloned());
        self
    }

    /// The same with mechanisms, which are watched.
    pub(crate) fn with(self, declared: LinkMechanisms, price_encoding: Option<Encoding>) -> Self {
        let kind = LinkKind { monitored: true, price_encoding, declared, ..LinkKind::clone(&self) };
        LinkPlan { kind: kind.into(), ..self }
    }

    /// Returns the link with a kernel qdisc in the lab.
    pub(crate) fn queued_by(mut self, kernel_qdisc: Option<KernelQdisc>) -> Self {
        if kernel_qdisc.is_some() {
            Arc::make_mut(&mut self.kind).kernel_qdisc = kernel_qdisc;
        }
        self
    }

    /// Returns the link, monitored or not.
    pub fn watched(mut self, monitored: bool) -> Self {
        Arc::make_mut(&mut self.kind).monitored = monitored;
        self
    }

    /// Returns the place of its mechanisms.
    pub fn place(&self) -> Place {
        place(self.rate, self.buffer, self.packet_size, self.price_encoding)
    }
}

/// Returns the place of mechanisms at such a link.
pub(crate) fn place(
    rate: Rate,
    buffer: Buffer,
    packet: Bytes,
    price_encoding: Option<Encoding>,
) -> Place {
    let capacity = match buffer {
        Buffer::Packets(packets) => Capacity { packets, bytes: u64::MAX },
        Buffer::Bytes(bytes) => Capacity { packets: u32::MAX, bytes: bytes.get() },
    };
    Place { capacity, rate, packet, price_encoding }
}
