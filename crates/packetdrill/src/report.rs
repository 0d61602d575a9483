//! What became of many scripts: a table, sums, and a file for the documentation.

use std::fmt::Write;

use crate::mistake::Mistake;
use crate::player::Verdict;

/// One script.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its path below the folder that was asked for.
    pub script: String,
    /// What became of it; a mistake of its own, if it could not be read.
    pub verdict: Result<Verdict, Mistake>,
}

impl Outcome {
    /// `passed`, `failed`, `outside` or `mistaken`.
    pub fn word(&self) -> &'static str {
        match &self.verdict {
            Ok(Verdict::Passed) => "passed",
            Ok(Verdict::Failed { .. }) => "failed",
            Ok(Verdict::Outside { .. }) => "outside",
            Err(_) => "mistaken",
        }
    }

    /// Why, with the line; nothing if it passed.
    pub fn why(&self) -> Option<(usize, &str)> {
        match &self.verdict {
            Ok(Verdict::Passed) => None,
            Ok(Verdict::Failed { line, message }) => Some((*line, message)),
            Ok(Verdict::Outside { line, reason }) => Some((*line, reason)),
            Err(mistake) => Some((mistake.line, &mistake.message)),
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
    if count("mistaken") > 0 {
        let _ = write!(text, ", {} could not be read", count("mistaken"));
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
            })
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&rows).unwrap_or_default();
    text.push('\n');
    text
}
