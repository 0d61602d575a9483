//! View of a packet at a stage, with the fields that the stage may rewrite.

use super::Tunnel;
use crate::units::{Bytes, Time};

/// Packet at a stage. Rewritable fields say so: the signal by stages with
/// [`writes_signal`](super::Capabilities::writes_signal), all others by those with
/// [`writes_header`](super::Capabilities::writes_header).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passing {
    /// Time of arrival.
    pub now: Time,
    /// Size on the wire; rewritable by the length of a tunnel's header. At most 65,535 B.
    pub len: Bytes,
    /// Number of the packet's user, from 0.
    pub user: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Position within its connection; `None` if its header does not show that.
    pub sequence: Option<Sequence>,
    /// Whether it is an acknowledgement without data.
    pub is_ack: bool,
    /// Whether it is a connection request.
    pub is_request: bool,
    /// ECN field; rewritable by a mark.
    pub ecn: Ecn,
    /// Header of its tunnel; rewritable, including entering or leaving a tunnel.
    pub tunnel: Option<Tunnel>,
    /// Address of the nearest tunnel end downstream, the number of a node; `None` if there is none.
    pub tunnel_end: Option<u32>,
    /// Declarations of its sender; rewritable, as by a proxy that declares for the sender.
    pub declared: Declared,
    /// Activity or price that it carries; rewritable. 0 if none.
    pub signal: f32,
    /// Whether it is of lower effort (RFC 8622), whatever DiffServ codepoint its sender set; rewritable.
    pub lower_effort: bool,
}

impl Passing {
    /// Whether it is marked CE: in its header, or in the inner one if it is in a tunnel.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce || self.tunnel.is_some_and(|tunnel| tunnel.inner_ecn == Ecn::Ce)
    }

    /// Whether its tunnel egress drops it under RFC 6040: it is marked, and its sender is not ECN-capable.
    pub fn is_lost_with_its_tunnel(&self) -> bool {
        self.ecn == Ecn::Ce && self.tunnel.is_some_and(|tunnel| tunnel.inner_ecn == Ecn::NotEct)
    }

    /// Returns its meaning in re-ECN: table I of A. Sanhaji et al., "ConEx Performance Evaluation and Application to
    /// Video Streaming". ECT(1) without the RE bit is also set by senders of RFC 9331 (L4S).
    #[inline]
    pub const fn re_ecn(&self) -> ReEcn {
        ReEcn::of(self.ecn, self.declared.re)
    }

    /// Returns its summary.
    #[cfg(test)]
    pub(crate) const fn summary(&self) -> PacketSummary {
        let &Passing { now, len, user, ecn, declared, .. } = self;
        PacketSummary { now, len, user, ecn, declared }
    }

    /// Returns a full packet with this meaning, at time zero.
    pub(crate) fn in_re_ecn(says: ReEcn) -> Self {
        let (ecn, re) = match says {
            ReEcn::Outside => (Ecn::Ect0, false),
            ReEcn::Neutral => (Ecn::Ect1, true),
            ReEcn::Positive => (Ecn::Ect1, false),
            ReEcn::Negative => (Ecn::Ce, true),
            ReEcn::Cancelled => (Ecn::Ce, false),
            ReEcn::Credit => (Ecn::NotEct, true),
        };
        let declared = Declared { re, ..Declared::default() };
        Passing { ecn, declared, ..Passing::of_user(0) }
    }

    /// Returns a full packet without declarations, at time zero.
    pub(crate) const fn of_user(user: u32) -> Self {
        Passing {
            now: Time::ZERO,
            len: Bytes::new(1500),
            user,
            flow: 0,
            sequence: None,
            is_ack: false,
            is_request: false,
            ecn: Ecn::Ect0,
            tunnel: None,
            tunnel_end: None,
            declared: Declared { conex: false, loss: false, mark: false, credit: false, re: false },
            signal: 0.0,
            lower_effort: false,
        }
    }
}

/// Fields of a packet outside of tunnels that need no access to its connection or to the signal that it carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketSummary {
    /// Time of arrival.
    pub now: Time,
    /// Size on the wire.
    pub len: Bytes,
    /// Number of the packet's user, from 0.
    pub user: u32,
    /// The ECN field.
    pub ecn: Ecn,
    /// Declarations of its sender.
    pub declared: Declared,
}

/// Outcome of a packet on the fast path, from its summary alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FastVerdict {
    /// Undecided: the stage needs the whole packet.
    Full,
    /// The packet passes unchanged.
    Pass,
    /// The packet passes with this signal.
    Signal(f32),
}

/// Position of a packet within its connection, as a visible transport header shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Number of the connection within its flow.
    pub connection: u32,
    /// Number of the packet.
    pub number: u64,
    /// Send time (TSval).
    pub sent: Time,
}

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable with ECT(1): the sender reacts to marks in proportion to their share (RFC 9331).
    Ect1,
    /// ECN-capable with ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// Congestion declared by a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// ConEx: the sender is ConEx-capable (X of RFC 7837).
    pub conex: bool,
    /// ConEx: a loss (L).
    pub loss: bool,
    /// ConEx: a mark (E).
    pub mark: bool,
    /// ConEx: credit (C).
    pub credit: bool,
    /// Re-ECN: the RE bit, which has a meaning together with the ECN field: [`Passing::re_ecn`].
    pub re: bool,
}

/// Meaning of a packet in re-ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReEcn {
    /// The sender does not use re-ECN.
    Outside,
    /// The sender uses re-ECN, and declares nothing.
    Neutral,
    /// Declares a mark or a loss.
    Positive,
    /// Marked in transit.
    Negative,
    /// Declares, and was marked in transit; or a marked packet of classic ECN, which looks the same.
    Cancelled,
    /// Credit.
    Credit,
}

impl ReEcn {
    /// Returns the meaning of an ECN field with the RE bit.
    #[inline]
    pub const fn of(ecn: Ecn, re: bool) -> Self {
        match (ecn, re) {
            (Ecn::NotEct, true) => ReEcn::Credit,
            (Ecn::Ect1, true) => ReEcn::Neutral,
            (Ecn::Ect1, false) => ReEcn::Positive,
            (Ecn::Ce, true) => ReEcn::Negative,
            (Ecn::Ce, false) => ReEcn::Cancelled,
            (Ecn::NotEct, false) | (Ecn::Ect0, _) => ReEcn::Outside,
        }
    }
}
