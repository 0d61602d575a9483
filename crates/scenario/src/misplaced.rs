//! Mechanisms under a key that they do not belong to.

use tidegate_mechanisms::bottleneck::scheduler::SchedulerParams;
use tidegate_mechanisms::bottleneck::{AqmParams, DifferentiationParams};
use tidegate_mechanisms::parameters::{Alternatives, Choice};
use tidegate_mechanisms::stage::StageParams;

use crate::document::{Node, Value};

/// Which key a mechanism belongs to that is not one of those offered, such as FQ-CoDel as an AQM.
pub(crate) fn belongs_elsewhere(node: &Node, here: &Alternatives) -> Option<String> {
    let named = match &node.value {
        Value::Table(table) => &table.get("kind")?.value,
        name => name,
    };
    let Value::Text(written) = named else { return None };
    // None of their names is much longer.
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

/// A name as people remember it: fq_codel, FQ-CoDel and fqcodel are one.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
