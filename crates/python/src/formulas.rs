//! A scenario's mechanisms on single packets, so that a paper's formulas are put to the code that
//! simulations run.

use tidegate_mechanisms::bottleneck::{
    Afcp, AicpA, AicpB, AqmParams, Arrival, Differentiate, DifferentiationParams, ManageQueue, Red,
};
use tidegate_mechanisms::ingress::ActivityMeter;
use tidegate_mechanisms::stage::{Stage as _, StageParams};
use tidegate_mechanisms::units::{Bytes, Span, Time};
use tidegate_scenario::plan::{Plan, StagePlan};

/// A full packet on the wire, of the first customer, at the very beginning.
const ARRIVAL: Arrival = Arrival {
    now: Time::ZERO,
    len: Bytes::new(1500),
    activity: 0.0,
    user: 0,
    backlog_packets: 0,
    backlog_bytes: 0,
    idle: Span::ZERO,
};

/// What the plan's first meter writes into full packets that are sent at these times (s).
pub fn meter_activities(plan: &Plan, times_s: &[f64]) -> Result<Vec<f64>, String> {
    let meter = |stage: &StagePlan| match &stage.params {
        StageParams::ActivityMeter(params) => Some(ActivityMeter::new(params.clone())),
        _ => None,
    };
    let mut meter = plan.stages.iter().find_map(meter).ok_or("no meter")?;
    let sent = times_s.iter().map(|&s| Time::ZERO + Span::from_secs_f64(s));
    Ok(sent.map(|now| f64::from(meter.on_packet(now, ARRIVAL.len))).collect())
}

/// How many packets in a row AFCP lets through, from a full bucket, where the AQM has probability `p`
/// and drops all of them or none; at most `limit`.
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

/// By what AICP-a multiplies RED's thresholds for a customer whose bucket is full to the share `fill`.
pub fn aicp_a_stretch(plan: &Plan, fill: f64) -> Result<f64, String> {
    let DifferentiationParams::AicpA(params) = policer(plan)? else {
        return Err("no AICP-a".into());
    };
    let depth = params.depth;
    let mut aicp = AicpA::new(params);
    empty_to(fill, depth, |p| aicp.charge(&ARRIVAL, p, p));
    Ok(aicp.stretch(&ARRIVAL))
}

/// AICP-b's drop probability for a customer whose bucket is full to the share `fill`, where RED has `p`.
pub fn aicp_b_probability(plan: &Plan, fill: f64, p: f64) -> Result<f64, String> {
    let DifferentiationParams::AicpB(params) = policer(plan)? else {
        return Err("no AICP-b".into());
    };
    let depth = params.depth;
    let mut aicp = AicpB::new(params);
    empty_to(fill, depth, |p| aicp.charge(&ARRIVAL, p, p));
    Ok(aicp.probability(&ARRIVAL, p))
}

/// RED's probability p_b at these average queues, in the unit of its thresholds, on the first link that has
/// RED.
pub fn red_probabilities(plan: &Plan, averages: &[f64]) -> Result<Vec<f64>, String> {
    let red = plan.links.iter().find_map(|link| match &link.aqm {
        AqmParams::Red(params) => Some(Red::new(params.clone(), &link.place())),
        _ => None,
    });
    let red =
        red.ok_or("no link with RED")?.map_err(|(key, message)| format!("{key}: {message}"))?;
    Ok(averages.iter().map(|&average| red.probability_at(average)).collect())
}

/// The first ConEx policer's drop probability at these fills, in multiples of its bucket's depth.
pub fn conex_policer_probabilities(plan: &Plan, fills: &[f64]) -> Result<Vec<f64>, String> {
    let links = plan.links.iter().flat_map(|link| link.entry.iter().chain(&link.exit));
    let mut stages = plan.stages.iter().map(|stage| &stage.params).chain(links);
    let policer = stages.find_map(|stage| match stage {
        StageParams::ConexPolicer(params) => Some(params),
        _ => None,
    });
    let curve = policer.ok_or("no ConEx policer")?.curve;
    Ok(fills.iter().map(|&fill| curve.probability_at(fill)).collect())
}

/// The differentiation of the first link that has one.
fn policer(plan: &Plan) -> Result<DifferentiationParams, String> {
    let mut all = plan.links.iter().map(|link| &link.differentiation);
    let found = all.find(|one| !matches!(one, DifferentiationParams::None));
    found.cloned().ok_or_else(|| "no policer on any link".to_owned())
}

/// Charges packets with probability 1, and one with what is left, until a bucket has this fill.
fn empty_to(fill: f64, depth: Bytes, mut charge: impl FnMut(f64)) {
    let packets = (1.0 - fill.clamp(0.0, 1.0)) * depth.as_f64() / ARRIVAL.len.as_f64();
    (0..packets as u64).for_each(|_| charge(1.0));
    charge(packets.fract());
}
