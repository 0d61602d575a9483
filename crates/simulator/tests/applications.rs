//! What applications hand over, seen from the far end.

mod common;

use common::{link, plan_with};
use tidegate_simulator::run;

const ON_OFF: &str = r#"
version = 1
profile = "classic"
warm_up = "0 s"
duration = "40 s"
sample_interval = "500 ms"
[bottleneck]
rate = "10 Mb/s"
delay = "1 ms"
buffer = "20 packets"
[users.one]
start = "0 s"
traffic = { kind = "on-off", on = "1 s", off = "3 s", distribution = "fixed", rate = "6 Mb/s" }
"#;

/// 500 packets of 12,000 bits in the second in which it is on, ten times.
#[test]
fn a_rate_that_goes_on_and_off_is_sent_for_its_share_of_the_time() {
    let output = run(&plan_with(ON_OFF, &[]), 1);
    assert_eq!(output.flows.packets_delivered[0], 5_000);
    for (half_second, &bps) in output.group_series.throughput_bps.iter().enumerate() {
        // But for the two or three packets that are on their way at the ends.
        let want = if half_second % 8 < 2 { 6e6 } else { 0.0 };
        assert!((bps - want).abs() < 0.1e6, "in half second {half_second}: {bps}");
    }
}

/// Ten times the link is filled for a second, and the queue of up to 40 packets runs empty afterwards.
#[test]
fn tcp_that_goes_on_and_off_takes_the_link_while_it_is_on() {
    let traffic = r#"{ kind = "on-off", on = "1 s", off = "3 s", distribution = "fixed" }"#;
    let overrides = [
        ("users.one.traffic", traffic),
        ("bottleneck.buffer", "\"60 packets\""),
        ("tcp.window_limit", "\"60 kB\""),
    ];
    let output = run(&plan_with(ON_OFF, &overrides), 1);
    let used = output.links.utilization[link(&output, "bottleneck")];
    assert!((0.24..0.265).contains(&used), "{used}");
    assert_eq!((output.flows.timeouts[0], output.flows.retransmits[0]), (0, 0));
    let series = &output.group_series.throughput_bps;
    let silent = series.iter().enumerate().filter(|(i, bps)| i % 8 > 2 && **bps > 0.0).count();
    assert_eq!(silent, 0, "nothing is left half a second after it went off");
}

/// A thousand times on and off: 3 seconds of 4 it is on, but for chance, whose deviation is 1.1 percent
/// points.
#[test]
fn exponential_times_have_the_means_that_were_asked_for() {
    let traffic = r#"{ kind = "on-off", on = "30 ms", off = "10 ms", rate = "4 Mb/s" }"#;
    let plan = plan_with(ON_OFF, &[("users.one.traffic", traffic)]);
    let share = run(&plan, 1).flows.throughput_bps[0] / 4e6;
    assert!((share - 0.75).abs() < 0.045, "{share}");
    assert_ne!(run(&plan, 2).flows.throughput_bps[0] / 4e6, share);
}
