//! Fields of `tcp_info` for assertions, as far as the simulated host provides them.

use tidegate_mechanisms::units::Span;
use tidegate_simulator::host::{CongestionState, SenderInfo};

use crate::code::{Names, Value};
use crate::endpoint::{Endpoint, State};

/// Value of the slow start threshold before the first congestion (Linux).
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;

const CONSTANTS: [(&str, i64); 10] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_CLOSE", 7),
    ("TCP_LISTEN", 10),
];

/// Returns the current values by name.
pub fn of(host: &Endpoint) -> Names {
    let mut facts: Vec<(&str, i64)> = CONSTANTS.to_vec();
    let state = match host.state() {
        State::Closed => 7,
        State::Listening => 10,
        State::Requested => 2,
        State::Answered => 3,
        State::Open => 1,
    };
    facts.push(("tcpi_state", state));
    facts.push(("tcpi_snd_mss", i64::from(host.mss())));
    if let Some(info) = host.info() {
        facts.extend(of_sender(&info));
    }
    facts.into_iter().map(|(name, fact)| (name.to_owned(), Value::Number(fact))).collect()
}

/// Returns the names that can have a value.
pub fn known() -> Names {
    let nothing = of_sender(&SenderInfo {
        state: CongestionState::Open,
        cwnd: 0,
        ssthresh: None,
        unacked: 0,
        sacked: 0,
        lost: 0,
        retransmitted: 0,
        retransmits: 0,
        reordering: 0,
        reorderings: 0,
        srtt: None,
        min_rtt: None,
        rto: Span::ZERO,
        marked: 0,
        delivered_bytes: [0; 3],
    });
    let names = CONSTANTS.into_iter().chain([("tcpi_state", 0), ("tcpi_snd_mss", 0)]);
    names.chain(nothing).map(|(name, fact)| (name.to_owned(), Value::Number(fact))).collect()
}

fn of_sender(info: &SenderInfo) -> [(&'static str, i64); 17] {
    let micros = |span: Option<Span>| span.map_or(0, |span| (span.as_nanos() / 1000) as i64);
    let state = match info.state {
        CongestionState::Open => 0,
        CongestionState::Disorder => 1,
        CongestionState::Reduced => 2,
        CongestionState::Recovery => 3,
        CongestionState::Loss => 4,
    };
    [
        ("tcpi_ca_state", state),
        ("tcpi_snd_cwnd", i64::from(info.cwnd)),
        ("tcpi_snd_ssthresh", info.ssthresh.map_or(INFINITE_SSTHRESH, i64::from)),
        ("tcpi_unacked", i64::from(info.unacked)),
        ("tcpi_sacked", i64::from(info.sacked)),
        ("tcpi_lost", i64::from(info.lost)),
        ("tcpi_retrans", i64::from(info.retransmitted)),
        ("tcpi_total_retrans", info.retransmits as i64),
        ("tcpi_reordering", i64::from(info.reordering)),
        ("tcpi_reord_seen", i64::from(info.reorderings)),
        ("tcpi_rtt", micros(info.srtt)),
        ("tcpi_min_rtt", micros(info.min_rtt)),
        ("tcpi_delivered_ce", info.marked as i64),
        ("tcpi_delivered_e0_bytes", info.delivered_bytes[0] as i64),
        ("tcpi_delivered_ce_bytes", info.delivered_bytes[1] as i64),
        ("tcpi_delivered_e1_bytes", info.delivered_bytes[2] as i64),
        ("tcpi_rto", micros(Some(info.rto))),
    ]
}
