//! What a scenario file resolves to: every default filled in, every name an index.
//!
//! The simulator (and every other engine) reads a [`Plan`] and nothing else, so that a shape such
//! as "dumbbell" or a profile such as "linux" exists in the scenario crate alone.

use std::fmt::{self, Display};
use std::ops::Deref;
use std::sync::Arc;

use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, Demand, Span, Time};

mod conex;
mod link;
mod paths;
mod tcp;
mod traced;

pub use crate::kernel_qdisc::KernelQdisc;
pub use crate::traffic::{
    Adaptation, Admission, AdmissionPlace, Blind, BlindConex, BlindReEcn, Calls, Cbr, Counter,
    Distribution, Fetching, FrameSizes, Frames, Gateway, Greedy, Increase, MeasuredSum, MpegModel,
    NonProbing, OnOff, Pages, Patience, PausePlan, PriceAdaptation, Probing, Quality, ShortFlows,
    Traffic, Transfer, Unknown, Updates, Video, VideoModel, WritesPlan,
};
pub use conex::{
    CarrierPlan, CheatPlan, ConexPlan, CreditAlone, CreditPlan, Hoard, Late, LossForMark,
    LossesPlan, Never, PerSignal, ReEcn, Rfc7786, Understate, WhileSlow, Whitewash,
};
pub(crate) use link::place;
pub use link::{
    AccessPlan, Buffer, Line, LinkKind, LinkMechanisms, LinkPlan, RateChange, ReverseLine,
};
pub use paths::{Direction, ReportPath};
#[cfg(test)]
pub(crate) use tcp::COMMON_OPTIONS;
pub use tcp::{
    AfterTimeoutPlan, DelayedAckPlan, FeedbackPlan, OptionPlan, RecoveryPlan, ReductionPlan,
    RtoPlan, StackPlan, TcpPlan, TcpQuirks,
};
pub use traced::{LinkDelay, LinkRate, TracedDelay, TracedRate};

/// So many links fit in a run: link and time share a word where events are compared.
pub const MAX_LINKS: usize = 1 << 18;
/// A run ends before this, for the same reason: after 19.5 hours.
pub const MAX_RUN: Span = Span::from_nanos(1 << 46);
/// So many connections, or calls, can be open at once beside two of each flow: about a kilobyte each.
pub const MAX_OPEN: usize = 1_000_000;
/// So many rows a table of results may have.
pub const MAX_ROWS: usize = 50_000_000;
/// So many steps all different routes have in a run: a packet says in 24 bits where it is.
pub const MAX_ROUTE_STEPS: usize = 1 << 24;
/// So many user groups can be distinguished.
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
    /// Of so many flows of each group, from its first, they have what senders know.
    pub sampled_flows: u32,
    /// Of so many users of each group, from its first, they have what stages hold.
    pub sampled_users: u32,
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
    /// Flows that take another path from some time on, in the order of those times for each.
    pub moves: Vec<MovePlan>,
    /// Flows that offer to pay something else from some time on, in the order of those times for each.
    pub offers: Vec<OfferPlan>,
}

/// A flow offers to pay something else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferPlan {
    /// Index into [`Plan::flows`].
    pub flow: usize,
    /// From when on.
    pub at: Time,
    /// w, as of its congestion control.
    pub willingness_to_pay: Demand,
}

/// A flow takes another path: its receiver has moved.
#[derive(Clone, Debug, PartialEq)]
pub struct MovePlan {
    /// Index into [`Plan::flows`].
    pub flow: usize,
    /// From when on. What is under way goes on as it went.
    pub at: Time,
    /// The flow with its routes and stages from then on.
    pub path: FlowPlan,
}

impl Plan {
    /// All paths: of the flows as they begin, then of the moves.
    pub fn paths(&self) -> impl Iterator<Item = &FlowPlan> {
        self.flows.iter().chain(self.moves.iter().map(|moved| &moved.path))
    }

    /// The flow of the path with this number in [`Self::paths`], and the path.
    pub fn path(&self, number: usize) -> (usize, &FlowPlan) {
        match number.checked_sub(self.flows.len()) {
            None => (number, &self.flows[number]),
            Some(moved) => (self.moves[moved].flow, &self.moves[moved].path),
        }
    }

    /// A user as messages call it, such as `heavy.0`.
    pub fn user_name(&self, user: usize) -> String {
        let UserPlan { group, number, .. } = self.users[user];
        format!("{}.{number}", self.groups[group].name)
    }

    /// A flow by its user, such as `heavy.0.2`. Flows of other users, and more flows of the same user, leave it as it is.
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
}

/// One user: the owner of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct UserPlan {
    /// Index into [`Plan::groups`].
    pub group: usize,
    /// Position among the users of the group, from 0.
    pub number: u32,
    /// The user at whose host it sits, mostly itself: an index into [`Plan::users`]. Mechanisms take all at
    /// one host for one customer.
    pub customer: usize,
}

/// A stage of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct StagePlan {
    /// Such as `heavy.0.ingress.0`.
    pub name: String,
    /// What it is.
    pub params: StageParams,
}

/// Where on a flow's path a stage is attached, or several that packets pass in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachmentPlan {
    /// It is on the reverse path, where the receiver sits at a host with stages of its own.
    pub back: bool,
    /// It is in front of so many-th link of the path, counted from 0; behind the last one where there is
    /// none.
    pub hop: usize,
    /// Indices into [`Plan::stages`], one for each packet in turn.
    pub replicas: Vec<u32>,
}

/// One flow, from its sender to its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Index into [`Plan::users`].
    pub user: usize,
    /// Position among the flows of the user, from 0.
    pub number: u32,
    /// Links from the sender to the receiver, in order. The first is its host's: whatever begins with the
    /// same link, data or acknowledgements, leaves the same host.
    pub forward: Box<[u32]>,
    /// Links from the receiver back to the sender, in order.
    pub reverse: Box<[u32]>,
    /// Where users' stages are attached to its path, in order.
    pub attachments: Box<[AttachmentPlan]>,
    /// Host jitter: each packet leaves its sender after a uniform delay of up to this much,
    /// without overtaking.
    pub jitter: Span,
    /// What it has in common with all flows of its group, which can be read as its own.
    pub kind: Arc<FlowKind>,
}

/// What all flows of a group are like.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowKind {
    /// Size of a full packet on the wire, all headers included.
    pub packet_size: Bytes,
    /// When they start.
    pub start: StartPlan,
    /// What they send.
    pub traffic: Arc<Traffic>,
    /// The TCP that carries it; `None` for UDP.
    pub tcp: Option<Arc<TcpPlan>>,
    /// How prices travel to their senders, if those read them.
    pub prices: Option<Encoding>,
}

impl Deref for FlowPlan {
    type Target = FlowKind;

    fn deref(&self) -> &FlowKind {
        &self.kind
    }
}

impl FlowPlan {
    /// Whether its packets say, by ECT(1), that their sender answers to marks in proportion to their
    /// share (L4S, RFC 9331).
    pub fn is_scalable(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.is_scalable())
    }

    /// Whether its sender declares what congestion it meets.
    pub fn declares(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.conex != ConexPlan::Off)
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
