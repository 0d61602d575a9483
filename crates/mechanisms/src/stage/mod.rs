//! Stages on a packet's path that are no queues: meters, counters, policers, auditors, tunnel ends.
//!
//! A [`Stage`] inspects a packet, may rewrite it, and decides whether it passes. The scenario places it: where a user's
//! packets enter or leave the network, with an instance for each user, or at either end of a link, with one for all
//! packets there.

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
pub mod policer;
pub mod random_marker;
pub mod re_ecn_dropper;
pub mod re_ecn_policer;
mod report;
pub mod shaper;
mod slots;
pub mod srtcm;
pub mod three_colours;
pub mod trtcm;
mod tunnel;
mod user_state;

pub use conex_auditor::{ConexAuditor, ConexAuditorParams, LossSign};
pub use conex_policer::{ConexPolicer, ConexPolicerParams, NotConex, PolicerCurve, Upstream};
pub use congestion_reporter::{CongestionReporter, CongestionReporterParams};
pub use crossing::Crossing;
pub use enodeb::{Enodeb, EnodebParams};
pub use enodeb_uplink::{EnodebUplink, EnodebUplinkParams};
pub use mark_counter::{MarkCounter, MarkCounterParams};
pub use passing::{Declared, Ecn, FastVerdict, PacketSummary, Passing, ReEcn, Sequence};
pub use pdn_gateway::{PdnGateway, PdnGatewayParams};
pub use pdn_gateway_uplink::{PdnGatewayUplink, PdnGatewayUplinkParams};
pub use policer::{Policer, PolicerParams};
pub use random_marker::{RandomMarker, RandomMarkerParams};
pub use re_ecn_dropper::{ReEcnDropper, ReEcnDropperParams};
pub use re_ecn_policer::{Outside, ReEcnPolicer, ReEcnPolicerParams};
pub use report::{Fate, Report, TunnelReport};
pub use shaper::{Shaper, ShaperParams};
pub use srtcm::{Srtcm, SrtcmParams};
pub use three_colours::ColourAction;
pub use trtcm::{Trtcm, TrtcmParams};
pub use tunnel::{EcnRules, Tunnel};
pub use user_state::UserState;

use crate::ingress::{ActivityMeter, ActivityMeterParams};
use crate::mechanism::About;
use crate::parameters::{ParameterError, Parameters, choices};
use crate::units::{Bytes, Span, Time};

/// Outcome of a packet at a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The packet passes, as rewritten.
    On,
    /// The packet is dropped, for this reason.
    Drop(&'static str),
    /// It waits here, and goes on at this time: later than those that the stage has held before, or at least at another.
    /// Only of a stage that [holds](Capabilities::holds) packets.
    Hold(Time),
    /// It goes on, and a report leaves in a packet of its own for the stage that [`Capabilities::reports_to`]
    /// names. Reports are not answered.
    Report(Box<Report>),
}

/// Role of a stage as an end of tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelEnd {
    /// Whether the tunnels lead up, from eNodeBs to the PDN gateway; otherwise down.
    pub up: bool,
    /// Rules for their ECN fields.
    pub ecn_rules: EcnRules,
    /// Reporting interval, where tunnels end; `None` where they begin.
    pub interval: Option<Span>,
    /// Length added to packets from here on, bytes.
    pub overhead: Bytes,
    /// Where tunnels begin: largest packet of the path.
    pub mtu: Option<Bytes>,
    /// Where tunnels begin: whether their headers copy the inner ConEx option.
    pub copies_declarations: bool,
}

impl TunnelEnd {
    /// Returns the role of an end at which tunnels with these rules end, with a reporting interval.
    const fn reporting(up: bool, ecn_rules: EcnRules, interval: Span) -> Self {
        TunnelEnd {
            up,
            ecn_rules,
            interval: Some(interval),
            overhead: Bytes::new(0),
            mtu: None,
            copies_declarations: false,
        }
    }

    /// Whether tunnels begin here.
    pub const fn begins(&self) -> bool {
        self.interval.is_none()
    }
}

/// Capabilities of a stage, so that only what it needs is prepared for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether packets may pass ahead of time, in order and each with its arrival time: requires that the stage neither
    /// counts nor drops, so that no difference is visible.
    pub order_only: bool,
    /// Whether packets may pass ahead of time, in order and each with its arrival time, until the next reading of the
    /// counts: requires that only passing packets change its state, and that it is not read in between. Its reports
    /// leave at their time.
    pub ahead_of_readings: bool,
    /// Whether it writes a signal (an activity, a price) into packets.
    pub writes_signal: bool,
    /// Whether it writes other fields: ECN, declarations, a tunnel's header. Without this capability such writes are
    /// lost, unless it [deprioritises](Stage::deprioritises).
    pub writes_header: bool,
    /// Whether it has [levels](Stage::levels).
    pub has_levels: bool,
    /// It lets packets wait.
    pub holds: bool,
    /// It lets packets pass on the [fast path](Stage::fast_path).
    pub has_fast_path: bool,
    /// Kind of stage to which it reports, by name: the nearest upstream. A report takes the flow's reverse path, where
    /// it waits in queues and may be lost; without such a stage, or such a path, none is sent.
    pub reports_to: Option<&'static str>,
    /// Whether it receives reports.
    pub takes_reports: bool,
}

impl Capabilities {
    /// Capabilities of a stage that sees packets on time, and writes nothing.
    pub const NONE: Capabilities = Capabilities {
        order_only: false,
        ahead_of_readings: false,
        writes_signal: false,
        writes_header: false,
        has_levels: false,
        holds: false,
        has_fast_path: false,
        reports_to: None,
        takes_reports: false,
    };
}

/// A stage on a packet's path that is no queue.
pub trait Stage: Sized {
    /// Parameters.
    type Params: Parameters;

    /// Description for the registry.
    const ABOUT: About;

    /// Capabilities.
    const CAPABILITIES: Capabilities = Capabilities::NONE;

    /// Returns the stage before the first packet.
    fn new(params: Self::Params) -> Self;

    /// Returns the error of the parameters for packets of this size: the key, and the reason.
    fn validate(params: &Self::Params, packet: Bytes) -> Option<ParameterError> {
        let _ = (params, packet);
        None
    }

    /// Initializes the stage in a network, before the first packet: `place` is its index among the stages of its kind,
    /// from 0, and `count` returns the number of stages of a kind.
    fn init(&mut self, place: u32, count: &dyn Fn(&str) -> u32) {
        let _ = (place, count);
    }

    /// Returns the parameters of the replicas that packets of a flow visit in rotation; usually one.
    fn replicas(params: &Self::Params) -> Vec<Self::Params> {
        vec![params.clone()]
    }

    /// Does the same as [`Stage::pass`] for a packet of which the summary is sufficient, for stages with
    /// [`Capabilities::has_fast_path`]. For other packets it does nothing, and they take [`Stage::pass`].
    #[inline]
    fn fast_path(&mut self, packet: &PacketSummary) -> FastVerdict {
        let _ = packet;
        FastVerdict::Full
    }

    /// Whether its state of a user moves to another stage of its kind, with the same parameters, when the user's
    /// packets pass there.
    fn hands_over(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// Removes and returns its state of a user; `owns` selects the user's flows.
    fn export_user(&mut self, user: u32, owns: &dyn Fn(u32) -> bool) -> UserState {
        let _ = (user, owns);
        UserState::default()
    }

    /// Adds the state of a user exported by another stage.
    fn import_user(&mut self, user: u32, user_state: UserState) {
        let _ = (user, user_state);
    }

    /// Inspects a packet, may rewrite it, and returns the outcome. `draw` returns a random number in [0, 1).
    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage;

    /// Does the same as [`Stage::pass`] where tunnels begin or end, with only the fields that matter there.
    #[inline(always)]
    fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
        let _ = (packet, draw);
        unreachable!("{} is no end of tunnels", Self::ABOUT.name)
    }

    /// Handles a report.
    fn take(&mut self, report: &Report) {
        let _ = report;
    }

    /// Returns its role as a tunnel end, if tunnels begin or end here.
    fn tunnel_end(params: &Self::Params) -> Option<TunnelEnd> {
        let _ = params;
        None
    }

    /// Returns the stage required at the same node for the other direction: a gateway begins downlink tunnels and ends
    /// uplink ones, an eNodeB the other way round.
    fn counterpart(params: &Self::Params) -> Option<StageParams> {
        let _ = params;
        None
    }

    /// Returns the rules of the tunnels that it has to be placed in, if it needs any.
    fn tunnels_by(params: &Self::Params) -> Option<EcnRules> {
        let _ = params;
        None
    }

    /// Whether it observes the drops of a link's queue, at an end of which it then has to be placed.
    fn observes_drops(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// Whether it may give packets a lower class of service, that of lower effort.
    fn deprioritises(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// Handles a drop by the queue of its link.
    fn observe_drop(&mut self, packet: &Passing) {
        let _ = packet;
    }

    /// Visits its cumulative counts: user, name, and value, which never decreases.
    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        let _ = each;
    }

    /// Returns its state of users, flows and tunnels, without counts, bytes; 0 if it is stateless.
    fn state_bytes(&self) -> usize {
        0
    }

    /// Visits its levels of a user, if the user has been seen: name and value, such as the fill of a bucket. Sampled
    /// for a series.
    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let _ = (user, now, each);
    }
}

/// Declares the stages, one line each.
macro_rules! stages {
    ($($name:ident($params:ident);)+) => {
        /// A stage of any kind.
        #[derive(Clone, Debug)]
        pub enum AnyStage {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)+
        }

        choices! {
            /// A place on a packet's path that is no queue.
            pub enum StageParams as Stage in Ingress by Stage {
                $($name($params);)+
            }
        }

        impl StageParams {
            /// Returns its name in scenario files.
            pub const fn name(&self) -> &'static str {
                match self { $(StageParams::$name(_) => $name::ABOUT.name,)+ }
            }

            /// See [`Stage::CAPABILITIES`].
            pub const fn capabilities(&self) -> Capabilities {
                match self { $(StageParams::$name(_) => $name::CAPABILITIES,)+ }
            }

            /// See [`Stage::tunnel_end`].
            pub fn tunnel_end(&self) -> Option<TunnelEnd> {
                match self { $(StageParams::$name(params) => $name::tunnel_end(params),)+ }
            }

            /// See [`Stage::counterpart`].
            pub fn counterpart(&self) -> Option<StageParams> {
                match self { $(StageParams::$name(params) => $name::counterpart(params),)+ }
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

            /// See [`Stage::deprioritises`].
            pub fn deprioritises(&self) -> bool {
                match self { $(StageParams::$name(params) => $name::deprioritises(params),)+ }
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
            /// Returns the stage of these parameters, before the first packet.
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
            #[inline(always)]
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

            /// See [`Stage::observe_drop`].
            pub fn observe_drop(&mut self, packet: &Passing) {
                match self { $(AnyStage::$name(stage) => stage.observe_drop(packet),)+ }
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

impl StageParams {
    /// See [`Capabilities::order_only`]. Requires that no reports are involved.
    pub const fn order_only(&self) -> bool {
        let own = self.capabilities();
        own.order_only && own.reports_to.is_none() && !own.takes_reports
    }

    /// See [`Capabilities::ahead_of_readings`].
    pub const fn ahead_of_readings(&self) -> bool {
        self.capabilities().ahead_of_readings
    }

    /// See [`Capabilities::reports_to`].
    pub const fn reports_to(&self) -> Option<&'static str> {
        self.capabilities().reports_to
    }

    /// Whether tunnels begin or end there.
    pub fn is_of_tunnels(&self) -> bool {
        self.tunnel_end().is_some()
    }

    /// See [`Capabilities::writes_signal`].
    pub const fn writes_signal(&self) -> bool {
        self.capabilities().writes_signal
    }

    /// See [`Capabilities::writes_header`].
    pub fn writes_header(&self) -> bool {
        self.capabilities().writes_header || self.deprioritises()
    }

    /// Whether tunnels end there, so that tunnels that begin upstream lead there.
    pub fn ends_tunnels(&self) -> bool {
        self.tunnel_end().is_some_and(|end| !end.begins())
    }
}

/// A separate function for each kind: in a common one, the needs of a single kind would be computed for every packet.
#[inline(never)]
fn pass<S: Stage>(stage: &mut S, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
    stage.pass(packet, draw)
}

stages! {
    ActivityMeter(ActivityMeterParams);
    CongestionReporter(CongestionReporterParams);
    MarkCounter(MarkCounterParams);
    Policer(PolicerParams);
    Shaper(ShaperParams);
    Srtcm(SrtcmParams);
    Trtcm(TrtcmParams);
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
