//! The kernel's ConEx sender (`tidegate-bpf declare`) on real connections. Needs root and the program tidegate-bpf.

use crate::common::{self, HeldControls};

use std::path::Path;
use std::sync::atomic::AtomicBool;

use tidegate_lab::LabError;
use tidegate_lab::declare::Declaring;
use tidegate_lab::host::IpVersion;
use tidegate_lab::hosts::NetnsHosts;
use tidegate_lab::load::Generator;
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::Plan;
use tidegate_wire::packet;
use tidegate_wire::re_ecn::{self, ReEcnCodepoint};

const IPV4_HEADER: usize = 20;

/// Packets with payload that left the sender, by meaning, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    neutral: u64,
    positive: u64,
    credit: u64,
    outside: u64,
    marked: u64,
    dropped: u64,
    invalid_checksums: u64,
}

impl Tally {
    fn data(&self) -> u64 {
        self.neutral + self.positive + self.credit + self.outside
    }

    /// Counts a packet, marks one of `mark` and drops one of `drop`. Returns whether it goes on.
    fn forward(&mut self, bytes: &mut [u8], [mark, drop]: [u64; 2]) -> bool {
        let tcp_header = usize::from(bytes[IPV4_HEADER + 12] >> 4) * 4;
        if bytes.len() == IPV4_HEADER + tcp_header {
            return true;
        }
        if header_sum(bytes) != 0xFFFF {
            self.invalid_checksums += 1;
        }
        match re_ecn::read(bytes).expect("IPv4") {
            ReEcnCodepoint::NotMarked => self.neutral += 1,
            ReEcnCodepoint::ReEcho => self.positive += 1,
            ReEcnCodepoint::Credit => self.credit += 1,
            _ => self.outside += 1,
        }
        if self.data().is_multiple_of(drop) {
            self.dropped += 1;
            return false;
        }
        let view = packet::parse(bytes).expect("a packet of a kernel");
        if self.data().is_multiple_of(mark) && packet::set_ce(bytes, &view) {
            self.marked += 1;
        }
        true
    }
}

fn header_sum(bytes: &[u8]) -> u32 {
    let words = bytes[..IPV4_HEADER].chunks(2);
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    (sum >> 16) + (sum & 0xFFFF)
}

fn carry(hosts: &NetnsHosts, done: &AtomicBool, one_of: [u64; 2]) -> Tally {
    let mut tally = Tally::default();
    common::inspect(hosts, done, |bytes| tally.forward(bytes, one_of), |_| ());
    tally
}

/// Runs a plan with the senders' declarations, or without. `None` if this machine cannot.
fn run(plan: &Plan, program: Option<&Path>, one_of: [u64; 2]) -> Option<Tally> {
    common::undisturbed(Span::from_millis(100), || {
        let hosts =
            NetnsHosts::build(plan, IpVersion::V4).unwrap_or_else(|error| panic!("{error}"));
        let declaring = program.map(|program| Declaring::by(program, plan, &hosts)).transpose();
        let _declaring = match declaring {
            Ok(declaring) => declaring,
            Err(LabError::Missing(lines)) => {
                println!("skipped: {}", lines.join("; "));
                return (None, Span::ZERO);
            }
            Err(error) => panic!("{error}"),
        };
        let carry = |done: &AtomicBool| carry(&hosts, done, one_of);
        let (report, tally) = common::run_over(plan, &hosts, Generator::Own, carry);
        (Some(tally), report.stall)
    })
    .flatten()
}

fn plan(conex: &str) -> Plan {
    common::plan(&format!(
        "ecn = true\n[users.one.tcp]\necn = true\nfeedback = \"dctcp\"\nconex = {conex}\ncongestion_control = \"reno\"\n"
    ))
}

/// Marks and losses that are heard of are declared once each, packet by packet; what is missing is in flight or in the
/// last ACKs.
#[test]
fn each_mark_and_each_loss_is_declared_by_a_packet() {
    if common::skipped() {
        return;
    }
    let Some(program) = common::bpf_program() else { return };
    let Some(_held) = HeldControls::start() else { return };
    for one_of in [[20, u64::MAX], [u64::MAX, 50], [10, 40]] {
        let Some(tally) = run(&plan("\"per-signal\""), Some(&program), one_of) else { return };
        println!("{one_of:?}: {tally:?}");
        assert!(tally.data() > 500 && tally.marked + tally.dropped > 20, "{tally:?}");
        assert_eq!((tally.outside, tally.credit, tally.invalid_checksums), (0, 0, 0), "{tally:?}");
        let met = tally.marked + tally.dropped;
        assert!(met.abs_diff(tally.positive) <= 5 + met / 10, "{tally:?}");
    }
}

/// Credit for half of what is in flight; a liar gives it and declares nothing.
#[test]
fn by_re_ecn_credit_comes_first_and_a_liar_is_never_positive() {
    if common::skipped() {
        return;
    }
    let Some(program) = common::bpf_program() else { return };
    let Some(_held) = HeldControls::start() else { return };
    let honest = plan(r#"{ kind = "re-ecn", losses = true }"#);
    let Some(tally) = run(&honest, Some(&program), [20, u64::MAX]) else { return };
    println!("{tally:?}");
    assert!(tally.credit > 0 && tally.credit < tally.data() / 4, "{tally:?}");
    assert_eq!(tally.outside, 0, "{tally:?}");
    assert!(tally.marked.abs_diff(tally.positive) <= 5 + tally.marked / 5, "{tally:?}");
    let liar = plan(r#"{ kind = "re-ecn", cheat = "credit-alone" }"#);
    let Some(tally) = run(&liar, Some(&program), [20, u64::MAX]) else { return };
    assert!(tally.positive == 0 && tally.credit > 0 && tally.outside == 0, "{tally:?}");
}

/// A queue would mark packets of a connection that hears of no mark: they stay as the kernel makes them. Where no queue
/// marks, losses are declared all the same.
#[test]
fn a_connection_without_ecn_declares_only_where_no_queue_marks() {
    if common::skipped() {
        return;
    }
    let Some(program) = common::bpf_program() else { return };
    let with = |ecn: bool| {
        let users = format!("ecn = {ecn}\n[users.one.tcp]\necn = false\nconex = \"per-signal\"\n");
        run(&common::plan(&users), Some(&program), [u64::MAX, 50])
    };
    let Some(tally) = with(true) else { return };
    assert!(tally.outside == tally.data() && tally.data() > 100, "{tally:?}");
    let Some(tally) = with(false) else { return };
    assert!(tally.outside == 0 && tally.positive > 20, "{tally:?}");
    assert!(tally.dropped.abs_diff(tally.positive) <= 5 + tally.dropped / 10, "{tally:?}");
}

#[test]
fn without_the_program_packets_are_as_the_kernel_makes_them() {
    if common::skipped() {
        return;
    }
    let Some(program) = common::bpf_program() else { return };
    let Some(_held) = HeldControls::start() else { return };
    let plan = plan("\"per-signal\"");
    let Some(_) = run(&plan, Some(&program), [20, u64::MAX]) else { return };
    let Some(tally) = run(&plan, None, [20, u64::MAX]) else { return };
    assert_eq!(tally.outside, tally.data(), "{tally:?}");
}
