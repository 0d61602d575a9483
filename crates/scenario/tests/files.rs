//! Tests of the scenario files of the project, and of the schema that describes them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tidegate_scenario::{DataFile, Scenario, schema};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns name and text of each file in a folder of the project.
fn files(folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join(folder)).expect(folder);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("readable");
        (path.display().to_string(), text)
    };
    let files: Vec<_> = paths.into_iter().map(read).collect();
    assert!(!files.is_empty(), "{folder} is empty");
    files
}

fn all_files() -> Vec<(String, String)> {
    [files("scenarios"), files("scenarios/lab"), files("sweeps")].concat()
}

/// Reads a scenario, and the files that it names beside it.
fn parse(name: &str, text: &str) -> Scenario {
    let folder = Path::new(name).parent().expect("a file lies in a folder");
    let read = |file: DataFile| {
        let content = fs::read_to_string(folder.join(&file.name)).expect("readable");
        (file.key, format!("{content:?}"))
    };
    let given: Vec<_> = Scenario::data_files(text, &[]).into_iter().map(read).collect();
    Scenario::parse(text, &given).unwrap_or_else(|issues| panic!("{name}: {issues:#?}"))
}

#[test]
fn all_scenarios_have_a_plan_and_resolve_to_the_same_one() {
    for (name, text) in all_files() {
        let scenario = parse(&name, &text);
        let resolved = scenario.to_toml();
        assert_eq!(scenario.plan(), parse(&name, &resolved).plan(), "{name}");
        assert!(scenario.description().is_some(), "{name} has no description");
    }
}

#[test]
fn sweeps_are_in_a_folder_of_their_own() {
    for (name, text) in files("scenarios") {
        assert!(parse(&name, &text).points().is_empty(), "{name}");
    }
    for (name, text) in files("sweeps") {
        assert!(parse(&name, &text).points().len() > 1, "{name}");
    }
}

/// Editors use the committed file. `UPDATE=1 cargo test` rewrites it.
#[test]
fn the_committed_schema_is_in_step() {
    let path = root().join("schema/scenario-v1.json");
    let want = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &want).expect("writable");
    }
    let have = fs::read_to_string(&path).unwrap_or_default();
    assert!(have == want, "{} is out of step; run UPDATE=1 cargo test", path.display());
}

#[test]
fn all_scenarios_resolved_or_not_match_the_schema() {
    let schema = schema();
    for (name, text) in all_files() {
        for text in [parse(&name, &text).to_toml(), text] {
            let document: toml::Table = text.parse().expect("valid TOML");
            let document = serde_json::to_value(document).expect("JSON");
            if let Err(message) = matches(&document, &schema, &schema) {
                panic!("{name}: {message}");
            }
        }
    }
}

#[test]
fn the_schema_refuses_what_the_parser_refuses() {
    let schema = schema();
    for (key, value) in [
        ("version", "2"),
        ("colour", "\"blue\""),
        ("bottleneck", "{ rate = 10 }"),
        ("bottleneck", "{ rate = \"10 Mb/s\", aqm = { kind = \"none-of-these\" } }"),
        ("bottleneck", "{ rate = \"10 Mb/s\", loss = 1.5 }"),
        ("users", "{}"),
        ("users", "{ a = { flows = 0 } }"),
    ] {
        let rest =
            [("version", "1"), ("bottleneck", "{ rate = \"1 Mb/s\" }"), ("users", "{ a = {} }")];
        let rest = rest.iter().filter(|(other, _)| *other != key);
        let lines = rest.map(|(key, value)| format!("{key} = {value}\n")).collect::<String>();
        let text = format!("{lines}{key} = {value}\n");
        assert!(Scenario::parse(&text, &[]).is_err(), "the parser takes {text}");
        let document: toml::Table = text.parse().expect("valid TOML");
        let document = serde_json::to_value(document).expect("JSON");
        assert!(matches(&document, &schema, &schema).is_err(), "the schema takes {text}");
    }
}

/// Implements the part of JSON Schema that our schema uses, without patterns.
fn matches(value: &Json, schema: &Json, root: &Json) -> Result<(), String> {
    let fail = |what: &str| Err(format!("{value} {what}"));
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect(reference);
        matches(value, target, root)?;
    }
    let count = |list: &Json| {
        let schemas = list.as_array().expect("a list of schemas");
        schemas.iter().filter(|schema| matches(value, schema, root).is_ok()).count()
    };
    match schema.as_object().expect("a schema is an object") {
        s if s.contains_key("oneOf") && count(&schema["oneOf"]) != 1 => {
            return fail("is not one of");
        }
        s if s.contains_key("anyOf") && count(&schema["anyOf"]) == 0 => {
            return fail("is not any of");
        }
        s if s.contains_key("const") && schema["const"] != *value => {
            return fail("is not the constant");
        }
        _ => {}
    }
    if schema["enum"].as_array().is_some_and(|list| !list.contains(value)) {
        return fail("is not in the list");
    }
    let type_fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some(other) => panic!("unknown type {other}"),
        None => true,
    };
    if !type_fits {
        return fail("has another type");
    }
    match value {
        Json::Object(_) => object_matches(value, schema, root),
        Json::Array(items) => {
            let each = |item: &Json| match schema.get("items") {
                Some(schema) => matches(item, schema, root),
                None => Ok(()),
            };
            items.iter().try_for_each(each)
        }
        Json::Number(number) => {
            let number = number.as_f64().expect("finite");
            let low = schema["minimum"].as_f64().is_some_and(|min| number < min);
            let high = schema["maximum"].as_f64().is_some_and(|max| number > max);
            if low || high { fail("is out of bounds") } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

fn object_matches(value: &Json, schema: &Json, root: &Json) -> Result<(), String> {
    let object = value.as_object().expect("an object");
    if object.len() < schema["minProperties"].as_u64().unwrap_or(0) as usize {
        return Err(format!("{value} is too small"));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for key in required.filter_map(Json::as_str) {
        if !object.contains_key(key) {
            return Err(format!("{value} has no {key}"));
        }
    }
    for (key, value) in object {
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (Some(schema), _) => matches(value, schema, root).map_err(|e| format!("{key}: {e}"))?,
            (None, Json::Bool(false)) => return Err(format!("unknown key {key}")),
            (None, Json::Null) => {}
            (None, schema) => matches(value, schema, root).map_err(|e| format!("{key}: {e}"))?,
        }
    }
    Ok(())
}
