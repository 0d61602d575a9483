//! Mechanisms under a key of another category, and names of queues that other programs have.

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::parameters::{Alternatives, Choice};
use tidegate_mechanisms::stage::StageParams;

use crate::document::{Node, Value};

/// Returns the key of a mechanism that is not offered here, such as FQ-CoDel as an AQM.
pub(crate) fn belongs_elsewhere(node: &Node, here: &Alternatives) -> Option<String> {
    let named = match &node.value {
        Value::Table(table) => &table.get("kind")?.value,
        name => name,
    };
    let Value::Text(written) = named else { return None };
    // No mechanism has a much longer name.
    if written.len() > 64 || here.kinds.iter().any(|kind| letters(kind.0) == letters(written)) {
        return None;
    }
    let keys = [
        ("aqm", "an aqm", AqmParams::KINDS),
        ("differentiation", "a differentiation", DifferentiationParams::KINDS),
        ("scheduler", "a scheduler", SchedulerParams::KINDS),
        ("ingress", "a stage", StageParams::KINDS),
    ];
    keys.iter().find_map(|(key, what, kinds)| {
        let (name, _, _) = kinds.iter().find(|kind| letters(kind.0) == letters(written))?;
        let table = format!("{{ kind = \"{name}\" }}");
        let value = if *key == "ingress" { format!("[{table}]") } else { table };
        Some(format!("\"{written}\" is {what}; write {key} = {value}"))
    })
}

/// What a queue of `tc` or ns-3 is here, by its normalized names: `Ok` if there is the same with other keys, else the
/// nearest that there is.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &["pfifo", "bfifo", "pfifofast", "droptail", "taildrop", "pfifoheaddrop"],
        "is a queue without an AQM: write aqm = \"drop-tail\", the default, and its limit as buffer = \"1000 packets\"",
    ),
    (
        &["sfq"],
        "is a round robin over flows, here without hash: write scheduler = { kind = \"drr\", queues = \"by-flow\" } and buffer = \"127 packets\"",
    ),
    (
        &["fq"],
        "paces senders, which here do it themselves (tcp.pacing), and serves flows in turns: the nearest is scheduler = { kind = \"drr\", queues = \"by-flow\" }",
    ),
    (
        &["cobalt"],
        "is the AQM of CAKE's queues: write scheduler = { kind = \"cake\", isolation = \"flowblind\", tins = \"besteffort\" } for a single queue",
    ),
    (
        &["fqpie", "fqcobalt"],
        "is not here; the nearest is scheduler = \"fq-codel\", a queue for each flow with CoDel; PIE on a single queue is aqm = \"pie\"",
    ),
    (
        &["pi2", "l4s", "dualq", "dualpi"],
        "is here as the pair of queues of RFC 9332: write scheduler = \"dualpi2\"",
    ),
    (
        &["ared", "gred", "wred"],
        "is not here by that name; the nearest are aqm = { kind = \"adaptive-red\" } and aqm = { kind = \"red\" }",
    ),
    (
        &["choke", "sfb", "blue", "hhf"],
        "is not here; the nearest are aqm = \"pie\" on one queue and scheduler = \"fq-codel\" with a queue for each flow",
    ),
    (
        &["tbf", "tokenbucket"],
        "is a stage in front of the queue: write ingress = [{ kind = \"shaper\", rate = \"10 Mb/s\", buckets = \"one\" }]",
    ),
    (
        &["htb", "hfsc", "cbq"],
        "is here as scheduler = { kind = \"htb\" }, with a commit and a ceiling for each group of users",
    ),
    (
        &["prio", "ets", "mqprio", "strictpriority"],
        "is not here; priorities by DSCP are those of scheduler = { kind = \"cake\", tins = \"diffserv4\" }",
    ),
    (
        &["wfq", "qfq", "wrr", "dwrr"],
        "is here as a round robin with weights: write scheduler = { kind = \"drr\" }, and weight = 2 for a group of users",
    ),
    (
        &["netem"],
        "is not a queue: the link has the keys delay, jitter, loss, duplicate and reorder",
    ),
];

/// Returns what a queue that other programs have is here, for an AQM or a scheduler of that name.
pub(crate) fn named_elsewhere(node: &Node, here: &Alternatives) -> Option<String> {
    if ![AqmParams::NAME, SchedulerParams::NAME].contains(&here.name) {
        return None;
    }
    let named = match &node.value {
        Value::Table(table) => &table.get("kind")?.value,
        name => name,
    };
    let Value::Text(written) = named else { return None };
    if written.len() > 64 || here.kinds.iter().any(|kind| letters(kind.0) == letters(written)) {
        return None;
    }
    let name = letters(written);
    let (_, message) = ELSEWHERE.iter().find(|(names, _)| names.contains(&&*name))?;
    Some(format!("\"{written}\" {message}"))
}

/// Returns the word that is meant by one with underscores, such as fq-codel by fq_codel, its name in `tc`.
pub(crate) fn same_name<'a>(
    written: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = written.replace('_', "-");
    words.into_iter().find(|word| *word == name)
}

/// Normalizes a name: fq_codel, FQ-CoDel and fqcodel are equal.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn read(line: &str) -> Result<String, String> {
        let text =
            format!("version = 1\nusers.a = {{}}\n[bottleneck]\nrate = \"10 Mb/s\"\n{line}\n");
        match Scenario::parse(&text, &[]) {
            Ok(scenario) => Ok(scenario.to_toml()),
            Err(errors) => Err(errors[0].to_string()),
        }
    }

    /// A line of the message that follows "write" is valid itself.
    #[test]
    fn names_of_other_programs_lead_to_what_there_is() {
        for (name, wanted) in [
            ("pfifo", "aqm = \"drop-tail\""),
            ("pfifo_fast", "aqm = \"drop-tail\""),
            ("sfq", "scheduler = { kind = \"drr\", queues = \"by-flow\" }"),
            ("fq", "scheduler = { kind = \"drr\", queues = \"by-flow\" }"),
            (
                "cobalt",
                "scheduler = { kind = \"cake\", isolation = \"flowblind\", tins = \"besteffort\" }",
            ),
            ("fq_pie", "scheduler = \"fq-codel\""),
            ("pi2", "scheduler = \"dualpi2\""),
            ("choke", "scheduler = \"fq-codel\""),
            ("hfsc", "scheduler = { kind = \"htb\""),
            ("wfq", "scheduler = { kind = \"drr\" }"),
            ("tbf", "ingress = [{ kind = \"shaper\", rate = \"10 Mb/s\", buckets = \"one\" }]"),
            ("netem", "delay, jitter, loss"),
            ("prio", "scheduler = { kind = \"cake\", tins = \"diffserv4\" }"),
        ] {
            for key in ["scheduler", "aqm"] {
                for line in
                    [format!("{key} = \"{name}\""), format!("{key} = {{ kind = \"{name}\" }}")]
                {
                    let message = read(&line).expect_err("is not here");
                    assert!(message.contains(wanted), "{line}: {message}");
                }
            }
            if wanted.contains(" = ") && !wanted.contains("htb") {
                read(wanted).unwrap_or_else(|error| panic!("{wanted}: {error}"));
            }
        }
    }

    #[test]
    fn names_of_tc_are_names_here_if_they_mean_the_same() {
        let same = read("scheduler = \"fq-codel\"");
        assert!(same.is_ok());
        assert_eq!(read("scheduler = \"fq_codel\""), same);
        assert_eq!(read("scheduler = { kind = \"fq_codel\" }"), same);
        let message = read("aqm = \"fq_codel\"").expect_err("is a scheduler");
        assert!(message.contains("write scheduler = { kind = \"fq-codel\" }"), "{message}");
        let message = read("scheduler = \"pie\"").expect_err("is an AQM");
        assert!(message.contains("write aqm = { kind = \"pie\" }"), "{message}");
    }
}
