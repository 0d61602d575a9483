//! Networks simulated with and without sectors: all measurements are equal.

use std::sync::Arc;

use proptest::prelude::*;
use tidegate_mechanisms::stage::StageParams;
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::{Greedy, Traffic};

use super::*;

#[path = "../../tests/common/scenarios.rs"]
#[allow(dead_code)]
mod scenarios;

/// Runs a plan with and without sectors. Returns the mean number of events in a batch, if the network has sectors.
fn are_equal(plan: &Plan, seed: u64) -> Option<f64> {
    let mut engine = Engine::new(plan, seed, Receivers::AheadOfTime);
    engine.network.sectors.as_mut()?.accepts_short = true;
    let measured = engine.measure();
    let mean = engine.network.sectors.as_ref().map(|sectors| sectors.mean_events());
    let in_sectors = engine.output(measured);
    let mut engine = Engine::new(plan, seed, Receivers::AheadOfTime);
    engine.network.sectors = None;
    // NaN stands for values never measured and equals nothing but as text.
    assert_eq!(format!("{in_sectors:?}"), format!("{:?}", engine.run()));
    mean
}

/// Returns a plan of the same network with unlimited TCP flows in place of all others, and without what no network with
/// sectors has; `None` if there is no TCP. Stations and delayed acknowledgements remain.
fn simplified(mut plan: Plan) -> Option<Plan> {
    let tcp = plan.flows.iter().find_map(|flow| flow.tcp.clone())?;
    for flow in &mut plan.flows {
        let kind = Arc::make_mut(&mut flow.kind);
        kind.traffic = Traffic::Greedy(Greedy { lasts: None }).into();
        kind.stop = None;
        kind.tcp.get_or_insert_with(|| tcp.clone());
        kind.packet_size = plan.links[0].packet_size;
    }
    for link in &mut plan.links {
        let declared = &mut Arc::make_mut(&mut link.kind).declared;
        declared.ingress.retain(stands_alone);
        declared.egress.retain(stands_alone);
    }
    let marker = Scenario::parse(SCENARIO, &[]).expect("a scenario").plan().stages[0].clone();
    for stage in plan.stages.iter_mut().filter(|stage| !stands_alone(&stage.params)) {
        stage.params = marker.params.clone();
    }
    plan.moves.clear();
    Some(plan)
}

const SCENARIO: &str = r#"
version = 1
[bottleneck]
rate = "10 Mb/s"
[users.one]
ingress = [{ kind = "random-marker", probability = 0.05 }]
"#;

fn stands_alone(params: &StageParams) -> bool {
    let own = params.capabilities();
    !(own.holds || own.takes_reports || own.reports_to.is_some() || params.observes_drops())
        && params.tunnel_end().is_none()
}

proptest! {
    #![proptest_config(scenarios::exact(1000))]

    #[test]
    fn sectors_change_nothing_in_any_scenario(text in scenarios::any_scenario(), seed in 0..1000u64) {
        let plan = Scenario::parse(&text, &[]).expect("a scenario").plan();
        are_equal(&plan, seed);
        if let Some(plan) = simplified(plan) {
            are_equal(&plan, seed);
        }
    }
}

/// Networks that are measured in `bench/`, for a shorter time.
#[test]
fn benchmarks_have_long_batches() {
    let s1 = include_str!("../../../../scenarios/s1-dumbbell.toml");
    let s2 = include_str!("../../../../scenarios/s2-red-ecn.toml");
    let linux = ("profile", "linux");
    let networks = [
        (s1, "20 s", None, 30.0),
        // Delayed acknowledgements make its batches shorter.
        (s1, "20 s", Some(linux), 10.0),
        (s2, "5 s", None, 30.0),
        (s2, "5 s", Some(("bottleneck.aqm.kind", "pie")), 30.0),
        (include_str!("../../../../scenarios/s3-parking-lot.toml"), "0.3 s", None, 30.0),
        (include_str!("../../../../scenarios/s1-dumbbell-abc.toml"), "20 s", None, 15.0),
    ];
    for (text, duration, more, least) in networks {
        let overrides: Vec<_> = [("duration", duration)].into_iter().chain(more).collect();
        let overrides =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), format!("{value:?}")));
        let plan =
            Scenario::parse(text, &overrides.collect::<Vec<_>>()).expect("a scenario").plan();
        let events = are_equal(&plan, 1).expect("it has sectors");
        assert!(events > least, "{events} events in a batch with {more:?} of\n{text}");
    }
}
