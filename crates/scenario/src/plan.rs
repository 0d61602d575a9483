//! What a scenario file resolves to: every default filled in, every name an index.
//!
//! The simulator (and every other engine) reads a [`Plan`] and nothing else, so that a shape such
//! as "dumbbell" or a profile such as "linux" exists in the scenario crate alone.

use std::ops::Deref;
use std::sync::Arc;

use tidegate_mechanisms::bottleneck::scheduler::{Capacity, SchedulerParams};
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams, Place};
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::stage::StageParams;
pub use tidegate_mechanisms::units::QueueLength as Buffer;
use tidegate_mechanisms::units::{Bytes, Rate, Span, Time};

mod conex;
mod tcp;
mod ways;

pub use crate::traffic::{
    Cbr, Distribution, Greedy, OnOff, PausePlan, ShortFlows, Traffic, Transfer, Video, WritesPlan,
};
pub use conex::{
    CarrierPlan, CheatPlan, ConexPlan, CreditAlone, CreditPlan, Hoard, Late, LossForMark, Never,
    PerSignal, Rfc7786, Understate,
};
pub use tcp::{
    AfterTimeoutPlan, DelayedAckPlan, FeedbackPlan, OptionPlan, RecoveryPlan, ReductionPlan,
    RtoPlan, TcpPlan,
};
pub use ways::{Direction, ReportWay};

/// So many links fit in a run: link and time share a word where events are compared.
pub const MAX_LINKS: usize = 1 << 18;
/// A run ends before this, for the same reason: after 19.5 hours.
pub const MAX_RUN: Span = Span::from_nanos(1 << 46);
/// So many user groups can be told apart.
pub const MAX_GROUPS: usize = 1 << 16;

/// A run, but for its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Discarded before the measurement.
    pub warm_up: Span,
    /// Measured after the warm-up.
    pub duration: Span,
    /// Equal parts of the duration that are measured one by one as well.
    pub intervals: u32,
    /// The run goes on until all finite transfers without repetition are done, at most this long
    /// after the measurement.
    pub drain_limit: Span,
    /// Step of the time series; `None` keeps none.
    pub sample_interval: Option<Span>,
    /// Unidirectional links; routes refer to them by index.
    pub links: Vec<LinkPlan>,
    /// Stages of users; flows refer to them by index.
    pub stages: Vec<StagePlan>,
    /// User groups, in the order of the file.
    pub groups: Vec<GroupPlan>,
    /// Users; the users of a group are neighbours.
    pub users: Vec<UserPlan>,
    /// Flows; the flows of a user are neighbours.
    pub flows: Vec<FlowPlan>,
}

/// A named group of equal users.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPlan {
    /// Its key in the file, such as `heavy`.
    pub name: String,
}

/// One user: the owner of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct UserPlan {
    /// Index into [`Plan::groups`].
    pub group: usize,
    /// The user at whose host he sits, mostly himself: an index into [`Plan::users`]. Mechanisms take all at
    /// one host for one customer.
    pub customer: usize,
}

/// A unidirectional link with the queue in front of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPlan {
    /// Such as `bottleneck`, `bottleneck.reverse`, `heavy.0.access`.
    pub name: String,
    /// Numbers of the nodes at its beginning and at its end. Hosts are nodes too.
    pub ends: (u32, u32),
    /// Bits on the wire per second.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Room for waiting packets, the one in transmission included.
    pub buffer: Buffer,
    /// Whether histograms and time series are kept (bottlenecks), or counters alone.
    pub monitored: bool,
    /// The mechanisms in front of it and on it; their keys can be read as the link's own. Links that are alike
    /// share them: with 100,000 users they would be most of the plan.
    pub mechanisms: Arc<MechanismsPlan>,
}

/// What decides about packets in front of a link, and on it.
#[derive(Clone, Debug, PartialEq)]
pub struct MechanismsPlan {
    /// Size of a full packet of the scenario.
    pub packet_size: Bytes,
    /// Probability that a packet is lost on the wire.
    pub loss: f64,
    /// The congestion signal.
    pub aqm: AqmParams,
    /// How prices travel in this scenario, if it says so.
    pub price_encoding: Option<Encoding>,
    /// Who the signal falls on.
    pub differentiation: DifferentiationParams,
    /// Which packet leaves next.
    pub scheduler: SchedulerParams,
    /// Other rates from some time on, in order of time. Nobody tells the mechanisms.
    pub rate_changes: Vec<RateChangePlan>,
    /// Whether the signal marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Whether it then marks packets that are not ECN-capable as well, against RFC 3168.
    pub ecn_marks_all: bool,
    /// Stages at its beginning.
    pub entry: Vec<StageParams>,
    /// Stages at its end.
    pub exit: Vec<StageParams>,
}

impl Deref for LinkPlan {
    type Target = MechanismsPlan;

    fn deref(&self) -> &MechanismsPlan {
        &self.mechanisms
    }
}

/// A link's rate from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChangePlan {
    /// For packets whose transmission begins from here on.
    pub at: Time,
    /// Bits on the wire per second.
    pub rate: Rate,
}

impl LinkPlan {
    /// A link without mechanisms, of which counters alone are kept; it has no place yet.
    pub fn plain(
        name: String,
        rate: Rate,
        delay: Span,
        buffer: Buffer,
        packet_size: Bytes,
    ) -> Self {
        let mechanisms = MechanismsPlan {
            packet_size,
            loss: 0.0,
            aqm: AqmParams::DropTail,
            price_encoding: None,
            differentiation: DifferentiationParams::None,
            scheduler: SchedulerParams::Fifo,
            rate_changes: Vec::new(),
            ecn: false,
            ecn_marks_all: false,
            entry: Vec::new(),
            exit: Vec::new(),
        };
        let (ends, monitored) = ((0, 0), false);
        LinkPlan { name, ends, rate, delay, buffer, monitored, mechanisms: mechanisms.into() }
    }

    /// What its mechanisms are told of it.
    pub fn place(&self) -> Place {
        place(self.rate, self.buffer, self.packet_size, self.price_encoding)
    }
}

/// Where the mechanisms of such a link stand.
pub(crate) fn place(
    rate: Rate,
    buffer: Buffer,
    packet: Bytes,
    price_encoding: Option<Encoding>,
) -> Place {
    let room = match buffer {
        Buffer::Packets(packets) => Capacity { packets, bytes: u64::MAX },
        Buffer::Bytes(bytes) => Capacity { packets: u32::MAX, bytes: bytes.get() },
    };
    Place { room, rate, packet, price_encoding }
}

/// A stage of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct StagePlan {
    /// Such as `heavy.0.entry.0`.
    pub name: String,
    /// What it is.
    pub params: StageParams,
}

/// A place on a flow's way where a stage stands, or several that packets pass in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct StandPlan {
    /// It is on the way back, where the receiver sits at a host with stages of its own.
    pub back: bool,
    /// It is in front of so many-th link of the way, counted from 0; behind the last one where there is
    /// none.
    pub hop: usize,
    /// Indices into [`Plan::stages`], one for each packet in turn.
    pub in_turn: Vec<u32>,
}

/// One flow, from its sender to its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Index into [`Plan::users`].
    pub user: usize,
    /// Links from the sender to the receiver, in order. The first is its host's: whatever begins with the
    /// same link, data or acknowledgements, leaves the same host.
    pub forward: Vec<u32>,
    /// Links from the receiver back to the sender, in order.
    pub reverse: Vec<u32>,
    /// What it passes of users' stages, in order.
    pub stands: Vec<StandPlan>,
    /// Size of a full packet on the wire, all headers included.
    pub packet_size: Bytes,
    /// When it starts.
    pub start: StartPlan,
    /// Host jitter: each packet leaves its sender after a uniform delay of up to this much,
    /// without overtaking.
    pub jitter: Span,
    /// What it sends, the same for all flows of a group.
    pub traffic: Arc<Traffic>,
    /// The TCP that carries it, the same for all flows of a group; `None` for UDP.
    pub tcp: Option<Arc<TcpPlan>>,
    /// How prices travel to its sender, if that reads them.
    pub prices: Option<Encoding>,
}

impl FlowPlan {
    /// Whether its packets say, by ECT(1), that their sender answers to marks in proportion to their
    /// share (L4S, RFC 9331).
    pub fn is_scalable(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.is_scalable())
    }
}

/// When a flow starts: uniformly distributed between two points (which may be equal).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartPlan {
    /// Not before.
    pub from: Time,
    /// Not after.
    pub to: Time,
}
