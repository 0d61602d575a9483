//! Data files named by a scenario, such as a video trace: this module finds their names, and does not read them.

use crate::document::{Node, Table, Value};
use crate::prepare;

/// Ending of the name of a data file; any other text is the data itself.
const ENDING: &str = ".csv";

/// Data file named in place of its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Dotted key, such as `users.a.traffic.frames`.
    pub key: String,
    /// Name as given.
    pub name: String,
    /// Whether the scenario file names it, so that it is relative to that file's folder, and not an override.
    pub by_file: bool,
}

pub(crate) fn named(text: &str, overrides: &[(String, String)]) -> Vec<DataFile> {
    let all = || overrides.iter().map(|(_, value)| value.as_str()).chain([text]);
    if !all().any(|text| text.contains(ENDING)) || crate::bounded(text, overrides).is_err() {
        return Vec::new();
    }
    let Ok(document) = prepare(text, overrides) else { return Vec::new() };
    let groups = document.get("users").and_then(table).map(|users| users.0.as_slice());
    groups.unwrap_or_default().iter().filter_map(of_group).collect()
}

fn of_group((name, group): &(String, Node)) -> Option<DataFile> {
    let traffic = table(group)?.get("traffic").and_then(table)?;
    let frames = traffic.get("frames")?;
    let Value::Text(file) = &frames.value else { return None };
    let path = ["users", name, "traffic", "frames"].map(str::to_owned);
    let (key, by_file) = (crate::toml_text::dotted(&path), frames.at.is_some());
    file.ends_with(ENDING).then(|| DataFile { key, name: file.clone(), by_file })
}

fn table(node: &Node) -> Option<&Table> {
    match &node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_where_a_scenario_or_an_override_names_them() {
        let text = "[users.a]\ntraffic = { kind = \"frames\", frames = \"a.csv\" }\n\
                    [users.b.traffic]\nframes = \"5120,I\\n\"\n[users.c]\ntraffic = \"greedy\"\n";
        let files = |overrides: &[(&str, &str)]| {
            let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            let overrides: Vec<_> = overrides.iter().map(owned).collect();
            let found = named(text, &overrides).into_iter();
            found.map(|file| (file.key, file.name, file.by_file)).collect::<Vec<_>>()
        };
        let file = |key: &str, name: &str, by_file| (key.to_owned(), name.to_owned(), by_file);
        let a = file("users.a.traffic.frames", "a.csv", true);
        assert_eq!(files(&[]), std::slice::from_ref(&a));
        let other = file("users.a.traffic.frames", "o.csv", false);
        assert_eq!(files(&[("users.a.traffic.frames", "o.csv")]), [other]);
        let c = file("users.c.traffic.frames", "c.csv", false);
        let whole = ("users.c.traffic", "{ kind = \"frames\", frames = \"c.csv\" }");
        assert_eq!(files(&[whole]), [a, c]);
        assert_eq!(files(&[("users.zz.flows", "1"), ("name", "x.csv")]), []);
        assert_eq!(named("frames = \"a.csv", &[]), []);
    }
}
