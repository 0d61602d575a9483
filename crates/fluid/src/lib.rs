//! A bottleneck as a fluid: windows and queue as smooth functions of time, with delays that follow the queue.
//!
//! The equations are (6.4.1) to (6.4.7) of the dissertation "Congestion Pricing as Scalable, Efficient and
//! Stable Congestion Control for Future IP Networks", for groups g of N_g equal sources:
//!
//! ```text
//! W_g' = g(W_g(t), p(t − R_g/2), R_g(t)) · x_g(t − R_g)       what an ACK does, times the ACKs
//! b'   = Σ N_g x_g(t − R_g/2) − c                              x_g = W_g / R_g,  R_g(t) = d_g + b(t)/c
//! ```
//!
//! with all delays taken at the present R_g(t), in packets and seconds. They are delay equations whose lags
//! depend on their state. [`run`] takes steps of a fixed length, short beside the shortest lag, by Heun's
//! method, and reads the past between two steps as a straight line.

#![forbid(unsafe_code)]

mod past;
mod red;
mod signal;
mod source;

pub use red::{Adaptation, Red, Spacing};
pub use signal::{Controller, Memory, Queue, Signal};
pub use source::{Group, Law};

use past::Past;

/// A link, its signal and its sources.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// Rate of the link, in packets/s.
    pub capacity_pps: f64,
    /// What it says of its queue.
    pub signal: Signal,
    /// Who sends.
    pub groups: Vec<Group>,
    /// Whether the queue may fall below zero, as in the dissertation; a real one stays empty.
    pub free_queue: bool,
}

/// How a trajectory begins, and how it is followed.
#[derive(Clone, Debug)]
pub struct Course {
    /// Windows of the groups at the beginning and before, in packets.
    pub windows: Vec<f64>,
    /// Queue at the beginning and before, in packets.
    pub queue: f64,
    /// The signal's own probability at the beginning and before, for those that go on from it.
    pub probability: f64,
    /// What is simulated, in seconds.
    pub duration_s: f64,
    /// Length of a step. Must be shorter than half the shortest base round trip.
    pub step_s: f64,
    /// Every so many steps are kept, the beginning first.
    pub keep_every: usize,
}

/// What was kept: an entry per moment.
#[derive(Clone, Debug, Default)]
pub struct Trajectory {
    /// Times, in seconds.
    pub times_s: Vec<f64>,
    /// Queue, in packets.
    pub queue: Vec<f64>,
    /// Probability of a mark at the queue.
    pub probability: Vec<f64>,
    /// Window of a source of each group, in packets: all groups of the first moment, of the second, ...
    pub windows: Vec<f64>,
}

/// Why a course cannot be followed.
#[derive(Clone, Debug, PartialEq)]
pub enum FluidError {
    /// The steps jump over the shortest lag, half a base round trip.
    StepTooLong {
        /// Length of a step.
        step_s: f64,
        /// Half the shortest base round trip.
        shortest_s: f64,
    },
    /// Something that has to be above zero is not, or is no number.
    NotPositive {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// There is not one window for each group.
    Windows {
        /// Windows that were given.
        given: usize,
        /// Groups.
        groups: usize,
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
            FluidError::Windows { given, groups } => {
                write!(f, "{given} windows for {groups} groups")
            }
        }
    }
}

impl std::error::Error for FluidError {}

/// The state between two steps: windows, queue, memory of the signal.
#[derive(Clone)]
struct State {
    windows: Vec<f64>,
    queue: f64,
    memory: Memory,
}

/// Follows a course from its beginning to its end.
pub fn run(bottleneck: &Bottleneck, course: &Course) -> Result<Trajectory, FluidError> {
    check(bottleneck, course)?;
    let steps = (course.duration_s / course.step_s).round() as usize;
    let keep_every = course.keep_every.max(1);
    let memory = bottleneck.signal.settled(course.queue, course.probability);
    let mut state = State { windows: course.windows.clone(), queue: course.queue, memory };
    let mut flow = Flow::new(bottleneck, course.step_s, &state);
    let mut kept = Trajectory::default();
    for step in 0..=steps {
        if step.is_multiple_of(keep_every) {
            kept.times_s.push(step as f64 * course.step_s);
            kept.queue.push(state.queue);
            kept.probability.push(bottleneck.signal.probability(state.queue, state.memory));
            kept.windows.extend(&state.windows);
        }
        if step < steps {
            flow.advance(&mut state);
        }
    }
    Ok(kept)
}

fn check(bottleneck: &Bottleneck, course: &Course) -> Result<(), FluidError> {
    let groups = bottleneck.groups.len();
    if course.windows.len() != groups {
        return Err(FluidError::Windows { given: course.windows.len(), groups });
    }
    let of_groups = bottleneck.groups.iter().flat_map(|group| {
        [("a base round trip", group.base_rtt_s), ("a number of sources", group.count)]
    });
    let of_windows = course.windows.iter().map(|window| ("a window", *window));
    let others = [
        ("the capacity", bottleneck.capacity_pps),
        ("the duration", course.duration_s),
        ("the step", course.step_s),
    ];
    for (what, value) in others.into_iter().chain(of_groups).chain(of_windows) {
        if !(value > 0.0 && value.is_finite()) {
            return Err(FluidError::NotPositive { what, value });
        }
    }
    let rtts = bottleneck.groups.iter().map(|group| group.base_rtt_s);
    let shortest_s = rtts.fold(f64::INFINITY, f64::min) / 2.0;
    if course.step_s > shortest_s {
        return Err(FluidError::StepTooLong { step_s: course.step_s, shortest_s });
    }
    Ok(())
}

/// The equations, with the past that they need.
struct Flow<'a> {
    bottleneck: &'a Bottleneck,
    step_s: f64,
    /// Rate of a source of each group, at each step.
    rates: Vec<Past>,
    /// Probability of a mark, at each step.
    probability: Past,
}

/// Rates of change of a [`State`].
struct Change {
    windows: Vec<f64>,
    queue: f64,
    memory: Memory,
}

impl<'a> Flow<'a> {
    fn new(bottleneck: &'a Bottleneck, step_s: f64, state: &State) -> Self {
        let groups = bottleneck.groups.iter().zip(&state.windows);
        let rate = |(group, window): (&Group, &f64)| {
            group.rate_pps(*window, state.queue, bottleneck.capacity_pps)
        };
        let probability = bottleneck.signal.probability(state.queue, state.memory);
        Flow {
            bottleneck,
            step_s,
            rates: groups.map(rate).map(Past::new).collect(),
            probability: Past::new(probability),
        }
    }

    /// A step of Heun's method: the mean of the slopes at both of its ends.
    fn advance(&mut self, state: &mut State) {
        let here = self.change(state, 0.0);
        let mut ahead = state.clone();
        self.add(&mut ahead, &here, self.step_s);
        let there = self.change(&ahead, self.step_s);
        for change in [&here, &there] {
            self.add(state, change, self.step_s / 2.0);
        }
        let capacity = self.bottleneck.capacity_pps;
        let groups = self.bottleneck.groups.iter().zip(&state.windows);
        for (past, (group, window)) in self.rates.iter_mut().zip(groups) {
            past.push(group.rate_pps(*window, state.queue, capacity));
        }
        self.probability.push(self.bottleneck.signal.probability(state.queue, state.memory));
    }

    fn add(&self, state: &mut State, change: &Change, time_s: f64) {
        for (window, by) in state.windows.iter_mut().zip(&change.windows) {
            // A window below a packet is none that any of the laws is meant for.
            *window = (*window + by * time_s).max(MIN_WINDOW);
        }
        state.queue += change.queue * time_s;
        if !self.bottleneck.free_queue {
            state.queue = state.queue.max(0.0);
        }
        let memory = [0, 1].map(|i| state.memory[i] + change.memory[i] * time_s);
        state.memory = self.bottleneck.signal.bounded(memory);
    }

    /// How the state changes, `ahead_s` after the last step.
    fn change(&self, state: &State, ahead_s: f64) -> Change {
        let Bottleneck { capacity_pps, signal, groups, .. } = self.bottleneck;
        let ago = |past: &Past, lag_s: f64| past.ago((lag_s - ahead_s) / self.step_s);
        let mut arriving = 0.0;
        let mut windows = Vec::with_capacity(groups.len());
        for ((group, window), rates) in groups.iter().zip(&state.windows).zip(&self.rates) {
            let rtt_s = group.rtt_s(state.queue, *capacity_pps);
            arriving += group.count * ago(rates, rtt_s / 2.0);
            let said = ago(&self.probability, rtt_s / 2.0);
            let probability = signal.met(said, group.law.is_scalable());
            windows.push(group.law.per_ack(*window, probability, rtt_s) * ago(rates, rtt_s));
        }
        let slope_pps = arriving - capacity_pps;
        let stays = state.queue <= 0.0 && slope_pps < 0.0 && !self.bottleneck.free_queue;
        let seen = Queue {
            packets: state.queue,
            slope_pps: if stays { 0.0 } else { slope_pps },
            capacity_pps: *capacity_pps,
        };
        let memory = signal.memory_slope(seen, state.memory);
        Change { windows, queue: slope_pps, memory }
    }
}

/// In packets.
const MIN_WINDOW: f64 = 1e-3;

#[cfg(test)]
mod tests;
