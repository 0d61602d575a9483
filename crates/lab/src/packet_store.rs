//! Store of the bytes of packets in transit, and the header fields that mechanisms write.

use tidegate_simulator::{CongestionHeader, Contents};
use tidegate_wire::activity::Activity;
use tidegate_wire::packet::{self, View};

use crate::header;

/// Bytes of all packets in transit. The network identifies them by their index.
#[derive(Default)]
pub struct PacketStore {
    slots: Vec<Slot>,
    free: Vec<u64>,
    /// Packets that passed a stage without room for what it wrote: an activity, a declaration.
    pub without_room: u64,
    /// Packets with options, or declarations in them, that could not be parsed. Each counts once.
    pub unreadable: u64,
}

struct Slot {
    bytes: Vec<u8>,
    view: Option<View>,
    is_unreadable: bool,
}

impl PacketStore {
    /// Stores a packet and returns its number. Memory is reused.
    pub fn put(&mut self, bytes: &[u8], view: View) -> u64 {
        if let Some(number) = self.free.pop() {
            let slot = &mut self.slots[number as usize];
            slot.bytes.clear();
            slot.bytes.extend_from_slice(bytes);
            slot.view = Some(view);
            slot.is_unreadable = false;
            return number;
        }
        self.slots.push(Slot { bytes: bytes.to_vec(), view: Some(view), is_unreadable: false });
        self.slots.len() as u64 - 1
    }

    /// Counts a packet that could not be parsed completely.
    pub fn count_unreadable(&mut self, number: u64) {
        let before = std::mem::replace(&mut self.slots[number as usize].is_unreadable, true);
        self.unreadable += u64::from(!before);
    }

    /// Returns the present bytes of a packet.
    pub fn bytes(&self, number: u64) -> &[u8] {
        &self.slots[number as usize].bytes
    }

    /// Whether a packet is of IPv4.
    pub fn is_ipv4(&self, number: u64) -> bool {
        self.slots[number as usize].view.is_some_and(|view| view.source.is_ipv4())
    }

    /// Takes the bytes of a packet that leaves, with the header fields written in transit.
    pub fn take(&mut self, number: u64, header: CongestionHeader) -> &[u8] {
        self.free.push(number);
        let slot = &mut self.slots[number as usize];
        if let Some(view) = &slot.view {
            let has_room = header::write(&mut slot.bytes, view, header);
            self.without_room += u64::from(!has_room);
        }
        &slot.bytes
    }
}

impl Contents for PacketStore {
    const OUTSIDE: bool = true;

    const TUNNELS_OUTSIDE: bool = true;

    fn set_activity(&mut self, number: u64, activity: f32) -> f32 {
        let slot = &mut self.slots[number as usize];
        let Some(view) = &slot.view else { return 0.0 };
        let activity = Activity::rounding_up(f64::from(activity));
        match packet::write_activity(&mut slot.bytes, view, activity) {
            Ok(true) => {}
            Ok(false) => self.without_room += 1,
            Err(_) => return 0.0,
        }
        self.activity(number)
    }

    fn activity(&mut self, number: u64) -> f32 {
        let slot = &self.slots[number as usize];
        let Some(view) = &slot.view else { return 0.0 };
        match packet::read_activity(&slot.bytes, view) {
            Ok(activity) => activity.map_or(0.0, Activity::value),
            Err(_) => {
                self.count_unreadable(number);
                0.0
            }
        }
    }

    fn copy(&mut self, number: u64) -> u64 {
        let Slot { bytes, view, is_unreadable } = &self.slots[number as usize];
        let copy = Slot { bytes: bytes.clone(), view: *view, is_unreadable: *is_unreadable };
        match self.free.pop() {
            Some(free) => {
                self.slots[free as usize] = copy;
                free
            }
            None => {
                self.slots.push(copy);
                self.slots.len() as u64 - 1
            }
        }
    }

    fn discard(&mut self, number: u64) {
        self.free.push(number);
    }
}
