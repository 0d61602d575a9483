//! Measurements in intervals: the intervals add up to the whole, and do not change it.

use crate::common;

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

    let flows = &parts.intervals.flows;
    let (in_all, count) = (&parts.flows, parts.flows.flow.len());
    assert_eq!(flows.flow.len(), 4 * count);
    for flow in 0..count {
        let of = |column: &[u64]| column.iter().skip(flow).step_by(count).sum::<u64>();
        assert_eq!(of(&flows.packets_delivered), in_all.packets_delivered[flow]);
        assert_eq!(of(&flows.marks), in_all.marks[flow]);
        assert_eq!(of(&flows.timeouts), in_all.timeouts[flow]);
        let rate = flows.throughput_bps.iter().skip(flow).step_by(count).sum::<f64>() / 4.0;
        assert!((rate - in_all.throughput_bps[flow]).abs() < 1e-3);
        let mean = in_all.mean_cwnd_packets[flow];
        let windows = flows.mean_cwnd_packets.iter().skip(flow).step_by(count);
        let windows = windows.filter(|window| !window.is_nan());
        let (least, most) = windows.fold((f64::MAX, 0.0f64), |(a, b), &w| (a.min(w), b.max(w)));
        assert!(mean.is_nan() || (least..=most).contains(&mean), "{least} {mean} {most}");
    }
}
