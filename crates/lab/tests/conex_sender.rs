//! The kernel's ConEx sender (`tidegate-bpf declare`) on real connections. Needs root and the program tidegate-bpf.

use crate::common::{self, HeldControls};

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;

use tidegate_lab::LabError;
use tidegate_lab::declare::Declaring;
use tidegate_lab::host::IpVersion;
use tidegate_lab::hosts::NetnsHosts;
use tidegate_lab::load::Generator;
use tidegate_mechanisms::units::Span;
use tidegate_scenario::plan::Plan;
use tidegate_wire::conex::{Cdo, Conex, Declaration};
use tidegate_wire::packet::{self, View};
use tidegate_wire::re_ecn::{self, ReEcnCodepoint};

const IPV4_HEADER: usize = 20;

/// Packets with payload that left the sender, by meaning, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    neutral: u64,
    positive: u64,
    /// Of the positive ones, where the header tells them apart: those that declare losses, and marks.
    losses: u64,
    marks: u64,
    credit: u64,
    outside: u64,
    marked: u64,
    dropped: u64,
    invalid_checksums: u64,
    longest: usize,
}

impl Tally {
    fn data(&self) -> u64 {
        self.neutral + self.positive + self.credit + self.outside
    }

    /// Counts a packet, marks one of `mark` and drops one of `drop`. Returns whether it goes on.
    fn forward(&mut self, bytes: &mut [u8], [mark, drop]: [u64; 2]) -> bool {
        let view = packet::parse(bytes).expect("a packet of a kernel");
        if !carries_payload(bytes, &view) {
            return true;
        }
        self.longest = self.longest.max(bytes.len());
        match view.source.is_ipv4() {
            true => self.count_v4(bytes),
            false => self.count_v6(bytes, &view),
        }
        if self.data().is_multiple_of(drop) {
            self.dropped += 1;
            return false;
        }
        if self.data().is_multiple_of(mark) && packet::set_ce(bytes, &view) {
            self.marked += 1;
        }
        true
    }
}

impl Tally {
    fn count_v4(&mut self, bytes: &[u8]) {
        if header_sum(bytes) != 0xFFFF {
            self.invalid_checksums += 1;
        }
        match re_ecn::read(bytes).expect("IPv4") {
            ReEcnCodepoint::NotMarked => self.neutral += 1,
            ReEcnCodepoint::ReEcho => self.positive += 1,
            ReEcnCodepoint::Credit => self.credit += 1,
            _ => self.outside += 1,
        }
    }

    fn count_v6(&mut self, bytes: &[u8], view: &View) {
        let found = packet::find_conex(bytes, view, Cdo::default(), 0).expect("valid options");
        let Some(Declaration { loss, mark, credit }) =
            found.and_then(|(conex, _)| Conex::declaration(conex))
        else {
            self.outside += 1;
            return;
        };
        self.losses += u64::from(loss);
        self.marks += u64::from(mark);
        match () {
            () if loss || mark => self.positive += 1,
            () if credit => self.credit += 1,
            () => self.neutral += 1,
        }
    }
}

/// Whether a TCP packet has payload.
fn carries_payload(bytes: &[u8], view: &View) -> bool {
    let tcp_header = usize::from(bytes[view.transport_offset + 12] >> 4) * 4;
    bytes.len() > view.transport_offset + tcp_header
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
    run_by(IpVersion::V4, plan, program, |hosts, done| carry(hosts, done, one_of))
}

/// As [`run`], over packets of this version that `carry` carries.
fn run_by<T: Send>(
    ip: IpVersion,
    plan: &Plan,
    program: Option<&Path>,
    carry: impl Fn(&NetnsHosts, &AtomicBool) -> T + Sync,
) -> Option<T> {
    common::undisturbed(Span::from_millis(100), || {
        let hosts = NetnsHosts::build(plan, ip).unwrap_or_else(|error| panic!("{error}"));
        let declaring = program.map(|program| Declaring::by(program, plan, &hosts)).transpose();
        let _declaring = match declaring {
            Ok(declaring) => declaring,
            Err(LabError::Missing(lines)) => {
                println!("skipped: {}", lines.join("; "));
                return (None, Span::ZERO);
            }
            Err(error) => panic!("{error}"),
        };
        let carry = |done: &AtomicBool| carry(&hosts, done);
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

#[test]
fn a_liar_declares_the_share_that_it_admits() {
    if common::skipped() {
        return;
    }
    let Some(program) = common::bpf_program() else { return };
    let Some(_held) = HeldControls::start() else { return };
    for (cheat, percent) in [("\"never\"", 0), ("{ kind = \"understate\", share = 0.5 }", 50)] {
        let plan = plan(&format!("{{ kind = \"per-signal\", cheat = {cheat} }}"));
        let Some(tally) = run(&plan, Some(&program), [10, 40]) else { return };
        println!("{cheat}: {tally:?}");
        assert_eq!((tally.outside, tally.credit), (0, 0), "{tally:?}");
        let met = tally.marked + tally.dropped;
        assert!(met > 100, "{tally:?}");
        let slack = if percent == 0 { 0 } else { 5 + met / 10 };
        assert!((met * percent / 100).abs_diff(tally.positive) <= slack, "{tally:?}");
    }
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

/// In IPv6 the option tells losses from marks, and takes eight bytes that the segments leave room for.
#[test]
fn in_ipv6_each_mark_and_each_loss_is_declared_as_what_it_is() {
    if common::skipped() {
        return;
    }
    let Some(program) = common::bpf_program() else { return };
    let Some(_held) = HeldControls::start() else { return };
    for (conex, one_of) in [
        ("\"per-signal\"", [20, u64::MAX]),
        ("\"per-signal\"", [u64::MAX, 50]),
        ("\"per-signal\"", [10, 40]),
        (r#"{ kind = "rfc7786", repeats_lost = false }"#, [10, 40]),
    ] {
        let plan = plan(conex);
        let carry = |hosts: &NetnsHosts, done: &AtomicBool| carry(hosts, done, one_of);
        let Some(tally) = run_by(IpVersion::V6, &plan, Some(&program), carry) else { return };
        println!("{conex} {one_of:?}: {tally:?}");
        assert!(tally.data() > 500 && tally.marked + tally.dropped > 20, "{tally:?}");
        assert_eq!((tally.outside, tally.longest), (0, 1500), "{tally:?}");
        assert_eq!(tally.credit > 0, conex.contains("rfc7786"), "{tally:?}");
        for (met, declared) in [(tally.marked, tally.marks), (tally.dropped, tally.losses)] {
            assert!(met.abs_diff(declared) <= 5 + met / 10, "{tally:?}");
        }
    }
}

/// A packet of a capture, and the numbers of losses and marks before it.
struct Captured {
    bytes: Vec<u8>,
    met_before: [u64; 2],
}

/// Returns a capture file (libpcap 2.4, raw IP) of these packets, 1 ms apart.
fn capture_file(packets: &[Captured]) -> Vec<u8> {
    let words = [0xA1B2_C3D4, 2 | 4 << 16, 0, 0, 65_535, 101];
    let mut file: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    for (number, packet) in packets.iter().enumerate() {
        let (ms, len) = (number as u32, packet.bytes.len() as u32);
        let words = [ms / 1000, ms % 1000 * 1000, len, len];
        file.extend(words.into_iter().flat_map(u32::to_le_bytes));
        file.extend(&packet.bytes);
    }
    file
}

/// Returns the fields that tshark reads of each packet; `None` without tshark.
fn fields_of(file: &[u8], names: &[&str]) -> Option<Vec<Vec<String>>> {
    let fields = names.iter().flat_map(|name| ["-e", *name]);
    let child = Command::new("tshark")
        .args(["-r", "-", "-T", "fields", "-E", "separator=,", "-E", "aggregator=;"])
        .args(fields)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: there is no tshark");
        return None;
    };
    let mut input = child.stdin.take().expect("is a pipe");
    let output = thread::scope(|scope| {
        scope.spawn(move || input.write_all(file).expect("reads to the end"));
        child.wait_with_output().expect("has started")
    });
    let text = String::from_utf8(output.stdout).expect("prints text");
    let line = |line: &str| line.split(',').map(str::to_owned).collect();
    Some(text.lines().map(line).collect())
}

/// Of a capture at the sender, tshark decodes each declaration, and each has a mark or a loss of its own before it left; in
/// IPv6, of the kind that it declares.
#[test]
fn each_captured_declaration_is_decoded_by_tshark_and_accounted_for() {
    if common::skipped() {
        return;
    }
    let Some(program) = common::bpf_program() else { return };
    let Some(_held) = HeldControls::start() else { return };
    for ip in [IpVersion::V4, IpVersion::V6] {
        let carry = |hosts: &NetnsHosts, done: &AtomicBool| {
            let (mut tally, mut packets) = (Tally::default(), Vec::new());
            let forward = |bytes: &mut [u8]| {
                let (sent, met_before) = (bytes.to_vec(), [tally.dropped, tally.marked]);
                let data = tally.data();
                let passes = tally.forward(bytes, [100, 250]);
                if tally.data() > data {
                    packets.push(Captured { bytes: sent, met_before });
                }
                passes
            };
            common::inspect(hosts, done, forward, |_| ());
            packets
        };
        let plan = plan("\"per-signal\"");
        let Some(packets) = run_by(ip, &plan, Some(&program), carry) else { return };
        let names = match ip {
            IpVersion::V4 => ["ip.dsfield.ecn", "ip.flags.rb", "tcp.len"],
            IpVersion::V6 => ["ipv6.opt.type", "ipv6.opt.experimental", "tcp.len"],
        };
        let Some(decoded) = fields_of(&capture_file(&packets), &names) else { return };
        assert_eq!(decoded.len(), packets.len());
        let (mut declared, mut used) = (0, [0; 2]);
        for (fields, packet) in decoded.iter().zip(&packets) {
            assert!(fields[2].parse::<u32>().is_ok_and(|bytes| bytes > 0), "{fields:?}");
            // Kinds that may have been met: losses are 0, marks are 1.
            let kinds: &[usize] = match (ip, &fields[0][..], &fields[1][..]) {
                // ECT(1), and RE clear or set.
                (IpVersion::V4, "1", "0") => &[0, 1],
                (IpVersion::V4, "1", "1") => continue,
                // The option and its padding: X, and L or E.
                (IpVersion::V6, "0x1e;0x01", "c0") => &[0],
                (IpVersion::V6, "0x1e;0x01", "a0") => &[1],
                (IpVersion::V6, "0x1e;0x01", "80") => continue,
                _ => panic!("{fields:?} is nothing that such a sender writes"),
            };
            declared += 1;
            let own = kinds.iter().find(|kind| used[**kind] < packet.met_before[**kind]);
            own.into_iter().for_each(|kind| used[*kind] += 1);
        }
        let accounted_for: u64 = used.iter().sum();
        println!("{ip:?}: {accounted_for} of {declared} declarations accounted for");
        assert!(declared >= 36, "{declared} of {} packets", packets.len());
        // All on a quiet machine. On a busy one TCP retransmits what is not lost, and declares it until it knows.
        assert!(10 * accounted_for >= 9 * declared, "{ip:?}: {accounted_for} of {declared}");
    }
}
