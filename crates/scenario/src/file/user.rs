//! Sections of users and their traffic.

use serde_json::{Value as Json, json};
use tidegate_mechanisms::dscp::Dscp;
use tidegate_mechanisms::ingress::ActivityMeterParams;
use tidegate_mechanisms::parameters::{ParameterType, Tables};
use tidegate_mechanisms::stage::StageParams;
use tidegate_mechanisms::units::{Bytes, Demand, Span, Step};
use tidegate_mechanisms::{parameters, words};

use super::{Access, Tcp};
use crate::choice::ChoiceField;
use crate::declare::section;
use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::parameter::read_value;
use crate::parameter_schema::kind_schema;
use crate::schema::Definitions;
use crate::table::Tabled;
use crate::traffic::{Traffic, Variation};
use crate::value::Count;

section! {
    /// A group of equal users.
    pub struct User {
        /// Number of users in the group.
        pub count: Count = "1",
        /// Flows of each user.
        pub flows: Count = "1",
        /// Node that the users send from. In a dumbbell "left", if not given.
        pub from: Option<String>,
        /// Node that the users send to. In a dumbbell "right", if not given.
        pub to: Option<String>,
        /// Moves of users to other nodes, such as [{ at = "20 s", to = "n2" }] for receivers or [{ at = "20 s", from =
        /// "n2" }] for senders. Their flows continue; packets in transit arrive where they were sent to.
        pub moves: Tables<Move> = "[]",
        /// Willingness to pay of each flow from given times on, in place of its congestion control's
        /// `willingness_to_pay`, such as [{ at = "20 s", willingness_to_pay = 400.0 }].
        pub offers: Tables<Offer> = "[]",
        /// Group at whose hosts these users are, the first at the first and so on: they are the same
        /// customers, with more or other traffic, such as downloads beside uploads. Each host has one
        /// access link, which data and ACKs of all its flows share in both directions, and one row of
        /// ingress stages, which see all that it sends. These users send from there, or receive there if
        /// `to` is where that group sends from. Default: each user has a host of its own.
        pub hosts: Option<String>,
        /// Traffic of each flow.
        pub traffic: ChoiceField<Traffic> = "greedy",
        /// Weight w of each user of the group where a scheduler shares by user, and of each flow where it shares by flow:
        /// `drr`, `fq-codel` and `cake` give shares in the ratio of weights. The share in ABC is the meter's
        /// `reference_rate`.
        pub weight: Step = "1",
        /// DiffServ codepoint of the packets that the sender of each flow sends, for schedulers with tins such as CAKE;
        /// those that its receiver sends have CS0. The lab has it in its own queues, and not in the kernel's.
        pub dscp: Dscp = "CS0",
        /// When each flow starts. Default: uniform over the first second, or over the warm-up if
        /// that is shorter.
        pub start: Option<Start>,
        /// When each flow stops: its application does nothing more, data that were not sent are discarded, and transfers in
        /// progress stay unfinished. Default: with its traffic, or at the end of the run.
        pub stop: Option<Start>,
        /// Round trip of each user over an empty path, or a distribution of round trips. It sets the delay of the access
        /// links, half of what the rest of the path leaves in each direction. Default: by `access.delay`.
        pub round_trip: Option<RoundTrip>,
        /// Activity meter in front of each user.
        pub meter: Option<ActivityMeterParams>,
        /// Stages where each user's packets enter the network, behind the access link, in this order; each
        /// user has its own. A meter comes before them.
        pub ingress: Vec<StageParams> = "[]",
        /// Stages where each user's packets leave the network, in front of the link at the far end if there is one.
        pub egress: Vec<StageParams> = "[]",
        /// The stages of `ingress` and `egress` exist once, for all users of the group together, such as a policer with one
        /// bucket for the group.
        pub shares_stages: bool = "false",
        /// Full packet on the wire, where it differs from the scenario's.
        pub packet_size: Option<Bytes>,
        /// TCP options, where they differ from the scenario's.
        pub tcp: Option<Tcp>,
        /// Access link, where it differs from the scenario's.
        pub access: Option<Access>,
        /// Link at the far end, where it differs from the scenario's.
        pub receiver_access: Option<Access>,
    }
}

parameters! {
    /// Move of users to another node, for receiving or sending.
    pub struct Move {
        /// Time after the start of the run, warm-up included.
        pub at: Span,
        /// New node at which they receive. Default: unchanged.
        pub to: Option<String>,
        /// New node from which they send. Default: unchanged.
        pub from: Option<String>,
    }
}

parameters! {
    /// Change of a flow's willingness to pay.
    pub struct Offer {
        /// Time after the start of the run, warm-up included.
        pub at: Span,
        /// w of the flow's congestion control.
        pub willingness_to_pay: Demand,
    }
}

impl Field for Dscp {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        read_value(Dscp::KIND, node, reader).map(Dscp::from_value)
    }
    fn write(&self) -> Value {
        self.word().into()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        kind_schema(Dscp::KIND, definitions)
    }
}

/// A meter's table needs no enclosing list of stages.
impl Tabled for ActivityMeterParams {
    const NAME: &'static str = "Meter";
}

/// Start or stop of flows: a time, or spread between two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Start {
    pub from: Span,
    pub to: Span,
    pub spread: Spread,
}

impl Start {
    /// Returns the same time for all flows.
    pub const fn at(at: Span) -> Self {
        Start { from: at, to: at, spread: Spread::Random }
    }
}

words! {
    /// How times are spread over a range.
    pub enum Spread {
        /// Uniformly at random, each flow by itself.
        Random = "random",
        /// At equal distances, in the order of the users and of their flows: a ramp, the first flow at its beginning.
        Even = "even",
    }
}

parameters! {
    /// Spread between two times.
    pub struct StartRange {
        /// Earliest time.
        pub from: Span,
        /// Latest time.
        pub to: Span,
        /// How the times of the flows are spread: at random, or evenly as a ramp.
        pub spread: Spread = "random",
    }
}

/// Round trips of the users of a group over an empty path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoundTrip {
    pub mean: Span,
    pub varies: Variation,
}

parameters! {
    /// Round trips of the users of a group, from a distribution. User number n has the quantile at the fractional part of
    /// 1/2 + 0.618 n (the golden ratio): any number of consecutive users covers the distribution evenly, and a user keeps
    /// theirs when others are added.
    pub struct RoundTripSpread {
        /// Mean round trip.
        pub mean: Span,
        /// How round trips vary around it.
        pub varies: Variation,
    }
}

impl Tabled for RoundTripSpread {}

impl RoundTrip {
    /// Returns the round trip of a user, by its position in the group.
    pub fn of_user(&self, number: usize) -> Span {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let place = 0.5 + GOLDEN * number as f64;
        self.varies.time(self.mean, || place - libm::floor(place))
    }
}

impl Field for RoundTrip {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Value::Table(_) = node.value {
            let RoundTripSpread { mean, varies } = RoundTripSpread::read(node, reader)?;
            return Some(RoundTrip { mean, varies });
        }
        let varies = Variation::Fixed;
        Span::read(node, reader).map(|mean| RoundTrip { mean, varies })
    }
    fn write(&self) -> Value {
        match &self.varies {
            Variation::Fixed => self.mean.write(),
            varies => RoundTripSpread { mean: self.mean, varies: varies.clone() }.write(),
        }
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [Span::schema(definitions), RoundTripSpread::schema(definitions)] })
    }
}

impl Tabled for StartRange {}

impl User {
    /// Returns ingress and egress after each of their moves, with the time.
    pub(crate) fn walk<'a>(&'a self) -> Vec<(Span, &'a str, &'a str)> {
        let (mut from, mut to) = self.ends();
        let step = |step: &'a Move| {
            from = step.from.as_deref().unwrap_or(from);
            to = step.to.as_deref().unwrap_or(to);
            (step.at, from, to)
        };
        self.moves.0.iter().map(step).collect()
    }
}

impl Field for Start {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Value::Table(_) = node.value {
            let StartRange { from, to, spread } = StartRange::read(node, reader)?;
            if from > to {
                reader.error_at("to", "is before from");
            }
            return Some(Start { from, to, spread });
        }
        Span::read(node, reader).map(Start::at)
    }
    fn write(&self) -> Value {
        match self.from == self.to {
            true => self.from.write(),
            false => StartRange { from: self.from, to: self.to, spread: self.spread }.write(),
        }
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [Span::schema(definitions), StartRange::schema(definitions)] })
    }
}
