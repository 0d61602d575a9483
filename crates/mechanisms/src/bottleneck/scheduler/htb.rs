//! Hierarchical token bucket (HTB): each group of users has a committed rate and a ceiling, and borrows what others leave.
//! M. Devera, "HTB Linux queuing discipline manual", 2002; rules as in Linux's `sch_htb.c` and tc-htb(8), with a root of
//! the link's rate and one class below it for each group.
//!
//! A class has a bucket for its rate and one for its ceiling; both count time (tokens), and may be overdrawn by a packet:
//!
//! ```text
//! T ← min(burst / rate, T + t − t_last)       C ← min(burst / ceil, C + t − t_last)
//! green    T ≥ 0 and C ≥ 0    sends by its own rate
//! yellow   T < 0 and C ≥ 0    borrows from the root
//! red      C < 0              waits
//! a packet of L bytes:  C ← C − L / ceil;   if green: T ← T − L / rate
//! ```
//!
//! Backlogged green classes are served first, those of the lowest `prio` first; then yellow ones. Within a level and a
//! priority, classes take turns (DRR) with quanta in the ratio of their rates, so that what is left is shared in the
//! ratio of committed rates. When all backlogged classes are red, the link pauses.
//!
//! Users whose group has no class share one more, with the rate that the others leave and the link's rate as ceiling.
//! The packets of a class leave first come, first served. All share the link's buffer: a full one drops the last packet
//! of the class with the longest queue; in Linux each class has a queue with a limit of its own.
//!
//! Differs from `sch_htb.c`: one level of classes, exact times, and quanta from 1500 B on (Linux: rate / `r2q`).

use super::{About, Capacity, Discipline, Place, Queue, Queued, TransmitterState, Users};
use crate::bottleneck::DropReason;
use crate::parameters;
use crate::parameters::{ParameterError, Tables};
use crate::units::{Bytes, Rate, Span, Time, Whole};

parameters! {
    /// Hierarchical token bucket: a committed rate and a ceiling for each group of users.
    pub struct HtbParams {
        /// Classes, such as [{ users = "office", rate = "6 Mb/s" }, { users = "guests", rate = "1 Mb/s", ceil = "4 Mb/s" }].
        pub classes: Tables<HtbClass> = "[]",
    }
    check consistent;
}

parameters! {
    /// A class of HTB.
    pub struct HtbClass {
        /// Group of users.
        pub users: String,
        /// Rate that the group has in any case.
        pub rate: Rate,
        /// Rate that it never exceeds. Default: that of the link.
        pub ceil: Option<Rate>,
        /// Priority: classes of a lower number are offered what is left first.
        pub prio: Whole<0, 7> = "0",
        /// Bytes that it may send at once above rate and ceiling.
        pub burst: Bytes = "3 kB",
    }
    check ceiling_is_above;
}

fn ceiling_is_above(class: &HtbClass) -> Option<ParameterError> {
    let below = class.ceil.is_some_and(|ceil| ceil < class.rate);
    below.then(|| ("ceil", "is below rate".to_owned()))
}

fn consistent(params: &HtbParams) -> Vec<ParameterError> {
    let classes = &params.classes.0;
    let mut errors = Vec::new();
    if classes.is_empty() {
        errors.push((
            "classes",
            "no class: write [{ users = \"NAME\", rate = \"5 Mb/s\" }]".to_owned(),
        ));
    }
    for (number, class) in classes.iter().enumerate() {
        if classes[..number].iter().any(|other| other.users == class.users) {
            errors.push(("classes", format!("\"{}\" has two classes", class.users)));
        }
    }
    errors
}

/// Least rate of the class for users without one.
const LEAST: Rate = Rate::from_bps(8_000);
/// Quantum of the class with the least rate, bytes.
const QUANTUM: f64 = 1_500.0;

/// All classes; the last is for users without one.
#[derive(Clone, Debug)]
pub struct Htb {
    params: HtbParams,
    capacity: Capacity,
    classes: Vec<Class>,
    /// Class of each customer.
    class_of: Vec<u32>,
    /// Class whose turn it is, by level: green and yellow.
    turns: [usize; 2],
    packets: u32,
    bytes: u64,
    now: Time,
}

#[derive(Clone, Debug)]
struct Class {
    queue: Queue,
    rate: Rate,
    ceil: Rate,
    prio: u32,
    /// Quantum and deficits of its turns, bytes.
    quantum: i64,
    deficits: [i64; 2],
    /// T and C, nanoseconds, and their upper limits.
    tokens: [i64; 2],
    most: [i64; 2],
    last: Time,
}

/// Whose rate a class sends by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Green,
    Yellow,
    Red,
}

impl Class {
    fn new(rate: Rate, ceil: Rate, prio: u32, burst: Bytes) -> Self {
        let most = [rate, ceil].map(|rate| rate.transmission_time(burst).as_nanos() as i64);
        let queue = Queue::default();
        Class {
            queue,
            rate,
            ceil,
            prio,
            quantum: 0,
            deficits: [0; 2],
            tokens: most,
            most,
            last: Time::ZERO,
        }
    }

    fn fill(&mut self, now: Time) {
        let elapsed = now.since(self.last).as_nanos() as i64;
        self.last = self.last.max(now);
        for (tokens, most) in self.tokens.iter_mut().zip(self.most) {
            *tokens = tokens.saturating_add(elapsed).min(most);
        }
    }

    fn mode(&self) -> Mode {
        match self.tokens {
            [_, ceil] if ceil < 0 => Mode::Red,
            [rate, _] if rate < 0 => Mode::Yellow,
            _ => Mode::Green,
        }
    }

    fn takes(rate: Rate, len: u64) -> i64 {
        rate.transmission_time(Bytes::new(len)).as_nanos() as i64
    }
}

impl Discipline for Htb {
    type Params = HtbParams;

    const ABOUT: About = About {
        name: "htb",
        title: "Hierarchical token bucket (HTB)",
        source: "Devera, HTB Linux queuing discipline manual, 2002; Linux sch_htb, tc-htb(8)",
        usage: r#"bottleneck.scheduler = { kind = "htb", classes = [{ users = "NAME", rate = "5 Mb/s", ceil = "8 Mb/s" }] }"#,
        file: "bottleneck/scheduler/htb.rs",
        text: crate::mechanism::source_text!("htb.rs"),
    };

    fn new(params: HtbParams, place: &Place) -> Self {
        let link = place.rate.max(LEAST);
        let committed: u64 = params.classes.0.iter().map(|class| class.rate.as_bps()).sum();
        let rest = Rate::from_bps(link.as_bps().saturating_sub(committed)).max(LEAST);
        let own = |class: &HtbClass| {
            Class::new(
                class.rate,
                class.ceil.unwrap_or(link.max(class.rate)),
                class.prio.0,
                class.burst,
            )
        };
        let mut classes: Vec<_> = params.classes.0.iter().map(own).collect();
        classes.push(Class::new(rest, link.max(rest), 7, Bytes::new(3_000)));
        let least = classes.iter().map(|class| class.rate.as_bps()).min().unwrap_or(1) as f64;
        for class in &mut classes {
            class.quantum = (QUANTUM * class.rate.as_bps() as f64 / least).min(200_000.0) as i64;
        }
        Htb {
            params,
            capacity: place.capacity,
            classes,
            class_of: Vec::new(),
            turns: [0; 2],
            packets: 0,
            bytes: 0,
            now: Time::ZERO,
        }
    }

    fn know(&mut self, users: &Users) {
        let class_of = |group: &u32| {
            let name = &users.groups[*group as usize];
            let own = self.params.classes.0.iter().position(|class| class.users == *name);
            own.unwrap_or(self.classes.len() - 1) as u32
        };
        self.class_of = users.group_of.iter().map(class_of).collect();
    }

    /// While there is no room, the last packet of the longest queue is dropped.
    fn enqueue(
        &mut self,
        packet: Queued,
        line: &TransmitterState,
        _draw: impl FnMut() -> f64,
        mut lose: impl FnMut(Queued, DropReason),
    ) {
        let rest = self.classes.len() - 1;
        let class = self.class_of.get(packet.user as usize).map_or(rest, |class| *class as usize);
        self.packets += 1;
        self.bytes += packet.bytes();
        self.classes[class].queue.push(packet);
        while !self.capacity.fits((self.packets, self.bytes), line, 0, 0) && self.packets > 0 {
            let longest = self.classes.iter_mut().max_by_key(|class| class.queue.bytes());
            let lost = longest.and_then(|class| class.queue.pop_last()).expect("something waits");
            self.packets -= 1;
            self.bytes -= lost.bytes();
            lose(lost, DropReason::Full);
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        _draw: impl FnMut() -> f64,
        _lose: impl FnMut(Queued, DropReason),
    ) -> Option<Queued> {
        self.now = now;
        self.classes.iter_mut().for_each(|class| class.fill(now));
        let (class, level) = self.next_class()?;
        let own = &mut self.classes[class];
        let packet = own.queue.pop().expect("it is backlogged");
        let len = packet.bytes();
        own.deficits[level] -= len as i64;
        own.tokens[1] -= Class::takes(own.ceil, len);
        if level == 0 {
            own.tokens[0] -= Class::takes(own.rate, len);
        }
        self.packets -= 1;
        self.bytes -= len;
        Some(packet)
    }

    /// The first time at which a backlogged class is no longer red.
    fn next_at(&self) -> Option<Time> {
        let backlogged = self.classes.iter().filter(|class| !class.queue.is_empty());
        let waits =
            backlogged.map(|class| class.last + Span::from_nanos((-class.tokens[1]).max(1) as u64));
        waits.min()
    }

    fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    fn state_bytes(&self) -> usize {
        self.classes.len() * size_of::<Class>() + self.class_of.len() * size_of::<u32>()
    }
}

impl Htb {
    /// Chooses the class to serve, and its level: 0 by its own rate, 1 by what others leave.
    fn next_class(&mut self) -> Option<(usize, usize)> {
        for (level, mode) in [Mode::Green, Mode::Yellow].into_iter().enumerate() {
            let serves = |class: &Class| !class.queue.is_empty() && class.mode() == mode;
            let first =
                self.classes.iter().filter(|class| serves(class)).map(|class| class.prio).min();
            let Some(prio) = first else { continue };
            loop {
                let turn = self.turns[level];
                let class = &mut self.classes[turn];
                if serves(class) && class.prio == prio {
                    if class.deficits[level] > 0 {
                        return Some((turn, level));
                    }
                    class.deficits[level] += class.quantum;
                } else if class.queue.is_empty() {
                    class.deficits[level] = 0;
                }
                self.turns[level] = (turn + 1) % self.classes.len();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IDLE, packet, place};
    use super::*;

    const MBPS: fn(u64) -> Rate = Rate::mbps;

    fn class(users: &str, rate: u64, ceil: Option<u64>, prio: u32) -> HtbClass {
        let (rate, ceil) = (MBPS(rate), ceil.map(MBPS));
        HtbClass {
            users: users.to_owned(),
            rate,
            ceil,
            prio: Whole(prio),
            burst: Bytes::new(3_000),
        }
    }

    /// Serves backlogged groups on 10 Mb/s for 10 s. Returns what each sends, Mb/s.
    fn rates(classes: Vec<HtbClass>, groups: &[&str], backlogged: &[bool]) -> Vec<f64> {
        let mut htb = Htb::new(HtbParams { classes: Tables(classes) }, &place(u32::MAX));
        let number = groups.len() as u32;
        htb.know(&Users {
            groups: groups.iter().map(|name| (*name).to_owned()).collect(),
            group_of: (0..number).collect(),
            ..Users::default()
        });
        for handle in 0..10_000 * number {
            let user = handle % number;
            if backlogged[user as usize] {
                htb.enqueue(
                    Queued { user, ..packet(handle) },
                    &IDLE,
                    || 0.0,
                    |_, _| panic!("fits"),
                );
            }
        }
        let (mut now, mut bits) = (Time::ZERO, vec![0.0; groups.len()]);
        let end = Time::ZERO + Span::from_secs(10);
        while now < end {
            match htb.dequeue(now, || 0.0, |_, _| panic!("drops nothing")) {
                Some(packet) => {
                    bits[packet.user as usize] += 8.0 * packet.bytes() as f64;
                    now += MBPS(10).transmission_time(Bytes::new(packet.bytes()));
                }
                None => now = htb.next_at().expect("something waits"),
            }
        }
        bits.iter().map(|bits| bits / 10e6).collect()
    }

    fn assert_near(got: &[f64], want: &[f64]) {
        let apart = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 0.03, "{got:?}, {want:?} Mb/s");
    }

    #[test]
    fn each_group_has_its_committed_rate_and_the_rest_by_their_ratio() {
        let classes = || vec![class("a", 6, None, 0), class("b", 2, None, 0)];
        // 2 Mb/s are left, which the class of the others commits.
        assert_near(&rates(classes(), &["a", "b", "c"], &[true; 3]), &[6.0, 2.0, 2.0]);
        assert_near(&rates(classes(), &["a", "b"], &[true; 2]), &[7.5, 2.5]);
        assert_near(&rates(classes(), &["a", "b"], &[false, true]), &[0.0, 10.0]);
    }

    #[test]
    fn nobody_exceeds_a_ceiling() {
        let classes = || vec![class("a", 1, Some(4), 0), class("b", 2, Some(3), 0)];
        assert_near(&rates(classes(), &["a", "b"], &[true; 2]), &[4.0, 3.0]);
        assert_near(&rates(classes(), &["a", "b"], &[true, false]), &[4.0, 0.0]);
    }

    #[test]
    fn a_lower_priority_number_borrows_first() {
        let classes = vec![class("a", 2, None, 1), class("b", 3, None, 0)];
        assert_near(&rates(classes, &["a", "b"], &[true; 2]), &[2.0, 8.0]);
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        assert_eq!(ceiling_is_above(&class("a", 4, Some(3), 0)).map(|(key, _)| key), Some("ceil"));
        let twice = HtbParams { classes: Tables(vec![class("a", 1, None, 0); 2]) };
        assert_eq!(consistent(&twice).len(), 1);
        assert_eq!(consistent(&HtbParams { classes: Tables(vec![]) }).len(), 1);
    }
}
