//! Packet-level simulation in virtual time.

pub mod output;

use output::RunOutput;
use tidegate_scenario::plan::Plan;

/// Runs a plan. The same plan and seed give the same output on any machine.
pub fn run(plan: &Plan, seed: u64) -> RunOutput {
    let _ = plan;
    RunOutput { seed, ..RunOutput::default() }
}
