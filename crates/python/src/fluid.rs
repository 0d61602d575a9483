//! The mean-field model of a bottleneck, for `tidegate.analysis.fluid`.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate_fluid::{
    Adaptation, Bottleneck, Controller, Course, Group, Law, Red, Signal, Spacing, run,
};

/// Equal sources: their law's name, how many, base round trip (s), and what the law takes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Sources {
    law: String,
    count: f64,
    base_rtt_s: f64,
    parameters: Vec<f64>,
}

type Columns<'py> = [Bound<'py, PyArray1<f64>>; 4];

/// Follows a bottleneck: times, queue, probability, and the windows of all groups of each moment.
#[pyfunction]
#[pyo3(signature = (capacity_pps, signal, sources, windows, queue, probability, *, duration_s, step_s, keep_every, free_queue))]
#[allow(clippy::too_many_arguments, reason = "named ones")]
pub fn fluid<'py>(
    py: Python<'py>,
    capacity_pps: f64,
    signal: (String, Vec<f64>),
    sources: Vec<Sources>,
    windows: Vec<f64>,
    queue: f64,
    probability: f64,
    duration_s: f64,
    step_s: f64,
    keep_every: usize,
    free_queue: bool,
) -> PyResult<Columns<'py>> {
    let groups = sources.into_iter().map(group).collect::<PyResult<_>>()?;
    let signal = law_of_signal(&signal.0, &signal.1)?;
    let bottleneck = Bottleneck { capacity_pps, signal, groups, free_queue };
    let course = Course { windows, queue, probability, duration_s, step_s, keep_every };
    let kept = py
        .detach(|| run(&bottleneck, &course))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok([kept.times_s, kept.queue, kept.probability, kept.windows]
        .map(|column| column.into_pyarray(py)))
}

fn group(Sources { law, count, base_rtt_s, parameters }: Sources) -> PyResult<Group> {
    let law = match (law.as_str(), &parameters[..]) {
        ("aimd", &[increase, decrease]) => Law::Aimd { increase, decrease },
        ("scalable", []) => Law::Scalable,
        ("sbrm", &[gain, willingness_pps]) => Law::Sbrm { gain, willingness_pps },
        ("sbrm-steps", &[gain, willingness_pps]) => Law::SbrmSteps { gain, willingness_pps },
        ("cbr", &[rate_pps]) => Law::Cbr { rate_pps },
        _ => return Err(PyValueError::new_err(format!("no law {law:?} of {parameters:?}"))),
    };
    Ok(Group { law, count, base_rtt_s })
}

fn law_of_signal(name: &str, parameters: &[f64]) -> PyResult<Signal> {
    match (name, parameters) {
        ("red", &[_, _, _, _, _, _]) => Ok(Signal::Red(red_of(parameters))),
        ("adaptive-red", &[_, _, _, _, _, _, interval_s, increase, decrease]) => {
            let adaptation = Adaptation { interval_s, increase, decrease };
            Ok(Signal::AdaptiveRed(red_of(parameters), adaptation))
        }
        ("piecewise-linear", points) if points.len().is_multiple_of(2) => {
            Ok(Signal::Piecewise(points.chunks(2).map(|point| (point[0], point[1])).collect()))
        }
        ("sbrm", &[steepness, target]) => Ok(Signal::Sbrm { steepness, target }),
        ("pie", &[target_s, interval_s, alpha_hz, beta_hz]) => {
            Ok(Signal::Pie(Controller { target_s, interval_s, alpha_hz, beta_hz }))
        }
        ("pi2", &[target_s, interval_s, alpha_hz, beta_hz, coupling]) => {
            let controller = Controller { target_s, interval_s, alpha_hz, beta_hz };
            Ok(Signal::Pi2 { controller, coupling })
        }
        _ => Err(PyValueError::new_err(format!("no signal {name:?} of {parameters:?}"))),
    }
}

/// Thresholds (packets), p_max, weight, 1 if gentle, and how signals are spaced: 0 each by itself, 1
/// uniformly, 2 with a wait.
fn red_of(parameters: &[f64]) -> Red {
    let spacing = match parameters[5] {
        1.0 => Spacing::Uniform,
        2.0 => Spacing::Wait,
        _ => Spacing::Geometric,
    };
    Red {
        min_threshold: parameters[0],
        max_threshold: parameters[1],
        max_probability: parameters[2],
        weight: parameters[3],
        gentle: parameters[4] != 0.0,
        spacing,
    }
}
