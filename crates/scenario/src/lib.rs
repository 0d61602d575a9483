//! The scenario file: schema, units, validation, and the plan that it resolves to.
//!
//! ```text
//! text ─ document ─► tree with positions ─ file ─► typed sections ─ resolve ─► all defaults
//!                       ▲ overrides                                            │ check
//!                                        plan::Plan ◄─ layout, network ◄───────┘
//! ```
//!
//! [`Scenario::parse`] finds all mistakes at once; what it returns always has a [`Plan`].

mod check;
mod chosen;
mod declare;
mod document;
mod field;
mod file;
mod fit;
mod issue;
mod layout;
mod network;
pub mod plan;
mod quantity;
#[cfg(test)]
mod reference;
mod resolve;
mod schema;
mod sweep;
mod toml_text;
mod value;

pub use issue::Issue;
pub use schema::schema;

use document::{Table, Value};
use field::{Field, Mistake, Reader, Section};
use file::{File, Profile};
use plan::Plan;

/// A valid scenario: a file with its overrides applied and its defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    file: File,
    points: Vec<Vec<(String, String)>>,
    simulator_lacks: Vec<Issue>,
}

/// Files beyond this are no scenarios.
const MAX_FILE_BYTES: usize = 4 << 20;

impl Scenario {
    /// Reads a file. An override is a dotted key and the text of its value, in TOML or, for a
    /// text, without the quotes: `("bottleneck.rate", "10 Mb/s")`.
    ///
    /// # Errors
    /// All mistakes, in the order of the file.
    pub fn parse(text: &str, overrides: &[(String, String)]) -> Result<Scenario, Vec<Issue>> {
        let document = prepare(text, overrides)?;
        let file = read(&document)?;
        let points = sweep::points(&document, file.sweep.as_ref())
            .map_err(|mistakes| locate(mistakes, &document))?;
        let simulator_lacks = locate(check::simulator_lacks(&file), &document);
        Ok(Scenario { file, points, simulator_lacks })
    }

    /// What is in the scenario that the simulator does not have, and what to do instead. Where there
    /// is any, the plan must not be simulated.
    pub fn simulator_lacks(&self) -> &[Issue] {
        &self.simulator_lacks
    }

    /// What an engine needs to know.
    pub fn plan(&self) -> Plan {
        layout::plan(&self.file)
    }

    /// The whole scenario as a file that needs no defaults, but without its sweep.
    pub fn to_toml(&self) -> String {
        toml_text::write(&self.file.write_table())
    }

    /// The points of the sweep as overrides, the last key changing fastest; empty without one.
    pub fn points(&self) -> Vec<Vec<(String, String)>> {
        self.points.clone()
    }

    /// Short name, if the file gives one.
    pub fn name(&self) -> Option<&str> {
        self.file.name.as_deref()
    }

    /// What the scenario shows, if the file says so.
    pub fn description(&self) -> Option<&str> {
        self.file.description.as_deref()
    }

    /// Seed of the first replication.
    pub fn seed(&self) -> u64 {
        self.file.seed.0
    }

    /// How many runs to average over.
    pub fn replications(&self) -> u64 {
        self.file.replications.0
    }

    /// Names of the user groups, in the order of the file.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.file.users.entries.iter().map(|(name, _)| name.as_str())
    }
}

/// Parses the text and applies the overrides.
fn prepare(text: &str, overrides: &[(String, String)]) -> Result<Table, Vec<Issue>> {
    if text.len() > MAX_FILE_BYTES {
        let message = format!("the file has {} bytes; at most {MAX_FILE_BYTES}", text.len());
        return Err(vec![unplaced(String::new(), message)]);
    }
    let mut document = document::parse(text)?;
    let mut issues = Vec::new();
    for (key, value) in overrides {
        if let Err(message) = apply(&mut document, key, document::parse_value(value)) {
            issues.push(unplaced(key.clone(), message));
        }
    }
    if issues.is_empty() { Ok(document) } else { Err(issues) }
}

/// Sets the value at a dotted key.
fn apply(document: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let path = document::split_key(key)
        .ok_or_else(|| "is not a dotted key such as users.heavy.flows".to_owned())?;
    document::set(document, &path, value)
}

/// Turns a document into a checked file with all defaults.
fn read(document: &Table) -> Result<File, Vec<Issue>> {
    let mut reader = Reader::following(profile(document));
    reader.known_keys(document, File::KEYS);
    let file = File::read_table(document, &mut reader);
    if let Some(file) = &file {
        check::intervals(file, document, &mut reader);
        check::scalable_needs_ecn(file, &mut reader);
    }
    let file = file.map(resolve::resolve);
    check::topologies(document, &mut reader);
    if let Some(file) = &file {
        check::whole(file, &mut reader);
    }
    match file {
        Some(file) if reader.mistakes.is_empty() => Ok(file),
        _ => Err(locate(reader.mistakes, document)),
    }
}

/// The profile, which options anywhere in the file follow; the default where it cannot be read.
fn profile(document: &Table) -> Profile {
    let given = document.get("profile");
    given.and_then(|node| Profile::read(node, &mut Reader::default())).unwrap_or_default()
}

/// Mistakes with their places, in the order of the file.
fn locate(mistakes: Vec<Mistake>, document: &Table) -> Vec<Issue> {
    let issue = |mistake: Mistake| {
        let at = document::locate(document, &mistake.path);
        Issue {
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            key: toml_text::dotted(&mistake.path),
            message: mistake.message,
            suggestion: mistake.suggestion,
        }
    };
    let mut issues: Vec<Issue> = mistakes.into_iter().map(issue).collect();
    issues.sort_by_key(|issue| (issue.line, issue.column));
    issues.dedup();
    issues
}

fn unplaced(key: String, message: String) -> Issue {
    Issue { line: None, column: None, key, message, suggestion: None }
}
