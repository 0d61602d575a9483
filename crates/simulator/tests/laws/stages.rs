//! Laws of stages: marks, tokens and drops.

use std::collections::BTreeSet;
use tidegate_mechanisms::stage::conex_policer::Buckets;
use tidegate_mechanisms::stage::{ConexPolicerParams, PolicerCurve, StageParams};
use tidegate_mechanisms::units::{TokenRate, Tokens};
use tidegate_scenario::plan::Plan;
use tidegate_simulator::output::RunOutput;

use super::seconds;

/// Whether stages may mark packets as well.
pub fn stages_mark(plan: &Plan) -> bool {
    let of_links = plan.links.iter().flat_map(|link| link.ingress.iter().chain(&link.egress));
    let of_users = plan.stages.iter().map(|stage| &stage.params);
    of_links.chain(of_users).any(StageParams::writes_header)
}

/// Returns the stages with their names in tables.
pub fn all_stages(plan: &Plan) -> Vec<(String, &StageParams)> {
    let mut all: Vec<_> =
        plan.stages.iter().map(|stage| (stage.name.clone(), &stage.params)).collect();
    for link in &plan.links {
        for (end, row) in [("ingress", &link.ingress), ("egress", &link.egress)] {
            let named = |(i, params)| (format!("{}.{end}.{i}", link.name), params);
            all.extend(row.iter().enumerate().map(named));
        }
    }
    all
}

/// A bucket never passes more tokens than its inflow, its depth and its permitted debt.
pub fn policers_take_no_more_than_they_may(plan: &Plan, output: &RunOutput) {
    let table = &output.stages;
    for (name, params) in all_stages(plan) {
        let StageParams::ConexPolicer(params) = params else { continue };
        let taken = (0..table.value.len()).filter(|&row| {
            table.stage[row] == name && table.count[row].starts_with("tokens_taken")
        });
        let taken = taken.map(|row| (table.user[row], table.value[row] as f64));
        let most = most_tokens(params, seconds(plan));
        let (mut all, mut users) = (0.0, 0);
        for (user, taken) in taken {
            assert!(taken <= most, "{name} took {taken} of user {user}, not {most}");
            (all, users) = (all + taken, users + 1);
        }
        let buckets = if params.buckets == Buckets::One { 1.min(users) } else { users };
        assert!(all <= f64::from(buckets) * most, "{name} took {all} of {buckets} buckets");
    }
}

/// Returns r t + d + e in the bucket's unit: packets, or bytes.
fn most_tokens(params: &ConexPolicerParams, seconds: f64) -> f64 {
    let count = |tokens: Tokens| match tokens {
        Tokens::Packets { thousandths } => thousandths as f64 / 1e3,
        Tokens::Bytes(bytes) => bytes.as_f64(),
    };
    let per_second = match params.fill_rate {
        TokenRate::Packets { thousandths_per_sec } => thousandths_per_sec as f64 / 1e3,
        TokenRate::Bits(rate) => rate.as_bps() as f64 / 8.0,
    };
    let depth = count(params.depth);
    let owed = match (params.floor, params.curve) {
        (Some(floor), _) => count(floor),
        (None, PolicerCurve::Mild) => depth / 10.0,
        (None, _) => depth,
    };
    // Counts are integers at either end.
    per_second * seconds + depth + owed + 1.0
}

/// Returns the drops of all stages, except those of links on reverse paths.
pub fn dropped_by_stages(plan: &Plan, output: &RunOutput, back: &BTreeSet<u32>) -> u64 {
    let is_on_reverse_path = |stage: &str| {
        let of =
            |number: &u32| stage.starts_with(&format!("{}.e", plan.links[*number as usize].name));
        back.iter().any(of)
    };
    let table = &output.stages;
    let drops = (0..table.value.len()).filter(|&row| {
        table.count[row].starts_with("dropped: ") && !is_on_reverse_path(&table.stage[row])
    });
    drops.map(|row| table.value[row]).sum()
}
