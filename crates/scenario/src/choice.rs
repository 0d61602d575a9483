//! Fields that choose a mechanism with its own parameters.

use serde_json::Value as Json;
use tidegate_mechanisms::parameters::{
    Alternatives, Choice, Kind, ParameterType, Parameters, Tables,
};

use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::parameter::{ChoiceOverlay, read_value, write_choice, write_list, write_tables};
use crate::parameter_schema::{kind_schema, offer_schema};
use crate::schema::Definitions;

/// A mechanism with its parameters: a name, or a table whose `kind` selects the other keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChoiceField<C>(pub C);

impl<C: Choice> Field for ChoiceField<C> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let offer = Alternatives::of::<C>();
        let choice = ChoiceOverlay::read(&offer, node, reader)?;
        let values = choice.values(&offer, reader)?;
        Some(ChoiceField(C::from_values(choice.place, values)))
    }

    fn write(&self) -> Value {
        let (place, values) = self.0.to_values();
        write_choice(&Alternatives::of::<C>(), place, values)
    }

    fn schema(definitions: &mut Definitions) -> Json {
        offer_schema(&Alternatives::of::<C>(), definitions)
    }
}

/// A list of mechanisms, in the order of a packet's path.
impl<C: Choice> Field for Vec<C> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        read_value(Self::KIND, node, reader).map(Self::from_value)
    }

    fn write(&self) -> Value {
        write_list(&Alternatives::of::<C>(), self.iter().map(C::to_value).collect())
    }

    fn schema(definitions: &mut Definitions) -> Json {
        kind_schema(Self::KIND, definitions)
    }
}

/// A list of tables with the same keys.
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

impl<C: Choice> ChoiceField<C> {
    /// Returns the name of the chosen mechanism.
    pub fn name(&self) -> &'static str {
        C::KINDS[self.0.to_values().0].0
    }
}
