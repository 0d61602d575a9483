//! Mechanisms under a key of another category.

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

/// Normalizes a name: fq_codel, FQ-CoDel and fqcodel are equal.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
