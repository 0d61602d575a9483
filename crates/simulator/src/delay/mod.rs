//! Delays of packets on their path, as receivers see them.
//!
//! A packet carries the time at which its sender sent it, so its *one-way delay* is known where it arrives. Its *queueing
//! delay* is what the one-way delay has beyond that of the same packet over an empty path: the sum over links of
//! propagation and of the transmission of that many bytes, at the highest rate that the link ever has. So it is the time
//! in queues and behind outages, together with the delay within the sending host (`host_jitter`).
//!
//! Both are kept as histograms of a user group, or of each user or flow. Full packets over paths of one shape have the
//! same delay over an empty path, so that a histogram of their queueing delays has their one-way delays as well: that is a
//! *class*. Other packets, which are few, have a histogram for each. Of UDP there is also the interarrival jitter (RFC
//! 3550, section 6.4.1), and how losses follow each other.

mod call;
mod datagrams;
mod empty_path;
mod statistics;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{DelaysBy, Plan};

use crate::network::Routes;
use crate::number_map::NumberMap;
use crate::output::DelayTable;
use crate::packet::PackedPacket;
use datagrams::DatagramDelays;
pub use empty_path::transfer_time_s;
use empty_path::{EmptyPath, PathShape};
pub use statistics::DelayStatistics;

/// What every packet of a flow needs of its delays.
#[derive(Clone, Copy, Default)]
pub struct FlowDelays {
    /// The user group.
    pub group: u16,
    /// Index into [`Delays::classes`].
    class: u32,
}

/// Full packets of a group, user or flow over paths of one shape.
#[derive(Clone)]
struct Class {
    /// Their length on arrival; 0, which no packet has, of packets that are looked at one by one.
    len: u16,
    /// Their delay over an empty path.
    empty: Span,
    queueing: DelayStatistics,
    owner: u32,
}

/// The class of packets that are looked at one by one.
const NO_CLASS: u32 = 0;

/// What packets that are looked at one by one need of their flow.
struct FlowPlace {
    owner: u32,
    /// Index into [`Delays::paths`]; [`MOVES`] of a flow with several.
    path: u32,
    /// Index into [`Delays::datagrams`]; [`NO_DATAGRAMS`] of TCP.
    datagrams: u32,
}

/// The path depends on where the packet arrives.
const MOVES: u32 = u32::MAX;
/// The flow is carried by TCP.
const NO_DATAGRAMS: u32 = u32::MAX;

/// Delays of a group, user or flow.
#[derive(Clone, Default)]
struct OwnerDelays {
    queueing: DelayStatistics,
    one_way: DelayStatistics,
}

/// All delays of a run.
pub struct Delays {
    classes: Vec<Class>,
    /// By group, user or flow: the packets that are in no class.
    others: Vec<OwnerDelays>,
    flows: Vec<FlowPlace>,
    paths: Vec<EmptyPath>,
    /// Paths of flows that move, by the hop at their end.
    by_hop: NumberMap<u32, u32>,
    datagrams: Vec<DatagramDelays>,
    /// Whether packets are numbered by their senders.
    numbered: bool,
}

impl Delays {
    /// Nothing measured yet. `routes` are those of the plan's paths; `numbered` says whether packets of UDP have the
    /// numbers that their senders gave them. Returns what each flow's packets need.
    pub fn new(plan: &Plan, routes: &[Routes], numbered: bool) -> (Self, Vec<FlowDelays>) {
        let (mut known, mut by_hop) = (NumberMap::default(), NumberMap::default());
        let mut paths = Vec::new();
        let mut number_of = |shape: PathShape| {
            *known.entry(shape).or_insert_with_key(|shape| {
                paths.push(EmptyPath::of(shape));
                (paths.len() - 1) as u32
            })
        };
        let mut moves = vec![false; plan.flows.len()];
        plan.moves.iter().for_each(|moved| moves[moved.flow] = true);
        let mut path_of = Vec::with_capacity(plan.flows.len());
        for (number, path) in plan.paths().enumerate() {
            let shape = number_of(PathShape::of(plan, path));
            if moves[plan.path(number).0] {
                by_hop.insert(routes[number].forward + path.forward.len() as u32, shape);
            }
            path_of.push(shape);
        }
        let mut delays = Delays {
            classes: vec![Class::of_none()],
            others: vec![OwnerDelays::default(); owners(plan)],
            flows: Vec::with_capacity(plan.flows.len()),
            paths,
            by_hop,
            datagrams: Vec::new(),
            numbered,
        };
        let mut known = NumberMap::default();
        let mut flows = Vec::with_capacity(plan.flows.len());
        for (number, flow) in plan.flows.iter().enumerate() {
            let group = plan.users[flow.user].group;
            let owner = match plan.delays_by {
                DelaysBy::Group => group,
                DelaysBy::User => flow.user,
                DelaysBy::Flow => number,
            } as u32;
            let path = if moves[number] { MOVES } else { path_of[number] };
            let (mut datagrams, mut class) = (NO_DATAGRAMS, NO_CLASS);
            if flow.tcp.is_none() {
                datagrams = delays.datagrams.len() as u32;
                delays.datagrams.push(DatagramDelays::default());
            } else if path != MOVES {
                let len = flow.packet_size.get() as u16;
                let Delays { classes, paths, .. } = &mut delays;
                class = *known.entry((owner, path, len)).or_insert_with(|| {
                    let empty = paths[path as usize].delay(len);
                    classes.push(Class { len, empty, owner, queueing: DelayStatistics::default() });
                    (classes.len() - 1) as u32
                });
            }
            delays.flows.push(FlowPlace { owner, path, datagrams });
            flows.push(FlowDelays { group: group as u16, class });
        }
        (delays, flows)
    }

    /// The queueing delay of a packet that reaches its receiver at `at`.
    #[inline(always)]
    pub fn queueing(&mut self, flow: FlowDelays, packed: &PackedPacket, at: Time) -> Span {
        let class = &self.classes[flow.class as usize];
        if packed.len() == class.len {
            return beyond(packed, at, class.empty);
        }
        self.queueing_of_other(packed, at)
    }

    #[cold]
    #[inline(never)]
    fn queueing_of_other(&mut self, packed: &PackedPacket, at: Time) -> Span {
        let path = match self.flows[packed.flow() as usize].path {
            MOVES => self.by_hop[&packed.hop()],
            path => path,
        };
        beyond(packed, at, self.paths[path as usize].delay(packed.len()))
    }

    /// A packet with this queueing delay has reached its receiver at `at`.
    #[inline(always)]
    pub fn record(&mut self, flow: FlowDelays, packed: &PackedPacket, at: Time, queueing: Span) {
        let class = &mut self.classes[flow.class as usize];
        if packed.len() == class.len {
            class.queueing.record(queueing);
        } else {
            self.record_other(packed, at, queueing);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_other(&mut self, packed: &PackedPacket, at: Time, queueing: Span) {
        let FlowPlace { owner, datagrams, .. } = self.flows[packed.flow() as usize];
        let one_way = at.since(packed.stamp());
        let owner = &mut self.others[owner as usize];
        owner.queueing.record(queueing);
        owner.one_way.record(one_way);
        if datagrams != NO_DATAGRAMS {
            let number = self.numbered.then_some(packed.number());
            self.datagrams[datagrams as usize].record(one_way, number);
        }
    }

    /// The measured time begins.
    pub fn reset(&mut self) {
        self.classes.iter_mut().for_each(|class| class.queueing.reset());
        for owner in &mut self.others {
            owner.queueing.reset();
            owner.one_way.reset();
        }
        self.datagrams.iter_mut().for_each(DatagramDelays::reset);
    }

    /// What has been measured since.
    pub fn table(&self, plan: &Plan) -> DelayTable {
        let group_of = |owner: usize| match plan.delays_by {
            DelaysBy::Group => owner,
            DelaysBy::User => plan.users[owner].group,
            DelaysBy::Flow => plan.users[plan.flows[owner].user].group,
        };
        let mut table = DelayTable::default();
        let of_group: Vec<usize> = (0..self.others.len()).map(group_of).collect();
        self.push_all(&mut table, "group", &(0..plan.groups.len()).collect::<Vec<_>>(), &of_group);
        let level = match plan.delays_by {
            DelaysBy::Group => return table,
            DelaysBy::User => "user",
            DelaysBy::Flow => "flow",
        };
        let each: Vec<usize> = (0..self.others.len()).collect();
        self.push_all(&mut table, level, &of_group, &each);
        table
    }

    /// Adds a row for each of `groups`; `row_of` has the row to which each owner belongs.
    fn push_all(&self, table: &mut DelayTable, level: &str, groups: &[usize], row_of: &[usize]) {
        let mut queueing = vec![Vec::new(); groups.len()];
        let mut one_way = queueing.clone();
        for class in &self.classes[1..] {
            let row = row_of[class.owner as usize];
            queueing[row].push((&class.queueing, Span::ZERO));
            one_way[row].push((&class.queueing, class.empty));
        }
        for (other, row) in self.others.iter().zip(row_of) {
            queueing[*row].push((&other.queueing, Span::ZERO));
            one_way[*row].push((&other.one_way, Span::ZERO));
        }
        let mut datagrams = vec![None; groups.len()];
        for flow in self.flows.iter().filter(|flow| flow.datagrams != NO_DATAGRAMS) {
            let own = &self.datagrams[flow.datagrams as usize];
            let row = &mut datagrams[row_of[flow.owner as usize]];
            row.get_or_insert_with(DatagramDelays::default).add(own);
        }
        for (number, group) in groups.iter().enumerate() {
            table.level.push(level.to_owned());
            table.number.push(number as u32);
            table.group.push(*group as u32);
            let (packets, summary) = DelayStatistics::summary_of(&queueing[number]);
            table.packets.push(packets);
            let [mean, p50, p95, p99, p999, max] = summary;
            table.mean_queueing_delay_s.push(mean);
            table.p50_queueing_delay_s.push(p50);
            table.p95_queueing_delay_s.push(p95);
            table.p99_queueing_delay_s.push(p99);
            table.p999_queueing_delay_s.push(p999);
            table.max_queueing_delay_s.push(max);
            let (_, [mean, p50, p95, p99, p999, max]) =
                DelayStatistics::summary_of(&one_way[number]);
            table.mean_one_way_delay_s.push(mean);
            table.p50_one_way_delay_s.push(p50);
            table.p95_one_way_delay_s.push(p95);
            table.p99_one_way_delay_s.push(p99);
            table.p999_one_way_delay_s.push(p999);
            table.max_one_way_delay_s.push(max);
            let own = datagrams[number].as_ref();
            table.jitter_s.push(own.map_or(f64::NAN, DatagramDelays::jitter_s));
            let numbered = own.filter(|_| self.numbered);
            table.loss_runs.push(numbered.map_or(f64::NAN, |own| own.loss_runs as f64));
            let longest = numbered.map_or(f64::NAN, |own| own.longest_loss_run as f64);
            table.longest_loss_run_packets.push(longest);
        }
    }
}

/// Adds the mean opinion scores of calls to a table; `losses` and `delivered` are packets by flow.
pub fn add_opinion_scores(
    table: &mut DelayTable,
    plan: &Plan,
    losses: impl Iterator<Item = u64>,
    delivered: impl Iterator<Item = u64>,
) {
    // Of a group, and of its users and flows, the flows are all calls of one kind, or none is.
    let mut calls = vec![None; table.level.len()];
    for (number, (lost, got)) in losses.zip(delivered).enumerate() {
        let flow = &plan.flows[number];
        let Some(call) = call::call_of(flow) else { continue };
        let group = plan.users[flow.user].group;
        let own = match plan.delays_by {
            DelaysBy::Group => None,
            DelaysBy::User => Some(plan.groups.len() + flow.user),
            DelaysBy::Flow => Some(plan.groups.len() + number),
        };
        for row in own.into_iter().chain([group]) {
            let (_, [sum_lost, sum_got]) = calls[row].get_or_insert((call, [0, 0]));
            (*sum_lost, *sum_got) = (*sum_lost + lost, *sum_got + got);
        }
    }
    table.mos.extend(calls.iter().enumerate().map(|(row, call)| match call {
        Some((call, [lost, got])) => call::mean_opinion_score(
            *call,
            table.p99_one_way_delay_s[row],
            table.jitter_s[row],
            *lost as f64 / (lost + got).max(1) as f64,
        ),
        None => f64::NAN,
    }));
}

impl Class {
    fn of_none() -> Self {
        Class { len: 0, empty: Span::ZERO, owner: 0, queueing: DelayStatistics::default() }
    }
}

/// What the one-way delay of a packet that arrives at `at` has beyond this one.
#[inline(always)]
fn beyond(packed: &PackedPacket, at: Time, empty: Span) -> Span {
    let one_way = at.since(packed.stamp());
    Span::from_nanos(one_way.as_nanos().saturating_sub(empty.as_nanos()))
}

/// Number of groups, users or flows whose delays are kept.
fn owners(plan: &Plan) -> usize {
    match plan.delays_by {
        DelaysBy::Group => plan.groups.len(),
        DelaysBy::User => plan.users.len(),
        DelaysBy::Flow => plan.flows.len(),
    }
}
