//! The programs of `bpf/gateway`: into the kernel, to their places, and out again.
//!
//! With tcx (Linux 6.6 and later) each program hangs on a link that is pinned beside the maps: it outlives this process, and
//! another program takes its place at once. Before that, the filter of a clsact qdisc does the same.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::tc::{self, NlOptions, SchedClassifierLink, TcAttachOptions, TcHandle};
use aya::programs::{LinkOrder, ProgramInfo, SchedClassifier, TcAttachType};
use aya::util::KernelVersion;
use aya::{Ebpf, EbpfLoader};

use crate::error::Error;
use crate::maps::{Maps, Pins, Sizes, word};
use crate::netlink::{Device, Netlink};

/// The data plane, compiled; empty without clang.
pub static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/gateway.bpf.o"));
/// Programs that tests run in the kernel.
pub static ARITHMETIC: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/arithmetic.bpf.o"));

/// Programs that measure what the data plane costs.
pub static COST: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/cost.bpf.o"));

/// Name of each program, which is that of its link's pin, and its place.
pub const PROGRAMS: [(&str, TcAttachType); 2] =
    [("tidegate_up", TcAttachType::Ingress), ("tidegate_down", TcAttachType::Egress)];

/// Priority and handle of our filters at a clsact qdisc.
const PRIORITY: u16 = 49_000;
const HANDLE: TcHandle = TcHandle::new(0, 1);

/// How programs are held at a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// By links.
    Tcx,
    /// By filters.
    Clsact,
}

impl Attachment {
    /// The best that this kernel has.
    pub fn of_kernel() -> Attachment {
        match kernel_is(6, 6) {
            true => Attachment::Tcx,
            false => Attachment::Clsact,
        }
    }
}

/// Whether this kernel has this version, or a later one.
pub fn kernel_is(major: u8, minor: u8) -> bool {
    KernelVersion::current().is_ok_and(|version| version >= KernelVersion::new(major, minor, 0))
}

/// Loads the programs with the pinned maps, which are made where they are not there.
///
/// # Errors
/// If the kernel refuses, or the programs are missing.
pub fn load(pins: &Pins, sizes: Sizes) -> Result<Ebpf, Error> {
    let mut object = load_maps(OBJECT, pins, sizes)?;
    for (name, _) in PROGRAMS {
        program(&mut object, name)
            .load()
            .map_err(|error| Error::of(&format!("the kernel refuses {name}"), &error))?;
    }
    Ok(object)
}

/// Loads an object that has the maps of the data plane, and no program of it yet.
///
/// # Errors
/// If the kernel refuses, or the programs are missing.
pub fn load_maps(object: &[u8], pins: &Pins, sizes: Sizes) -> Result<Ebpf, Error> {
    if object.is_empty() {
        let advice = "compiled without clang; on Debian: apt-get install clang, then compile again";
        return Err(Error::Lacks(format!("the gateway's programs: {advice}")));
    }
    let mut loader = EbpfLoader::new();
    for name in Pins::maps() {
        // Maps that grow may be larger already.
        if let Some(entries) = sizes.of(name) {
            loader.map_max_entries(name, pins.entries(name).unwrap_or(entries));
        }
    }
    let paths: Vec<_> = Pins::maps().map(|name| (name, pins.path(name))).collect();
    for (name, path) in &paths {
        loader.map_pin_path(name, path.clone());
    }
    loader.load(object).map_err(|error| Error::of("the kernel's maps", &error))
}

/// A program of an object that has it.
fn program<'a>(object: &'a mut Ebpf, name: &str) -> &'a mut SchedClassifier {
    let program = object.program_mut(name).expect("the object has it");
    program.try_into().expect("it is one for tc")
}

/// Puts loaded programs to their places at a device, in place of those that are there. Returns whether there is a new
/// clsact qdisc.
///
/// # Errors
/// If the kernel refuses.
pub fn attach(object: &mut Ebpf, pins: &Pins, device: &str, by: Attachment) -> Result<bool, Error> {
    let new_clsact = by == Attachment::Clsact && tc::qdisc_add_clsact(device).is_ok();
    for (name, place) in PROGRAMS {
        let program = program(object, name);
        let attached = match by {
            Attachment::Tcx => attach_link(program, pins, name, device, place),
            Attachment::Clsact => attach_filter(program, device, place),
        };
        attached.map_err(|error| Error::of(&format!("{name} at {device}"), error.as_ref()))?;
        // For what it costs; a kernel that does not pin it does not report that.
        let path = program_pin(pins, name);
        let _ = fs::remove_file(&path);
        let _ = program.pin(&path);
    }
    Ok(new_clsact)
}

type Attached = Result<(), Box<dyn std::error::Error>>;

fn attach_link(
    program: &mut SchedClassifier,
    pins: &Pins,
    name: &str,
    device: &str,
    place: TcAttachType,
) -> Attached {
    let path = pins.path(name);
    if let Ok(pinned) = PinnedLink::from_pin(&path) {
        let link: SchedClassifierLink = FdLink::from(pinned).try_into()?;
        match program.attach_to_link(link) {
            // The pin stays; the link's own descriptor may go.
            Ok(id) => {
                drop(program.take_link(id)?);
                return Ok(());
            }
            // Its device has been gone in between.
            Err(_) => fs::remove_file(&path)?,
        }
    }
    let options = TcAttachOptions::TcxOrder(LinkOrder::default());
    let id = program.attach_with_options(device, place, options)?;
    let link: FdLink = program.take_link(id)?.try_into()?;
    link.pin(&path)?;
    Ok(())
}

fn attach_filter(program: &mut SchedClassifier, device: &str, place: TcAttachType) -> Attached {
    let known = SchedClassifierLink::attached(device, place, PRIORITY, HANDLE, None)?;
    let id = match program.attach_to_link(known) {
        Ok(id) => id,
        Err(_) => {
            let options = NlOptions { priority: PRIORITY, handle: HANDLE, classid: None };
            program.attach_with_options(device, place, TcAttachOptions::Netlink(options))?
        }
    };
    // A link that is dropped would take the filter with it.
    std::mem::forget(program.take_link(id)?);
    Ok(())
}

fn program_pin(pins: &Pins, name: &str) -> PathBuf {
    pins.path(&format!("{name}_program"))
}

/// What a program has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Packets that it has seen.
    pub runs: u64,
    /// Time that they took, ns.
    pub ns: u64,
}

/// What a program has cost since it was loaded; `None` where it is not known. The kernel counts only while
/// `sysctl kernel.bpf_stats_enabled` is 1.
pub fn cost(pins: &Pins, name: &str) -> Option<Cost> {
    let fd = ProgramInfo::from_pin(program_pin(pins, name)).and_then(|info| info.fd()).ok()?;
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd())).ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    };
    Some(Cost { runs: value("run_cnt")?, ns: value("run_time_ns")? })
}

/// Takes the programs from their places.
///
/// # Errors
/// If the kernel refuses.
pub fn detach(pins: &Pins, maps: Option<&Maps>, device: Option<&Device>) -> Result<(), Error> {
    for (name, place) in PROGRAMS {
        let _ = fs::remove_file(program_pin(pins, name));
        if let Ok(pinned) = PinnedLink::from_pin(pins.path(name)) {
            let link = pinned.unpin().map_err(|error| Error::of(name, &error))?;
            drop(link);
        }
        if let Some(device) = device {
            // Says that there is none where the program hangs on a link.
            let _ = tc::qdisc_detach_program(&device.name, place, name);
        }
    }
    let own_clsact = maps.is_some_and(|maps| maps.settings()[word::OWN_CLSACT] == 1);
    if let (true, Some(device)) = (own_clsact, device) {
        let removed =
            Netlink::open().and_then(|mut netlink| netlink.remove_idle_clsact(device.index));
        removed.map_err(|error| Error::of("the clsact qdisc", &error))?;
    }
    Ok(())
}
