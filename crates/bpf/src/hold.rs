//! Loading the programs into the kernel, and removing them.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use std::{io, thread};

use libbpf_rs::{ErrorKind, Link, MapCore, MapMut, Object, ObjectBuilder, PrintLevel};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, getppid, pidfd_open};

use crate::Failure;

/// Object file of the build script.
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pricing.bpf.o"));
/// Congestion controls in the object file.
const CONTROLS: [&str; 3] = ["tg_sbrm", "tg_tcprm", "tg_vegascp"];
/// Number of attempts: an earlier holder that is ending keeps the name for a moment.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Messages of libbpf; shown only after a failure.
static LIBBPF_LOG: Mutex<String> = Mutex::new(String::new());

/// Congestion controls and the programs for their parameters, in the kernel until dropped.
pub struct Attached {
    _links: Vec<Link>,
    _object: Object,
}

impl Attached {
    /// Attaches them; sockets of the processes in `cgroup` and below can set parameters.
    pub fn new(cgroup: &Path) -> Result<Self, Failure> {
        needs()?;
        log_to_memory();
        let mut object = load()?;
        let mut links = Vec::new();
        // First, since names are unique: a second holder must not handle the sockets of the first, whose options would
        // be processed twice.
        for name in CONTROLS {
            let mut ops = object.maps_mut().find(|map| map.name() == name);
            links.push(register(name, ops.as_mut().expect("bpf/pricing.bpf.c defines it"))?);
        }
        for name in ["tg_sbrm_setsockopt", "tg_sbrm_getsockopt"] {
            links.push(attach(&mut object, name, cgroup)?);
        }
        Ok(Attached { _links: links, _object: object })
    }
}

/// Waits for the end of standard input, or of the parent process.
pub fn wait() -> io::Result<()> {
    let input = rustix::stdio::stdin();
    let parent = getppid().map(|pid| pidfd_open(pid, PidfdFlags::empty())).transpose()?;
    let mut awaited = vec![PollFd::new(&input, PollFlags::IN)];
    awaited.extend(parent.as_ref().map(|parent| PollFd::new(parent, PollFlags::IN)));
    loop {
        match poll(&mut awaited, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if awaited.get(1).is_some_and(|parent| !parent.revents().is_empty()) {
            return Ok(());
        }
        if !awaited[0].revents().is_empty() && rustix::io::read(input, &mut [0_u8; 64])? == 0 {
            return Ok(());
        }
    }
}

fn needs() -> Result<(), Failure> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        let line = "the kernel does not describe its types (/sys/kernel/btf/vmlinux): \
                    a kernel with CONFIG_DEBUG_INFO_BTF is needed for tg_sbrm, tg_tcprm and tg_vegascp";
        return Err(Failure::Missing(line.to_owned()));
    }
    Ok(())
}

fn load() -> Result<Object, Failure> {
    let mut builder = ObjectBuilder::default();
    builder.name("tidegate").map_err(|error| Failure::Other(error.to_string()))?;
    let loaded = builder.open_memory(PROGRAMS).and_then(|open| open.load());
    loaded.map_err(|error| load_failure(&error, "tg_sbrm, tg_tcprm and tg_vegascp"))
}

/// Returns why the kernel does not take programs for a purpose.
pub fn load_failure(error: &libbpf_rs::Error, purpose: &str) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied => Failure::Missing(format!(
            "the kernel refuses BPF programs: root is needed (or CAP_BPF, CAP_PERFMON and \
             CAP_NET_ADMIN) for {purpose}"
        )),
        _ => Failure::Other(format!(
            "the kernel does not take our programs: {error}{}",
            libbpf_log()
        )),
    }
}

/// Keeps libbpf's messages for a failure.
pub fn log_to_memory() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| {
        LIBBPF_LOG.lock().expect("no thread panics while holding it").push_str(&line);
    })));
}

fn attach(object: &mut Object, name: &str, cgroup: &Path) -> Result<Link, Failure> {
    let directory = File::open(cgroup)
        .map_err(|error| Failure::Other(format!("{}: {error}", cgroup.display())))?;
    let mut program = object.progs_mut().find(|program| program.name() == name);
    let program = program.as_mut().expect("bpf/flow.bpf.h defines it");
    program.attach_cgroup(directory.as_fd().as_raw_fd()).map_err(|error| {
        let place = cgroup.display();
        Failure::Other(format!(
            "{place} takes no program ({error}); is it of cgroup v2?{}",
            libbpf_log()
        ))
    })
}

fn register(name: &str, ops: &mut MapMut<'_>) -> Result<Link, Failure> {
    let mut attempt = 1;
    loop {
        let error = match ops.attach_struct_ops() {
            Ok(link) => return Ok(link),
            Err(error) => error,
        };
        if error.kind() != ErrorKind::AlreadyExists {
            let line = format!("the kernel does not register {name}: {error}{}", libbpf_log());
            return Err(Failure::Other(line));
        }
        if attempt == ATTEMPTS {
            let line = format!(
                "the kernel has a congestion control {name} already, of another run: the name is one for \
                 the whole machine, so wait for that run's end"
            );
            return Err(Failure::Other(line));
        }
        attempt += 1;
        thread::sleep(PAUSE);
    }
}

fn libbpf_log() -> String {
    let log = LIBBPF_LOG.lock().expect("no thread panics while holding it");
    if log.is_empty() { String::new() } else { format!("\n{}", log.trim_end()) }
}
