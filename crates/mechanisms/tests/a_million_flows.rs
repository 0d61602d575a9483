//! Memory of a million flows at stages with per-flow state, including its growth. A single test in its own process,
//! since a process has one peak memory value.

use tidegate_mechanisms::stage::re_ecn_policer::{BucketScope, Outside, Sanction, Signals, Taken};
use tidegate_mechanisms::stage::{
    Declared, Ecn, Passing, ReEcnDropper, ReEcnDropperParams, ReEcnPolicer, ReEcnPolicerParams,
    Sequence, Stage,
};
use tidegate_mechanisms::units::{Bytes, Factor, Rate, Share, Span, Time, TokenRate, Tokens};

const MIB: u64 = 1 << 20;

/// Returns the peak memory of this process, bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("is there");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1024
}

/// Returns a re-ECN packet of the flow of this number, a millisecond after the previous one.
fn packet(number: u32, ecn: Ecn) -> Passing {
    let now = Time::from_nanos(u64::from(number) * 1_000_000);
    Passing {
        now,
        len: Bytes::new(1500),
        user: 0,
        flow: 0,
        sequence: Some(Sequence { connection: number, number: 0, sent: now }),
        is_ack: false,
        is_request: false,
        ecn,
        tunnel: None,
        tunnel_end: None,
        declared: Declared { re: true, ..Declared::default() },
        signal: 0.0,
        lower_effort: false,
    }
}

/// Passes a packet of each of a million flows. Returns the increase of the peak memory, bytes, and the state that the
/// stage reports.
fn growth<S: Stage>(mut stage: S, ecn: Ecn) -> (u64, u64) {
    let before = peak();
    for number in 1..=1_000_000 {
        stage.pass(&mut packet(number, ecn), || 0.5);
    }
    (peak() - before, stage.state_bytes() as u64)
}

#[test]
fn a_million_flows_take_the_documented_memory_and_no_more_meanwhile() {
    // The stage with less memory comes first: memory freed by the other would hide its use.
    let dropper = ReEcnDropper::new(ReEcnDropperParams { memory: Bytes::new(16_000_000) });
    // Credit: a flow has state from its first declaration on.
    let (taken, reported) = growth(dropper, Ecn::NotEct);
    assert!(reported > 4 * MIB, "flows are remembered: {reported} B");
    assert!(taken < 16 * MIB && taken < reported + MIB, "{taken} B, {reported} reported");
    let policer = ReEcnPolicer::new(ReEcnPolicerParams {
        fill_rate: TokenRate::Bits(Rate::from_bps(1_000_000)),
        depth: Tokens::Bytes(Bytes::new(15_000)),
        initial: None,
        buckets: BucketScope::ByFlow,
        tokens: Taken::Data,
        sanction: Sanction::Probability,
        charge_dropped: false,
        k: Factor(1.0),
        round_trip: Some(Span::from_millis(100)),
        measures: false,
        signals: Signals::Events,
        weight: Share(0.125),
        outside: Outside::Police,
        memory: Bytes::new(64_000_000),
    });
    let (taken, reported) = growth(policer, Ecn::Ect1);
    assert!(reported > 32 * MIB, "flows are remembered: {reported} B");
    assert!(taken < 64 * MIB && taken < reported + MIB, "{taken} B, {reported} reported");
}
