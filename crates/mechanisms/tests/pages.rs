//! Keeps `docs/mechanisms/` in step with the code.
//!
//! A page has two parts. The upper one, between two markers, is generated from the source file's header and the
//! registry; this test fails if it is out of date, and rewrites it if the environment variable `TIDEGATE_WRITE_PAGES`
//! is set. The lower one, scope and validation, is written by hand; the tests that it names have to exist.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_mechanisms::registry::{self, Category, Mechanism};

const BEGIN: &str = "<!-- Made from the source by `make docs`; edit there. -->";
const END: &str = "<!-- From here on written by hand. -->";

#[test]
fn pages_are_in_step_with_the_source() {
    let mut stale = Vec::new();
    for mechanism in registry::ALL {
        update(&page_file(mechanism.name), &made_part(mechanism), &mut stale);
    }
    update(&page_file("index"), &index(), &mut stale);
    assert!(stale.is_empty(), "out of step: {stale:?}; set TIDEGATE_WRITE_PAGES=1 to rewrite");
}

#[test]
fn every_page_has_its_sections() {
    for mechanism in registry::ALL {
        let page = read(&page_file(mechanism.name));
        for section in ["## Parameters", "## Scope and limits", "## Validation"] {
            assert!(page.contains(section), "{}: no section {section:?}", mechanism.name);
        }
    }
}

/// The last column of the table in a page's last section names the test.
#[test]
fn tests_that_pages_name_exist() {
    let sources = rust_sources(&root().join("crates"));
    for mechanism in registry::ALL {
        let page = read(&page_file(mechanism.name));
        // A page without the section fails in the test above.
        let Some((_, validation)) = page.split_once("## Validation") else { continue };
        let rows = validation.lines().filter(|line| line.starts_with('|')).skip(2);
        let tests: Vec<_> = rows.filter_map(|row| row.rsplit('`').nth(1)).collect();
        assert!(!tests.is_empty(), "{}: names no test", mechanism.name);
        for test in tests {
            let found = match test.ends_with(".py") {
                true => root().join(test).is_file(),
                false => sources.contains(&format!("fn {test}(")),
            };
            assert!(found, "{}: there is no test {test}", mechanism.name);
        }
    }
}

/// Returns the generated part of a page.
fn made_part(mechanism: &Mechanism) -> String {
    let Mechanism { title, source, usage, file, parameters, .. } = mechanism;
    let mut text = format!("# {title}\n\n{}\n\n", for_readers(&mechanism.header()));
    writeln!(text, "Source: {source}. Code: `crates/mechanisms/src/{file}`.\n").unwrap();
    writeln!(text, "In a scenario file:\n\n```toml\n{usage}\n```\n\n## Parameters\n").unwrap();
    if parameters.is_empty() {
        text.push_str("None.\n");
        return text;
    }
    text.push_str("| key | default | unit | meaning |\n|---|---|---|---|\n");
    for p in *parameters {
        writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            p.name,
            p.default,
            p.unit_or_words(),
            p.meaning.trim()
        )
        .unwrap();
    }
    text
}

/// Returns the table of all mechanisms by category, and Sphinx's list of the pages.
fn index() -> String {
    let mut text = String::from("# Mechanisms\n\n");
    for category in Category::ALL {
        writeln!(text, "## {}\n", capitalised(category.as_str())).unwrap();
        text.push_str("| name | what it does | source |\n|---|---|---|\n");
        for m in registry::ALL.iter().filter(|m| m.category == category) {
            let (name, source) = (m.name, m.source);
            let summary = for_readers(&m.summary());
            writeln!(text, "| [`{name}`]({name}.md) | {summary} | {source} |").unwrap();
        }
        text.push('\n');
    }
    text.push_str("```{toctree}\n:hidden:\n\n");
    for m in registry::ALL {
        writeln!(text, "{}", m.name).unwrap();
    }
    text.push_str("```\n");
    text
}

/// Replaces rustdoc's links, which have no target here: "[`Name`]" becomes "`Name`".
fn for_readers(header: &str) -> String {
    header.replace("[`", "`").replace("`]", "`")
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Compares the generated part of `file` with the expected one, and rewrites it on request.
fn update(file: &Path, made: &str, stale: &mut Vec<PathBuf>) {
    let made = format!("{BEGIN}\n\n{made}\n{END}\n");
    let page = fs::read_to_string(file).unwrap_or_default();
    if page.starts_with(&made) {
        return;
    }
    if std::env::var_os("TIDEGATE_WRITE_PAGES").is_none() {
        stale.push(file.to_owned());
        return;
    }
    let by_hand = page.split_once(END).map_or("", |(_, by_hand)| by_hand);
    let by_hand = by_hand.strip_prefix('\n').unwrap_or(by_hand);
    fs::write(file, made + by_hand).expect("page can be written");
}

fn rust_sources(folder: &Path) -> String {
    let mut sources = String::new();
    for entry in fs::read_dir(folder).expect("folder can be read") {
        let path = entry.expect("entry can be read").path();
        if path.is_dir() {
            sources += &rust_sources(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources += &read(&path);
        }
    }
    sources
}

fn page_file(name: &str) -> PathBuf {
    root().join("docs/mechanisms").join(name).with_extension("md")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
