//! Runs one scenario once and prints one line of JSON, so that a benchmark or a profiler sees only the simulator: no
//! interpreter, no threads, no files written. With `--digest` it prints the run's digest alone.
//!
//! The whole run is measured, from its start, regardless of the scenario's warm-up: speed is counted in packets of the
//! whole process. `bench/run.py` takes the CPU time from the operating system; there is no clock here.

mod options;
mod report;

use std::process::ExitCode;

use options::BenchOptions;
use tidegate_mechanisms::units::Span;
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;

fn main() -> ExitCode {
    match BenchOptions::from_args(std::env::args_os().skip(1)).and_then(|options| run(&options)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("tidegate-bench: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &BenchOptions) -> Result<String, String> {
    let path = &options.scenario;
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let scenario = Scenario::parse(&text, &options.overrides()).map_err(|issues| {
        let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
        format!("{} is not valid\n{}", path.display(), lines.join("\n"))
    })?;
    let seed = options.seed.unwrap_or_else(|| scenario.seed());
    if options.digest {
        return Ok(tidegate_simulator::run(&scenario.plan(), seed).digest);
    }
    let plan = measured_from_the_start(scenario.plan());
    let output = tidegate_simulator::run(&plan, seed);
    Ok(report::to_json(&plan, &output).to_string())
}

/// Removes warm-up and drain from the plan. This is done after the file is resolved, since start times may be relative
/// to the warm-up.
fn measured_from_the_start(plan: Plan) -> Plan {
    Plan { warm_up: Span::ZERO, drain_limit: Span::ZERO, ..plan }
}
