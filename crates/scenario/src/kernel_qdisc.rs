//! Linux qdisc as the bottleneck's queue, in the lab only.

use serde_json::{Value as Json, json};

use crate::document::{Node, Table, Value};
use crate::field::{Field, Reader, read_choice};
use crate::schema::Definitions;

/// A qdisc by its name in Linux, with options as in `tc`.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelQdisc {
    /// Name, such as `fq_codel`.
    pub kind: &'static str,
    options: Vec<(String, QdiscOption)>,
}

#[derive(Clone, Debug, PartialEq)]
enum QdiscOption {
    /// A flag without a value, such as `dual-srchost`; `false` omits it.
    Word(bool),
    Integer(i128),
    Float(f64),
    Text(String),
}

/// Supported kinds: those that have a rate, or can be children of one that has, and keep the order of a flow's packets.
const KINDS: &[&str] = &[
    "bfifo", "cake", "choke", "codel", "dualpi2", "fq", "fq_codel", "fq_pie", "pfifo", "pie",
    "red", "sfb", "sfq", "tbf",
];

impl KernelQdisc {
    /// Whether it sets a rate itself; others are children of one that does.
    pub fn has_rate(&self) -> bool {
        matches!(self.kind, "cake" | "tbf")
    }

    /// Whether an option is given.
    pub fn sets(&self, option: &str) -> bool {
        self.options.iter().any(|(key, _)| key == option)
    }

    /// Returns its options as `tc` reads them, one word each.
    pub fn words(&self) -> Vec<String> {
        let words = self.options.iter().flat_map(|(key, value)| {
            let (is_there, value) = match value {
                QdiscOption::Word(is_there) => (*is_there, None),
                QdiscOption::Integer(number) => (true, Some(number.to_string())),
                QdiscOption::Float(number) => (true, Some(number.to_string())),
                QdiscOption::Text(text) => (true, Some(text.clone())),
            };
            is_there.then(|| [Some(key.clone()), value]).into_iter().flatten().flatten()
        });
        words.collect()
    }
}

impl Field for KernelQdisc {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Value::Text(_) = node.value {
            let kind = read_choice(node, KINDS, reader)?;
            return Some(KernelQdisc { kind, options: Vec::new() });
        }
        let table = reader.table(node)?;
        let kind = match table.get("kind") {
            Some(kind) => reader.within("kind", |reader| read_choice(kind, KINDS, reader))?,
            None => {
                reader.error_at("kind", format!("missing; one of {}", KINDS.join(", ")));
                return None;
            }
        };
        let mut options = Vec::new();
        for (key, node) in table.0.iter().filter(|(key, _)| key != "kind") {
            let value = reader.within(key, |reader| read_option(key, node, reader));
            options.push((key.clone(), value?));
        }
        Some(KernelQdisc { kind, options })
    }

    fn write(&self) -> Value {
        let mut table = Table(vec![("kind".to_owned(), self.kind.into())]);
        for (key, value) in &self.options {
            let value = match value {
                QdiscOption::Word(is_there) => Value::Bool(*is_there),
                QdiscOption::Integer(number) => Value::Integer(*number),
                QdiscOption::Float(number) => Value::Float(*number),
                QdiscOption::Text(text) => text.as_str().into(),
            };
            table.0.push((key.clone(), value.into()));
        }
        table.into()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer("KernelQdisc", |_| {
            json!({
                "description": "A qdisc of Linux; its other keys are options of tc, true for a word without a value.",
                "anyOf": [
                    { "enum": KINDS },
                    {
                        "type": "object",
                        "properties": { "kind": { "enum": KINDS } },
                        "required": ["kind"],
                        "additionalProperties": { "type": ["string", "number", "boolean"] },
                    },
                ],
            })
        })
    }
}

fn read_option(key: &str, node: &Node, reader: &mut Reader) -> Option<QdiscOption> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.chars().all(is_word) {
        return reader.error("is no option of tc, which are words such as \"limit\"");
    }
    if matches!(key, "rate" | "bandwidth" | "unlimited" | "autorate-ingress") {
        return reader.error("leave it out: the qdisc's rate is that of the link");
    }
    match &node.value {
        Value::Bool(is_there) => Some(QdiscOption::Word(*is_there)),
        Value::Integer(number) => Some(QdiscOption::Integer(*number)),
        Value::Float(number) => Some(QdiscOption::Float(*number)),
        Value::Text(text) if !text.is_empty() && text.chars().all(|c| is_word(c) || c == '%') => {
            Some(QdiscOption::Text(text.clone()))
        }
        Value::Text(_) => reader.error("expected one word, as tc takes it"),
        other => reader.error(format!("expected a text, a number or true, not {}", other.kind())),
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn read(value: &str) -> Result<Scenario, Vec<crate::Diagnostic>> {
        let text = format!(
            "version = 1\nusers.a.flows = 1\n[bottleneck]\nrate = \"1 Mb/s\"\nkernel_qdisc = {value}\n"
        );
        Scenario::parse(&text, &[])
    }

    #[test]
    fn options_are_those_of_tc() {
        let value = r#"{ kind = "cake", dual-srchost = true, nat = false, rtt = "40ms", memlimit = 60000 }"#;
        let scenario = read(value).expect("the scenario is valid");
        let plan = scenario.plan();
        let qdisc = plan.links[0].kernel_qdisc.as_ref().expect("the bottleneck has one");
        assert_eq!(qdisc.kind, "cake");
        assert_eq!(qdisc.words().join(" "), "dual-srchost rtt 40ms memlimit 60000");
        assert!(plan.links[1..].iter().all(|link| link.kernel_qdisc.is_none()));
        let again = Scenario::parse(&scenario.to_toml(), &[]).expect("what is written is valid");
        assert_eq!(again.plan().links[0].kernel_qdisc.as_ref(), Some(qdisc));
    }

    #[test]
    fn a_name_stands_for_a_qdisc_without_options() {
        let plan = read("\"fq_codel\"").expect("the scenario is valid").plan();
        let qdisc = plan.links[0].kernel_qdisc.as_ref().expect("the bottleneck has one");
        assert_eq!((qdisc.kind, qdisc.words().len()), ("fq_codel", 0));
    }

    #[test]
    fn the_rate_is_the_links_and_values_are_single_words() {
        let message = |value: &str| read(value).expect_err("it is wrong").remove(0).message;
        assert!(message(r#"{ kind = "tbf", rate = "1mbit" }"#).contains("that of the link"));
        assert!(message(r#"{ kind = "pie", target = "15 ms" }"#).contains("one word"));
        assert!(message(r#"{ kind = "pie", limit = [1] }"#).contains("a list"));
        assert!(message(r#"{ limit = 10 }"#).contains("missing; one of bfifo, cake"));
        assert!(message("\"netem\"").contains("is none of"));
    }

    #[test]
    fn the_simulator_has_no_qdiscs() {
        let scenario = read("\"cake\"").expect("the scenario is valid");
        let [lacks] = scenario.simulator_lacks() else { panic!("it lacks one thing") };
        assert_eq!(lacks.key, "bottleneck.kernel_qdisc");
        assert!(lacks.message.contains("tidegate lab"), "{}", lacks.message);
    }
}
