//! Basic types of values: bounded numbers, words beside quantities, lists, named tables.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
pub(crate) use tidegate_mechanisms::units::OrOff;
use tidegate_mechanisms::units::{
    Demand, Factor, Memory, Points, Probability, Share, Span, Spans, Step,
};

use crate::document::{Node, Table, Value, is_name};
use crate::field::{Field, Reader};
use crate::schema::Definitions;

/// An integer between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Integer<const MIN: u64, const MAX: u64>(pub u64);

impl<const MIN: u64, const MAX: u64> Field for Integer<MIN, MAX> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        read_whole(node, MIN, MAX, reader).map(Integer)
    }
    fn write(&self) -> Value {
        Value::Integer(self.0.into())
    }
    fn schema(_: &mut Definitions) -> Json {
        whole_schema(MIN, MAX)
    }
}

/// Reads an integer between two bounds.
pub(crate) fn read_whole(node: &Node, min: u64, max: u64, reader: &mut Reader) -> Option<u64> {
    let bounds = match min == max {
        true => min.to_string(),
        false => format!("a whole number from {min} to {max}"),
    };
    match &node.value {
        Value::Integer(n) => match u64::try_from(*n) {
            Ok(n) if (min..=max).contains(&n) => Some(n),
            _ => reader.error(format!("{n} is out of range; expected {bounds}")),
        },
        Value::Float(x) => reader.error(format!("{x} is not whole; expected {bounds}")),
        other => reader.error(format!("expected {bounds}, not {}", other.kind())),
    }
}

pub(crate) fn whole_schema(min: u64, max: u64) -> Json {
    json!({ "type": "integer", "minimum": min, "maximum": max })
}

impl<const MIN: u64, const MAX: u64> Integer<MIN, MAX> {
    /// Returns the value as an index or a count.
    pub fn count(self) -> usize {
        usize::try_from(self.0).expect("bounds of counts fit")
    }
}

/// A count.
pub(crate) type Count = Integer<1, 1_000_000>;

/// Implements a number in an interval. `$inside` tests whether `$x` is in it.
macro_rules! number {
    ($name:ident: $expected:literal, |$x:ident| $inside:expr, $bounds:tt) => {
        impl Field for $name {
            fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
                let $x = match &node.value {
                    Value::Integer(n) => *n as f64,
                    Value::Float(x) => *x,
                    other => {
                        return reader.error(format!(
                            "expected {}, not {}",
                            $expected,
                            other.kind()
                        ));
                    }
                };
                match $inside && $x.is_finite() {
                    true => Some($name($x)),
                    false => reader.error(format!("{} is not {}", $x, $expected)),
                }
            }
            fn write(&self) -> Value {
                Value::Float(self.0)
            }
            fn schema(_: &mut Definitions) -> Json {
                let mut schema = json!($bounds);
                schema["type"] = "number".into();
                schema
            }
        }
    };
}

/// A number, or a text such as "1 %".
impl Field for Probability {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let expected = "a probability from 0 to 1, or such as \"1 %\"";
        let (value, shown) = match &node.value {
            Value::Integer(n) => (*n as f64, n.to_string()),
            Value::Float(x) => (*x, x.to_string()),
            Value::Text(text) => {
                match text.strip_suffix('%').map(|text| text.trim().parse::<f64>()) {
                    Some(Ok(percent)) => (percent / 100.0, text.clone()),
                    _ => return reader.error(format!("expected {expected}, not {text:?}")),
                }
            }
            other => return reader.error(format!("expected {expected}, not {}", other.kind())),
        };
        match (0.0..=1.0).contains(&value) {
            true => Some(Probability(value)),
            false => reader.error(format!("{shown} is not {expected}")),
        }
    }
    fn write(&self) -> Value {
        Value::Float(self.0)
    }
    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer("Probability", |_| {
            json!({ "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)? *%$", "examples": ["1 %"] },
            ] })
        })
    }
}
number! {
    Share: "a number above 0, at most 1", |x| x > 0.0 && x <= 1.0,
    { "exclusiveMinimum": 0, "maximum": 1 }
}
number! {
    Memory: "a number from 0 to just below 1", |x| (0.0..1.0).contains(&x),
    { "minimum": 0, "exclusiveMaximum": 1 }
}
number! {
    Factor: "a number from 0 to 1000", |x| (0.0..=1000.0).contains(&x),
    { "minimum": 0, "maximum": 1000 }
}
number! {
    Step: "a number above 0, at most 1000", |x| x > 0.0 && x <= 1000.0,
    { "exclusiveMinimum": 0, "maximum": 1000 }
}
number! {
    Demand: "a number above 0, at most 1000000000", |x| x > 0.0 && x <= 1e9,
    { "exclusiveMinimum": 0, "maximum": 1_000_000_000 }
}

fn is_word(node: &Node, word: &str) -> bool {
    matches!(&node.value, Value::Text(text) if text == word)
}

impl Field for OrOff {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match is_word(node, "off") {
            true => Some(OrOff::Off),
            false => Span::read(node, reader).map(OrOff::On),
        }
    }
    fn write(&self) -> Value {
        self.span().map_or("off".into(), |span| span.write())
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [{ "const": "off" }, Span::schema(definitions)] })
    }
}

/// A time, or the words `auto` and `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostJitter {
    Auto,
    Fixed(OrOff),
}

impl Field for HostJitter {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match is_word(node, "auto") {
            true => Some(HostJitter::Auto),
            false => OrOff::read(node, reader).map(HostJitter::Fixed),
        }
    }
    fn write(&self) -> Value {
        match self {
            HostJitter::Auto => "auto".into(),
            HostJitter::Fixed(jitter) => jitter.write(),
        }
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [{ "enum": ["auto", "off"] }, Span::schema(definitions)] })
    }
}

/// Maximum length of a list.
const MAX_ITEMS: usize = 10_000;

pub(crate) fn read_list<T: Field>(items: &[Node], reader: &mut Reader) -> Option<Vec<T>> {
    read_items(items, reader, T::read)
}

/// Reads each item of a list by `read`.
pub(crate) fn read_items<T>(
    items: &[Node],
    reader: &mut Reader,
    mut read: impl FnMut(&Node, &mut Reader) -> Option<T>,
) -> Option<Vec<T>> {
    if items.len() > MAX_ITEMS {
        return reader.error(format!("{} values; at most {MAX_ITEMS}", items.len()));
    }
    let read = |(index, item): (usize, &Node)| {
        reader.within(&index.to_string(), |reader| read(item, reader))
    };
    let values: Vec<Option<T>> = items.iter().enumerate().map(read).collect();
    values.into_iter().collect()
}

/// One value for all, or a list with one for each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OneOrEach<T> {
    One(T),
    Each(Vec<T>),
}

impl<T: Copy> OneOrEach<T> {
    pub fn at(&self, index: usize) -> T {
        match self {
            OneOrEach::One(value) => *value,
            OneOrEach::Each(values) => values[index],
        }
    }
    pub fn len(&self) -> Option<usize> {
        match self {
            OneOrEach::One(_) => None,
            OneOrEach::Each(values) => Some(values.len()),
        }
    }
}

impl<T: Field> Field for OneOrEach<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.value {
            Value::Array(items) => read_list(items, reader).map(OneOrEach::Each),
            _ => T::read(node, reader).map(OneOrEach::One),
        }
    }
    fn write(&self) -> Value {
        match self {
            OneOrEach::One(value) => value.write(),
            OneOrEach::Each(values) => {
                Value::Array(values.iter().map(|value| value.write().into()).collect())
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> Json {
        let one = T::schema(definitions);
        json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}

impl Field for Spans {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match OneOrEach::read(node, reader)? {
            OneOrEach::One(span) => Some(Spans(vec![span])),
            OneOrEach::Each(spans) if spans.is_empty() => {
                reader.error("an empty list; at least one")
            }
            OneOrEach::Each(spans) => Some(Spans(spans)),
        }
    }
    fn write(&self) -> Value {
        match &self.0[..] {
            [span] => span.write(),
            spans => OneOrEach::Each(spans.to_vec()).write(),
        }
    }
    fn schema(definitions: &mut Definitions) -> Json {
        OneOrEach::<Span>::schema(definitions)
    }
}

/// Maximum queue length of a point, packets: functions are tabulated per packet.
const MAX_QUEUE_PACKETS: f64 = 1e6;

impl Field for Points {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let expected = "a list of [queue length in packets, probability] pairs";
        let Value::Array(items) = &node.value else {
            return reader.error(format!("expected {expected}, not {}", node.value.kind()));
        };
        let pairs: Vec<Pair> = read_list(items, reader)?;
        Some(Points(pairs.into_iter().map(|pair| (pair.0, pair.1)).collect()))
    }
    fn write(&self) -> Value {
        let pair = |(q, p): &(f64, f64)| Pair(*q, *p).write().into();
        Value::Array(self.0.iter().map(pair).collect())
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "type": "array", "minItems": 1, "items": Pair::schema(definitions) })
    }
}

/// A point: a queue length and a probability.
struct Pair(f64, f64);

impl Field for Pair {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let number = |node: &Node| match &node.value {
            Value::Integer(n) => Some(*n as f64),
            Value::Float(x) => Some(*x),
            _ => None,
        };
        let Value::Array(items) = &node.value else {
            return reader.error("expected a pair [queue length, probability]");
        };
        let numbers: Vec<Option<f64>> = items.iter().map(number).collect();
        match numbers[..] {
            [Some(q), Some(p)] if !(0.0..=MAX_QUEUE_PACKETS).contains(&q) => reader
                .error(format!("queue length {q} is not from 0 to {MAX_QUEUE_PACKETS} (p = {p})")),
            [Some(_), Some(p)] if !(0.0..=1.0).contains(&p) => {
                reader.error(format!("{p} is not a probability from 0 to 1"))
            }
            [Some(q), Some(p)] => Some(Pair(q, p)),
            _ => reader.error("expected a pair [queue length, probability]"),
        }
    }
    fn write(&self) -> Value {
        Value::Array(vec![Value::Float(self.0).into(), Value::Float(self.1).into()])
    }
    fn schema(_: &mut Definitions) -> Json {
        json!({
            "type": "array",
            "prefixItems": [
                { "type": "number", "minimum": 0, "maximum": MAX_QUEUE_PACKETS },
                { "type": "number", "minimum": 0, "maximum": 1 },
            ],
            "minItems": 2,
            "maxItems": 2,
        })
    }
}

/// Tables with names defined by the file, in its order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named<T> {
    pub entries: Vec<(String, T)>,
    /// Whether all entries are valid.
    pub complete: bool,
    /// Indices of the entries by name.
    places: BTreeMap<String, usize>,
}

impl<T> Named<T> {
    /// Returns the index of the entry with this name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}

/// Names become parts of keys, of link names and of file names.
const NAME_PATTERN: &str = "^[A-Za-z0-9_-]{1,64}$";

impl<T: Field> Field for Named<T> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let mut named = Named { entries: Vec::new(), complete: true, places: BTreeMap::new() };
        if table.0.is_empty() {
            return reader.error("is empty");
        }
        for (name, node) in &table.0 {
            if !is_name(name) {
                reader.error_at(name, "a name has 1 to 64 letters, digits, \"-\" and \"_\"");
            }
            match reader.within(name, |reader| T::read(node, reader)) {
                Some(value) => {
                    named.places.insert(name.clone(), named.entries.len());
                    named.entries.push((name.clone(), value));
                }
                None => named.complete = false,
            }
        }
        Some(named)
    }
    fn write(&self) -> Value {
        let entry = |(name, value): &(String, T)| (name.clone(), value.write().into());
        Table(self.entries.iter().map(entry).collect()).into()
    }
    fn schema(definitions: &mut Definitions) -> Json {
        json!({
            "type": "object",
            "propertyNames": { "pattern": NAME_PATTERN },
            "additionalProperties": T::schema(definitions),
            "minProperties": 1,
        })
    }
}
