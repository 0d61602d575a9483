//! Plan of a scenario: every default filled in, every name replaced by an index.
//!
//! The simulator (and every other engine) reads only a [`Plan`], so that a topology such as "dumbbell" or a profile
//! such as "linux" exists only in the scenario crate.

use std::fmt::{self, Display};
use std::ops::{Deref, Range};
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_mechanisms::bottleneck::scheduler::Users;
use tidegate_mechanisms::dscp::Dscp;
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, Demand, Span, Time};

mod conex;
mod link;
mod link_name;
mod paths;
mod tcp;
mod traced;

pub use crate::file::{DelaysBy, Spread};
pub use crate::kernel_qdisc::KernelQdisc;
pub use crate::traffic::{
    Adaptation, Admission, AdmissionPlace, ArrivalTimes, Blind, BlindConex, Calls, Cbr, CdfSizes,
    Codec, Counter, Distribution, Fetching, FlowSize, FlowSizes, FrameSizes, Frames, GameSide,
    Gaming, Gateway, Greedy, GumbelVariation, Increase, LognormalSizes, LognormalVariation,
    MeasuredSum, MpegModel, NonProbing, OnOff, PacketStream, Pages, ParetoSizes, ParetoVariation,
    Patience, PausePlan, PriceAdaptation, Probing, Quality, Reported, ReportedReEcn, ShortFlows,
    Silence, SizePoints, Traffic, Transfer, Turns, Udp, UniformVariation, Unknown, Updates,
    Variation, Video, VideoCall, VideoModel, VoiceCodec, Voip, WeibullVariation, WritesPlan,
};
pub use conex::{
    CarrierPlan, CheatPlan, ConexPlan, CreditAlone, CreditPlan, Hoard, Late, LossForMark,
    LossesPlan, Never, PerSignal, ReEcn, Rfc7786, Understate, WhileSlow, Whitewash,
};
pub use link::{
    AccessPlan, Buffer, Line, LinkKind, LinkMechanisms, LinkPlan, RateChange, ReverseLine,
};
pub(crate) use link::{length, place};
pub use link_name::LinkName;
pub use paths::{Direction, ReportPath};
#[cfg(test)]
pub(crate) use tcp::COMMON_OPTIONS;
pub use tcp::{
    AfterTimeoutPlan, DelayedAckPlan, FeedbackPlan, OptionPlan, RecoveryPlan, ReductionPlan,
    RtoPlan, StackPlan, TcpPlan, TcpQuirks,
};
pub use traced::{LinkDelay, LinkRate, TracedDelay, TracedRate};

/// Maximum number of links in a run: link and time share a word in comparisons of events.
pub const MAX_LINKS: usize = 1 << 22;
/// Upper limit of a run's length, for the same reason: 19.5 hours. See [`longest_run`].
pub const MAX_RUN: Span = Span::from_nanos(1 << 46);
/// Bits of a link's number in such a word, except in networks with more links.
const LINK_BITS: u32 = 18;
/// Returns the bits of a link's number in comparisons of events, if there are this many links. Time has the others.
pub const fn link_bits(links: usize) -> u32 {
    let needed = usize::BITS - links.leading_zeros();
    if needed > LINK_BITS { needed } else { LINK_BITS }
}

/// Returns the upper limit of a run's length with this many links: [`MAX_RUN`], and half of it for each bit that their
/// number needs in addition.
pub const fn longest_run(links: usize) -> Span {
    Span::from_nanos(1 << (u64::BITS - link_bits(links)))
}
const _: () = assert!(longest_run(0).as_nanos() == MAX_RUN.as_nanos());

/// Maximum number of open connections, or calls, in addition to two of each flow: about a kilobyte each.
pub const MAX_OPEN: usize = 1_000_000;
/// Maximum number of rows in a table of results.
pub const MAX_ROWS: usize = 50_000_000;
/// Maximum number of steps of all different routes in a run: a packet's position has 24 bits.
pub const MAX_ROUTE_STEPS: usize = 1 << 24;
/// Maximum number of user groups.
pub const MAX_GROUPS: usize = 1 << 16;

/// A run without its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Discarded before the measurement.
    pub warm_up: Span,
    /// Measured after the warm-up.
    pub duration: Span,
    /// Number of equal parts of the duration that are also measured separately.
    pub intervals: u32,
    /// Maximum time after the measurement until all finite transfers without repetition are done.
    pub drain_limit: Span,
    /// Step of the time series; `None` for no series.
    pub sample_interval: Option<Span>,
    /// Number of flows per group, from its first, whose sender state is sampled.
    pub sampled_flows: u32,
    /// Number of users per group, from its first, whose stage levels are sampled.
    pub sampled_users: u32,
    /// Whose delays are kept.
    pub delays_by: DelaysBy,
    /// Unidirectional links; routes refer to them by index.
    pub links: Vec<LinkPlan>,
    /// Stages of users; flows refer to them by index.
    pub stages: Vec<StagePlan>,
    /// User groups, in the order of the file.
    pub groups: Vec<GroupPlan>,
    /// Users; the users of a group are contiguous.
    pub users: Vec<UserPlan>,
    /// Flows; the flows of a user are contiguous.
    pub flows: Vec<FlowPlan>,
    /// Changes of flows' paths, in the order of time for each flow.
    pub moves: Vec<MovePlan>,
    /// Changes of flows' willingness to pay, in the order of time for each flow.
    pub offers: Vec<OfferPlan>,
}

/// Change of a flow's willingness to pay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferPlan {
    /// Index into [`Plan::flows`].
    pub flow: usize,
    /// Time of the change.
    pub at: Time,
    /// w, as of its congestion control.
    pub willingness_to_pay: Demand,
}

/// Change of a flow's path: its receiver has moved.
#[derive(Clone, Debug, PartialEq)]
pub struct MovePlan {
    /// Index into [`Plan::flows`].
    pub flow: usize,
    /// Time of the change. Packets in transit stay on their path.
    pub at: Time,
    /// The flow with its routes and stages from then on.
    pub path: FlowPlan,
}

impl Plan {
    /// Iterates over all paths: those of the flows at the start, then those of the moves.
    pub fn paths(&self) -> impl Iterator<Item = &FlowPlan> {
        self.flows.iter().chain(self.moves.iter().map(|moved| &moved.path))
    }

    /// Returns the flow of the path with this number in [`Self::paths`], and the path.
    pub fn path(&self, number: usize) -> (usize, &FlowPlan) {
        match number.checked_sub(self.flows.len()) {
            None => (number, &self.flows[number]),
            Some(moved) => (self.moves[moved].flow, &self.moves[moved].path),
        }
    }

    /// Returns the users as schedulers know them.
    pub fn known_users(&self) -> Users {
        let weight = |user: &UserPlan| self.groups[user.group].weight;
        Users {
            groups: self.groups.iter().map(|group| group.name.clone()).collect(),
            group_of: self.users.iter().map(|user| user.group as u32).collect(),
            weights: self.users.iter().map(weight).collect(),
            flow_weights: self.flows.iter().map(|flow| weight(&self.users[flow.user])).collect(),
        }
    }

    /// Returns the flows of a group: indices into [`Plan::flows`].
    pub fn flows_of_group(&self, group: usize) -> Range<usize> {
        let before = |group| self.flows.partition_point(|flow| self.users[flow.user].group < group);
        before(group)..before(group + 1)
    }

    /// Returns the start or the stop of a flow; `uniform` draws from [0, 1) where times are random.
    pub fn time_of(&self, flow: usize, when: StartPlan, uniform: impl FnOnce() -> f64) -> Time {
        let share = match when.spread {
            Spread::Random => uniform(),
            Spread::Even => {
                let group = self.flows_of_group(self.users[self.flows[flow].user].group);
                (flow - group.start) as f64 / group.len() as f64
            }
        };
        when.from + Span::from_secs_f64(share * when.to.since(when.from).as_secs())
    }

    /// Returns the name of a user in messages, such as `heavy.0`.
    pub fn user_name(&self, user: usize) -> String {
        let UserPlan { group, number, .. } = self.users[user];
        format!("{}.{number}", self.groups[group].name)
    }

    /// Returns the name of a flow, such as `heavy.0.2`. It does not depend on other users, or on the number of flows.
    pub fn flow_name(&self, flow: usize) -> impl Display {
        let FlowPlan { user, number, .. } = self.flows[flow];
        let UserPlan { group, number: of_group, .. } = self.users[user];
        fmt::from_fn(move |f| write!(f, "{}.{of_group}.{number}", self.groups[group].name))
    }
}

/// A named group of equal users.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPlan {
    /// Its key in the file, such as `heavy`.
    pub name: String,
    /// Weight of each of its users, and of each of its flows.
    pub weight: f64,
}

/// User: the owner of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct UserPlan {
    /// Index into [`Plan::groups`].
    pub group: usize,
    /// Position among the users of the group, from 0.
    pub number: u32,
    /// User at whose host it is, usually itself: an index into [`Plan::users`]. Mechanisms take all users at a host as
    /// one customer.
    pub customer: usize,
    /// Whether the customer's host is at the receiving end of its flows.
    pub receives: bool,
}

/// A stage of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct StagePlan {
    /// Such as `heavy.0.ingress.0`.
    pub name: String,
    /// Parameters.
    pub params: StageParams,
}

/// Position on a flow's path of a stage, or of several that packets visit in rotation.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachmentPlan {
    /// Whether it is on the reverse path, because the receiver is at a host with stages of its own.
    pub back: bool,
    /// Index of the link that it precedes, from 0; the number of links if it is behind the last.
    pub hop: usize,
    /// Indices into [`Plan::stages`], visited in rotation.
    pub replicas: Vec<u32>,
}

/// Indices into [`Plan::links`], in order. Few links need no memory of their own: there are two routes for each flow.
pub type Route = SmallVec<[u32; 4]>;

/// One flow, from its sender to its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Index into [`Plan::users`].
    pub user: usize,
    /// Position among the flows of the user, from 0.
    pub number: u32,
    /// Links from the sender to the receiver, in order. The first identifies the host: all paths that begin with the
    /// same link, of data or acknowledgements, begin at the same host.
    pub forward: Route,
    /// Links from the receiver back to the sender, in order.
    pub reverse: Route,
    /// Positions of users' stages on its path, in order.
    pub attachments: Box<[AttachmentPlan]>,
    /// Host jitter: each packet leaves its sender after a uniform delay of up to this much,
    /// without overtaking.
    pub jitter: Span,
    /// Common properties of all flows of its group, accessible as its own.
    pub kind: Arc<FlowKind>,
}

/// Common properties of all flows of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowKind {
    /// Size of a full packet on the wire, all headers included.
    pub packet_size: Bytes,
    /// Start time.
    pub start: StartPlan,
    /// Time from which on its application does nothing more.
    pub stop: Option<StartPlan>,
    /// Traffic.
    pub traffic: Arc<Traffic>,
    /// TCP options; `None` for UDP.
    pub tcp: Option<Arc<TcpPlan>>,
    /// Encoding of prices, if its senders read them.
    pub prices: Option<Encoding>,
    /// DiffServ codepoint of what its sender sends.
    pub dscp: Dscp,
}

impl Deref for FlowPlan {
    type Target = FlowKind;

    fn deref(&self) -> &FlowKind {
        &self.kind
    }
}

impl FlowPlan {
    /// Whether its packets carry ECT(1): their sender reacts to marks in proportion to their share (L4S, RFC 9331).
    pub fn is_scalable(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.is_scalable())
    }

    /// Whether its sender declares congestion.
    pub fn declares(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.conex != ConexPlan::Off)
    }
}

/// Start or stop of the flows of a group, between two points of time (which may be equal).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartPlan {
    /// Earliest time.
    pub from: Time,
    /// Latest time.
    pub to: Time,
    /// How the times of the flows are spread.
    pub spread: Spread,
}
