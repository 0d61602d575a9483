//! Helpers for tests of whole runs.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod scenarios;
pub mod statistics;

use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::RunOutput;

/// Returns the plan of a scenario with some keys overridden.
pub fn plan_with(text: &str, overrides: &[(&str, &str)]) -> Plan {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(own).collect();
    Scenario::parse(text, &overrides).unwrap_or_else(|issues| panic!("{issues:#?}\n{text}")).plan()
}

/// Returns the plan of a scenario.
pub fn plan(text: &str) -> Plan {
    plan_with(text, &[])
}

/// Runs one plan with several seeds, on two threads; results are in the order of the seeds.
pub fn runs(plan: &Plan, seeds: std::ops::RangeInclusive<u64>) -> Vec<RunOutput> {
    let seeds: Vec<u64> = seeds.collect();
    let (first, second) = seeds.split_at(seeds.len() / 2);
    let run = |seeds: &[u64]| -> Vec<RunOutput> {
        seeds.iter().map(|&seed| tidegate_simulator::run(plan, seed)).collect()
    };
    std::thread::scope(|scope| {
        let half = scope.spawn(|| run(first));
        let rest = run(second);
        half.join().expect("a run failed").into_iter().chain(rest).collect()
    })
}

/// Returns the row of a link.
pub fn link(output: &RunOutput, name: &str) -> usize {
    output.links.name.iter().position(|n| n == name).unwrap_or_else(|| panic!("no link {name}"))
}

/// Returns the whole output of a run as text: equal texts mean equal bits, NaN included.
pub fn whole(output: &RunOutput) -> String {
    format!("{output:?}")
}
