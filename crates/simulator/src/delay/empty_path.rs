//! How long a packet takes over a path on which nothing else is.

use tidegate_mechanisms::units::{Bytes, Rate, Span};
use tidegate_scenario::plan::{Direction, FlowPlan, LinkPlan, Plan};

use crate::pace::Pace;
use crate::tcp::{HEADER_BYTES, TIMESTAMP_BYTES};

/// What the delay over an empty path depends on. Paths of one shape are one path here.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PathShape {
    propagation: Span,
    /// Rate of each link, and what packets are longer by there.
    links: Vec<(Rate, u16)>,
}

impl PathShape {
    /// The path of a flow's data.
    pub fn of(plan: &Plan, flow: &FlowPlan) -> Self {
        let (mut overhead, mut propagation, mut links) = (0, Span::ZERO, Vec::new());
        for (hop, &link) in flow.forward.iter().enumerate() {
            for end in flow.stages_at(plan, Direction::Forward, hop).filter_map(|s| s.tunnel_end())
            {
                overhead = if end.begins() { end.overhead.get() as u16 } else { 0 };
            }
            let link = &plan.links[link as usize];
            propagation = propagation + link.delay;
            links.push((highest_rate(link), overhead));
        }
        PathShape { propagation, links }
    }
}

/// The time of a transfer over an empty path, seconds: a round trip for the request of the connection, the transmission of
/// all its packets on the slowest link, and a round trip from the last packet to its acknowledgement. Slow start, and
/// windows that are smaller than the path, take longer.
pub fn transfer_time_s(plan: &Plan, flow: &FlowPlan, size: Bytes) -> f64 {
    let timestamps = flow.tcp.as_deref().is_some_and(|tcp| tcp.timestamps);
    let headers = HEADER_BYTES + if timestamps { TIMESTAMP_BYTES } else { 0 };
    let full = flow.packet_size.get() - u64::from(headers);
    let packets = size.get().div_ceil(full).max(1);
    let link = |number: &u32| &plan.links[*number as usize];
    let round_trip = flow.forward.iter().chain(&flow.reverse).map(link);
    let delay_s: f64 = round_trip.map(|link| link.delay.as_secs()).sum();
    let slowest_bps = flow.forward.iter().map(|own| highest_rate(link(own)).as_bps()).min();
    let wire_bits = 8 * (size.get() + packets * u64::from(headers));
    2.0 * delay_s + wire_bits as f64 / slowest_bps.unwrap_or(u64::MAX) as f64
}

/// The highest rate that a link ever has.
fn highest_rate(link: &LinkPlan) -> Rate {
    if let Some(traced) = &link.rate_trace {
        return traced.trace.highest();
    }
    let later = link.rate_changes.0.iter().map(|change| change.rate.0);
    later.chain([link.rate]).max_by_key(|rate| rate.as_bps()).expect("a link has a rate")
}

/// The delay of packets over an empty path.
pub struct EmptyPath {
    /// The length of the last packet, and its delay: most packets of a path are of one length.
    last: (u16, Span),
    propagation: Span,
    links: Vec<(Pace, u16)>,
}

impl EmptyPath {
    /// Over a path of this shape.
    pub fn of(shape: &PathShape) -> Self {
        let links = shape.links.iter().map(|(rate, overhead)| (Pace::new(*rate), *overhead));
        EmptyPath { last: (0, Span::ZERO), propagation: shape.propagation, links: links.collect() }
    }

    /// The delay of a packet of this length, as it arrives.
    #[inline(always)]
    pub fn delay(&mut self, len: u16) -> Span {
        if self.last.0 != len {
            self.last = (len, self.computed(len));
        }
        self.last.1
    }

    #[cold]
    #[inline(never)]
    fn computed(&self, len: u16) -> Span {
        let sending = |(pace, overhead): &(Pace, u16)| pace.transmission_time(len + overhead);
        self.links.iter().map(sending).fold(self.propagation, |sum, sending| sum + sending)
    }
}
