//! Writes a document: plain values first, then a section per table, deeper tables in one line.

use std::fmt::Write;

use crate::document::{Table, Value};

/// The document as TOML.
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

/// Entries that are no tables.
fn write_plain(table: &Table, text: &mut String) {
    for (key, node) in table.0.iter().filter(|(_, node)| !matches!(node.value, Value::Table(_))) {
        line(key, &node.value, text);
    }
}

fn line(key: &str, value: &Value, text: &mut String) {
    writeln!(text, "{} = {}", key_part(key), inline(value)).expect("strings take everything");
}

/// Tables of tables with names of their own (users, links) get a section for each.
fn write_section(path: &[String], table: &Table, text: &mut String) {
    let is_map = ["users", "links"].contains(&path[0].as_str()) && path.len() == 1;
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

/// A value in one line.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Text(text) => quoted(text),
        Value::Other(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| inline(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) => {
            let entry = |(key, node): &(String, _)| entry(key, node);
            let entries: Vec<_> = table.0.iter().map(entry).collect();
            if entries.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

fn entry(key: &str, node: &crate::document::Node) -> String {
    format!("{} = {}", key_part(key), inline(&node.value))
}

/// A path as a dotted key.
pub(crate) fn dotted(path: &[String]) -> String {
    path.iter().map(|part| key_part(part)).collect::<Vec<_>>().join(".")
}

fn key_part(key: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(c)).expect("strings take everything");
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
