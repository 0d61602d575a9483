//! Shaper: a token bucket with a queue of its own for each user, which delays what exceeds a rate and a burst, as
//! Linux's `tbf` does. With a peak rate, a packet has to conform to both buckets.
//!
//! ```text
//! f ← min(B, f + R (t − t_last))          R = rate, B = burst; full at first
//! g ← min(M, g + P (t − t_last))          P = peak_rate, M = peak_burst, where there is a peak rate
//! the first packet of the queue leaves as soon as L ≤ f and L ≤ g:    f ← f − L,  g ← g − L
//! a packet that the queue has no room for, or that would wait longer than max_delay, is dropped
//! ```
//!
//! with L the packet's size on the wire, headers included. Packets leave first come, first served. The maximum bit rate of a
//! mobile user (AMBR, 3GPP TS 23.401, section 4.7.3) is such a shaper, at the PDN gateway or at the eNodeB, or a policer.

use std::collections::{BTreeSet, VecDeque};

use super::by_user::ByUser;
use super::conex_policer::Buckets;
use super::{Capabilities, Passage, Passing, Stage};
use crate::mechanism::About;
use crate::parameters;
use crate::parameters::ParameterError;
use crate::token_bucket::{BucketRule, Credit, TokenBucket, TokenBucketParams};
use crate::units::{Bytes, QueueLength, Rate, Span, Time};

parameters! {
    /// Delays what exceeds a rate and a burst, in a queue for each user.
    pub struct ShaperParams {
        /// R: rate that passes in the long run, headers included.
        pub rate: Rate,
        /// B: bytes that pass at once, the depth of the bucket.
        pub burst: Bytes = "15 kB",
        /// P: rate that is never exceeded for longer than peak_burst. Default: none.
        pub peak_rate: Option<Rate>,
        /// M: bytes that pass at once above the peak rate.
        pub peak_burst: Bytes = "3 kB",
        /// Room for packets that wait.
        pub buffer: QueueLength = "100 packets",
        /// Longest wait; a packet that would wait longer is dropped, as by tbf's latency. Default: any.
        pub max_delay: Option<Span>,
        /// Whose queue it is.
        pub buckets: Buckets = "by-user",
    }
    check ShaperParams::errors;
}

/// Name of a rate's burst, where it is given wrong.
const BURSTS: [&str; 2] = ["burst", "peak_burst"];

impl ShaperParams {
    fn limits(&self) -> [Option<TokenBucketParams>; 2] {
        [
            Some(TokenBucketParams::of_bytes(self.rate, self.burst)),
            self.peak_rate.map(|peak| TokenBucketParams::of_bytes(peak, self.peak_burst)),
        ]
    }

    fn errors(&self) -> Vec<ParameterError> {
        let mut errors = Vec::new();
        for (burst, limit) in BURSTS.into_iter().zip(self.limits()) {
            let found = limit.map_or(Vec::new(), |limit| limit.errors());
            errors.extend(found.into_iter().map(|(_, message)| (burst, message)));
        }
        if self.peak_rate.is_some_and(|peak| peak < self.rate) {
            errors.push(("peak_rate", "is below rate".to_owned()));
        }
        errors
    }
}

/// Queue of a user.
#[derive(Clone, Debug)]
struct Queue {
    buckets: [Option<TokenBucket>; 2],
    /// When each packet leaves, and its bytes.
    waiting: VecDeque<(Time, u64)>,
    bytes: u64,
    /// When the last packet leaves, or left.
    last: Time,
}

impl Queue {
    /// Forgets what has left.
    fn catch_up(&mut self, now: Time) {
        while let Some(&(leaves, bytes)) = self.waiting.front()
            && leaves <= now
        {
            self.waiting.pop_front();
            self.bytes -= bytes;
        }
    }

    /// When a packet leaves that arrives now: as soon as all buckets hold it, behind those before it.
    fn departure(&self, rules: &[Option<BucketRule>; 2], size: Credit, now: Time) -> Time {
        let from = now.max(self.last);
        let waits =
            |(bucket, rule): (&Option<TokenBucket>, &Option<BucketRule>)| match (bucket, rule) {
                (Some(bucket), Some(rule)) => rule.until(size - bucket.fill_at(rule, from)),
                _ => Span::ZERO,
            };
        let longest = self.buckets.iter().zip(rules).map(waits).max();
        from + longest.unwrap_or(Span::ZERO)
    }

    /// A packet leaves then.
    fn take(&mut self, rules: &[Option<BucketRule>; 2], size: Credit, leaves: Time) {
        for (bucket, rule) in self.buckets.iter_mut().zip(rules) {
            if let (Some(bucket), Some(rule)) = (bucket, rule) {
                bucket.take(rule, leaves, size);
            }
        }
        self.last = leaves;
    }
}

/// What was done to a user's packets.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    delayed: u64,
    delay_ns: u64,
}

/// State of one shaper.
#[derive(Clone, Debug)]
pub struct Shaper {
    params: ShaperParams,
    rules: [Option<BucketRule>; 2],
    queues: ByUser<Queue>,
    /// Departures to come: no two packets leave a stage in the same nanosecond.
    departures: BTreeSet<Time>,
    counts: ByUser<Counts>,
}

impl Stage for Shaper {
    type Params = ShaperParams;

    const ABOUT: About = About {
        name: "shaper",
        title: "Shaper",
        source: "Linux net/sched/sch_tbf.c, tc-tbf(8); 3GPP TS 23.401",
        usage: r#"users.NAME.ingress = [{ kind = "shaper", rate = "15 Mb/s", burst = "15 kB" }]"#,
        file: "stage/shaper.rs",
        text: crate::mechanism::source_text!("shaper.rs"),
    };

    const CAPABILITIES: Capabilities =
        Capabilities { has_levels: true, holds: true, ..Capabilities::NONE };

    fn new(params: ShaperParams) -> Self {
        Shaper {
            rules: params.limits().map(|limit| limit.map(|limit| limit.rule())),
            params,
            queues: ByUser::new(),
            departures: BTreeSet::new(),
            counts: ByUser::new(),
        }
    }

    fn validate(params: &ShaperParams, packet: Bytes) -> Option<ParameterError> {
        if let QueueLength::Bytes(buffer) = params.buffer
            && buffer < packet
        {
            return Some(("buffer", format!("does not hold a packet of {} B", packet.get())));
        }
        let mut limits = BURSTS.into_iter().zip(params.limits());
        limits
            .find_map(|(burst, limit)| limit?.validate(packet).map(|(_, message)| (burst, message)))
    }

    fn pass(&mut self, packet: &mut Passing, _draw: impl FnMut() -> f64) -> Passage {
        let (now, size, rules) = (packet.now, Credit::of(packet.len), &self.rules);
        let new = || Queue {
            buckets: rules.map(|rule| rule.map(|rule| rule.bucket(now))),
            waiting: VecDeque::new(),
            bytes: 0,
            last: now,
        };
        let queue = self.queues.of(self.params.buckets.account_of(packet.user), new);
        queue.catch_up(now);
        let mut leaves = queue.departure(rules, size, now);
        let waits = leaves > now || !queue.waiting.is_empty();
        let has_room = match self.params.buffer {
            QueueLength::Packets(packets) => queue.waiting.len() < packets as usize,
            QueueLength::Bytes(bytes) => queue.bytes + packet.len.get() <= bytes.get(),
        };
        if waits && !has_room {
            return Passage::Drop("shaper full");
        }
        if self.params.max_delay.is_some_and(|most| leaves.since(now) > most) {
            return Passage::Drop("waits too long");
        }
        if waits {
            while self.departures.first().is_some_and(|first| *first < now) {
                self.departures.pop_first();
            }
            while !self.departures.insert(leaves) {
                leaves += Span::from_nanos(1);
            }
            queue.waiting.push_back((leaves, packet.len.get()));
            queue.bytes += packet.len.get();
        }
        queue.take(rules, size, leaves);
        let counts = self.counts.of(packet.user, Default::default);
        counts.packets += 1;
        counts.bytes += packet.len.get();
        counts.delayed += u64::from(waits);
        counts.delay_ns += leaves.since(now).as_nanos();
        if waits { Passage::Hold(leaves) } else { Passage::On }
    }

    fn counts(&self, each: &mut dyn FnMut(u32, &'static str, u64)) {
        for (user, counts) in self.counts.iter() {
            each(user, "shaped_packets", counts.packets);
            each(user, "shaped_bytes", counts.bytes);
            each(user, "delayed_packets", counts.delayed);
            each(user, "delay_us", counts.delay_ns / 1000);
        }
    }

    fn state_bytes(&self) -> usize {
        self.queues.state_bytes()
    }

    fn levels(&self, user: u32, now: Time, each: &mut dyn FnMut(&'static str, f64)) {
        let Some(queue) = self.queues.get(self.params.buckets.account_of(user)) else { return };
        let waiting = queue.waiting.iter().filter(|(leaves, _)| *leaves > now);
        each("backlog_bytes", waiting.map(|(_, bytes)| *bytes).sum::<u64>() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBPS: fn(u64) -> Rate = |mbps| Rate::from_bps(mbps * 1_000_000);

    /// 12 Mb/s, one packet of 1500 B a millisecond, and two packets at once.
    fn params() -> ShaperParams {
        ShaperParams {
            rate: MBPS(12),
            burst: Bytes::new(3_000),
            peak_rate: None,
            peak_burst: Bytes::new(1_500),
            buffer: QueueLength::Packets(4),
            max_delay: None,
            buckets: Buckets::ByUser,
        }
    }

    /// What becomes of packets of 1500 B that arrive at these times, in microseconds: when they leave.
    fn leave(
        shaper: &mut Shaper,
        user: u32,
        at_us: impl IntoIterator<Item = u64>,
    ) -> Vec<Option<u64>> {
        let pass = |us| {
            let now = Time::ZERO + Span::from_micros(us);
            let mut packet = Passing { now, ..Passing::of_user(user) };
            match shaper.pass(&mut packet, || panic!("drew")) {
                Passage::On => Some(us),
                Passage::Hold(at) => Some(at.as_nanos() / 1000),
                Passage::Drop(_) => None,
                Passage::Report(_) => panic!("reports"),
            }
        };
        at_us.into_iter().map(pass).collect()
    }

    #[test]
    fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let mut shaper = Shaper::new(params());
        let want = [Some(0), Some(0), Some(1000), Some(2000), Some(3000), Some(4000), None];
        assert_eq!(leave(&mut shaper, 1, [0; 7]), want);
        assert_eq!(leave(&mut shaper, 2, [500]), [Some(500)], "each user has a queue");
        // One has left by then, and an idle time of 4 ms fills the bucket again.
        assert_eq!(
            leave(&mut shaper, 1, [1000, 9000, 9000, 9000]),
            [Some(5000), Some(9000), Some(9000), Some(10_000)]
        );
    }

    #[test]
    fn a_packet_waits_for_both_buckets() {
        let params = ShaperParams { peak_rate: Some(MBPS(24)), ..params() };
        let mut shaper = Shaper::new(params);
        let want = [Some(0), Some(500), Some(1000), Some(2000)];
        assert_eq!(
            leave(&mut shaper, 1, [0; 4]),
            want,
            "24 Mb/s, and when the burst is over 12 Mb/s"
        );
    }

    #[test]
    fn a_queue_may_be_bounded_in_bytes_or_in_time() {
        let bytes = QueueLength::Bytes(Bytes::new(3_000));
        for params in [
            ShaperParams { buffer: bytes, ..params() },
            ShaperParams { max_delay: Some(Span::from_millis(2)), ..params() },
        ] {
            let mut shaper = Shaper::new(params);
            let want = [Some(0), Some(0), Some(1000), Some(2000), None, None];
            assert_eq!(leave(&mut shaper, 1, [0; 6]), want);
        }
    }

    #[test]
    fn what_cannot_be_is_an_error_with_its_key() {
        let keys = |params: &ShaperParams| {
            params.errors().into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        assert_eq!(keys(&ShaperParams { peak_rate: Some(MBPS(11)), ..params() }), ["peak_rate"]);
        assert_eq!(keys(&ShaperParams { burst: Bytes::ZERO, ..params() }), ["burst"]);
        let jumbo = Shaper::validate(&params(), Bytes::new(9_000));
        assert_eq!(jumbo.map(|(key, _)| key), Some("burst"));
        let small = ShaperParams { buffer: QueueLength::Bytes(Bytes::new(100)), ..params() };
        let small = Shaper::validate(&small, Bytes::new(1_500));
        assert_eq!(small.map(|(key, _)| key), Some("buffer"));
    }
}
