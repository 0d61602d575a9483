//! Kernel settings for a user's TCP, and deviations that cannot be configured.

use std::fs;

use tidegate_mechanisms::parameters::{Kind, ParameterValue, Parameters};
use tidegate_mechanisms::sender::{
    CubicGrowth, CubicParams, DctcpParams, RenoParams, SenderParams, SlowStartExit,
};
use tidegate_mechanisms::units::Span;
use tidegate_scenario::Scenario;
use tidegate_scenario::plan::{
    AfterTimeoutPlan, DelayedAckPlan, FeedbackPlan, RecoveryPlan, ReductionPlan, TcpPlan,
};

use crate::declare;
use crate::netlink::Metrics;

/// Linux, net/tcp.h: TCP_RTO_MIN, TCP_TIMEOUT_INIT, TCP_RTO_MAX, TCP_DELACK_MIN, quick ACKs.
const MIN_RTO: Span = Span::from_millis(200);
const INITIAL_RTO: Span = Span::from_secs(1);
const MAX_RTO: Span = Span::from_secs(120);
const DELAYED_ACK: Span = Span::from_millis(40);
const QUICK_ACKS: u32 = 16;

/// Settings of all hosts. Cached metrics of earlier connections would make runs depend on each other; buffers are those
/// of a kernel with default settings, regardless of the machine's.
pub const COMMON: &[(&str, &str)] = &[
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    // A flow's connections follow each other quickly, all to the same port.
    ("net.ipv4.ip_local_port_range", "20000 65535"),
];

/// Returns the settings of a user's host for the user's TCP.
pub fn sysctls(tcp: &TcpPlan) -> Vec<(&'static str, String)> {
    let selective = tcp.loss_recovery.is_selective();
    let number = |on: bool| u8::from(on).to_string();
    let mut all = vec![
        ("net.ipv4.tcp_ecn", number(tcp.ecn)),
        ("net.ipv4.tcp_ecn_fallback", number(tcp.ecn_fallback)),
        ("net.ipv4.tcp_timestamps", number(tcp.timestamps)),
        ("net.ipv4.tcp_sack", number(selective)),
        ("net.ipv4.tcp_frto", if tcp.frto { "2".into() } else { "0".into() }),
    ];
    if !tcp.slow_start_after_idle {
        all.push(("net.ipv4.tcp_slow_start_after_idle", number(false)));
    }
    if tcp.max_rto != MAX_RTO {
        all.push(("net.ipv4.tcp_rto_max_ms", millis(tcp.max_rto).to_string()));
    }
    all
}

/// Returns the settings of the server's host for all users' TCP.
pub fn server_sysctls(tcps: &[&TcpPlan]) -> Vec<(&'static str, String)> {
    let mut all = vec![("net.ipv4.tcp_ecn", "1".to_owned())];
    // Merged ACKs would hide marks from a sender that counts them.
    let counts = |tcp: &&TcpPlan| {
        matches!(tcp.congestion_control, SenderParams::Sbrm(_) | SenderParams::VegasCp(_))
            || declare::needs_each_mark(tcp)
    };
    if tcps.iter().any(counts) {
        all.push(("net.ipv4.tcp_backlog_ack_defer", "0".to_owned()));
    }
    all
}

/// Returns the metrics of a user's route to the server.
pub fn user_route(tcp: &TcpPlan) -> Metrics {
    Metrics {
        initial_window: Some(tcp.initial_window.0),
        min_rto_ms: (tcp.min_rto != MIN_RTO).then(|| millis(tcp.min_rto)),
        quick_ack: None,
        mtu: None,
    }
}

/// Returns the metrics of the server's route to a user.
pub fn server_route(tcp: &TcpPlan) -> Metrics {
    Metrics { quick_ack: tcp.delayed_acks().is_none().then_some(1), ..Metrics::default() }
}

/// Options that are configured in the kernel, or reported by [`deviations`] in a message of their own.
const SPOKEN_OF: &[&str] = &[
    "stack",
    "congestion_control",
    "loss_recovery",
    "window_reduction",
    "limited_transmit",
    "timestamps",
    "ecn",
    "feedback",
    "ecn_fallback",
    "ecn_to_one",
    "frto",
    "after_timeout",
    "rearm_on_retransmit",
    "rearm_on_partial_acks",
    "rearm_on_each_ack",
    "backoff_forgets_rtt",
    "progress_ends_backoff",
    "timer_wheel",
    "initial_window",
    "initial_ssthresh",
    "window_limit",
    "delayed_ack",
    "quick_acks",
    "quick_acks_again",
    "quick_acks_out_of_order",
    "adaptive_delayed_ack",
    "receive_autotuning",
    "quick_push",
    "segment_bursts",
    "pacing",
    "window_use_per_round",
    "slow_start_after_idle",
    "forgiven_requests",
    "min_rto",
    "max_rto",
    "initial_rto",
    "min_rto_bounds_variance",
    "conex",
];
/// Such parameters of congestion controls.
const SPOKEN_OF_CONTROLS: &[(&str, &str)] = &[
    ("reno", "whole_segments"),
    ("reno", "byte_counting"),
    ("dctcp", "whole_segments"),
    ("dctcp", "byte_counting"),
    ("cubic", "slow_start_exit"),
    ("cubic", "growth"),
    ("sbrm", "willingness_to_pay"),
    ("sbrm", "kappa"),
    ("tcp-rm", "willingness_to_pay"),
    ("tcp-rm", "kappa"),
    ("vegas-cp", "willingness_to_pay"),
    ("vegas-cp", "history"),
    ("vegas-cp", "slow_start"),
];

/// Returns the TCP options of the kernel's profile with this congestion control; `None` if it has required parameters.
fn of_kernels(control: &SenderParams) -> Option<TcpPlan> {
    let name = control.about().name;
    let text = format!(
        "version = 1\nbottleneck.rate = \"1 Mb/s\"\nusers.a.tcp = {{ congestion_control = \"{name}\", ecn = true }}\n\
         price_encoding = {{ kind = \"one-bit\", base = 1.06 }}\n\
         bottleneck.aqm = {{ kind = \"pc3\", target = \"9 packets\" }}\n"
    );
    let plan = Scenario::parse(&text, &[]).ok()?.plan();
    plan.flows.first()?.tcp.as_deref().cloned()
}

/// Returns options that differ from the kernel's behaviour, and are not configured.
fn omitted(tcp: &TcpPlan) -> Vec<String> {
    let Some(kernels) = of_kernels(&tcp.congestion_control) else { return Vec::new() };
    let pairs = || TcpPlan::ALL.iter().zip(tcp.to_values().into_iter().zip(kernels.to_values()));
    let differs = |name: &str, own: &ParameterValue, kernels: &ParameterValue| {
        !SPOKEN_OF.contains(&name) && own != kernels
    };
    let mut keys = Vec::new();
    for (option, (own, kernels)) in pairs() {
        match (option.kind, own, kernels) {
            (Kind::Nested(form), ParameterValue::Nested(own), ParameterValue::Nested(kernels)) => {
                let quirks = form.parameters.iter().zip(own.iter().zip(&kernels));
                let quirks =
                    quirks.filter(|(quirk, (own, kernels))| differs(quirk.name, own, kernels));
                keys.extend(quirks.map(|(quirk, _)| format!("{}.{}", option.name, quirk.name)));
            }
            (_, own, kernels) if differs(option.name, &own, &kernels) => {
                keys.push(option.name.to_owned());
            }
            _ => {}
        }
    }
    let of_control = pairs().find(|(option, _)| option.name == "congestion_control");
    if let Some((option, (ParameterValue::Choice(place, own), ParameterValue::Choice(_, kernels)))) =
        of_control
        && let Kind::Choice(offer) = option.kind
    {
        let (name, _, parameters) = offer.kinds[place];
        for (parameter, (own, kernels)) in parameters.iter().zip(own.into_iter().zip(kernels)) {
            if own != kernels && !SPOKEN_OF_CONTROLS.contains(&(name, parameter.name)) {
                keys.push(format!("{} of {name}", parameter.name));
            }
        }
    }
    keys
}

/// Returns the deviations of the kernel's TCP from the plan that cannot be configured.
pub fn deviations(tcp: &TcpPlan) -> Vec<String> {
    let mut all = Vec::new();
    let mut note = |differs: bool, text: &str| all.extend(differs.then(|| text.to_owned()));
    let other = matches!(tcp.loss_recovery, RecoveryPlan::Sack | RecoveryPlan::Fack);
    note(other, "loss recovery is the kernel's RACK-TLP (RFC 8985)");
    note(tcp.loss_recovery == RecoveryPlan::Reno, "loss recovery is NewReno, not Reno");
    note(tcp.loss_recovery == RecoveryPlan::Tahoe, "loss recovery is NewReno, not Tahoe");
    note(tcp.window_reduction != ReductionPlan::Prr, "windows shrink by PRR (RFC 6937)");
    note(!tcp.window_use_per_round, "windows grow if they were full within a round trip");
    note(!tcp.limited_transmit, "limited transmit (RFC 3042) is always on");
    note(tcp.after_timeout == AfterTimeoutPlan::GoBackN, "a timeout keeps what is sacked");
    note(
        !tcp.rearm_on_retransmit,
        "retransmissions of the first missing segment restart the timer",
    );
    note(tcp.quirks.rearm_on_each_ack, "only ACKs of new data restart the timer");
    note(tcp.quirks.backoff_forgets_rtt, "timeouts forget no round trip");
    note(
        tcp.quirks.progress_ends_backoff,
        "a round trip that was measured ends the doubling of timeouts",
    );
    note(!tcp.rearm_on_partial_acks, "each ACK of new data restarts the timer");
    note(!tcp.segment_bursts, "segments leave in bursts, as the kernel offloads their making");
    let paced = tcp.congestion_control.is_paced();
    note(tcp.pacing == Some(false) && paced, "segments are paced, as its controller asks for");
    let mark_feedback = TcpPlan { feedback: None, ..tcp.clone() }.mark_feedback();
    note(
        tcp.mark_feedback() != mark_feedback && !declare::needs_each_mark(tcp),
        "marks are echoed as the kernel's controller has it",
    );
    note(
        declare::needs_each_mark(tcp) && tcp.mark_feedback() == Some(FeedbackPlan::Accurate),
        "marks are reported as DCTCP's receiver does, since the kernel's accurate ECN is not switched on",
    );
    note(tcp.ecn && tcp.ecn_to_one, "marks leave a window of two segments");
    note(tcp.forgiven_requests != 1, "the second request that is lost leaves one segment at first");
    note(tcp.initial_ssthresh.is_some(), "slow start has no threshold at first");
    note(tcp.initial_rto != INITIAL_RTO, "the first timeout is after 1 s");
    note(
        !tcp.min_rto_bounds_variance,
        "the smallest timeout bounds 4 rttvar, not the sum with srtt",
    );
    if let Some(DelayedAckPlan {
        timeout,
        quick_acks,
        quick_acks_again,
        quick_acks_out_of_order,
        adaptive: _,
        autotuning,
        quick_push,
    }) = tcp.delayed_acks()
    {
        note(timeout != DELAYED_ACK, "ACKs are delayed by 40 ms and more, as the kernel estimates");
        note(quick_acks != QUICK_ACKS, "up to 16 ACKs are quick at the start of a connection");
        note(quick_acks_out_of_order, "ACKs are not quick after a segment out of order");
        note(!quick_acks_again, "ACKs are quick again after a silence");
        note(!autotuning, "ACKs are quick while the receiver's window grows");
        note(!quick_push, "the ACK of a transfer's last segment is quick");
    }
    match &tcp.congestion_control {
        SenderParams::Reno(RenoParams { whole_segments, byte_counting })
        | SenderParams::Dctcp(DctcpParams { whole_segments, byte_counting }) => {
            note(!whole_segments, "the window moves in whole segments");
            note(!byte_counting, "the window counts segments, not ACKs");
        }
        SenderParams::Cubic(CubicParams { slow_start_exit, growth, beta: _ }) => {
            let (wanted, has) = (*slow_start_exit != SlowStartExit::Loss, kernel_hystart());
            let other = wanted && !matches!(slow_start_exit, SlowStartExit::LinuxHyStart(_));
            note(other && has, "slow start ends by the kernel's HyStart");
            note(wanted && !has, "CUBIC's HyStart is switched off on this machine");
            note(!wanted && has, "CUBIC's HyStart is switched on on this machine");
            note(*growth != CubicGrowth::Linux, "CUBIC's window is computed as Linux does");
        }
        _ => {}
    }
    let keys = omitted(tcp);
    if !keys.is_empty() {
        all.push(format!("as the kernel has it, not as given ({})", keys.join(", ")));
    }
    all
}

/// Whether HyStart is enabled: a parameter of the module, common to all namespaces; compiled in, it has a file as well.
fn kernel_hystart() -> bool {
    let value = fs::read_to_string("/sys/module/tcp_cubic/parameters/hystart");
    value.map_or(true, |text| text.trim() != "0")
}

fn millis(span: Span) -> u32 {
    (span.as_nanos() / 1_000_000) as u32
}
