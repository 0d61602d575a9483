//! Points of a sweep.

use crate::document::{Table, Value};
use crate::field::UnlocatedDiagnostic;
use crate::file::Sweep;
use crate::{Found, overrides, read, toml_text, variants};

/// Maximum number of points.
const MAX_POINTS: usize = 100_000;
/// Maximum number of settings of all points together, each a key and a text.
const MAX_SETTINGS: usize = 5_000_000;
/// Maximum size of these settings, bytes.
const MAX_SETTING_BYTES: usize = 200_000_000;
/// Maximum number of values, each of which is checked with the whole file.
const MAX_VALUES: usize = 1_000;
/// Maximum number of bytes read for these checks.
const MAX_READ_BYTES: usize = 50_000_000;

/// Returns all combinations, the last key changing fastest. Every value is checked on its own beforehand, so that a
/// sweep does not stop at a misspelling.
pub(crate) fn points(
    document: &Table,
    sweep: Option<&Sweep>,
    file_bytes: usize,
) -> Result<Vec<Vec<(String, String)>>, Found> {
    let Some(Sweep(axes)) = sweep else {
        return Ok(Vec::new());
    };
    let too_many = size_error(axes, file_bytes);
    let errors = too_many.map_or_else(|| value_errors(document, axes), |m| vec![m]);
    if errors.is_empty() { Ok(combinations(axes)) } else { Err(errors.into()) }
}

type Axis = (String, Vec<Value>);

fn size_error(axes: &[Axis], file_bytes: usize) -> Option<UnlocatedDiagnostic> {
    let values: usize = axes.iter().map(|(_, values)| values.len()).sum();
    let points =
        axes.iter().try_fold(1usize, |product, (_, values)| product.checked_mul(values.len()));
    if values > MAX_VALUES || points.is_none_or(|points| points > MAX_POINTS) {
        let message = format!("at most {MAX_VALUES} values and {MAX_POINTS} combinations");
        return Some(error(&[], message));
    }
    let points = points.unwrap_or(usize::MAX);
    if points.saturating_mul(axes.len()) > MAX_SETTINGS
        || setting_bytes(axes, points) > MAX_SETTING_BYTES
    {
        let message = format!(
            "at most {MAX_SETTINGS} settings in all points, of {MAX_SETTING_BYTES} bytes: put what does not vary \
             outside the sweep"
        );
        return Some(error(&[], message));
    }
    let message = format!("{values} values are too many for a file of {file_bytes} bytes");
    (values.saturating_mul(file_bytes) > MAX_READ_BYTES).then(|| error(&[], message))
}

/// Returns the size of the settings of all points: each value of an axis is in the same number of points.
fn setting_bytes(axes: &[Axis], points: usize) -> usize {
    let of_axis = |(key, values): &Axis| {
        let bytes: usize =
            values.iter().map(|value| key.len() + toml_text::inline(value).len()).sum();
        bytes.saturating_mul(points / values.len())
    };
    axes.iter().map(of_axis).fold(0, usize::saturating_add)
}

fn error(keys: &[&str], message: String) -> UnlocatedDiagnostic {
    let path = std::iter::once(&"sweep").chain(keys).map(|key| (*key).to_owned()).collect();
    UnlocatedDiagnostic { path, message, suggestion: None }
}

fn value_errors(document: &Table, axes: &[Axis]) -> Vec<UnlocatedDiagnostic> {
    let mut errors = Vec::new();
    for (key, values) in axes {
        if key == "sweep" || key.starts_with("sweep.") {
            errors.push(error(&[key], "a sweep cannot change itself".to_owned()));
            continue;
        }
        errors.extend(values.iter().filter_map(|value| value_error(document, key, value)));
    }
    errors
}

fn value_error(document: &Table, key: &str, value: &Value) -> Option<UnlocatedDiagnostic> {
    let mut document = document.clone();
    document.0.retain(|(key, _)| key != "sweep" && key != variants::KEY);
    if let Err(issue) = overrides::apply(&mut document, key, value.clone().into()) {
        return Some(UnlocatedDiagnostic {
            suggestion: issue.suggestion,
            ..error(&[key], issue.message)
        });
    }
    let first = read(&document).err()?.errors.into_iter().next()?;
    let place = toml_text::dotted(&first.path);
    let own = overrides::without_word(key) == place;
    let place = if own { String::new() } else { format!("{place}: ") };
    let message = format!("with {}: {place}{}", toml_text::inline(value), first.message);
    Some(UnlocatedDiagnostic { suggestion: first.suggestion, ..error(&[key], message) })
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
