//! Linux qdisc as the bottleneck's queue, in the lab only.

use serde_json::{Value as Json, json};

use crate::document::{Node, Table, Value};
use crate::field::{Field, Reader, read_choice};
use crate::schema::Definitions;

/// A qdisc by its name in Linux, with options as in `tc`; or a policer, which `tc` has as an action of a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelQdisc {
    /// Name, such as `fq_codel`.
    pub kind: &'static str,
    options: Options,
    /// Classes of `htb`.
    pub classes: Vec<QdiscClass>,
}

/// Class of a qdisc for the packets of a group, with options as in `tc`.
#[derive(Clone, Debug, PartialEq)]
pub struct QdiscClass {
    /// Group of users.
    pub users: String,
    options: Options,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Options(Vec<(String, QdiscOption)>);

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
    "bfifo", "cake", "choke", "codel", "dualpi2", "fq", "fq_codel", "fq_pie", "htb", "netem",
    "pfifo", "pie", "police", "red", "sfb", "sfq", "tbf",
];
/// Options with a rate that need not be the link's.
const OWN_RATES: &[(&str, &str)] = &[("cake", "bandwidth"), ("police", "rate"), ("tbf", "rate")];
/// Options without which `tc` refuses a policer.
const OF_A_POLICER: [&str; 2] = ["rate", "burst"];

impl KernelQdisc {
    /// Whether it has a rate of its own, so that it is a shaper or a policer in front of the link.
    pub fn has_own_rate(&self) -> bool {
        OWN_RATES.iter().any(|&(kind, rate)| kind == self.kind && self.sets(rate))
    }

    /// Whether an option is given.
    pub fn sets(&self, option: &str) -> bool {
        self.options.sets(option)
    }

    /// Returns its options as `tc` reads them, one word each.
    pub fn words(&self) -> Vec<String> {
        self.options.words()
    }

    fn check(&self, reader: &mut Reader) {
        let is_htb = self.kind == "htb";
        if is_htb == self.classes.is_empty() {
            let message = match is_htb {
                true => "missing; one for each group: [{ users = \"NAME\", rate = \"5mbit\" }]",
                false => "only htb has classes",
            };
            reader.error_at("classes", message);
        }
        for key in OF_A_POLICER.iter().filter(|key| self.kind == "police" && !self.sets(key)) {
            reader.error_at(key, "missing; a policer has a rate and a burst");
        }
    }
}

impl QdiscClass {
    /// Returns its options as `tc` reads them, one word each.
    pub fn words(&self) -> Vec<String> {
        self.options.words()
    }

    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let table = reader.table(node)?;
        let users = reader.required(table, "users")?;
        if table.get("rate").is_none() {
            reader.error_at("rate", "missing; the rate that the group has in any case");
        }
        let options = Options::read(table, "users", reader, |_| true)?;
        Some(QdiscClass { users, options })
    }

    fn write(&self) -> Value {
        self.options.write(("users", self.users.as_str().into())).into()
    }
}

impl Options {
    /// Reads all keys but one as options; `may_be_rate` says which of those with a rate are allowed.
    fn read(
        table: &Table,
        not: &str,
        reader: &mut Reader,
        may_be_rate: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let mut options = Vec::new();
        for (key, node) in table.0.iter().filter(|(key, _)| key != not && key != "classes") {
            let value = reader.within(key, |reader| match key.as_str() {
                "rate" | "bandwidth" | "unlimited" | "autorate-ingress" if !may_be_rate(key) => {
                    reader.error("leave it out: the qdisc's rate is that of the link")
                }
                _ => read_option(key, node, reader),
            });
            options.push((key.clone(), value?));
        }
        Some(Options(options))
    }

    fn sets(&self, option: &str) -> bool {
        self.0.iter().any(|(key, _)| key == option)
    }

    fn words(&self) -> Vec<String> {
        let there = self.0.iter().filter(|(_, value)| *value != QdiscOption::Word(false));
        there.flat_map(|(key, value)| [vec![key.clone()], value.words()].concat()).collect()
    }

    fn write(&self, first: (&str, Value)) -> Table {
        let mut table = Table(vec![(first.0.to_owned(), first.1.into())]);
        for (key, value) in &self.0 {
            table.0.push((key.clone(), value.write().into()));
        }
        table
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
            let named = KernelQdisc { kind, options: Options::default(), classes: Vec::new() };
            named.check(reader);
            return Some(named);
        }
        let table = reader.table(node)?;
        let kind = match table.get("kind") {
            Some(kind) => reader.within("kind", |reader| read_choice(kind, KINDS, reader))?,
            None => {
                reader.error_at("kind", format!("missing; one of {}", KINDS.join(", ")));
                return None;
            }
        };
        let own_rate = |key: &str| OWN_RATES.contains(&(kind, key));
        let options = Options::read(table, "kind", reader, own_rate)?;
        let classes = reader.within("classes", |reader| read_classes(table, reader))?;
        let qdisc = KernelQdisc { kind, options, classes };
        qdisc.check(reader);
        Some(qdisc)
    }

    fn write(&self) -> Value {
        let mut table = self.options.write(("kind", self.kind.into()));
        if !self.classes.is_empty() {
            let classes = self.classes.iter().map(|class| class.write().into()).collect();
            table.0.push(("classes".to_owned(), Value::Array(classes).into()));
        }
        table.into()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        definitions.refer("KernelQdisc", |_| {
            json!({
                "description": "A qdisc of Linux, or police for a policer; its other keys are options of tc, true for a word without a value, a list for several. htb has classes, one for each group of users.",
                "anyOf": [
                    { "enum": KINDS },
                    {
                        "type": "object",
                        "properties": {
                            "kind": { "enum": KINDS },
                            "classes": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": { "users": { "type": "string" } },
                                    "required": ["users", "rate"],
                                },
                            },
                        },
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

fn read_classes(table: &Table, reader: &mut Reader) -> Option<Vec<QdiscClass>> {
    let Some(node) = table.get("classes") else { return Some(Vec::new()) };
    let Value::Array(classes) = &node.value else {
        return reader.error(format!("expected a list, not {}", node.value.kind()));
    };
    let numbered = classes.iter().enumerate();
    numbered
        .map(|(number, class)| {
            reader.within(&number.to_string(), |reader| QdiscClass::read(class, reader))
        })
        .collect()
}

fn read_option(key: &str, node: &Node, reader: &mut Reader) -> Option<QdiscOption> {
    if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.chars().all(is_in_word) {
        return reader.error("is no option of tc, which are words such as \"limit\"");
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
        assert!(message(r#"{ kind = "cake", unlimited = true }"#).contains("that of the link"));
        assert!(message(r#"{ kind = "pie", target = "15 ms" }"#).contains("one word"));
        assert!(message(r#"{ kind = "pie", limit = [1] }"#).contains("a list"));
        assert!(message(r#"{ limit = 10 }"#).contains("missing; one of bfifo, cake"));
        assert!(message("\"hfsc\"").contains("is none of"));
        assert!(message(r#"{ kind = "netem", delay = ["20ms", true] }"#).contains("true"));
    }

    fn qdisc(value: &str) -> super::KernelQdisc {
        let scenario = read(value).expect("the scenario is valid");
        let qdisc = |scenario: &Scenario| scenario.plan().links[0].kernel_qdisc.clone();
        let again = Scenario::parse(&scenario.to_toml(), &[]).expect("what is written is valid");
        assert_eq!(qdisc(&scenario), qdisc(&again));
        qdisc(&scenario).expect("the bottleneck has one")
    }

    #[test]
    fn shapers_and_policers_may_have_a_rate_of_their_own() {
        let cake = qdisc(r#"{ kind = "cake", bandwidth = "900kbit" }"#);
        assert!(cake.has_own_rate());
        assert_eq!(cake.words().join(" "), "bandwidth 900kbit");
        assert!(!qdisc("\"cake\"").has_own_rate());
        assert!(!qdisc("\"tbf\"").has_own_rate());
        let police = qdisc(r#"{ kind = "police", rate = "900kbit", burst = 15000 }"#);
        assert_eq!(police.words().join(" "), "rate 900kbit burst 15000");
        let message = |value: &str| read(value).expect_err("it is wrong").remove(0).message;
        assert!(message("\"police\"").contains("a rate and a burst"));
        assert!(message(r#"{ kind = "pie", rate = "1mbit" }"#).contains("that of the link"));
        assert!(message(r#"{ kind = "htb", rate = "1mbit" }"#).contains("that of the link"));
    }

    #[test]
    fn htb_has_a_class_for_each_group() {
        let classes = |users: &str| {
            format!(
                r#"{{ kind = "htb", classes = [{{ users = "{users}", rate = "1mbit", ceil = "2mbit" }}] }}"#
            )
        };
        let htb = qdisc(&classes("a"));
        assert_eq!(htb.classes[0].users, "a");
        assert_eq!(htb.classes[0].words().join(" "), "rate 1mbit ceil 2mbit");
        let message = |value: &str| read(value).expect_err("it is wrong").remove(0).message;
        assert!(message(&classes("b")).contains("there is no group \"b\""));
        assert!(message("\"htb\"").contains("one for each group"));
        assert!(
            message(r#"{ kind = "pie", classes = [{ users = "a", rate = "1mbit" }] }"#)
                .contains("only htb")
        );
        assert!(
            message(r#"{ kind = "htb", classes = [{ users = "a" }] }"#).contains("in any case")
        );
        let twice = r#"{ kind = "htb", classes = [{ users = "a", rate = "1mbit" }, { users = "a", rate = "1mbit" }] }"#;
        assert!(message(twice).contains("more than one class"), "{}", message(twice));
        let without =
            "version = 1\nusers.a.flows = 1\nusers.b.flows = 1\n[bottleneck]\nrate = \"1 Mb/s\"\n";
        let text = format!("{without}kernel_qdisc = {}\n", classes("a"));
        let errors = Scenario::parse(&text, &[]).expect_err("b has no class");
        assert!(errors[0].message.contains("\"b\" has no class"), "{}", errors[0].message);
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
