//! Passing packets through the stages of a network, or out of it where external nodes replace stages.

use tidegate_mechanisms::stage::{Crossing, Ecn, FastVerdict, Passing, Report, Tunnel};
use tidegate_mechanisms::units::Time;

use super::Network;
use crate::connections::ConnectionId;
use crate::contents::Contents;
use crate::packet::{PackedPacket, Packet, Rewritten, TunnelHeader, flags};
use crate::stages::{self, CongestionHeader, FastPath};
use crate::topology::{Hop, NO_LINK, NextHop};

/// No stage has a fast path.
pub(super) const NO_STAGE: u32 = u32::MAX;

impl<C: Contents> Network<C> {
    /// The stage in front of each hop that packets may pass on the fast path, or [`NO_STAGE`].
    pub(super) fn fast_path_stages(&self) -> Vec<u32> {
        let fast_path =
            |chain: &u32| if C::OUTSIDE { None } else { self.stages.has_fast_path(*chain) };
        self.chains.iter().map(|chain| fast_path(chain).unwrap_or(NO_STAGE)).collect()
    }

    /// Passes a packet through the stages in front of its next link, or behind the last one. Returns the rewritten fields
    /// if it goes on.
    #[inline(never)]
    pub(super) fn pass_stages(&mut self, packed: PackedPacket, now: Time) -> Option<Rewritten> {
        use flags::{OPTIONS, REPORT, TUNNEL};
        let (hop, flags) = (packed.hop() as usize, packed.flags());
        let stage = self.fast_paths[hop];
        if stage != NO_STAGE && flags & (REPORT | OPTIONS | TUNNEL) == 0 {
            return self.pass_on_fast_path(stage, packed, now);
        }
        let chain = self.chains[hop];
        if !C::OUTSIDE && flags & (REPORT | OPTIONS) == 0 {
            match self.stages.fast_path_in(chain) {
                FastPath::Crosses(stage) => return self.cross((chain, stage), packed, now),
                FastPath::BeginsTunnels(stage) => {
                    return self.enter_tunnel((chain, stage), packed, now);
                }
                FastPath::EndsTunnels(stage) => {
                    return self.exit_tunnel((chain, stage), packed, now);
                }
                FastPath::No => {}
            }
        }
        self.pass_one_by_one(chain, packed, now)
    }

    /// Passes a packet through a single stage by its summary.
    #[inline(never)]
    fn pass_on_fast_path(
        &mut self,
        stage: u32,
        packed: PackedPacket,
        now: Time,
    ) -> Option<Rewritten> {
        let (flags, len) = (packed.flags(), packed.len());
        let user = self.flow_states[packed.flow() as usize].owner.user;
        let payload = match self.stages.fast_path(stage, now, len, user, flags) {
            FastVerdict::Pass => packed.payload(),
            FastVerdict::Signal(signal) => signal.to_bits(),
            FastVerdict::Full => {
                return self.pass_one_by_one(self.chains[packed.hop() as usize], packed, now);
            }
        };
        Some(Rewritten::new(payload, flags, len))
    }

    /// As [`Self::cross`], where tunnels begin. Most packets there are not ECN-capable, since the senders take no part,
    /// and their payload word is empty.
    #[inline(never)]
    fn enter_tunnel(
        &mut self,
        (chain, stage): (u32, u32),
        mut packed: PackedPacket,
        now: Time,
    ) -> Option<Rewritten> {
        use flags::{CE, ECT, ECT_1, TUNNEL};
        if packed.has(TUNNEL | ECT | ECT_1 | CE) || packed.payload() != 0 {
            return self.cross((chain, stage), packed, now);
        }
        debug_assert!(self.stages.passed_ahead(chain).is_none(), "such a stage is passed on time");
        let user = self.flow_states[packed.flow() as usize].owner.user;
        let tunnel_end = self.tunnel_end(packed.hop());
        let crossing = stages::crossing(&packed, None, (user, tunnel_end), now);
        let mut crossing = Crossing { ecn: Ecn::NotEct, ..crossing };
        if !self.stages.cross(stage, &mut crossing) {
            self.lose(&packed, now);
            return None;
        }
        let mut flags = packed.flags();
        if crossing.tunnel.is_some() {
            flags = self.write_tunnel(&mut packed, crossing.tunnel) | TUNNEL;
            flags |= if crossing.ecn == Ecn::NotEct { 0 } else { ECT };
        }
        let len = u16::try_from(crossing.len.get()).expect("at most 65,535 B");
        Some(Rewritten::new(packed.payload(), flags, len))
    }

    /// As [`Self::cross`], where tunnels end: the inner packets of most are not ECN-capable.
    #[inline(never)]
    fn exit_tunnel(
        &mut self,
        (chain, stage): (u32, u32),
        packed: PackedPacket,
        now: Time,
    ) -> Option<Rewritten> {
        use flags::{CE, ECT, ECT_1, INNER_CE, INNER_ECT, INNER_ECT_1, TUNNEL};
        if packed.flags() & (TUNNEL | INNER_ECT | INNER_ECT_1 | INNER_CE) != TUNNEL {
            return self.cross((chain, stage), packed, now);
        }
        if self.is_deferred(chain, &packed, now) {
            return None;
        }
        let user = self.flow_states[packed.flow() as usize].owner.user;
        let TunnelHeader { teid, sequence, re_inserted } = TunnelHeader::unpack(packed.payload());
        let tunnel = Tunnel { teid, sequence, inner_ecn: Ecn::NotEct, re_inserted };
        let ecn = if packed.has(CE) { Ecn::Ce } else { Ecn::NotEct };
        let tunnel_end = self.tunnel_end(packed.hop());
        let crossing = stages::crossing(&packed, None, (user, tunnel_end), now);
        let mut crossing = Crossing { ecn, tunnel: Some(tunnel), ..crossing };
        let passes = self.stages.cross(stage, &mut crossing);
        if !self.stages.pending_reports.is_empty() {
            self.send_reports(chain, &packed, now);
        }
        if !passes {
            self.lose(&packed, now);
            return None;
        }
        let flags = packed.flags() & !(TUNNEL | ECT | ECT_1 | CE);
        let len = u16::try_from(crossing.len.get()).expect("at most 65,535 B");
        Some(Rewritten::new(0, flags, len))
    }

    /// Passes a packet through a single tunnel end.
    #[inline(never)]
    fn cross(
        &mut self,
        (chain, stage): (u32, u32),
        mut packed: PackedPacket,
        now: Time,
    ) -> Option<Rewritten> {
        if self.is_deferred(chain, &packed, now) {
            return None;
        }
        let user = self.flow_states[packed.flow() as usize].owner.user;
        let tunnel_end = self.tunnel_end(packed.hop());
        let header = self.options.tunnel_of(&packed);
        let mut crossing = stages::crossing(&packed, header, (user, tunnel_end), now);
        let passes = self.stages.cross(stage, &mut crossing);
        if !self.stages.pending_reports.is_empty() {
            self.send_reports(chain, &packed, now);
        }
        if !passes {
            self.lose(&packed, now);
            return None;
        }
        let Crossing { ecn, tunnel, len, .. } = crossing;
        let mut flags = packed.flags();
        if tunnel.is_some() || header.is_some() {
            flags = self.write_tunnel(&mut packed, tunnel);
        }
        flags = stages::with_ecn(ecn, tunnel.map(|tunnel| tunnel.inner_ecn), flags);
        let len = u16::try_from(len.get()).expect("at most 65,535 B");
        Some(Rewritten::new(packed.payload(), flags, len))
    }

    #[inline(never)]
    fn pass_one_by_one(
        &mut self,
        chain: u32,
        mut packed: PackedPacket,
        now: Time,
    ) -> Option<Rewritten> {
        if C::TUNNELS_OUTSIDE && self.stages.outside_node(chain).is_some() {
            self.ledger.delivered += 1;
            self.exited.push((now, packed));
            return None;
        }
        if self.is_deferred(chain, &packed, now) {
            return None;
        }
        let mut passing = self.seen(&packed, now);
        let signal = passing.signal;
        let held = stages::held(packed.flags());
        let passed = self.stages.pass(chain, held, &mut passing);
        if !self.stages.pending_reports.is_empty() {
            self.send_reports(chain, &packed, now);
        }
        let Some(wrote_header) = passed else {
            self.lose(&packed, now);
            return None;
        };
        let waits = self.stages.held.take();
        if waits.is_none() && packed.has(flags::REPORT) && self.is_consumed(chain, &packed) {
            return None;
        }
        if passing.signal.to_bits() != signal.to_bits() {
            if C::OUTSIDE && !packed.has(flags::REPORT) {
                passing.signal = self.contents.set_activity(packed.number(), passing.signal);
            }
            self.options.set_payload_of(&mut packed, passing.signal.to_bits());
        }
        let (mut flags, mut len) = (packed.flags(), packed.len());
        if wrote_header {
            let Passing { ecn, declared, tunnel, .. } = passing;
            if tunnel.is_some() || packed.has(flags::TUNNEL) {
                flags = self.write_tunnel(&mut packed, tunnel);
            }
            let inner_ecn = tunnel.map(|tunnel| tunnel.inner_ecn);
            flags = stages::flags_of(CongestionHeader { ecn, declared }, inner_ecn, flags);
            flags |= if passing.lower_effort { flags::LOWER_EFFORT } else { 0 };
            len = u16::try_from(passing.len.get()).expect("at most 65,535 B");
        }
        flags = stages::with_held(flags, 0);
        if let Some((holder, until)) = waits {
            debug_assert!(held < 3, "each of three lists has one shaper");
            flags = stages::with_held(flags, held + 1);
            packed.rewrite(Rewritten::new(packed.payload(), flags, len));
            self.transit.send(self.links.len() as u32 + holder, until, packed);
            return None;
        }
        Some(Rewritten::new(packed.payload(), flags, len))
    }

    /// A packet as stages see it.
    fn seen(&self, packed: &PackedPacket, now: Time) -> Passing {
        let user = self.flow_states[packed.flow() as usize].owner.user;
        let signal = f32::from_bits(self.options.payload_of(packed));
        let mut passing = stages::passing(*packed, user, signal, now);
        passing.tunnel_end = self.tunnel_ends.get(packed.hop() as usize).copied().flatten();
        if packed.has(flags::TUNNEL) {
            let header = self.options.tunnel_of(packed);
            passing.tunnel = header.map(|header| stages::tunnel_of(packed, header));
        }
        if !C::OUTSIDE && !packed.has(flags::REPORT) {
            passing.sequence = Some(stages::sequence_of(packed));
        }
        passing
    }

    /// Notifies the stages at the ends of a link of a drop in its queue.
    pub(super) fn report_drop(&mut self, link: u32, packed: &PackedPacket, now: Time) {
        let passing = self.seen(packed, now);
        self.stages.observe_drop(link, &passing);
    }

    /// Writes or removes a packet's tunnel header. Returns the packet's flags.
    fn write_tunnel(&mut self, packed: &mut PackedPacket, tunnel: Option<Tunnel>) -> u32 {
        let header = tunnel.map(|Tunnel { teid, sequence, re_inserted, .. }| TunnelHeader {
            teid,
            sequence,
            re_inserted,
        });
        let (payload, is_ticket) = self.options.set_tunnel_of(packed, header);
        packed.set_payload(payload);
        match is_ticket {
            true => packed.flags() | flags::OPTIONS,
            false => packed.flags() & !flags::OPTIONS,
        }
    }

    /// Defers a packet that reaches counting stages ahead of time and arrives there after the next reading.
    #[inline]
    fn is_deferred(&mut self, chain: u32, packed: &PackedPacket, now: Time) -> bool {
        let is_deferred = now >= self.read_next && self.stages.passed_ahead(chain).is_some();
        if is_deferred {
            self.deferred.push((now, *packed));
        }
        is_deferred
    }

    /// Sets the time of the next reading. Returns the packets that were deferred until now.
    pub fn read_next_at(&mut self, at: Time) -> Vec<(Time, PackedPacket)> {
        self.expect_reading(at);
        self.read_next = at;
        core::mem::take(&mut self.deferred)
    }

    /// Forwards a deferred packet. Returns it if it is delivered to a host, and when.
    #[inline(never)]
    pub fn release(&mut self, packed: PackedPacket, at: Time) -> Option<(Time, PackedPacket)> {
        self.forward(packed, self.hop_of(&packed), at)
    }

    /// Sends the reports that a chain has made for a packet; reports are not answered. Where packets pass ahead of time,
    /// reports leave the end of the link at the time of the arrival.
    #[cold]
    fn send_reports(&mut self, chain: u32, answered: &PackedPacket, now: Time) {
        for (kind, report) in core::mem::take(&mut self.stages.pending_reports) {
            let path = self.reports.path(answered.flow(), answered.hop(), kind);
            let Some(hop) = path.filter(|_| !answered.has(flags::REPORT)) else { continue };
            let back = if answered.has(flags::BACK) { 0 } else { flags::BACK };
            let packet = Packet {
                at: now,
                stamp: now,
                flow: answered.flow(),
                connection: ConnectionId::NONE.pack(),
                hop,
                len: u16::try_from(report.len.get()).expect("at most 65,535 B"),
                number: self.reports.put(*report),
                flags: flags::REPORT | back,
                ..Packet::default()
            };
            match self.stages.passed_ahead(chain) {
                None => self.send(PackedPacket::of(&packet), now),
                Some(link) => {
                    self.ledger.injected += 1;
                    self.transit.send(link, now, PackedPacket::of(&packet));
                }
            }
        }
    }

    /// Whether a stage of the chain consumes a report, which ends its path.
    #[cold]
    fn is_consumed(&mut self, chain: u32, packed: &PackedPacket) -> bool {
        let taken = self.stages.take(chain, || self.reports.take(packed.number()));
        self.ledger.delivered += u64::from(taken);
        taken
    }

    /// The external node at a hop, a tunnel's beginning or end, by the number of its stage.
    pub fn node_at(&self, hop: u32) -> Option<u32> {
        let chain = self.chains.get(hop as usize).filter(|_| C::TUNNELS_OUTSIDE)?;
        self.stages.outside_node(*chain)
    }

    /// The hops of a path that have an external node in front of them, with its number.
    pub fn nodes_on(&self, first: u32) -> impl Iterator<Item = (u32, u32)> {
        let is_last = |hop: &&Hop| hop.then == NextHop::Nothing || hop.link == NO_LINK;
        let len = self.hops[first as usize..].iter().position(|hop| is_last(&hop)).unwrap_or(0);
        (first..=first + len as u32).filter_map(|hop| self.node_at(hop).map(|node| (hop, node)))
    }

    /// The end of tunnels at a hop or further on.
    pub fn tunnel_end(&self, hop: u32) -> Option<u32> {
        self.tunnel_ends.get(hop as usize).copied().flatten()
    }

    /// First hop of the path of reports that answer packets of a flow at a hop.
    pub fn report_path(&self, flow: u32, hop: u32) -> Option<u32> {
        let kind = self.stages.reports_to(self.chains[hop as usize])?;
        self.reports.path(flow, hop, kind)
    }

    /// Passes an external packet through the stages of its hop. Returns the reason of a drop, what they have written, and
    /// their report.
    pub fn judge(
        &mut self,
        packed: PackedPacket,
        tunnel: Option<Tunnel>,
        now: Time,
    ) -> (Option<&'static str>, Passing, Option<Box<Report>>) {
        let user = self.flow_states[packed.flow() as usize].owner.user;
        let tunnel_end = self.tunnel_end(packed.hop());
        let mut passing = Passing { tunnel, tunnel_end, ..stages::passing(packed, user, 0.0, now) };
        let passed =
            self.stages.pass(self.chains[packed.hop() as usize], 0, &mut passing).is_some();
        self.losses[packed.flow() as usize] += u64::from(!passed);
        let dropped = (!passed).then_some(self.stages.reason);
        (dropped, passing, self.stages.pending_reports.pop().map(|(_, report)| report))
    }

    /// Forwards an external packet behind the stages of its hop. Returns it if that is the end of its path.
    pub fn go_on(&mut self, packed: PackedPacket, now: Time) -> Option<(Time, PackedPacket)> {
        self.ledger.injected += 1;
        let hop = Hop { staged: false, ..self.hop_of(&packed) };
        if hop.link == NO_LINK {
            self.ledger.delivered += 1;
            return Some((now, packed));
        }
        self.forward(packed, hop, now)
    }
}
