//! TOML document as a tree with the position of each value in the file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::issue::{Diagnostic, MAX_ERRORS};
use crate::nesting;

/// Position in the file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub line: usize,
    pub column: usize,
}

/// A value and its byte offset in the file; values of overrides have none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub at: Option<usize>,
    /// Texts that overrides have replaced, each once.
    pub replaced: Vec<String>,
}

/// TOML value. Integers keep their sign and size until a field checks the range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    Other(String),
    Array(Vec<Node>),
    Table(Table),
}

/// Entries in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table(pub Vec<(String, Node)>);

impl Table {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, node)| node)
    }
    fn entry(&mut self, key: &str) -> &mut Node {
        let found = self.0.iter().position(|(k, _)| k == key);
        let index = found.unwrap_or_else(|| {
            self.0.push((key.to_owned(), Node::from(Table::default())));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }
}

impl<T: Into<Value>> From<T> for Node {
    fn from(value: T) -> Self {
        Node { value: value.into(), at: None, replaced: Vec::new() }
    }
}
impl From<Table> for Value {
    fn from(table: Table) -> Self {
        Value::Table(table)
    }
}
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl Value {
    /// Returns the type of the value for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a text",
            Value::Other(_) => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Parses a file.
pub(crate) fn parse(text: &str) -> Result<Table, Vec<Diagnostic>> {
    if let Some(offset) = nesting::too_deep(text) {
        return Err(vec![nested_issue(Lines::of(text).position(offset))]);
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(convert_table(root.get_ref(), Origin::File));
    }
    let lines = Lines::of(text);
    let reported = errors.iter().take(MAX_ERRORS);
    let mut issues: Vec<Diagnostic> = reported.map(|error| syntax_issue(error, &lines)).collect();
    issues.dedup_by_key(|issue| issue.line);
    Err(issues)
}

fn nested_issue(at: Position) -> Diagnostic {
    let message = format!(
        "is nested in more than {} tables, as no key of a scenario is: remove it",
        nesting::MAX_DEPTH
    );
    let (line, column) = (Some(at.line), Some(at.column));
    Diagnostic { line, column, key: String::new(), message, suggestion: None }
}

fn syntax_issue(error: &toml::de::Error, lines: &Lines) -> Diagnostic {
    let at = error.span().map(|span| lines.position(span.start));
    let line = at.map_or("", |at| lines.text(at.line));
    let message = match bare_quantity(line) {
        Some(quantity) => format!("a quantity is a text: write \"{quantity}\", in quotes"),
        None => format!("not valid TOML: {}", error.message().replace('\n', " ")),
    };
    Diagnostic {
        line: at.map(|at| at.line),
        column: at.map(|at| at.column),
        key: String::new(),
        message,
        suggestion: None,
    }
}

/// Returns the value in `rate = 10 Mb/s`, a common error.
fn bare_quantity(line: &str) -> Option<&str> {
    let value = line.split_once('=')?.1.split('#').next()?.trim();
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
    let plain = |c: char| c.is_alphabetic() || c == '/';
    let starts_with_digit = value.starts_with(|c: char| c.is_ascii_digit());
    (starts_with_digit && !unit.is_empty() && unit.chars().all(plain)).then_some(value)
}

/// Splits a dotted key of a file or an override.
pub(crate) fn split_key(key: &str) -> Option<Vec<String>> {
    let document = format!("{key} = 0");
    if key.contains(['\n', '\r', '=', '#']) {
        return None;
    }
    let mut path = Vec::new();
    let mut table = parse_override(&document)?;
    loop {
        let (key, node) = table.0.pop()?;
        path.push(key);
        match node.value {
            Value::Table(inner) if table.0.is_empty() => table = inner,
            Value::Integer(0) => return Some(path),
            _ => return None,
        }
    }
}

/// Parses the value of an override: TOML, or a text without its quotes.
pub(crate) fn parse_value(text: &str) -> Value {
    let as_toml = || {
        let document = format!("value = {text}");
        let mut table = parse_override(&document)?;
        let (_, node) = table.0.pop()?;
        table.0.is_empty().then_some(node.value)
    };
    as_toml().unwrap_or_else(|| Value::Text(text.trim().to_owned()))
}

fn parse_override(document: &str) -> Option<Table> {
    let deep = nesting::too_deep(document).is_some();
    let root = (!deep).then(|| DeTable::parse(document).ok())??;
    Some(convert_table(root.get_ref(), Origin::Override))
}

/// Sets the value at `path`, creating tables; a mechanism's name on the path becomes a table. Fails with the part of
/// the path that is not a table.
pub(crate) fn set(root: &mut Table, path: &[String], node: Node) -> Result<(), String> {
    let (last, parents) = path.split_last().expect("a key has at least one part");
    let mut table = root;
    for (depth, key) in parents.iter().enumerate() {
        let node = table.entry(key);
        if matches!(&node.value, Value::Text(text) if is_name(text)) {
            let name = Node { replaced: Vec::new(), ..node.clone() };
            node.value = Table(vec![("kind".to_owned(), name)]).into();
        }
        match &mut node.value {
            Value::Table(inner) => table = inner,
            other => {
                let parent = path[..=depth].join(".");
                return Err(format!("{parent} is {}, not a table", other.kind()));
            }
        }
    }
    let place = table.entry(last);
    let old = std::mem::replace(place, node);
    place.replaced = old.replaced;
    if let Value::Text(text) = old.value
        && !place.replaced.contains(&text)
    {
        place.replaced.push(text);
    }
    Ok(())
}

/// Returns the offset of `path`, or of the nearest enclosing table. `None` if an override set it.
pub(crate) fn locate(root: &Table, path: &[String]) -> Option<usize> {
    let mut table = root;
    let mut at = None;
    for (depth, key) in path.iter().enumerate() {
        let Some(node) = table.get(key) else { break };
        at = node.at;
        match &node.value {
            Value::Table(inner) => table = inner,
            Value::Array(items) => return locate_item(items, &path[depth + 1..]).or(at),
            _ => break,
        }
    }
    at
}

fn locate_item(items: &[Node], path: &[String]) -> Option<usize> {
    let index: usize = path.first()?.parse().ok()?;
    items.get(index)?.at
}

/// Origin of a text: only texts of the file have a position.
#[derive(Clone, Copy)]
enum Origin {
    File,
    Override,
}

impl Origin {
    fn node(self, value: Value, offset: usize) -> Node {
        let at = match self {
            Origin::File => Some(offset),
            Origin::Override => None,
        };
        Node { value, at, replaced: Vec::new() }
    }
}

fn convert_table(table: &DeTable, origin: Origin) -> Table {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue>)| {
        let name: &std::borrow::Cow<str> = key.get_ref();
        let node = origin.node(convert(value.get_ref(), origin), key.span().start);
        (name.clone().into_owned(), node)
    };
    Table(entries.into_iter().map(entry).collect())
}

fn convert(value: &DeValue, origin: Origin) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Integer(number) => Value::Integer(integer(number.as_str(), number.radix())),
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Datetime(date) => Value::Other(date.to_string()),
        DeValue::Array(items) => Value::Array(items.iter().map(|i| item(i, origin)).collect()),
        DeValue::Table(table) => Value::Table(convert_table(table, origin)),
    }
}

fn item(item: &Spanned<DeValue>, origin: Origin) -> Node {
    origin.node(convert(item.get_ref(), origin), item.span().start)
}

/// Parses an integer, saturating: no field accepts a number near the limit.
fn integer(digits: &str, radix: u32) -> i128 {
    let saturated = if digits.starts_with('-') { i128::MIN } else { i128::MAX };
    i128::from_str_radix(digits, radix).unwrap_or(saturated)
}

/// Converts byte offsets to lines and columns. Used only for errors: a column costs the length of its line.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a str) -> Self {
        let after_breaks =
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
        Lines { text, starts: std::iter::once(0).chain(after_breaks).collect() }
    }
    pub fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset);
        let before = self.text.get(self.starts[line - 1]..offset).unwrap_or("");
        Position { line, column: before.chars().count() + 1 }
    }
    fn text(&self, line: usize) -> &'a str {
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        self.text.get(self.starts[line - 1]..end).unwrap_or("")
    }
}

pub(crate) fn is_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    !name.is_empty() && name.len() <= 64 && name.bytes().all(allowed)
}
