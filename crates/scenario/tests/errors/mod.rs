//! Messages for invalid files.

mod lints;
mod networks;
mod overrides;
mod senders;
mod streams;
mod values;

use tidegate_scenario::{Diagnostic, Scenario};

fn issues(text: &str) -> Vec<Diagnostic> {
    Scenario::parse(text, &[]).expect_err("the file has errors")
}

fn messages(text: &str) -> Vec<String> {
    issues(text).iter().map(Diagnostic::to_string).collect()
}

/// Returns a valid file, in which one line is replaced or added.
fn with(section: &str, line: &str) -> String {
    let key = line.split('=').next().unwrap_or("").trim();
    let mut text = String::new();
    let mut here = section.is_empty();
    if here {
        text.push_str(&format!("{line}\n"));
    }
    for original in BASE.lines() {
        if original.starts_with('[') {
            here = original == format!("[{section}]");
        }
        let replaced = here && original.split('=').next().unwrap_or("").trim() == key;
        if !replaced {
            text.push_str(&format!("{original}\n"));
        }
        if here && original.starts_with('[') {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

const BASE: &str = "version = 1
warm_up = \"1 s\"
[bottleneck]
rate = \"10 Mb/s\"
[access]
[tcp]
[users.a]
flows = 2
";

#[test]
fn the_base_of_these_tests_is_valid() {
    Scenario::parse(BASE, &[]).expect("valid");
}

fn overridden(overrides: &[(&str, &str)]) -> Result<Scenario, Vec<String>> {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(BASE, &overrides)
        .map_err(|issues| issues.iter().map(Diagnostic::to_string).collect())
}
