//! Integration of a fluid from its initial state.

use crate::FluidNetwork;
use crate::flow::{NetworkEquations, State};

/// Initial state and steps of an integration.
#[derive(Clone, Debug)]
pub struct Integration {
    /// Windows of the groups at the beginning and before, packets.
    pub windows: Vec<f64>,
    /// Queues of the links at the beginning and before, packets.
    pub queues: Vec<f64>,
    /// Signal probabilities at the beginning and before, for signals with a state.
    pub probabilities: Vec<f64>,
    /// Known signal of each group's customers: activity, or tokens in a bucket.
    pub known: Vec<f64>,
    /// Mean of the known signals, if it matters.
    pub mean_known: f64,
    /// Simulated time, s.
    pub duration_s: f64,
    /// Length of a step, s. Must be shorter than half the shortest base round trip.
    pub step_s: f64,
    /// Number of steps per recorded point; the beginning is recorded first.
    pub keep_every: usize,
}

/// Recorded points: entries of all links, or of all groups, for the first point, the second, ...
#[derive(Clone, Debug, Default)]
pub struct Trajectory {
    /// Times, s.
    pub times_s: Vec<f64>,
    /// Queues, packets; of two, that of classic packets.
    pub queues: Vec<f64>,
    /// Signal probabilities.
    pub probabilities: Vec<f64>,
    /// Window of a source of each group, packets.
    pub windows: Vec<f64>,
    /// Known signal of a customer of each group.
    pub known: Vec<f64>,
}

/// Errors of an integration.
#[derive(Clone, Debug, PartialEq)]
pub enum FluidError {
    /// The step exceeds the shortest lag, half a base round trip.
    StepTooLong {
        /// Length of a step, s.
        step_s: f64,
        /// Half the shortest base round trip, s.
        shortest_s: f64,
    },
    /// A value that has to be positive is not, or is NaN.
    NotPositive {
        /// Name of the value.
        what: &'static str,
        /// Value.
        value: f64,
    },
    /// The number of values differs from the number of groups, or of links.
    Number {
        /// Name of the values.
        what: &'static str,
        /// Number of values given.
        given: usize,
        /// Number of values required.
        wanted: usize,
    },
    /// A group passes no link, or one that does not exist.
    NoPath {
        /// Index of the group.
        group: usize,
    },
}

impl std::fmt::Display for FluidError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FluidError::StepTooLong { step_s, shortest_s } => write!(
                f,
                "a step of {step_s} s jumps over the shortest lag of {shortest_s} s, half a base round trip"
            ),
            FluidError::NotPositive { what, value } => {
                write!(f, "{what} is {value}, and has to be above 0")
            }
            FluidError::Number { what, given, wanted } => {
                write!(f, "{given} {what}, and there should be {wanted}")
            }
            FluidError::NoPath { group } => write!(f, "group {group} passes no link that is there"),
        }
    }
}

impl std::error::Error for FluidError {}

/// Integrates a fluid from its initial state to its end.
pub fn run(network: &FluidNetwork, integration: &Integration) -> Result<Trajectory, FluidError> {
    check(network, integration)?;
    let steps = (integration.duration_s / integration.step_s).round() as usize;
    let keep_every = integration.keep_every.max(1);
    let mut state = State::of(network, integration);
    let mut flow = NetworkEquations::new(network, integration.step_s, &state);
    let mut kept = Trajectory::default();
    for step in 0..=steps {
        if step.is_multiple_of(keep_every) {
            keep(&mut kept, &state, step as f64 * integration.step_s);
        }
        if step < steps {
            flow.advance(&mut state);
        }
    }
    Ok(kept)
}

fn keep(kept: &mut Trajectory, state: &State, time_s: f64) {
    kept.times_s.push(time_s);
    for at in &state.links {
        kept.queues.push(at.queue);
        kept.probabilities.push(at.probability);
    }
    kept.windows.extend(&state.windows);
    kept.known.extend(&state.known);
}

fn check(network: &FluidNetwork, integration: &Integration) -> Result<(), FluidError> {
    let (links, groups) = (network.links.len(), network.groups.len());
    for (what, values, wanted) in [
        ("windows", &integration.windows, groups),
        ("entries of what is known", &integration.known, groups),
        ("queues", &integration.queues, links),
        ("probabilities", &integration.probabilities, links),
    ] {
        if values.len() != wanted {
            return Err(FluidError::Number { what, given: values.len(), wanted });
        }
    }
    let lost = network
        .groups
        .iter()
        .position(|group| group.route.is_empty() || group.route.iter().any(|link| *link >= links));
    if let Some(group) = lost {
        return Err(FluidError::NoPath { group });
    }
    let of_groups = network.groups.iter().flat_map(|group| {
        [("a base round trip", group.base_rtt_s), ("a number of sources", group.count)]
    });
    let of_windows = integration.windows.iter().map(|window| ("a window", *window));
    let of_links = network.links.iter().map(|link| ("the capacity", link.capacity_pps));
    let others = [("the duration", integration.duration_s), ("the step", integration.step_s)];
    for (what, value) in of_links.chain(others).chain(of_groups).chain(of_windows) {
        if !(value > 0.0 && value.is_finite()) {
            return Err(FluidError::NotPositive { what, value });
        }
    }
    let rtts = network.groups.iter().map(|group| group.base_rtt_s);
    let shortest_s = rtts.fold(f64::INFINITY, f64::min) / 2.0;
    if integration.step_s > shortest_s {
        return Err(FluidError::StepTooLong { step_s: integration.step_s, shortest_s });
    }
    Ok(())
}
