//! What an end of tunnels sees of a packet.

use super::{Ecn, Passage, Passing, Tunnel};
use crate::units::{Bytes, Time};

/// A packet that comes to an end of tunnels: what of it matters there. [`Passing`] has more, which takes time to put
/// together, and nearly all packets of a mobile network pass two such ends.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// Time of arrival.
    pub now: Time,
    /// Size on the wire, which changes with the tunnel.
    pub len: Bytes,
    /// Number of the user whose packet it is, counted from 0.
    pub user: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Number of its connection; 0 where its header does not show that.
    pub connection: u32,
    /// It acknowledges, and carries no data.
    pub is_ack: bool,
    /// It requests a connection.
    pub is_request: bool,
    /// Its sender declares by the ConEx option that it has met congestion, a loss or a mark.
    pub declares: bool,
    /// The ECN field, which changes with the tunnel.
    pub ecn: Ecn,
    /// The header of the tunnel that it is in, which it enters or leaves here.
    pub tunnel: Option<Tunnel>,
    /// Address of the nearest end of tunnels in transit, the number of a node; `None` where there is none.
    pub tunnel_end: Option<u32>,
}

impl Crossing {
    /// Congestion experienced: in its header, or in the inner one if it is in a tunnel.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce || self.tunnel.is_some_and(|tunnel| tunnel.inner_ecn == Ecn::Ce)
    }
}

impl Passing {
    /// It crosses an end of tunnels.
    pub(super) fn cross(&mut self, end: impl FnOnce(&mut Crossing) -> Passage) -> Passage {
        let &mut Passing {
            now,
            len,
            user,
            flow,
            is_ack,
            is_request,
            ecn,
            tunnel,
            tunnel_end,
            declared,
            ..
        } = self;
        let connection = self.sequence.map_or(0, |sequence| sequence.connection);
        let mut crossing = Crossing {
            now,
            len,
            user,
            flow,
            connection,
            is_ack,
            is_request,
            declares: declared.conex && (declared.loss || declared.mark),
            ecn,
            tunnel,
            tunnel_end,
        };
        let passage = end(&mut crossing);
        (self.len, self.ecn, self.tunnel) = (crossing.len, crossing.ecn, crossing.tunnel);
        passage
    }
}
