//! Stages: what stands on a packet's way and is no queue.

use serde_json::{Value as Json, json};
use tidegate_mechanisms::stage::StageParams;

use crate::chosen::Chosen;
use crate::document::{Node, Value};
use crate::field::{Field, Reader};
use crate::schema::Definitions;
use crate::value::read_list;

/// Stages in a row, in the order in which packets pass them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stages(pub Vec<Chosen<StageParams>>);

/// So many may stand in one place.
const MOST: usize = 16;

impl Stages {
    /// Their parameters.
    pub fn params(&self) -> Vec<StageParams> {
        self.0.iter().map(|stage| stage.0.clone()).collect()
    }
}

impl Field for Stages {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Value::Array(items) = &node.value else {
            let kind = node.value.kind();
            let message = format!("expected a list of stages, [{{ kind = \"...\" }}], not {kind}");
            return reader.wrong(message);
        };
        if items.len() > MOST {
            return reader.wrong(format!("{} stages in one place; at most {MOST}", items.len()));
        }
        read_list(items, reader).map(Stages)
    }

    fn write(&self) -> Value {
        Value::Array(self.0.iter().map(|stage| stage.write().into()).collect())
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "array", "items": Chosen::<StageParams>::schema(definitions) })
    }
}
