//! FIFO queue of packets with a count of bytes.

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

    /// Takes the packet at this place, counted from the oldest.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn remove(&mut self, place: usize) -> Queued {
        let packet = self.packets.remove(place).expect("the packet waits");
        self.bytes -= packet.bytes();
        packet
    }

    /// Iterates over the packets from the oldest on.
    pub fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.packets.iter()
    }

    /// Returns the latest packet.
    pub fn back(&self) -> Option<&Queued> {
        self.packets.back()
    }

    /// Returns the oldest packet.
    #[inline]
    pub fn front(&self) -> Option<&Queued> {
        self.packets.front()
    }

    /// Returns the number of packets.
    #[inline]
    pub fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the number of bytes.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Applies a signal to a packet: it is marked if possible, else dropped.
#[inline]
pub(super) fn mark_or(
    lose: impl FnMut(Queued, DropReason),
) -> impl FnMut(Queued) -> Option<Queued> {
    mark_or_pass(false, lose)
}

/// Applies a signal as [`mark_or`], but passes a packet that cannot be marked if the signal is a `price`.
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
