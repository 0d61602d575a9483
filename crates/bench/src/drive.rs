//! A network driven without hosts, to measure the cost of a packet: a fixed sequence of arrivals at the bottleneck,
//! independent of their outcome.

use tidegate_mechanisms::ingress::ActivityMeter;
use tidegate_mechanisms::stage::{ConexPolicer, Declared, StageParams};
use tidegate_mechanisms::units::{Rate, Span, Time};
use tidegate_scenario::plan::Plan;
use tidegate_simulator::{CongestionHeader, Direction, Emulation, InPacket};

/// Size of full packets on the wire, headers included.
const PACKET_BYTES: u16 = 1500;
/// Number of packets of a ConEx sender per declared mark.
const DECLARES_ONE_IN: u64 = 64;

/// Offers `packets` full packets at `load` times the rate of the first bottleneck, each of a flow chosen at random
/// among the plan's, and serves all events in between. Returns the number delivered meanwhile. The same plan, number
/// and load give the same arrivals.
pub fn drive(plan: &Plan, packets: u64, load: f64) -> u64 {
    let bottleneck = plan.links.iter().find(|link| link.monitored).expect("a scenario has one");
    let gap_ns = mean_gap_ns(bottleneck.rate, load);
    let flows = plan.flows.len() as u64;
    let mut emulation = Emulation::new(plan, 1, InPacket);
    let mut random = SplitMix(1);
    let (mut now_ns, mut delivered) = (0.0, 0);
    for number in 0..packets {
        now_ns += gap_ns * (0.5 + random.unit());
        let now = Time::ZERO + Span::from_nanos(now_ns as u64);
        while emulation.next_time() <= now {
            delivered += u64::from(emulation.advance().is_some());
        }
        let flow = (random.next() % flows) as u32;
        let header = CongestionHeader {
            declared: declared(plan, flow, number),
            ..CongestionHeader::default()
        };
        emulation.inject(flow, Direction::Forward, number, PACKET_BYTES, header, now);
    }
    delivered
}

/// Returns the memory of the meters and ConEx policers in front of the users, bytes.
pub fn edge_state_bytes(plan: &Plan) -> usize {
    let bytes = |params: &StageParams| match params {
        StageParams::ActivityMeter(_) => size_of::<ActivityMeter>(),
        StageParams::ConexPolicer(_) => ConexPolicer::STATE_BYTES_PER_USER,
        _ => 0,
    };
    plan.stages.iter().map(|stage| bytes(&stage.params)).sum()
}

/// Returns the declarations of a packet of the flow: none, unless its sender is ConEx-capable.
fn declared(plan: &Plan, flow: u32, number: u64) -> Declared {
    let conex = plan.flows[flow as usize].declares();
    Declared { conex, mark: conex && number.is_multiple_of(DECLARES_ONE_IN), ..Declared::default() }
}

fn mean_gap_ns(rate: Rate, load: f64) -> f64 {
    f64::from(PACKET_BYTES) * 8e9 / (rate.as_bps() as f64 * load)
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): cheap, so that it does not affect the measurement.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws uniformly from [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
