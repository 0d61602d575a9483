//! How packets pass the stages of a network, and leave it where nodes outside stand in their place.

use tidegate_mechanisms::stage::{Crossing, Ecn, Glanced, Passing, Report, Tunnel};
use tidegate_mechanisms::units::Time;

use super::Network;
use crate::connections::ConnectionId;
use crate::contents::Contents;
use crate::feeders::{Hop, NO_LINK, Then};
use crate::packet::{Packet, Parcel, Rewritten, TunnelHeader, flags};
use crate::stages::{self, Alone, Header};

/// No stage lets packets pass at a glance.
pub(super) const NO_STAGE: u32 = u32::MAX;

impl<C: Contents> Network<C> {
    /// By hop, the stage in front of it that lets packets pass at a glance: [`NO_STAGE`] if none does.
    pub(super) fn stages_to_glance(&self) -> Vec<u32> {
        let alone = |row: &u32| if C::OUTSIDE { None } else { self.stages.glances_alone(*row) };
        self.rows.iter().map(|row| alone(row).unwrap_or(NO_STAGE)).collect()
    }

    /// A packet passes the stages in front of its next link, or behind the last one. Returns what they
    /// have written into it, if it goes on.
    #[inline(never)]
    pub(super) fn pass_stages(&mut self, parcel: Parcel, now: Time) -> Option<Rewritten> {
        use flags::{OPTIONS, REPORT, TUNNEL};
        let (hop, flags) = (parcel.hop() as usize, parcel.flags());
        let stage = self.glances[hop];
        if stage != NO_STAGE && flags & (REPORT | OPTIONS | TUNNEL) == 0 {
            return self.pass_at_glance(stage, parcel, now);
        }
        let row = self.rows[hop];
        if !C::OUTSIDE && flags & (REPORT | OPTIONS) == 0 {
            match self.stages.alone(row) {
                Alone::EndsTunnels(stage) => return self.cross((row, stage), parcel, now),
                Alone::Gateway(stage) => return self.enter_tunnel((row, stage), parcel, now),
                Alone::Enodeb(stage) => return self.leave_tunnel((row, stage), parcel, now),
                Alone::No => {}
            }
        }
        self.pass_one_by_one(row, parcel, now)
    }

    /// The same where little of the packet may matter.
    #[inline(never)]
    fn pass_at_glance(&mut self, stage: u32, parcel: Parcel, now: Time) -> Option<Rewritten> {
        let (flags, len) = (parcel.flags(), parcel.len());
        let user = self.flow_states[parcel.flow() as usize].owner.user;
        let word = match self.stages.glance(stage, now, len, user, flags) {
            Glanced::On => parcel.word(),
            Glanced::Signal(signal) => signal.to_bits(),
            Glanced::More => {
                return self.pass_one_by_one(self.rows[parcel.hop() as usize], parcel, now);
            }
        };
        Some(Rewritten::new(word, flags, len))
    }

    /// As [`Self::cross`], at a gateway. Most packets that come there are not ECN-capable, since the network does without
    /// their senders, and say nothing for which there is no room beside a tunnel's header.
    #[inline(never)]
    fn enter_tunnel(
        &mut self,
        (row, stage): (u32, u32),
        mut parcel: Parcel,
        now: Time,
    ) -> Option<Rewritten> {
        use flags::{CE, ECT, ECT_1, TUNNEL};
        if parcel.has(TUNNEL | ECT | ECT_1 | CE) || parcel.word() != 0 {
            return self.cross((row, stage), parcel, now);
        }
        debug_assert!(self.stages.passed_ahead(row).is_none(), "a gateway is passed on time");
        let user = self.flow_states[parcel.flow() as usize].owner.user;
        let tunnel_end = self.tunnel_end(parcel.hop());
        let crossing = stages::crossing(&parcel, None, (user, tunnel_end), now);
        let mut crossing = Crossing { ecn: Ecn::NotEct, ..crossing };
        if !self.stages.enter(stage, &mut crossing) {
            self.lose(&parcel, now);
            return None;
        }
        let mut flags = parcel.flags();
        if crossing.tunnel.is_some() {
            flags = self.write_tunnel(&mut parcel, crossing.tunnel) | TUNNEL;
            flags |= if crossing.ecn == Ecn::NotEct { 0 } else { ECT };
        }
        let len = u16::try_from(crossing.len.get()).expect("at most 65,535 B");
        Some(Rewritten::new(parcel.word(), flags, len))
    }

    /// As [`Self::cross`], at an eNodeB: most packets that leave a tunnel there came into it not ECN-capable.
    #[inline(never)]
    fn leave_tunnel(
        &mut self,
        (row, stage): (u32, u32),
        parcel: Parcel,
        now: Time,
    ) -> Option<Rewritten> {
        use flags::{CE, ECT, ECT_1, INNER_CE, INNER_ECT, INNER_ECT_1, TUNNEL};
        if parcel.flags() & (TUNNEL | INNER_ECT | INNER_ECT_1 | INNER_CE) != TUNNEL {
            return self.cross((row, stage), parcel, now);
        }
        if self.is_held(row, &parcel, now) {
            return None;
        }
        let user = self.flow_states[parcel.flow() as usize].owner.user;
        let TunnelHeader { teid, sequence, re_inserted } = TunnelHeader::of_word(parcel.word());
        let tunnel = Tunnel { teid, sequence, inner_ecn: Ecn::NotEct, re_inserted };
        let ecn = if parcel.has(CE) { Ecn::Ce } else { Ecn::NotEct };
        let tunnel_end = self.tunnel_end(parcel.hop());
        let crossing = stages::crossing(&parcel, None, (user, tunnel_end), now);
        let mut crossing = Crossing { ecn, tunnel: Some(tunnel), ..crossing };
        let goes_on = self.stages.leave(stage, &mut crossing);
        if !self.stages.said.is_empty() {
            self.send_reports(row, &parcel, now);
        }
        if !goes_on {
            self.lose(&parcel, now);
            return None;
        }
        let flags = parcel.flags() & !(TUNNEL | ECT | ECT_1 | CE);
        let len = u16::try_from(crossing.len.get()).expect("at most 65,535 B");
        Some(Rewritten::new(0, flags, len))
    }

    /// The same where tunnels begin or end.
    #[inline(never)]
    fn cross(
        &mut self,
        (row, stage): (u32, u32),
        mut parcel: Parcel,
        now: Time,
    ) -> Option<Rewritten> {
        if self.is_held(row, &parcel, now) {
            return None;
        }
        let user = self.flow_states[parcel.flow() as usize].owner.user;
        let tunnel_end = self.tunnel_end(parcel.hop());
        let header = self.options.tunnel_of(&parcel);
        let mut crossing = stages::crossing(&parcel, header, (user, tunnel_end), now);
        let goes_on = self.stages.cross(stage, &mut crossing);
        if !self.stages.said.is_empty() {
            self.send_reports(row, &parcel, now);
        }
        if !goes_on {
            self.lose(&parcel, now);
            return None;
        }
        let Crossing { ecn, tunnel, len, .. } = crossing;
        let mut flags = parcel.flags();
        if tunnel.is_some() || header.is_some() {
            flags = self.write_tunnel(&mut parcel, tunnel);
        }
        flags = stages::with_ecn(ecn, tunnel.map(|tunnel| tunnel.inner_ecn), flags);
        let len = u16::try_from(len.get()).expect("at most 65,535 B");
        Some(Rewritten::new(parcel.word(), flags, len))
    }

    #[inline(never)]
    fn pass_one_by_one(&mut self, row: u32, mut parcel: Parcel, now: Time) -> Option<Rewritten> {
        if C::TUNNELS_OUTSIDE && self.stages.stands_outside(row).is_some() {
            self.ledger.delivered += 1;
            self.left.push((now, parcel));
            return None;
        }
        if self.is_held(row, &parcel, now) {
            return None;
        }
        let mut passing = self.seen(&parcel, now);
        let signal = passing.signal;
        let passed = self.stages.pass(row, &mut passing);
        if !self.stages.said.is_empty() {
            self.send_reports(row, &parcel, now);
        }
        let Some(wrote_header) = passed else {
            self.lose(&parcel, now);
            return None;
        };
        if parcel.has(flags::REPORT) && self.is_taken(row, &parcel) {
            return None;
        }
        if passing.signal.to_bits() != signal.to_bits() {
            if C::OUTSIDE && !parcel.has(flags::REPORT) {
                passing.signal = self.contents.set_activity(parcel.number(), passing.signal);
            }
            self.options.set_word_of(&mut parcel, passing.signal.to_bits());
        }
        let (mut flags, mut len) = (parcel.flags(), parcel.len());
        if wrote_header {
            let Passing { ecn, declared, tunnel, .. } = passing;
            if tunnel.is_some() || parcel.has(flags::TUNNEL) {
                flags = self.write_tunnel(&mut parcel, tunnel);
            }
            let inner_ecn = tunnel.map(|tunnel| tunnel.inner_ecn);
            flags = stages::flags_of(Header { ecn, declared }, inner_ecn, flags);
            len = u16::try_from(passing.len.get()).expect("at most 65,535 B");
        }
        Some(Rewritten::new(parcel.word(), flags, len))
    }

    /// A packet as stages see it.
    fn seen(&self, parcel: &Parcel, now: Time) -> Passing {
        let user = self.flow_states[parcel.flow() as usize].owner.user;
        let signal = f32::from_bits(self.options.word_of(parcel));
        let mut passing = stages::passing(*parcel, user, signal, now);
        passing.tunnel_end = self.tunnel_ends.get(parcel.hop() as usize).copied().flatten();
        if parcel.has(flags::TUNNEL) {
            let header = self.options.tunnel_of(parcel);
            passing.tunnel = header.map(|header| stages::tunnel_of(parcel, header));
        }
        if !C::OUTSIDE && !parcel.has(flags::REPORT) {
            passing.sequence = Some(stages::sequence_of(parcel));
        }
        passing
    }

    /// Stages at the ends of a link hear what its queue has dropped.
    pub(super) fn tell_drop(&mut self, link: u32, parcel: &Parcel, now: Time) {
        let passing = self.seen(parcel, now);
        self.stages.hear_drop(link, &passing);
    }

    /// Writes a tunnel's header into a packet, or takes it away. Returns the packet's flags.
    fn write_tunnel(&mut self, parcel: &mut Parcel, tunnel: Option<Tunnel>) -> u32 {
        let header = tunnel.map(|Tunnel { teid, sequence, re_inserted, .. }| TunnelHeader {
            teid,
            sequence,
            re_inserted,
        });
        let (word, is_ticket) = self.options.set_tunnel_of(parcel, header);
        parcel.set_word(word);
        match is_ticket {
            true => parcel.flags() | flags::OPTIONS,
            false => parcel.flags() & !flags::OPTIONS,
        }
    }

    /// A packet that comes ahead of time to stages that count is held if it is there after counters are read next.
    #[inline]
    fn is_held(&mut self, row: u32, parcel: &Parcel, now: Time) -> bool {
        let is_held = now >= self.read_next && self.stages.passed_ahead(row).is_some();
        if is_held {
            self.held.push((now, *parcel));
        }
        is_held
    }

    /// Counters have been read, and are read next at this time. Returns the packets that were held until now.
    pub fn read_next_at(&mut self, at: Time) -> Vec<(Time, Parcel)> {
        self.expect_reading(at);
        self.read_next = at;
        core::mem::take(&mut self.held)
    }

    /// Counters are read at `at`, where nothing passes ahead of time.
    pub fn expect_reading(&mut self, at: Time) {
        self.next_reading = at;
        self.ahead.expect_reading(at);
    }

    /// A packet that was held goes on. Returns it if a host gets it by that, and when.
    #[inline(never)]
    pub fn let_go(&mut self, parcel: Parcel, at: Time) -> Option<(Time, Parcel)> {
        self.forward(parcel, self.hop_of(&parcel), at)
    }

    /// Stages of a row have answered a packet: their reports leave, but none that answers a report. Where the packet
    /// has passed ahead of time they come from the end of the link, at their time.
    #[cold]
    fn send_reports(&mut self, row: u32, answered: &Parcel, now: Time) {
        for (kind, report) in core::mem::take(&mut self.stages.said) {
            let way = self.reports.way(answered.flow(), answered.hop(), kind);
            let Some(hop) = way.filter(|_| !answered.has(flags::REPORT)) else { continue };
            let back = if answered.has(flags::BACK) { 0 } else { flags::BACK };
            let packet = Packet {
                at: now,
                stamp: now,
                flow: answered.flow(),
                connection: ConnectionId::NONE.word(),
                hop,
                len: u16::try_from(report.len.get()).expect("at most 65,535 B"),
                number: self.reports.put(*report),
                flags: flags::REPORT | back,
                ..Packet::default()
            };
            match self.stages.passed_ahead(row) {
                None => self.send(Parcel::of(&packet), now),
                Some(link) => {
                    self.ledger.injected += 1;
                    self.transit.send(link, now, Parcel::of(&packet));
                }
            }
        }
    }

    /// Whether a stage takes a report that has passed a row, which ends its way.
    #[cold]
    fn is_taken(&mut self, row: u32, parcel: &Parcel) -> bool {
        let taken = self.stages.take(row, || self.reports.take(parcel.number()));
        self.ledger.delivered += u64::from(taken);
        taken
    }

    /// The node outside that has what comes to a hop: a tunnel's beginning or end, by the number of its stage.
    pub fn node_at(&self, hop: u32) -> Option<u32> {
        let row = self.rows.get(hop as usize).filter(|_| C::TUNNELS_OUTSIDE)?;
        self.stages.stands_outside(*row)
    }

    /// The hops of a way, from its first on, in front of which nodes outside stand.
    pub fn nodes_on(&self, first: u32) -> impl Iterator<Item = (u32, u32)> {
        let is_last = |hop: &&Hop| hop.then == Then::Nothing || hop.link == NO_LINK;
        let len = self.hops[first as usize..].iter().position(|hop| is_last(&hop)).unwrap_or(0);
        (first..=first + len as u32).filter_map(|hop| self.node_at(hop).map(|node| (hop, node)))
    }

    /// The end of tunnels at a hop or further on.
    pub fn tunnel_end(&self, hop: u32) -> Option<u32> {
        self.tunnel_ends.get(hop as usize).copied().flatten()
    }

    /// First hop of the way of reports that answer packets of a flow at a hop.
    pub fn report_way(&self, flow: u32, hop: u32) -> Option<u32> {
        let kind = self.stages.reports_to(self.rows[hop as usize])?;
        self.reports.way(flow, hop, kind)
    }

    /// A packet that has left comes to the stages of its hop. Returns why they have dropped it, if they have, what they
    /// have written, and what they report.
    pub fn judge(
        &mut self,
        parcel: Parcel,
        tunnel: Option<Tunnel>,
        now: Time,
    ) -> (Option<&'static str>, Passing, Option<Box<Report>>) {
        let user = self.flow_states[parcel.flow() as usize].owner.user;
        let tunnel_end = self.tunnel_end(parcel.hop());
        let mut passing = Passing { tunnel, tunnel_end, ..stages::passing(parcel, user, 0.0, now) };
        let passed = self.stages.pass(self.rows[parcel.hop() as usize], &mut passing).is_some();
        self.losses[parcel.flow() as usize] += u64::from(!passed);
        let dropped = (!passed).then_some(self.stages.reason);
        (dropped, passing, self.stages.said.pop().map(|(_, report)| report))
    }

    /// A packet that has left goes on behind the stages of its hop. Returns it if that is the end of its way.
    pub fn go_on(&mut self, parcel: Parcel, now: Time) -> Option<(Time, Parcel)> {
        self.ledger.injected += 1;
        let hop = Hop { staged: false, ..self.hop_of(&parcel) };
        if hop.link == NO_LINK {
            self.ledger.delivered += 1;
            return Some((now, parcel));
        }
        self.forward(parcel, hop, now)
    }
}
