//! Whose delays are measured, as a key of the file.

use serde_json::Value as Json;
use tidegate_mechanisms::parameters::ParameterType;
use tidegate_mechanisms::words;

use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::parameter::read_value;
use crate::parameter_schema::kind_schema;
use crate::schema::Definitions;

words! {
    /// Whose one-way and queueing delays are measured.
    pub enum DelaysBy {
        /// Each group's.
        Group = "group",
        /// Each group's and each user's.
        User = "user",
        /// Each group's and each flow's.
        Flow = "flow",
    }
}

impl Field for DelaysBy {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        read_value(DelaysBy::KIND, node, reader).map(DelaysBy::from_value)
    }
    fn write(&self) -> Value {
        self.word().into()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        kind_schema(DelaysBy::KIND, definitions)
    }
}
