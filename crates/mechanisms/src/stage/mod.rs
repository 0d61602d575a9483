//! Places on a packet's way that are no queue: meters, counters, policers, auditors, tunnel ends.
//!
//! A [`Stage`] looks at a packet, may write into it, and says what becomes of it. Where it stands is
//! the scenario's choice: where a user's packets enter the network or leave it, an instance for each
//! user, or at either end of a link, one for all that pass there.

mod by_user;
pub mod conex_auditor;
pub mod conex_policer;
pub mod congestion_reporter;
mod crossing;
pub mod enodeb;
pub mod enodeb_uplink;
pub mod mark_counter;
mod passing;
pub mod pdn_gateway;
pub mod pdn_gateway_uplink;
pub mod random_marker;
pub mod re_ecn_dropper;
pub mod re_ecn_policer;
mod report;
mod slots;
mod tunnel;
mod user_state;

pub use conex_auditor::{ConexAuditor, ConexAuditorParams};
pub use conex_policer::{ConexPolicer, ConexPolicerParams, NotConex, PolicerCurve};
pub use congestion_reporter::{CongestionReporter, CongestionReporterParams};
pub use crossing::Crossing;
pub use enodeb::{Enodeb, EnodebParams};
pub use enodeb_uplink::{EnodebUplink, EnodebUplinkParams};
pub use mark_counter::{MarkCounter, MarkCounterParams};
pub use passing::{Declared, Ecn, FastVerdict, PacketSummary, Passing, ReEcn, Sequence};
pub use pdn_gateway::{PdnGateway, PdnGatewayParams};
pub use pdn_gateway_uplink::{PdnGatewayUplink, PdnGatewayUplinkParams};
pub use random_marker::{RandomMarker, RandomMarkerParams};
pub use re_ecn_dropper::{ReEcnDropper, ReEcnDropperParams};
pub use re_ecn_policer::{Outside, ReEcnPolicer, ReEcnPolicerParams};
pub use report::{Fate, Report, TunnelReport};
pub use tunnel::{EcnRules, Tunnel};
pub use user_state::UserState;

use crate::ingress::{ActivityMeter, ActivityMeterParams};
use crate::parameters::{ParameterError, Parameters, choices};
use crate::registry::About;
use crate::units::{Bytes, Span, Time};

/// What becomes of a packet that has met a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes on, as it is now.
    On,
    /// It is dropped, for this reason.
    Drop(&'static str),
    /// It goes on, and a report leaves in a packet of its own for the stage that [`Stage::REPORTS_TO`]
    /// names. Reports are not answered.
    Report(Box<Report>),
}

/// What a stage is to tunnels: one of their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelEnd {
    /// They lead up, from eNodeBs to the PDN gateway; else down.
    pub up: bool,
    /// The rules for their ECN fields.
    pub ecn_rules: EcnRules,
    /// Of reports, where they end; they begin where there is none.
    pub interval: Option<Span>,
    /// What packets are longer by from here on.
    pub overhead: Bytes,
}

/// A place on a packet's way that is no queue.
pub trait Stage: Sized {
    /// What can be set.
    type Params: Parameters;

    /// What it is.
    const ABOUT: About;

    /// Whether packets may pass ahead of time, in order and each with the time at which it is there:
    /// only if the stage neither counts nor drops, so that nobody sees the difference.
    const ORDER_ONLY: bool = false;

    /// Whether packets may pass ahead of time, in order and each with the time at which it is there, until what the
    /// stage has counted is read next: only if nothing but packets that pass changes it, and nobody looks at it in
    /// between. Its reports leave at their time.
    const AHEAD_OF_READINGS: bool = false;

    /// Whether it writes a signal (an activity, a price) into packets.
    const WRITES_SIGNAL: bool = false;

    /// Whether it writes anything else into packets: ECN fields, what is declared, a tunnel's header. What it
    /// writes without saying so here is lost.
    const WRITES_HEADER: bool = false;

    /// Whether tunnels end here, so that one that begins further up the way leads here.
    const ENDS_TUNNELS: bool = false;

    /// Whether it has [`levels`](Self::levels).
    const HAS_LEVELS: bool = false;

    /// Whether it lets packets pass at a [fast path](Self::fast_path).
    const GLANCES: bool = false;

    /// To which kind of stage it reports, by name: to the nearest that the packet has passed before. A report
    /// goes there on the flow's way in the other direction, where it waits in queues and may be lost; without
    /// such a stage, or such a way, none leaves.
    const REPORTS_TO: Option<&'static str> = None;

    /// Whether others report to it.
    const TAKES_REPORTS: bool = false;

    /// Before the first packet.
    fn new(params: Self::Params) -> Self;

    /// What is wrong with the parameters where packets have this size: the key, and why.
    fn validate(params: &Self::Params, packet: Bytes) -> Option<ParameterError> {
        let _ = (params, packet);
        None
    }

    /// It stands in a network, where it is the so-many-th of its kind, counted from 0, and there are so many of each
    /// kind; before the first packet.
    fn init(&mut self, place: u32, count: &dyn Fn(&str) -> u32) {
        let _ = (place, count);
    }

    /// The stages that stand here together, which packets of a flow pass in turn; mostly one.
    fn replicas(params: &Self::Params) -> Vec<Self::Params> {
        vec![params.clone()]
    }

    /// Does the same as [`Stage::pass`] for a packet of which this is all that matters, as most are to some stages,
    /// which say so in [`GLANCES`](Self::GLANCES). To others it does nothing, and they are passed.
    #[inline]
    fn fast_path(&mut self, packet: &PacketSummary) -> FastVerdict {
        let _ = packet;
        FastVerdict::Full
    }

    /// Whether what it has of a user goes with him to another of its kind, with the same parameters, once his packets
    /// pass that.
    fn hands_over(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// Lets go of what it has of a user, whose flows are those of which `owns` holds.
    fn export_user(&mut self, user: u32, owns: &dyn Fn(u32) -> bool) -> UserState {
        let _ = (user, owns);
        UserState::default()
    }

    /// Adds what another has let go of to what it has of a user.
    fn import_user(&mut self, user: u32, user_state: UserState) {
        let _ = (user, user_state);
    }

    /// Looks at a packet, may write into it, and says what becomes of it. `draw` gives a random number
    /// in [0, 1).
    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage;

    /// Does the same as [`Stage::pass`] where tunnels begin or end, with nothing but what matters there.
    #[inline]
    fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
        let _ = (packet, draw);
        unreachable!("{} is no end of tunnels", Self::ABOUT.name)
    }

    /// A report has arrived.
    fn take(&mut self, report: &Report) {
        let _ = report;
    }

    /// The rules of the tunnels in which it has to stand, if it has to.
    fn tunnels_by(params: &Self::Params) -> Option<EcnRules> {
        let _ = params;
        None
    }

    /// Whether it asks for what the queue of a link drops, at an end of which it has to stand then.
    fn observes_drops(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// The queue of the link at an end of which it stands has dropped a packet.
    fn hear_drop(&mut self, packet: &Passing) {
        let _ = packet;
    }

    /// What it has counted since the beginning: for each user what, and how much of it, which never shrinks.
    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        let _ = each;
    }

    /// What it remembers of users, flows and tunnels now, in bytes, but for what is only counted. 0 where it works without.
    fn state_bytes(&self) -> usize {
        0
    }

    /// What it has for a user now, if it has seen him: the name and how much, such as the fill of his bucket.
    /// Sampled for a series.
    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let _ = (user, now, each);
    }
}

/// One line per stage.
macro_rules! stages {
    ($($name:ident($params:ident);)+) => {
        /// A stage on a packet's way.
        #[derive(Clone, Debug)]
        pub enum AnyStage {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)+
        }

        choices! {
            /// A place on a packet's way that is no queue.
            pub enum StageParams as Stage in Ingress by Stage {
                $($name($params);)+
            }
        }

        impl StageParams {
            /// Its name in scenario files.
            pub const fn name(&self) -> &'static str {
                match self { $(StageParams::$name(_) => $name::ABOUT.name,)+ }
            }

            /// See [`Stage::ORDER_ONLY`]. Reports come and go at their time.
            pub const fn order_only(&self) -> bool {
                let reports = self.reports_to().is_some() || self.takes_reports();
                match self { $(StageParams::$name(_) => $name::ORDER_ONLY && !reports,)+ }
            }

            /// See [`Stage::AHEAD_OF_READINGS`].
            pub const fn ahead_of_readings(&self) -> bool {
                match self { $(StageParams::$name(_) => $name::AHEAD_OF_READINGS,)+ }
            }

            /// See [`Stage::REPORTS_TO`].
            pub const fn reports_to(&self) -> Option<&'static str> {
                match self { $(StageParams::$name(_) => $name::REPORTS_TO,)+ }
            }

            /// See [`Stage::TAKES_REPORTS`].
            pub const fn takes_reports(&self) -> bool {
                match self { $(StageParams::$name(_) => $name::TAKES_REPORTS,)+ }
            }

            /// Whether tunnels begin or end there.
            pub fn is_of_tunnels(&self) -> bool {
                self.tunnel_end().is_some()
            }

            /// What it is to tunnels.
            pub fn tunnel_end(&self) -> Option<TunnelEnd> {
                let none = Bytes::new(0);
                let end = |up, ecn_rules, interval, overhead| {
                    Some(TunnelEnd { up, ecn_rules, interval, overhead })
                };
                match self {
                    StageParams::PdnGateway(own) => {
                        end(false, own.ecn_rules, None, Tunnel::overhead(own.re_inserts))
                    }
                    StageParams::Enodeb(own) => end(false, own.ecn_rules, Some(own.interval), none),
                    StageParams::EnodebUplink(own) => {
                        end(true, own.ecn_rules, None, Tunnel::overhead(own.re_inserts))
                    }
                    StageParams::PdnGatewayUplink(own) => {
                        end(true, own.ecn_rules, Some(own.interval), none)
                    }
                    _ => None,
                }
            }

            /// What stands at the same node for the way in the other direction, if that has to be there: a gateway
            /// begins tunnels down and ends those up, an eNodeB the other way round.
            pub fn turned_round(&self) -> Option<StageParams> {
                match self {
                    StageParams::PdnGateway(own) => Some(StageParams::PdnGatewayUplink(own.up())),
                    StageParams::Enodeb(own) => Some(StageParams::EnodebUplink(own.up())),
                    _ => None,
                }
            }

            /// See [`Stage::WRITES_SIGNAL`].
            pub const fn writes_signal(&self) -> bool {
                match self { $(StageParams::$name(_) => $name::WRITES_SIGNAL,)+ }
            }

            /// See [`Stage::WRITES_HEADER`].
            pub const fn writes_header(&self) -> bool {
                match self { $(StageParams::$name(_) => $name::WRITES_HEADER,)+ }
            }

            /// See [`Stage::ENDS_TUNNELS`].
            pub const fn ends_tunnels(&self) -> bool {
                match self { $(StageParams::$name(_) => $name::ENDS_TUNNELS,)+ }
            }

            /// See [`Stage::HAS_LEVELS`].
            pub const fn has_levels(&self) -> bool {
                match self { $(StageParams::$name(_) => $name::HAS_LEVELS,)+ }
            }

            /// See [`Stage::GLANCES`].
            pub const fn has_fast_path(&self) -> bool {
                match self { $(StageParams::$name(_) => $name::GLANCES,)+ }
            }

            /// See [`Stage::hands_over`].
            pub fn hands_over(&self) -> bool {
                match self { $(StageParams::$name(params) => $name::hands_over(params),)+ }
            }

            /// See [`Stage::tunnels_by`].
            pub fn tunnels_by(&self) -> Option<EcnRules> {
                match self { $(StageParams::$name(params) => $name::tunnels_by(params),)+ }
            }

            /// See [`Stage::observes_drops`].
            pub fn observes_drops(&self) -> bool {
                match self { $(StageParams::$name(params) => $name::observes_drops(params),)+ }
            }

            /// See [`Stage::validate`].
            pub fn validate(&self, packet: Bytes) -> Option<ParameterError> {
                match self { $(StageParams::$name(params) => $name::validate(params, packet),)+ }
            }

            /// See [`Stage::replicas`].
            pub fn replicas(&self) -> Vec<StageParams> {
                match self {
                    $(StageParams::$name(params) => {
                        $name::replicas(params).into_iter().map(StageParams::$name).collect()
                    })+
                }
            }
        }

        impl AnyStage {
            /// The stage of these parameters, before the first packet.
            pub fn new(params: StageParams) -> Self {
                match params { $(StageParams::$name(params) => AnyStage::$name($name::new(params)),)+ }
            }

            /// See [`Stage::init`].
            pub fn init(&mut self, place: u32, count: &dyn Fn(&str) -> u32) {
                match self { $(AnyStage::$name(stage) => stage.init(place, count),)+ }
            }

            /// See [`Stage::fast_path`].
            #[inline]
            pub fn fast_path(&mut self, packet: &PacketSummary) -> FastVerdict {
                match self { $(AnyStage::$name(stage) => stage.fast_path(packet),)+ }
            }

            /// See [`Stage::pass`].
            #[inline]
            pub fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
                match self { $(AnyStage::$name(stage) => pass(stage, packet, draw),)+ }
            }

            /// See [`Stage::cross`].
            #[inline]
            pub fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
                match self { $(AnyStage::$name(stage) => stage.cross(packet, draw),)+ }
            }

            /// See [`Stage::levels`].
            pub fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
                match self { $(AnyStage::$name(stage) => stage.levels(user, now, each),)+ }
            }

            /// See [`Stage::export_user`].
            pub fn export_user(&mut self, user: u32, owns: &dyn Fn(u32) -> bool) -> UserState {
                match self { $(AnyStage::$name(stage) => stage.export_user(user, owns),)+ }
            }

            /// See [`Stage::import_user`].
            pub fn import_user(&mut self, user: u32, user_state: UserState) {
                match self { $(AnyStage::$name(stage) => stage.import_user(user, user_state),)+ }
            }

            /// See [`Stage::take`].
            pub fn take(&mut self, report: &Report) {
                match self { $(AnyStage::$name(stage) => stage.take(report),)+ }
            }

            /// See [`Stage::hear_drop`].
            pub fn hear_drop(&mut self, packet: &Passing) {
                match self { $(AnyStage::$name(stage) => stage.hear_drop(packet),)+ }
            }

            /// See [`Stage::state_bytes`].
            pub fn state_bytes(&self) -> usize {
                match self { $(AnyStage::$name(stage) => stage.state_bytes(),)+ }
            }

            /// See [`Stage::counts`].
            pub fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
                match self { $(AnyStage::$name(stage) => stage.counts(each),)+ }
            }
        }
    };
}

/// A function of its own for each kind: in one for all, what a single kind needs would be computed for every packet.
#[inline(never)]
fn pass<S: Stage>(stage: &mut S, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
    stage.pass(packet, draw)
}

stages! {
    ActivityMeter(ActivityMeterParams);
    CongestionReporter(CongestionReporterParams);
    MarkCounter(MarkCounterParams);
    ConexPolicer(ConexPolicerParams);
    ConexAuditor(ConexAuditorParams);
    RandomMarker(RandomMarkerParams);
    ReEcnPolicer(ReEcnPolicerParams);
    ReEcnDropper(ReEcnDropperParams);
    PdnGateway(PdnGatewayParams);
    Enodeb(EnodebParams);
    EnodebUplink(EnodebUplinkParams);
    PdnGatewayUplink(PdnGatewayUplinkParams);
}
