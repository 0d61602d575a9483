//! Writes a document: plain values first, then a section per table, deeper tables in one line.

use std::fmt::Write;

use toml_writer::{ToTomlKey, ToTomlValue, TomlStringBuilder};

use crate::document::{Node, Table, Value};

/// Returns the document as TOML.
pub(crate) fn write(root: &Table) -> String {
    let mut text = String::new();
    write_plain(root, &mut text);
    for (key, node) in &root.0 {
        if let Value::Table(table) = &node.value {
            write_section(std::slice::from_ref(key), table, &mut text);
        }
    }
    text
}

/// Writes entries that are no tables.
fn write_plain(table: &Table, text: &mut String) {
    for (key, node) in table.0.iter().filter(|(_, node)| !matches!(node.value, Value::Table(_))) {
        line(key, &node.value, text);
    }
}

fn line(key: &str, value: &Value, text: &mut String) {
    writeln!(text, "{} = {}", key.to_toml_key(), inline(value)).expect("strings take everything");
}

/// Writes a section; tables of tables with names defined by the file (users, links, variants) get a section for each.
fn write_section(path: &[String], table: &Table, text: &mut String) {
    let is_map = ["users", "links", "variants"].contains(&path[0].as_str()) && path.len() == 1;
    if is_map {
        for (name, node) in &table.0 {
            if let Value::Table(inner) = &node.value {
                write_section(&[path[0].clone(), name.clone()], inner, text);
            }
        }
        return;
    }
    writeln!(text, "\n[{}]", dotted(path)).expect("strings take everything");
    for (key, node) in &table.0 {
        line(key, &node.value, text);
    }
}

/// Returns a value in one line.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_toml_value(),
        Value::Integer(n) => n.to_toml_value(),
        Value::Float(x) => x.to_toml_value(),
        Value::Text(text) => TomlStringBuilder::new(text).as_basic().to_toml_value(),
        Value::Other(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| inline(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(Table(entries)) if entries.is_empty() => "{}".to_owned(),
        Value::Table(Table(entries)) => {
            let entry = |(key, node): &(String, Node)| {
                format!("{} = {}", key.to_toml_key(), inline(&node.value))
            };
            let entries: Vec<_> = entries.iter().map(entry).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// Returns a path as a dotted key.
pub(crate) fn dotted(path: &[String]) -> String {
    path.iter().map(|part| part.to_toml_key()).collect::<Vec<_>>().join(".")
}
