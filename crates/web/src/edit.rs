//! A scenario's text with another value at one key. Comments, order and spaces stay as they are.

use toml_edit::{DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

/// Sets `key`, a dotted path, to `value`, or removes it. The value is TOML, or a text without its quotes. Tables on the path
/// that are missing are added; a mechanism that stands as a word becomes a table of that kind.
pub fn edit(text: &str, key: &str, value: Option<&str>) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|_| "the text is no TOML".to_owned())?;
    let path = Key::parse(key).map_err(|_| format!("{key}: no key"))?;
    let (last, above) = path.split_last().ok_or_else(|| format!("{key}: no key"))?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in above {
        table = inside(table, part.get()).ok_or_else(|| format!("{key}: no table"))?;
    }
    match value {
        None => {
            table.remove(last.get());
        }
        Some(value) => put(table, last.get(), read(value)),
    }
    Ok(document.to_string())
}

fn read(value: &str) -> Value {
    value.parse().unwrap_or_else(|_| Value::from(value))
}

/// The table at a key.
fn inside<'a>(table: &'a mut dyn TableLike, key: &str) -> Option<&'a mut dyn TableLike> {
    let kind = table.get(key).and_then(Item::as_str).map(str::to_owned);
    if let Some(kind) = kind {
        let mut spelled_out = InlineTable::new();
        spelled_out.insert("kind", kind.into());
        put(table, key, spelled_out.into());
    } else if table.get(key).is_none() {
        let inline = table.get_values().len() == table.iter().count() && !table.is_empty();
        let new =
            if inline { Item::Value(InlineTable::new().into()) } else { Item::Table(Table::new()) };
        table.insert(key, new);
    }
    table.get_mut(key)?.as_table_like_mut()
}

/// What stands around the value, such as a comment, stays.
fn put(table: &mut dyn TableLike, key: &str, mut value: Value) {
    if let Some(Item::Value(old)) = table.get_mut(key) {
        *value.decor_mut() = old.decor().clone();
        *old = value;
        return;
    }
    table.insert(key, Item::Value(value));
    table.fmt_inline();
}

/// A value that is added to an inline table stands as the others do.
trait FormatInline {
    fn fmt_inline(&mut self);
}

impl FormatInline for dyn TableLike + '_ {
    fn fmt_inline(&mut self) {
        // The block form keeps its comments, which formatting would lose.
        let only_values = self.iter().all(|(_, item)| item.is_value());
        if only_values && self.get_values().iter().all(|(_, value)| !has_comment(value)) {
            self.fmt();
        }
    }
}

fn has_comment(value: &Value) -> bool {
    let decor = value.decor();
    [decor.prefix(), decor.suffix()]
        .into_iter()
        .flatten()
        .any(|raw| raw.as_str().is_some_and(|text| text.contains('#')))
}
