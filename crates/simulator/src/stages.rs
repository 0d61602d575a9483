//! Stages of a network: their places and counts.

use std::collections::{BTreeMap, HashMap};

use tidegate_mechanisms::stage::{
    AnyStage, Crossing, FastVerdict, PacketSummary, Passage, Passing, Report, StageParams,
};
use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::{Direction, FlowPlan, Plan, ReportPath};

use crate::output::StageTable;
use crate::random::{Stream, stream_label};
use handover::UserLocation;
pub use sight::{
    CongestionHeader, crossing, flags_of, header_of, held, passing, sequence_of, tunnel_of,
    with_ecn, with_held,
};

mod handover;
mod sight;

/// All stages and their places.
#[derive(Default)]
pub struct Stages {
    all: Vec<StageInstance>,
    /// Stages that have levels to sample.
    with_levels: Vec<u32>,
    chains: Vec<StageChain>,
    /// Fast path of each chain, in an array of its own, since every packet reads it.
    fast_paths: Vec<FastPath>,
    known: HashMap<Vec<Vec<u32>>, u32>,
    /// Reports made by the last packet, and the kind of stage that receives them.
    pub pending_reports: Vec<(&'static str, Box<Report>)>,
    /// Reason of the last drop.
    pub reason: &'static str,
    /// The stage that holds the last packet, counted among those that hold packets, and until when.
    pub held: Option<(u32, Time)>,
    /// Number of each stage among those that hold packets; none has one in a network without.
    holders: HashMap<u32, u32>,
    /// Current stage of each user that stages hand over to each other.
    at: UserLocation,
    /// The stages of links, at the beginning and at the end.
    of_links: HashMap<(u32, LinkEnd), Vec<u32>>,
    /// Stages that observe the drops of a link's queue: (link, stage).
    observers: Vec<(u32, u32)>,
}

/// The stages that packets pass one after the other in one place.
struct StageChain {
    positions: Vec<RoundRobin>,
    /// One of them writes more than a signal.
    writes_header: bool,
    /// The stage that receives the reports that end here.
    sink: Option<u32>,
    /// The link behind which packets pass this chain ahead of time, although it counts.
    passed_ahead: Option<u32>,
}

/// How to pass a chain of one tunnel end without the full view of a packet.
#[derive(Clone, Copy)]
pub enum FastPath {
    /// Not possible.
    No,
    /// Tunnels begin or end at this stage.
    Crosses(u32),
    /// Tunnels begin at this stage, which is passed on time and reports nothing.
    BeginsTunnels(u32),
    /// Tunnels end at this stage.
    EndsTunnels(u32),
}

/// A stage, and what it has dropped.
struct StageInstance {
    name: String,
    stage: AnyStage,
    params: StageParams,
    /// Other stages exist to which it hands users over.
    hands_over: bool,
    rng: Stream,
    drops: BTreeMap<(u32, &'static str), u64>,
}

/// Replicas of a stage that packets visit in rotation; mostly one.
struct RoundRobin {
    stages: Vec<u32>,
    next: usize,
}

/// An end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum LinkEnd {
    Beginning,
    Far,
}

/// Place of a stage, such as `heavy.0.ingress`: its name without the position.
fn place_of(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((place, position)) if position.bytes().all(|byte| byte.is_ascii_digit()) => place,
        _ => name,
    }
}

/// Whether stages are in front of this hop's link, or behind the last link.
pub fn is_staged(plan: &Plan, flow: &FlowPlan, direction: Direction, hop: usize) -> bool {
    flow.stages_at(plan, direction, hop).next().is_some()
}

/// Whether packets may pass the stages of a hop ahead of time. Paths diverge behind the end of a link, and a stage
/// that some packets pass ahead of time and others on arrival would see them out of order.
pub fn is_order_only(plan: &Plan, flow: &FlowPlan, direction: Direction, hop: usize) -> bool {
    let last = hop.checked_sub(1).map(|place| direction.route(flow)[place] as usize);
    last.is_none_or(|link| plan.links[link].egress.is_empty())
        && flow.stages_at(plan, direction, hop).all(StageParams::order_only)
}

impl Stages {
    /// Creates the stages of a plan.
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let mut stages = Stages::default();
        for stage in &plan.stages {
            stages.add(stage.name.clone(), stage.params.clone(), seed);
        }
        for (number, link) in plan.links.iter().enumerate() {
            let name = &link.name;
            let ends = [
                (LinkEnd::Beginning, "ingress", &link.ingress),
                (LinkEnd::Far, "egress", &link.egress),
            ];
            for (end, place, all) in ends {
                let named = |(i, params): (usize, &StageParams)| {
                    stages.add(format!("{name}.{place}.{i}"), params.clone(), seed)
                };
                let own: Vec<u32> = all.iter().enumerate().map(named).collect();
                let observes = |(&at, params): (&u32, &StageParams)| {
                    params.observes_drops().then_some((number as u32, at))
                };
                stages.observers.extend(own.iter().zip(all).filter_map(observes));
                if !own.is_empty() {
                    stages.of_links.insert((number as u32, end), own);
                }
            }
        }
        stages.init();
        if stages.all.iter().any(|stage| stage.hands_over) {
            stages.at = UserLocation::of(plan);
        }
        stages
    }

    /// Gives each stage its index among the stages of its kind.
    fn init(&mut self) {
        let mut counts: BTreeMap<&'static str, u32> = BTreeMap::new();
        let mut places = Vec::new();
        for instance in &self.all {
            let count = counts.entry(instance.params.name()).or_default();
            places.push(*count);
            *count += 1;
        }
        let count = |kind: &str| counts.get(kind).copied().unwrap_or_default();
        for (instance, place) in self.all.iter_mut().zip(places) {
            instance.stage.init(place, &count);
            instance.hands_over = instance.params.hands_over() && count(instance.params.name()) > 1;
        }
    }

    fn add(&mut self, name: String, params: StageParams, seed: u64) -> u32 {
        let number = self.all.len() as u32;
        let rng = Stream::new(seed, self.stream_name(&name, params.name()));
        if params.capabilities().has_levels {
            self.with_levels.push(number);
        }
        if params.capabilities().holds {
            self.holders.insert(number, self.holders.len() as u32);
        }
        let stage = AnyStage::new(params.clone());
        let drops = BTreeMap::new();
        self.all.push(StageInstance { name, stage, params, hands_over: false, rng, drops });
        number
    }

    /// Name of the next stage's random stream: place, kind, and position among the stages of that kind there. Stages of
    /// other kinds do not change it.
    fn stream_name(&self, name: &str, kind: &str) -> String {
        let place = place_of(name);
        let same =
            |other: &&StageInstance| place_of(&other.name) == place && other.params.name() == kind;
        // The stages of one place are adjacent.
        let before = self.all.iter().rev().take_while(|other| place_of(&other.name) == place);
        let label = stream_label(place);
        format!("stage/{label}/{kind}/{}", before.filter(same).count())
    }

    /// Whether the network has no stages.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the number of stages.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether each stage works by itself, and only when packets pass it: none reports, holds packets, observes drops,
    /// ends tunnels, or hands users over.
    pub fn stand_alone(&self) -> bool {
        self.observers.is_empty()
            && self.all.iter().all(|StageInstance { params, hands_over, .. }| {
                let own = params.capabilities();
                let reports = own.reports_to.is_some() || own.takes_reports;
                !(reports || own.holds || *hands_over || params.tunnel_end().is_some())
            })
            && self.chains.iter().all(|chain| chain.passed_ahead.is_none())
    }

    /// Returns the stages of a chain, replicas included.
    pub fn of_chain(&self, chain: u32) -> impl Iterator<Item = u32> {
        let positions = self.chains.get(chain as usize).into_iter().flat_map(|own| &own.positions);
        positions.flat_map(|position| &position.stages).copied()
    }

    /// Whether tunnels end at any stage.
    pub fn end_tunnels(&self) -> bool {
        self.all.iter().any(|instance| instance.params.ends_tunnels())
    }

    /// The chain of stages in front of this hop's link, or behind the last link; `None` if there are no stages.
    pub fn chain(&mut self, flow: &FlowPlan, direction: Direction, hop: usize) -> Option<u32> {
        let before = hop.checked_sub(1).map(|place| (place, LinkEnd::Far));
        let before =
            before.into_iter().flat_map(|(place, end)| self.at(flow, direction, place, end));
        let own =
            flow.own_attachments(direction, hop).map(|attachment| attachment.replicas.clone());
        let after = self.at(flow, direction, hop, LinkEnd::Beginning);
        let chain: Vec<Vec<u32>> = before.chain(own).chain(after).collect();
        (!chain.is_empty()).then(|| self.add_chain(chain))
    }

    /// The stages at one end of the link at this place on a route.
    fn at(
        &self,
        flow: &FlowPlan,
        direction: Direction,
        place: usize,
        end: LinkEnd,
    ) -> Vec<Vec<u32>> {
        let link = direction.route(flow).get(place);
        let all = link.and_then(|link| self.of_links.get(&(*link, end)));
        all.into_iter().flatten().map(|stage| vec![*stage]).collect()
    }

    /// The chain in front of the first link of a report path.
    pub fn first_chain(
        &mut self,
        flow: &FlowPlan,
        direction: Direction,
        place: usize,
    ) -> Option<u32> {
        let chain = self.at(flow, direction, place, LinkEnd::Beginning);
        (!chain.is_empty()).then(|| self.add_chain(chain))
    }

    /// The chain at the end of a report path, with the stage that receives the reports.
    pub fn last_chain(&mut self, flow: &FlowPlan, report: &ReportPath, last: usize) -> u32 {
        let &ReportPath { direction, kind, to, .. } = report;
        let before = to.checked_sub(1).map(|place| (place, LinkEnd::Far));
        let before =
            before.into_iter().flat_map(|(place, end)| self.at(flow, direction, place, end));
        let own = flow.own_attachments(direction, to).map(|attachment| attachment.replicas.clone());
        let there = before.chain(own).chain(self.at(flow, direction, to, LinkEnd::Beginning));
        let sink = there.flatten().filter(|at| self.all[*at as usize].params.name() == kind).last();
        let chain = self.at(flow, direction.opposite(), last, LinkEnd::Far);
        self.push_chain(chain, sink)
    }

    fn push_chain(&mut self, chain: Vec<Vec<u32>>, sink: Option<u32>) -> u32 {
        let number = self.chains.len() as u32;
        let writes = |at: &u32| self.all[*at as usize].params.writes_header();
        let writes_header = chain.iter().flatten().any(writes);
        let fast_path = match &chain[..] {
            [position] if position.len() == 1 => self.fast_path_of(position[0]),
            _ => FastPath::No,
        };
        self.fast_paths.push(fast_path);
        let positions = chain.into_iter().map(|stages| RoundRobin { stages, next: 0 }).collect();
        self.chains.push(StageChain { positions, writes_header, sink, passed_ahead: None });
        number
    }

    /// The fast path of a stage that is alone in its chain.
    fn fast_path_of(&self, stage: u32) -> FastPath {
        let params = &self.all[stage as usize].params;
        match params.tunnel_end() {
            None => FastPath::No,
            Some(end) if !end.begins() => FastPath::EndsTunnels(stage),
            Some(_) if params.ahead_of_readings() || params.reports_to().is_some() => {
                FastPath::Crosses(stage)
            }
            Some(_) => FastPath::BeginsTunnels(stage),
        }
    }

    fn add_chain(&mut self, chain: Vec<Vec<u32>>) -> u32 {
        // Chains with replicas are not shared: each has its own rotation.
        let alternates = chain.iter().any(|stages| stages.len() > 1);
        if !alternates && let Some(known) = self.known.get(&chain) {
            return *known;
        }
        let number = self.push_chain(chain.clone(), None);
        self.known.insert(chain, number);
        number
    }

    /// Lets packets pass a chain ahead of time, behind a link.
    pub fn pass_ahead(&mut self, chain: u32, link: u32) {
        self.chains[chain as usize].passed_ahead = Some(link);
    }

    /// The link behind which packets pass a chain ahead of time, if they do.
    #[inline]
    pub fn passed_ahead(&self, chain: u32) -> Option<u32> {
        self.chains[chain as usize].passed_ahead
    }

    /// Lets packets cross all tunnel ends by the general code.
    #[cfg(test)]
    pub fn disable_fast_paths(&mut self) {
        for fast_path in &mut self.fast_paths {
            if let FastPath::BeginsTunnels(stage) | FastPath::EndsTunnels(stage) = *fast_path {
                *fast_path = FastPath::Crosses(stage);
            }
        }
    }

    /// The fast path of a chain.
    #[inline]
    pub fn fast_path_in(&self, chain: u32) -> FastPath {
        self.fast_paths[chain as usize]
    }

    /// The only stage of a chain, if packets may pass it on the fast path.
    pub fn has_fast_path(&self, chain: u32) -> Option<u32> {
        let [position] = &self.chains.get(chain as usize)?.positions[..] else { return None };
        let &[stage] = &position.stages[..] else { return None };
        self.all[stage as usize].params.capabilities().has_fast_path.then_some(stage)
    }

    /// Passes a packet through a stage on the fast path, if its summary is enough.
    #[inline(always)]
    pub fn fast_path(
        &mut self,
        stage: u32,
        now: Time,
        len: u16,
        user: u32,
        flags: u32,
    ) -> FastVerdict {
        let CongestionHeader { ecn, declared } = header_of(flags);
        let fast_path = PacketSummary { now, len: Bytes::new(len.into()), user, ecn, declared };
        self.all[stage as usize].stage.fast_path(&fast_path)
    }

    /// Passes a packet through a tunnel end. Returns whether it goes on. Inlined, so that the compiler removes what a
    /// caller knows of the packet.
    #[inline(always)]
    pub fn cross(&mut self, number: u32, packet: &mut Crossing) -> bool {
        self.follow_user(number, packet.user);
        let StageInstance { stage, rng, .. } = &mut self.all[number as usize];
        match stage.cross(packet, || rng.unit()) {
            Passage::On => true,
            other => self.apply(number, packet.user, other),
        }
    }

    /// Records the drop or the report of a stage. Returns whether the packet goes on.
    #[inline(never)]
    fn apply(&mut self, number: u32, user: u32, passage: Passage) -> bool {
        let StageInstance { drops, params, .. } = &mut self.all[number as usize];
        match passage {
            Passage::On => true,
            Passage::Drop(reason) => {
                *drops.entry((user, reason)).or_default() += 1;
                self.reason = reason;
                false
            }
            Passage::Hold(until) => {
                self.held = Some((self.holders[&number], until));
                true
            }
            Passage::Report(mut report) => {
                report.from = number;
                let kind = params.reports_to().expect("a stage that reports names its receiver");
                self.pending_reports.push((kind, report));
                true
            }
        }
    }

    /// How many stages hold packets.
    pub fn holders(&self) -> usize {
        self.holders.len()
    }

    /// Passes a packet through a chain, behind the number of stages that have held it. If it goes on or is held, returns
    /// whether a stage writes more than a signal.
    pub fn pass(&mut self, chain: u32, mut held: u32, packet: &mut Passing) -> Option<bool> {
        for place in 0..self.chains[chain as usize].positions.len() {
            if held > 0 {
                let stage = self.chains[chain as usize].positions[place].stages[0];
                held -= u32::from(self.all[stage as usize].params.capabilities().holds);
                continue;
            }
            let position = &mut self.chains[chain as usize].positions[place];
            let number = position.stages[position.next];
            position.next =
                if position.next + 1 < position.stages.len() { position.next + 1 } else { 0 };
            self.follow_user(number, packet.user);
            let StageInstance { stage, rng, .. } = &mut self.all[number as usize];
            let passes = match stage.pass(packet, || rng.unit()) {
                Passage::On => true,
                other => self.apply(number, packet.user, other),
            };
            if !passes {
                return None;
            }
            if self.held.is_some() {
                break;
            }
        }
        Some(self.chains[chain as usize].writes_header)
    }

    /// Whether a stage observes the drops of a link's queue.
    pub fn observe_drops_at(&self, link: u32) -> bool {
        self.observers.iter().any(|(of, _)| *of == link)
    }

    /// Notifies the observers of a link's queue of a drop.
    pub fn observe_drop(&mut self, link: u32, packet: &Passing) {
        for (_, at) in self.observers.iter().filter(|(of, _)| *of == link) {
            self.all[*at as usize].stage.observe_drop(packet);
        }
    }

    /// The stage of a chain at which tunnels begin or end, or that receives reports of tunnels.
    pub fn outside_node(&self, chain: u32) -> Option<u32> {
        let StageChain { positions, sink, .. } = self.chains.get(chain as usize)?;
        let mut all = positions.iter().flat_map(|position| &position.stages).chain(sink).copied();
        all.find(|at| self.all[*at as usize].params.is_of_tunnels())
    }

    /// Whether tunnels end at a stage, and do not begin there.
    pub fn ends_tunnels_at(&self, number: u32) -> bool {
        self.all[number as usize].params.ends_tunnels()
    }

    /// Whether tunnels that begin at a stage copy the inner ConEx option into their headers.
    pub fn copies_declarations(&self, number: u32) -> bool {
        let end = self.all[number as usize].params.tunnel_end();
        end.is_some_and(|end| end.copies_declarations)
    }

    /// The kind of stage to which a chain reports.
    pub fn reports_to(&self, chain: u32) -> Option<&'static str> {
        let mut all =
            self.chains[chain as usize].positions.iter().flat_map(|position| &position.stages);
        all.find_map(|at| self.all[*at as usize].params.reports_to())
    }

    /// The name of a stage.
    pub fn name(&self, number: u32) -> &str {
        &self.all[number as usize].name
    }

    /// Delivers a report to a stage.
    pub fn notify(&mut self, number: u32, report: &Report) {
        self.all[number as usize].stage.take(report);
        self.send_after(number, report.user);
    }

    /// Delivers a report at the end of its path. Returns whether the chain has a receiver for it.
    pub fn take(&mut self, chain: u32, report: impl FnOnce() -> Report) -> bool {
        let Some(sink) = self.chains[chain as usize].sink else { return false };
        self.notify(sink, &report());
        true
    }

    /// All counts so far.
    pub fn counts(&self) -> StageCounts {
        let mut counts = BTreeMap::new();
        for (number, StageInstance { stage, drops, .. }) in self.all.iter().enumerate() {
            stage.counts(&mut |user, what, count| {
                counts.insert((number, user, what.to_owned()), count);
            });
            for ((user, reason), count) in drops {
                counts.insert((number, *user, format!("dropped: {reason}")), *count);
            }
            let state_bytes = stage.state_bytes() as u64;
            let users = counts.range((number, 0, String::new())..);
            if let Some((&(_, user, _), _)) = users.clone().next().filter(|_| state_bytes > 0) {
                counts.insert((number, user, STATE.to_owned()), state_bytes);
            }
        }
        StageCounts(counts)
    }

    /// Visits the levels of a user: name of the stage, name of the level, value.
    pub fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&str, &'static str, f64)) {
        for &number in &self.with_levels {
            let StageInstance { name, stage, .. } = &self.all[number as usize];
            stage.levels(user, now, &mut |level, value| each(name, level, value));
        }
    }

    /// The table of counts between two readings.
    pub fn table(&self, plan: &Plan, before: &StageCounts, after: &StageCounts) -> StageTable {
        let mut table = StageTable::default();
        for (key, count) in &after.0 {
            let (number, user, what) = key;
            table.stage.push(self.all[*number].name.clone());
            table.user.push(*user);
            table.group.push(plan.users[*user as usize].group as u32);
            table.count.push(what.clone());
            let had = before.0.get(key).copied().filter(|_| what != STATE).unwrap_or(0);
            let counted = count.checked_sub(had);
            table.value.push(counted.unwrap_or_else(|| {
                let stage = &self.all[*number].name;
                panic!("what a stage counts never shrinks: {what} of {stage}, {had} to {count}")
            }));
        }
        table
    }
}

/// State of a stage, in bytes. It is no counter: the table has its value at the end.
const STATE: &str = "state_bytes";

/// Counts up to a point in time, by stage, user and name.
#[derive(Clone, Default)]
pub struct StageCounts(BTreeMap<(usize, u32, String), u64>);
