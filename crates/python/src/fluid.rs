//! The mean-field model of a bottleneck, for `tidegate.analysis.fluid`.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate_fluid::{
    AbcPolicy, AfcpPolicy, Customer, FluidLink, FluidNetwork, FluidRed, Integration, Law,
    PiController, Policy, Price, RedAdaptation, SignalLaw, SourceGroup, Spacing, TwoQueues, run,
};

/// Equal sources: name of their law, number, base RTT (s), parameters of the law, indices of the links of their
/// path, flows per customer, and rate granted to a customer (packets/s).
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SourceArguments {
    law: String,
    count: f64,
    base_rtt_s: f64,
    parameters: Vec<f64>,
    route: Vec<usize>,
    flows: f64,
    granted_pps: f64,
}

/// A queue: capacity (packets/s), name and parameters of its signal law, name and parameters of its policy.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LinkArguments {
    capacity_pps: f64,
    signal: (String, Vec<f64>),
    policy: (String, Vec<f64>),
}

/// Initial state, one entry per link or group; see [`Integration`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct InitialState {
    windows: Vec<f64>,
    queues: Vec<f64>,
    probabilities: Vec<f64>,
    known: Vec<f64>,
    mean_known: f64,
}

type Columns<'py> = [Bound<'py, PyArray1<f64>>; 5];

/// Integrates a network. Returns times, queues and probabilities of all links, and windows and known signals of all
/// groups, for each recorded step.
#[pyfunction]
#[pyo3(signature = (links, sources, beginning, *, duration_s, step_s, keep_every, free_queue))]
#[allow(clippy::too_many_arguments, reason = "named ones")]
pub fn fluid<'py>(
    py: Python<'py>,
    links: Vec<LinkArguments>,
    sources: Vec<SourceArguments>,
    beginning: InitialState,
    duration_s: f64,
    step_s: f64,
    keep_every: usize,
    free_queue: bool,
) -> PyResult<Columns<'py>> {
    let groups = sources.into_iter().map(group).collect::<PyResult<_>>()?;
    let links = links.into_iter().map(link).collect::<PyResult<_>>()?;
    let network = FluidNetwork { links, groups, free_queue };
    let InitialState { windows, queues, probabilities, known, mean_known } = beginning;
    let integration = Integration {
        windows,
        queues,
        probabilities,
        known,
        mean_known,
        duration_s,
        step_s,
        keep_every,
    };
    let kept = py
        .detach(|| run(&network, &integration))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok([kept.times_s, kept.queues, kept.probabilities, kept.windows, kept.known]
        .map(|column| column.into_pyarray(py)))
}

fn link(LinkArguments { capacity_pps, signal, policy }: LinkArguments) -> PyResult<FluidLink> {
    let signal = law_of_signal(&signal.0, &signal.1)?;
    let policy = match (policy.0.as_str(), &policy.1[..]) {
        ("alike", []) => Policy::Alike,
        ("abc", &[gamma, inertia_s, activity_weight]) => {
            Policy::Abc(AbcPolicy { gamma, inertia_s, activity_weight })
        }
        ("afcp", &[depth]) => Policy::Afcp(AfcpPolicy { depth }),
        ("two-queues", &[classic_share, ramp_start_s, ramp_range_s]) => {
            Policy::TwoQueues(TwoQueues { classic_share, ramp_start_s, ramp_range_s })
        }
        (name, parameters) => {
            return Err(PyValueError::new_err(format!("no policy {name:?} of {parameters:?}")));
        }
    };
    Ok(FluidLink { capacity_pps, signal, policy })
}

fn group(sources: SourceArguments) -> PyResult<SourceGroup> {
    let SourceArguments { law, count, base_rtt_s, parameters, route, flows, granted_pps } = sources;
    let law = match (law.as_str(), &parameters[..]) {
        ("aimd", &[increase, decrease]) => Law::Aimd { increase, decrease },
        ("scalable", []) => Law::Scalable,
        ("sbrm", &[gain, willingness_pps]) => Law::Sbrm { gain, willingness_pps },
        ("sbrm-steps", &[gain, willingness_pps]) => Law::SbrmSteps { gain, willingness_pps },
        ("direct-window", &[gain, willingness_pps, base]) => {
            Law::DirectWindow { gain, willingness_pps, base }
        }
        ("tcp-rm", &[gain, willingness_pps]) => Law::TcpRm { gain, willingness_pps },
        ("padhye", &[packets_per_ack, min_rto_s]) => Law::Padhye { packets_per_ack, min_rto_s },
        ("cbr", &[rate_pps]) => Law::Cbr { rate_pps },
        _ => return Err(PyValueError::new_err(format!("no law {law:?} of {parameters:?}"))),
    };
    Ok(SourceGroup { law, count, base_rtt_s, route, customer: Customer { flows, granted_pps } })
}

fn law_of_signal(name: &str, parameters: &[f64]) -> PyResult<SignalLaw> {
    match (name, parameters) {
        ("red", &[_, _, _, _, _, _]) => Ok(SignalLaw::Red(red_of(parameters))),
        ("adaptive-red", &[_, _, _, _, _, _, interval_s, increase, decrease]) => {
            let adaptation = RedAdaptation { interval_s, increase, decrease };
            Ok(SignalLaw::AdaptiveRed(red_of(parameters), adaptation))
        }
        ("piecewise-linear", points) if points.len().is_multiple_of(2) => {
            Ok(SignalLaw::Piecewise(points.chunks(2).map(|point| (point[0], point[1])).collect()))
        }
        ("sbrm", &[steepness, target]) => Ok(SignalLaw::Sbrm { steepness, target }),
        ("price", &[gamma, alpha_hz, target, base]) => {
            Ok(SignalLaw::Price(Price { gamma, alpha_hz, target, base }))
        }
        ("pie", &[target_s, interval_s, alpha_hz, beta_hz]) => {
            Ok(SignalLaw::Pie(PiController { target_s, interval_s, alpha_hz, beta_hz }))
        }
        ("pi2", &[target_s, interval_s, alpha_hz, beta_hz, coupling]) => {
            let controller = PiController { target_s, interval_s, alpha_hz, beta_hz };
            Ok(SignalLaw::Pi2 { controller, coupling })
        }
        _ => Err(PyValueError::new_err(format!("no signal {name:?} of {parameters:?}"))),
    }
}

/// Returns RED with these parameters: thresholds (packets), p_max, weight, 1 if gentle, and the spacing of signals: 0
/// independent, 1 uniform, 2 with a wait.
fn red_of(parameters: &[f64]) -> FluidRed {
    let spacing = match parameters[5] {
        1.0 => Spacing::Uniform,
        2.0 => Spacing::Wait,
        _ => Spacing::Geometric,
    };
    FluidRed {
        min_threshold: parameters[0],
        max_threshold: parameters[1],
        max_probability: parameters[2],
        weight: parameters[3],
        gentle: parameters[4] != 0.0,
        spacing,
    }
}
