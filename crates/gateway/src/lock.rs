//! One process at a time.

use std::fs::File;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::Error;
use crate::maps::Pins;

/// Of the control loop.
pub const LOOP: &str = "tidegate-gateway:";
/// Held by what changes the maps or programs: the beginning of a loop, a switch, a reload, `off`.
pub const CHANGE: &str = "tidegate-gateway-change:";

/// Time between two tries.
const STEP: Duration = Duration::from_millis(10);
const WORDS_STEP: Duration = Duration::from_micros(50);
const WORDS_TRIES: u32 = 20_000;
/// Longest time that a change is waited for.
pub const CHANGE_LASTS: Duration = Duration::from_secs(60);

/// That one process does something for a folder of pins, in a network namespace. Ends with the process, however that
/// ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] UnixListener);

fn address(what: &str, pins: &Pins) -> io::Result<SocketAddr> {
    let name = [what.as_bytes(), pins.folder().as_os_str().as_bytes()].concat();
    SocketAddr::from_abstract_name(name)
}

/// Keeps other processes from writing words of the maps. The kernel gives it back when its process ends.
#[derive(Debug)]
pub struct WordsLock(#[allow(dead_code)] File);

impl WordsLock {
    /// Waits for a second at most: a process that holds it for longer hangs, and is not waited for. So it is no error if it is not there.
    pub fn wait(pins: &Pins) -> Option<WordsLock> {
        let folder = File::open(pins.folder()).ok()?;
        for _ in 0..WORDS_TRIES {
            match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Some(WordsLock(folder)),
                Err(Errno::WOULDBLOCK) => thread::sleep(WORDS_STEP),
                Err(_) => return None,
            }
        }
        None
    }
}

impl Lock {
    /// `None` if another process has it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn take(what: &str, pins: &Pins) -> Result<Option<Lock>, Error> {
        let bound = address(what, pins).and_then(|address| UnixListener::bind_addr(&address));
        match bound {
            Ok(listener) => Ok(Some(Lock(listener))),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(Error::of("the lock", &error)),
        }
    }

    /// Waits until no other process has it, and no longer than this; `None` then.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wait(what: &str, pins: &Pins, longest: Duration) -> Result<Option<Lock>, Error> {
        let mut waited = Duration::ZERO;
        loop {
            match Lock::take(what, pins)? {
                None if waited < longest => thread::sleep(STEP),
                taken => return Ok(taken),
            }
            waited += STEP;
        }
    }

    /// Whether a process has it.
    pub fn is_taken(what: &str, pins: &Pins) -> bool {
        address(what, pins).is_ok_and(|address| UnixStream::connect_addr(&address).is_ok())
    }
}
