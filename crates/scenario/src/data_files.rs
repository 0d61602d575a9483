//! Data files named by a scenario, such as a video trace: this module finds their names, and does not read them.

use crate::document::{Node, Table, Value};
use crate::prepare;
use crate::trace::is_file_name;

/// Extension of the name of a file of frames; any other text is the data itself.
const ENDING: &str = ".csv";

/// Keys of links whose text is the name of a file, unless it has several lines.
const OF_LINKS: [&str; 2] = ["trace", "table"];
/// Where links are described.
const LINKS: [&str; 3] = ["bottleneck", "mobile", "links"];
/// Maximum depth of tables of links: `links.NAME.rate.trace`; in a variant two more.
const DEPTH: usize = 4;

/// A file named in place of its content.
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
    let keys = || overrides.iter().map(|(key, _)| key.as_str());
    let all = || overrides.iter().map(|(_, value)| value.as_str()).chain([text]).chain(keys());
    let may_name =
        |text: &str| text.contains(ENDING) || OF_LINKS.iter().any(|key| text.contains(key));
    if !all().any(may_name) || crate::bounded(text, overrides).is_err() {
        return Vec::new();
    }
    let Ok(document) = prepare(text, overrides) else { return Vec::new() };
    let mut files = Vec::new();
    of_scenario(&document, &[], &mut files);
    let variants = document.get(crate::variants::KEY).and_then(table);
    for (name, node) in variants.map_or(&[][..], |variants| &variants.0) {
        if let Some(own) = table(node) {
            of_scenario(own, &[crate::variants::KEY.to_owned(), name.clone()], &mut files);
        }
    }
    files
}

/// Finds the files of a scenario, or of what a variant at `path` replaces in it.
fn of_scenario(document: &Table, path: &[String], files: &mut Vec<DataFile>) {
    let groups = document.get("users").and_then(table).map(|users| users.0.as_slice());
    files.extend(groups.unwrap_or_default().iter().flat_map(|group| of_group(group, path)));
    for name in LINKS {
        if let Some(links) = document.get(name).and_then(table) {
            of_links(links, &mut [path, &[name.to_owned()]].concat(), files);
        }
    }
}

fn of_links(links: &Table, path: &mut Vec<String>, files: &mut Vec<DataFile>) {
    for (key, node) in &links.0 {
        path.push(key.clone());
        match &node.value {
            Value::Table(inner) if path.len() < DEPTH + 2 => of_links(inner, path, files),
            Value::Text(name) if OF_LINKS.contains(&key.as_str()) && is_file_name(name) => {
                files.push(DataFile {
                    key: crate::toml_text::dotted(path),
                    name: name.clone(),
                    by_file: node.at.is_some(),
                });
            }
            _ => {}
        }
        path.pop();
    }
}

/// Keys of a group's traffic that may name a file.
const OF_TRAFFIC: [&[&str]; 3] = [&["frames"], &["arrivals"], &["size", "points"]];

fn of_group((name, group): &(String, Node), path: &[String]) -> Vec<DataFile> {
    let Some(traffic) = table(group).and_then(|group| group.get("traffic")) else {
        return Vec::new();
    };
    let named = |keys: &&[&str]| {
        let node = keys.iter().try_fold(traffic, |node, key| table(node)?.get(key))?;
        let Value::Text(file) = &node.value else { return None };
        let group = ["users", name, "traffic"];
        let own: Vec<_> = group.iter().chain(*keys).map(|&key| key.to_owned()).collect();
        let (key, by_file) = (crate::toml_text::dotted(&[path, &own].concat()), node.at.is_some());
        file.ends_with(ENDING).then(|| DataFile { key, name: file.clone(), by_file })
    };
    OF_TRAFFIC.iter().filter_map(named).collect()
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
        let [sizes, times] = ["users.c.traffic.size.points", "users.c.traffic.arrivals"];
        let whole = "{ size = { kind = \"cdf\", points = \"s.csv\" }, arrivals = \"t.csv\" }";
        let [s, t] = [(sizes, "s.csv"), (times, "t.csv")].map(|(key, name)| file(key, name, false));
        let a = file("users.a.traffic.frames", "a.csv", true);
        assert_eq!(files(&[("users.c.traffic", whole)]), [a, t, s]);
        assert_eq!(files(&[("users.zz.flows", "1"), ("name", "x.csv")]), []);
        assert_eq!(named("frames = \"a.csv", &[]), []);
    }

    #[test]
    fn traces_are_found_at_links() {
        let text = "[bottleneck]\nrate = { trace = \"a.down\" }\ndelay.trace = \"time_s,delay_ms\\n0,1\\n\"\n\
                    [mobile.radio]\nreverse_rate = { trace = \"b.up\" }\n[links.x]\ndelay = { trace = \"c.csv\" }\n\
                    [users.trace]\nname = \"trace\"\n";
        let keys = |overrides: &[(String, String)]| {
            let files = named(text, overrides).into_iter();
            files.map(|file| format!("{} = {}", file.key, file.name)).collect::<Vec<_>>()
        };
        let [a, b, c] = [
            "bottleneck.rate.trace = a.down",
            "mobile.radio.reverse_rate.trace = b.up",
            "links.x.delay.trace = c.csv",
        ];
        assert_eq!(keys(&[]), [a, b, c]);
        let read = ("bottleneck.rate.trace".to_owned(), "\"1\\n\"".to_owned());
        assert_eq!(keys(&[read]), [b, c]);
    }
}
