//! The event loop of a network with sectors.

use tidegate_mechanisms::units::Time;

use super::Engine;
use crate::event_queue::Owners;
use crate::sectors::Batch;
use crate::transit::NextEvent;

impl Engine<'_> {
    /// Processes all events before `end`, sector by sector, unless batches turn out to be short.
    pub(super) fn run_in_sectors(&mut self, end: Time) {
        let mut last = self.now;
        loop {
            let arrival = self.network.transit.next_time_in_run();
            let timer = self.timers.next_time();
            if arrival.min(timer) >= end {
                break;
            }
            if arrival > timer {
                self.wake(timer);
                last = last.max(self.now);
                continue;
            }
            self.now = arrival;
            last = last.max(arrival);
            if self.network.transit.next_is_apart() {
                self.events += 1;
                let NextEvent::Packet(at, packed) = self.network.transit.take_next() else {
                    unreachable!("stations are not queued apart")
                };
                self.arrive(at, packed);
            } else {
                let events = self.events;
                last = last.max(self.run_batch(end));
                let Some(sectors) = &mut self.network.sectors else { break };
                if !sectors.count(self.events - events) {
                    self.network.leave_sectors();
                    break;
                }
            }
        }
        self.now = last;
    }

    /// Processes events of one sector, from the next of all on, while no other could interfere. Returns the time of the
    /// last.
    #[inline(never)]
    fn run_batch(&mut self, end: Time) -> Time {
        let network = &mut self.network;
        let sectors = network.sectors.as_mut().expect("the network has sectors");
        // Samples end the batches of all sectors. As long as flows start, all timers do.
        let divides = sectors.divides_timers() && self.now > self.last_start;
        let Batch { lanes, timers, limit } =
            sectors.next(&network.transit, &network.links, &mut self.timers);
        let limit = network.transit.earlier(limit, end);
        let (owners, limit, common) = match divides {
            true => {
                let sample = self.series.next();
                (timers, network.transit.up_to(limit, sample), sample)
            }
            false => (Owners::All, limit, Time::ZERO),
        };
        let mut next = Some(network.transit.next_key());
        let mut last = self.now;
        loop {
            while let Some(key) = next {
                if self.prefetches {
                    self.prefetch(key);
                }
                self.events += 1;
                match self.network.transit.take_in(&lanes, key) {
                    NextEvent::Packet(at, packed) => {
                        last = at;
                        self.arrive(at, packed);
                    }
                    NextEvent::Station(place) => {
                        last = self.network.transit.time_of(key);
                        self.depart(place, last);
                    }
                }
                let timer = self.timers.next_of(owners);
                next = self.network.transit.first_in(&lanes, limit, timer);
            }
            let timer = self.timers.next_of(owners);
            if timer >= common || !self.network.transit.is_before(timer, limit) {
                break;
            }
            match owners {
                Owners::Senders => self.wake_other(timer),
                Owners::Receivers => self.wake_receiver(timer),
                Owners::All | Owners::None => self.wake(timer),
            }
            last = last.max(self.now);
            next = self.network.transit.first_in(&lanes, limit, self.timers.next_of(owners));
        }
        self.network.transit.settle_sector(&lanes);
        last
    }
}
