//! What became of many scripts: a table, sums, and a file for the documentation.

use std::fmt::Write;

use crate::error::ScriptError;
use crate::player::{ScriptVerdict, TICKS};

/// One script.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its path below the folder that was asked for.
    pub script: String,
    /// What became of it, and the ticks a second of the clock; an error of its own, if it could not be read.
    pub verdict: Result<(ScriptVerdict, u32), ScriptError>,
}

impl Outcome {
    /// `passed`, `failed`, `outside` or `errorn`.
    pub fn word(&self) -> &'static str {
        match &self.verdict {
            Ok((ScriptVerdict::Passed, _)) => "passed",
            Ok((ScriptVerdict::Failed { .. }, _)) => "failed",
            Ok((ScriptVerdict::Outside { .. }, _)) => "outside",
            Err(_) => "errorn",
        }
    }

    /// Ticks a second, if it passes only with a clock that is not the first.
    pub fn other_ticks(&self) -> Option<u32> {
        let ticks = self.verdict.as_ref().ok().map(|(_, ticks)| *ticks);
        ticks.filter(|ticks| *ticks != TICKS[0])
    }

    /// Why, with the line; nothing if it passed.
    pub fn why(&self) -> Option<(usize, &str)> {
        match &self.verdict {
            Ok((ScriptVerdict::Passed, _)) => None,
            Ok((ScriptVerdict::Failed { line, message }, _)) => Some((*line, message)),
            Ok((ScriptVerdict::Outside { line, reason }, _)) => Some((*line, reason)),
            Err(error) => Some((error.line, &error.message)),
        }
    }
}

/// A line for each script.
pub fn table(outcomes: &[Outcome]) -> String {
    let width = outcomes.iter().map(|outcome| outcome.script.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for outcome in outcomes {
        let _ = write!(text, "{:<width$}  {}", outcome.script, outcome.word());
        if let Some((line, why)) = outcome.why() {
            let _ = write!(text, " at line {line}: {why}");
        }
        if let Some(ticks) = outcome.other_ticks() {
            let _ = write!(text, " with {ticks} ticks a second");
        }
        text.push('\n');
    }
    text
}

/// How many of each kind.
pub fn sums(outcomes: &[Outcome]) -> String {
    let count = |word: &str| outcomes.iter().filter(|outcome| outcome.word() == word).count();
    let mut text = format!(
        "{} scripts: {} passed, {} failed, {} outside the model",
        outcomes.len(),
        count("passed"),
        count("failed"),
        count("outside"),
    );
    if count("errorn") > 0 {
        let _ = write!(text, ", {} could not be read", count("errorn"));
    }
    text
}

/// All of it, for whoever writes pages from it.
pub fn json(outcomes: &[Outcome]) -> String {
    let rows: Vec<serde_json::Value> = outcomes
        .iter()
        .map(|outcome| {
            let (line, why) = outcome.why().unzip();
            serde_json::json!({
                "script": outcome.script,
                "verdict": outcome.word(),
                "line": line,
                "why": why,
                "other_ticks": outcome.other_ticks(),
            })
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&rows).unwrap_or_default();
    text.push('\n');
    text
}
