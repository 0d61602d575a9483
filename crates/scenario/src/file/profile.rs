//! The profiles, which set options together.

use serde_json::Value as Json;
use tidegate_mechanisms::parameters::ParameterType;
use tidegate_mechanisms::words;

use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::parameter::{kind_schema, read_value};
use crate::schema::Definitions;

words! {
    /// A set of TCP options.
    pub enum Profile {
        /// Today's Linux kernel.
        Linux = "linux",
        /// A plain research TCP, close to ns-2's.
        Classic = "classic",
        /// The kernel of 2009, which many papers used; written by its source, and not compared with it in runs.
        Linux2629 = "linux-2.6.29",
    }
}

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
