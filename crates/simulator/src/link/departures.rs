//! Links whose departures are events, served by a [`Station`].

use tidegate_mechanisms::bottleneck::DropReason;
use tidegate_mechanisms::bottleneck::scheduler::Users;
use tidegate_mechanisms::units::Time;

use super::{Link, Rest};
use crate::owner::Owner;
use crate::packet::{OptionStore, PackedPacket};
use crate::station::{Release, Served, Station};
use crate::transmission::Transmission;

/// A packet that has left a station.
#[derive(Clone, Copy)]
pub struct Departed {
    /// The packet.
    pub packed: PackedPacket,
    /// Due time at the far end.
    pub at: Time,
    /// Whether it is lost on the wire.
    pub lost_on_wire: bool,
}

impl Link {
    /// Tells a station's scheduler who the users are.
    pub fn know(&mut self, users: &Users) {
        if let Some(station) = self.rest().station.as_mut() {
            station.know(users);
        }
    }

    /// Whether its departures are events.
    pub fn is_station(&self) -> bool {
        self.station().is_some()
    }

    /// Offers a packet to a station at `now`. Returns the end of its transmission if the packet starts the transmitter.
    ///
    /// # Panics
    ///
    /// If the link is not a station.
    pub fn arrive(&mut self, packed: PackedPacket, owner: Owner, now: Time) -> Option<Time> {
        let Rest { station, probe, .. } = self.rest();
        let station = station.as_mut().expect("departures are events");
        station.arrive(packed, owner, now, probe);
        if station.is_idle() { self.begin(now) } else { None }
    }

    /// Starts the station's next transmission. Returns its end.
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

    /// Drops the ACK that a packet, just arrived, makes superfluous at a station that filters ACKs.
    #[cold]
    pub fn filter_acks(
        &mut self,
        newest: &PackedPacket,
        owner: Owner,
        options: &OptionStore,
        now: Time,
    ) {
        let Rest { station, probe, .. } = self.rest();
        let station = station.as_mut().expect("departures are events");
        station.filter_acks(newest, owner, options, now, probe);
    }

    /// Whether its station filters ACKs.
    pub fn filters_acks(&mut self) -> bool {
        self.rest().station.as_mut().is_some_and(|station| station.filters_acks())
    }

    /// Completes a station's transmission at `now`. Returns the packet, with its arrival time at the far end; `None` after
    /// a shaper's pause. Returns the end of the next transmission or pause, too.
    ///
    /// # Panics
    ///
    /// If the link is not a station.
    pub fn depart(&mut self, now: Time) -> (Option<Departed>, Option<Time>) {
        let station = self.rest().station.as_mut().expect("departures are events");
        let Some(Served { packed, group, marked }) = station.end() else {
            return (None, self.begin(now));
        };
        let lost_on_wire = self.rest().is_lost_on_wire();
        if lost_on_wire {
            self.rest().probe.on_drop(DropReason::Wire, group);
        } else if marked {
            self.rest().probe.on_mark(group);
        }
        let delay = self.delay;
        let at = self.rest().far_end_at(now, delay);
        (Some(Departed { packed, at, lost_on_wire }), self.begin(now))
    }

    /// Takes the next packet for the external queue that serves this link.
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
        Departed { packed, at: rest.far_end_at(departs, delay), lost_on_wire }
    }

    /// Handles a packet that the external queue has dropped; [`Link::take_lost`] takes it.
    pub fn lose(&mut self, handle: u32, reason: DropReason, now: Time) {
        let Some(Rest { station: Some(station), probe, .. }) = self.rest.as_deref_mut() else {
            return;
        };
        station.lose(handle, reason, now, probe);
    }

    /// Takes a packet that a station has dropped.
    pub fn take_lost(&mut self) -> Option<PackedPacket> {
        self.rest.as_mut()?.station.as_mut()?.lost.pop()
    }

    /// Returns the group, length and departure time of the packet in transmission at a station, if it has not left at
    /// `now`.
    pub fn in_transmission(&self, now: Time) -> Option<(u16, u16, Time)> {
        self.station()?.in_transmission().filter(|(.., departs)| *departs > now)
    }

    /// Returns the number of packets in a station.
    pub fn at_station(&self) -> u64 {
        self.station().map_or(0, Station::len)
    }

    /// Returns the time of packets in the queue that is not counted yet: packet-ns and byte-ns.
    pub fn time_so_far(&self, now: Time) -> [u128; 2] {
        self.station().map_or([0; 2], |station| station.time_so_far(now))
    }
}
