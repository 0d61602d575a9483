//! One run of a scenario on real Linux: scenario in on standard input, JSON out.
//!
//! This is the engine behind `tidegate lab`, which repeats it, sums up and draws.

use std::io::Read;
use std::process::ExitCode;

use tidegate_gateway::host::IpVersion;
use tidegate_gateway::lab::{self, Options};
use tidegate_gateway::load::Generator;
use tidegate_gateway::{check, output, realtime};
use tidegate_scenario::Scenario;

const USAGE: &str = "\
usage: tidegate-lab run --seed N [--ip 4|6] [--generator own] [--progress] [--verbose]
       tidegate-lab check
`run` reads a scenario from standard input and writes its tables as JSON; `check` says what this
machine lacks for it. Both are what `tidegate lab` calls.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &words[..] {
        ["check"] => {
            println!("{}", check::report());
            ExitCode::SUCCESS
        }
        ["run", options @ ..] => match parse(options) {
            Some(options) => run(options),
            None => fail(2, USAGE),
        },
        ["--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => fail(2, USAGE),
    }
}

fn parse(words: &[&str]) -> Option<Options> {
    let mut options = Options {
        seed: 1,
        ip: IpVersion::V4,
        generator: Generator::Own,
        progress: false,
        verbose: false,
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--progress" => options.progress = true,
            "--verbose" => options.verbose = true,
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--ip" => {
                options.ip = match *words.next()? {
                    "4" => IpVersion::V4,
                    "6" => IpVersion::V6,
                    _ => return None,
                }
            }
            "--generator" => {
                options.generator = match *words.next()? {
                    "own" => Generator::Own,
                    "iperf3" => Generator::Iperf3,
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    Some(options)
}

fn run(options: Options) -> ExitCode {
    if !realtime::end_with_parent() {
        return fail(1, "the program that wanted this run is gone");
    }
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        return fail(1, &format!("standard input: {error}"));
    }
    let scenario = match Scenario::parse(&text, &[]) {
        Ok(scenario) => scenario,
        Err(issues) => {
            let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
            return fail(3, &lines.join("\n"));
        }
    };
    let plan = scenario.plan();
    match lab::run(&plan, options) {
        Ok(run) => {
            println!("{}", output::document(&plan, &run, options));
            ExitCode::SUCCESS
        }
        Err(error) => fail(error.exit_code(), &error.to_string()),
    }
}

fn fail(code: u8, text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::from(code)
}
