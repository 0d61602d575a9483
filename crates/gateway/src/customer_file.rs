//! The customer file: CSV with a line for each customer.
//!
//! ```text
//! id,addresses,reference_rate,ceiling
//! smith,192.0.2.7 2001:db8:7::/64,50 kb/s,
//! hotel,198.51.100.0/28,500 kb/s,100 Mb/s
//! ```
//!
//! Addresses and prefixes stand between spaces. An empty rate is the default, an empty ceiling is none. The import is
//! strict: a file with an error is refused as a whole, and all errors are reported with their lines.

use std::collections::HashMap;

use csv::{ByteRecord, Position, ReaderBuilder, Trim};
use tidegate_mechanisms::units::Rate;
use tidegate_scenario::Diagnostic;
use tidegate_scenario::settings::rate;

use crate::customer::NAME_BYTES;
use crate::prefix::Prefix;

/// Columns, in the order of the example.
pub const COLUMNS: [&str; 4] = ["id", "addresses", "reference_rate", "ceiling"];
/// Most customers of a file.
pub const MAX_CUSTOMERS: usize = 1_000_000;
/// Most addresses and prefixes of a file.
pub const MAX_PREFIXES: usize = 4_000_000;
/// Most bytes of a file.
pub const MAX_BYTES: usize = 256 << 20;
/// Bounds of rates, in bit/s: within them the meter's whole numbers are exact enough.
const REFERENCE_RATES: [u64; 2] = [1_000, 1_000_000_000];
const CEILINGS: [u64; 2] = [10_000, 100_000_000_000];
/// Most errors that are reported one by one.
const MAX_ERRORS: usize = 100;

/// A customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Line in the file, from 1.
    pub line: usize,
    /// Name in reports.
    pub id: String,
    /// Its addresses.
    pub prefixes: Vec<Prefix>,
    /// R_r; `None` for the default.
    pub reference_rate: Option<Rate>,
    /// Most that passes in each direction.
    pub ceiling: Option<Rate>,
}

/// Reads a file.
///
/// # Errors
/// All errors, in the order of their lines.
pub fn read(bytes: &[u8]) -> Result<Vec<Record>, Vec<Diagnostic>> {
    let mut errors = Errors::default();
    if bytes.len() > MAX_BYTES {
        errors.add(1, format!("the file has {} bytes; at most {MAX_BYTES}", bytes.len()));
        return Err(errors.sorted());
    }
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .comment(Some(b'#'))
        .from_reader(bytes);
    let (mut raw, mut records, mut places) = (ByteRecord::new(), Vec::new(), None);
    loop {
        match reader.read_byte_record(&mut raw) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                errors.add(reader.position().line() as usize, error.to_string());
                break;
            }
        }
        let line = line_of(raw.position(), bytes);
        let Ok(fields) = raw.iter().map(std::str::from_utf8).collect::<Result<Vec<_>, _>>() else {
            errors.add(line, "is not in UTF-8".to_owned());
            continue;
        };
        match &places {
            None => match header(&fields) {
                Ok(found) => places = Some(found),
                Err(message) => {
                    errors.add(line, message);
                    return Err(errors.sorted());
                }
            },
            Some(places) => records.extend(row(&fields, places, line, &mut errors)),
        }
    }
    if places.is_none() {
        errors.add(1, format!("the file is empty; its first line is {}", COLUMNS.join(",")));
    } else if bytes.last() != Some(&b'\n') {
        let line = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
        errors.add(line, "the last line has no end; is the file complete?".to_owned());
    }
    if records.len() > MAX_CUSTOMERS {
        errors.add(1, format!("{} customers; at most {MAX_CUSTOMERS}", records.len()));
    }
    repeated_ids(&records, &mut errors);
    overlaps(&records, &mut errors);
    if errors.found.is_empty() { Ok(records) } else { Err(errors.sorted()) }
}

/// Line on which a record begins: the reader's position is before the empty lines and comments that it skips.
fn line_of(position: Option<&Position>, bytes: &[u8]) -> usize {
    let Some(position) = position else { return 0 };
    let (mut rest, mut line) = (&bytes[position.byte() as usize..], position.line() as usize);
    while let Some(b'#' | b'\r' | b'\n') = rest.first() {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
        (rest, line) = (&rest[end + 1..], line + 1);
    }
    line
}

/// Where each of [`COLUMNS`] stands.
type Places = [Option<usize>; COLUMNS.len()];

fn header(fields: &[&str]) -> Result<Places, String> {
    let wanted = COLUMNS.join(",");
    if let [only] = fields
        && only.contains([';', '\t'])
    {
        return Err(format!("columns stand between commas: {wanted}"));
    }
    let mut places = [None; COLUMNS.len()];
    for (place, name) in fields.iter().enumerate() {
        let Some(column) = COLUMNS.iter().position(|column| column == name) else {
            return Err(format!("there is no column {name:?}; columns are {wanted}"));
        };
        if places[column].replace(place).is_some() {
            return Err(format!("two columns {name}"));
        }
    }
    match places {
        [Some(_), Some(_), ..] => Ok(places),
        _ => Err(format!("columns id and addresses are needed; columns are {wanted}")),
    }
}

fn row(fields: &[&str], places: &Places, line: usize, errors: &mut Errors) -> Option<Record> {
    let count = places.iter().flatten().count();
    if fields.len() != count {
        let what =
            if fields.len() > count { "is a comma in a field? quote it" } else { "some lack" };
        errors.add(line, format!("{} fields, and {count} columns: {what}", fields.len()));
        return None;
    }
    let texts = places.map(|place| place.map_or("", |place| fields[place]));
    let read = record(texts, line);
    read.map_err(|found| found.into_iter().for_each(|error| errors.add(line, error))).ok()
}

/// A customer of these texts, in the order of [`COLUMNS`].
///
/// # Errors
/// All errors.
pub fn record(texts: [&str; COLUMNS.len()], line: usize) -> Result<Record, Vec<String>> {
    let [id, addresses, ..] = texts;
    let mut errors = Vec::new();
    let mut refuse = |message: String| errors.push(message);
    if id.is_empty() {
        refuse("id: is empty".to_owned());
    } else if id.len() > NAME_BYTES {
        refuse(format!("id: {id:?} has {} bytes; at most {NAME_BYTES}", id.len()));
    } else if id.contains(char::is_control) {
        refuse(format!("id: {id:?} has a control character"));
    }
    let mut prefixes = Vec::new();
    for text in addresses.split_whitespace() {
        match Prefix::parse(text) {
            Err(error) => refuse(format!("addresses: {error}")),
            Ok(prefix) if prefix.bits == 0 || prefix.is_all_ipv4() => {
                refuse(format!("addresses: {text} is everybody's"));
            }
            Ok(prefix) if prefix.is_local() => {
                refuse(format!("addresses: {text} is loopback, link-local or multicast"));
            }
            Ok(prefix) => prefixes.push(prefix),
        }
    }
    if addresses.is_empty() {
        refuse("addresses: is empty".to_owned());
    }
    let mut quantity = |column: usize, bounds: [u64; 2]| {
        let text = texts[column];
        if text.is_empty() {
            return None;
        }
        let read = rate(text).and_then(|rate| {
            let is_within = (bounds[0]..=bounds[1]).contains(&rate.as_bps());
            let [least, most] = bounds.map(in_words);
            is_within.then_some(rate).ok_or_else(|| format!("\"{text}\": from {least} to {most}"))
        });
        read.map_err(|error| refuse(format!("{}: {error}", COLUMNS[column]))).ok()
    };
    let reference_rate = quantity(2, REFERENCE_RATES);
    let ceiling = quantity(3, CEILINGS);
    if let (Some(rate), Some(most)) = (reference_rate, ceiling)
        && most < rate
    {
        refuse(format!("ceiling: {} is below the reference rate", texts[3]));
    }
    let id = id.to_owned();
    if errors.is_empty() {
        Ok(Record { line, id, prefixes, reference_rate, ceiling })
    } else {
        Err(errors)
    }
}

fn in_words(bps: u64) -> String {
    match bps {
        1_000_000_000.. => format!("{} Gb/s", bps / 1_000_000_000),
        _ => format!("{} kb/s", bps / 1_000),
    }
}

fn repeated_ids(records: &[Record], errors: &mut Errors) {
    let mut lines = HashMap::with_capacity(records.len());
    for record in records {
        if let Some(first) = lines.insert(record.id.as_str(), record.line) {
            errors.add(record.line, format!("id: {:?} is that of line {first} too", record.id));
        }
    }
}

/// Addresses that are two customers', or twice one's.
fn overlaps(records: &[Record], errors: &mut Errors) {
    let mut all: Vec<(Prefix, &Record)> = records
        .iter()
        .flat_map(|record| record.prefixes.iter().map(move |prefix| (*prefix, record)))
        .collect();
    if all.len() > MAX_PREFIXES {
        errors.add(1, format!("{} addresses; at most {MAX_PREFIXES}", all.len()));
    }
    all.sort_by_key(|(prefix, record)| (prefix.address, prefix.bits, record.line));
    // Prefixes that hold the present one, the shortest first.
    let mut around: Vec<(Prefix, &Record)> = Vec::new();
    for (prefix, record) in all {
        while around.last().is_some_and(|(outer, _)| !outer.contains(&prefix)) {
            around.pop();
        }
        if let Some((outer, other)) = around.last() {
            let (later, earlier, first) = match other.line <= record.line {
                true => (record, *other, outer),
                false => (*other, record, &prefix),
            };
            let whose = if later.line == earlier.line { "twice here" } else { "another's" };
            errors.add(
                later.line,
                format!(
                    "addresses: {prefix} is {whose}: {first} of line {} ({})",
                    earlier.line, earlier.id
                ),
            );
        }
        around.push((prefix, record));
    }
}

#[derive(Default)]
struct Errors {
    found: Vec<(usize, String)>,
}

impl Errors {
    fn add(&mut self, line: usize, message: String) {
        self.found.push((line, message));
    }

    fn sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort();
        let more = self.found.len().saturating_sub(MAX_ERRORS);
        self.found.truncate(MAX_ERRORS);
        let mut errors: Vec<_> =
            self.found.into_iter().map(|(line, message)| diagnostic(Some(line), message)).collect();
        if more > 0 {
            errors.push(diagnostic(None, format!("and {more} more errors")));
        }
        errors
    }
}

fn diagnostic(line: Option<usize>, message: String) -> Diagnostic {
    Diagnostic { line, column: None, key: String::new(), message, suggestion: None }
}

#[cfg(test)]
#[path = "customer_file_tests.rs"]
mod tests;
