//! What a page asks, natively.

use serde_json::{Value as Json, json};
use tidegate_scenario::Scenario;

const SMALL: &str = "\
# A comment.
version = 1
warm_up = \"1 s\"
duration = \"2 s\"   # Short.
sample_interval = \"500 ms\"

[bottleneck]
rate = \"2 Mb/s\"
aqm = { kind = \"red\", min_threshold = \"10 packets\", max_threshold = \"30 packets\" }

[users.heavy]
flows = 4

[users.light]
traffic = { kind = \"transfer\", size = \"100 kB\" }
";

fn ask(question: &Json) -> Json {
    let answer = tidegate_web::answer(&question.to_string(), &mut |_| ());
    serde_json::from_str(&answer).expect("an answer is JSON")
}

fn edited(text: &str, key: &str, value: Option<&str>) -> String {
    let answer = ask(&json!({ "ask": "edit", "text": text, "key": key, "value": value }));
    answer["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn errors_have_line_column_and_suggestion() {
    let text = SMALL.replace("rate = ", "rat = ");
    let answer = ask(&json!({ "ask": "parse", "text": text }));
    let error = &answer["errors"][1];
    assert_eq!((&error["line"], &error["column"]), (&json!(8), &json!(1)), "{answer}");
    assert_eq!(error["suggestion"], "rate");
}

#[test]
fn a_scenario_is_described_with_all_defaults() {
    let answer = ask(&json!({ "ask": "parse", "text": SMALL }));
    assert_eq!(answer["resolved"]["bottleneck"]["scheduler"]["kind"], "fifo");
    assert_eq!(answer["groups"][0], json!({ "name": "heavy", "users": 1, "flows": 4 }));
    // 2 Mb/s for 3 s in packets of 1500 B.
    assert_eq!(answer["packets"], 500.0);
    assert_eq!(answer["seed"], "1");
}

#[test]
fn a_run_has_the_digest_and_the_columns_of_the_engine() {
    let mut shares = Vec::new();
    let question = json!({ "ask": "run", "text": SMALL, "seed": "3" });
    let answer = tidegate_web::answer(&question.to_string(), &mut |share| shares.push(share));
    let answer: Json = serde_json::from_str(&answer).expect("JSON");
    let plan = Scenario::parse(SMALL, &[]).expect("is valid").plan();
    let output = tidegate_simulator::run(&plan, 3);
    assert_eq!(answer["digest"], output.digest);
    let flows = &answer["tables"]["flows"];
    assert_eq!(flows["throughput_bps"], json!(output.flows.throughput_bps));
    assert_eq!(flows["group"], json!(["heavy", "heavy", "heavy", "heavy", "light"]));
    assert!(shares.is_sorted() && shares.len() > 10, "{shares:?}");
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
}

#[test]
fn overrides_change_a_run() {
    let run = |set: Json| ask(&json!({ "ask": "run", "text": SMALL, "set": set, "seed": "1" }));
    let with = run(json!([["bottleneck.aqm.kind", "drop-tail"]]));
    assert!(with["digest"].is_string(), "{with}");
    assert_ne!(run(json!([]))["digest"], with["digest"]);
    let refused = run(json!([["bottleneck.aqm.knd", "drop-tail"]]));
    assert!(refused["errors"][0]["message"].is_string(), "{refused}");
}

#[test]
fn an_edit_changes_one_value_and_keeps_comments() {
    let text = edited(SMALL, "duration", Some("20 s"));
    assert_eq!(text, SMALL.replace("\"2 s\"", "\"20 s\""));
    let text = edited(SMALL, "users.heavy.flows", Some("7"));
    assert_eq!(text, SMALL.replace("flows = 4", "flows = 7"));
}

#[test]
fn an_edit_adds_what_is_missing_where_it_belongs() {
    let text = edited(SMALL, "tcp.congestion_control", Some("reno"));
    assert!(text.ends_with("[tcp]\ncongestion_control = \"reno\"\n"), "{text}");
    let text = edited(SMALL, "bottleneck.aqm.max_probability", Some("0.2"));
    assert!(text.contains("max_threshold = \"30 packets\", max_probability = 0.2 }"), "{text}");
    let text = edited(
        &SMALL.replace("[users.heavy]", "users.x = {}\n[users.heavy]"),
        "users.heavy.count",
        Some("3"),
    );
    assert!(text.contains("flows = 4\ncount = 3\n"), "{text}");
}

#[test]
fn a_mechanism_that_is_a_word_becomes_a_table() {
    let scheduled = SMALL.replace("[users.heavy]", "scheduler = \"fq-codel\"\n[users.heavy]");
    let text = edited(&scheduled, "bottleneck.scheduler.quantum", Some("1514 B"));
    assert!(text.contains("scheduler = { kind = \"fq-codel\", quantum = \"1514 B\" }"), "{text}");
}

#[test]
fn what_makes_no_sense_is_a_sentence() {
    for question in
        [json!(7), json!({}), json!({ "ask": "run", "text": SMALL }), json!({ "ask": "parse" })]
    {
        let answer = ask(&question);
        assert!(answer["failure"].is_string(), "{question}: {answer}");
    }
    let answer = tidegate_web::answer("{", &mut |_| ());
    assert!(answer.contains("no JSON"), "{answer}");
    let kernel = SMALL.replace("[users.heavy]", "kernel_qdisc = { kind = \"fq\" }\n[users.heavy]");
    let answer = ask(&json!({ "ask": "run", "text": kernel, "seed": "1" }));
    assert!(answer["errors"][0]["message"].is_string(), "{answer}");
}

#[test]
fn schema_and_columns_are_told() {
    assert!(ask(&json!({ "ask": "schema" }))["schema"]["$defs"].is_object());
    let columns = ask(&json!({ "ask": "columns" }));
    assert_eq!(columns["columns"]["flows"]["throughput_bps"]["unit"], "bit/s");
}
