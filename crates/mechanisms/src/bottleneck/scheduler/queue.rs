//! Packets in the order they came, and how many bytes they are.

use std::collections::VecDeque;

use super::Queued;
use crate::bottleneck::DropReason;

/// A first-in-first-out queue.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    packets: VecDeque<Queued>,
    bytes: u64,
}

impl Queue {
    /// Adds a packet at the end.
    #[inline]
    pub fn push(&mut self, packet: Queued) {
        self.bytes += packet.bytes();
        self.packets.push_back(packet);
    }

    /// Takes the first packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Takes the last packet.
    pub fn pop_last(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_back()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// The packet that has waited longest.
    #[inline]
    pub fn front(&self) -> Option<&Queued> {
        self.packets.front()
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Their bytes.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// What a signal does to a packet: it is marked and goes if that will do, else it is lost.
#[inline]
pub(super) fn mark_or(
    lose: impl FnMut(Queued, DropReason),
) -> impl FnMut(Queued) -> Option<Queued> {
    mark_or_pass(false, lose)
}

/// The same, where what may not be marked passes if the signal is a `price`.
#[inline]
pub(super) fn mark_or_pass(
    price: bool,
    mut lose: impl FnMut(Queued, DropReason),
) -> impl FnMut(Queued) -> Option<Queued> {
    move |packet| {
        if packet.may_mark {
            return Some(Queued { marked: true, ..packet });
        }
        if price {
            return Some(packet);
        }
        lose(packet, DropReason::Aqm);
        None
    }
}
