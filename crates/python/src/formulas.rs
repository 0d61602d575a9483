//! A scenario's mechanisms on single packets, to compare a paper's formulas with the code that simulations run.

use tidegate_mechanisms::bottleneck::{
    Afcp, AicpA, AicpB, AqmParams, Arrival, Differentiate, DifferentiationParams, ManageQueue, Red,
};
use tidegate_mechanisms::ingress::ActivityMeter;
use tidegate_mechanisms::sender::{Ack, Controller, Window};
use tidegate_mechanisms::stage::re_ecn_policer::tcp_fair_bytes_per_sec;
use tidegate_mechanisms::stage::{
    ReEcnDropper, ReEcnPolicer, ReEcnPolicerParams, Stage as _, StageParams,
};
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{Plan, StagePlan};

/// A full packet on the wire, of the first customer, at time zero.
const ARRIVAL: Arrival = Arrival {
    now: Time::ZERO,
    len: Bytes::new(1500),
    activity: 0.0,
    user: 0,
    backlog_packets: 0,
    backlog_bytes: 0,
    idle: Span::ZERO,
};

/// Returns the activities that the plan's first meter writes into full packets sent at these times (s).
pub fn meter_activities(plan: &Plan, times_s: &[f64]) -> Result<Vec<f64>, String> {
    let meter = |stage: &StagePlan| match &stage.params {
        StageParams::ActivityMeter(params) => Some(ActivityMeter::new(params.clone())),
        _ => None,
    };
    let mut meter = plan.stages.iter().find_map(meter).ok_or("no meter")?;
    let sent = times_s.iter().map(|&s| Time::ZERO + Span::from_secs_f64(s));
    Ok(sent.map(|now| f64::from(meter.on_packet(now, ARRIVAL.len))).collect())
}

/// Returns the number of consecutive packets that AFCP forwards, from a full bucket, if the AQM has probability `p` and
/// drops all of them or none; at most `limit`.
pub fn afcp_forwarded(plan: &Plan, p: f64, dropped: bool, limit: u64) -> Result<u64, String> {
    let DifferentiationParams::Afcp(params) = policer(plan)? else { return Err("no AFCP".into()) };
    let mut afcp = Afcp::new(params);
    let mut forwarded = 0;
    while forwarded < limit && afcp.forwards(&ARRIVAL, p) {
        afcp.on_verdict(&ARRIVAL, p, dropped);
        forwarded += 1;
    }
    Ok(forwarded)
}

/// Returns the factor of RED's thresholds in AICP-a for a customer whose bucket is full to the share `fill`.
pub fn aicp_a_stretch(plan: &Plan, fill: f64) -> Result<f64, String> {
    let DifferentiationParams::AicpA(params) = policer(plan)? else {
        return Err("no AICP-a".into());
    };
    let depth = params.depth;
    let mut aicp = AicpA::new(params);
    empty_to(fill, depth, |p| aicp.charge(&ARRIVAL, p, p));
    Ok(aicp.stretch(&ARRIVAL))
}

/// Returns AICP-b's drop probability for a customer whose bucket is full to the share `fill`, if RED has `p`.
pub fn aicp_b_probability(plan: &Plan, fill: f64, p: f64) -> Result<f64, String> {
    let DifferentiationParams::AicpB(params) = policer(plan)? else {
        return Err("no AICP-b".into());
    };
    let depth = params.depth;
    let mut aicp = AicpB::new(params);
    empty_to(fill, depth, |p| aicp.charge(&ARRIVAL, p, p));
    Ok(aicp.probability(&ARRIVAL, p))
}

/// Returns RED's probability p_b at these average queues, in the unit of its thresholds, on the first link with RED.
pub fn red_probabilities(plan: &Plan, averages: &[f64]) -> Result<Vec<f64>, String> {
    let red = plan.links.iter().find_map(|link| match &link.aqm {
        AqmParams::Red(params) => Some(Red::new(params.clone(), &link.place())),
        _ => None,
    });
    let red =
        red.ok_or("no link with RED")?.map_err(|(key, message)| format!("{key}: {message}"))?;
    Ok(averages.iter().map(|&average| red.probability_at(average)).collect())
}

/// Iterates over all stages, of users and then of links.
fn stages(plan: &Plan) -> impl Iterator<Item = &StageParams> {
    let links = plan.links.iter().flat_map(|link| link.ingress.iter().chain(&link.egress));
    plan.stages.iter().map(|stage| &stage.params).chain(links)
}

fn re_ecn_policer(plan: &Plan) -> Result<&ReEcnPolicerParams, String> {
    let policer = stages(plan).find_map(|stage| match stage {
        StageParams::ReEcnPolicer(params) => Some(params),
        _ => None,
    });
    policer.ok_or_else(|| "no re-ECN policer".to_owned())
}

/// Returns the rate that the first re-ECN policer allows [B/s] for full packets of which a share `p` is positive.
pub fn re_ecn_allowed(plan: &Plan, p: f64) -> Result<f64, String> {
    let params = re_ecn_policer(plan)?;
    let round_trip_s = params.round_trip.ok_or("no round-trip time")?.as_secs();
    Ok(tcp_fair_bytes_per_sec(params.k.0, ARRIVAL.len.as_f64(), round_trip_s, p))
}

/// Returns the change in bytes of its bucket's fill by a full packet that arrives `elapsed_s` after the last, if a
/// share `p` is positive, and this one if `positive`.
pub fn re_ecn_change(plan: &Plan, elapsed_s: f64, p: f64, positive: bool) -> Result<f64, String> {
    let elapsed = Span::from_secs_f64(elapsed_s);
    Ok(ReEcnPolicer::change_bytes(re_ecn_policer(plan)?, ARRIVAL.len, elapsed, p, positive))
}

/// Returns the share of consecutive packets without declarations that a re-ECN dropper drops, from a flow with this
/// balance, in packets.
pub fn re_ecn_dropped_share(balance: f64, packets: f64) -> f64 {
    ReEcnDropper::dropped_share(balance as i64, packets as u32)
}

/// Returns the first ConEx policer's drop probability at these fills, in multiples of its bucket's depth.
pub fn conex_policer_probabilities(plan: &Plan, fills: &[f64]) -> Result<Vec<f64>, String> {
    let policer = stages(plan).find_map(|stage| match stage {
        StageParams::ConexPolicer(params) => Some(params),
        _ => None,
    });
    let curve = policer.ok_or("no ConEx policer")?.curve;
    Ok(fills.iter().map(|&fill| curve.probability_at(fill)).collect())
}

/// Returns the window (packets) of the first flow's sender after a number of single ACKs, each of a packet that was
/// marked or not, with this round trip; it begins at `cwnd`, out of slow start.
pub fn window_after(
    plan: &Plan,
    cwnd: f64,
    acks: u32,
    marked: bool,
    rtt_s: f64,
) -> Result<f64, String> {
    let tcp = plan.flows.iter().find_map(|flow| flow.tcp.as_ref()).ok_or("no flow over TCP")?;
    let mut sender = Controller::new(tcp.congestion_control.clone());
    let mut window = Window { cwnd, ssthresh: 1.0 };
    let rtt = Some(Span::from_secs_f64(rtt_s));
    let ack = Ack {
        now: Time::ZERO,
        acked: 1,
        delivered_bytes: ARRIVAL.len.get(),
        marked: marked.into(),
        rtt,
        one_way_delay: None,
        srtt: rtt,
        in_flight: cwnd as u32,
        window_limited: true,
        round_start: false,
    };
    (0..acks).for_each(|_| sender.on_ack(&mut window, &ack));
    Ok(window.cwnd)
}

/// Returns the differentiation of the first link that has one.
fn policer(plan: &Plan) -> Result<DifferentiationParams, String> {
    let mut all = plan.links.iter().map(|link| &link.differentiation);
    let found = all.find(|one| !matches!(one, DifferentiationParams::None));
    found.cloned().ok_or_else(|| "no policer on any link".to_owned())
}

/// Charges packets with probability 1, and one with the rest, until a bucket has this fill.
fn empty_to(fill: f64, depth: Bytes, mut charge: impl FnMut(f64)) {
    let packets = (1.0 - fill.clamp(0.0, 1.0)) * depth.as_f64() / ARRIVAL.len.as_f64();
    (0..packets as u64).for_each(|_| charge(1.0));
    charge(packets.fract());
}
