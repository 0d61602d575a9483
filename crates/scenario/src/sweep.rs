//! The points of a sweep.

use crate::document::{Table, Value};
use crate::field::Mistake;
use crate::file::Sweep;
use crate::{apply, read, toml_text};

/// More points than anybody waits for.
const MAX_POINTS: usize = 100_000;
/// Values are checked one by one, each with the whole file.
const MAX_VALUES: usize = 1_000;

/// All combinations, the last key changing fastest. Every value is tried on its own, so that a
/// sweep does not stop in the middle for a misprint.
pub(crate) fn points(
    document: &Table,
    sweep: Option<&Sweep>,
) -> Result<Vec<Vec<(String, String)>>, Vec<Mistake>> {
    let Some(Sweep(axes)) = sweep else {
        return Ok(Vec::new());
    };
    let mistakes = size_mistake(axes).map_or_else(|| value_mistakes(document, axes), |m| vec![m]);
    if mistakes.is_empty() { Ok(combinations(axes)) } else { Err(mistakes) }
}

type Axis = (String, Vec<Value>);

fn size_mistake(axes: &[Axis]) -> Option<Mistake> {
    let values: usize = axes.iter().map(|(_, values)| values.len()).sum();
    let points =
        axes.iter().try_fold(1usize, |product, (_, values)| product.checked_mul(values.len()));
    let fits = values <= MAX_VALUES && points.is_some_and(|points| points <= MAX_POINTS);
    let message = format!("at most {MAX_VALUES} values and {MAX_POINTS} combinations");
    (!fits).then(|| mistake(&[], message))
}

fn mistake(keys: &[&str], message: String) -> Mistake {
    let path = std::iter::once(&"sweep").chain(keys).map(|key| (*key).to_owned()).collect();
    Mistake { path, message, suggestion: None }
}

fn value_mistakes(document: &Table, axes: &[Axis]) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (key, values) in axes {
        if key == "sweep" || key.starts_with("sweep.") {
            mistakes.push(mistake(&[key], "a sweep cannot change itself".to_owned()));
            continue;
        }
        mistakes.extend(values.iter().filter_map(|value| value_mistake(document, key, value)));
    }
    mistakes
}

fn value_mistake(document: &Table, key: &str, value: &Value) -> Option<Mistake> {
    let mut document = document.clone();
    document.0.retain(|(key, _)| key != "sweep");
    if let Err(message) = apply(&mut document, key, value.clone()) {
        return Some(mistake(&[key], message));
    }
    let issue = read(&document).err()?.into_iter().next()?;
    let place = if issue.key == key { String::new() } else { format!("{}: ", issue.key) };
    let message = format!("with {}: {place}{}", toml_text::inline(value), issue.message);
    Some(Mistake { suggestion: issue.suggestion, ..mistake(&[key], message) })
}

fn combinations(axes: &[Axis]) -> Vec<Vec<(String, String)>> {
    axes.iter().fold(vec![Vec::new()], |points, (key, values)| {
        let with = |point: &Vec<(String, String)>, value: &Value| {
            let mut point = point.clone();
            point.push((key.clone(), toml_text::inline(value)));
            point
        };
        points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect()
    })
}
