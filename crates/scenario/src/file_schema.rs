//! JSON Schema of scenario files, composed from the declarations in [`crate::file`].

use serde_json::{Value as Json, json};

use crate::field::Section;
use crate::file::File;
use crate::schema::{Definitions, object};

/// Returns the schema of a whole file, in JSON Schema draft 2020-12.
pub fn schema() -> Json {
    let mut definitions = Definitions::default();
    let (properties, required) = File::properties(&mut definitions);
    let mut schema = object(File::DOC, properties, required);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "tidegate scenario, version 1".into();
    schema["$defs"] = definitions.all();
    // Exactly one topology; the parser reports that with its own message.
    schema["oneOf"] = json!([
        { "required": ["bottleneck"] },
        { "required": ["parking_lot"] },
        { "required": ["mobile"] },
        { "required": ["links"] },
    ]);
    schema
}
