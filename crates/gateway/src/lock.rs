//! One process at a time.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use crate::error::Error;
use crate::maps::Pins;

/// Of the control loop.
pub const LOOP: &str = "tidegate-gateway:";
/// Of an import of customers.
pub const IMPORT: &str = "tidegate-gateway-import:";

/// That one process does something for a folder of pins, in a network namespace. Ends with the process, however that
/// ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] UnixListener);

fn address(what: &str, pins: &Pins) -> io::Result<SocketAddr> {
    let name = [what.as_bytes(), pins.folder().as_os_str().as_bytes()].concat();
    SocketAddr::from_abstract_name(name)
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

    /// Whether a process has it.
    pub fn is_taken(what: &str, pins: &Pins) -> bool {
        address(what, pins).is_ok_and(|address| UnixStream::connect_addr(&address).is_ok())
    }
}
