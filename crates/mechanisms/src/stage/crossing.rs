//! View of a packet at a tunnel end.

use super::{Ecn, Passage, Passing, Tunnel};
use crate::units::{Bytes, Time};

/// Packet at a tunnel end, with the fields that matter there. [`Passing`] has more, which takes time to assemble, and
/// nearly all packets of a mobile network pass two tunnel ends.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// Time of arrival.
    pub now: Time,
    /// Size on the wire, which changes with the tunnel.
    pub len: Bytes,
    /// Number of the packet's user, from 0.
    pub user: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Number of its connection; 0 if its header does not show that.
    pub connection: u32,
    /// Whether it is an acknowledgement without data.
    pub is_ack: bool,
    /// Whether it is a connection request.
    pub is_request: bool,
    /// Whether its sender declares a loss or a mark by the ConEx option.
    pub declares: bool,
    /// The ECN field, which changes with the tunnel.
    pub ecn: Ecn,
    /// Header of the tunnel that it is in, which it enters or leaves here.
    pub tunnel: Option<Tunnel>,
    /// Address of the nearest tunnel end downstream, the number of a node; `None` if there is none.
    pub tunnel_end: Option<u32>,
}

impl Crossing {
    /// Whether it is marked CE: in its header, or in the inner one if it is in a tunnel.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce || self.tunnel.is_some_and(|tunnel| tunnel.inner_ecn == Ecn::Ce)
    }
}

impl Passing {
    /// Passes it through a tunnel end.
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
