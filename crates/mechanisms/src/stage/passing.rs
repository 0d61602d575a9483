//! What a stage sees of a packet, and what it may write into it.

use super::Tunnel;
use crate::units::{Bytes, Time};

/// A packet that passes a stage. What may be written says so: the signal by stages with
/// [`writes_signal`](super::Capabilities::writes_signal), all else by those with
/// [`writes_header`](super::Capabilities::writes_header).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passing {
    /// Time of arrival.
    pub now: Time,
    /// Size on the wire; may be written: what a tunnel's header adds. At most 65,535 B.
    pub len: Bytes,
    /// Number of the user whose packet it is, counted from 0.
    pub user: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Where it stands among those of its connection; `None` where its header does not show that.
    pub sequence: Option<Sequence>,
    /// It acknowledges, and carries no data.
    pub is_ack: bool,
    /// It requests a connection.
    pub is_request: bool,
    /// The ECN field; may be written: a mark.
    pub ecn: Ecn,
    /// The header of the tunnel that it is in; may be written, also that it enters or leaves one.
    pub tunnel: Option<Tunnel>,
    /// Address of the nearest end of tunnels in transit, the number of a node; `None` where there is none.
    pub tunnel_end: Option<u32>,
    /// What its sender declares; may be written, as by a proxy that declares for it.
    pub declared: Declared,
    /// Activity or price that it carries; may be written. 0 if it carries none.
    pub signal: f32,
}

impl Passing {
    /// Congestion experienced: in its header, or in the inner one if it is in a tunnel.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce || self.tunnel.is_some_and(|tunnel| tunnel.inner_ecn == Ecn::Ce)
    }

    /// The end of its tunnel drops it, if that goes by RFC 6040: it is marked, and its sender could not be told.
    pub fn is_lost_with_its_tunnel(&self) -> bool {
        self.ecn == Ecn::Ce && self.tunnel.is_some_and(|tunnel| tunnel.inner_ecn == Ecn::NotEct)
    }

    /// What it says in a network with re-ECN: table I of A. Sanhaji et al., "ConEx Performance Evaluation and
    /// Application to Video Streaming". ECT(1) without the RE bit is also what senders of RFC 9331 set (L4S).
    #[inline]
    pub const fn re_ecn(&self) -> ReEcn {
        match (self.ecn, self.declared.re) {
            (Ecn::NotEct, true) => ReEcn::Credit,
            (Ecn::Ect1, true) => ReEcn::Neutral,
            (Ecn::Ect1, false) => ReEcn::Positive,
            (Ecn::Ce, true) => ReEcn::Negative,
            (Ecn::Ce, false) => ReEcn::Cancelled,
            (Ecn::NotEct, false) | (Ecn::Ect0, _) => ReEcn::Outside,
        }
    }

    /// All of it that can be seen at a summary.
    #[cfg(test)]
    pub(crate) const fn summary(&self) -> PacketSummary {
        let &Passing { now, len, user, ecn, declared, .. } = self;
        PacketSummary { now, len, user, ecn, declared }
    }

    /// A full packet at the beginning that says this.
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

    /// A full packet at the beginning, which says nothing.
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
        }
    }
}

/// What can be seen of a packet in no tunnel without a look at its connection, or at the signal that it carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketSummary {
    /// Time of arrival.
    pub now: Time,
    /// Size on the wire.
    pub len: Bytes,
    /// Number of the user whose packet it is, counted from 0.
    pub user: u32,
    /// The ECN field.
    pub ecn: Ecn,
    /// What its sender declares.
    pub declared: Declared,
}

/// What becomes of a packet on the fast path, from its summary alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FastVerdict {
    /// Nothing yet: the stage has to see the whole packet.
    Full,
    /// It goes on as it is.
    Pass,
    /// It goes on with this signal.
    Signal(f32),
}

/// Where a packet stands among those of its connection, as an open transport header shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Which connection of its flow.
    pub connection: u32,
    /// Its number, in packets.
    pub number: u64,
    /// When it was sent (TSval).
    pub sent: Time,
}

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable: the sender answers to marks in proportion to their share (RFC 9331).
    Ect1,
    /// ECN-capable.
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// What a sender declares of the congestion it has met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// ConEx: the sender takes part (X of RFC 7837).
    pub conex: bool,
    /// ConEx: a loss (L).
    pub loss: bool,
    /// ConEx: a mark (E).
    pub mark: bool,
    /// ConEx: credit (C).
    pub credit: bool,
    /// Re-ECN: the RE bit, which says something together with the ECN field: [`Passing::re_ecn`].
    pub re: bool,
}

/// What a packet says in a network with re-ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReEcn {
    /// Its sender does not take part.
    Outside,
    /// Takes part, and has nothing to declare.
    Neutral,
    /// Declares a mark or a loss.
    Positive,
    /// Was marked in transit.
    Negative,
    /// Declares, and was marked in transit; or a packet of ECN of today that was marked, which looks the same.
    Cancelled,
    /// Credit.
    Credit,
}
