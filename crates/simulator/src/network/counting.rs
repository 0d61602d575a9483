//! Readings of a network's counters, corrected for packets that pass ahead of time.

use tidegate_mechanisms::units::Time;

use super::Network;
use crate::ahead::{LinkSignal, Pending};
use crate::contents::Contents;
use crate::link_reading::{LinkReadings, ReadLinks};

impl<C: Contents> Network<C> {
    /// A link has accepted a packet, the last so far, that may leave it later than the counters are read: keeps it for
    /// the reading if it does, and whether it arrives there after that as well.
    #[cold]
    #[inline(never)]
    pub(super) fn note_pending(&mut self, number: u32, flow: u32, len: u16, arrives: Time) {
        let ahead = arrives > self.next_reading;
        let departs = self.links[number as usize].last_departure();
        if departs > self.next_reading {
            let group = self.flow_states[flow as usize].owner.group;
            let packet = Pending::new(number, group, len, ahead, departs);
            self.ahead.accept(packet, &self.links);
        }
    }

    /// Records a drop or mark, if the packet arrives after the next reading.
    #[inline(always)]
    pub(super) fn note_signal(&mut self, link: u32, signal: LinkSignal, now: Time) {
        if now > self.next_reading {
            self.ahead.signal(now, link, signal);
        }
    }

    /// Returns the packets of each flow's sender lost until the reading.
    pub fn losses(&self) -> Vec<u64> {
        let mut losses = self.losses.clone();
        self.ahead.take_losses_from(&mut losses);
        losses
    }

    /// Reads the counters of all links at `now` by [`LinkReadings::take`] or [`LinkReadings::in_passing`].
    pub fn read_links(&mut self, read: ReadLinks, now: Time) -> LinkReadings {
        debug_assert_eq!(now, self.next_reading, "the reading was announced");
        read(&mut self.links, &mut self.ahead, now)
    }

    /// Sets the next reading to `at`, in a network where nothing passes ahead of time.
    pub fn expect_reading(&mut self, at: Time) {
        self.next_reading = at;
        self.ahead.expect_reading(at);
    }
}
