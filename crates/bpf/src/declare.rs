//! `tidegate-bpf declare`: ConEx senders at the egress of hosts' devices, while this process runs.
//!
//! A program hangs on each device by a link (tcx) that a file descriptor of this process holds. However the process
//! ends, the kernel removes the program, and packets leave as the kernel made them.

use std::fs::File;
use std::ptr::NonNull;

use libbpf_rs::{AsRawLibbpf, Link, Object, ObjectBuilder};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Failure;

/// Object file of the build script.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/conex.bpf.o"));
const ONE_Q20: f64 = (1 << 20) as f64;

/// A device, and what the sockets behind it declare.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    device: String,
    /// Path of its network namespace; that of this process if not given.
    namespace: Option<String>,
    rule: Rule,
}

/// Unit of what a flow declares, by the numbers of bpf/conex.h.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Packets = 0,
    WireBytes = 1,
    PayloadBytes = 2,
}

/// What a flow declares; the members of `struct tg_conex_parameters` in bpf/conex.h and two constants.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    unit: Unit,
    losses: bool,
    flight_per_credit: u32,
    share_q20: u32,
    idle_ns: u64,
    link_header_bytes: u32,
    echo_per_round_trip: bool,
    without_ecn: bool,
}

impl Target {
    /// Parses `DEVICE[,KEY=VALUE]...`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split(',');
        let device = words.next().unwrap_or_default().to_owned();
        let mut namespace = None;
        let mut rule = Rule {
            unit: Unit::Packets,
            losses: true,
            flight_per_credit: 0,
            share_q20: 1 << 20,
            idle_ns: 0,
            link_header_bytes: 14,
            echo_per_round_trip: false,
            without_ecn: false,
        };
        for word in words {
            let invalid = || format!("{word} is no option of a device");
            let (key, value) = word.split_once('=').ok_or_else(invalid)?;
            match (key, value) {
                ("netns", path) => namespace = Some(path.to_owned()),
                ("unit", "packets") => rule.unit = Unit::Packets,
                ("unit", "bytes") => rule.unit = Unit::WireBytes,
                ("unit", "payload") => rule.unit = Unit::PayloadBytes,
                ("losses", "yes" | "no") => rule.losses = value == "yes",
                ("credit", "off") => rule.flight_per_credit = 0,
                ("credit", "flight") => rule.flight_per_credit = 1,
                ("credit", "half-flight") => rule.flight_per_credit = 2,
                ("echo", "each" | "round-trip") => rule.echo_per_round_trip = value == "round-trip",
                ("without_ecn", "leave" | "declare") => rule.without_ecn = value == "declare",
                ("share", share) => {
                    let share: f64 = share.parse().map_err(|_| invalid())?;
                    if !(0.0..=1.0).contains(&share) {
                        return Err(invalid());
                    }
                    rule.share_q20 = (share * ONE_Q20) as u32;
                }
                ("idle_ms", ms) => {
                    let ms: u32 = ms.parse().map_err(|_| invalid())?;
                    rule.idle_ns = u64::from(ms) * 1_000_000;
                }
                ("link_header", bytes) => {
                    rule.link_header_bytes = bytes.parse().map_err(|_| invalid())?;
                }
                _ => return Err(invalid()),
            }
        }
        if device.is_empty() {
            return Err("a device has a name".to_owned());
        }
        Ok(Target { device, namespace, rule })
    }
}

impl Rule {
    /// Returns the contents of the program's read-only data.
    fn bytes(&self) -> Vec<u8> {
        let words = [self.unit as u32, self.losses.into()];
        let words = words.into_iter().chain([self.flight_per_credit, self.share_q20]);
        let mut bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
        bytes.extend(self.idle_ns.to_ne_bytes());
        bytes.extend(self.link_header_bytes.to_ne_bytes());
        bytes.extend(u32::from(self.echo_per_round_trip).to_ne_bytes());
        bytes.extend(u32::from(self.without_ecn).to_ne_bytes());
        bytes
    }
}

/// Programs on devices, until dropped.
pub struct Declaring {
    _links: Vec<Link>,
    _objects: Vec<Object>,
}

impl Declaring {
    /// Loads a program for each rule, and attaches it to the devices that have it.
    pub fn new(targets: &[Target]) -> Result<Self, Failure> {
        let mut rules: Vec<(Rule, Object)> = Vec::new();
        let mut links = Vec::new();
        for target in targets {
            if !rules.iter().any(|(rule, _)| *rule == target.rule) {
                rules.push((target.rule.clone(), load(&target.rule)?));
            }
            let loaded = rules.iter_mut().find(|(rule, _)| *rule == target.rule);
            let (_, object) = loaded.expect("was loaded just now");
            links.push(attach(object, target)?);
        }
        let objects = rules.into_iter().map(|(_, object)| object).collect();
        Ok(Declaring { _links: links, _objects: objects })
    }
}

/// Loads the program with a rule, and removes it again.
pub fn check() -> Result<(), Failure> {
    let target = Target::parse("lo").map_err(Failure::Other)?;
    load(&target.rule).map(drop)
}

fn load(rule: &Rule) -> Result<Object, Failure> {
    crate::hold::log_to_memory();
    let mut builder = ObjectBuilder::default();
    let failed = |error: libbpf_rs::Error| crate::hold::load_failure(&error, "the ConEx sender");
    builder.name("tidegate_conex").map_err(failed)?;
    let mut open = builder.open_memory(PROGRAM).map_err(failed)?;
    let constants = open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".rodata"));
    let mut constants = constants.expect("bpf/conex.bpf.c has constants");
    let data = constants.initial_value_mut().expect("constants have values");
    let bytes = rule.bytes();
    data[..bytes.len()].copy_from_slice(&bytes);
    open.load().map_err(failed)
}

fn attach(object: &mut Object, target: &Target) -> Result<Link, Failure> {
    let Target { device, namespace, .. } = target;
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Failure::Other(format!("{device}: {what}: {error}"))
    };
    if let Some(path) = namespace {
        let file = File::open(path).map_err(|error| failed(path, &error))?;
        move_into_link_name_space(rustix::fd::AsFd::as_fd(&file), Some(LinkNameSpaceType::Network))
            .map_err(|error| failed(path, &error))?;
    }
    let index = interface_index(device).map_err(|error| failed("no device", &error))?;
    let program = object.progs_mut().find(|program| program.name() == "tg_conex_egress");
    let program = program.expect("bpf/conex.bpf.c defines it");
    attach_tcx(&program, index).map_err(|error| {
        let line = format!(
            "{device}: the kernel attaches no ConEx sender: {error} (tcx is there from Linux 6.6 on)"
        );
        Failure::Missing(line)
    })
}

fn interface_index(name: &str) -> std::io::Result<i32> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    Ok(rustix::net::netdevice::name_to_index(&socket, name)? as i32)
}

#[expect(unsafe_code, reason = "libbpf-rs has no function for tcx")]
fn attach_tcx(program: &libbpf_rs::ProgramMut<'_>, index: i32) -> std::io::Result<Link> {
    // SAFETY: the program is loaded and outlives the call; libbpf returns a link or NULL with errno.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(
            program.as_libbpf_object().as_ptr(),
            index,
            std::ptr::null(),
        )
    };
    let link = NonNull::new(link).ok_or_else(std::io::Error::last_os_error)?;
    // SAFETY: the link is new and owned by no one else.
    Ok(unsafe { Link::from_ptr(link) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_options() {
        let text = "tidegate0,netns=/proc/7/fd/3,unit=bytes,credit=half-flight,share=0.5,idle_ms=1000,losses=no,echo=round-trip,without_ecn=declare,link_header=0";
        let target = Target::parse(text).expect("is valid");
        let rule = Rule {
            unit: Unit::WireBytes,
            losses: false,
            flight_per_credit: 2,
            share_q20: 1 << 19,
            idle_ns: 1_000_000_000,
            link_header_bytes: 0,
            echo_per_round_trip: true,
            without_ecn: true,
        };
        let namespace = Some("/proc/7/fd/3".to_owned());
        assert_eq!(target, Target { device: "tidegate0".to_owned(), namespace, rule });
        assert_eq!(target.rule.bytes().len(), 36);
        for invalid in ["", "eth0,share=2", "eth0,share", "eth0,unit=bits"] {
            assert!(Target::parse(invalid).is_err(), "{invalid}");
        }
    }
}
