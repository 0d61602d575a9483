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
    /// Several words, such as a delay and its jitter.
    Words(Vec<QdiscOption>),
}

/// Supported kinds: those that have a rate, or can be children of one that has.
const KINDS: &[&str] = &[
    "bfifo", "cake", "choke", "codel", "dualpi2", "fq", "fq_codel", "fq_pie", "netem", "pfifo",
    "pie", "red", "sfb", "sfq", "tbf",
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
        let there = self.options.iter().filter(|(_, value)| *value != QdiscOption::Word(false));
        there.flat_map(|(key, value)| [vec![key.clone()], value.words()].concat()).collect()
    }
}

impl QdiscOption {
    /// Returns the words after the key.
    fn words(&self) -> Vec<String> {
        match self {
            QdiscOption::Word(_) => Vec::new(),
            QdiscOption::Integer(number) => vec![number.to_string()],
            QdiscOption::Float(number) => vec![number.to_string()],
            QdiscOption::Text(text) => vec![text.clone()],
            QdiscOption::Words(words) => words.iter().flat_map(QdiscOption::words).collect(),
        }
    }

    fn write(&self) -> Value {
        match self {
            QdiscOption::Word(is_there) => Value::Bool(*is_there),
            QdiscOption::Integer(number) => Value::Integer(*number),
            QdiscOption::Float(number) => Value::Float(*number),
            QdiscOption::Text(text) => text.as_str().into(),
            QdiscOption::Words(words) => {
                Value::Array(words.iter().map(|word| word.write().into()).collect())
            }
        }
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
            table.0.push((key.clone(), value.write().into()));
        }
        table.into()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer("KernelQdisc", |_| {
            json!({
                "description": "A qdisc of Linux; its other keys are options of tc, true for a word without a value, a list for several.",
                "anyOf": [
                    { "enum": KINDS },
                    {
                        "type": "object",
                        "properties": { "kind": { "enum": KINDS } },
                        "required": ["kind"],
                        "additionalProperties": {
                            "type": ["string", "number", "boolean", "array"],
                            "items": { "type": ["string", "number"] },
                        },
                    },
                ],
            })
        })
    }
}

fn read_option(key: &str, node: &Node, reader: &mut Reader) -> Option<QdiscOption> {
    if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.chars().all(is_in_word) {
        return reader.error("is no option of tc, which are words such as \"limit\"");
    }
    if matches!(key, "rate" | "bandwidth" | "unlimited" | "autorate-ingress") {
        return reader.error("leave it out: the qdisc's rate is that of the link");
    }
    match &node.value {
        Value::Bool(is_there) => Some(QdiscOption::Word(*is_there)),
        Value::Array(words) if words.len() > 1 => {
            let words = words.iter().map(|word| read_value(word, reader)).collect::<Option<_>>();
            words.map(QdiscOption::Words)
        }
        _ => read_value(node, reader),
    }
}

fn is_in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// Reads a single word after a key.
fn read_value(node: &Node, reader: &mut Reader) -> Option<QdiscOption> {
    match &node.value {
        Value::Integer(number) => Some(QdiscOption::Integer(*number)),
        Value::Float(number) => Some(QdiscOption::Float(*number)),
        Value::Text(text)
            if !text.is_empty() && text.chars().all(|c| is_in_word(c) || c == '%') =>
        {
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
        assert!(message("\"hfsc\"").contains("is none of"));
        assert!(message(r#"{ kind = "netem", delay = ["20ms", true] }"#).contains("true"));
    }

    #[test]
    fn an_option_may_have_several_words() {
        let value = r#"{ kind = "netem", delay = ["20ms", "5ms"], loss = "1%" }"#;
        let scenario = read(value).expect("the scenario is valid");
        let plan = scenario.plan();
        let qdisc = plan.links[0].kernel_qdisc.as_ref().expect("the bottleneck has one");
        assert_eq!(qdisc.words().join(" "), "delay 20ms 5ms loss 1%");
        let again = Scenario::parse(&scenario.to_toml(), &[]).expect("what is written is valid");
        assert_eq!(again.plan().links[0].kernel_qdisc.as_ref(), Some(qdisc));
    }

    #[test]
    fn the_simulator_has_no_qdiscs() {
        let scenario = read("\"cake\"").expect("the scenario is valid");
        let [lacks] = scenario.simulator_lacks() else { panic!("it lacks one thing") };
        assert_eq!(lacks.key, "bottleneck.kernel_qdisc");
        assert!(lacks.message.contains("tidegate lab"), "{}", lacks.message);
    }
}
