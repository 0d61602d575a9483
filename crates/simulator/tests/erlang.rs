//! Calls at the scale of Figure 7.2.3, 460 and more at once, compared with queueing theory.
//!
//! Frames are 5 s apart instead of 40 ms: packets do not matter for counting calls, and a run of 3,000 s takes a tenth
//! of a second. A call ends with the first frame due at or after the end of its holding time. A constant time of 100 s
//! therefore remains 100 s, and an exponential time with a mean of 97.479 s = -5 s / ln(1 - 5/100) ends with equal
//! probability at each frame: on average after 100 s.

use crate::common;

use common::statistics::{Mean, mean};
use common::{plan_with, runs};
use tidegate_simulator::output::RunOutput;

const CALLS: &str = r#"
version = 1
warm_up = "500 s"
duration = "2500 s"
sample_interval = "off"
[bottleneck]
rate = "100 Mb/s"
delay = "10 ms"
buffer = "1000 packets"
[users.site]
start = "0 s"
traffic = { kind = "calls", rate = "480 b/s", every = "1 s", holding = "100 s", frame_interval = "5 s" }
"#;

const TIMES: [(&str, &str); 2] = [("\"fixed\"", "\"100 s\""), ("\"exponential\"", "\"97479 ms\"")];

fn reported(output: &RunOutput, what: &str) -> f64 {
    let table = &output.applications;
    let row = table.what.iter().position(|one| *one == what).expect("the only flow reports it");
    table.amount[row]
}

/// Runs twenty seeds at an offered load, with this distribution of holding times.
fn twenty(load: u32, (distribution, holding): (&str, &str), admission: &str) -> Vec<RunOutput> {
    let every = format!("\"{} ns\"", 100_000_000_000_u64 / u64::from(load));
    let overrides = [
        ("users.site.traffic.every", &*every),
        ("users.site.traffic.distribution", distribution),
        ("users.site.traffic.holding", holding),
        ("users.site.traffic.admission", admission),
    ];
    runs(&plan_with(CALLS, &overrides), 1..=20)
}

/// Returns the mean over runs of a value of each.
fn over(runs: &[RunOutput], of: impl Fn(&RunOutput) -> f64) -> Mean {
    mean(&runs.iter().map(of).collect::<Vec<_>>())
}

fn erlang_b(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |blocked, number| {
        let busier = load * blocked;
        busier / (f64::from(number) + busier)
    })
}

/// Blocking is correlated over time, so each run counts as one sample: its blocking ratio is one of twenty independent
/// values. The confidence interval of their mean contains the value of the formula, and not those for ten servers more
/// or fewer.
#[test]
fn a_counter_of_460_blocks_as_erlang_says_whatever_the_distribution_of_times() {
    let mut distances = Vec::new();
    for load in [460, 500, 560, 620] {
        let of = |servers| erlang_b(servers, f64::from(load));
        for times in TIMES {
            let runs = twenty(load, times, "{ kind = \"counter\", limit = 460 }");
            assert_eq!(over(&runs, |run| reported(run, "most_calls")).value, 460.0);
            let blocking = over(&runs, |run| reported(run, "blocking"));
            let off = blocking.value - of(460);
            let at = format!("{load} Erlang, {times:?}: {blocking:?} for {:.4}", of(460));
            assert!(blocking.ci95 < 0.006, "{at}");
            // Of eight intervals of 95 % one misses in one case of three; these are of 99.5 %.
            assert!(off.abs() < 1.51 * blocking.ci95, "{at}");
            for others in [450, 470] {
                assert!((blocking.value - of(others)).abs() > blocking.ci95, "{others}; {at}");
            }
            distances.push(off / blocking.ci95);
        }
    }
    // The mean over all eight has no bias.
    let lean = distances.iter().sum::<f64>() / distances.len() as f64;
    assert!(lean.abs() < 1.0 / (distances.len() as f64).sqrt(), "{distances:?}");
}

/// The number of calls without admission control is Poisson distributed: mean and variance are 460, for any
/// distribution of holding times. The variance within a run lacks that of its mean.
#[test]
fn calls_without_control_have_a_mean_and_a_variance_of_460() {
    for times in TIMES {
        let runs = twenty(460, times, "\"none\"");
        assert_eq!(over(&runs, |run| reported(run, "blocked")).value, 0.0);
        let calls = over(&runs, |run| reported(run, "calls"));
        assert!(calls.ci95 < 4.6 && (calls.value - 460.0).abs() < calls.ci95, "{calls:?}");
        let squares = over(&runs, |run| {
            let off = reported(run, "calls") - 460.0;
            reported(run, "calls_variance") + off * off
        });
        let off = (squares.value - 460.0).abs();
        assert!(squares.ci95 < 92.0 && off < squares.ci95, "{squares:?}");
    }
}
