//! Network namespaces without a name.
//!
//! A descriptor is all that holds one, so the kernel removes it with everything inside when the
//! process ends, however that happens, and its name can collide with nobody's.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::system;

/// The calling thread's namespace; `/proc/self` would be the main thread's.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// A new one, with nothing but a loopback interface that is down.
    pub fn create() -> io::Result<Namespace> {
        // A thread that ends has no namespace to come back to.
        let thread = thread::spawn(|| {
            system::unshare_network()?;
            Ok(Namespace(File::open(OWN)?.into()))
        });
        thread.join().expect("no panic in two system calls")
    }

    /// Does `work` with the calling thread inside, and returns, also when `work` panics. Sockets
    /// that `work` opens stay inside for good.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let _outside = Outside(File::open(OWN)?.into());
        join(&self.0)?;
        Ok(work())
    }

    /// Writes a setting such as `net.ipv4.tcp_ecn`, of this namespace alone.
    pub fn set_sysctl(&self, name: &str, value: &str) -> io::Result<()> {
        self.enter(|| fs::write(sysctl_path(name), value))?
    }

    /// Reads a setting of this namespace.
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

/// Where a thread came from and goes back to.
struct Outside(OwnedFd);

impl Drop for Outside {
    fn drop(&mut self) {
        // Going on in the wrong namespace would be worse than an abort.
        join(&self.0).expect("back to the namespace the thread came from");
    }
}

fn join(namespace: &OwnedFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}
