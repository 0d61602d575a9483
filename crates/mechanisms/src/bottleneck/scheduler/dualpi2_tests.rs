use proptest::prelude::*;

use super::super::tests::{IDLE, packet, place};
use super::*;

/// RFC 9332, figure 2.
const PARAMS: DualPi2Params = DualPi2Params {
    target: Span::from_millis(15),
    max_rtt: Span::from_millis(100),
    coupling: 2,
    ramp_start: Span::from_micros(800),
    ramp_range: Span::from_micros(400),
    min_packets: 2,
    classic_share: Share(0.1),
};

fn dual() -> DualPi2 {
    DualPi2::new(PARAMS, &place(100_000))
}

/// Returns the packet that leaves, and the number of packets dropped before it.
fn take(dual: &mut DualPi2, now: Time) -> (Option<Queued>, u32) {
    let mut lost = 0;
    let never = || panic!("draws nothing");
    let packet = dual.dequeue(now, never, |_, loss| {
        assert_eq!(loss, DropReason::Aqm);
        lost += 1;
    });
    (packet, lost)
}

fn at(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

fn classic(handle: u32, us: u64) -> Queued {
    Queued { arrived: at(us), ..packet(handle) }
}

fn scalable(handle: u32, us: u64) -> Queued {
    Queued { scalable: true, may_mark: true, ..classic(handle, us) }
}

fn offer(dual: &mut DualPi2, packet: Queued) -> usize {
    let mut lost = 0;
    let never = || panic!("draws nothing");
    dual.enqueue(packet, &TransmitterState { now: packet.arrived, ..IDLE }, never, |_, loss| {
        assert_eq!(loss, DropReason::Full);
        lost += 1;
    });
    lost
}

/// RFC 9332, figure 2: T = 15 ms, α = 0.15 Hz, β = 3 Hz. Linux rounds them to 16 ms, 0.16 and 3.2.
#[test]
fn the_gains_follow_from_the_target_and_the_largest_round_trip() {
    let params = PARAMS;
    assert_eq!(params.update_interval(), Span::from_millis(15));
    assert!((params.alpha_hz() - 0.15).abs() < 1e-12);
    assert!((params.beta_hz() - 3.0).abs() < 1e-12);
    let near = DualPi2Params { max_rtt: Span::from_millis(30), ..params };
    assert_eq!(near.update_interval(), Span::from_millis(10), "a third of it");
}

/// By hand: a packet waits from 0 on. q = 15, 30, 45, then 0 when it has left.
#[test]
fn the_controller_follows_its_equation() {
    let mut dual = dual();
    offer(&mut dual, classic(1, 0));
    let mut p = 0.0;
    for (ms, q_s, prev_s) in [(15, 0.015, 0.0), (30, 0.030, 0.015), (45, 0.045, 0.030)] {
        dual.catch_up(at(1000 * ms));
        p += 0.15 * (q_s - 0.015) + 3.0 * (q_s - prev_s);
        assert!(
            (dual.controller.base() - p).abs() < 1e-12,
            "{} at {ms} ms, expected {p}",
            dual.controller.base()
        );
    }
    assert!((p - 0.141_75).abs() < 1e-12);
    assert!((dual.classic_probability() - p * p).abs() < 1e-12);
    assert!((dual.coupled_probability() - 2.0 * p).abs() < 1e-12);
    assert_eq!(take(&mut dual, at(50_000)).1, 0, "one in 1/p² is lost, not the first");
    dual.catch_up(at(60_000));
    p += 0.15 * (0.0 - 0.015) + 3.0 * (0.0 - 0.045);
    assert!((dual.controller.base() - p).abs() < 1e-12);
}

/// Skipped updates are made up for, and a very long silence takes no computing time.
#[test]
fn a_silence_ends_all_signals() {
    let mut dual = dual();
    dual.controller.set_base(0.4);
    offer(&mut dual, classic(1, 1_000));
    take(&mut dual, at(2_000));
    let before = dual.controller.base();
    dual.catch_up(at(32_000));
    assert!((dual.controller.base() - (before - 2.0 * 0.15 * 0.015)).abs() < 1e-12);
    dual.catch_up(Time::from_nanos(3_600_000_000_000_000));
    assert_eq!(dual.controller.base(), 0.0);
    let late = dual.next_update.since(Time::from_nanos(3_600_000_000_000_000));
    assert!(late > Span::ZERO && late <= Span::from_millis(15));
    assert_eq!(dual.next_update.as_nanos() % 15_000_000, 0, "in step with the clock as before");
}

#[test]
fn the_ramp_marks_from_800_to_1200_us_if_more_than_a_packet_is_left() {
    let dual = dual();
    for (us, want) in [(0, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1199, 0.9975), (1200, 1.0)]
    {
        assert!((dual.ramp(Span::from_micros(us)) - want).abs() < 1e-12, "{us} µs");
    }
    for (left, want) in [(0, 0), (1, 0), (2, 10)] {
        let mut marks = 0;
        let mut dual = super::DualPi2::new(PARAMS, &place(100_000));
        dual.scalable.signals = Signals::Spaced(1.0);
        for round in 0..10 {
            for handle in 0..=left {
                offer(&mut dual, scalable(handle, 5_000 * round));
            }
            let first = take(&mut dual, at(5_000 * round + 2_000)).0.expect("waits");
            marks += u32::from(first.marked);
            dual.scalable.queue = Queue::default();
        }
        assert_eq!(marks, want, "{left} left");
    }
}

fn linux(min_packets: u32) -> DualPi2 {
    let ramp_start = Span::from_millis(1);
    let params = DualPi2Params { ramp_start, ramp_range: Span::ZERO, min_packets, ..PARAMS };
    DualPi2::new(params, &place(100_000))
}

/// Four packets come at once and leave after 2 ms: those are marked that found enough others (`sch_dualpi2.c`).
#[test]
fn the_step_of_linux_marks_what_found_enough_packets_in_its_queue() {
    for (min_packets, want) in
        [(0, [true; 4]), (1, [false, true, true, true]), (2, [false, false, true, true])]
    {
        let mut dual = linux(min_packets);
        for handle in 0..4 {
            offer(&mut dual, scalable(handle, 0));
        }
        let marked = |dual: &mut DualPi2| {
            dual.dequeue(at(2_000), || 0.999, |_, _| ()).expect("waits").marked
        };
        assert_eq!([(); 4].map(|()| marked(&mut dual)), want, "from {min_packets} packets on");
    }
    let mut dual = linux(0);
    offer(&mut dual, scalable(1, 0));
    assert!(!dual.dequeue(at(999), || 0.999, |_, _| ()).expect("waits").marked, "before 1 ms");
}

/// At p′ = 0.2, draws of 0.03 and 0.3 are below p_C = 0.04 and p_CL = 0.4 and those above are not; the last two packets
/// are spared.
#[test]
fn the_signals_of_linux_are_drawn_and_spare_the_last_two_packets() {
    for (draw, of_scalable, signalled) in
        [(0.03, false, true), (0.05, false, false), (0.39, true, true), (0.41, true, false)]
    {
        let mut dual = linux(2);
        dual.controller.set_base(0.2);
        dual.next_update = Time::NEVER;
        for handle in 0..10 {
            let one = if of_scalable { scalable(handle, 0) } else { classic(handle, 0) };
            offer(&mut dual, Queued { may_mark: true, ..one });
        }
        let marks: Vec<bool> = (0..10)
            .map(|_| dual.dequeue(at(1), || draw, |_, _| ()).expect("waits").marked)
            .collect();
        let want: Vec<bool> = (0..10).map(|left| signalled && left < 8).collect();
        assert_eq!(marks, want, "{draw}");
    }
}

/// Of 1000 packets each at p′ = 0.2: 40 are dropped in C, or marked if ECN-capable, and 400 marked in L.
#[test]
fn signals_come_as_often_as_their_probability_says() {
    for (kind, want_lost, want_marked) in [("classic", 40, 0), ("ecn", 0, 40), ("scalable", 0, 400)]
    {
        let mut dual = dual();
        dual.controller.set_base(0.2);
        dual.next_update = Time::NEVER;
        let (mut lost, mut marked) = (0, 0);
        for handle in 0..1000 {
            let packet = match kind {
                "classic" => classic(handle, 0),
                "ecn" => Queued { may_mark: true, ..classic(handle, 0) },
                _ => scalable(handle, 0),
            };
            offer(&mut dual, packet);
            let (out, now_lost) = take(&mut dual, Time::ZERO);
            lost += now_lost as i32;
            marked += i32::from(out.is_some_and(|packet| packet.marked));
        }
        assert!((want_lost - 1..=want_lost).contains(&lost), "{kind}: {lost} lost");
        assert!((want_marked - 1..=want_marked).contains(&marked), "{kind}: {marked} marked");
    }
}

/// RFC 9332, appendix A.2: from p_CL = 1 on both queues drop with p_C, ECN or not.
#[test]
fn under_overload_marks_yield_to_drops() {
    for (base, drops) in [(0.499, false), (0.5, true), (0.7, true)] {
        for scalable_packets in [false, true] {
            let mut dual = dual();
            dual.controller.set_base(base);
            dual.next_update = Time::NEVER;
            let (mut lost, mut marked) = (0.0, 0.0);
            for handle in 0..1000 {
                let packet = Queued { may_mark: true, ..scalable(handle, 0) };
                offer(&mut dual, Queued { scalable: scalable_packets, ..packet });
                let (out, now_lost) = take(&mut dual, Time::ZERO);
                lost += f64::from(now_lost);
                marked += f64::from(u8::from(out.is_some_and(|packet| packet.marked)));
            }
            let want = if drops { 1000.0 * base * base } else { 0.0 };
            assert!((lost - want).abs() <= 1.0, "p′ = {base}: {lost} lost");
            assert_eq!(marked > 0.0, scalable_packets || !drops, "p′ = {base}");
        }
    }
}

/// While both have packets, C has a tenth of the link; alone, each has all of it.
#[test]
fn the_classic_queue_has_its_share_beside_a_busy_other() {
    let mut dual = dual();
    dual.next_update = Time::NEVER;
    for handle in 0..1000 {
        offer(&mut dual, classic(handle, 0));
        offer(&mut dual, scalable(handle, 0));
    }
    let sent = |dual: &mut DualPi2, packets| {
        let of_classic = |_| u32::from(!take(dual, Time::ZERO).0.unwrap().scalable);
        (0..packets).map(of_classic).sum::<u32>()
    };
    assert_eq!(sent(&mut dual, 1), 0, "the low delay comes first");
    assert!((99..=101).contains(&sent(&mut dual, 1000)));
    let left = dual.scalable.queue.len();
    sent(&mut dual, left + left / 9);
    assert!(dual.scalable.queue.len() <= 1);
    assert!(sent(&mut dual, 100) >= 99);
}

/// Pseudo-code of RFC 9332, appendix A, line by line, with lists for queues and seconds for times. Additions: the
/// choice of the queue, which the RFC leaves open, and a separate count for drops from L, beside one for marks with a
/// p_CL of at most 1.
struct Oracle {
    lq: Vec<Queued>,
    cq: Vec<Queued>,
    counts: [f64; 3],
    p: f64,
    prevq: f64,
    credit: f64,
}

impl Oracle {
    const K: f64 = 2.0;
    const P_CMAX: f64 = 0.25;

    fn time(queue: &[Queued], now: Time) -> f64 {
        queue.first().map_or(0.0, |packet| now.since(packet.arrived).as_secs())
    }

    fn update(&mut self, now: Time) {
        let curq = Self::time(&self.cq, now).max(Self::time(&self.lq, now));
        self.p += 0.15 * (curq - 0.015) + 3.0 * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq = curq;
    }

    fn recur(&mut self, queue: usize, likelihood: f64) -> bool {
        self.counts[queue] += likelihood;
        if self.counts[queue] > 1.0 {
            self.counts[queue] -= 1.0;
            return true;
        }
        false
    }

    fn laqm(qdelay: f64) -> f64 {
        if qdelay >= 0.0012 - 1e-15 {
            1.0
        } else if qdelay > 0.0008 {
            (qdelay - 0.0008) / 0.0004
        } else {
            0.0
        }
    }

    /// Returns the handle and mark of the departing packet, and the handles of packets dropped before it.
    fn dequeue(&mut self, now: Time) -> (Option<(u32, bool)>, Vec<u32>) {
        let mut dropped = Vec::new();
        while self.lq.len() + self.cq.len() > 0 {
            let (p_cl, p_c) = (Self::K * self.p, self.p * self.p);
            let scheduled = !self.lq.is_empty() && (self.cq.is_empty() || self.credit <= 0.0);
            let (packet, mark);
            if scheduled {
                let qdelay = Self::time(&self.lq, now);
                packet = self.lq.remove(0);
                if p_cl < 1.0 {
                    let native = if self.lq.len() > 1 { Self::laqm(qdelay) } else { 0.0 };
                    mark = self.recur(0, native.max(p_cl));
                } else {
                    if self.recur(2, p_c) {
                        dropped.push(packet.handle);
                        continue;
                    }
                    mark = self.recur(0, p_cl.min(1.0));
                }
                self.credit += if self.cq.is_empty() { 0.0 } else { 0.1 * packet.len as f64 };
            } else {
                packet = self.cq.remove(0);
                let signal = self.recur(1, p_c);
                if signal && (!packet.may_mark || p_c >= Self::P_CMAX) {
                    dropped.push(packet.handle);
                    continue;
                }
                mark = signal;
                self.credit -= if self.lq.is_empty() { 0.0 } else { 0.9 * packet.len as f64 };
            }
            return (Some((packet.handle, mark)), dropped);
        }
        self.credit = 1500.0 * (0.1 - 0.9);
        (None, dropped)
    }
}

proptest! {
    /// The same arrivals have the same outcomes. Bursts and slow service drive p′ up to overload and back.
    #[test]
    fn packets_meet_the_fate_that_the_rfcs_pseudocode_has_for_them(
        steps in prop::collection::vec(
            (0..6_000u64, 0..10u8, any::<bool>(), 64u32..=1500), 200..1200,
        ),
    ) {
        let mut dual = dual();
        let mut oracle = Oracle {
            lq: Vec::new(), cq: Vec::new(), counts: [0.0; 3], p: 0.0, prevq: 0.0, credit: -1200.0,
        };
        let (mut now, mut update) = (Time::ZERO, at(15_000));
        for (handle, (gap_us, kind, leaves, len)) in steps.into_iter().enumerate() {
            now += Span::from_micros(gap_us);
            while update <= now {
                oracle.update(update);
                update += Span::from_millis(15);
            }
            let base = Queued { len, arrived: now, ..packet(handle as u32) };
            let packet = match kind {
                0..=3 => base,
                4..=5 => Queued { may_mark: true, ..base },
                _ => Queued { may_mark: true, scalable: true, ..base },
            };
            let queue = if kind > 5 { &mut oracle.lq } else { &mut oracle.cq };
            queue.push(packet);
            offer(&mut dual, packet);
            if leaves {
                let mut dropped = Vec::new();
                let out = dual.dequeue(now, || 0.0, |packet, _| dropped.push(packet.handle));
                let got = (out.map(|packet| (packet.handle, packet.marked)), dropped);
                prop_assert_eq!(got, oracle.dequeue(now));
                prop_assert!((dual.controller.base() - oracle.p).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn nothing_is_lost_unsaid_and_the_room_is_kept(
        steps in prop::collection::vec((0..20_000u64, any::<bool>(), any::<bool>()), 1..300),
    ) {
        let mut dual = DualPi2::new(PARAMS, &place(8));
        let (mut now, mut inside) = (0, 0i64);
        for (handle, (gap_us, is_scalable, leaves)) in steps.into_iter().enumerate() {
            now += gap_us;
            let packet = if is_scalable { scalable } else { classic }(handle as u32, now);
            inside += 1 - offer(&mut dual, packet) as i64;
            if leaves {
                let (out, lost) = take(&mut dual, at(now));
                inside -= i64::from(out.is_some()) + i64::from(lost);
            }
            prop_assert_eq!(i64::from(dual.backlog().0), inside);
            prop_assert!(inside <= 8);
        }
    }
}
