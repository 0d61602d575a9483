//! Bounded memory for the flows of a stage.

use core::num::NonZeroU64;

use super::Passing;
use crate::units::Bytes;

/// Key of a flow: its number, and its connection if headers show one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey(NonZeroU64);

impl FlowKey {
    /// Returns the key of a packet's flow.
    pub fn of(packet: &Passing) -> Self {
        let connection = packet.sequence.map_or(0, |sequence| sequence.connection);
        FlowKey::new(packet.flow, connection)
    }

    /// Returns the key of a flow and a connection of it; 0 if headers show none.
    pub fn new(flow: u32, connection: u32) -> Self {
        let both = u64::from(flow) << 32 | u64::from(connection);
        FlowKey(NonZeroU64::new(both | 1 << 63).expect("a bit is set"))
    }

    /// Returns the number of the flow.
    pub const fn flow(self) -> u32 {
        (self.0.get() >> 32) as u32 & !(1 << 31)
    }

    /// Returns a hash over all bits, which cannot be computed without the secret, if there is one: a user who chooses the
    /// numbers of flows could otherwise let them share a set, and push others out of it.
    const fn hash(self, secret: Option<u32>) -> u64 {
        let mixed = match secret {
            None => self.0.get().wrapping_mul(0x9e37_79b9_7f4a_7c15),
            Some(secret) => {
                // The mixing steps of MurmurHash3 and splitmix64, with the secret before each.
                let key = (secret as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let first = (self.0.get() ^ key ^ (self.0.get() ^ key) >> 33)
                    .wrapping_mul(0xff51_afd7_ed55_8ccd);
                (first ^ key.rotate_left(32) ^ first >> 29).wrapping_mul(0x94d0_49bb_1331_11eb)
            }
        };
        mixed ^ mixed >> 32
    }
}

/// State of a flow.
pub trait Remembered: Copy {
    /// Returns the key of the flow.
    fn key(&self) -> FlowKey;

    /// Returns the time at which the flow was last seen, in any unit.
    fn seen(&self) -> u64;
}

/// Number of slots that may hold a given flow.
const ASSOCIATIVITY: usize = 8;

/// Slots shared by the same flows.
type Set<T> = [Option<T>; ASSOCIATIVITY];

/// Slots of flows, in sets; a flow's key selects its set.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    /// Sets, a power of two.
    sets: Vec<Set<T>>,
    most: usize,
    secret: Option<u32>,
}

impl<T: Remembered> Slots<T> {
    /// Size of one set, bytes.
    pub const LEAST_BYTES: u64 = size_of::<Set<T>>() as u64;

    /// Returns storage of at most `memory` bytes, which grows with the number of flows.
    ///
    /// # Panics
    ///
    /// If `memory` is below [`Self::LEAST_BYTES`].
    pub fn new(memory: Bytes) -> Self {
        let fit = memory.get() / Self::LEAST_BYTES;
        let most = 1 << fit.checked_ilog2().expect("room for a set");
        Slots { sets: vec![[None; ASSOCIATIVITY]], most, secret: None }
    }

    /// Returns the same storage, still empty, with places that depend on a secret.
    #[must_use]
    pub fn with_secret(self, secret: Option<u32>) -> Self {
        Slots { secret, ..self }
    }

    /// Returns the flow, if it is stored.
    #[inline]
    pub fn find(&mut self, key: FlowKey) -> Option<&mut T> {
        let place = self.place(key);
        self.sets[place].iter_mut().flatten().find(|flow| flow.key() == key)
    }

    /// Adds a flow; if there is no room, it replaces the least recently seen one of its set.
    pub fn add(&mut self, flow: T) -> &mut T {
        while self.sets.len() < self.most && self.set_of(flow.key()).iter().all(Option::is_some) {
            self.grow();
        }
        let slots = self.set_of(flow.key()).iter_mut();
        let oldest = slots.min_by_key(|slot| slot.map(|flow| flow.seen()));
        oldest.expect("a set has slots").insert(flow)
    }

    /// Removes and returns the flows selected by `is_one`.
    pub fn take_those(&mut self, is_one: impl Fn(FlowKey) -> bool) -> Vec<T> {
        let slots = self.sets.iter_mut().flatten();
        slots.filter_map(|slot| slot.take_if(|flow| is_one(flow.key()))).collect()
    }

    /// Returns the memory used, bytes.
    pub const fn state_bytes(&self) -> usize {
        self.sets.capacity() * size_of::<Set<T>>()
    }

    fn place(&self, key: FlowKey) -> usize {
        key.hash(self.secret) as usize & (self.sets.len() - 1)
    }

    fn set_of(&mut self, key: FlowKey) -> &mut Set<T> {
        let place = self.place(key);
        &mut self.sets[place]
    }

    /// Doubles the number of sets. The flows of one set are divided among two, in order, so that each has room. In
    /// place: a second copy would exceed the memory limit by half.
    #[cold]
    fn grow(&mut self) {
        let before = self.sets.len();
        self.sets.reserve_exact(before);
        self.sets.resize(2 * before, [None; ASSOCIATIVITY]);
        for place in 0..before {
            let flows = core::mem::replace(&mut self.sets[place], [None; ASSOCIATIVITY]);
            for flow in flows.into_iter().flatten() {
                let free = self.set_of(flow.key()).iter_mut().find(|slot| slot.is_none());
                *free.expect("there is room") = Some(flow);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    struct Flow {
        key: FlowKey,
        seen: u64,
    }

    impl Remembered for Flow {
        fn key(&self) -> FlowKey {
            self.key
        }

        fn seen(&self) -> u64 {
            self.seen
        }
    }

    const SET: u64 = Slots::<Flow>::LEAST_BYTES;

    fn flow(number: u32) -> Flow {
        let key = FlowKey::of(&Passing { flow: number, ..Passing::of_user(0) });
        Flow { key, seen: number.into() }
    }

    #[test]
    fn flows_are_found_again_and_room_comes_with_them() {
        let mut slots = Slots::new(Bytes::new(1_000_000));
        assert_eq!(slots.state_bytes() as u64, SET);
        for number in 0..1_000 {
            slots.add(flow(number));
            assert!((0..=number).step_by(37).all(|known| slots.find(flow(known).key).is_some()));
            assert!(slots.find(flow(number + 1).key).is_none());
        }
    }

    /// Returns numbers of flows that share a set of all 1024, if there is no secret.
    fn colliding() -> Vec<u32> {
        let place = |number: u32| flow(number).key.hash(None) & 1023;
        (0..1_000_000).filter(|&number| place(number) == place(0)).take(200).collect()
    }

    #[test]
    fn flows_that_were_chosen_to_share_a_set_push_nobody_out_where_there_is_a_secret() {
        let survives = |secret| {
            let memory = Bytes::new(1024 * SET);
            let mut slots = Slots::new(memory).with_secret(secret);
            let numbers = colliding();
            numbers.iter().for_each(|number| _ = slots.add(flow(*number)));
            numbers.iter().filter(|number| slots.find(flow(**number).key).is_some()).count()
        };
        assert_eq!(survives(None), ASSOCIATIVITY);
        for secret in [1, 2, 77, u32::MAX] {
            assert_eq!(survives(Some(secret)), 200, "{secret}");
        }
    }

    #[test]
    fn flows_that_are_taken_are_forgotten_and_the_others_stay() {
        let mut slots = Slots::new(Bytes::new(1_000_000));
        (0..100).for_each(|number| _ = slots.add(flow(number)));
        let mut taken: Vec<_> =
            slots.take_those(|key| key.flow() % 3 == 0).iter().map(|flow| flow.seen).collect();
        taken.sort_unstable();
        assert!(taken.into_iter().eq((0..100).step_by(3)));
        assert!((0..100).all(|number| slots.find(flow(number).key).is_some() == (number % 3 != 0)));
    }

    /// The resulting places equal those of copying to twice as many sets.
    #[test]
    fn room_is_made_in_place_as_it_would_be_by_copying() {
        let mut slots: Slots<Flow> = Slots::new(Bytes::new(1_000_000));
        let keys = |sets: &[Set<Flow>]| -> Vec<_> {
            sets.iter().map(|set| set.map(|slot| slot.map(|flow| flow.key))).collect()
        };
        for number in 0..5_000_u32 {
            let before = slots.sets.clone();
            if number % 500 == 499 {
                slots.grow();
            }
            let mut copied = vec![[None; ASSOCIATIVITY]; slots.sets.len()];
            for flow in before.into_iter().flatten().flatten() {
                let place = flow.key.hash(None) as usize & (copied.len() - 1);
                *copied[place].iter_mut().find(|slot| slot.is_none()).expect("has room") =
                    Some(flow);
            }
            assert_eq!(keys(&slots.sets), keys(&copied));
            slots.add(flow(number));
        }
    }

    #[test]
    fn the_flow_not_seen_for_longest_goes_when_there_is_no_more_room() {
        let mut slots = Slots::new(Bytes::new(SET));
        for number in 1..=8 {
            slots.add(flow(number));
        }
        slots.find(flow(1).key).expect("is known").seen = u64::MAX;
        slots.add(flow(9));
        assert!(slots.find(flow(2).key).is_none());
        assert!([1, 3, 8, 9].iter().all(|&number| slots.find(flow(number).key).is_some()));
    }
}
