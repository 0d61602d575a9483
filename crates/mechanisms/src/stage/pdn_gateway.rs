//! PDN gateway: the beginning of a mobile network's tunnels, which polices users by the reports of the tunnels' ends.
//!
//! Y. Zhang, I. Johansson, H. Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its Applicability
//! in Cellular Networks", ITC 23, 2011, section III-B, steps 1, 4 and 5: the loop of re-ECN, from here to the eNodeB
//! and back, without changes to servers and UEs.
//!
//! ```text
//! with each report:   owed ← owed + Δmarked_before + Δdropped_before   (+ Δdropped_here with radio = "congestion")
//! with each packet:   a policer takes it for positive while owed > 0, and may drop it
//!                     number, TEID and outer headers are put before it: L ← L + 40 B, with room to re-insert + 44 B
//!                     while owed > 0: it is re-inserted that congestion was met, owed ← owed − 1
//! ```
//!
//! `owed` turns congestion into positive packets, as a sender's re-ECN does; the policers are those of
//! [re-ECN](re-ecn-policer.md), which read them. Packets are policed before they are numbered, so that drops here are
//! missing from no tunnel. Declarations of a packet's own sender have no effect here, and stay unchanged in the inner
//! header.
//!
//! Nodes between may see those declarations as well. RFC 7837 (section 7) advises against copying the ConEx option
//! outwards; RFC 7778 (section 3.2.1) asks for it. With `conex_option` = "copied", a packet whose sender declares a
//! loss or a mark says so in the field for re-inserted congestion, without additional length; the debt waits for the
//! next packet. At decapsulation the copy is ignored.
//!
//! A report is accepted if it comes from the tunnel's end, does not report packets that were never sent, accounts for
//! each packet up to its last number, and no counter decreases. All others are counted by reason, and have no effect.
//! An attacker that can send with the eNodeB's address can forge reports: the addresses have to be protected.
//!
//! A user whose packets go to another eNodeB uses another tunnel. Its bucket moves with it (RFC 7778, section 4); with
//! `handover` = "anew" it gets a new one with each, as if gateways did not communicate.
//!
//! Reports are per tunnel, so that marks are distributed to its flows by their share of packets.

use core::mem::take;

use super::by_user::ByUser;
use super::re_ecn_policer::{Policed, ReEcnPolicer, ReEcnPolicerParams};
use super::tunnel::{EcnRules, Tunnel};
use super::{
    Capabilities, Crossing, Passage, Passing, PdnGatewayUplinkParams, ReEcn, Report, Stage,
    StageParams, TunnelEnd, UserState,
};
use crate::mechanism::About;
use crate::parameters::{ParameterError, Tables};
use crate::units::{Bytes, LARGEST_PACKET, Time};
use crate::{parameters, words};
use ledger::{Refusal, ReportedCounts, TunnelLedger};

mod ledger;

parameters! {
    /// Begins a tunnel to the eNodeB of each user, and polices by the eNodeB's reports.
    pub struct PdnGatewayParams {
        /// Policers that packets pass in order: by flow, by user, or for all together. Empty: only a tunnel.
        pub policers: Tables<ReEcnPolicerParams> = "[]",
        /// Rules for the outer ECN field; as at the eNodeB.
        pub ecn_rules: EcnRules = "re-ecn",
        /// Treatment of losses on the radio behind an eNodeB.
        pub radio: Radio = "apart",
        /// Buckets of a user that moves to another eNodeB.
        pub handover: Handover = "keep",
        /// Re-insert reported congestion into the tunnel's header, which takes 4 B of every packet.
        pub re_inserts: bool = "true",
        /// Copy of an inner ConEx option in the tunnel's header.
        pub conex_option: ConexOption = "inner",
        /// Largest packet on the path to the eNodeB.
        pub mtu: Bytes = "1600 B",
    }
    check PdnGatewayParams::errors;
}

words! {
    /// Treatment of losses on the radio behind an eNodeB.
    pub enum Radio {
        /// They are no congestion, and are not charged.
        Apart = "apart",
        /// They count as congestion.
        Congestion = "congestion",
    }
}

words! {
    /// Position of the ConEx option of a packet in a tunnel.
    pub enum ConexOption {
        /// In the inner header alone (RFC 7837, section 7).
        Inner = "inner",
        /// In the tunnel's header as well, for nodes that read only that (RFC 7778, section 3.2.1).
        Copied = "copied",
    }
}

words! {
    /// Buckets of a user that moves.
    pub enum Handover {
        /// The buckets move with the user.
        Keep = "keep",
        /// The user gets new buckets at each eNodeB.
        Anew = "anew",
    }
}

impl PdnGatewayParams {
    fn errors(&self) -> Vec<ParameterError> {
        let mut errors = Vec::new();
        if self.mtu > LARGEST_PACKET {
            let message = format!("{} B is more than a packet can have, 65535 B", self.mtu.get());
            errors.push(("mtu", message));
        }
        if self.copies() && !self.re_inserts {
            let message =
                "\"copied\" needs the room in the tunnel's header that re_inserts = true makes";
            errors.push(("conex_option", message.to_owned()));
        }
        errors
    }

    /// Whether the tunnel's header copies the inner ConEx option.
    fn copies(&self) -> bool {
        self.conex_option == ConexOption::Copied
    }

    /// Returns an error if a packet of this size does not fit the path once it is in the tunnel.
    fn too_small_for(&self, packet: Bytes) -> Option<ParameterError> {
        let overhead = Tunnel::overhead(self.re_inserts);
        let (inside, mtu) = (packet + overhead, self.mtu);
        let most = mtu.get().saturating_sub(overhead.get());
        (inside > mtu).then(|| {
            let message = format!(
                "a packet of {} B has {} B in the tunnel, more than the {} B that the path carries: give packets of \
                 at most {most} B (packet_size), or a larger mtu",
                packet.get(),
                inside.get(),
                mtu.get(),
            );
            ("mtu", message)
        })
    }
}

/// State of one gateway.
#[derive(Clone, Debug)]
pub struct PdnGateway {
    ecn_rules: EcnRules,
    radio: Radio,
    handover: Handover,
    re_inserts: bool,
    copies: bool,
    policers: Vec<ReEcnPolicer>,
    /// Tunnels; TEID 1 is the first of them.
    tunnels: Vec<TunnelLedger>,
    users: ByUser<User>,
}

/// State of a user.
#[derive(Clone, Debug, Default)]
struct User {
    /// Address of its eNodeB, and its tunnel there; no tunnel has the number 0.
    here: (u32, u32),
    /// Addresses of all its eNodeBs so far, and its tunnels there.
    tunnels: Vec<(u32, u32)>,
    /// Congestion of its packets that is not re-inserted yet; negative if some of it was revoked.
    owed: i64,
    /// Congestion of its packets that is not charged to the policers yet.
    charged: i64,
    /// Packets that were reported as dropped, and those of them that arrived later.
    dropped: [u64; 2],
    counts: [u64; COUNTS.len()],
    refused: [u64; Refusal::ALL.len()],
}

/// Counts of a user.
#[derive(Clone, Copy, Debug)]
enum Count {
    Entered,
    Moved,
    NoEnodeb,
    Reported,
    ReInserted,
}

const COUNTS: [&str; 5] =
    ["entered_packets", "handovers", "without_enodeb", "reports", "re_inserted"];

const REPORTED: [&str; 5] = [
    "reported_received",
    "reported_marked",
    "reported_dropped",
    "reported_taken_back",
    "reported_here",
];

const NESTED: Passage = Passage::Drop("in a tunnel already");

impl Stage for PdnGateway {
    type Params = PdnGatewayParams;

    const ABOUT: About = About {
        name: "pdn-gateway",
        title: "PDN gateway",
        source: "Zhang et al., Metering Re-ECN in Cellular Networks, section III-B",
        usage: r#"links.NAME.ingress = [{ kind = "pdn-gateway" }]"#,
        file: "stage/pdn_gateway.rs",
        text: crate::mechanism::source_text!("pdn_gateway.rs"),
    };

    const CAPABILITIES: Capabilities = Capabilities {
        writes_header: true,
        takes_reports: true,
        has_levels: true,
        ..Capabilities::NONE
    };

    fn new(params: PdnGatewayParams) -> Self {
        let copies = params.copies();
        PdnGateway {
            ecn_rules: params.ecn_rules,
            radio: params.radio,
            handover: params.handover,
            re_inserts: params.re_inserts,
            copies,
            policers: params.policers.0.into_iter().map(ReEcnPolicer::new).collect(),
            tunnels: Vec::new(),
            users: ByUser::new(),
        }
    }

    fn tunnel_end(params: &PdnGatewayParams) -> Option<TunnelEnd> {
        Some(TunnelEnd {
            up: false,
            ecn_rules: params.ecn_rules,
            interval: None,
            overhead: Tunnel::overhead(params.re_inserts),
            mtu: Some(params.mtu),
            copies_declarations: params.copies(),
        })
    }

    fn counterpart(params: &PdnGatewayParams) -> Option<StageParams> {
        Some(StageParams::PdnGatewayUplink(PdnGatewayUplinkParams::plain(params.ecn_rules)))
    }

    fn validate(params: &PdnGatewayParams, packet: Bytes) -> Option<ParameterError> {
        let bucket = || {
            let validate =
                params.policers.0.iter().find_map(|own| ReEcnPolicer::validate(own, packet));
            validate.map(|(key, message)| ("policers", format!("{key}: {message}")))
        };
        params.too_small_for(packet).or_else(bucket)
    }

    fn pass(&mut self, packet: &mut Passing, draw: impl FnMut() -> f64) -> Passage {
        packet.cross(|crossing| self.cross(crossing, draw))
    }

    // Code for fields that the caller does not have, or that do not matter, is left out.
    #[inline(always)]
    fn cross(&mut self, packet: &mut Crossing, mut draw: impl FnMut() -> f64) -> Passage {
        if packet.tunnel.is_some() {
            return NESTED;
        }
        let user = self.users.of(packet.user, User::default);
        let Some(end) = packet.tunnel_end else {
            user.count(Count::NoEnodeb);
            return Passage::On;
        };
        let teid = user.tunnel_to(end, &mut self.tunnels);
        if !packet.is_ack {
            let seen = user.as_policed(packet, self.handover, teid);
            for policer in &mut self.policers {
                if let drop @ Passage::Drop(_) = policer.police(&seen, &mut draw) {
                    return drop;
                }
            }
        }
        user.count(Count::Entered);
        let copied = self.copies && packet.declares;
        let re_inserted = self.re_inserts.then(|| copied || user.re_insert());
        let sequence = self.tunnels[place(teid)].send();
        packet.tunnel = Some(Tunnel { teid, sequence, inner_ecn: packet.ecn, re_inserted });
        packet.ecn = self.ecn_rules.encapsulate(packet.ecn);
        packet.len = packet.len + Tunnel::overhead(self.re_inserts);
        Passage::On
    }

    fn take(&mut self, report: &Report) {
        let Some(reported) = report.tunnel.as_deref() else { return };
        let user = self.users.of(report.user, User::default);
        let ledger = reported.teid.checked_sub(1).and_then(|at| self.tunnels.get_mut(at as usize));
        let is_own = user.tunnels.iter().any(|(_, teid)| *teid == reported.teid);
        let news = match ledger.filter(|_| is_own) {
            Some(ledger) => ledger.take(reported),
            None => Err(Refusal::NoTunnel),
        };
        match news {
            Err(refusal) => user.refused[refusal as usize] += 1,
            Ok([_, marked, dropped, here]) => {
                user.count(Count::Reported);
                let here = if self.radio == Radio::Congestion { here } else { 0 };
                let change = usize::from(dropped < 0);
                user.dropped[change] += u64::from(dropped.unsigned_abs());
                let met = i64::from(marked) + i64::from(dropped) + i64::from(here);
                (user.owed, user.charged) = (user.owed + met, user.charged + met);
            }
        }
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (number, user) in self.users.iter() {
            COUNTS.iter().zip(user.counts).for_each(|(name, count)| each(number, name, count));
            let [received, marked, here] = user.reported(&self.tunnels);
            let [dropped, taken_back] = user.dropped;
            let reported = [received, marked, dropped, taken_back, here];
            REPORTED.iter().zip(reported).for_each(|(name, count)| each(number, name, count));
            for (refusal, name) in Refusal::ALL {
                each(number, name, user.refused[refusal as usize]);
            }
        }
    }

    fn state_bytes(&self) -> usize {
        let of_policers: usize = self.policers.iter().map(ReEcnPolicer::state_bytes).sum();
        let places = self.users.iter().map(|(_, user)| user.tunnels.len());
        let of_places = places.sum::<usize>() * size_of::<(u32, u32)>();
        let of_tunnels = self.tunnels.len() * size_of::<TunnelLedger>();
        self.users.state_bytes() + of_places + of_tunnels + of_policers
    }

    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let Some(own) = self.users.get(user) else { return };
        each("owed", own.owed as f64);
        let latest = own.here.1;
        let number = if self.handover == Handover::Anew { latest } else { user };
        self.policers.first().into_iter().for_each(|policer| policer.levels(number, now, each));
    }
}

impl PdnGateway {
    /// See [`Stage::export_user`].
    pub(super) fn export_user(&mut self, user: u32, owns: &dyn Fn(u32) -> bool) -> UserState {
        let buckets =
            self.policers.iter_mut().map(|policer| policer.hand_out(user, owns)).collect();
        let (owed, charged) = match self.users.get_mut(user) {
            Some(own) => (take(&mut own.owed), take(&mut own.charged)),
            None => (0, 0),
        };
        UserState { owed, charged, buckets }
    }

    /// See [`Stage::import_user`].
    pub(super) fn import_user(&mut self, user: u32, user_state: UserState) {
        let UserState { owed, charged, buckets } = user_state;
        let own = self.users.of(user, User::default);
        (own.owed, own.charged) = (own.owed + owed, own.charged + charged);
        for (policer, carried) in self.policers.iter_mut().zip(buckets) {
            policer.take_in(user, carried);
        }
    }
}

/// Returns the index of the tunnel with this number.
const fn place(teid: u32) -> usize {
    teid as usize - 1
}

impl User {
    fn count(&mut self, what: Count) {
        self.counts[what as usize] += 1;
    }

    /// Returns the tunnel to an eNodeB, creating it if there is none.
    #[inline]
    fn tunnel_to(&mut self, end: u32, tunnels: &mut Vec<TunnelLedger>) -> u32 {
        match self.here {
            (at, teid) if at == end && teid != 0 => teid,
            _ => self.move_to(end, tunnels),
        }
    }

    #[cold]
    fn move_to(&mut self, end: u32, tunnels: &mut Vec<TunnelLedger>) -> u32 {
        if !self.tunnels.is_empty() {
            self.count(Count::Moved);
        }
        if let Some(known) = self.tunnels.iter().position(|(at, _)| *at == end) {
            self.tunnels[..=known].rotate_right(1);
        } else {
            tunnels.push(TunnelLedger::beginning(end));
            self.tunnels.insert(0, (end, tunnels.len() as u32));
        }
        self.here = self.tunnels[0];
        self.here.1
    }

    /// Returns the packet as policers see it: it declares only the debt.
    fn as_policed(&mut self, packet: &Crossing, handover: Handover, teid: u32) -> Policed {
        let &Crossing { now, len, user, flow, connection, is_request, .. } = packet;
        let positive = !is_request && self.charged > 0;
        if positive {
            self.charged -= 1;
        }
        let says = if positive { ReEcn::Positive } else { ReEcn::Neutral };
        let (user, flow) = match handover {
            Handover::Keep => (user, flow),
            // Flows have 24 bits.
            Handover::Anew => (teid, flow | teid << 24),
        };
        Policed { now, len, user, flow, connection, is_request, says }
    }

    /// Whether congestion is re-inserted into the packet that is sent now.
    fn re_insert(&mut self) -> bool {
        let owes = self.owed > 0;
        if owes {
            self.owed -= 1;
            self.count(Count::ReInserted);
        }
        owes
    }

    /// Returns the totals of reports on all its tunnels: packets received, marked before, lost here.
    fn reported(&self, tunnels: &[TunnelLedger]) -> [u64; 3] {
        let mut sums = [0; 3];
        for (_, teid) in &self.tunnels {
            let ReportedCounts { received, marked_before, dropped_here, .. } =
                tunnels[place(*teid)].reported();
            let reported = [received, marked_before, dropped_here];
            sums.iter_mut().zip(reported).for_each(|(sum, count)| *sum += u64::from(count));
        }
        sums
    }
}

#[cfg(test)]
#[path = "pdn_gateway_tests.rs"]
mod tests;
