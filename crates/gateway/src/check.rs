//! What stands in the way, before anything is attached: rights, kernel, interfaces, queues, and ways around tc.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use crate::error::Error;
use crate::netlink::{Device, Netlink};
use crate::programs::{self, Attachment};
use crate::settings::{Settings, SignalParams};

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// As it should be.
    Ok,
    /// It works, but not as one may think.
    Warning,
    /// It does not work.
    Error,
}

impl Grade {
    const fn word(self) -> &'static str {
        match self {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Error => "error",
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How grave it is.
    pub grade: Grade,
    /// For people.
    pub text: String,
}

fn finding(grade: Grade, text: impl Into<String>) -> Finding {
    Finding { grade, text: text.into() }
}

/// Looks at everything.
///
/// # Errors
/// If netlink does not answer.
pub fn all(settings: &Settings) -> Result<Vec<Finding>, Error> {
    let mut findings = vec![kernel(), rights()];
    let mut netlink = Netlink::open().map_err(|error| Error::of("netlink", &error))?;
    for (name, what, signal, direction) in [
        (&settings.interface, "interface", &settings.download, "downloads"),
        (&settings.uplink, "uplink", &settings.upload, "uploads"),
    ] {
        let Some(name) = name else {
            findings.push(finding(Grade::Error, format!("{what}: not named")));
            continue;
        };
        let found = netlink.device(name).map_err(|error| Error::of(name, &error))?;
        let Some(device) = found else {
            findings.push(finding(Grade::Error, format!("{what} {name}: there is no such device")));
            continue;
        };
        if what == "interface" {
            findings.extend(of_interface(&device));
        }
        if !device.is_up {
            findings.push(finding(Grade::Warning, format!("{what} {name}: it is down")));
        }
        if matches!(signal, SignalParams::OwnQueue(_)) {
            findings.push(queue(&mut netlink, &device, direction)?);
        }
    }
    Ok(findings)
}

fn kernel() -> Finding {
    match Attachment::of_kernel() {
        Attachment::Tcx => finding(Grade::Ok, "the kernel has tcx"),
        Attachment::Clsact if programs::kernel_is(5, 12) => {
            finding(Grade::Ok, "the kernel has no tcx (Linux 6.6); programs hang on clsact")
        }
        Attachment::Clsact => finding(Grade::Error, "Linux 5.12 or later is needed"),
    }
}

fn rights() -> Finding {
    match rustix::process::geteuid().is_root() {
        true => finding(Grade::Ok, "it runs as root"),
        false => finding(
            Grade::Warning,
            "it does not run as root: it takes CAP_BPF and CAP_NET_ADMIN, and a folder in a bpffs that is this user's",
        ),
    }
}

fn of_interface(device: &Device) -> Vec<Finding> {
    let name = &device.name;
    let mut findings = Vec::new();
    match device.kind.as_str() {
        "bridge" => findings.push(finding(
            Grade::Error,
            format!(
                "{name} is a bridge: what it forwards between its ports does not pass it; name the port towards the \
                 customers"
            ),
        )),
        kind => {
            let kind = if kind.is_empty() { "a card" } else { kind };
            findings.push(finding(Grade::Ok, format!("interface {name}: {kind}")));
        }
    }
    if device.has_xdp {
        findings.push(finding(
            Grade::Warning,
            format!(
                "an XDP program sees the packets of {name} first; what it redirects is not judged"
            ),
        ));
    }
    if device.mtu > 9_216 {
        findings.push(finding(Grade::Warning, format!("{name}: an MTU of {} B", device.mtu)));
    }
    findings
}

fn queue(netlink: &mut Netlink, device: &Device, direction: &str) -> Result<Finding, Error> {
    let name = &device.name;
    let found = netlink.queue(device.index).map_err(|error| Error::of(name, &error))?;
    let Some(queue) = found else {
        return Ok(finding(
            Grade::Warning,
            format!(
                "{direction}: {name} has no queue ({}), so that there is no signal and all {direction} pass",
                device.qdisc
            ),
        ));
    };
    let isolating = ["fq", "fq_codel", "fq_pie", "cake", "sfq", "codel", "pie"];
    if isolating.contains(&queue.kind.as_str()) {
        return Ok(finding(
            Grade::Warning,
            format!(
                "{direction}: {} of {name} keeps its own queue short, so that own-queue sees little congestion",
                queue.kind
            ),
        ));
    }
    Ok(finding(Grade::Ok, format!("{direction}: the queue of {name} is {}", queue.kind)))
}

/// For people.
pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { grade, text: line } in findings {
        writeln!(text, "{:<8} {line}", grade.word()).expect("strings take everything");
    }
    text
}

/// As JSON.
pub fn json(findings: &[Finding]) -> Json {
    let all = findings
        .iter()
        .map(|finding| json!({ "grade": finding.grade.word(), "text": finding.text }));
    Json::Array(all.collect())
}
