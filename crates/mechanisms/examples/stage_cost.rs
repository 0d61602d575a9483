//! Passes packets of many users through a stage of ConEx, for a clock outside to time: each user's flow has a packet marked
//! in a hundred and declares it ten packets later. Prints how many packets passed.
//!
//! ```sh
//! cargo run --release --package tidegate-mechanisms --example stage_cost -- conex-policer 100000 100000000
//! ```
//!
//! The stage is `conex-policer`, `conex-auditor`, or `none`: the cost of making the packets.

use std::error::Error;

use tidegate_mechanisms::stage::conex_policer::{
    Buckets, CountedAs, Judged, PolicerAction, Stopped,
};
use tidegate_mechanisms::stage::{
    ConexAuditor, ConexAuditorParams, ConexPolicer, ConexPolicerParams, Declared, Ecn, LossSign,
    NotConex, Passage, Passing, PolicerCurve, Sequence, Stage, Upstream,
};
use tidegate_mechanisms::units::{Bytes, Rate, Share, Span, Time, TokenRate, Tokens};

/// Packets per mark and per declaration of a flow.
const MARKS_ONE_IN: u64 = 100;
/// Packets from a mark to its declaration.
const LATE: u64 = 10;
/// Between packets of all users: a million packets a second.
const GAP_NS: u64 = 1_000;
/// A prime above the largest number of users: users send in an order that no cache foresees.
const STRIDE: u64 = 1_000_003;

fn policer() -> ConexPolicer {
    ConexPolicer::new(ConexPolicerParams {
        // More than is declared, so that all packets pass.
        fill_rate: TokenRate::Bits(Rate::mbps(1_000)),
        depth: Tokens::Bytes(Bytes::new(67_500)),
        tokens: CountedAs::Bytes,
        curve: PolicerCurve::Mild,
        floor: None,
        initial: None,
        buckets: Buckets::ByUser,
        action: PolicerAction::Drop,
        drops: Stopped::All,
        charge_dropped: true,
        judged: Judged::OncePaid,
        charge_credit: true,
        upstream: Upstream::Ignore,
        not_conex: NotConex::Police,
        not_conex_rate: None,
        not_conex_burst: Bytes::new(15_000),
    })
}

fn auditor() -> ConexAuditor {
    ConexAuditor::new(ConexAuditorParams {
        // A declaration comes after ten rounds over all users.
        allowance: Span::from_secs(10),
        slack: Bytes::new(6_000),
        tolerance: Share(0.02),
        losses: LossSign::Gap,
        memory: Bytes::new(64_000_000),
        secret: None,
    })
}

/// Returns the packet of this number, of all users: each sends one in turn.
fn packet(number: u64, users: u64) -> Passing {
    let (round, now) = (number / users, Time::from_nanos(number * GAP_NS));
    let user = (number * STRIDE % users) as u32;
    let marked = round % MARKS_ONE_IN == 0;
    let declares = round >= LATE && round % MARKS_ONE_IN == LATE;
    Passing {
        now,
        len: Bytes::new(1500),
        user,
        flow: user,
        sequence: Some(Sequence { connection: 1, number: round, sent: now }),
        is_ack: false,
        is_request: false,
        ecn: if marked { Ecn::Ce } else { Ecn::Ect1 },
        tunnel: None,
        tunnel_end: None,
        declared: Declared {
            conex: true,
            mark: declares,
            credit: round < 4,
            ..Declared::default()
        },
        signal: 0.0,
        lower_effort: false,
    }
}

fn passed(users: u64, packets: u64, mut pass: impl FnMut(&mut Passing) -> bool) -> u64 {
    (0..packets).map(|number| u64::from(pass(&mut packet(number, users)))).sum()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("give a stage, a number of users, and of packets");
    let (stage, users, packets) = (next()?, next()?.parse()?, next()?.parse()?);
    let (mut policer, mut auditor) = (policer(), auditor());
    let on = |passage: Passage| passage == Passage::On;
    println!(
        "{}",
        match &stage[..] {
            "conex-policer" => passed(users, packets, |own| on(policer.pass(own, || 0.5))),
            "conex-auditor" => passed(users, packets, |own| on(auditor.pass(own, || 0.5))),
            "none" => passed(users, packets, |own| own.len > Bytes::ZERO),
            other => return Err(format!("{other} is no stage here").into()),
        }
    );
    Ok(())
}
