//! The equations, and the history that they need.

use std::mem::take;

use crate::past::History;
use crate::policy::Policy;
use crate::signal_law::{FluidQueue, SignalLaw, SignalState};
use crate::trajectory::Integration;
use crate::{FluidLink, FluidNetwork, SourceGroup};

/// Minimum window, packets: the laws are not meant for windows below a packet.
const MIN_WINDOW: f64 = 1e-3;

/// State between two steps.
#[derive(Clone, Default)]
pub struct State {
    /// Window of a source of each group, packets.
    pub windows: Vec<f64>,
    /// Known signal of a customer of each group.
    pub known: Vec<f64>,
    /// States of the links.
    pub links: Vec<LinkState>,
}

/// State of a queue and its signal.
#[derive(Clone, Copy)]
pub struct LinkState {
    /// Queue, packets; of two queues, the classic one.
    pub queue: f64,
    /// Queue of scalable packets, if there are two, packets.
    scalable_queue: f64,
    memory: SignalState,
    /// Mean of the known signals of arriving packets' customers.
    mean_known: f64,
    /// Queueing delay of `queue`, derived from the state, s.
    delay_s: f64,
    /// Signal probability, derived from the state.
    pub probability: f64,
}

impl State {
    /// Returns the state at the beginning of an integration.
    pub fn of(network: &FluidNetwork, integration: &Integration) -> Self {
        let links = (0..network.links.len()).map(|number| begins(network, integration, number));
        State {
            windows: integration.windows.clone(),
            known: integration.known.clone(),
            links: links.collect(),
        }
    }

    /// Copies a state into the same memory.
    fn become_as(&mut self, other: &State) {
        self.windows.clone_from(&other.windows);
        self.known.clone_from(&other.known);
        self.links.clone_from(&other.links);
    }
}

fn begins(network: &FluidNetwork, integration: &Integration, number: usize) -> LinkState {
    let (link, queue) = (&network.links[number], integration.queues[number]);
    let mut at = LinkState {
        queue,
        scalable_queue: 0.0,
        memory: link.signal.settled(queue, integration.probabilities[number]),
        mean_known: integration.mean_known,
        delay_s: queue / link.capacity_pps,
        probability: 0.0,
    };
    if let (SignalLaw::Pi2 { controller, .. }, Policy::TwoQueues(two)) = (&link.signal, link.policy)
    {
        let groups = network.groups.iter().zip(&integration.windows);
        let scalable = groups
            .filter(|(group, _)| group.law.is_scalable() && group.route.contains(&number))
            .map(|(group, window)| group.count * group.rate_pps(*window, group.rtt_s(0.0)));
        let departs_pps = two.scalable_pps([queue, 0.0], scalable.sum(), link.capacity_pps);
        at.delay_s = if queue > 0.0 { queue / (link.capacity_pps - departs_pps) } else { 0.0 };
        at.memory[0] -= controller.beta_hz * at.delay_s;
    }
    at.probability = at.signalled(link);
    at
}

impl LinkState {
    /// Returns the signal probability.
    fn signalled(&self, link: &FluidLink) -> f64 {
        match (&link.signal, link.policy) {
            // The memory of the signal does not include the part proportional to the delay itself.
            (SignalLaw::Pi2 { controller, .. }, Policy::TwoQueues(_)) => {
                (self.memory[0] + controller.beta_hz * self.delay_s).clamp(0.0, 1.0)
            }
            _ => link.signal.probability(self.queue, self.memory),
        }
    }

    /// Returns the queueing delay of a packet of such a source, s.
    fn wait_s(&self, link: &FluidLink, scalable: bool) -> f64 {
        match link.policy {
            Policy::TwoQueues(two) if scalable => {
                self.scalable_queue / two.most_pps(self.queue, link.capacity_pps)
            }
            _ => self.delay_s,
        }
    }
}

/// Packets of a group that arrive at the queues now.
#[derive(Clone, Copy)]
struct Arriving {
    rtt_s: f64,
    /// Rate of one source, packets/s.
    pps: f64,
    /// Known signal of its customer when they were sent.
    known: f64,
}

/// The network, and the history of the delayed quantities.
pub struct NetworkEquations<'a> {
    network: &'a FluidNetwork,
    step_s: f64,
    steps_per_s: f64,
    /// Rate of a source of each group, at each step.
    rates: Vec<History>,
    /// Known signal of a customer of each group.
    known: Vec<History>,
    /// Probability that a packet of a group is signalled at each link of its path.
    met: Vec<Vec<History>>,
    /// Whether any link uses known signals of customers.
    knows: bool,
    /// Whether any link has two queues.
    has_two: bool,
    /// Work space of a step.
    here: Change,
    there: Change,
    ahead: State,
}

impl<'a> NetworkEquations<'a> {
    /// Returns the equations of a network that has always been in this state.
    pub fn new(network: &'a FluidNetwork, step_s: f64, state: &State) -> Self {
        let any = |is: fn(&Policy) -> bool| network.links.iter().any(|l| is(&l.policy));
        let mut flow = NetworkEquations {
            network,
            step_s,
            steps_per_s: 1.0 / step_s,
            rates: Vec::new(),
            known: Vec::new(),
            met: Vec::new(),
            knows: any(|how| matches!(how, Policy::Abc(_) | Policy::Afcp(_))),
            has_two: any(|how| matches!(how, Policy::TwoQueues(_))),
            here: Change::default(),
            there: Change::default(),
            ahead: state.clone(),
        };
        for ((group, window), known) in network.groups.iter().zip(&state.windows).zip(&state.known)
        {
            let rtt_s = flow.rtt_s(group, state);
            let pps = group.rate_pps(*window, rtt_s);
            let here = Arriving { rtt_s, pps, known: *known };
            let met = group.route.iter().map(|link| flow.met(state, group, *known, here, *link));
            let met = met.map(History::new).collect();
            flow.rates.push(History::new(pps));
            flow.known.push(History::new(*known));
            flow.met.push(met);
        }
        flow
    }

    /// Performs a step of Heun's method: the mean of the slopes at both of its ends.
    pub fn advance(&mut self, state: &mut State) {
        let (mut here, mut there) = (take(&mut self.here), take(&mut self.there));
        let mut ahead = take(&mut self.ahead);
        self.change(state, 0.0, &mut here);
        ahead.become_as(state);
        self.add(&mut ahead, &here, self.step_s);
        self.set_delays(&mut ahead, self.step_s);
        self.change(&ahead, self.step_s, &mut there);
        for change in [&here, &there] {
            self.add(state, change, self.step_s / 2.0);
        }
        self.set_delays(state, self.step_s);
        self.remember(state);
        (self.here, self.there, self.ahead) = (here, there, ahead);
    }

    fn remember(&mut self, state: &State) {
        let network = self.network;
        for (number, group) in network.groups.iter().enumerate() {
            let known = state.known[number];
            let here = match self.knows {
                true => self.arriving(number, state, self.step_s),
                false => Arriving { rtt_s: self.rtt_s(group, state), pps: 0.0, known },
            };
            for (place, link) in group.route.iter().enumerate() {
                let met = self.met(state, group, known, here, *link);
                self.met[number][place].push(met);
            }
            self.rates[number].push(group.rate_pps(state.windows[number], here.rtt_s));
            if self.knows {
                self.known[number].push(known);
            }
        }
    }

    fn add(&self, state: &mut State, change: &Change, time_s: f64) {
        for (window, by) in state.windows.iter_mut().zip(&change.windows) {
            *window = (*window + by * time_s).max(MIN_WINDOW);
        }
        for (known, by) in state.known.iter_mut().zip(&change.known) {
            *known = (*known + by * time_s).max(0.0);
        }
        let links = state.links.iter_mut().zip(&change.links).zip(&self.network.links);
        for ((at, by), link) in links {
            at.queue += by.queue * time_s;
            if !self.network.free_queue {
                at.queue = at.queue.max(0.0);
            }
            at.scalable_queue = (at.scalable_queue + by.scalable_queue * time_s).max(0.0);
            at.mean_known += by.mean_known * time_s;
            let memory = [0, 1].map(|i| at.memory[i] + by.memory[i] * time_s);
            at.memory = match (&link.signal, link.policy) {
                (SignalLaw::Pi2 { controller, .. }, Policy::TwoQueues(_)) => {
                    let own = controller.beta_hz * at.delay_s;
                    [memory[0].clamp(-own, 1.0 - own), 0.0]
                }
                _ => link.signal.bounded(memory),
            };
        }
    }

    /// Computes the slopes of the state, `ahead_s` after the last step.
    fn change(&self, state: &State, ahead_s: f64, change: &mut Change) {
        let Change { arriving, windows, known, links } = change;
        let groups = &self.network.groups;
        arriving.clear();
        arriving.extend((0..groups.len()).map(|number| self.arriving(number, state, ahead_s)));
        windows.clear();
        windows.extend(groups.iter().enumerate().map(|(number, group)| {
            let rtt_s = arriving[number].rtt_s;
            let past = self.met[number].iter();
            let passed = past.map(|met| 1.0 - self.ago(met, rtt_s / 2.0, ahead_s));
            let probability = 1.0 - passed.product::<f64>();
            let acks_pps = self.ago(&self.rates[number], rtt_s, ahead_s);
            let window = state.windows[number];
            // An ACK adds at most a packet, and removes at most the window.
            let by = group.law.per_ack(window, probability, rtt_s).clamp(-window, 1.0);
            by * acks_pps
        }));
        known.clear();
        known.extend(
            groups
                .iter()
                .enumerate()
                .map(|(number, group)| self.known_slope(state, group, number, arriving[number])),
        );
        links.clear();
        let every = 0..self.network.links.len();
        links.extend(every.map(|link| self.link_change(state, arriving, link)));
    }

    fn known_slope(
        &self,
        state: &State,
        group: &SourceGroup,
        number: usize,
        here: Arriving,
    ) -> f64 {
        let (first, known) = (group.route[0], state.known[number]);
        let link = &self.network.links[first];
        match link.policy {
            Policy::Abc(abc) => {
                let sent_pps = group.rate_pps(state.windows[number], here.rtt_s);
                abc.slope(known, sent_pps, group.customer)
            }
            Policy::Afcp(afcp) => {
                let probability = state.links[first].probability;
                afcp.slope(known, probability, here.pps, group.customer)
            }
            Policy::Alike | Policy::TwoQueues(_) => 0.0,
        }
    }

    fn link_change(&self, state: &State, arriving: &[Arriving], number: usize) -> LinkChange {
        let (link, at) = (&self.network.links[number], &state.links[number]);
        let here = || {
            let groups = self.network.groups.iter().zip(arriving).zip(&state.known);
            groups.filter(|((group, _), _)| group.route.contains(&number))
        };
        let through = |((group, here), known): ((&SourceGroup, &Arriving), &f64)| {
            group.count * here.pps * (1.0 - self.dropped(state, group, *known, *here, number))
        };
        let mut change = LinkChange::default();
        let mut capacity_pps = link.capacity_pps;
        if let Policy::TwoQueues(two) = link.policy {
            let scalable = here().filter(|((group, _), _)| group.law.is_scalable()).map(through);
            let scalable_pps = scalable.sum();
            let queues = [at.queue, at.scalable_queue];
            let departs_pps = two.scalable_pps(queues, scalable_pps, capacity_pps);
            change.scalable_queue = scalable_pps - departs_pps;
            capacity_pps -= departs_pps;
        }
        let own = here().filter(|((group, _), _)| !self.has_own_queue(link, group));
        let excess_pps = own.map(through).sum::<f64>() - capacity_pps;
        let stays = at.queue <= 0.0 && excess_pps < 0.0 && !self.network.free_queue;
        change.queue = excess_pps;
        if let Policy::Abc(abc) = link.policy {
            let carried = here().map(|((group, here), _)| (group.count * here.pps, here.known));
            change.mean_known = abc.mean_slope(carried, at.mean_known);
        }
        change.memory = match (&link.signal, link.policy) {
            (SignalLaw::Pi2 { controller, .. }, Policy::TwoQueues(_)) => {
                let longest_s = at.delay_s.max(at.wait_s(link, true));
                let error_s = longest_s - controller.target_s;
                [controller.alpha_hz / controller.interval_s * error_s, 0.0]
            }
            _ => link.signal.memory_slope(
                FluidQueue {
                    packets: at.queue,
                    slope_pps: if stays { 0.0 } else { excess_pps },
                    excess_pps,
                    capacity_pps: link.capacity_pps,
                },
                at.memory,
            ),
        };
        change
    }

    /// Returns the probability that a packet of a group is signalled, or dropped, at a link.
    fn met(
        &self,
        state: &State,
        group: &SourceGroup,
        known: f64,
        here: Arriving,
        number: usize,
    ) -> f64 {
        let (link, at) = (&self.network.links[number], &state.links[number]);
        let probability = at.probability;
        let scalable = group.law.is_scalable();
        let alike = link.signal.met(probability, scalable);
        match link.policy {
            Policy::Alike => alike,
            Policy::Abc(abc) => abc.met(probability, here.known, at.mean_known),
            Policy::Afcp(_) => {
                1.0 - (1.0 - alike) * (1.0 - self.dropped(state, group, known, here, number))
            }
            Policy::TwoQueues(two) if scalable => alike.max(two.ramp(at.wait_s(link, true))),
            Policy::TwoQueues(_) => alike,
        }
    }

    /// Returns the share of a group's packets that a link drops before they are queued.
    fn dropped(
        &self,
        state: &State,
        group: &SourceGroup,
        known: f64,
        here: Arriving,
        number: usize,
    ) -> f64 {
        let (link, at) = (&self.network.links[number], &state.links[number]);
        match link.policy {
            Policy::Abc(abc) => abc.met(at.probability, here.known, at.mean_known),
            Policy::Afcp(afcp) => {
                1.0 - afcp.forwarded(known, at.probability, here.pps, group.customer)
            }
            Policy::Alike | Policy::TwoQueues(_) => 0.0,
        }
    }

    fn has_own_queue(&self, link: &FluidLink, group: &SourceGroup) -> bool {
        matches!(link.policy, Policy::TwoQueues(_)) && group.law.is_scalable()
    }

    fn arriving(&self, number: usize, state: &State, ahead_s: f64) -> Arriving {
        let rtt_s = self.rtt_s(&self.network.groups[number], state);
        let lag_s = rtt_s / 2.0;
        Arriving {
            rtt_s,
            pps: self.ago(&self.rates[number], lag_s, ahead_s),
            known: if self.knows { self.ago(&self.known[number], lag_s, ahead_s) } else { 0.0 },
        }
    }

    fn rtt_s(&self, group: &SourceGroup, state: &State) -> f64 {
        let scalable = group.law.is_scalable();
        let waits = group
            .route
            .iter()
            .map(|&link| state.links[link].wait_s(&self.network.links[link], scalable));
        group.rtt_s(waits.sum())
    }

    fn ago(&self, past: &History, lag_s: f64, ahead_s: f64) -> f64 {
        past.ago((lag_s - ahead_s) * self.steps_per_s)
    }

    /// Sets the queueing delay of each queue. If scalable packets are served first, they use the capacity that classic
    /// ones leave.
    fn set_delays(&self, state: &mut State, ahead_s: f64) {
        if !self.has_two {
            for (at, link) in state.links.iter_mut().zip(&self.network.links) {
                at.delay_s = at.queue / link.capacity_pps;
                at.probability = at.signalled(link);
            }
            return;
        }
        for (number, link) in self.network.links.iter().enumerate() {
            let served_pps = match link.policy {
                Policy::TwoQueues(two) => {
                    let groups = self.network.groups.iter().enumerate();
                    let scalable = groups.filter(|(_, group)| {
                        group.law.is_scalable() && group.route.contains(&number)
                    });
                    let pps = scalable.map(|(place, group)| {
                        group.count * self.arriving(place, state, ahead_s).pps
                    });
                    let at = &state.links[number];
                    let queues = [at.queue, at.scalable_queue];
                    link.capacity_pps - two.scalable_pps(queues, pps.sum(), link.capacity_pps)
                }
                _ => link.capacity_pps,
            };
            let at = &mut state.links[number];
            at.delay_s =
                if at.queue > 0.0 || self.network.free_queue { at.queue / served_pps } else { 0.0 };
            at.probability = at.signalled(link);
        }
    }
}

/// Slopes of a [`State`], and intermediate values.
#[derive(Default)]
struct Change {
    arriving: Vec<Arriving>,
    windows: Vec<f64>,
    known: Vec<f64>,
    links: Vec<LinkChange>,
}

#[derive(Clone, Copy, Default)]
struct LinkChange {
    queue: f64,
    scalable_queue: f64,
    memory: SignalState,
    mean_known: f64,
}
