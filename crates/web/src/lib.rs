//! The engine for a page: a question in, an answer out, both as JSON.
//!
//! [`answer`] is the whole interface; compiled to WebAssembly it is reached through `exports`. Questions are objects with
//! a word and its arguments:
//!
//! ```text
//! { "ask": "parse", "text": TOML, "set": [[KEY, VALUE], ...] }            what the scenario is, or its errors
//! { "ask": "edit",  "text": TOML, "key": KEY, "value": VALUE | null }     the text with another value, or without
//! { "ask": "run",   "text": TOML, "set": [...], "seed": "1" }             the tables of a run
//! { "ask": "schema" } { "ask": "columns" }                                what scenarios and tables are made of
//! ```
//!
//! An answer has what was asked for, or `errors` with line and column, or `failure`, a sentence.

mod edit;
#[cfg(target_arch = "wasm32")]
mod exports;
mod parsed;
mod tables;

use serde_json::{Value as Json, json};
use tidegate_scenario::{Diagnostic, Scenario};

/// The version of the engine.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Answers a question. A run calls `report` now and then with the share of it that is done.
pub fn answer(question: &str, report: &mut dyn FnMut(f64)) -> String {
    let given = match serde_json::from_str(question) {
        Ok(question) => question,
        Err(error) => return failure(&format!("the question is no JSON: {error}")).to_string(),
    };
    answered(&given, report).unwrap_or_else(|refusal| refusal).to_string()
}

fn answered(question: &Json, report: &mut dyn FnMut(f64)) -> Result<Json, Json> {
    match question["ask"].as_str() {
        Some("parse") => Ok(parsed::describe(&scenario(question)?)),
        Some("edit") => {
            let value = question["value"].as_str();
            let edited = edit::edit(text(question, "text")?, text(question, "key")?, value);
            edited.map(|text| json!({ "text": text })).map_err(|message| failure(&message))
        }
        Some("run") => {
            let scenario = scenario(question)?;
            if !scenario.simulator_lacks().is_empty() {
                return Err(errors(scenario.simulator_lacks()));
            }
            let seed = text(question, "seed")?.parse().map_err(|_| failure("seed: no number"))?;
            let plan = scenario.plan();
            let output = tidegate_simulator::run_reporting(&plan, seed, &mut |at| report(at.share));
            let output = output.map_err(|stop| failure(&stop.to_string()))?;
            Ok(json!({ "digest": output.digest.clone(), "tables": tables::to_json(output, &plan) }))
        }
        Some("schema") => Ok(json!({ "schema": tidegate_scenario::schema() })),
        Some("columns") => Ok(json!({ "columns": tables::columns() })),
        _ => Err(failure("ask: no such question")),
    }
}

/// The scenario of a question, with what is set.
fn scenario(question: &Json) -> Result<Scenario, Json> {
    let mut overrides = Vec::new();
    for pair in question["set"].as_array().into_iter().flatten() {
        let (Some(key), Some(value)) = (pair[0].as_str(), pair[1].as_str()) else {
            return Err(failure("set: pairs of a key and the text of its value"));
        };
        overrides.push((key.to_owned(), value.to_owned()));
    }
    Scenario::parse(text(question, "text")?, &overrides).map_err(|issues| errors(&issues))
}

fn text<'a>(question: &'a Json, name: &str) -> Result<&'a str, Json> {
    question[name].as_str().ok_or_else(|| failure(&format!("{name}: a text is missing")))
}

fn failure(message: &str) -> Json {
    json!({ "failure": message })
}

fn errors(issues: &[Diagnostic]) -> Json {
    json!({ "errors": diagnostics(issues) })
}

fn diagnostics(issues: &[Diagnostic]) -> Json {
    let one = |issue: &Diagnostic| {
        let Diagnostic { line, column, key, message, suggestion } = issue;
        json!({
            "line": line, "column": column, "key": key, "message": message, "suggestion": suggestion,
            "text": issue.to_string(),
        })
    };
    issues.iter().map(one).collect()
}
