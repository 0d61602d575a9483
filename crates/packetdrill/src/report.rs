//! Verdicts on several scripts: a table, counts, and a file for the documentation.

use std::fmt::Write;

use crate::error::ScriptError;
use crate::player::{ScriptVerdict, TICKS};

/// Outcome of one script.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Path of the script below the requested folder.
    pub script: String,
    /// Verdict and ticks per second of the clock, or a parse error.
    pub verdict: Result<(ScriptVerdict, u32), ScriptError>,
}

impl Outcome {
    /// Returns `passed`, `failed`, `outside` or `errorn`.
    pub fn word(&self) -> &'static str {
        match &self.verdict {
            Ok((ScriptVerdict::Passed, _)) => "passed",
            Ok((ScriptVerdict::Failed { .. }, _)) => "failed",
            Ok((ScriptVerdict::Outside { .. }, _)) => "outside",
            Err(_) => "errorn",
        }
    }

    /// Returns the ticks per second if the script passes only with a clock other than the first.
    pub fn other_ticks(&self) -> Option<u32> {
        let ticks = self.verdict.as_ref().ok().map(|(_, ticks)| *ticks);
        ticks.filter(|ticks| *ticks != TICKS[0])
    }

    /// Returns the line and reason, unless the script passed.
    pub fn why(&self) -> Option<(usize, &str)> {
        match &self.verdict {
            Ok((ScriptVerdict::Passed, _)) => None,
            Ok((ScriptVerdict::Failed { line, message }, _)) => Some((*line, message)),
            Ok((ScriptVerdict::Outside { line, reason }, _)) => Some((*line, reason)),
            Err(error) => Some((error.line, &error.message)),
        }
    }
}

/// Returns a table with a line for each script.
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

/// Returns the number of scripts per verdict.
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

/// Returns all outcomes as JSON, from which the documentation is generated.
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
