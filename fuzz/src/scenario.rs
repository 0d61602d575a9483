//! Properties of any scenario file with any overrides, shared by the fuzz targets and the tests of `crates/scenario`.

use tidegate_scenario::Scenario;

/// Maximum length of an error, characters.
const MAX_SHOWN: usize = 1_700;

/// The answer is a scenario with a plan, or readable errors.
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

/// The scenario written with all defaults is a scenario, and the same one.
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
