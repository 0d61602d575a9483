//! Packets in transit, and the order of their arrivals.
//!
//! A link never reorders, so only its first packet in transit can be next. Links with the same rates and delays since
//! the last event, from the same place, seldom overtake each other either. They share a *lane*, a sorted queue, and
//! only the first packet of a lane is in the event queue, which has a handful of entries for any number of users. A
//! packet that would overtake many in its lane is queued apart, which does not change its arrival time.
//!
//! Simultaneous arrivals are ordered by the number of their link, after events of stations.

use core::ops::Range;

use tidegate_mechanisms::units::Time;
use tidegate_scenario::plan::link_bits;

use crate::calendar::Calendar;
use crate::memory::prefetch;
use crate::packet::PackedPacket;
use crate::ring::Ring;
use crate::sectors::SectorLanes;
use crate::tournament::{GROUP, Tournament};

/// All packets in transit, and the events of stations.
pub struct Transit {
    keys: Keys,
    /// Number of stations: their numbers precede those of links.
    stations: usize,
    /// The place of each station in the tournament, beside those of lanes.
    place_of_station: Vec<u32>,
    lane_of_link: Vec<u32>,
    lanes: Vec<Lane>,
    /// First arrival of each lane, and events of stations.
    firsts: Tournament,
    /// Packets that would have overtaken too many.
    apart: Calendar<PackedPacket>,
}

/// Maximum number of packets that a packet may overtake in its lane.
const REACH: usize = 8;

#[derive(Default)]
struct Lane {
    /// Packets by arrival time.
    packets: Ring<Due>,
    /// Arrival key of the last packet in the lane, now or before.
    last: u64,
}

/// Packet in transit.
#[derive(Clone, Copy, Default)]
struct Due {
    arrival: u64,
    packed: PackedPacket,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.arrival == other.arrival
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> core::cmp::Ordering {
        self.arrival.cmp(&other.arrival)
    }
}

/// What happens next.
pub enum NextEvent {
    /// A packet arrives at the end of a link.
    Packet(Time, PackedPacket),
    /// The transmission of a station ends; its index among stations.
    Station(usize),
}

/// Upper limit of the packets that may be taken out of order.
#[derive(Clone, Copy)]
pub struct Before(u64);

/// How the time of an event and the number of its link or station share a word, because comparisons dominate the queue.
/// Keys are unique: packets of a link leave one after the other, and a transmission takes at least a nanosecond.
#[derive(Clone, Copy)]
struct Keys {
    /// Bits of the number.
    bits: u32,
    /// These bits, set.
    numbers: u64,
    /// Arrivals after the longest run are never taken, so their order does not matter.
    latest_ns: u64,
}

impl Keys {
    fn with_bits(bits: u32) -> Self {
        Keys { bits, numbers: !(u64::MAX << bits), latest_ns: u64::MAX >> bits }
    }

    #[inline(always)]
    fn arrival(self, at: Time, number: usize) -> u64 {
        debug_assert!(number < 1 << self.bits);
        at.as_nanos().min(self.latest_ns) << self.bits | number as u64
    }

    /// The last key of a time.
    #[inline]
    fn last_at(self, at: Time) -> u64 {
        self.arrival(at, 0) | self.numbers
    }

    #[inline(always)]
    fn time_of(self, arrival: u64) -> Time {
        Time::from_nanos(arrival >> self.bits)
    }

    #[inline(always)]
    fn number_of(self, arrival: u64) -> usize {
        (arrival & self.numbers) as usize
    }
}

impl Transit {
    /// Returns an empty set; `lane_of_link` has the lane of each link.
    pub fn new(lane_of_link: Vec<u32>, stations: usize) -> Self {
        let bits = link_bits(lane_of_link.len() + stations);
        Transit::with_bits(bits, lane_of_link, stations)
    }

    fn with_bits(bits: u32, lane_of_link: Vec<u32>, stations: usize) -> Self {
        let lanes = lane_of_link.iter().max().map_or(0, |last| *last + 1);
        Transit::with_places(bits, lane_of_link, (lanes..lanes + stations as u32).collect())
    }

    /// Returns an empty set; stations have these places beside those of lanes.
    pub fn in_places(lane_of_link: Vec<u32>, place_of_station: Vec<u32>) -> Self {
        let bits = link_bits(lane_of_link.len() + place_of_station.len());
        Transit::with_places(bits, lane_of_link, place_of_station)
    }

    fn with_places(bits: u32, lane_of_link: Vec<u32>, place_of_station: Vec<u32>) -> Self {
        let lanes = lane_of_link.iter().max().map_or(0, |last| *last as usize + 1);
        let places =
            place_of_station.iter().map(|place| *place as usize + 1).fold(lanes, usize::max);
        Transit {
            keys: Keys::with_bits(bits),
            stations: place_of_station.len(),
            place_of_station,
            lane_of_link,
            firsts: Tournament::new(places),
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            apart: Calendar::default(),
        }
    }

    /// Returns the lane of each link.
    pub fn lanes(&self) -> &[u32] {
        &self.lane_of_link
    }

    /// Returns the time of the next event; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_time(&self) -> Time {
        match self.first() {
            u64::MAX => Time::NEVER,
            first => self.keys.time_of(first),
        }
    }

    /// Returns the time of the next event, which may be any late time if there is none.
    #[inline]
    pub fn next_time_in_run(&self) -> Time {
        self.keys.time_of(self.first())
    }

    #[inline]
    fn first(&self) -> u64 {
        self.firsts.smallest().min(self.apart.first())
    }

    /// Puts a packet in transit to the far end of a link.
    #[inline(always)]
    pub fn send(&mut self, link: u32, at: Time, packed: PackedPacket) {
        let arrival = self.keys.arrival(at, link as usize + self.stations);
        let lane_number = self.lane_of_link[link as usize] as usize;
        let lane = &mut self.lanes[lane_number];
        if lane.packets.is_empty() {
            self.firsts.set(lane_number, arrival);
        } else if arrival < lane.last {
            return self.overtake(lane_number, Due { arrival, packed });
        }
        lane.last = arrival;
        lane.packets.push(Due { arrival, packed });
    }

    #[inline(never)]
    fn overtake(&mut self, lane_number: usize, due: Due) {
        let lane = &mut self.lanes[lane_number].packets;
        if lane.len() > REACH && lane.back(REACH).arrival > due.arrival {
            return self.apart.push(due.arrival, due.packed);
        }
        lane.insert(due);
        let first = lane.front().map_or(u64::MAX, |first| first.arrival);
        self.firsts.set(lane_number, first);
    }

    /// Takes the next event. The event of a station remains until [`Transit::set_station`] sets the next.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline(always)]
    pub fn take_next(&mut self) -> NextEvent {
        let first = self.firsts.smallest();
        let first_apart = self.apart.first();
        if first_apart < first {
            let packed = self.apart.pop().expect("has a first");
            return NextEvent::Packet(self.keys.time_of(first_apart), packed);
        }
        let number = self.keys.number_of(first);
        let Some(link) = number.checked_sub(self.stations) else {
            return NextEvent::Station(number);
        };
        let lane_number = self.lane_of_link[link] as usize;
        let lane = &mut self.lanes[lane_number].packets;
        let due = lane.pop().expect("called when something is due");
        self.firsts.set(lane_number, lane.front().map_or(u64::MAX, |first| first.arrival));
        NextEvent::Packet(self.keys.time_of(due.arrival), due.packed)
    }

    /// Returns the limit before a time, ns.
    pub fn before_nanos(&self, at_ns: u64) -> Before {
        Before(self.keys.arrival(Time::from_nanos(at_ns), 0))
    }

    /// Returns this limit, or an earlier one before a time.
    pub fn earlier(&self, limit: Before, at: Time) -> Before {
        Before(limit.0.min(self.keys.arrival(at, 0)))
    }

    /// Returns this limit, or an earlier one after the events of a time.
    pub fn up_to(&self, limit: Before, at: Time) -> Before {
        Before(limit.0.min(self.keys.last_at(at).saturating_add(1)))
    }

    /// Returns the limit before this time, before all packets over `link`, and before all packets queued apart.
    pub fn before(&self, time: Time, link: u32) -> Before {
        let lane = &self.lanes[self.lane_of_link[link as usize] as usize].packets;
        let first = lane.front().map_or(u64::MAX, |first| first.arrival);
        Before(self.keys.arrival(time, 0).min(first).min(self.apart.first()))
    }

    /// Returns the first packet in a link's lane, if it arrives over that link and before the limit.
    #[inline]
    pub fn first_over(&self, link: u32, limit: Before) -> Option<&PackedPacket> {
        let first = self.lanes[self.lane_of_link[link as usize] as usize].packets.front()?;
        let number = self.keys.number_of(first.arrival);
        let comes = first.arrival < limit.0 && number == link as usize + self.stations;
        comes.then_some(&first.packed)
    }

    /// Takes the first packet in a link's lane, even if it is not the next event. [`Transit::settle`] has to follow
    /// before anything else is taken.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    pub fn take_over(&mut self, link: u32) -> (Time, PackedPacket) {
        let lane = &mut self.lanes[self.lane_of_link[link as usize] as usize].packets;
        let due = lane.pop().expect("has been looked at");
        (self.keys.time_of(due.arrival), due.packed)
    }

    /// Updates the tree after packets of a link's lane were taken.
    pub fn settle(&mut self, link: u32) {
        let lane_number = self.lane_of_link[link as usize] as usize;
        let first = self.lanes[lane_number].packets.front();
        self.firsts.set(lane_number, first.map_or(u64::MAX, |first| first.arrival));
    }

    /// Returns the key of the next event.
    #[inline]
    pub fn next_key(&self) -> u64 {
        self.first()
    }

    /// Whether the next event is the arrival of a packet queued apart.
    #[inline]
    pub fn next_is_apart(&self) -> bool {
        self.apart.first() < self.firsts.smallest()
    }

    /// Returns the group of the lane whose packet arrives first of all.
    pub fn first_group(&self) -> usize {
        self.place_of(self.firsts.smallest()) / GROUP
    }

    /// Returns the time of the first arrival in groups of lanes, which may be any late time if there is none.
    #[inline]
    pub fn first_time_in(&self, groups: Range<usize>) -> Time {
        self.keys.time_of(self.firsts.smallest_in(groups))
    }

    /// Returns the key of the first arrival in a sector if it comes before the limit, before all packets queued apart, and
    /// not after `last`.
    #[inline(always)]
    pub fn first_in(&self, sector: &SectorLanes, limit: Before, last: Time) -> Option<u64> {
        let first = match sector.only {
            Some(lane) => {
                self.lanes[lane as usize].packets.front().map_or(u64::MAX, |due| due.arrival)
            }
            None => self.firsts.smallest_in(sector.groups.clone()),
        };
        (first < limit.0.min(self.apart.first()) && self.keys.time_of(first) <= last)
            .then_some(first)
    }

    /// Whether the limit comes after the events of a time, and so do all packets queued apart.
    #[inline]
    pub fn is_before(&self, at: Time, limit: Before) -> bool {
        self.keys.last_at(at) < limit.0.min(self.apart.first())
    }

    /// Takes the packet with this key, the first of its sector. [`Transit::settle_sector`] has to follow before anything
    /// else is taken.
    #[inline(always)]
    pub fn take_in(&mut self, sector: &SectorLanes, key: u64) -> NextEvent {
        if let Some(lane) = sector.only {
            let due = self.lanes[lane as usize].packets.pop().expect("has a first");
            return NextEvent::Packet(self.keys.time_of(due.arrival), due.packed);
        }
        let number = self.keys.number_of(key);
        let Some(link) = number.checked_sub(self.stations) else {
            return NextEvent::Station(number);
        };
        let number = self.lane_of_link[link] as usize;
        let lane = &mut self.lanes[number].packets;
        let due = lane.pop().expect("has a first");
        self.firsts.set_in_group(number, lane.front().map_or(u64::MAX, |first| first.arrival));
        NextEvent::Packet(self.keys.time_of(due.arrival), due.packed)
    }

    /// Returns the time of a key.
    #[inline]
    pub fn time_of(&self, key: u64) -> Time {
        self.keys.time_of(key)
    }

    /// Updates the tree after packets of a sector were taken.
    pub fn settle_sector(&mut self, sector: &SectorLanes) {
        if let Some(lane) = sector.only {
            let first = self.lanes[lane as usize].packets.front();
            return self.firsts.set(lane as usize, first.map_or(u64::MAX, |first| first.arrival));
        }
        sector.groups.clone().for_each(|group| self.firsts.settle(group));
    }

    /// The place of an event in the tournament.
    #[inline(always)]
    fn place_of(&self, key: u64) -> usize {
        let number = self.keys.number_of(key);
        match number.checked_sub(self.stations) {
            Some(link) => self.lane_of_link[link] as usize,
            None => self.place_of_station[number] as usize,
        }
    }

    /// Returns the packet `later` places after the first one in the lane of this key.
    #[inline]
    pub fn coming(&self, first: u64, later: usize) -> Option<&PackedPacket> {
        if self.apart.first() <= first {
            return self.apart.coming(later);
        }
        let link = self.keys.number_of(first).checked_sub(self.stations)?;
        let lane = &self.lanes[self.lane_of_link[link] as usize];
        lane.packets.get(later).map(|due| &due.packed)
    }

    /// Prefetches the lane of that packet.
    #[inline(always)]
    pub fn prefetch_place(&self, first: u64, later: usize) {
        let Some(link) = self.keys.number_of(first).checked_sub(self.stations) else { return };
        let lane = &self.lanes[self.lane_of_link[link] as usize];
        if let Some(due) = lane.packets.get(later) {
            self.prefetch_lane((self.keys.number_of(due.arrival) - self.stations) as u32);
        }
    }

    /// Prefetches the lane of a link.
    #[inline(always)]
    pub fn prefetch_lane(&self, link: u32) {
        prefetch(&self.lane_of_link[link as usize]);
    }

    /// Numbers lanes and stations without gaps, which makes the tree as small as it can be.
    pub fn compress(&mut self) {
        let of_stations: Vec<u64> =
            self.place_of_station.iter().map(|place| self.firsts.key(*place as usize)).collect();
        let (mut number_of, mut lanes) = (vec![None; self.lanes.len()], Vec::new());
        for lane in &mut self.lane_of_link {
            let old = *lane as usize;
            *lane = *number_of[old].get_or_insert_with(|| {
                lanes.push(core::mem::take(&mut self.lanes[old]));
                (lanes.len() - 1) as u32
            });
        }
        self.firsts = Tournament::new(lanes.len() + self.stations);
        for (number, key) in of_stations.into_iter().enumerate() {
            self.place_of_station[number] = (lanes.len() + number) as u32;
            self.firsts.set(lanes.len() + number, key);
        }
        for (number, lane) in lanes.iter().enumerate() {
            self.firsts.set(number, lane.packets.front().map_or(u64::MAX, |first| first.arrival));
        }
        self.lanes = lanes;
    }

    /// Sets the end of a station's transmission, or that it is idle.
    pub fn set_station(&mut self, place: usize, at: Option<Time>) {
        let key = at.map_or(u64::MAX, |at| self.keys.arrival(at, place));
        self.firsts.set(self.place_of_station[place] as usize, key);
    }

    /// Returns the number of packets in transit.
    pub fn len(&self) -> u64 {
        let in_lanes = self.lanes.iter().map(|lane| lane.packets.len()).sum::<usize>();
        (in_lanes + self.apart.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use proptest::prelude::*;
    use tidegate_mechanisms::units::Span;
    use tidegate_scenario::plan::MAX_RUN;

    proptest! {
        /// For any number of bits and any assignment of lanes: packets are ordered by time, at equal times by link, stations first.
        #[test]
        fn what_is_due_first_comes_first(
            bits in 4..30u32,
            lane_of_link in prop::collection::vec(0..3u32, 1..12),
            steps in prop::collection::vec((0..12usize, 1..200u64, 0..4u8), 0..400)
        ) {
            let links = lane_of_link.len();
            let mut transit = Transit::with_bits(bits, lane_of_link, 1);
            let mut last_of_link = vec![0; links];
            let (mut now, mut due, mut station) = (0, Vec::<(u64, u64)>::new(), None);
            for (link, later, kind) in steps {
                let link = link % links;
                if kind == 0 && let Some(&first) = due.iter().min() {
                    prop_assert_eq!(transit.next_time(), Time::from_nanos(first.0));
                    due.retain(|&other| other != first);
                    now = first.0;
                    match transit.take_next() {
                        NextEvent::Packet(at, packed) => {
                            prop_assert_eq!((at.as_nanos(), packed.number() + 1), first);
                        }
                        NextEvent::Station(place) => {
                            prop_assert_eq!((place, first.1), (0, 0));
                            transit.set_station(0, None);
                            station = None;
                        }
                    }
                } else if kind == 1 && station.is_none() {
                    station = Some(now + later);
                    due.push((now + later, 0));
                    transit.set_station(0, Some(Time::from_nanos(now + later)));
                } else {
                    let at = now.max(last_of_link[link]) + later;
                    last_of_link[link] = at;
                    due.push((at, link as u64 + 1));
                    let (at, number) = (Time::from_nanos(at), link as u64);
                    let packet = Packet { number, ..Packet::default() };
                    transit.send(link as u32, at, PackedPacket::of(&packet));
                }
                prop_assert_eq!(transit.len(), (due.len() - usize::from(station.is_some())) as u64);
            }
        }
    }

    proptest! {
        /// Lanes and stations with other places give the same events in the same order.
        #[test]
        fn lanes_without_gaps_change_nothing(
            lane_of_link in prop::collection::vec(0..40u32, 1..12),
            sent in prop::collection::vec((0..12usize, 1..200u64), 0..100)
        ) {
            let links = lane_of_link.len();
            let lanes = {
                let mut lanes = lane_of_link.clone();
                lanes.sort_unstable();
                lanes.dedup();
                lanes.len()
            };
            // A station in a gap between lanes or behind them, and one behind all.
            let gap = (0..41).find(|place| !lane_of_link.contains(place)).expect("few lanes");
            let places = vec![gap, 50];
            let mut transits =
                [0, 1].map(|_| Transit::in_places(lane_of_link.clone(), places.clone()));
            for transit in &mut transits {
                transit.set_station(0, Some(Time::from_nanos(300)));
                transit.set_station(1, Some(Time::from_nanos(200)));
            }
            let mut last_of_link = vec![0; links];
            for (number, (link, later)) in sent.iter().enumerate() {
                let link = link % links;
                last_of_link[link] += later;
                let (at, number) = (Time::from_nanos(last_of_link[link]), number as u64);
                let packed = PackedPacket::of(&Packet { number, ..Packet::default() });
                transits.iter_mut().for_each(|transit| transit.send(link as u32, at, packed));
                if number % 30 == 9 {
                    transits[1].compress();
                    prop_assert_eq!(transits[1].lanes.len(), lanes);
                }
            }
            let taken = transits.map(|mut transit| {
                let take = |_: &()| match transit.take_next() {
                    NextEvent::Packet(at, packed) => (at, packed.number()),
                    NextEvent::Station(place) => {
                        let at = transit.next_time();
                        transit.set_station(place, None);
                        (at, u64::MAX - place as u64)
                    }
                };
                vec![(); sent.len() + places.len()].iter().map(take).collect::<Vec<_>>()
            });
            prop_assert_eq!(&taken[0], &taken[1]);
        }
    }

    #[test]
    fn what_is_due_after_the_longest_run_comes_last() {
        let mut transit = Transit::new(vec![0, 1], 0);
        assert_eq!(transit.next_time(), Time::NEVER);
        for (link, at) in [(0, Time::ZERO + MAX_RUN * 3), (1, Time::from_nanos(5))] {
            transit.send(link, at, PackedPacket::default());
        }
        assert_eq!(transit.next_time(), Time::from_nanos(5));
        assert!(matches!(transit.take_next(), NextEvent::Packet(..)));
        assert_eq!(transit.next_time(), Time::ZERO + (MAX_RUN - Span::from_nanos(1)));
    }
}
