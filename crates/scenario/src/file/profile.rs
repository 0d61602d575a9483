//! The profile as a key of the file.

use serde_json::Value as Json;
use tidegate_mechanisms::parameters::ParameterType;

use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::parameter::read_value;
use crate::parameter_schema::kind_schema;
use crate::profile::Profile;
use crate::schema::Definitions;

impl Field for Profile {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        read_value(Profile::KIND, node, reader).map(Profile::from_value)
    }
    fn write(&self) -> Value {
        self.word().into()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        kind_schema(Profile::KIND, definitions)
    }
}
