use super::*;
use crate::bottleneck::scheduler::tests::place;
use crate::bottleneck::{
    Aqm, AqmParams, Head, Pc3Params, SbrmPrice, SbrmQueueParams, VirtualQueueParams,
};
use crate::units::{Factor, Rate, Share};

/// A link that sends 12 packets of 1000 bytes per ms.
fn here() -> Place {
    let (rate, packet) = (Rate::mbps(96), Bytes::new(1000));
    Place { rate, packet, price_encoding: Some(Encoding::Explicit), ..place(300) }
}

const PC3: Rule = Rule::Pc3 { alpha: 0.1, target: QueueLength::Packets(2), weight: 0.9 };

/// A price, and the state of its queue.
struct Queue {
    price: SampledPrice,
    waits: (u32, u64),
}

fn priced(rule: Rule, gamma: f64) -> Queue {
    let price = SampledPrice::new(rule, gamma, Span::from_millis(1), &here()).expect("fits");
    Queue { price, waits: (0, 0) }
}

fn us(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

impl Queue {
    /// Lets `count` packets arrive together and find `waiting` packets.
    fn arrive(&mut self, at: Time, count: u32, waiting: u32) {
        for n in waiting..waiting + count {
            self.look(at, n + 1);
            self.price.on_arrival(at, Bytes::new(1000));
        }
    }

    /// Sets the number of waiting packets from now on; it was constant before.
    fn look(&mut self, now: Time, packets: u32) {
        let waits = self.waits;
        self.price.catch_up(now, |_| waits);
        self.waits = (packets, u64::from(packets) * 1000);
    }
}

/// Ten samples by hand: 20, 16, 12 arrivals, then none, of which twelve leave per sample.
#[test]
fn each_rule_follows_its_equation_over_ten_samples_without_a_timer() {
    let arrivals = [20.0, 16.0, 12.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let backlogs = [8.0, 12.0, 12.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let target = QueueLength::Packets(2);
    for rule in [Rule::Pc1 { weight: 0.9 }, Rule::Pc2 { target }, PC3] {
        let mut price = priced(rule, 0.25);
        price.arrive(us(0), 20, 0);
        price.look(us(990), 8);
        price.arrive(us(1_100), 16, 8);
        price.look(us(1_990), 12);
        price.arrive(us(2_100), 12, 12);
        price.look(us(2_990), 12);
        price.look(us(3_990), 0);
        // Nothing happens until the end of the tenth sample.
        price.look(us(10_000), 0);
        let (mut y, mut lambda): (f64, f64) = (0.0, 0.0);
        for (arrived, b) in arrivals.into_iter().zip(backlogs) {
            y = 0.1 * y + 0.9 * arrived;
            lambda = match rule {
                Rule::Pc1 { .. } => lambda + 0.25 * (y - 12.0),
                Rule::Pc2 { .. } => 0.25 * (b - 2.0),
                Rule::Pc3 { .. } => lambda + 0.25 * (0.1 * (b - 2.0) + y - 12.0),
            }
            .max(0.0);
        }
        assert!(
            (price.price.get() - lambda).abs() < 1e-12,
            "{rule:?}: {} for {lambda}",
            price.price.get()
        );
    }
}

/// The samples skipped in an idle time would have changed only ŷ.
#[test]
fn a_long_silence_is_as_many_samples() {
    let mut price = priced(PC3, 0.001);
    price.arrive(us(0), 30, 0);
    price.look(us(2_500), 0);
    price.arrive(us(3_600_000_000), 1, 0);
    assert_eq!(price.price.get(), 0.0);
    assert!(price.price.rate < 1e-200 && price.price.next_sample == us(3_600_001_000));
}

/// While the price stays above 0, the rule relates averages over n samples: b̄ = b₀ + ((1 − u) c + (λ_end − λ_begin)/(γ
/// n))/α with u c the mean of ŷ.
#[test]
fn pc3_keeps_its_books() {
    let mut price = priced(PC3, 0.001);
    price.arrive(us(0), 200, 0);
    price.look(us(1_000), 188);
    let (begin, mut sum_b, mut sum_y, mut n) = (price.price.get(), 0.0, 0.0, 0.0);
    let mut backlog = 188u32;
    for ms in 1..500u64 {
        let count = [9, 12, 14][ms as usize % 3];
        price.arrive(us(1_000 * ms + 10), count, backlog);
        backlog = (backlog + count).saturating_sub(12);
        price.look(us(1_000 * ms + 990), backlog);
        price.look(us(1_000 * (ms + 1)), backlog);
        assert!(price.price.get() > 0.0);
        (sum_b, sum_y, n) = (sum_b + f64::from(backlog), sum_y + price.price.rate, n + 1.0);
    }
    let (gamma, alpha) = (0.001, 0.1);
    let want = 2.0 + ((12.0 - sum_y / n) + (price.price.get() - begin) / (gamma * n)) / alpha;
    assert!((sum_b / n - want).abs() < 1e-6, "{} for {want}", sum_b / n);
}

#[test]
fn a_target_beyond_the_buffer_and_a_price_without_encoding_are_reported() {
    let (gamma, alpha, weight) = (Factor(0.1), Factor(0.1), Share(0.9));
    let interval = Span::from_millis(1);
    let pc3 = |packets| {
        let target = QueueLength::Packets(packets);
        AqmParams::Pc3(Pc3Params { gamma, alpha, target, weight, interval })
    };
    let key =
        |params: AqmParams, place: &Place| Aqm::new(params, place).err().map(|reported| reported.0);
    assert_eq!(key(pc3(299), &here()), None);
    assert_eq!(key(pc3(300), &here()), Some("target"));
    assert_eq!(key(pc3(2), &Place { price_encoding: None, ..here() }), Some("kind"));
    let target = QueueLength::Bytes(Bytes::new(2_000));
    let (excess, estimate_over) = (None, Span::from_secs(1));
    let price = SbrmPrice::Queue;
    let sbrm =
        SbrmQueueParams { gamma, target, price, alpha, weight, interval, excess, estimate_over };
    let without = Place { price_encoding: None, ..here() };
    assert_eq!(key(AqmParams::SbrmQueue(sbrm), &without), None, "base e, whatever is agreed on");
}

/// Lets `count` packets arrive at once, and one leave every `gap_us`. Returns which of them are marked.
fn marked(params: AqmParams, encoding: Encoding, count: u32, gap_us: u64) -> Vec<bool> {
    let place = Place { price_encoding: Some(encoding), ..here() };
    let mut aqm = Aqm::new(params, &place).expect("fits");
    for n in 0..count {
        let (backlog_packets, backlog_bytes) = (n, u64::from(n) * 1000);
        let (now, len) = (Time::ZERO, Bytes::new(1000));
        let (activity, user, idle) = (0.0, 0, Span::ZERO);
        let arrival = Arrival { now, len, activity, user, backlog_packets, backlog_bytes, idle };
        assert_eq!(aqm.probability(&arrival), 0.0, "packets are judged as they leave");
    }
    let depart = |left: u32| {
        let (packet, sojourn) = (false, Span::ZERO);
        let backlog_bytes = u64::from(left) * 1000;
        let head = Head { packet, sojourn, backlog_packets: left, backlog_bytes };
        let now = us(gap_us * u64::from(count - left));
        aqm.dequeue(now, || 0.5, || Some(head), |_| Some(true)).expect("nothing is lost")
    };
    (0..count).rev().map(depart).collect()
}

/// By hand: the virtual queue holds 270 packets and serves 10.8 in a millisecond, so that it is empty 25 ms after 280
/// arrivals; the last of 260 cause no overflow.
#[test]
fn what_leaves_from_a_virtual_overflow_until_the_virtual_queue_is_empty_is_marked() {
    let params = |scale| {
        AqmParams::VirtualQueue(VirtualQueueParams {
            scale: Share(scale),
            capacity: Some(QueueLength::Packets(300)),
        })
    };
    let reported = marked(params(0.9), Encoding::Maximum, 280, 100);
    assert_eq!(
        reported.iter().position(|marked| !marked),
        Some(249),
        "the 250th leaves after 25 ms"
    );
    assert_eq!(reported.iter().filter(|marked| **marked).count(), 249);
    assert_eq!(marked(params(0.9), Encoding::Maximum, 260, 100), [false; 260]);
}

/// By hand: with γ = 0.1 the probability is above 1/2 if more than 6.93 packets above the target wait.
#[test]
fn a_leaving_packet_is_marked_by_the_queue_behind_it() {
    let params = SbrmQueueParams {
        gamma: Factor(0.1),
        target: QueueLength::Packets(2),
        price: SbrmPrice::Queue,
        alpha: Factor(0.1),
        weight: Share(0.9),
        interval: Span::from_millis(1),
        excess: None,
        estimate_over: Span::from_secs(1),
    };
    let reported = marked(AqmParams::SbrmQueue(params), Encoding::Explicit, 20, 83);
    let want: Vec<_> = (0..20).rev().map(|left| left >= 9).collect();
    assert_eq!(reported, want);
}
