//! eNodeB, on the way up: the beginning of the tunnels that what phones send takes to the PDN gateway, which polices
//! users by what that reports.
//!
//! Y. Zhang, I. Johansson, H. Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its
//! Applicability in Cellular Networks", ITC 23, 2011, section III-B: "a similar setup can be done for upload scenarios". The
//! loop of the [PDN gateway](pdn-gateway.md), turned round: packets enter the network here, so that here they are policed,
//! numbered and put into the tunnel, and what they have met is reported from the [other end](pdn-gateway-uplink.md).
//!
//! ```text
//! phone ─► radio ─► eNodeB: police, number, re-insert ─► marks, drops ─► PDN gateway: count, take out ─► server
//!                      ▲                                                        │
//!                      └───────────────────────── report ◄──────────────────────┘
//! ```
//!
//! Buckets are an eNodeB's own: who comes to another begins there with a full one.

use super::pdn_gateway::{Handover, PdnGateway, PdnGatewayParams, Radio};
use super::re_ecn_policer::ReEcnPolicerParams;
use super::tunnel::EcnRules;
use super::{Crossing, Passage, Passing, Report, Stage};
use crate::parameters;
use crate::parameters::{Mistake, Parameters, Tables};
use crate::registry::About;
use crate::units::{Bytes, Time};

parameters! {
    /// Begins a tunnel to the PDN gateway for what each user sends, and polices by what that reports.
    pub struct EnodebUplinkParams {
        /// Buckets that packets have to pass, one after the other: of flows, of users, of all together. None: a
        /// tunnel alone.
        pub policers: Tables<ReEcnPolicerParams> = "[]",
        /// Which ECN field the outer header gets; as at the gateway.
        pub ecn_rules: EcnRules = "re-ecn",
        /// Re-insert what was reported into the tunnel's header, for which every packet has 4 B.
        pub re_inserts: bool = "true",
        /// Largest packet that the way to the gateway carries.
        pub mtu: Bytes = "1600 B",
    }
    check EnodebUplinkParams::mistakes;
}

impl EnodebUplinkParams {
    fn mistakes(&self) -> Vec<Mistake> {
        Parameters::mistakes(&self.turned_round())
    }

    /// The same, as the beginning of a tunnel on the way down has it.
    fn turned_round(&self) -> PdnGatewayParams {
        PdnGatewayParams {
            policers: self.policers.clone(),
            ecn_rules: self.ecn_rules,
            radio: Radio::Apart,
            handover: Handover::Keep,
            re_inserts: self.re_inserts,
            mtu: self.mtu,
        }
    }

    /// A tunnel alone, with the defaults.
    pub const fn plain(ecn_rules: EcnRules) -> Self {
        let policers = Tables(Vec::new());
        EnodebUplinkParams { policers, ecn_rules, re_inserts: true, mtu: Bytes::new(1600) }
    }
}

/// State of one eNodeB.
#[derive(Clone, Debug)]
pub struct EnodebUplink(PdnGateway);

impl Stage for EnodebUplink {
    type Params = EnodebUplinkParams;

    const ABOUT: About = About {
        name: "enodeb-uplink",
        title: "eNodeB, on the way up",
        source: "Zhang et al., Metering Re-ECN in Cellular Networks, section III-B",
        usage: r#"links.NAME.entry = [{ kind = "enodeb-uplink" }]"#,
        file: "stage/enodeb_uplink.rs",
        text: include_str!("enodeb_uplink.rs"),
    };

    const WRITES_HEADER: bool = true;

    const TAKES_REPORTS: bool = true;

    const HAS_LEVELS: bool = true;

    fn new(params: EnodebUplinkParams) -> Self {
        EnodebUplink(PdnGateway::new(params.turned_round()))
    }

    fn misfit(params: &EnodebUplinkParams, packet: Bytes) -> Option<Mistake> {
        PdnGateway::misfit(&params.turned_round(), packet)
    }

    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
        self.0.pass(packet, draw)
    }

    fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
        self.0.cross(packet, draw)
    }

    fn take(&mut self, report: &Report) {
        self.0.take(report);
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        self.0.counts(each);
    }

    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.0.levels(user, now, each);
    }
}
