//! Scheduling by declared congestion: users whose packets declare much congestion are served after the others.
//!
//! Y. Zhang, I. Johansson, H. Green and M. Tatipamula, "Metering Re-ECN: Performance Evaluation and its Applicability
//! in Cellular Networks", ITC 23, 2011, section III-B, step 5: the PDN gateway re-inserts congestion into the headers
//! of its tunnels, and "routers and S-GW along the path can prioritize the flows based on the feedbacks". The paper
//! does not specify how. Here a node between the ends of tunnels keeps the congestion-volume that each user's packets
//! have declared recently, and has two classes:
//!
//! ```text
//! V_i ← V_i e^(−Δt/T) + L        with each packet of user i, L its bytes if congestion is re-inserted into its header, else 0
//! V̄   = Σ V_i / n                over the n users seen in the last whole T
//! behind      V_i > w T and V_i > V̄,  or packets in whose header there is no room to declare (outside = "behind")
//! first       all others
//! ```
//!
//! All packets of class *first* leave before those of class *behind*; each class is FIFO. The classes share the buffer:
//! when it is full, the last packet of *behind* makes room for one of *first*. There is no effect on an uncongested
//! link, a flood gets what is left over, and users without declarations are dropped first, which is also the order that
//! RFC 7837, section 8, proposes for nodes under overload.
//!
//! Both conditions are needed. Without the mean, a user that loses a burst of packets to others' congestion would wait
//! behind the flood that caused it; without the allowance, some user would always be above the mean. The node needs no
//! configuration per user, no round trip, and no accounts: the packets carry the congestion of each user. The
//! information is as trustworthy as the tunnels' ingress nodes.

use super::two_classes::{Class, TwoClasses};
use super::{About, Discipline, Place, Queued, TransmitterState};
use crate::bottleneck::DropReason;
use crate::parameters::ParameterError;
use crate::units::{Rate, Span, Time};
use crate::{parameters, words};

parameters! {
    /// Serves users that have recently declared much congestion after the others, by the congestion re-inserted into
    /// tunnel headers.
    pub struct DeclaredCongestionParams {
        /// w: rate of congestion-volume above which a user is served after the others. Default: a hundredth of the
        /// link's rate.
        pub allowance: Option<Rate>,
        /// T: time constant with which declarations decay.
        pub memory: Span = "300 ms",
        /// Class of packets without a declaration: in no tunnel, or in one without a field for it.
        pub outside: Outside = "behind",
    }
    check remembers;
}

words! {
    /// Class of packets without a declaration.
    pub enum Outside {
        /// Class *behind*.
        Behind = "behind",
        /// Class *first*, for links with traffic other than tunnels.
        First = "first",
    }
}

impl Outside {
    const fn class(self) -> Class {
        match self {
            Outside::Behind => Class::Behind,
            Outside::First => Class::First,
        }
    }
}

fn remembers(params: &DeclaredCongestionParams) -> Option<ParameterError> {
    let nothing = params.memory == Span::ZERO;
    nothing.then(|| ("memory", "0 s remembers nothing".to_owned()))
}

/// Both classes, and the declarations of each user.
#[derive(Clone, Debug)]
pub struct DeclaredCongestion {
    /// Allowance w T, bytes.
    allowed: f64,
    memory_s: f64,
    memory: Span,
    outside: Outside,
    classes: TwoClasses,
    by_user: Vec<Declared>,
    /// Declarations of all users together.
    all: Declared,
    /// End of the present period of length T.
    period_ends: Time,
    seen: u32,
    seen_before: u32,
}

/// Congestion-volume declared, V_i.
#[derive(Clone, Copy, Debug, Default)]
struct Declared {
    bytes: f64,
    at: Time,
    /// End of the period in which the user was last seen.
    period_ends: Time,
}

impl Declared {
    /// Decays the volume, and adds `bytes`.
    #[inline]
    fn add(&mut self, bytes: f64, now: Time, memory_s: f64) {
        self.bytes *= libm::exp(-now.since(self.at).as_secs() / memory_s);
        self.bytes += bytes;
        self.at = now;
    }
}

impl Discipline for DeclaredCongestion {
    type Params = DeclaredCongestionParams;

    const ABOUT: About = About {
        name: "declared-congestion",
        title: "Service by declared congestion",
        source: "Zhang et al., Metering Re-ECN in Cellular Networks, section III-B",
        usage: r#"links.NAME.scheduler = { kind = "declared-congestion" }"#,
        file: "bottleneck/scheduler/declared_congestion.rs",
        text: crate::mechanism::source_text!("declared_congestion.rs"),
    };

    fn new(params: DeclaredCongestionParams, place: &Place) -> Self {
        let DeclaredCongestionParams { allowance, memory, outside } = params;
        let allowance =
            allowance.map_or(place.rate.as_bytes_per_sec() / 100.0, Rate::as_bytes_per_sec);
        let memory_s = memory.as_secs();
        assert!(memory_s > 0.0, "it remembers");
        DeclaredCongestion {
            allowed: allowance * memory_s,
            memory_s,
            outside,
            classes: TwoClasses::new(place.capacity),
            by_user: Vec::new(),
            all: Declared::default(),
            memory,
            period_ends: Time::ZERO + memory,
            seen: 0,
            seen_before: 0,
        }
    }

    #[inline]
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        _draw: impl FnMut() -> f64,
        lose: impl FnMut(Queued, DropReason),
    ) {
        let class = self.class(&packet, line.now);
        self.classes.push(packet, class, line, lose);
    }

    #[inline]
    fn dequeue(
        &mut self,
        _now: Time,
        _draw: impl FnMut() -> f64,
        _lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        self.classes.pop()
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        self.classes.backlog()
    }

    /// Size of the state of users seen so far.
    fn state_bytes(&self) -> usize {
        self.by_user.len() * size_of::<Declared>()
    }
}

impl DeclaredCongestion {
    /// Counts the packet's declaration. Returns its class.
    #[inline]
    fn class(&mut self, packet: &Queued, now: Time) -> Class {
        let Some(declares) = packet.declares else { return self.outside.class() };
        let index = packet.user as usize;
        if index >= self.by_user.len() {
            self.by_user.resize(index + 1, Declared::default());
        }
        self.catch_up(now);
        let own = &mut self.by_user[index];
        if own.period_ends != self.period_ends {
            own.period_ends = self.period_ends;
            self.seen += 1;
        }
        let bytes = if declares { packet.bytes() as f64 } else { 0.0 };
        own.add(bytes, now, self.memory_s);
        self.all.add(bytes, now, self.memory_s);
        let mean = self.all.bytes / f64::from(self.seen_before.max(self.seen));
        if own.bytes <= self.allowed || own.bytes <= mean { Class::First } else { Class::Behind }
    }

    /// Ends the period if it is over. In skipped periods no user was seen.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now < self.period_ends {
            return;
        }
        let is_next = now < self.period_ends + self.memory;
        self.seen_before = if is_next { self.seen } else { 0 };
        self.seen = 0;
        self.period_ends = now + self.memory;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IDLE, packet, place, served};
    use super::*;
    use crate::units::Rate;
    use proptest::prelude::*;

    /// The allowance is 3000 B: 24 kb/s over a second.
    fn queue(room: u32, outside: Outside) -> DeclaredCongestion {
        let params = DeclaredCongestionParams {
            allowance: Some(Rate::from_bps(24_000)),
            memory: Span::from_secs(1),
            outside,
        };
        DeclaredCongestion::new(params, &place(room))
    }

    /// Offers a full packet of a user. Returns the packets dropped for it.
    fn offer(
        queue: &mut DeclaredCongestion,
        (user, handle): (u32, u32),
        declares: Option<bool>,
        ms: u64,
    ) -> Vec<u32> {
        let mut lost = Vec::new();
        let line = TransmitterState { now: Time::ZERO + Span::from_millis(ms), ..IDLE };
        let never = || panic!("draws nothing");
        queue.enqueue(
            Queued { user, declares, ..packet(handle) },
            &line,
            never,
            |packet, reason| {
                assert_eq!(reason, DropReason::Full);
                lost.push(packet.handle);
            },
        );
        lost
    }

    #[test]
    fn a_sender_that_has_declared_more_than_the_allowance_and_the_mean_waits_behind() {
        let mut queue = queue(100, Outside::Behind);
        offer(&mut queue, (1, 9), Some(false), 0);
        for handle in 0..3 {
            offer(&mut queue, (0, handle), Some(true), 0);
        }
        offer(&mut queue, (0, 3), Some(false), 0);
        offer(&mut queue, (1, 4), Some(false), 0);
        // 1500 and 3000 B do not exceed 3000; 4500 does, and exceeds the mean of both, 2250.
        assert_eq!(served(&mut queue), [9, 0, 1, 4, 2, 3]);
    }

    /// The flood has declared 15 kB, and the other 4500: more than the allowance, but less than the mean of 9750.
    #[test]
    fn a_sender_that_loses_by_the_congestion_of_others_does_not_wait_behind_it() {
        let mut queue = queue(100, Outside::Behind);
        (0..10).for_each(|_| assert!(offer(&mut queue, (0, 9), Some(true), 0).is_empty()));
        (0..3).for_each(|_| assert!(offer(&mut queue, (1, 9), Some(true), 0).is_empty()));
        served(&mut queue);
        offer(&mut queue, (0, 0), Some(false), 0);
        offer(&mut queue, (1, 1), Some(false), 0);
        assert_eq!(served(&mut queue), [1, 0]);
    }

    /// A single user equals the mean.
    #[test]
    fn a_sender_that_has_not_been_seen_for_a_period_does_not_lower_the_mean() {
        let mut queue = queue(100, Outside::Behind);
        offer(&mut queue, (1, 9), Some(false), 0);
        for ms in [0, 1_500, 3_000] {
            (0..9).for_each(|_| assert!(offer(&mut queue, (0, 9), Some(true), ms).is_empty()));
            assert_eq!(queue.classes.nothing_is_behind(), ms == 3_000, "at {ms} ms");
            served(&mut queue);
        }
    }

    /// 4500 B are 3000 after ln 1.5 = 405.5 ms.
    #[test]
    fn what_was_declared_is_forgotten_in_time() {
        let mut queue = queue(100, Outside::Behind);
        offer(&mut queue, (1, 9), Some(false), 0);
        for handle in 0..3 {
            offer(&mut queue, (0, handle), Some(true), 0);
        }
        served(&mut queue);
        offer(&mut queue, (0, 3), Some(false), 405);
        offer(&mut queue, (1, 4), Some(false), 405);
        assert_eq!(served(&mut queue), [4, 3]);
        offer(&mut queue, (0, 5), Some(false), 406);
        offer(&mut queue, (1, 6), Some(false), 406);
        assert_eq!(served(&mut queue), [5, 6]);
    }

    #[test]
    fn what_cannot_declare_waits_where_the_scenario_says() {
        for (outside, order) in [(Outside::Behind, [1, 0]), (Outside::First, [0, 1])] {
            let mut queue = queue(100, outside);
            offer(&mut queue, (0, 0), None, 0);
            offer(&mut queue, (1, 1), Some(false), 0);
            assert_eq!(served(&mut queue), order);
        }
    }

    #[test]
    fn without_an_allowance_it_is_a_hundredth_of_the_link() {
        let params = DeclaredCongestionParams {
            allowance: None,
            memory: Span::from_millis(120),
            outside: Outside::Behind,
        };
        // 10 Mb/s: 12.5 kB/s for 0.12 s.
        assert!((DeclaredCongestion::new(params, &place(9)).allowed - 1500.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_unsaid_over_any_number_of_periods(
            steps in prop::collection::vec(
                (0..3u32, prop::option::of(any::<bool>()), 0..4_000u64, any::<bool>()), 1..300,
            ),
        ) {
            let mut queue = queue(5, Outside::Behind);
            let (mut inside, mut ms) = (0i64, 0);
            for (user, declares, gap_ms, depart) in steps {
                ms += gap_ms;
                inside += 1 - offer(&mut queue, (user, 0), declares, ms).len() as i64;
                if depart && super::super::tests::take(&mut queue, Time::ZERO).is_some() {
                    inside -= 1;
                }
                prop_assert_eq!(i64::from(queue.backlog().0), inside);
            }
        }
    }
}
