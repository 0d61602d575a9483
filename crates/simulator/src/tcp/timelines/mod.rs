//! Timelines: transmissions of a connection over time, driven by hand and compared with a text file.
//!
//! ```text
//! == one segment of ten is lost                   a timeline and its name
//! with initial_window=10                          options over the profile "classic" by the RFCs; the
//!                                                 profile as it is begins with "ns2"
//!      0 ms  open            > SYN                an event and what is sent because of it
//!    100 ms  answer          > 0-9                segments 0 to 9
//!    200 ms  ack 1 sack 3-5  > 1r, 10  cwnd 5     1 goes out again; the window is 5 now
//!    420 ms  timeout        > 1r      cwnd 1     an action of a timer, without an event; so are
//!                                                 "probe", "late" (reordering), "release" (pacing) and
//!                                                 "delayed"
//! ```
//!
//! With ConEx, `4r+L+E+C` is a retransmission that declares a loss, a mark and credit; with re-ECN, `4+P` is a positive
//! packet.
//!
//! Segments have 1460 bytes (1448 with timestamps). `#` begins a comment. If a timeline differs, the test prints the
//! measured one.

pub(super) mod bench;

use bench::Bench;
use tidegate_mechanisms::units::Time;

/// Replays all timelines of a file.
fn replay(file: &str) {
    let mut failures = String::new();
    for section in file.split("\n== ").skip(1) {
        let (name, body) = section.split_once('\n').expect("a timeline has lines");
        let lines: Vec<String> = body.lines().map(normalised).filter(|l| !l.is_empty()).collect();
        let measured = measure(&lines);
        if measured != lines {
            failures += &format!("== {name}\n{}\n", layout(&measured, &lines));
        }
    }
    assert!(failures.is_empty(), "these timelines differ (!); measured was:\n\n{failures}");
}

/// Returns a line without its comment, with single spaces between words.
fn normalised(line: &str) -> String {
    let line = line.split('#').next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Performs the events among the lines. Returns the lines with the measured results.
fn measure(lines: &[String]) -> Vec<String> {
    let (options, events) = match lines.split_first() {
        Some((first, rest)) if first.starts_with("with") => (first.as_str(), rest),
        _ => ("", lines),
    };
    let mut bench = Bench::new(options.trim_start_matches("with"));
    let mut measured: Vec<String> =
        Some(options).filter(|o| !o.is_empty()).map(str::to_owned).into_iter().collect();
    for line in events {
        let (time, rest) = line.split_once(" ms ").expect("a line begins with a time in ms");
        let event = rest.split(" >").next().unwrap_or_default();
        let event = event.split(" cwnd").next().unwrap_or_default();
        if ["timeout", "probe", "late", "release", "delayed"].contains(&event) {
            continue;
        }
        let time = Time::from_nanos((time.parse::<f64>().expect("ms") * 1e6) as u64);
        while let Some((at, name, report)) = bench.fire(time) {
            if !report.is_empty() {
                measured.push(written(at, name, &report));
            }
        }
        measured.push(written(time, event, &bench.perform(time, event)));
    }
    measured
}

fn written(at: Time, event: &str, report: &str) -> String {
    let arrow = if report.is_empty() || report.starts_with(" cwnd") { "" } else { " > " };
    format!("{} ms {event}{arrow}{report}", at.as_nanos() as f64 / 1e6)
}

/// Formats lines in columns; those that differ from the expectation begin with an exclamation mark.
fn layout(measured: &[String], expected: &[String]) -> String {
    let mut text = String::new();
    for line in measured {
        let mark = if expected.contains(line) { ' ' } else { '!' };
        let Some((time, rest)) = line.split_once(" ms ") else {
            text += &format!("{line}\n");
            continue;
        };
        let (rest, cwnd) = match rest.split_once(" cwnd ") {
            Some((rest, cwnd)) => (rest, format!("cwnd {cwnd}")),
            None => (rest, String::new()),
        };
        let (event, sent) = rest.split_once(" > ").unwrap_or((rest, ""));
        let sent = if sent.is_empty() { String::new() } else { format!("> {sent}") };
        let line = format!("{mark}{time:>8} ms  {event:<26} {sent:<20} {cwnd}");
        text += &format!("{}\n", line.trim_end());
    }
    text
}

#[test]
fn connections_open_and_slow_start_doubles_the_window() {
    replay(include_str!("slow_start.trace"));
}

#[test]
fn selective_acknowledgements_recover_losses_within_one_window() {
    replay(include_str!("fast_recovery.trace"));
}

#[test]
fn losses_are_detected_by_the_time_at_which_segments_were_sent() {
    replay(include_str!("rack.trace"));
}

#[test]
fn a_timeout_by_time_loses_late_segments_and_is_undone_if_it_was_spurious() {
    replay(include_str!("loss_by_time.trace"));
}

#[test]
fn segments_leave_in_bursts_of_which_the_last_is_pushed() {
    replay(include_str!("bursts.trace"));
}

#[test]
fn paced_segments_leave_at_the_pacing_rate() {
    replay(include_str!("pacing.trace"));
}

#[test]
fn bbr_paces_its_first_window_and_conserves_packets_in_recovery() {
    replay(include_str!("bbr.trace"));
}

#[test]
fn a_pause_of_the_application_shrinks_the_window() {
    replay(include_str!("pauses.trace"));
}

#[test]
fn without_selective_acknowledgements_one_loss_is_recovered_per_round_trip() {
    replay(include_str!("without_sack.trace"));
}

#[test]
fn timeouts_double_and_start_over_with_one_segment() {
    replay(include_str!("timeout.trace"));
}

#[test]
fn congestion_marks_halve_the_window_once() {
    replay(include_str!("ecn.trace"));
}

#[test]
fn ns2_has_rules_of_its_own() {
    replay(include_str!("ns2.trace"));
}

#[test]
fn scalable_senders_answer_to_the_share_of_marked_segments() {
    replay(include_str!("scalable.trace"));
}

#[test]
fn feedback() {
    replay(include_str!("feedback.trace"));
}

#[test]
fn accurate_feedback() {
    replay(include_str!("accurate.trace"));
}

#[test]
fn what_was_met_of_congestion_is_declared() {
    replay(include_str!("conex.trace"));
}
