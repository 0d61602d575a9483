//! Overrides of keys of the scenario file.
//!
//! An override may name any key of the schema in existing tables, and only those: otherwise a misspelt group name would
//! create a new group, which takes its share of the link. The word `add` before the key creates one.

use crate::document::{self, Node, Table, Value};
use crate::issue::{Diagnostic, nearest};

/// Prefix of keys that create a table.
const ADD: &str = "add ";

/// Tables whose keys are names defined by the file, and their meaning.
const NAMED: [(&str, &str); 2] = [("users", "group"), ("links", "link")];

/// Maximum number of names listed in an error.
const MAX_LISTED: usize = 20;

/// Returns the dotted key without the prefix.
pub(crate) fn without_word(key: &str) -> &str {
    key.strip_prefix(ADD).map_or(key, str::trim_start)
}

/// Sets the value at a dotted key. A scheduler that brings its own signal takes the place of the AQM and the
/// differentiation in the file.
pub(crate) fn apply(document: &mut Table, key: &str, node: Node) -> Result<(), Diagnostic> {
    let adds = key.starts_with(ADD);
    let key = without_word(key);
    let as_issue = |message: String| issue(key, message);
    let path = document::split_key(key)
        .ok_or_else(|| as_issue("is not a dotted key such as users.heavy.flows".to_owned()))?;
    match (named_by(&path), adds) {
        (Some((table, what, name)), true) => is_new(document, table, what, name, key)?,
        (Some((table, what, name)), false) => is_there(document, table, what, name, key)?,
        (None, true) => {
            let message = "\"add\" is for a new group or link, such as users.guest.flows";
            return Err(as_issue(message.to_owned()));
        }
        // A complete table of users names each of them.
        (None, false) => {}
    }
    make_room(document, &path, &node);
    document::set(document, &path, node).map_err(as_issue)
}

/// Removes the file's `aqm` and `differentiation` beside a scheduler other than "fifo"; not those of other overrides.
fn make_room(document: &mut Table, path: &[String], node: &Node) {
    let link = match path {
        [link @ .., scheduler] if scheduler == "scheduler" => link,
        [link @ .., scheduler, kind] if scheduler == "scheduler" && kind == "kind" => link,
        _ => return,
    };
    let kind = match &node.value {
        Value::Table(own) => own.get("kind").map(|kind| &kind.value),
        other => Some(other),
    };
    if kind.is_none_or(|kind| *kind == Value::from("fifo")) {
        return;
    }
    let mut table = document;
    for key in link {
        let Some((_, Node { value: Value::Table(inner), .. })) =
            table.0.iter_mut().find(|(own, _)| own == key)
        else {
            return;
        };
        table = inner;
    }
    let replaced = |key: &str| ["aqm", "differentiation"].contains(&key);
    table.0.retain(|(key, node)| !replaced(key) || !is_of_file(node));
}

/// Whether nothing of a value is from an override.
fn is_of_file(node: &Node) -> bool {
    let inner = match &node.value {
        Value::Table(table) => table.0.iter().all(|(_, node)| is_of_file(node)),
        _ => true,
    };
    node.at.is_some() && inner
}

/// Returns the table, the kind of its entries, and the name of the entry on the path.
fn named_by(path: &[String]) -> Option<(&'static str, &'static str, &str)> {
    let [table, name, ..] = path else { return None };
    let (table, what) = NAMED.iter().find(|(named, _)| named == table)?;
    Some((*table, *what, name.as_str()))
}

/// Whether the entry was created by an override, which allows further additions; entries of the file do not.
fn is_new(
    document: &Table,
    table: &str,
    what: &str,
    name: &str,
    key: &str,
) -> Result<(), Diagnostic> {
    let set = entries(document, table).get(name).is_some_and(|node| node.at.is_some());
    let message = || format!("there is a {what} \"{name}\" already; remove \"add\"");
    if set { Err(issue(key, message())) } else { Ok(()) }
}

fn is_there(
    document: &Table,
    table: &str,
    what: &str,
    name: &str,
    key: &str,
) -> Result<(), Diagnostic> {
    let entries = entries(document, table);
    if entries.get(name).is_some() {
        return Ok(());
    }
    let names = || entries.0.iter().map(|(name, _)| name.as_str());
    let listed: Vec<_> = names().take(MAX_LISTED).collect();
    let more = if entries.0.len() > MAX_LISTED { ", ..." } else { "" };
    let known = match &listed[..] {
        [] => format!("there are no {what}s with a name"),
        _ => format!("{what}s are {}{more}", listed.join(", ")),
    };
    let message = format!("there is no {what} \"{name}\"; {known}; \"add\" brings in a new one");
    let suggestion = nearest(name, names()).map(|near| format!("{table}.{near}"));
    Err(Diagnostic { suggestion, ..issue(key, message) })
}

fn entries<'a>(document: &'a Table, table: &str) -> &'a Table {
    const NONE: &Table = &Table(Vec::new());
    match document.get(table) {
        Some(Node { value: Value::Table(entries), .. }) => entries,
        _ => NONE,
    }
}

fn issue(key: &str, message: String) -> Diagnostic {
    Diagnostic { line: None, column: None, key: key.to_owned(), message, suggestion: None }
}
