//! The scenario file of a capture.

use std::fmt::Write;

use tidegate_mechanisms::fixed_point::MAX_ACTIVITY;
use tidegate_mechanisms::units::Span;

use crate::capture::{Group, Picture, Traffic};
use crate::control::Mode;
use crate::maps::{Direction, SETTINGS_WORDS, word};

/// q₀ where there was no signal.
const TARGET_NS: u64 = 15_000_000;
/// The least queue that a scenario gets: full packets.
const LEAST_QUEUE_BYTES: f64 = 20.0 * 1500.0;

/// What of the gateway's parameters a scenario has.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Uploads or downloads.
    pub direction: Direction,
    /// In which mode the gateway was.
    pub mode: Mode,
    /// Words of the programs.
    pub settings: [u64; SETTINGS_WORDS],
    /// q₀ of the signal, ns; 0 if there was none.
    pub target_ns: u64,
}

/// The file.
pub fn write(picture: &Picture, about: &About) -> String {
    let mut text = String::new();
    write_all(&mut text, picture, about).expect("strings take everything");
    text
}

fn write_all(text: &mut String, picture: &Picture, about: &About) -> std::fmt::Result {
    comment(text, picture, about)?;
    let queue_bytes = picture.queue_bytes.max(LEAST_QUEUE_BYTES).round();
    let target_ns = if about.target_ns > 0 { about.target_ns } else { TARGET_NS };
    let words = &about.settings;
    let gamma = digits(words[word::ABC] as f64 / 65_536.0);
    let weight = 1.0 - words[word::ABC + 1] as f64 / f64::from(1 << 20);
    let weight = (weight * 1e6).round() / 1e6;
    writeln!(
        text,
        r#"
version = 1
name = "captured"
description = "What a gateway saw of {direction}s in {seconds:.0} s"
warm_up = "20 s"
duration = "60 s"

[bottleneck]
rate = "{rate}"
delay = "20 ms"
buffer = "{queue_bytes} B"
# PIE stands for the gateway's PI2, which the simulator has in the scheduler dualpi2 alone.
aqm = {{ kind = "pie", target = "{target}", derandomised = false }}
ecn = {ecn}
differentiation = {{ kind = "abc", gamma = {gamma:?}, activity_weight = {weight} }}

[access]
rate = "{access}"

# What was seen, if the gateway only observed.
[variants.without]
bottleneck.aqm = "drop-tail"
bottleneck.ecn = false
bottleneck.differentiation = "none""#,
        direction = about.direction.word(),
        seconds = picture.seconds,
        rate = rate_text(picture.rate_bps),
        target = Span::from_nanos(target_ns),
        ecn = words[word::ECN] == 1,
        access = rate_text((10.0 * picture.rate_bps).max(1e9)),
    )?;
    let mut names = Names::default();
    for group in &picture.groups {
        write_group(text, group, &names.next(group), words)?;
    }
    Ok(())
}

fn comment(text: &mut String, picture: &Picture, about: &About) -> std::fmt::Result {
    let word = about.direction.word();
    let steady = picture.groups.iter().filter(|group| group.activity > 0);
    let steady: u64 = steady.map(|group| group.count).sum();
    writeln!(
        text,
        "# What tidegate-gateway saw of {} customers' {word}s in {:.0} s while it was to {}.\n#",
        picture.customers,
        picture.seconds,
        about.mode.word()
    )?;
    let percent = 100.0 * picture.full_share;
    match (picture.is_heard, picture.is_full) {
        (false, _) => {
            writeln!(text, "# The signal said nothing, so that the rate of the link is not known.")
        }
        (true, false) => writeln!(
            text,
            "# The link was full in {percent:.0} % of the samples, so that its rate is not known."
        ),
        (true, true) => writeln!(
            text,
            "# The link was full in {percent:.0} % of the samples; its queue's delay was {:.1} ms in the\n\
             # median and {:.1} ms at the 95th percentile. {steady} customers were active all the time.",
            1e3 * picture.delays_s[0],
            1e3 * picture.delays_s[1],
        ),
    }?;
    if !picture.is_full {
        writeln!(
            text,
            "# Below it is the highest rate that was seen: set bottleneck.rate. Steady customers keep their rates."
        )?;
    }
    writeln!(
        text,
        "#\n# Not seen, and assumed here:\n\
         # - the round trip: bottleneck.delay is half of it;\n\
         # - flows: the customers who get least have one, and one with k times their rate has k, as a full link\n\
         #   shares without a mechanism;\n\
         # - who does not adapt: a customer that fills the link with datagrams is here one with TCP."
    )?;
    if about.mode == Mode::Enforce {
        writeln!(
            text,
            "# - the rates are those under ABC, so that flows are too few: capture while only observing."
        )?;
    }
    Ok(())
}

/// Names of groups that say what is in them, and differ.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn next(&mut self, group: &Group) -> String {
        let word = match group.traffic {
            Traffic::Flows(_) | Traffic::Rate => format!("activity-{}", group.activity),
            Traffic::Bursts { .. } => "bursts".to_owned(),
            Traffic::Background => "background".to_owned(),
        };
        let same = self.0.iter().filter(|name| **name == word).count();
        self.0.push(word.clone());
        if same == 0 { word } else { format!("{word}-terms-{}", same + 1) }
    }
}

fn write_group(
    text: &mut String,
    group: &Group,
    name: &str,
    words: &[u64; SETTINGS_WORDS],
) -> std::fmt::Result {
    writeln!(text, "\n# {} each.\n[users.{name}]", rate_text(group.rate_bps))?;
    writeln!(text, "count = {}", group.count)?;
    match group.traffic {
        Traffic::Flows(flows) => writeln!(text, "flows = {flows}")?,
        Traffic::Rate => {
            let rate = rate_text(group.rate_bps);
            writeln!(text, r#"traffic = {{ kind = "cbr", rate = "{rate}" }}"#)?;
        }
        Traffic::Bursts { bits, pause_s } => writeln!(
            text,
            r#"traffic = {{ kind = "transfer", size = "{:.0} B", pause = "{:.0} ms", pause_distribution = "exponential" }}"#,
            (bits / 8.0).max(1.0),
            (1e3 * pause_s).max(1.0),
        )?,
        Traffic::Background => {
            let rate = rate_text(group.rate_bps);
            writeln!(text, r#"traffic = {{ kind = "udp", rate = "{rate}" }}"#)?;
        }
    }
    writeln!(
        text,
        r#"meter = {{ reference_rate = "{}", inertia = "{}", burst_allowance = "{} B" }}"#,
        exact(group.reference_bps),
        Span::from_nanos(words[word::METER + 3] / MAX_ACTIVITY),
        words[word::BURST],
    )
}

fn exact(bps: u64) -> String {
    match bps % 1000 {
        0 => format!("{} kb/s", bps / 1000),
        _ => format!("{bps} b/s"),
    }
}

/// A rate, to three digits.
pub fn rate_text(rate_bps: f64) -> String {
    let rate = rate_bps.max(1.0);
    match rate {
        1e6.. => format!("{} Mb/s", digits(rate / 1e6)),
        1e3.. => format!("{} kb/s", digits(rate / 1e3)),
        _ => format!("{} b/s", rate.round()),
    }
}

/// A number to three digits; those before the point are kept.
fn digits(value: f64) -> f64 {
    let scale = match value {
        100.0.. => 1.0,
        10.0.. => 10.0,
        1.0.. => 100.0,
        _ => 1000.0,
    };
    (value * scale).round() / scale
}
