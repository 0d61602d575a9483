use super::*;
use crate::bottleneck::tests::Lcg;
use proptest::prelude::*;
use std::collections::VecDeque;

const MTU: u64 = 1500;
const RULES: CodelRules = CodelRules {
    target: Span::from_millis(5),
    interval: Span::from_millis(100),
    max_packet: Bytes::new(MTU),
    arithmetic: CodelArithmetic::Rfc,
};

/// Waiting packet: number, length, arrival time in ns.
type Packet = (u32, u64, u64);

/// From RFC 8289, section 5: one function for each of the RFC's, with its names and order. `time_t` is an integer in
/// both, here of nanoseconds; `maxpacket_` is the MTU.
#[derive(Default)]
struct PseudoCode {
    queue: VecDeque<Packet>,
    dropped: Vec<u32>,
    first_above_time_: u64,
    drop_next_: u64,
    count_: u32,
    lastcount_: u32,
    dropping_: bool,
}

impl PseudoCode {
    const TARGET: u64 = 5_000_000;
    const INTERVAL: u64 = 100_000_000;

    fn control_law(t: u64, count: u32) -> u64 {
        (t as f64 + Self::INTERVAL as f64 / f64::from(count).sqrt()) as u64
    }

    fn dodequeue(&mut self, now: u64) -> (Option<Packet>, bool) {
        let Some(packet) = self.queue.pop_front() else {
            self.first_above_time_ = 0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        let sojourn_time = now - packet.2;
        let bytes: u64 = self.queue.iter().map(|packet| packet.1).sum();
        if sojourn_time < Self::TARGET || bytes <= MTU {
            self.first_above_time_ = 0;
        } else if self.first_above_time_ == 0 {
            self.first_above_time_ = now + Self::INTERVAL;
        } else if now >= self.first_above_time_ {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    fn deque(&mut self, now: u64) -> Option<Packet> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping_ {
            if !ok_to_drop {
                self.dropping_ = false;
            }
            while now >= self.drop_next_ && self.dropping_ {
                self.dropped.extend(packet.map(|packet| packet.0));
                self.count_ += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if !ok_to_drop {
                    self.dropping_ = false;
                } else {
                    self.drop_next_ = Self::control_law(self.drop_next_, self.count_);
                }
            }
        } else if ok_to_drop {
            self.dropped.extend(packet.map(|packet| packet.0));
            (packet, _) = self.dodequeue(now);
            self.dropping_ = true;
            let delta = self.count_ - self.lastcount_;
            self.count_ = 1;
            if delta > 1 && now as i64 - (self.drop_next_ as i64) < 16 * Self::INTERVAL as i64 {
                self.count_ = delta;
            }
            self.drop_next_ = Self::control_law(now, self.count_);
            self.lastcount_ = self.count_;
        }
        packet
    }
}

/// A queue with CoDel at its head.
#[derive(Default)]
struct Queue {
    codel: CodelState,
    waiting: VecDeque<Packet>,
    dropped: Vec<u32>,
    marked: Vec<u32>,
    marks: bool,
}

impl Queue {
    fn dequeue(&mut self, now: Time) -> Option<Packet> {
        let Queue { codel, waiting, dropped, marked, marks } = self;
        let pop = || {
            let packet = waiting.pop_front()?;
            let sojourn = now - Time::from_nanos(packet.2);
            let backlog_bytes = waiting.iter().map(|packet| packet.1).sum();
            let backlog_packets = waiting.len() as u32;
            Some(Head { packet, sojourn, backlog_packets, backlog_bytes })
        };
        codel.dequeue(&RULES, now, pop, |packet| {
            let list = if *marks { &mut *marked } else { &mut *dropped };
            list.push(packet.0);
            marks.then_some(packet)
        })
    }
}

/// Arrivals and departures, in ns: the load is between a half and twice the link's rate and changes every second; the
/// link sends 1500 B in 1.2 ms.
fn drive(seed: u64, packets: u32, mut on_event: impl FnMut(u64, Option<Packet>)) {
    let mut lcg = Lcg(seed);
    let (mut arrival, mut departure, mut load, mut until) = (0, 1_200_000, 1.0, 0);
    for number in 0..packets {
        if arrival >= until {
            load = 0.5 + 1.5 * lcg.draw();
            until = arrival + 1_000_000_000;
        }
        arrival += (2.0 * lcg.draw() * 1_200_000.0 / load) as u64 + 1;
        while departure <= arrival {
            on_event(departure, None);
            departure += 1_200_000;
        }
        let len = if lcg.draw() < 0.2 { 64 } else { MTU };
        on_event(arrival, Some((number, len, arrival)));
    }
}

#[test]
fn deliveries_and_drops_are_those_of_the_pseudo_code_on_random_traces() {
    let (mut drops, mut resumed) = (0, 0);
    for seed in 1..=20 {
        let (mut ours, mut rfc) = (Queue::default(), PseudoCode::default());
        drive(seed, 50_000, |now_ns, arrives| {
            if let Some(packet) = arrives {
                ours.waiting.push_back(packet);
                rfc.queue.push_back(packet);
                return;
            }
            let (got, want) = (ours.dequeue(Time::from_nanos(now_ns)), rfc.deque(now_ns));
            assert_eq!(got, want, "seed {seed}, {now_ns} ns");
            resumed += u32::from(ours.codel.last_count > 1);
        });
        assert_eq!(ours.dropped, rfc.dropped, "seed {seed}");
        drops += ours.dropped.len();
    }
    // The traces cover the relevant cases, including restarts at a count above one.
    assert!(drops > 10_000 && resumed > 10_000, "{drops} drops, {resumed} resumed");
}

/// A queue with a constant delay of 20 ms, sampled every millisecond: the n-th signal comes 100 ms/√(n − 1) after the
/// previous, the first one an interval after the delay has exceeded 5 ms.
fn times_of_signals_in_a_standing_queue(marks: bool, ms: u64) -> Vec<u64> {
    let mut queue = Queue { marks, ..Queue::default() };
    let mut times = Vec::new();
    for now_ms in 20..ms {
        // As many packets arrived 20 ms ago as are taken now.
        let arrived = (now_ms - 20) * 1_000_000;
        queue.waiting = (0..20).map(|n| (n, MTU, arrived)).collect();
        let before = queue.dropped.len() + queue.marked.len();
        queue.dequeue(Time::from_nanos(now_ms * 1_000_000));
        let signals = queue.dropped.len() + queue.marked.len() - before;
        times.extend(std::iter::repeat_n(now_ms, signals));
    }
    times
}

/// 20 + 100 = 120 ms, then + 100, + 100/√2 = 70.7, + 57.7, + 50, + 44.7 ms, seen at the next whole ms.
#[test]
fn signals_come_closer_by_the_square_root_of_their_number() {
    let times = times_of_signals_in_a_standing_queue(false, 460);
    assert_eq!(times, [120, 220, 291, 349, 399, 444]);
    assert_eq!(times_of_signals_in_a_standing_queue(true, 460), times);
}

#[test]
fn a_mark_lets_the_packet_go_and_a_drop_sends_the_next_one() {
    for (marks, sent) in [(true, 0), (false, 1)] {
        let mut queue = Queue { marks, ..Queue::default() };
        queue.waiting = (0..20).map(|n| (n, MTU, 0)).collect();
        queue.codel.ok_from = Some(Time::ZERO);
        let packet = queue.dequeue(Time::from_nanos(200_000_000)).expect("twenty wait");
        assert_eq!(packet.0, sent);
        assert_eq!((queue.marked.len(), queue.dropped.len()), (usize::from(marks), sent as usize));
    }
}

#[test]
fn the_last_packets_are_never_dropped_however_long_they_have_waited() {
    let mut queue = Queue::default();
    for now_ms in (0..10_000).step_by(10) {
        queue.waiting = VecDeque::from([(0, MTU, 0), (1, MTU, 0)]);
        assert_eq!(queue.dequeue(Time::from_nanos(now_ms * 1_000_000)), Some((0, MTU, 0)));
    }
    assert!(queue.dropped.is_empty());
}

#[test]
fn a_short_delay_in_between_starts_the_interval_again() {
    let mut queue = Queue::default();
    for now_ms in 20..1_000 {
        let waited = if now_ms % 90 == 0 { 4 } else { 20 };
        let arrived = (now_ms - waited) * 1_000_000;
        queue.waiting = (0..20).map(|n| (n, MTU, arrived)).collect();
        queue.dequeue(Time::from_nanos(now_ms * 1_000_000));
    }
    assert!(queue.dropped.is_empty(), "{} drops", queue.dropped.len());
}

proptest! {
    /// Each packet leaves once, sent or dropped, in order.
    #[test]
    fn every_packet_is_sent_or_dropped_once(seed: u64, marks: bool) {
        let mut queue = Queue { marks, ..Queue::default() };
        let (mut sent, mut arrived) = (Vec::new(), 0);
        drive(seed, 2_000, |now_ns, arrives| match arrives {
            Some(packet) => {
                arrived += 1;
                queue.waiting.push_back(packet);
            }
            None => sent.extend(queue.dequeue(Time::from_nanos(now_ns)).map(|packet| packet.0)),
        });
        prop_assert!(sent.is_sorted() && queue.dropped.is_sorted());
        let mut all: Vec<u32> = sent.into_iter().chain(queue.dropped).collect();
        all.extend(queue.waiting.iter().map(|packet| packet.0));
        all.sort_unstable();
        prop_assert_eq!(all, (0..arrived).collect::<Vec<u32>>());
    }
}

/// Linux's iteration by hand: 1, then (3 − 2 · 1²)/2 = 0.5, 0.5 (3 − 3 · 0.5²)/2 = 0.5625, and so on.
#[test]
fn linux_takes_one_newton_step_for_each_count() {
    let rules = CodelRules { arithmetic: CodelArithmetic::Linux, ..RULES };
    let mut codel = CodelState::default();
    let pauses = (1..=6).map(|count| {
        codel.count_to(count);
        codel.pause(&rules).as_secs() * 1e3
    });
    let by_hand = [100.0, 50.0, 56.25, 48.78, 44.15, 40.41];
    for (count, (pause_ms, want)) in (1..).zip(pauses.zip(by_hand)) {
        assert!((pause_ms - want).abs() < 0.02, "count {count}: {pause_ms} ms, by hand {want} ms");
    }
}

/// For any sequence of counts, the iteration stays near the root.
#[test]
fn linux_comes_near_the_square_root() {
    let linux = CodelRules { arithmetic: CodelArithmetic::Linux, ..RULES };
    let mut codel = CodelState::default();
    for count in 1..10_000 {
        codel.count_to(count);
        let (approximate, exact) = (codel.pause(&linux).as_secs(), codel.pause(&RULES).as_secs());
        let bound = if count < 6 { 0.3 } else { 0.011 };
        assert!((approximate / exact - 1.0).abs() < bound, "count {count}: {approximate}, {exact}");
    }
}
