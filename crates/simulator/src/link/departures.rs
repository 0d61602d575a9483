//! A link whose departures are events: it serves as its [`Station`] says.

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::units::Time;

use super::{Link, Rest};
use crate::owner::Owner;
use crate::packet::PackedPacket;
use crate::station::{Release, Served, Station};
use crate::transmission::Transmission;

/// A packet that has left a station.
#[derive(Clone, Copy)]
pub struct Departed {
    /// The packet.
    pub packed: PackedPacket,
    /// When it is due at the far end.
    pub at: Time,
    /// The wire has lost it.
    pub lost_on_wire: bool,
}

impl Link {
    /// Whether its departures are events.
    pub fn is_station(&self) -> bool {
        self.station().is_some()
    }

    /// Offers a packet to a station at `now`. Returns when the transmitter will be done, if the
    /// packet has set it to work.
    ///
    /// # Panics
    /// If this is no station.
    pub fn arrive(&mut self, packed: PackedPacket, owner: Owner, now: Time) -> Option<Time> {
        let Rest { station, probe, .. } = self.rest();
        let station = station.as_mut().expect("departures are events");
        station.arrive(packed, owner, now, probe);
        if station.is_idle() { self.begin(now) } else { None }
    }

    /// The transmitter of a station takes its next packet. Returns when it will be done.
    fn begin(&mut self, now: Time) -> Option<Time> {
        let (pace, Link { accepted, rest, .. }) = (self.pace(), self);
        let Rest { station, probe, schedule, .. } = rest.as_deref_mut()?;
        let station = station.as_mut().expect("departures are events");
        station.begin(now, accepted, probe, |len| match schedule {
            None => {
                let sending = pace.transmission_time(len);
                Transmission { ends: now + sending, sending }
            }
            Some(schedule) => schedule.transmission(len, now),
        })
    }

    /// The transmitter of a station is done at `now`. Returns what it has sent, with the time at
    /// which that reaches the far end, and when it will be done again.
    ///
    /// # Panics
    /// If this is no station, or it was sending nothing.
    pub fn depart(&mut self, now: Time) -> (Departed, Option<Time>) {
        let station = self.rest().station.as_mut().expect("departures are events");
        let Served { packed, group, marked } = station.end();
        let lost_on_wire = self.rest().is_lost_on_wire();
        if lost_on_wire {
            self.rest().probe.on_drop(DropReason::Wire, group);
        } else if marked {
            self.rest().probe.on_mark(group);
        }
        let at = now + self.delay;
        (Departed { packed, at, lost_on_wire }, self.begin(now))
    }

    /// The next packet for the queue outside that serves this link.
    pub fn take_arrived(&mut self) -> Option<(u32, PackedPacket)> {
        self.rest.as_mut()?.station.as_mut()?.take_arrived()
    }

    /// The queue outside has let a packet go at `now`.
    ///
    /// # Panics
    /// If this is no station.
    pub fn leave(&mut self, handle: u32, marked: bool, now: Time, release: Release) -> Departed {
        let (transmission, delay) = (self.pace(), self.delay);
        let Link { accepted, rest, .. } = self;
        let rest = rest.as_deref_mut().expect("departures are events");
        let station = rest.station.as_mut().expect("departures are events");
        let sending = transmission.transmission_time(station.len_of(handle));
        let (Served { packed, group, marked }, departs) =
            station.leave(handle, marked, (now, release), sending, &mut rest.probe);
        accepted.add(packed.len().into());
        let lost_on_wire = rest.is_lost_on_wire();
        if lost_on_wire {
            rest.probe.on_drop(DropReason::Wire, group);
        } else if marked {
            rest.probe.on_mark(group);
        }
        Departed { packed, at: departs + delay, lost_on_wire }
    }

    /// The queue outside has dropped a packet, which is taken by [`Link::take_lost`].
    pub fn lose(&mut self, handle: u32, reason: DropReason, now: Time) {
        let Some(Rest { station: Some(station), probe, .. }) = self.rest.as_deref_mut() else {
            return;
        };
        station.lose(handle, reason, now, probe);
    }

    /// Takes a packet that a station has lost.
    pub fn take_lost(&mut self) -> Option<PackedPacket> {
        self.rest.as_mut()?.station.as_mut()?.lost.pop()
    }

    /// The packet that a station transmits, as far as it has not left at `now`: its group, its length, and when it leaves.
    pub fn in_transmission(&self, now: Time) -> Option<(u16, u16, Time)> {
        self.station()?.in_transmission().filter(|(.., departs)| *departs > now)
    }

    /// Packets in a station.
    pub fn at_station(&self) -> u64 {
        self.station().map_or(0, Station::len)
    }

    /// The part of the time of packets here that is not counted yet: packet-ns and byte-ns.
    pub fn time_so_far(&self, now: Time) -> [u128; 2] {
        self.station().map_or([0; 2], |station| station.time_so_far(now))
    }
}
