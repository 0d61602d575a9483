//! A link compared with a model: a list of packets, searched for every arrival.
//!
//! The link removes departures only when needed, keeps the last run out of its list and looks up transmission times;
//! none of this may be visible.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tidegate_mechanisms::units::{Bytes, Rate, Span, Time};
use tidegate_scenario::plan::{Buffer, LinkPlan};

use crate::link::Link;
use crate::owner::Owner;
use crate::packet::{PackedPacket, Packet};
use tidegate_mechanisms::bottleneck::DropReason;

/// FIFO with a finite buffer.
struct Model {
    plan: LinkPlan,
    /// Departure time and length of all packets so far.
    accepted: Vec<(Time, u64)>,
    /// Maximum backlog, bytes.
    most_bytes: u64,
}

impl Model {
    fn waiting(&self, now: Time) -> impl Iterator<Item = &(Time, u64)> {
        self.accepted.iter().filter(move |(departs, _)| *departs > now)
    }

    fn backlog(&self, now: Time) -> (u32, u64) {
        (self.waiting(now).count() as u32, self.waiting(now).map(|(_, len)| len).sum())
    }

    fn offer(&mut self, len: u64, now: Time) -> Result<Time, DropReason> {
        let (packets, bytes) = self.backlog(now);
        let has_room = match self.plan.buffer {
            Buffer::Packets(room) => packets < room,
            Buffer::Bytes(room) => bytes + len <= room.get(),
        };
        if !has_room {
            return Err(DropReason::Full);
        }
        let free_at = self.accepted.last().map_or(now, |(departs, _)| (*departs).max(now));
        let departs = free_at + self.plan.rate.transmission_time(Bytes::new(len));
        self.accepted.push((departs, len));
        self.most_bytes = self.most_bytes.max(bytes + len);
        Ok(departs + self.plan.delay)
    }
}

fn any_plan() -> impl Strategy<Value = LinkPlan> {
    let buffer = prop_oneof![
        (1..9u32).prop_map(Buffer::Packets),
        (1500..9000u64).prop_map(|bytes| Buffer::Bytes(Bytes::new(bytes))),
    ];
    (1..20u64, 0..5u64, buffer, any::<bool>()).prop_map(|(mbps, delay_ms, buffer, monitored)| {
        let (rate, delay, packet) =
            (Rate::mbps(mbps), Span::from_millis(delay_ms), Bytes::new(1500));
        LinkPlan::plain("link".to_owned(), rate, delay, buffer, packet).watched(monitored)
    })
}

/// Gaps between arrivals in ns, and lengths: bursts, sparse arrivals, and arrivals at the moment of a departure.
fn any_arrivals() -> impl Strategy<Value = Vec<(u64, u16)>> {
    let gap = prop_oneof![Just(0), 0..10_000u64, 0..3_000_000u64, Just(1_200_000u64)];
    let len = prop_oneof![Just(1500u16), Just(40), 40..=1500u16];
    prop::collection::vec((gap, len), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        rng_seed: RngSeed::Fixed(22),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_link_accepts_delays_and_drops_what_the_model_does(
        plan in any_plan(),
        arrivals in any_arrivals(),
    ) {
        let mut link = Link::new(&plan, 1, 1);
        let mut model = Model { plan, accepted: Vec::new(), most_bytes: 0 };
        let (mut now, mut last) = (Time::ZERO, Time::ZERO);
        for (gap_ns, len) in arrivals {
            now += Span::from_nanos(gap_ns);
            let want = model.offer(len.into(), now);
            let got = if link.is_free(now) {
                Ok(link.pass_at_once(len, now))
            } else if link.is_joined_by(len, now) {
                Ok(link.join(len))
            } else {
                let packed = PackedPacket::of(&Packet { len, ..Packet::default() });
                link.offer(&packed, now, Owner::default()).map(|passed| passed.at)
            };
            prop_assert_eq!(got, want);
            if let Ok(at) = got {
                prop_assert!(at >= last, "first in, first out");
                last = at;
            }
            // Reading the backlog removes past departures.
            if model.plan.monitored && gap_ns % 2 == 0 {
                prop_assert_eq!(link.backlog(now), model.backlog(now));
            }
        }
        let accepted = model.accepted.len() as u64;
        prop_assert_eq!(link.accepted.packets, accepted);
        if let Some(monitor) = link.monitor() {
            prop_assert_eq!(monitor.most_bytes, model.most_bytes);
        }
    }
}
