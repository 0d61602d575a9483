//! What must hold for any scenario file and any overrides. The fuzz targets and the tests of
//! `crates/scenario` share it.

use tidegate_scenario::Scenario;

/// More characters of an error than anybody reads.
const MAX_SHOWN: usize = 1_700;

/// The answer is a scenario with a plan, or errors that can be read.
pub fn survives(text: &str, overrides: &[(String, String)]) {
    match Scenario::parse(text, overrides) {
        Ok(scenario) => resolves(&scenario),
        Err(issues) => {
            assert!(!issues.is_empty() && issues.len() <= 101, "{} errors", issues.len());
            for line in issues.iter().map(ToString::to_string) {
                assert!(!line.is_empty() && line.chars().count() <= MAX_SHOWN, "{line}");
                assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
            }
        }
    }
}

/// What it resolves to is a scenario, and the same one.
fn resolves(scenario: &Scenario) {
    let resolved = scenario.to_toml();
    let again = Scenario::parse(&resolved, &[]);
    let again = again.unwrap_or_else(|issues| panic!("{resolved}\n{issues:#?}"));
    assert_eq!(resolved, again.to_toml());
    let plan = scenario.plan();
    assert!(plan.flows.iter().all(|flow| !flow.forward.is_empty()));
    for warning in scenario.warnings() {
        assert!(!warning.to_string().is_empty());
    }
}
