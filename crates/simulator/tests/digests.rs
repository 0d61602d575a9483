//! Digest of each scenario file in the repository: a change that moves packets shows here, and its reason belongs in
//! the change log. `UPDATE=1 cargo test` rewrites the list.

use crate::common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use common::plan;
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::Plan;
use tidegate_scenario::{DataFile, Scenario};
use tidegate_simulator::run;

const LIST: &str = "tests/data/digests.txt";
const FOLDERS: [&str; 3] = ["scenarios", "studies/fidelity", "studies/league/situations"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first three seconds: enough for slow start, losses and retransmissions, and short enough for a test.
fn beginning(plan: Plan) -> Plan {
    let second = Span::from_secs(1);
    Plan {
        warm_up: plan.warm_up.min(second),
        duration: plan.duration.min(second * 2),
        drain_limit: plan.drain_limit.min(second),
        intervals: 1,
        sample_interval: None,
        ..plan
    }
}

fn files(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).expect("a folder of the repository");
    let name = |path: PathBuf| format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
    let paths = entries.map(|entry| entry.expect("a file").path());
    let tables = paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let mut names: Vec<String> = tables.map(name).collect();
    names.sort();
    names
}

/// One flow of each kind of sender on each kind of queue, since no file has all combinations.
fn senders() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for profile in ["linux", "classic", "linux-2.6.29"] {
        for (control, ecn) in [("reno", true), ("reno", false), ("cubic", true), ("dctcp", true)] {
            for recovery in ["rack", "sack", "fack", "newreno", "reno"] {
                let name = format!("{profile} {control} {recovery} ecn={ecn}");
                let text = format!(
                    "version = 1\nprofile = \"{profile}\"\nwarm_up = \"1 s\"\nduration = \"2 s\"\n\
                     [tcp]\ncongestion_control = \"{control}\"\nloss_recovery = \"{recovery}\"\n\
                     ecn = {ecn}\n\
                     [bottleneck]\nrate = \"5 Mb/s\"\ndelay = \"10 ms\"\nbuffer = \"40 packets\"\n\
                     loss = 0.005\necn = {ecn}\n\
                     aqm = {{ kind = \"red\", min_threshold = \"7.5 kB\", max_threshold = \"30 kB\", \
                     max_probability = 0.1 }}\n\
                     [users.all]\nflows = 4\n"
                );
                all.push((name, text));
            }
        }
    }
    all
}

#[test]
fn every_scenario_does_what_it_did() {
    let mut have = String::new();
    for file in FOLDERS.into_iter().flat_map(files) {
        let text = std::fs::read_to_string(root().join(&file)).expect("readable");
        // Files that explain results are no scenarios.
        if !text.lines().any(|line| line.starts_with("version = ")) {
            continue;
        }
        let path = root().join(&file);
        let read = |data: DataFile| {
            let content = std::fs::read_to_string(path.with_file_name(&data.name));
            (data.key, format!("{:?}", content.expect("readable")))
        };
        let given: Vec<_> = Scenario::data_files(&text, &[]).into_iter().map(read).collect();
        let scenario =
            Scenario::parse(&text, &given).unwrap_or_else(|issues| panic!("{file}: {issues:#?}"));
        let plan = beginning(scenario.plan());
        writeln!(have, "{}  {file}", run(&plan, 1).digest).expect("a string");
    }
    for (name, text) in senders() {
        writeln!(have, "{}  {name}", run(&plan(&text), 1).digest).expect("a string");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &have).expect("writable");
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    let differ: Vec<&str> =
        have.lines().filter(|line| !want.lines().any(|other| other == *line)).collect();
    assert!(
        have == want,
        "{LIST} is out of step. Does something else than before:\n{}\nIf that is meant, UPDATE=1 cargo test \
         rewrites the list; CHANGELOG.md gets the reason.",
        differ.join("\n")
    );
}
