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
pub mod policer;
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
pub use policer::{Policer, PolicerParams};
pub use random_marker::{RandomMarker, RandomMarkerParams};
pub use re_ecn_dropper::{ReEcnDropper, ReEcnDropperParams};
pub use re_ecn_policer::{Outside, ReEcnPolicer, ReEcnPolicerParams};
pub use report::{Fate, Report, TunnelReport};
pub use tunnel::{EcnRules, Tunnel};
pub use user_state::UserState;

use crate::ingress::{ActivityMeter, ActivityMeterParams};
use crate::mechanism::About;
use crate::parameters::{ParameterError, Parameters, choices};
use crate::units::{Bytes, Span, Time};

/// What becomes of a packet that has met a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes on, as it is now.
    On,
    /// It is dropped, for this reason.
    Drop(&'static str),
    /// It goes on, and a report leaves in a packet of its own for the stage that [`Capabilities::reports_to`]
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
    /// Where tunnels begin, the largest packet that the path carries.
    pub mtu: Option<Bytes>,
    /// Where tunnels begin, whether their headers say what the inner ConEx option does.
    pub copies_declarations: bool,
}

impl TunnelEnd {
    /// Tunnels with these rules end here, and reports leave once in an interval.
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

/// What a stage may do, so that whoever runs it prepares that and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Packets may pass ahead of time, in order and each with the time at which it is there: only if the stage
    /// neither counts nor drops, so that nobody sees the difference.
    pub order_only: bool,
    /// Packets may pass ahead of time, in order and each with the time at which it is there, until what the
    /// stage has counted is read next: only if nothing but packets that pass changes it, and nobody looks at it in
    /// between. Its reports leave at their time.
    pub ahead_of_readings: bool,
    /// It writes a signal (an activity, a price) into packets.
    pub writes_signal: bool,
    /// It writes anything else into packets: ECN fields, what is declared, a tunnel's header. What it
    /// writes without saying so here is lost.
    pub writes_header: bool,
    /// It has [levels](Stage::levels).
    pub has_levels: bool,
    /// It lets packets pass on the [fast path](Stage::fast_path).
    pub has_fast_path: bool,
    /// The kind of stage to which it reports, by name: the nearest that the packet has passed before. A report
    /// goes there on the flow's path in the other direction, where it waits in queues and may be lost; without
    /// such a stage, or such a path, none leaves.
    pub reports_to: Option<&'static str>,
    /// Others report to it.
    pub takes_reports: bool,
}

impl Capabilities {
    /// Of a stage that looks at packets on time, and writes nothing.
    pub const NONE: Capabilities = Capabilities {
        order_only: false,
        ahead_of_readings: false,
        writes_signal: false,
        writes_header: false,
        has_levels: false,
        has_fast_path: false,
        reports_to: None,
        takes_reports: false,
    };
}

/// A place on a packet's path that is no queue.
pub trait Stage: Sized {
    /// What can be set.
    type Params: Parameters;

    /// What it is.
    const ABOUT: About;

    /// What it may do.
    const CAPABILITIES: Capabilities = Capabilities::NONE;

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
    /// which say so in [`Capabilities::has_fast_path`]. To others it does nothing, and they are passed.
    #[inline]
    fn fast_path(&mut self, packet: &PacketSummary) -> FastVerdict {
        let _ = packet;
        FastVerdict::Full
    }

    /// Whether what it has of a user goes with it to another of its kind, with the same parameters, once its packets
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

    /// Adds what another has released to what it has of a user.
    fn import_user(&mut self, user: u32, user_state: UserState) {
        let _ = (user, user_state);
    }

    /// Looks at a packet, may write into it, and says what becomes of it. `draw` gives a random number
    /// in [0, 1).
    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage;

    /// Does the same as [`Stage::pass`] where tunnels begin or end, with nothing but what matters there.
    #[inline(always)]
    fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
        let _ = (packet, draw);
        unreachable!("{} is no end of tunnels", Self::ABOUT.name)
    }

    /// A report has arrived.
    fn take(&mut self, report: &Report) {
        let _ = report;
    }

    /// What it is to tunnels, if they begin or end here.
    fn tunnel_end(params: &Self::Params) -> Option<TunnelEnd> {
        let _ = params;
        None
    }

    /// What stands at the same node for the other direction, if that has to be there: a gateway begins tunnels
    /// down and ends those up, an eNodeB the other direction.
    fn counterpart(params: &Self::Params) -> Option<StageParams> {
        let _ = params;
        None
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
    fn observe_drop(&mut self, packet: &Passing) {
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

    /// What it has for a user now, if it has seen it: the name and how much, such as the fill of its bucket.
    /// Sampled for a series.
    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let _ = (user, now, each);
    }
}

/// One line per stage.
macro_rules! stages {
    ($($name:ident($params:ident);)+) => {
        /// A stage on a packet's path.
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
            /// Its name in scenario files.
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
    /// See [`Capabilities::order_only`]. Reports come and go at their time.
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
    pub const fn writes_header(&self) -> bool {
        self.capabilities().writes_header
    }

    /// Whether tunnels end there, so that one that begins further up the path leads there.
    pub fn ends_tunnels(&self) -> bool {
        self.tunnel_end().is_some_and(|end| !end.begins())
    }
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
    Policer(PolicerParams);
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
