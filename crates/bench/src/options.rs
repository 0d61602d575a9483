//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

const USAGE: &str =
    "usage: tidegate-bench SCENARIO.toml [--time SECONDS] [--seed N] [--set KEY=VALUE]...";

/// What to run.
#[derive(Debug, Default, PartialEq)]
pub struct BenchOptions {
    /// The scenario file.
    pub scenario: PathBuf,
    /// Simulated seconds instead of the file's duration.
    pub time_s: Option<f64>,
    /// Seed instead of the file's.
    pub seed: Option<u64>,
    /// Other values for keys of the file.
    pub set: Vec<(String, String)>,
}

impl BenchOptions {
    /// Reads the arguments that follow the program's name.
    pub fn from_args(mut args: impl Iterator<Item = String>) -> Result<BenchOptions, String> {
        let mut options = BenchOptions::default();
        let mut scenario = None;
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--time" => options.time_s = Some(number(&arg, &value()?)?),
                "--seed" => options.seed = Some(number(&arg, &value()?)?),
                "--set" => options.set.push(key_and_value(&value()?)?),
                flag if flag.starts_with('-') => return Err(format!("unknown {flag}\n{USAGE}")),
                _ if scenario.is_none() => scenario = Some(PathBuf::from(arg)),
                _ => return Err(format!("one scenario only, then '{arg}'\n{USAGE}")),
            }
        }
        options.scenario = scenario.ok_or(USAGE)?;
        Ok(options)
    }

    /// All that the scenario file is overridden with. The duration goes the same way as the rest,
    /// so that what depends on it (the sample interval) follows.
    pub fn overrides(&self) -> Vec<(String, String)> {
        let duration = self.time_s.map(|time_s| ("duration".into(), format!("\"{time_s} s\"")));
        self.set.iter().cloned().chain(duration).collect()
    }
}

fn number<T: FromStr>(flag: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{flag}: expected a number, found '{text}'"))
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("--set: expected KEY=VALUE, found '{text}'"))?;
    Ok((key.trim().into(), value.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<BenchOptions, String> {
        BenchOptions::from_args(line.split_whitespace().map(String::from))
    }

    #[test]
    fn every_option_is_read() {
        let options = parse("s1.toml --time 0.001 --seed 7 --set users.heavy.flows=20").unwrap();
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
    fn errors_are_told() {
        for (line, want) in [
            ("", "usage"),
            ("s1.toml s2.toml", "one scenario only"),
            ("s1.toml --fast", "unknown --fast"),
            ("s1.toml --seed", "--seed needs a value"),
            ("s1.toml --seed one", "expected a number, found 'one'"),
            ("s1.toml --set flows", "expected KEY=VALUE"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(want), "'{line}': {error}");
        }
    }
}
