//! PDN gateway, uplink: the end of the tunnels that begin at eNodeBs, which reports the congestion of their packets to
//! the eNodeBs.
//!
//! Y. Zhang, I. Johansson, H. Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its Applicability
//! in Cellular Networks", ITC 23, 2011, section III-B: "a similar setup can be done for upload scenarios". The
//! counterpart of the [eNodeB](enodeb.md) for uploads: it counts marked and missing packets, decapsulates by the same
//! rules, and reports to the [eNodeB](enodeb-uplink.md) at which their tunnel began. It has no radio. A moving user has
//! a tunnel from each eNodeB so far, each with its own counters.
//!
//! ```text
//! with each packet:   received + 1;   marked_before + 1 where inner or outer ECN is CE
//!                     dropped_before = numbers up to the latest − received
//!                     ECN ← by the rules, from inner and outer;   L ← L − 40 or 44 B
//! if t − t_report ≥ interval:   a report of the last number and the counters leaves
//! ```

use super::enodeb::{Enodeb, EnodebParams};
use super::enodeb_uplink::Teids;
use super::tunnel::EcnRules;
use super::{Capabilities, Crossing, EnodebUplink, Passage, Passing, Stage, TunnelEnd};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::{ParameterError, Parameters};
use crate::units::{Probability, Span, Whole};

parameters! {
    /// Ends the uplink tunnels of UEs, and reports the congestion of their packets to their eNodeBs.
    pub struct PdnGatewayUplinkParams {
        /// Minimum time between two reports on a tunnel: at least a round trip.
        pub interval: Span = "100 ms",
        /// Rules for the two ECN fields at decapsulation; as at the eNodeB.
        pub ecn_rules: EcnRules = "re-ecn",
    }
    check PdnGatewayUplinkParams::errors;
}

impl PdnGatewayUplinkParams {
    /// Returns the parameters with the defaults.
    pub const fn plain(ecn_rules: EcnRules) -> Self {
        PdnGatewayUplinkParams { interval: Span::from_millis(100), ecn_rules }
    }

    fn errors(&self) -> Vec<ParameterError> {
        Parameters::errors(&self.as_downlink())
    }

    /// Returns the same parameters for the end of a downlink tunnel.
    fn as_downlink(&self) -> EnodebParams {
        let PdnGatewayUplinkParams { interval, ecn_rules } = *self;
        let (radio_loss, radio_attempts) = (Probability(0.0), Whole(1));
        EnodebParams { interval, ecn_rules, radio_loss, radio_attempts }
    }
}

/// State of one gateway.
#[derive(Clone, Debug)]
pub struct PdnGatewayUplink(Enodeb);

impl Stage for PdnGatewayUplink {
    type Params = PdnGatewayUplinkParams;

    const ABOUT: About = About {
        name: "pdn-gateway-uplink",
        title: "PDN gateway, uplink",
        source: "Zhang et al., Metering Re-ECN in Cellular Networks, section III-B",
        usage: r#"links.NAME.egress = [{ kind = "pdn-gateway-uplink" }]"#,
        file: "stage/pdn_gateway_uplink.rs",
        text: crate::mechanism::source_text!("pdn_gateway_uplink.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities {
        writes_header: true,
        reports_to: Some(EnodebUplink::ABOUT.name),
        ..Capabilities::NONE
    };

    fn new(params: PdnGatewayUplinkParams) -> Self {
        PdnGatewayUplink(Enodeb::new(params.as_downlink()))
    }

    fn init(&mut self, _place: u32, count: &dyn Fn(&str) -> u32) {
        self.0.ends(Teids { place: 0, of: count(EnodebUplink::ABOUT.name).max(1) });
    }

    fn tunnel_end(params: &PdnGatewayUplinkParams) -> Option<TunnelEnd> {
        Some(TunnelEnd::reporting(true, params.ecn_rules, params.interval))
    }

    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
        self.0.pass(packet, draw)
    }

    #[inline(always)]
    fn cross(&mut self, packet: &mut Crossing, draw: impl FnMut() -> f64) -> Passage {
        self.0.cross(packet, draw)
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        self.0.counts(each);
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }
}
