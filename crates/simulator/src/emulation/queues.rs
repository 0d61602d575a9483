//! External queues that serve a link: packets leave the network in front of it and come back when served.
//!
//! What is measured of the link is measured here, from when a packet arrives until its transmission has ended. A queue
//! that lets a packet go when its transmission begins, as a shaper does in front of a device, says so ([`Release`]).

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Time;

use super::{Delivery, Emulation};
use crate::contents::Contents;
pub use crate::station::Release;

/// Packet for an external queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForQueue {
    /// Handle of the packet at the link until it is served or dropped.
    pub handle: u32,
    /// Number of the packet.
    pub packet: u64,
    /// Flow.
    pub flow: u32,
}

impl<C: Contents> Emulation<'_, C> {
    /// Returns the next packet that has arrived at a link with an external queue.
    pub fn for_queue(&mut self, link: u32) -> Option<ForQueue> {
        let (handle, packed) = self.network.take_arrived(link)?;
        Some(ForQueue { handle, packet: packed.number(), flow: packed.flow() })
    }

    /// The queue has let a packet go, marked or not. Returns it if its way ends there.
    pub fn served(
        &mut self,
        link: u32,
        handle: u32,
        marked: bool,
        at: Time,
        release: Release,
    ) -> Option<Delivery> {
        let (at, packed) = self.network.served(link, handle, marked, at.max(self.now), release)?;
        Some(self.delivered(at, packed))
    }

    /// Handles a packet that the queue has dropped.
    pub fn dropped(&mut self, link: u32, handle: u32, reason: DropReason, at: Time) {
        self.network.dropped(link, handle, reason, at.max(self.now));
    }
}
