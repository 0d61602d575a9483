//! Scenario file: schema, units, validation, and the resulting plan.
//!
//! ```text
//! text ─ document ─► tree with positions ─ file ─► typed sections ─ resolve ─► all defaults
//!                       ▲ overrides                                            │ check
//!                                        plan::Plan ◄─ layout, network ◄───────┘
//! ```
//!
//! [`Scenario::parse`] finds all errors at once; a valid scenario always has a [`Plan`].

mod buffers;
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
pub mod trace;
mod traffic;
mod tunnels;
mod typed_overlay;
mod value;
mod variants;

pub use data_files::DataFile;
pub use file_schema::schema;
pub use issue::Diagnostic;

use document::{Lines, Table};
use field::{Field, Reader, Section, UnlocatedDiagnostic};
use file::{File, Profile};
use issue::MAX_ERRORS;
use plan::Plan;
use variants::Variants;

/// Valid scenario: a file with overrides and defaults applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    file: File,
    points: Vec<Vec<(String, String)>>,
    simulator_lacks: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

/// Maximum size of a file, bytes.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// Maximum size of a text with its overrides, and of a scenario written with all defaults, bytes: what was written can
/// be read again.
pub const MAX_TEXT_BYTES: usize = 16 << 20;

/// Maximum number of overrides.
pub const MAX_OVERRIDES: usize = 10_000;

/// Size below which a text is never too long when written with all defaults, bytes.
const SHORT_BYTES: usize = 64 << 10;

impl Scenario {
    /// Reads a file. An override is a dotted key and the text of its value, in TOML or, for a text, without the quotes:
    /// `("bottleneck.rate", "10 Mb/s")`. It may only name existing groups and links, unless its key begins with the
    /// word `add`: `("add users.guest.flows", "2")`.
    ///
    /// # Errors
    ///
    /// All errors, in the order of the file.
    pub fn parse(text: &str, overrides: &[(String, String)]) -> Result<Scenario, Vec<Diagnostic>> {
        Self::prepared(text, overrides, |_| Ok(()))
    }

    /// Returns the data files that a file and its overrides name; none if the file is unreadable, which
    /// [`Scenario::parse`] reports.
    pub fn data_files(text: &str, overrides: &[(String, String)]) -> Vec<DataFile> {
        data_files::named(text, overrides)
    }

    /// Reads one variant of a file, or with no name what the file itself has, and a point of its sweep if the overrides
    /// include the point's: as [`Scenario::parse`], but without variants and the sweep, all of which that function
    /// tries. The variant wins over the overrides.
    ///
    /// # Errors
    ///
    /// All errors, in the order of the file.
    pub fn parse_variant(
        text: &str,
        overrides: &[(String, String)],
        variant: Option<&str>,
    ) -> Result<Scenario, Vec<Diagnostic>> {
        Self::prepared(text, overrides, |document| {
            document.0.retain(|(key, _)| key != "sweep");
            let issues = variants::choose(document, variant);
            if issues.is_empty() { Ok(()) } else { Err(issues) }
        })
    }

    fn prepared(
        text: &str,
        overrides: &[(String, String)],
        change: impl FnOnce(&mut Table) -> Result<(), Vec<Diagnostic>>,
    ) -> Result<Scenario, Vec<Diagnostic>> {
        let bytes = bounded(text, overrides).map_err(|issue| vec![issue])?;
        let mut document = prepare(text, overrides)?;
        change(&mut document)?;
        let located = |found: Found| locate(found, &document, text);
        let file = read(&document).map_err(located)?;
        if bytes > SHORT_BYTES && toml_text::write(&file.write_table()).len() > MAX_TEXT_BYTES {
            let message = format!(
                "more than {MAX_TEXT_BYTES} bytes when all defaults are filled in, so that no result could be read \
                 again: give fewer groups of more users"
            );
            return Err(vec![unplaced(String::new(), message)]);
        }
        if let Some(variants) = &file.variants {
            variants::check(&document, variants, text.len()).map_err(located)?;
        }
        let points = sweep::points(&document, file.sweep.as_ref(), text.len()).map_err(located)?;
        let simulator_lacks = located(check::simulator_lacks(&file).into());
        let warnings = located(lints::of(&file).into());
        Ok(Scenario { file, points, simulator_lacks, warnings })
    }

    /// Returns the lints: valid, but probably not intended.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Sets the name if the file has none, shortened to the permitted length.
    pub fn or_named(mut self, name: &str) -> Scenario {
        let end = name.floor_char_boundary(check::MAX_NAME_BYTES);
        self.file.name.get_or_insert_with(|| name[..end].to_owned());
        self
    }

    /// Returns the features of the scenario that the simulator does not have, with alternatives. If there are any, the
    /// plan must not be simulated.
    pub fn simulator_lacks(&self) -> &[Diagnostic] {
        &self.simulator_lacks
    }

    /// Returns the plan for an engine.
    pub fn plan(&self) -> Plan {
        layout::plan(&self.file)
    }

    /// Returns the whole scenario as a file without defaults, and without its sweep.
    pub fn to_toml(&self) -> String {
        toml_text::write(&self.file.write_table())
    }

    /// Returns the points of the sweep as overrides, the last key changing fastest; empty without a sweep.
    pub fn points(&self) -> Vec<Vec<(String, String)>> {
        self.points.clone()
    }

    /// Returns the names of the variants, in the order of the file; empty without any.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        self.file.variants.iter().flat_map(Variants::names)
    }

    /// Whether a variant is the file as it stands.
    pub fn is_unchanged(&self, variant: &str) -> bool {
        self.file.variants.as_ref().is_some_and(|variants| variants.is_unchanged(variant))
    }

    /// Returns the short name, if the file has one.
    pub fn name(&self) -> Option<&str> {
        self.file.name.as_deref()
    }

    /// Returns the description, if the file has one.
    pub fn description(&self) -> Option<&str> {
        self.file.description.as_deref()
    }

    /// Returns the seed of the first replication.
    pub fn seed(&self) -> u64 {
        self.file.seed.0
    }

    /// Returns the number of runs to average over.
    pub fn replications(&self) -> u64 {
        self.file.replications.0
    }

    /// Returns the names of the user groups, in the order of the file.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.file.users.entries.iter().map(|(name, _)| name.as_str())
    }
}

/// Returns the total size of a text and its overrides, or an error if it exceeds the limit.
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
        if let Err(issue) =
            overrides::apply(&mut document, key, document::parse_value(value).into())
        {
            issues.push(issue);
        }
    }
    if issues.is_empty() { Ok(document) } else { Err(printable(issues)) }
}

/// Errors, and the number of errors omitted.
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

/// Returns the profile, which determines defaults anywhere in the file; the default profile if it is invalid.
fn profile(document: &Table) -> Profile {
    let set = document.get("profile");
    set.and_then(|node| Profile::read(node, &mut Reader::default())).unwrap_or_default()
}

/// Adds positions to errors, and sorts them in the order of the file.
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
