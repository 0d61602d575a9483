//! The scenario file: schema, units, validation, and the plan that it resolves to.
//!
//! ```text
//! text ─ document ─► tree with positions ─ file ─► typed sections ─ resolve ─► all defaults
//!                       ▲ overrides                                            │ check
//!                                        plan::Plan ◄─ layout, network ◄───────┘
//! ```
//!
//! [`Scenario::parse`] finds all errors at once; what it returns always has a [`Plan`].

mod check;
mod choice;
mod data_files;
mod declare;
mod document;
mod field;
mod file;
mod file_schema;
mod issue;
mod kernel_qdisc;
mod layout;
mod lints;
mod load;
mod misplaced;
mod nesting;
mod network;
mod overrides;
mod parameter;
mod parameter_schema;
mod placement;
pub mod plan;
mod prices;
mod profile;
mod quantity;
#[cfg(test)]
mod reference;
mod resolve;
mod routes;
mod schema;
pub mod settings;
mod sweep;
mod table;
mod toml_text;
mod traffic;
mod tunnels;
mod typed_overlay;
mod value;

pub use data_files::DataFile;
pub use file_schema::schema;
pub use issue::Diagnostic;

use document::{Lines, Table};
use field::{Field, Reader, Section, UnlocatedDiagnostic};
use file::{File, Profile};
use issue::MAX_ERRORS;
use plan::Plan;

/// A valid scenario: a file with its overrides applied and its defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    file: File,
    points: Vec<Vec<(String, String)>>,
    simulator_lacks: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

/// Files beyond this are no scenarios.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// So much is read of a text and its overrides, and so much has a scenario at most that is written out with all
/// defaults: what was written can be read again.
pub const MAX_TEXT_BYTES: usize = 16 << 20;

/// So many overrides are applied to a file.
pub const MAX_OVERRIDES: usize = 10_000;

/// What is shorter than this is not too long when it is written out with all defaults.
const SHORT_BYTES: usize = 64 << 10;

impl Scenario {
    /// Reads a file. An override is a dotted key and the text of its value, in TOML or, for a
    /// text, without the quotes: `("bottleneck.rate", "10 Mb/s")`. It may only name groups and links
    /// that there are, unless its key begins with the word `add`: `("add users.guest.flows", "2")`.
    ///
    /// # Errors
    /// All errors, in the order of the file.
    pub fn parse(text: &str, overrides: &[(String, String)]) -> Result<Scenario, Vec<Diagnostic>> {
        Self::prepared(text, overrides, |_| ())
    }

    /// The data files that a file and its overrides name. What cannot be read at all names none: [`Scenario::parse`] tells.
    pub fn data_files(text: &str, overrides: &[(String, String)]) -> Vec<DataFile> {
        data_files::named(text, overrides)
    }

    /// Reads a point of a file's sweep, whose overrides are among these: as [`Scenario::parse`] does,
    /// but the sweep itself, all values of which that one tries, is left out.
    ///
    /// # Errors
    /// All errors, in the order of the file.
    pub fn parse_point(
        text: &str,
        overrides: &[(String, String)],
    ) -> Result<Scenario, Vec<Diagnostic>> {
        Self::prepared(text, overrides, |document| document.0.retain(|(key, _)| key != "sweep"))
    }

    fn prepared(
        text: &str,
        overrides: &[(String, String)],
        change: impl FnOnce(&mut Table),
    ) -> Result<Scenario, Vec<Diagnostic>> {
        let bytes = bounded(text, overrides).map_err(|issue| vec![issue])?;
        let mut document = prepare(text, overrides)?;
        change(&mut document);
        let located = |found: Found| locate(found, &document, text);
        let file = read(&document).map_err(located)?;
        if bytes > SHORT_BYTES && toml_text::write(&file.write_table()).len() > MAX_TEXT_BYTES {
            let message = format!(
                "more than {MAX_TEXT_BYTES} bytes when all defaults are filled in, so that no result could be read \
                 again: give fewer groups of more users"
            );
            return Err(vec![unplaced(String::new(), message)]);
        }
        let points = sweep::points(&document, file.sweep.as_ref(), text.len()).map_err(located)?;
        let simulator_lacks = located(check::simulator_lacks(&file).into());
        let warnings = located(lints::of(&file).into());
        Ok(Scenario { file, points, simulator_lacks, warnings })
    }

    /// What is valid, but hardly meant.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// With this name, if the file gives none; as much of it as a name may have.
    pub fn or_named(mut self, name: &str) -> Scenario {
        let end = name.floor_char_boundary(check::MAX_NAME_BYTES);
        self.file.name.get_or_insert_with(|| name[..end].to_owned());
        self
    }

    /// What is in the scenario that the simulator does not have, and what to do instead. Where there
    /// is any, the plan must not be simulated.
    pub fn simulator_lacks(&self) -> &[Diagnostic] {
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

/// The bytes of a text and its overrides, if there are not too many.
fn bounded(text: &str, overrides: &[(String, String)]) -> Result<usize, Diagnostic> {
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("more than {MAX_TEXT_BYTES} bytes, which no scenario needs");
        return Err(unplaced(String::new(), message));
    }
    if overrides.len() > MAX_OVERRIDES {
        let message = format!(
            "{} overrides; at most {MAX_OVERRIDES}: write them into a file",
            overrides.len()
        );
        return Err(unplaced(String::new(), message));
    }
    let lengths = overrides.iter().map(|(key, value)| key.len().saturating_add(value.len()));
    let bytes = lengths.fold(text.len(), usize::saturating_add);
    if bytes > MAX_TEXT_BYTES {
        let message = format!(
            "{bytes} bytes with the overrides and the files that it names; at most {MAX_TEXT_BYTES}"
        );
        return Err(unplaced(String::new(), message));
    }
    Ok(bytes)
}

/// Parses the text and applies the overrides.
fn prepare(text: &str, overrides: &[(String, String)]) -> Result<Table, Vec<Diagnostic>> {
    let printable =
        |issues: Vec<Diagnostic>| issues.into_iter().map(Diagnostic::printable).collect();
    let mut document = document::parse(text).map_err(printable)?;
    let mut issues = Vec::new();
    for (key, value) in overrides {
        if let Err(issue) = overrides::apply(&mut document, key, document::parse_value(value)) {
            issues.push(issue);
        }
    }
    if issues.is_empty() { Ok(document) } else { Err(printable(issues)) }
}

/// Errors, and how many more there are than are reported.
pub(crate) struct Found {
    errors: Vec<UnlocatedDiagnostic>,
    omitted: usize,
}

impl From<Vec<UnlocatedDiagnostic>> for Found {
    fn from(mut errors: Vec<UnlocatedDiagnostic>) -> Found {
        let omitted = errors.len().saturating_sub(MAX_ERRORS);
        errors.truncate(MAX_ERRORS);
        Found { errors, omitted }
    }
}

/// Turns a document into a checked file with all defaults.
fn read(document: &Table) -> Result<File, Found> {
    let mut reader = Reader::following(profile(document));
    reader.known_keys(document, &File::keys());
    let file = File::read_table(document, &mut reader);
    if let Some(file) = &file {
        check::intervals(file, document, &mut reader);
        check::tcp_options(file, &mut reader);
    }
    let file = file.map(resolve::resolve);
    check::topologies(document, &mut reader);
    if let Some(file) = &file {
        check::whole(file, &mut reader);
    }
    match file {
        Some(file) if reader.errors.is_empty() => Ok(file),
        _ => Err(Found { errors: reader.errors, omitted: reader.omitted }),
    }
}

/// The profile, which options anywhere in the file follow; the default where it cannot be read.
fn profile(document: &Table) -> Profile {
    let set = document.get("profile");
    set.and_then(|node| Profile::read(node, &mut Reader::default())).unwrap_or_default()
}

/// Errors with their places, in the order of the file.
fn locate(found: Found, document: &Table, text: &str) -> Vec<Diagnostic> {
    let lines = Lines::of(text);
    let issue = |error: UnlocatedDiagnostic| {
        let at = document::locate(document, &error.path).map(|offset| lines.position(offset));
        Diagnostic {
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            key: toml_text::dotted(&error.path),
            message: error.message,
            suggestion: error.suggestion,
        }
    };
    let mut issues: Vec<Diagnostic> = found.errors.into_iter().map(issue).collect();
    issues.sort_by_key(|issue| (issue.line, issue.column));
    issues.dedup();
    if found.omitted > 0 {
        issues.push(Diagnostic::more(found.omitted));
    }
    issues.into_iter().map(Diagnostic::printable).collect()
}

fn unplaced(key: String, message: String) -> Diagnostic {
    Diagnostic { line: None, column: None, key, message, suggestion: None }
}
