//! Section of a mobile network.

use tidegate_mechanisms::impairment::{JitterParams, Loss};
use tidegate_mechanisms::parameters;
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, QueueLength, Rate, Span};

use crate::declare::{Flatten, section};
use crate::plan::{Line, LinkDelay, LinkMechanisms, LinkPlan, LinkRate, ReverseLine};
use crate::table::Tabled;
use crate::value::Integer;

section! {
    /// A mobile network in the shape of figure 4 of "Metering Re-ECN" (Zhang et al. 2011): PDN gateway G1, routers R4,
    /// R3, R2 and R1, eNodeBs N1, N2, ..., and phones at phones1 behind N1, phones2 behind N2, and so on. The link
    /// from R3 to R2 is the bottleneck, whose keys are here; the serving gateway is at R1.
    pub struct Mobile {
        /// Number of eNodeBs.
        pub enodebs: Integer<1, 1000> = "3",
        pub line: Flatten<Line>,
        pub mechanisms: Flatten<LinkMechanisms>,
        pub reverse: Flatten<ReverseLine>,
        /// An equal link leads back from R2 to R3, which can carry data.
        pub duplex: bool = "false",
        /// All other links between G1 and the eNodeBs, in both directions.
        pub wired: Option<Wired>,
        /// Between each eNodeB and its phones, in both directions.
        pub radio: Option<Radio>,
        /// Stages at G1, in front of the link to R4, for downlink packets.
        pub gateway: Vec<StageParams> = "[]",
        /// Stages at R1, behind the link from R2, for downlink packets.
        pub serving_gateway: Vec<StageParams> = "[]",
        /// Stages at each eNodeB, behind the link from R1, for downlink packets; each has its own.
        pub enodeb: Vec<StageParams> = "[]",
        /// Stages at each eNodeB, in front of the link to R1, for uplink packets.
        pub enodeb_up: Vec<StageParams> = "[]",
        /// Stages at G1, behind the link from R4, for uplink packets.
        pub gateway_up: Vec<StageParams> = "[]",
    }
}

parameters! {
    /// A link between the nodes of a mobile network; the defaults are the paper's.
    pub struct Wired {
        /// Bits on the wire per second.
        pub rate: Rate = "100 Mb/s",
        /// One-way propagation delay.
        pub delay: Span = "20 ms",
        /// Room for waiting packets, the one in transmission included.
        pub buffer: QueueLength = "100 packets",
    }
}

parameters! {
    /// A link between an eNodeB and its phones; the defaults are the paper's.
    pub struct Radio {
        /// Bits over the air per second, or { trace = "FILE" }.
        pub rate: LinkRate = "100 Mb/s",
        /// One-way propagation delay, or { trace = "FILE" }.
        pub delay: LinkDelay = "200 ms",
        /// Rate from phones to the eNodeB. Default: that of the other direction.
        pub reverse_rate: Option<LinkRate>,
        /// Delay from phones to the eNodeB. Default: that of the other direction.
        pub reverse_delay: Option<LinkDelay>,
        /// Room for waiting packets, the one in transmission included.
        pub buffer: QueueLength = "100 packets",
        /// Which packets are lost over the air: a probability, or a model such as
        /// { kind = "gilbert-elliott", p = 0.01, r = 0.25 }.
        pub loss: Loss = "0.0",
        /// Delays over the air that differ from packet to packet, such as { kind = "normal", spread = "3 ms" }.
        pub jitter: Option<JitterParams>,
    }
}

impl Tabled for Wired {}

impl Tabled for Radio {}

/// Two adjacent nodes of a mobile network, and the links between them.
pub(crate) struct Between {
    /// Node nearer to the gateway.
    pub above: String,
    /// Node further from the gateway.
    pub below: String,
    pub down: LinkPlan,
    pub up: LinkPlan,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ingress,
    Egress,
}

impl Mobile {
    /// Returns its links without the bottleneck, from the gateway downwards.
    pub fn links(&self, packet: Bytes, prices: Option<Encoding>) -> Vec<Between> {
        let Wired { rate, delay, buffer } = self.wired();
        let wired = |above: &str, below: &str| {
            let link = |from: &str, to: &str| {
                let name = format!("{from}-{to}").to_lowercase();
                LinkPlan::plain(name, rate, delay, buffer, packet)
            };
            Between {
                above: above.to_owned(),
                below: below.to_owned(),
                down: link(above, below),
                up: link(below, above),
            }
        };
        let Radio { rate, delay, reverse_rate, reverse_delay, buffer, loss, jitter } = self.radio();
        let cell = |number: usize| {
            let (loss, jitter) = (loss.clone(), jitter.clone());
            let lossy = LinkMechanisms { loss, jitter, ..LinkMechanisms::none() };
            let link = |name: String, rate: &LinkRate, delay: &LinkDelay| {
                let plain = LinkPlan::on_line(name, rate, delay, buffer, packet);
                plain.with(lossy.clone(), prices).watched(false)
            };
            let (above, below) = (format!("N{number}"), format!("phones{number}"));
            let down = format!("cell{number}");
            let (up_rate, up_delay) =
                (reverse_rate.as_ref().unwrap_or(&rate), reverse_delay.as_ref().unwrap_or(&delay));
            let up = link(format!("{down}.reverse"), up_rate, up_delay);
            Between { above, below, up, down: link(down, &rate, &delay) }
        };
        let upper = [("G1", "R4"), ("R4", "R3"), ("R2", "R1")];
        let mut all: Vec<Between> = upper.map(|(above, below)| wired(above, below)).into();
        for number in 1..=self.enodebs.count() {
            all.extend([wired("R1", &format!("N{number}")), cell(number)]);
        }
        for Between { down, up, .. } in &mut all {
            for link in [down, up] {
                *link = self.with_stages(link, prices);
            }
        }
        all
    }

    /// Returns the link with the stages at its ends.
    fn with_stages(&self, link: &LinkPlan, prices: Option<Encoding>) -> LinkPlan {
        let at =
            |side| Self::key_at(link.name.as_str(), side).map(|key| self.stages_of(key).to_vec());
        let [ingress, egress] =
            [Side::Ingress, Side::Egress].map(|side| at(side).unwrap_or_default());
        let declared = LinkMechanisms { ingress, egress, ..link.declared.clone() };
        // The carried traffic determines the utilization only if the rate is constant.
        link.clone().with(declared, prices).watched(link.changes_rate())
    }

    /// Keys of its stages besides the bottleneck's.
    pub const STAGES: [&'static str; 5] =
        ["gateway", "serving_gateway", "enodeb", "enodeb_up", "gateway_up"];

    /// Returns the stages of a key.
    pub fn stages_of(&self, key: &str) -> &[StageParams] {
        match key {
            "gateway" => &self.gateway,
            "serving_gateway" => &self.serving_gateway,
            "enodeb" => &self.enodeb,
            "enodeb_up" => &self.enodeb_up,
            _ => &self.gateway_up,
        }
    }

    /// Returns the key of the stages at an end of a link; `None` where there are none, and at the bottleneck.
    pub fn key_at(link: &str, side: Side) -> Option<&'static str> {
        match (link, side) {
            ("g1-r4", Side::Ingress) => Some("gateway"),
            ("r2-r1", Side::Egress) => Some("serving_gateway"),
            ("r4-g1", Side::Egress) => Some("gateway_up"),
            (_, Side::Egress) if link.starts_with("r1-n") => Some("enodeb"),
            (_, Side::Ingress) if link.starts_with('n') => Some("enodeb_up"),
            _ => None,
        }
    }

    /// Returns its wired links, by default with the paper's values.
    pub fn wired(&self) -> Wired {
        let paper = Wired { rate: WIRE, delay: Span::from_millis(20), buffer: BUFFER };
        self.wired.clone().unwrap_or(paper)
    }

    /// Returns its radio links, by default with the paper's values.
    pub fn radio(&self) -> Radio {
        let delay = Span::from_millis(200);
        self.radio.clone().unwrap_or(Radio {
            rate: LinkRate::Constant(WIRE),
            delay: LinkDelay::Constant(delay),
            reverse_rate: None,
            reverse_delay: None,
            buffer: BUFFER,
            loss: Loss::NONE,
            jitter: None,
        })
    }
}

const WIRE: Rate = Rate::mbps(100);
const BUFFER: QueueLength = QueueLength::Packets(100);
