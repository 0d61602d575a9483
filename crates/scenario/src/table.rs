//! Tables of the file that consist of parameters only.

use serde_json::{Map, Value as Json};
use tidegate_mechanisms::parameters::Parameters;

use crate::document::Table;
use crate::field::{Reader, Section};
use crate::parameter::{Overlay, write_values};
use crate::parameter_schema::properties;
use crate::schema::Definitions;

/// Parameters in a table of their own, or among the keys of another.
pub(crate) trait Tabled: Parameters {
    /// Name of the table in the schema.
    const NAME: &'static str = Self::TYPE_NAME;
}

impl<P: Tabled> Section for P {
    const NAME: &'static str = <P as Tabled>::NAME;
    const DOC: &'static str = P::ABOUT;

    fn keys() -> Vec<&'static str> {
        P::ALL.iter().map(|parameter| parameter.name).collect()
    }

    fn read_table(table: &Table, reader: &mut Reader) -> Option<Self> {
        let errors = |values| P::from_values(values).errors();
        let overlay = Overlay::read(P::ALL, table, reader);
        overlay.values(P::ALL, errors, reader).map(P::from_values)
    }

    fn write_table(&self) -> Table {
        write_values(P::ALL, self.to_values())
    }

    fn properties(definitions: &mut Definitions) -> (Map<String, Json>, Vec<Json>) {
        properties(P::ALL, definitions)
    }
}
