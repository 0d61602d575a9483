//! Keeps the tables of `docs/scenario-file.md` consistent with the declarations in [`crate::file`].

use std::path::Path;

use serde_json::Value as Json;
use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::impairment::{JitterParams, LossModel};
use tidegate_mechanisms::ingress::ActivityMeterParams;
use tidegate_mechanisms::parameters::{
    Alternatives, Choice, DefaultValue, Kind, Parameter, ParameterType, Parameters,
};
use tidegate_mechanisms::sender::SenderParams;

use crate::field::Section;
use crate::file::{
    Bottleneck, File, Intervals, Link, Mobile, ParkingLot, Profile, Radio, RoundTripSpread, STACKS,
    StartRange, User, Wired,
};
use crate::parameter_schema;
use crate::plan::{
    AccessPlan, COMMON_OPTIONS, RateChange, StackPlan, TcpPlan, TcpQuirks, TracedDelay, TracedRate,
};
use crate::schema::{Definitions, describe};
use crate::traffic::Traffic;

/// `UPDATE=1 cargo test` rewrites the tables.
#[test]
fn the_tables_of_the_reference_are_in_step() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario-file.md");
    let have = std::fs::read_to_string(&path).expect("the reference is there");
    let want = tables().iter().fold(have.clone(), |text, (name, table)| filled(&text, name, table));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, want).expect("writable");
        return;
    }
    assert!(have == want, "{} is out of step; run UPDATE=1 cargo test", path.display());
}

/// The schema also lists all of them.
#[test]
fn every_kind_of_traffic_has_a_table_of_its_keys() {
    let text = traffic();
    let schema = crate::file_schema::schema();
    let kinds = schema["$defs"]["Traffic"]["oneOf"].as_array().expect("kinds");
    let tables: Vec<_> = kinds.iter().filter(|kind| kind.get("properties").is_some()).collect();
    assert_eq!(tables.len(), Traffic::KINDS.len());
    for kind in tables {
        let name = kind["properties"]["kind"]["const"].as_str().expect("a name");
        let (_, section) = text
            .split_once(&format!("#### `{name}`\n"))
            .unwrap_or_else(|| panic!("no section for {name}"));
        let section = section.split("#### ").next().expect("one part at least");
        for key in kind["properties"].as_object().expect("keys").keys() {
            let row = format!("| `{key}` |");
            assert!(key == "kind" || section.contains(&row), "{name}: no row for {key}");
        }
    }
}

/// The examples of the reference are complete files.
#[test]
fn the_examples_of_the_reference_are_valid() {
    let text = include_str!("../../../docs/scenario-file.md");
    let examples: Vec<_> = text.split("```toml\n").skip(1).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let example = example.split("```").next().expect("one part at least");
        if example.contains("version = 1") {
            crate::Scenario::parse(example, &[]).unwrap_or_else(|issues| panic!("{issues:#?}"));
        }
    }
}

/// Replaces the text between the marks of a table.
fn filled(text: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- table: {name} -->\n"), "<!-- end -->");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("no table {name}"));
    let (_, after) = rest.split_once(end).expect("each table has an end");
    format!("{before}{begin}{table}{end}{after}")
}

fn tables() -> Vec<(&'static str, String)> {
    vec![
        ("file", keys::<File>()),
        ("bottleneck", keys::<Bottleneck>()),
        ("parking_lot", keys::<ParkingLot>()),
        ("mobile", keys::<Mobile>()),
        ("wired", keys::<Wired>()),
        ("radio", keys::<Radio>()),
        ("links", keys::<Link>()),
        ("access", options::<AccessPlan>()),
        ("aqms", kinds::<AqmParams>()),
        ("differentiations", kinds::<DifferentiationParams>()),
        ("schedulers", kinds::<SchedulerParams>()),
        ("rate_changes", keys::<RateChange>()),
        ("traced_rate", parameter_table(TracedRate::ALL)),
        ("traced_delay", parameter_table(TracedDelay::ALL)),
        ("loss_models", kinds_alone::<LossModel>()),
        ("jitter", kinds_alone::<JitterParams>()),
        ("intervals", keys::<Intervals>()),
        ("users", keys::<User>()),
        ("traffic", traffic()),
        ("start", keys::<StartRange>()),
        ("round_trip", keys::<RoundTripSpread>()),
        ("meter", keys::<ActivityMeterParams>()),
        ("tcp", options_of(&TcpPlan::ALL[..COMMON_OPTIONS])),
        ("tcp_more", options_of(&TcpPlan::ALL[COMMON_OPTIONS..])),
        ("tcp_quirks", options::<TcpQuirks>()),
        ("stacks", stacks()),
        ("senders", kinds::<SenderParams>()),
        ("profiles", profiles()),
        ("errors", errors()),
    ]
}

/// Returns the keys of a section, in the order of their declaration.
fn keys<S: Section>() -> String {
    let mut definitions = Definitions::default();
    let properties = S::properties(&mut definitions);
    table(&S::keys(), properties, &definitions)
}

/// Returns every kind of traffic with its keys, then the tables used by keys of several kinds.
fn traffic() -> String {
    let mut text = String::new();
    let mut inner = Vec::new();
    for (name, about, parameters) in Traffic::KINDS {
        text += &format!("#### `{name}`\n\n{}\n\n", in_a_line(about));
        text += &parameter_table(parameters);
        text.push('\n');
        collect_tables(parameters, &mut inner);
    }
    text.push_str("#### Tables in the keys of traffic\n\n");
    for (keys, about, kinds) in inner {
        text += &format!("**`{}`**: {about}\n\n", keys.join("`, `"));
        for (name, about, parameters) in kinds {
            text += &format!("{name}: {}\n\n", in_a_line(about));
            if !parameters.is_empty() {
                text += &format!("{}\n", parameter_table(parameters));
            }
        }
    }
    text
}

/// Keys whose value is a table, its purpose, and the name, meaning and keys of each table.
type KeyTables = (Vec<&'static str>, String, Vec<(String, &'static str, &'static [Parameter])>);

/// Collects the tables below `parameters`, each once and the outer before the inner.
fn collect_tables(parameters: &'static [Parameter], found: &mut Vec<KeyTables>) {
    for parameter in parameters {
        let (about, kinds) = match parameter.kind {
            Kind::Choice(Alternatives { about, kinds, .. })
            | Kind::PlainOrTable {
                table: &Kind::Choice(Alternatives { about, kinds, .. }), ..
            } => {
                let named =
                    |&(name, about, parameters): &(_, _, &'static [Parameter])| match parameters {
                        [] => (format!("`\"{name}\"`"), about, parameters),
                        _ => (format!("`{{ kind = \"{name}\", ... }}`"), about, parameters),
                    };
                (about, kinds.iter().map(named).collect::<Vec<_>>())
            }
            Kind::Tables(form) => {
                (form.about, vec![("each table".to_owned(), form.about, form.parameters)])
            }
            _ => continue,
        };
        if found.iter().any(|(keys, ..)| keys.contains(&parameter.name)) {
            continue;
        }
        let about = in_a_line(about);
        if let Some((keys, ..)) = found.iter_mut().find(|(_, known, _)| *known == about) {
            keys.push(parameter.name);
            continue;
        }
        let inner: Vec<_> = kinds.iter().map(|kind| kind.2).collect();
        found.push((vec![parameter.name], about, kinds));
        inner.into_iter().for_each(|parameters| collect_tables(parameters, found));
    }
}

/// Returns a documentation comment on one line.
fn in_a_line(about: &str) -> String {
    describe(about).as_str().expect("a text").to_owned()
}

fn parameter_table(parameters: &[Parameter]) -> String {
    let mut definitions = Definitions::default();
    let properties = parameter_schema::properties(parameters, &mut definitions);
    let keys: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
    table(&keys, properties, &definitions)
}

/// Returns the keys of optional options.
fn options<P: Parameters>() -> String {
    options_of(P::ALL)
}

fn options_of(options: &[Parameter]) -> String {
    let mut definitions = Definitions::default();
    let properties = parameter_schema::option_properties(options, &mut definitions);
    let keys: Vec<_> = options.iter().map(|parameter| parameter.name).collect();
    table(&keys, (properties, Vec::new()), &definitions)
}

/// Returns the mechanisms to choose from, with their keys.
fn kinds<C: Choice>() -> String {
    let mut text = String::new();
    for (name, about, parameters) in C::KINDS.iter().filter(|kind| !kind.2.is_empty()) {
        let about = in_a_line(about);
        text +=
            &format!("`{{ kind = \"{name}\", ... }}`, [page](mechanisms/{name}.md): {about}\n\n");
        text += &parameter_table(parameters);
        text.push('\n');
    }
    text
}

/// The same of what has no page.
fn kinds_alone<C: Choice>() -> String {
    let kind = |(name, about, parameters): &(&str, &'static str, &'static [Parameter])| {
        let about = in_a_line(about);
        format!("`{{ kind = \"{name}\", ... }}`: {about}\n\n{}\n", parameter_table(parameters))
    };
    C::KINDS.iter().map(kind).collect()
}

fn table(
    keys: &[&str],
    (properties, required): (serde_json::Map<String, Json>, Vec<Json>),
    definitions: &Definitions,
) -> String {
    let mut table = "| key | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    for key in keys {
        let property = &properties[*key];
        let default = match property.get("default") {
            Some(default) => code(default),
            None if required.contains(&(*key).into()) => "required".to_owned(),
            None => String::new(),
        };
        let meaning = property["description"].as_str().expect("all keys are described");
        let meaning = format!("{meaning}{}", meanings_of_words(property));
        let value = value_in_words(property, definitions);
        table += &format!("| `{key}` | {value} | {default} | {meaning} |\n");
    }
    table
}

fn code(default: &Json) -> String {
    match default {
        Json::Object(object) => format!("`kind = {}`", object["kind"]),
        other => format!("`{other}`"),
    }
}

/// Returns the meaning of each word that may be a value.
fn meanings_of_words(property: &Json) -> String {
    let meaning = |option: &Json| {
        Some(format!("`{}`: {}", option["const"].as_str()?, option["description"].as_str()?))
    };
    let options = property["oneOf"].as_array();
    let meanings: Vec<_> = options.into_iter().flatten().filter_map(meaning).collect();
    if meanings.is_empty() { String::new() } else { format!("<br>{}", meanings.join("<br>")) }
}

/// Describes the possible values in a few words.
fn value_in_words(schema: &Json, definitions: &Definitions) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let known = match name {
            "Rate" | "RateOrOutage" => "rate",
            "Span" => "time",
            "Bytes" => "size",
            "QueueLength" => "packets or size",
            "Probability" => "number from 0 to 1, or percent",
            _ => "",
        };
        return match known {
            "" => alternatives(&definitions.get(name)["oneOf"], "table"),
            known => known.to_owned(),
        };
    }
    if let Some(options) = schema["anyOf"].as_array() {
        let words = options.iter().map(|option| value_in_words(option, definitions));
        return words.collect::<Vec<_>>().join(" or ");
    }
    if schema.get("const").is_some() {
        return format!("`{}`", schema["const"]);
    }
    if schema.get("oneOf").is_some() {
        return alternatives(&schema["oneOf"], "table");
    }
    if schema.get("enum").is_some() {
        return alternatives(&schema["enum"], "");
    }
    match schema["type"].as_str() {
        Some("boolean") => "true or false".to_owned(),
        Some("string") => "text".to_owned(),
        Some("array") => "list".to_owned(),
        Some("object") => "tables".to_owned(),
        Some(number) => format!("{number} {}", bounds(schema)),
        None => "any".to_owned(),
    }
}

/// Returns the words to choose from, or `otherwise` if there are none; names of mechanisms are listed beside their
/// tables.
fn alternatives(list: &Json, otherwise: &str) -> String {
    let names = list.as_array().and_then(|options| options.last()?.get("enum"));
    if names.and_then(Json::as_array).is_some_and(Vec::is_empty) {
        return otherwise.to_owned();
    }
    if let Some(names) = names {
        return format!("{} or {otherwise}", alternatives(names, otherwise));
    }
    let word = |option: &Json| option.get("const").unwrap_or(option).as_str().map(str::to_owned);
    let words: Option<Vec<_>> =
        list.as_array().and_then(|options| options.iter().map(word).collect());
    words.map_or(otherwise.to_owned(), |words| format!("`{}`", words.join("`, `")))
}

fn bounds(schema: &Json) -> String {
    let bound = |closed: &str, open: &str, word: &str| match (&schema[closed], &schema[open]) {
        (Json::Null, Json::Null) => String::new(),
        (Json::Null, bound) => format!("{word} {bound}"),
        (bound, _) => format!("{} {bound}", if word == "above" { "from" } else { "to" }),
    };
    let low = bound("minimum", "exclusiveMinimum", "above");
    let high = bound("maximum", "exclusiveMaximum", "below");
    format!("{low} {high}").trim().to_owned()
}

const PROFILES: [Profile; 3] = [Profile::Linux, Profile::Classic, Profile::Linux2629];

/// Returns the settings of each profile.
fn profiles() -> String {
    let names: Vec<_> = PROFILES.iter().map(|profile| format!("`{}`", profile.word())).collect();
    let rule = "---|".repeat(names.len() + 1);
    let mut table = format!("| option | {} |\n|{rule}\n", names.join(" | "));
    let tables = [("", TcpPlan::ALL), ("quirks.", TcpQuirks::ALL)];
    let options =
        tables.into_iter().flat_map(|(table, all)| all.iter().map(move |own| (table, own)));
    for (table_name, option) in options.filter(|(_, own)| own.default != DefaultValue::Nested) {
        let cell = |profile: &Profile| match &option.default {
            DefaultValue::Value(text) => *text,
            DefaultValue::ByProfile(texts) => profile.choose(texts),
            DefaultValue::Unset | DefaultValue::Required | DefaultValue::Nested => "none",
        };
        let cells: Vec<_> = PROFILES.iter().map(cell).collect();
        table += &format!("| `{table_name}{}` | {} |\n", option.name, cells.join(" | "));
    }
    table
}

/// Returns the named stacks: the base profile of each, and the differences.
fn stacks() -> String {
    let Kind::Word(words) = StackPlan::KIND else { unreachable!("a choice of words") };
    let mut table = "| stack | what | starts from | and has |\n|---|---|---|---|\n".to_owned();
    for ((word, about), (_, profile, text)) in words.iter().zip(STACKS) {
        let (mut prefix, mut keys) = ("", Vec::new());
        for line in text.lines().filter(|line| !line.is_empty()) {
            match line {
                "[quirks]" => prefix = "quirks.",
                key => keys.push(format!("`{prefix}{key}`")),
            }
        }
        let (about, keys, profile) = (about.trim(), keys.join(", "), profile.word());
        table += &format!("| `{word}` | {about} | `{profile}` | {keys} |\n");
    }
    table
}

/// Returns the messages for a file with a few errors.
fn errors() -> String {
    let file = "version = 1\n\
        [bottleneck]\n\
        rate = \"10 M\"\n\
        bufer = \"50 packets\"\n\
        aqm = { kind = \"red\", min_threshold = \"20 packets\", max_threshold = \"10 packets\" }\n\
        [users.light]\n\
        count = 0\n\
        access = { delay = \"30 msec\" }\n\
        traffic = { kind = \"greed\" }\n";
    let issues = crate::Scenario::parse(file, &[]).expect_err("a few things are wrong");
    let lines: Vec<_> = issues.iter().map(|issue| format!("{issue}\n")).collect();
    format!("```text\n{}```\n", lines.concat())
}

/// Access links are described with their defaults in words, since groups override them.
#[test]
fn access_links_are_what_their_keys_say() {
    for key in AccessPlan::ALL {
        let DefaultValue::Value(default) = key.default else { panic!("{} has one", key.name) };
        assert!(key.meaning.ends_with(&format!(" Default \"{default}\".")), "{}", key.meaning);
    }
}
