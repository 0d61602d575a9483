//! The choice of a mechanism that declares its own parameters.

use serde_json::Value as Json;
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::parameters::{Choice, Kind, Offer, ParameterType, Parameters, Tables};
use tidegate_mechanisms::stage::StageParams;

use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::given::GivenChoice;
use crate::parameter::{kind_schema, offer_schema, read_value, write_chosen};
use crate::rows::{write_row, write_tables};
use crate::schema::Definitions;

/// A mechanism with its parameters: a name, or a table whose `kind` says which other keys it has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chosen<C>(pub C);

impl<C: Choice> Field for Chosen<C> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let offer = Offer::of::<C>();
        let given = GivenChoice::read(&offer, node, reader)?;
        let values = given.values(&offer, reader)?;
        Some(Chosen(C::from_values(given.place, values)))
    }

    fn write(&self) -> Value {
        let (place, values) = self.0.to_values();
        write_chosen(&Offer::of::<C>(), place, values)
    }

    fn schema(definitions: &mut Definitions) -> Json {
        offer_schema(&Offer::of::<C>(), definitions)
    }
}

/// Mechanisms in a row, in the order in which packets pass them.
impl<C: Choice> Field for Vec<C> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        read_value(Self::KIND, node, reader).map(Self::from_value)
    }

    fn write(&self) -> Value {
        write_row(&Offer::of::<C>(), self.iter().map(C::to_value).collect())
    }

    fn schema(definitions: &mut Definitions) -> Json {
        kind_schema(Self::KIND, definitions)
    }
}

/// A list of tables that all have the same keys.
impl<P: Parameters> Field for Tables<P> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        read_value(Self::KIND, node, reader).map(Self::from_value)
    }

    fn write(&self) -> Value {
        let Kind::Tables(form) = Self::KIND else { unreachable!("a list of tables") };
        write_tables(&form, self.0.iter().map(P::to_values).collect())
    }

    fn schema(definitions: &mut Definitions) -> Json {
        kind_schema(Self::KIND, definitions)
    }
}

impl<C: Choice> Chosen<C> {
    /// What is chosen.
    pub fn name(&self) -> &'static str {
        C::KINDS[self.0.to_values().0].0
    }
}

/// Where the mechanism belongs that somebody has given here, as FQ-CoDel for an AQM.
pub(crate) fn stands_elsewhere(node: &Node, here: &Offer) -> Option<String> {
    let named = match &node.value {
        Value::Table(table) => &table.get("kind")?.value,
        name => name,
    };
    let Value::Text(given) = named else { return None };
    // None of their names is much longer.
    if given.len() > 64 || here.kinds.iter().any(|kind| letters(kind.0) == letters(given)) {
        return None;
    }
    let rooms = [
        ("aqm", "an aqm", AqmParams::KINDS),
        ("differentiation", "a differentiation", DifferentiationParams::KINDS),
        ("scheduler", "a scheduler", SchedulerParams::KINDS),
        ("ingress", "a stage", StageParams::KINDS),
    ];
    rooms.iter().find_map(|(key, what, kinds)| {
        let (name, _, _) = kinds.iter().find(|kind| letters(kind.0) == letters(given))?;
        let table = format!("{{ kind = \"{name}\" }}");
        let value = if *key == "ingress" { format!("[{table}]") } else { table };
        Some(format!("\"{given}\" is {what}; write {key} = {value}"))
    })
}

/// A name as people remember it: fq_codel, FQ-CoDel and fqcodel are one.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
