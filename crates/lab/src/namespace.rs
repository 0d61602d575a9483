//! Network namespaces without a name.
//!
//! Only a descriptor holds the namespace, so the kernel removes it with all its contents when the process ends for any
//! reason, and it has no name that could collide.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::system;

/// Namespace of the calling thread; `/proc/self` would be the main thread's.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Creates a namespace, with only a loopback interface that is down.
    pub fn create() -> io::Result<Namespace> {
        // A thread that ends need not return to its namespace.
        let thread = thread::spawn(|| {
            system::unshare_network()?;
            Ok(Namespace(File::open(OWN)?.into()))
        });
        thread.join().expect("no panic in two system calls")
    }

    /// Runs `work` with the calling thread inside, and returns to the previous namespace, even if `work` panics.
    /// Sockets opened by `work` stay inside.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let _outside = Outside(File::open(OWN)?.into());
        join(&self.0)?;
        Ok(work())
    }

    /// Sets a sysctl such as `net.ipv4.tcp_ecn`, in this namespace only.
    pub fn set_sysctl(&self, name: &str, value: &str) -> io::Result<()> {
        self.enter(|| fs::write(sysctl_path(name), value))?
    }

    /// Reads a sysctl of this namespace.
    pub fn sysctl(&self, name: &str) -> io::Result<String> {
        let text = self.enter(|| fs::read_to_string(sysctl_path(name)))??;
        Ok(text.trim_end().to_owned())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Namespace to which a thread returns.
struct Outside(OwnedFd);

impl Drop for Outside {
    fn drop(&mut self) {
        // Continuing in the wrong namespace would be worse than an abort.
        join(&self.0).expect("back to the namespace the thread came from");
    }
}

fn join(namespace: &OwnedFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}
