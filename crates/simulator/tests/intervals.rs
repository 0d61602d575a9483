//! A measurement in parts: the parts make up the whole, and do not change it.

mod common;

use common::plan_with;

const SCENARIO: &str = include_str!("../../../scenarios/s2-red-ecn.toml");

#[test]
fn intervals_add_up_to_the_whole_and_leave_it_as_it_is() {
    let whole = [("warm_up", "\"1 s\""), ("duration", "\"4 s\"")];
    let parts = [
        ("warm_up", "\"1 s\""),
        ("duration", "\"4 s\""),
        ("intervals", "{ count = 4, length = \"1 s\" }"),
    ];
    let whole = tidegate_simulator::run(&plan_with(SCENARIO, &whole), 3);
    let parts = tidegate_simulator::run(&plan_with(SCENARIO, &parts), 3);
    assert!(whole.intervals.groups.interval.is_empty());
    assert_eq!(whole.digest, parts.digest);
    assert_eq!(whole.flows.throughput_bps, parts.flows.throughput_bps);

    let (groups, links) = (&parts.intervals.groups, &parts.intervals.links);
    let sum = |column: &[f64]| column.iter().sum::<f64>();
    let throughput = sum(&parts.flows.throughput_bps);
    assert!((sum(&groups.throughput_bps) / 4.0 / throughput - 1.0).abs() < 1e-9);
    let row = common::link(&parts, "bottleneck");
    assert_eq!(whole.links.p95_sojourn_s[row], parts.links.p95_sojourn_s[row]);
    assert_eq!(links.interval, [0, 1, 2, 3]);
    assert!((sum(&links.utilization) / 4.0 - parts.links.utilization[row]).abs() < 1e-9);
    let backlog = sum(&links.mean_backlog_packets) / 4.0;
    assert!((backlog / parts.links.mean_backlog_packets[row] - 1.0).abs() < 1e-9);
}
