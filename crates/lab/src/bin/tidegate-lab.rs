//! One run of a scenario on real Linux: scenario on standard input, JSON on standard output.
//!
//! This is the engine of `tidegate lab`, which repeats runs, aggregates and plots.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use lexopt::prelude::*;
use tidegate_lab::host::IpVersion;
use tidegate_lab::lab::{self, LabOptions};
use tidegate_lab::load::Generator;
use tidegate_lab::{check, examine, output, realtime};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;

const USAGE: &str = "\
usage: tidegate-lab run --seed N [--ip 4|6] [--generator own|iperf3] [--progress] [--verbose]
       tidegate-lab examine [--ip 4|6] [--generator own|iperf3]
       tidegate-lab check
       tidegate-lab exec PROGRAM [ARGUMENT...]
`run` reads a scenario from standard input and writes its tables as JSON; `examine` reports what of a scenario cannot be run and what a kernel does differently, `check` what this machine lacks for any.
`exec` runs another program in its place, which ends with its caller. All are what `tidegate lab` calls.";

fn main() -> ExitCode {
    match parse(lexopt::Parser::from_env()) {
        Ok(Request::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Request::Check) => {
            println!("{}", check::report());
            ExitCode::SUCCESS
        }
        Ok(Request::Run(options)) => run(options),
        Ok(Request::Examine(options)) => examine(options),
        Ok(Request::Exec(words)) => exec(&words),
        Err(error) => fail(2, &format!("{error}\n{USAGE}")),
    }
}

/// Request of the command line.
enum Request {
    Help,
    Check,
    Run(LabOptions),
    Examine(LabOptions),
    Exec(Vec<OsString>),
}

fn parse(mut args: lexopt::Parser) -> Result<Request, lexopt::Error> {
    let mut options = LabOptions {
        seed: 1,
        ip: IpVersion::V4,
        generator: Generator::Own,
        progress: false,
        verbose: false,
    };
    let mut command = None;
    while let Some(arg) = args.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Request::Help),
            Long("progress") => options.progress = true,
            Long("verbose") => options.verbose = true,
            Long("seed") => options.seed = args.value()?.parse()?,
            Long("ip") => options.ip = args.value()?.parse_with(ip_version)?,
            Long("generator") => options.generator = args.value()?.parse_with(generator)?,
            Value(word) if command.is_none() && word == "exec" => {
                return Ok(Request::Exec(args.raw_args()?.collect()));
            }
            Value(word) if command.is_none() => command = Some(word.string()?),
            _ => return Err(arg.unexpected()),
        }
    }
    match command.as_deref() {
        Some("check") => Ok(Request::Check),
        Some("run") => Ok(Request::Run(options)),
        Some("examine") => Ok(Request::Examine(options)),
        _ => Err("expected run, examine, check or exec".into()),
    }
}

fn ip_version(word: &str) -> Result<IpVersion, &'static str> {
    match word {
        "4" => Ok(IpVersion::V4),
        "6" => Ok(IpVersion::V6),
        _ => Err("expected 4 or 6"),
    }
}

fn generator(word: &str) -> Result<Generator, &'static str> {
    match word {
        "own" => Ok(Generator::Own),
        "iperf3" => Ok(Generator::Iperf3),
        _ => Err("expected own or iperf3"),
    }
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

/// Replaces this process by another program; returns only on failure.
fn exec(words: &[OsString]) -> ExitCode {
    if !realtime::end_with_parent() {
        return fail(1, "the program that wanted this run is gone");
    }
    let Some((program, arguments)) = words.split_first() else {
        return fail(2, &format!("exec: which program?\n{USAGE}"));
    };
    let error = Command::new(program).args(arguments).exec();
    fail(1, &format!("{}: {error}", program.display()))
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

/// Reads the plan of the scenario on standard input, or returns the exit code.
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
