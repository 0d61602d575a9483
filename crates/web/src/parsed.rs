//! What a page shows of a valid scenario before it runs.

use serde_json::{Map, Value as Json, json};
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::Plan;
use toml_edit::{DocumentMut, Item, Value};

use crate::diagnostics;

/// The scenario with every default filled in, its groups and bottlenecks, its warnings, and an estimate of its size.
pub fn describe(scenario: &Scenario) -> Json {
    let plan = scenario.plan();
    let resolved = scenario.to_toml();
    let users = |group| plan.users.iter().filter(|user| user.group == group).count();
    let groups: Vec<Json> = plan.groups.iter().enumerate().map(|(number, group)| {
        json!({ "name": group.name, "users": users(number), "flows": flows(&plan, number) })
    }).collect();
    let monitored = plan.links.iter().filter(|link| link.monitored);
    let links: Vec<Json> = monitored.map(|link| {
        json!({ "name": link.name.to_string(), "rate_bps": link.rate.as_bps(), "delay_s": link.delay.as_secs() })
    }).collect();
    json!({
        "name": scenario.name(),
        "description": scenario.description(),
        // A seed may have more digits than a number of a page.
        "seed": scenario.seed().to_string(),
        "replications": scenario.replications(),
        "warm_up_s": plan.warm_up.as_secs(),
        "duration_s": plan.duration.as_secs(),
        "groups": groups,
        "links": links,
        "warnings": diagnostics(scenario.warnings()),
        "lacks": diagnostics(scenario.simulator_lacks()),
        "packets": packets(&plan),
        "resolved": resolved.parse::<DocumentMut>().map_or(Json::Null, |all| item(all.as_item())),
    })
}

fn flows(plan: &Plan, group: usize) -> usize {
    plan.flows.iter().filter(|flow| plan.users[flow.user].group == group).count()
}

/// Maximum number of packets that leave the bottlenecks: as if they were never idle.
fn packets(plan: &Plan) -> f64 {
    let bits = plan.flows.iter().map(|flow| flow.packet_size.as_f64() * 8.0).fold(0.0, f64::max);
    let monitored = plan.links.iter().filter(|link| link.monitored);
    let rate: f64 = monitored.map(|link| link.rate.as_bps() as f64).sum();
    let run_s = (plan.warm_up + plan.duration).as_secs();
    (rate * run_s / bits.max(1.0)).round()
}

/// TOML as JSON.
fn item(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(one) => value(one),
        Item::Table(table) => table
            .iter()
            .map(|(key, one)| (key.to_owned(), self::item(one)))
            .collect::<Map<_, _>>()
            .into(),
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| self::item(&Item::Table(table.clone()))).collect()
        }
    }
}

fn value(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(answer) => (*answer.value()).into(),
        Value::Datetime(time) => time.value().to_string().into(),
        Value::Array(all) => all.iter().map(self::value).collect(),
        Value::InlineTable(table) => table
            .iter()
            .map(|(key, one)| (key.to_owned(), self::value(one)))
            .collect::<Map<_, _>>()
            .into(),
    }
}
