//! Active queue management at a link whose departures are known in advance.

use tidegate_mechanisms::bottleneck::{Arrival, DropReason, Judge, Verdict};
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::LinkPlan;

use super::{Link, Rest, Written};
use crate::build;
use crate::owner::Owner;
use crate::packet::{PackedPacket, flags};
use crate::random::Stream;

/// AQM and price signalling of a link.
pub(super) struct Management {
    pub(super) judge: Judge,
    ecn: bool,
    ecn_marks_all: bool,
    /// Encoding of the price in packets, if any.
    signals_price: Option<Encoding>,
    /// Payload word of the last packet into which a price was written.
    reported: u32,
    rng: Stream,
}

impl Management {
    /// Returns the management of a link, if it judges arriving packets.
    pub(super) fn new(plan: &LinkPlan, seed: u64) -> Option<Box<Self>> {
        let judge = build::judge(plan)?;
        let rng = Stream::new(seed, format_args!("link/{}/aqm", plan.name));
        let asks_price = plan.aqm.asks_price().is_some();
        let (ecn, ecn_marks_all) = (plan.ecn || asks_price, plan.ecn_marks_all);
        let signals_price = plan.price_encoding.filter(|own| asks_price && own.is_in_payload());
        Some(Box::new(Management { judge, ecn, ecn_marks_all, signals_price, reported: 0, rng }))
    }
}

impl Link {
    /// Updates the AQM for the time until `now`.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, now: Time) {
        let rest = self.rest.as_deref_mut();
        let Some(mut management) = rest.and_then(|rest| rest.management.take()) else { return };
        management.judge.aqm.catch_up(now, |at| self.waits_at(at));
        self.rest().management = Some(management);
    }

    /// Returns the payload word of the last packet into which a price was written.
    pub fn reported(&self) -> u32 {
        let management = self.rest.as_ref().and_then(|rest| rest.management.as_ref());
        management.map_or(0, |own| own.reported)
    }

    /// Returns the price of its queue, if it has one.
    pub fn price(&self) -> Option<f64> {
        if let Some(station) = self.station() {
            return station.price();
        }
        self.rest.as_ref()?.management.as_ref()?.judge.price()
    }
}

impl Rest {
    /// Lets the AQM judge a packet; returns what it writes into an accepted packet. The AQM sees the packets and bytes
    /// that wait, without the packet in transmission, as in ns-2, ns-3, INET and Linux.
    #[inline]
    pub(super) fn manage(
        &mut self,
        packed: &PackedPacket,
        now: Time,
        Owner { group, user, .. }: Owner,
        (backlog_packets, backlog_bytes): (u32, u64),
        idle: Span,
    ) -> Result<Written, DropReason> {
        let Some(management) = &mut self.management else { return Ok(Written::Nothing) };
        let Management { judge, ecn, ecn_marks_all, signals_price, reported, rng } =
            &mut **management;
        let arrival = Arrival {
            now,
            len: Bytes::new(packed.len().into()),
            user,
            activity: if signals_price.is_some() { 0.0 } else { packed.activity() },
            backlog_packets,
            backlog_bytes,
            idle,
        };
        self.probe.on_activity(group, arrival.activity);
        let may_mark = *ecn && (*ecn_marks_all || packed.has(flags::ECT));
        match judge.signal(&arrival, || rng.unit()).verdict(may_mark) {
            // The payload word of an acknowledgement carries the receiver's feedback.
            Verdict::Pass => Ok(match signals_price {
                Some(encoding) if packed.carries_prices() => {
                    let price = judge.price().unwrap_or(0.0);
                    *reported = encoding.write(packed.payload(), price, || rng.unit());
                    Written::Payload
                }
                _ => Written::Nothing,
            }),
            Verdict::Mark => Ok(Written::Mark),
            Verdict::Drop(reason) => {
                self.probe.on_drop(reason, group);
                Err(reason)
            }
        }
    }
}
