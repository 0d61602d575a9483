//! eNodeB, uplink: the beginning of the tunnels from UEs to the PDN gateway, which polices users by the gateway's
//! reports.
//!
//! Y. Zhang, I. Johansson, H. Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its Applicability
//! in Cellular Networks", ITC 23, 2011, section III-B: "a similar setup can be done for upload scenarios". The loop of
//! the [PDN gateway](pdn-gateway.md) in the opposite direction: packets enter the network here, so that they are
//! policed, numbered and encapsulated here, and their congestion is reported by the [other end](pdn-gateway-uplink.md).
//!
//! ```text
//! phone ─► radio ─► eNodeB: police, number, re-insert ─► marks, drops ─► PDN gateway: count, take out ─► server
//!                      ▲                                                        │
//!                      └───────────────────────── report ◄──────────────────────┘
//! ```
//!
//! A moving user is in a tunnel of one eNodeB after the other. The k-th of n eNodeBs has the tunnels with the numbers
//! `k + 1`, `k + 1 + n`, `k + 1 + 2n` and so on, as if assigned by the gateway, which distinguishes them. The user's
//! buckets and its debt move from eNodeB to eNodeB (RFC 7778, section 4): they are where its last packet was. A report
//! on an earlier tunnel is delivered to that tunnel's beginning, which forwards its contents. With `handover` = "anew"
//! the user begins with a full bucket at each eNodeB, as if eNodeBs did not communicate.

use super::pdn_gateway::{ConexOption, Handover, PdnGateway, PdnGatewayParams, Radio};
use super::re_ecn_policer::ReEcnPolicerParams;
use super::tunnel::EcnRules;
use super::{
    Capabilities, Crossing, Passage, Passing, Report, Stage, TunnelEnd, TunnelReport, UserState,
};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, Parameters, Tables};
use crate::units::{Bytes, Time};

parameters! {
    /// Begins a tunnel to the PDN gateway for each user's packets, and polices by the gateway's reports.
    pub struct EnodebUplinkParams {
        /// Policers that packets pass in order: by flow, by user, or for all together. Empty: only a tunnel.
        pub policers: Tables<ReEcnPolicerParams> = "[]",
        /// Rules for the outer ECN field; as at the gateway.
        pub ecn_rules: EcnRules = "re-ecn",
        /// Buckets of a user that moves to another eNodeB.
        pub handover: Handover = "keep",
        /// Re-insert reported congestion into the tunnel's header, which takes 4 B of every packet.
        pub re_inserts: bool = "true",
        /// Copy of an inner ConEx option in the tunnel's header; as at the gateway.
        pub conex_option: ConexOption = "inner",
        /// Largest packet on the path to the gateway.
        pub mtu: Bytes = "1600 B",
    }
    check EnodebUplinkParams::errors;
}

impl EnodebUplinkParams {
    fn errors(&self) -> Vec<ParameterError> {
        Parameters::errors(&self.as_downlink())
    }

    /// Returns the same parameters for the beginning of a downlink tunnel.
    fn as_downlink(&self) -> PdnGatewayParams {
        PdnGatewayParams {
            policers: self.policers.clone(),
            ecn_rules: self.ecn_rules,
            radio: Radio::Apart,
            // All its tunnels lead to the gateway.
            handover: Handover::Keep,
            re_inserts: self.re_inserts,
            conex_option: self.conex_option,
            mtu: self.mtu,
        }
    }

    /// Returns a tunnel without policers, with the defaults.
    pub const fn plain(ecn_rules: EcnRules) -> Self {
        EnodebUplinkParams {
            policers: Tables(Vec::new()),
            ecn_rules,
            handover: Handover::Keep,
            re_inserts: true,
            conex_option: ConexOption::Inner,
            mtu: Bytes::new(1600),
        }
    }
}

/// State of one eNodeB.
#[derive(Clone, Debug)]
pub struct EnodebUplink {
    /// Tunnels, numbered locally from 1 on.
    own: PdnGateway,
    teids: Teids,
}

/// Assignment of tunnel numbers to eNodeBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Teids {
    /// Index of this eNodeB, from 0.
    pub place: u32,
    /// Number of eNodeBs.
    pub of: u32,
}

impl Teids {
    /// Assignment for a single eNodeB.
    pub const ALONE: Teids = Teids { place: 0, of: 1 };

    /// Returns the number of a tunnel in the network from its local number.
    const fn outside(self, own: u32) -> u32 {
        (own - 1) * self.of + self.place + 1
    }

    /// Returns the local number of a tunnel; `None` for tunnels of other eNodeBs.
    const fn own(self, outside: u32) -> Option<u32> {
        match outside.checked_sub(1) {
            Some(number) if number % self.of == self.place => Some(number / self.of + 1),
            _ => None,
        }
    }

    /// Returns the index of the eNodeB at which a tunnel begins.
    pub const fn beginning(self, outside: u32) -> u32 {
        outside.wrapping_sub(1) % self.of
    }
}

impl Stage for EnodebUplink {
    type Params = EnodebUplinkParams;

    const ABOUT: About = About {
        name: "enodeb-uplink",
        title: "eNodeB, uplink",
        source: "Zhang et al., Metering Re-ECN in Cellular Networks, section III-B",
        usage: r#"links.NAME.ingress = [{ kind = "enodeb-uplink" }]"#,
        file: "stage/enodeb_uplink.rs",
        text: crate::mechanism::source_text!("enodeb_uplink.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities {
        writes_header: true,
        takes_reports: true,
        has_levels: true,
        ..Capabilities::NONE
    };

    fn new(params: EnodebUplinkParams) -> Self {
        EnodebUplink { own: PdnGateway::new(params.as_downlink()), teids: Teids::ALONE }
    }

    fn init(&mut self, place: u32, count: &dyn Fn(&str) -> u32) {
        self.teids = Teids { place, of: count(Self::ABOUT.name) };
    }

    fn validate(params: &EnodebUplinkParams, packet: Bytes) -> Option<ParameterError> {
        PdnGateway::validate(&params.as_downlink(), packet)
    }

    fn tunnel_end(params: &EnodebUplinkParams) -> Option<TunnelEnd> {
        let own = PdnGateway::tunnel_end(&params.as_downlink());
        own.map(|own| TunnelEnd { up: true, ..own })
    }

    fn hands_over(params: &EnodebUplinkParams) -> bool {
        params.handover == Handover::Keep
    }

    fn export_user(&mut self, user: u32, owns: &dyn Fn(u32) -> bool) -> UserState {
        self.own.export_user(user, owns)
    }

    fn import_user(&mut self, user: u32, user_state: UserState) {
        self.own.import_user(user, user_state);
    }

    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
        packet.cross(|crossing| self.cross(crossing, draw))
    }

    #[inline(always)]
    fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
        let was_in_one = packet.tunnel.is_some();
        let passage = self.own.cross(packet, draw);
        if let Some(tunnel) = packet.tunnel.as_mut().filter(|_| !was_in_one) {
            tunnel.teid = self.teids.outside(tunnel.teid);
        }
        passage
    }

    fn take(&mut self, report: &Report) {
        let Some(reported) = report.tunnel.as_deref() else { return };
        // No tunnel has the number 0.
        let teid = self.teids.own(reported.teid).unwrap_or(0);
        let tunnel = Some(Box::new(TunnelReport { teid, ..reported.clone() }));
        self.own.take(&Report { tunnel, ..report.clone() });
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        self.own.counts(each);
    }

    fn state_bytes(&self) -> usize {
        self.own.state_bytes()
    }

    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        self.own.levels(user, now, each);
    }
}

#[cfg(test)]
#[path = "enodeb_uplink_tests.rs"]
mod tests;
