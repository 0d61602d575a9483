//! Sections of the scenario file. Doc comments are the descriptions in the JSON Schema.

mod delays;
mod link;
mod mobile;
mod profile;
mod stack;
mod user;

pub use delays::DelaysBy;
pub(crate) use link::*;
pub(crate) use mobile::*;
pub(crate) use stack::*;
pub use user::Spread;
pub(crate) use user::*;

pub(crate) use crate::profile::Profile;

use serde_json::{Value as Json, json};
use tidegate_mechanisms::parameters;
use tidegate_mechanisms::parameters::{ParameterValue as Parameter, Parameters};
use tidegate_mechanisms::units::{Bytes, Span, Whole};

use crate::declare::section;
use crate::document::{self, Node, Table, Value};
use crate::field::{Field, Reader};
use crate::parameter::Overlay;
use crate::plan::TcpPlan;
use crate::schema::Definitions;
use crate::table::Tabled;
use crate::typed_overlay::{OverlayOptions, TypedOverlay};
use crate::value::{HostJitter, Integer, Named, OrOff};
use crate::variants::Variants;

section! {
    /// A shared network, its users, and how long to watch them. Quantities are texts with a unit
    /// ("10 Mb/s", "5 ms", "1500 B", "50 packets"); b is bit, B is byte, k is 1000, Ki is 1024.
    pub struct File {
        /// Version of this format: 1.
        pub version: Integer<1, 1>,
        /// Short name. Default: the name of the file.
        pub name: Option<String>,
        /// Purpose of the scenario.
        pub description: Option<String>,
        /// Seed of the first replication; replication r runs with seed + r.
        pub seed: Integer<0, 1_000_000_000_000> = "1",
        /// Number of independent runs to average over.
        pub replications: Integer<1, 10_000> = "1",
        /// Sets all TCP options together, and those of queues in which Linux and simulators differ; other keys override
        /// them one by one. "linux" is compared with today's kernel, "classic" with ns-2; "linux-2.6.29" follows that
        /// kernel's source and was not compared with it in runs.
        pub profile: Profile = "linux",
        /// Simulated first and left out of all results.
        pub warm_up: Span = "5 s",
        /// Measured after the warm-up.
        pub duration: Span = "30 s",
        /// Instead of a duration: equal intervals that are also measured separately.
        pub intervals: Option<Intervals>,
        /// Step of the time series, or "off". Default: a round value not below 1/300 of the
        /// duration.
        pub sample_interval: Option<OrOff>,
        /// Number of flows per group, counted from the first, whose window, round-trip time and price are sampled.
        pub sampled_flows: Integer<1, 10_000> = "1",
        /// Number of users per group, counted from the first, whose bucket fills and audit balances are sampled.
        pub sampled_users: Integer<1, 10_000> = "1",
        /// Whose delays the table of delays has; each group, user or flow takes up to 70 kB of memory. Default: "group".
        pub delays_by: Option<DelaysBy>,
        /// Maximum time after the measurement until transfers without repetition are done.
        pub drain_limit: Span = "600 s",
        /// Each packet leaves its sender after a random delay of up to this much. "auto" is what hosts have
        /// with the profile linux, 50 us at most; with the others, as in research simulators, the transmission time of
        /// a full packet on the slowest link of its path, which keeps drop-tail queues from phase effects;
        /// "off" is none.
        pub host_jitter: HostJitter = "auto",
        /// Full packet on the wire, all headers included.
        pub packet_size: Bytes = "1500 B",
        /// TCP options of all users, where they differ from the profile.
        pub tcp: Option<Tcp>,
        /// Dumbbell: all users share this one link. One of bottleneck, parking_lot, mobile, links.
        pub bottleneck: Option<Bottleneck>,
        /// Encoding of prices from queues to sources, common to all. Queues with a price (aqm "pc1", "pc2", "pc3",
        /// "virtual-queue") need one.
        pub price_encoding: Option<PriceEncoding>,
        /// Link between each user and the network.
        pub access: Option<Access>,
        /// Link between the network and each user's far end. Without it the far end is
        /// right behind the network.
        pub receiver_access: Option<Access>,
        /// Parking lot: routers r0, r1, ... in a row, with a link from each to the next.
        pub parking_lot: Option<ParkingLot>,
        /// Mobile network: a PDN gateway, routers in a row, eNodeBs, and phones behind each.
        pub mobile: Option<Mobile>,
        /// Free topology: links between named nodes; packets take the path of least delay.
        pub links: Option<Named<Link>>,
        /// Groups of equal users.
        pub users: Named<User>,
        /// Only for `tidegate sweep`: dotted keys with the values to try, all combinations.
        pub sweep: Option<Sweep>,
        /// Variants to be compared: a table for each, with the keys that differ from the file.
        pub variants: Option<Variants>,
    }
}

/// Overlay of TCP options.
pub(crate) type Tcp = TypedOverlay<TcpPlan>;

impl OverlayOptions for TcpPlan {
    const NAME: &'static str = "Tcp";

    fn preset(set: &Overlay) -> Option<(Profile, Overlay)> {
        let Some(Parameter::Word(word)) = set.value(TcpPlan::ALL, "stack") else { return None };
        let &(_, profile, text) = STACKS.iter().find(|(stack, ..)| stack.word() == *word)?;
        let table = document::parse(text).expect("a unit test reads all of them");
        let options = Overlay::read(TcpPlan::ALL, &table, &mut Reader::following(profile));
        Some((profile, options))
    }
}

parameters! {
    /// Equal parts of the measurement, without gaps.
    pub struct Intervals {
        /// Number of intervals.
        pub count: Whole<1, 1000>,
        /// Length of each.
        pub length: Span,
    }
}

impl Tabled for Intervals {}

/// Keys with their values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep(pub Vec<(String, Vec<Value>)>);

impl Field for Sweep {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let read = |(key, node): &(String, Node)| match &node.value {
            Value::Array(items) if !items.is_empty() => {
                Some((key.clone(), items.iter().map(|item| item.value.clone()).collect()))
            }
            Value::Array(_) => reader.within(key, |r| r.error("the list of values is empty")),
            Value::Table(_) => {
                let message = format!("put the dotted key in quotes: \"{key}. ...\" = [...]");
                reader.within(key, |r| r.error(message))
            }
            _ => reader.within(key, |r| r.error("expected a list of values")),
        };
        let axes: Vec<Option<_>> = table.0.iter().map(read).collect();
        axes.into_iter().collect::<Option<Vec<_>>>().map(Sweep)
    }
    fn write(&self) -> Value {
        let list =
            |values: &Vec<Value>| Value::Array(values.iter().cloned().map(Node::from).collect());
        Table(self.0.iter().map(|(key, values)| (key.clone(), list(values).into())).collect())
            .into()
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({
            "type": "object",
            "additionalProperties": { "type": "array", "minItems": 1 },
        })
    }
}
