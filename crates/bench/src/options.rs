//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::prelude::*;

const USAGE: &str = "usage: tidegate-bench SCENARIO.toml [--time SECONDS] [--seed N] [--set KEY=VALUE]... [--digest]";

/// Options of a run.
#[derive(Debug, Default, PartialEq)]
pub struct BenchOptions {
    /// Scenario file.
    pub scenario: PathBuf,
    /// Simulated seconds instead of the file's duration.
    pub time_s: Option<f64>,
    /// Seed instead of the file's.
    pub seed: Option<u64>,
    /// Overrides of keys of the file.
    pub set: Vec<(String, String)>,
    /// Print the digest of the file's own run, warm-up included, and nothing else.
    pub digest: bool,
}

impl BenchOptions {
    /// Reads the arguments after the program's name.
    pub fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<BenchOptions, String> {
        BenchOptions::parse(lexopt::Parser::from_args(args))
            .map_err(|error| format!("{error}\n{USAGE}"))
    }

    fn parse(mut args: lexopt::Parser) -> Result<BenchOptions, lexopt::Error> {
        let mut options = BenchOptions::default();
        let mut scenario = None;
        while let Some(arg) = args.next()? {
            match arg {
                Long("time") => options.time_s = Some(args.value()?.parse()?),
                Long("seed") => options.seed = Some(args.value()?.parse()?),
                Long("set") => options.set.push(args.value()?.parse_with(key_and_value)?),
                Long("digest") => options.digest = true,
                Value(path) if scenario.is_none() => scenario = Some(PathBuf::from(path)),
                _ => return Err(arg.unexpected()),
            }
        }
        options.scenario = scenario.ok_or("which scenario?")?;
        Ok(options)
    }

    /// Returns all overrides of the scenario file. The duration is one of them, so that keys that depend on it (the
    /// sample interval) follow.
    pub fn overrides(&self) -> Vec<(String, String)> {
        let duration = self.time_s.map(|time_s| ("duration".into(), format!("\"{time_s} s\"")));
        self.set.iter().cloned().chain(duration).collect()
    }
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().into(), value.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<BenchOptions, String> {
        BenchOptions::from_args(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_option_is_read() {
        let options =
            parse("s1.toml --time 0.001 --seed 7 --set users.heavy.flows=20 --digest").unwrap();
        assert!(options.digest);
        assert_eq!(options.scenario, PathBuf::from("s1.toml"));
        assert_eq!((options.time_s, options.seed), (Some(0.001), Some(7)));
        let want = [("users.heavy.flows", "20"), ("duration", "\"0.001 s\"")];
        assert_eq!(options.overrides(), want.map(|(key, value)| (key.into(), value.into())));
    }

    #[test]
    fn without_options_the_file_stands_as_it_is() {
        assert_eq!(parse("s1.toml").unwrap().overrides(), []);
    }

    #[test]
    fn errors_are_reported() {
        for (line, want) in [
            ("", "which scenario?\nusage"),
            ("s1.toml s2.toml", "unexpected argument \"s2.toml\""),
            ("s1.toml --fast", "invalid option '--fast'"),
            ("s1.toml --seed", "missing argument for option '--seed'"),
            ("s1.toml --seed one", "\"one\""),
            ("s1.toml --set flows", "expected KEY=VALUE"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(want), "'{line}': {error}");
        }
    }
}
