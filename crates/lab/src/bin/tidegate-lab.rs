//! One run of a scenario on real Linux: scenario in on standard input, JSON out.
//!
//! This is the engine behind `tidegate lab`, which repeats it, sums up and draws.

use std::io::Read;
use std::process::ExitCode;

use tidegate_lab::host::IpVersion;
use tidegate_lab::lab::{self, LabOptions};
use tidegate_lab::load::Generator;
use tidegate_lab::{check, examine, output, realtime};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;

const USAGE: &str = "\
usage: tidegate-lab run --seed N [--ip 4|6] [--generator own] [--progress] [--verbose]
       tidegate-lab examine [--ip 4|6] [--generator own]
       tidegate-lab check
`run` reads a scenario from standard input and writes its tables as JSON; `examine` says what of a
scenario cannot be run and what a kernel does its own direction, `check` what this machine lacks for any.
All are what `tidegate lab` calls.";

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
        ["examine", options @ ..] => match parse(options) {
            Some(options) => examine(options),
            None => fail(2, USAGE),
        },
        ["--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => fail(2, USAGE),
    }
}

fn parse(words: &[&str]) -> Option<LabOptions> {
    let mut options = LabOptions {
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

fn run(options: LabOptions) -> ExitCode {
    if !realtime::end_with_parent() {
        return fail(1, "the program that wanted this run is gone");
    }
    let plan = match read() {
        Ok(plan) => plan,
        Err(code) => return code,
    };
    match lab::run(&plan, options) {
        Ok(run) => {
            println!("{}", output::document(&plan, &run, options));
            ExitCode::SUCCESS
        }
        Err(error) => fail(error.exit_code(), &error.to_string()),
    }
}

fn examine(options: LabOptions) -> ExitCode {
    match read() {
        Ok(plan) => {
            println!("{}", examine::report(&plan, options.ip, options.generator));
            ExitCode::SUCCESS
        }
        Err(code) => code,
    }
}

/// The plan of the scenario on standard input, or the code to end with.
fn read() -> Result<Plan, ExitCode> {
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        return Err(fail(1, &format!("standard input: {error}")));
    }
    let scenario = Scenario::parse(&text, &[]).map_err(|issues| {
        let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
        fail(3, &lines.join("\n"))
    })?;
    Ok(scenario.plan())
}

fn fail(code: u8, text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::from(code)
}
