//! ConEx senders on kernels that have none: `tidegate-bpf declare` writes what sockets declare into their packets.
//!
//! IPv4 has one codepoint for a loss and a mark, so that senders declare as in the ConEx paper (`per-signal`) or by
//! re-ECN. In IPv6 the programs insert the option of RFC 7837, which tells losses, marks and credit apart. The programs are in the kernel as long as that process runs, which ends with this one.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tidegate_mechanisms::stage::Declared;
use tidegate_scenario::plan::{
    CarrierPlan, CheatPlan, ConexPlan, CreditPlan, FeedbackPlan, FlowPlan, LossesPlan, PerSignal,
    Plan, ReEcn, Rfc7786, TcpPlan, Understate,
};
use tidegate_simulator::CongestionHeader;
use tidegate_wire::conex::HEADER_LEN;

use crate::LabError;
use crate::header::re_ecn_of;
use crate::host::{DEVICE, IPV6_MIN_MTU, IpVersion};
use crate::hosts::{NetnsHosts, mtu};

/// The program that has ours for the kernel.
const PROGRAM: &str = "tidegate-bpf";

/// Whether a flow's kernel declares its congestion.
pub fn declares(tcp: &TcpPlan) -> bool {
    tcp.conex != ConexPlan::Off
}

/// Whether the receiver has to report each mark, which the kernel does as DCTCP's receiver.
pub fn needs_each_mark(tcp: &TcpPlan) -> bool {
    let exact = |feedback| feedback != FeedbackPlan::Classic;
    declares(tcp) && tcp.mark_feedback().is_some_and(exact)
}

/// Congestion controls whose receivers report each mark: the kernel's, and ours.
pub const EXACT_RECEIVERS: [&str; 2] = ["dctcp", "tg_sbrm"];

/// Whether the receiver needs another congestion control than the sender's, to report each mark.
pub fn needs_other_receiver(tcp: &TcpPlan) -> bool {
    needs_each_mark(tcp) && !tcp.congestion_control.is_scalable()
}

/// Returns why a kernel cannot declare as a flow does; none if it can.
pub fn rejected(plan: &Plan, flow: &FlowPlan, ip: IpVersion) -> Option<String> {
    let tcp = flow.tcp.as_deref().filter(|tcp| declares(tcp))?;
    if ip == IpVersion::V4 && !tcp.ecn && plan.links.iter().any(|link| link.ecn) {
        return Some(
            "tcp.conex: declaring packets are ECN-capable, and a queue here marks: give tcp.ecn = true, or \
             bottleneck.ecn = false"
                .to_owned(),
        );
    }
    if ip == IpVersion::V6 && mtu(plan, flow.user) < IPV6_MIN_MTU + option_bytes(tcp, ip) {
        let message = "tcp.conex: the option takes 8 bytes, and packets of IPv6 have 1280 B at least: give packet_size = \
                       \"1288 B\" or more";
        return Some(message.to_owned());
    }
    rule(tcp, ip).err().map(|what| format!("tcp.conex: no kernel here {what}; simulate it"))
}

/// Bytes of the option in each packet that a kernel declares in, with its header; in IPv4 none.
pub fn option_bytes(tcp: &TcpPlan, ip: IpVersion) -> u32 {
    if declares(tcp) && ip == IpVersion::V6 { HEADER_LEN as u32 } else { 0 }
}

/// Returns the keys of `tidegate-bpf declare`, or what it has not.
fn rule(tcp: &TcpPlan, ip: IpVersion) -> Result<String, &'static str> {
    let echo = if needs_each_mark(tcp) { "each" } else { "round-trip" };
    match &tcp.conex {
        ConexPlan::Off => Err("declares nothing"),
        ConexPlan::Rfc7786(_) if ip == IpVersion::V4 => Err(
            "tells losses, marks and credit apart, for which IPv4 has one codepoint (per-signal and re-ecn run; with \
             --ip 6 rfc7786 does)",
        ),
        ConexPlan::Rfc7786(Rfc7786 { credit, carrier, repeats_lost, cheat }) => {
            if *repeats_lost {
                return Err("repeats lost declarations (give repeats_lost = false)");
            }
            if *carrier != CarrierPlan::Any {
                return Err("chooses carriers of declarations");
            }
            let (credit, share) = (credit_key(*credit, cheat), share(cheat)?);
            Ok(format!("unit=payload,echo={echo},credit={credit},share={share}"))
        }
        ConexPlan::PerSignal(PerSignal { losses, carrier, repeats_lost, cheat }) => {
            if (*losses, *carrier, *repeats_lost) != (LossesPlan::Each, CarrierPlan::Any, false) {
                return Err("chooses losses or carriers of declarations");
            }
            Ok(format!("unit=packets,echo={echo},share={}", share(cheat)?))
        }
        ConexPlan::ReEcn(_) if ip == IpVersion::V6 => {
            Err("writes re-ECN's bit, which is in IPv4's header, into IPv6 (use --ip 4)")
        }
        ConexPlan::ReEcn(ReEcn { credit, losses, idle, cheat }) => {
            let credit = credit_key(*credit, cheat);
            let losses = if *losses { "yes" } else { "no" };
            let (share, idle_ms) = (share(cheat)?, idle.as_nanos() / 1_000_000);
            Ok(format!(
                "unit=bytes,echo={echo},losses={losses},credit={credit},idle_ms={idle_ms},share={share}"
            ))
        }
    }
}

/// Returns the program's word for the credit that a sender gives.
fn credit_key(credit: CreditPlan, cheat: &CheatPlan) -> &'static str {
    match credit {
        _ if matches!(cheat, CheatPlan::Never(_)) => "off",
        CreditPlan::Flight => "flight",
        CreditPlan::HalfFlight => "half-flight",
        CreditPlan::Off => "off",
    }
}

/// Returns the share of the congestion that a sender declares.
fn share(cheat: &CheatPlan) -> Result<f64, &'static str> {
    match cheat {
        CheatPlan::None => Ok(1.0),
        CheatPlan::Never(_) | CheatPlan::CreditAlone(_) => Ok(0.0),
        CheatPlan::Understate(Understate { share }) => Ok(share.0),
        _ => Err("lies in this way (never, credit-alone and understate run)"),
    }
}

/// Whether a flow's IPv4 packets declare for ConEx in the codepoints of re-ECN.
pub fn is_conex(flow: &FlowPlan) -> bool {
    let per_signal = |tcp: &TcpPlan| matches!(tcp.conex, ConexPlan::PerSignal(_));
    flow.tcp.as_deref().is_some_and(per_signal)
}

/// Returns the header of a packet of such a flow, as stages for ConEx read it.
pub fn as_conex(header: CongestionHeader) -> CongestionHeader {
    use tidegate_mechanisms::stage::ReEcn;
    let says = re_ecn_of(header);
    let declared = Declared {
        conex: says != ReEcn::Outside,
        loss: false,
        mark: matches!(says, ReEcn::Positive | ReEcn::Cancelled),
        credit: says == ReEcn::Credit,
        re: header.declared.re,
    };
    CongestionHeader { declared, ..header }
}

/// Returns the header as it is on the wire.
pub fn as_sent(header: CongestionHeader) -> CongestionHeader {
    let declared = Declared { re: header.declared.re, ..Declared::default() };
    CongestionHeader { declared, ..header }
}

/// The programs at the devices of a run's users, until dropped.
#[derive(Debug)]
pub struct Declaring(Option<Child>);

impl Declaring {
    /// Attaches a program for each user who declares; nothing if there is none.
    pub fn start(plan: &Plan, hosts: &NetnsHosts) -> Result<Self, LabError> {
        Self::by(&program(), plan, hosts)
    }

    /// As [`Declaring::start`], with the `tidegate-bpf` at this path.
    pub fn by(program: &Path, plan: &Plan, hosts: &NetnsHosts) -> Result<Self, LabError> {
        let targets = targets(plan, hosts)?;
        if targets.is_empty() {
            return Ok(Declaring(None));
        }
        let child = Command::new(program)
            .arg("declare")
            .args(targets)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| {
            let name = program.display();
            LabError::Missing(vec![format!(
                "the program {name}, which lets kernels declare congestion: {error}; `make setup` builds it where \
                 clang is"
            )])
        })?;
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("is a pipe"));
        let read = output.read_line(&mut line);
        if read.is_ok() && line == "ready\n" {
            return Ok(Declaring(Some(child)));
        }
        let mut text = String::new();
        let _ = child.stderr.take().expect("is a pipe").read_to_string(&mut text);
        let code = child.wait().ok().and_then(|status| status.code());
        let text = text.trim_end().to_owned();
        Err(if code == Some(77) { LabError::Missing(vec![text]) } else { LabError::Setup(text) })
    }
}

impl Drop for Declaring {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

fn targets(plan: &Plan, hosts: &NetnsHosts) -> Result<Vec<String>, LabError> {
    let mut targets = Vec::new();
    for (number, user) in hosts.users.iter().enumerate() {
        let mut flows = plan.flows.iter().filter(|flow| flow.user == number);
        let Some(tcp) = flows.find_map(|flow| flow.tcp.as_deref()).filter(|tcp| declares(tcp))
        else {
            continue;
        };
        let without_ecn = if plan.links.iter().any(|link| link.ecn) { "leave" } else { "declare" };
        let rule =
            rule(tcp, hosts.ip).map_err(|what| LabError::Setup(format!("tcp.conex: {what}")))?;
        user.cut_bursts().map_err(|error| LabError::Setup(format!("{DEVICE}: {error}")))?;
        let (process, descriptor) = (std::process::id(), user.namespace.as_fd().as_raw_fd());
        targets
            .push(format!(
                "{DEVICE},netns=/proc/{process}/fd/{descriptor},link_header=0,without_ecn={without_ecn},{rule}"
            ));
    }
    Ok(targets)
}

/// Returns the program: that of the environment, or beside this one, or on the PATH.
fn program() -> PathBuf {
    let named = env::var_os("TIDEGATE_BPF").map(PathBuf::from);
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    let found = named.or_else(|| beside.filter(|path| path.exists()));
    found.unwrap_or_else(|| PathBuf::from(PROGRAM))
}

/// Returns why kernels cannot declare here: what the program lacks, a line each.
pub fn missing() -> Vec<String> {
    let checked = Command::new(program()).arg("check-declare").stdin(Stdio::null()).output();
    match checked {
        Ok(output) if output.status.success() => Vec::new(),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            text.lines().map(str::to_owned).collect()
        }
        Err(error) => vec![format!("{}: {error}", program().display())],
    }
}
