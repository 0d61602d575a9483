//! The stages of a network: which stand where, and what they have counted.

use std::collections::{BTreeMap, HashMap};

use tidegate_mechanisms::stage::{
    AnyStage, Crossing, FastVerdict, PacketSummary, Passage, Passing, Report, StageParams,
};
use tidegate_mechanisms::units::{Bytes, Time};
use tidegate_scenario::plan::{Direction, FlowPlan, Plan, ReportPath};

use crate::output::StageTable;
use crate::random::{Stream, stream_label};
use handover::UserLocation;
pub use sight::{Header, crossing, flags_of, header_of, passing, sequence_of, tunnel_of, with_ecn};

mod handover;
mod sight;

/// All stages, and the places where they stand.
#[derive(Default)]
pub struct Stages {
    all: Vec<StageInstance>,
    /// Those of them that have levels to sample.
    with_levels: Vec<u32>,
    rows: Vec<StageChain>,
    /// By row, its only stage: side by side, since every packet asks.
    alone: Vec<FastPath>,
    known: HashMap<Vec<Vec<u32>>, u32>,
    /// Reports that have just been made, and the kind of stage that takes them.
    pub pending_reports: Vec<(&'static str, Box<Report>)>,
    /// Why the last packet was dropped that was.
    pub reason: &'static str,
    /// At which stage users are whose stages hand them over to each other.
    at: UserLocation,
    /// The stages of links, at the beginning and at the end.
    of_links: HashMap<(u32, LinkEnd), Vec<u32>>,
    /// Those of them that ask for what the link's queue drops, with the link before them.
    observers: Vec<(u32, u32)>,
}

/// Stages that packets pass one after the other in one place.
struct StageChain {
    turns: Vec<RoundRobin>,
    /// One of them writes more than a signal.
    writes_header: bool,
    /// The stage that takes the reports that come here.
    taker: Option<u32>,
    /// The link behind which it is passed ahead of time, though it counts.
    passed_ahead: Option<u32>,
}

/// The only stage of a row, if there is a way to pass it that asks for less than all that can be said of a packet.
#[derive(Clone, Copy)]
pub enum FastPath {
    /// There is none.
    No,
    /// Tunnels begin or end at this one.
    Crosses(u32),
    /// Tunnels begin at this one, which is passed on time and reports nothing.
    BeginsTunnels(u32),
    /// Tunnels end at this one.
    EndsTunnels(u32),
}

/// A stage, and what it has dropped.
struct StageInstance {
    name: String,
    stage: AnyStage,
    params: StageParams,
    /// There are others to which it hands users over.
    hands_over: bool,
    rng: Stream,
    drops: BTreeMap<(u32, &'static str), u64>,
}

/// Stages that packets pass in turn, mostly one.
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

/// Where a stage is, such as `heavy.0.ingress`: its name without its position there.
fn place_of(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((place, position)) if position.bytes().all(|byte| byte.is_ascii_digit()) => place,
        _ => name,
    }
}

/// Whether anything stands in front of the link with this place on a route, or behind the last one.
pub fn is_staged(plan: &Plan, flow: &FlowPlan, direction: Direction, hop: usize) -> bool {
    flow.stages_at(plan, direction, hop).next().is_some()
}

/// Whether packets may pass there ahead of time. Behind the end of a link their ways part, and a stage that
/// some pass ahead of time and others when they arrive would see them out of order.
pub fn is_order_only(plan: &Plan, flow: &FlowPlan, direction: Direction, hop: usize) -> bool {
    let last = hop.checked_sub(1).map(|place| direction.route(flow)[place] as usize);
    last.is_none_or(|link| plan.links[link].egress.is_empty())
        && flow.stages_at(plan, direction, hop).all(StageParams::order_only)
}

impl Stages {
    /// Those of a plan, before the first packet.
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
                let hears = |(&at, params): (&u32, &StageParams)| {
                    params.observes_drops().then_some((number as u32, at))
                };
                stages.observers.extend(own.iter().zip(all).filter_map(hears));
                if !own.is_empty() {
                    stages.of_links.insert((number as u32, end), own);
                }
            }
        }
        stages.init();
        stages.at = UserLocation::of(plan);
        stages
    }

    /// All know where they stand among those of their kind.
    fn init(&mut self) {
        let mut counts: BTreeMap<&'static str, u32> = BTreeMap::new();
        let mut places = Vec::new();
        for standing in &self.all {
            let count = counts.entry(standing.params.name()).or_default();
            places.push(*count);
            *count += 1;
        }
        let count = |kind: &str| counts.get(kind).copied().unwrap_or_default();
        for (standing, place) in self.all.iter_mut().zip(places) {
            standing.stage.init(place, &count);
            standing.hands_over = standing.params.hands_over() && count(standing.params.name()) > 1;
        }
    }

    fn add(&mut self, name: String, params: StageParams, seed: u64) -> u32 {
        let number = self.all.len() as u32;
        let rng = Stream::new(seed, self.stream_name(&name, params.name()));
        if params.capabilities().has_levels {
            self.with_levels.push(number);
        }
        let stage = AnyStage::new(params.clone());
        let drops = BTreeMap::new();
        self.all.push(StageInstance { name, stage, params, hands_over: false, rng, drops });
        number
    }

    /// The name of the random stream of the next stage: where it is, its kind, and its position among those of its kind
    /// there. Stages of other kinds in the same place make no difference.
    fn stream_name(&self, name: &str, kind: &str) -> String {
        let place = place_of(name);
        let same =
            |other: &&StageInstance| place_of(&other.name) == place && other.params.name() == kind;
        // Those of one place follow each other.
        let before = self.all.iter().rev().take_while(|other| place_of(&other.name) == place);
        let label = stream_label(place);
        format!("stage/{label}/{kind}/{}", before.filter(same).count())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether tunnels end at one of them.
    pub fn end_tunnels(&self) -> bool {
        self.all.iter().any(|standing| standing.params.ends_tunnels())
    }

    /// The row of stages in front of the link with this place on a route, or behind the last one; `None`
    /// if nothing stands there.
    pub fn row(&mut self, flow: &FlowPlan, direction: Direction, hop: usize) -> Option<u32> {
        let before = hop.checked_sub(1).map(|place| (place, LinkEnd::Far));
        let before =
            before.into_iter().flat_map(|(place, end)| self.at(flow, direction, place, end));
        let own = flow.own_attachments(direction, hop).map(|stand| stand.replicas.clone());
        let after = self.at(flow, direction, hop, LinkEnd::Beginning);
        let row: Vec<Vec<u32>> = before.chain(own).chain(after).collect();
        (!row.is_empty()).then(|| self.add_row(row))
    }

    /// The stages at an end of the link with this place on a route, if there is one.
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

    /// The row in front of the first link of a way of reports.
    pub fn first_row(
        &mut self,
        flow: &FlowPlan,
        direction: Direction,
        place: usize,
    ) -> Option<u32> {
        let row = self.at(flow, direction, place, LinkEnd::Beginning);
        (!row.is_empty()).then(|| self.add_row(row))
    }

    /// The row at the end of a way of reports, and who takes them there.
    pub fn last_row(&mut self, flow: &FlowPlan, report: &ReportPath, last: usize) -> u32 {
        let &ReportPath { direction, kind, to, .. } = report;
        let before = to.checked_sub(1).map(|place| (place, LinkEnd::Far));
        let before =
            before.into_iter().flat_map(|(place, end)| self.at(flow, direction, place, end));
        let own = flow.own_attachments(direction, to).map(|stand| stand.replicas.clone());
        let there = before.chain(own).chain(self.at(flow, direction, to, LinkEnd::Beginning));
        let taker =
            there.flatten().filter(|at| self.all[*at as usize].params.name() == kind).last();
        let row = self.at(flow, direction.opposite(), last, LinkEnd::Far);
        self.push_row(row, taker)
    }

    fn push_row(&mut self, row: Vec<Vec<u32>>, taker: Option<u32>) -> u32 {
        let number = self.rows.len() as u32;
        let writes = |at: &u32| self.all[*at as usize].params.writes_header();
        let writes_header = row.iter().flatten().any(writes);
        let alone = match &row[..] {
            [turns] if turns.len() == 1 => self.fast_path_of(turns[0]),
            _ => FastPath::No,
        };
        self.alone.push(alone);
        let turns = row.into_iter().map(|stages| RoundRobin { stages, next: 0 }).collect();
        self.rows.push(StageChain { turns, writes_header, taker, passed_ahead: None });
        number
    }

    /// The way to pass a stage that is alone in its row.
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

    fn add_row(&mut self, row: Vec<Vec<u32>>) -> u32 {
        // Whose turn it is goes by flow.
        let takes_turns = row.iter().any(|stages| stages.len() > 1);
        if !takes_turns && let Some(known) = self.known.get(&row) {
            return *known;
        }
        let number = self.push_row(row.clone(), None);
        self.known.insert(row, number);
        number
    }

    /// Lets packets pass a row ahead of time, behind a link.
    pub fn pass_ahead(&mut self, row: u32, link: u32) {
        self.rows[row as usize].passed_ahead = Some(link);
    }

    /// The link behind which packets pass a row ahead of time, if they do.
    #[inline]
    pub fn passed_ahead(&self, row: u32) -> Option<u32> {
        self.rows[row as usize].passed_ahead
    }

    /// Takes all ends of tunnels for any.
    #[cfg(test)]
    pub fn close_short_ways(&mut self) {
        for alone in &mut self.alone {
            if let FastPath::BeginsTunnels(stage) | FastPath::EndsTunnels(stage) = *alone {
                *alone = FastPath::Crosses(stage);
            }
        }
    }

    /// The only stage of a row.
    #[inline]
    pub fn alone(&self, row: u32) -> FastPath {
        self.alone[row as usize]
    }

    /// The only stage of a row, if it lets packets pass on the fast path.
    pub fn has_fast_path(&self, row: u32) -> Option<u32> {
        let [turns] = &self.rows.get(row as usize)?.turns[..] else { return None };
        let &[stage] = &turns.stages[..] else { return None };
        self.all[stage as usize].params.capabilities().has_fast_path.then_some(stage)
    }

    /// A packet of this size and user with these flags passes a stage on the fast path, if that is enough.
    #[inline(always)]
    pub fn fast_path(
        &mut self,
        stage: u32,
        now: Time,
        len: u16,
        user: u32,
        flags: u32,
    ) -> FastVerdict {
        let Header { ecn, declared } = header_of(flags);
        let fast_path = PacketSummary { now, len: Bytes::new(len.into()), user, ecn, declared };
        self.all[stage as usize].stage.fast_path(&fast_path)
    }

    /// A packet crosses an end of tunnels. Returns whether it goes on. Inlined, so that a caller that knows some of
    /// the packet does without what follows from that.
    #[inline(always)]
    pub fn cross(&mut self, number: u32, packet: &mut Crossing) -> bool {
        self.come(number, packet.user);
        let StageInstance { stage, rng, .. } = &mut self.all[number as usize];
        match stage.cross(packet, || rng.unit()) {
            Passage::On => true,
            other => self.follow(number, packet.user, other),
        }
    }

    /// A stage has dropped a packet, or reports. Returns whether the packet goes on.
    #[inline(never)]
    fn follow(&mut self, number: u32, user: u32, passage: Passage) -> bool {
        let StageInstance { drops, params, .. } = &mut self.all[number as usize];
        match passage {
            Passage::On => true,
            Passage::Drop(reason) => {
                *drops.entry((user, reason)).or_default() += 1;
                self.reason = reason;
                false
            }
            Passage::Report(mut report) => {
                report.from = number;
                let kind = params.reports_to().expect("a stage that reports says to whom");
                self.pending_reports.push((kind, report));
                true
            }
        }
    }

    /// A packet passes a row of stages. If it goes on, returns whether one of them writes more than a
    /// signal into packets.
    pub fn pass(&mut self, row: u32, packet: &mut Passing) -> Option<bool> {
        for place in 0..self.rows[row as usize].turns.len() {
            let turns = &mut self.rows[row as usize].turns[place];
            let number = turns.stages[turns.next];
            turns.next = if turns.next + 1 < turns.stages.len() { turns.next + 1 } else { 0 };
            self.come(number, packet.user);
            let StageInstance { stage, rng, .. } = &mut self.all[number as usize];
            let goes_on = match stage.pass(packet, || rng.unit()) {
                Passage::On => true,
                other => self.follow(number, packet.user, other),
            };
            if !goes_on {
                return None;
            }
        }
        Some(self.rows[row as usize].writes_header)
    }

    /// Whether somebody asks for what the queue of a link drops.
    pub fn observe_drops_at(&self, link: u32) -> bool {
        self.observers.iter().any(|(of, _)| *of == link)
    }

    /// The queue of a link has dropped a packet.
    pub fn hear_drop(&mut self, link: u32, packet: &Passing) {
        for (_, at) in self.observers.iter().filter(|(of, _)| *of == link) {
            self.all[*at as usize].stage.hear_drop(packet);
        }
    }

    /// The stage of a row at which tunnels begin or end, or that takes reports of such.
    pub fn stands_outside(&self, row: u32) -> Option<u32> {
        let StageChain { turns, taker, .. } = self.rows.get(row as usize)?;
        let mut all = turns.iter().flat_map(|turns| &turns.stages).chain(taker).copied();
        all.find(|at| self.all[*at as usize].params.is_of_tunnels())
    }

    /// Whether tunnels end at a stage, and do not begin there.
    pub fn ends_tunnels_at(&self, number: u32) -> bool {
        self.all[number as usize].params.ends_tunnels()
    }

    /// Whether tunnels that begin at a stage say in their headers what the inner ConEx option does.
    pub fn copies_declarations(&self, number: u32) -> bool {
        let end = self.all[number as usize].params.tunnel_end();
        end.is_some_and(|end| end.copies_declarations)
    }

    /// To which kind of stage those of a row report.
    pub fn reports_to(&self, row: u32) -> Option<&'static str> {
        let mut all = self.rows[row as usize].turns.iter().flat_map(|turns| &turns.stages);
        all.find_map(|at| self.all[*at as usize].params.reports_to())
    }

    /// The name of a stage.
    pub fn name(&self, number: u32) -> &str {
        &self.all[number as usize].name
    }

    /// A report has come to a stage.
    pub fn tell(&mut self, number: u32, report: &Report) {
        self.all[number as usize].stage.take(report);
        self.send_after(number, report.user);
    }

    /// A report has come to the end of a row. Returns whether a stage there has taken it.
    pub fn take(&mut self, row: u32, report: impl FnOnce() -> Report) -> bool {
        let Some(taker) = self.rows[row as usize].taker else { return false };
        self.tell(taker, &report());
        true
    }

    /// What has been counted so far.
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

    /// What stages have for a user now: the stage's name, what, and how much of it.
    pub fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&str, &'static str, f64)) {
        for &number in &self.with_levels {
            let StageInstance { name, stage, .. } = &self.all[number as usize];
            stage.levels(user, now, &mut |level, value| each(name, level, value));
        }
    }

    /// The table of what was counted between two readings.
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

/// What a stage remembers, which is no count: it is told as it is at the end.
const STATE: &str = "state_bytes";

/// What stages have counted until some time: by stage, user and what.
#[derive(Clone, Default)]
pub struct StageCounts(BTreeMap<(usize, u32, String), u64>);
