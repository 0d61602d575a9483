//! System calls without a safe wrapper in other crates. All of them are thin: bytes in, bytes out.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Signal;
use rustix::thread::UnshareFlags;

/// Moves the calling thread into a network namespace of its own.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: only the network namespace is unshared, so file descriptors, memory and file system stay shared with the
    // other threads, which is what makes other unsharing unsafe.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Creates a TUN device called `name` in the calling thread's namespace: bare IP packets, one per
/// read and write, none of which block.
///
/// The device lives as long as its namespace instead of until it is closed, because the kernel takes 40 ms to remove a
/// device, but removes those of simultaneously ending namespaces together.
pub fn create_tun(name: &str) -> io::Result<OwnedFd> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    // SAFETY: `ifreq` consists of integers and arrays, for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(name.len() < request.ifr_name.len(), "an interface's name fits");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call.
    let rc = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) };
    if rc < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: TUNSETPERSIST takes a number.
    let rc = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETPERSIST, 1) };
    if rc < 0 {
        return Err(io::Error::last_os_error());
    }
    rustix::io::ioctl_fionbio(&file, true)?;
    Ok(file.into())
}

/// Makes the kernel kill the process started by `command` when the calling thread ends.
pub fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    let die = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that has already ended sends no signal.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    };
    // SAFETY: between fork and exec, two system calls; no memory is allocated and no lock taken.
    unsafe { command.pre_exec(die) };
}

/// Receives a datagram with its sender's address and its type of service, for a socket with `IP_RECVTOS`.
pub fn receive_with_tos(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<(usize, SocketAddrV4, u8)> {
    // SAFETY: both consist of integers, arrays and pointers, for which all zeros is a valid value.
    let (mut from, mut message): (libc::sockaddr_in, libc::msghdr) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // Words, so that the control message is aligned.
    let mut control = [0u64; 8];
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the kernel writes at most the four given lengths, all of it into variables that outlive the call.
    let len = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &mut message, 0) };
    let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
    let mut tos = 0;
    // SAFETY: the macros iterate over what the kernel has written into `control`; the data of IP_TOS is one byte.
    unsafe {
        let mut found = libc::CMSG_FIRSTHDR(&message);
        while let Some(header) = found.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::IPPROTO_IP, libc::IP_TOS) {
                tos = *libc::CMSG_DATA(found);
            }
            found = libc::CMSG_NXTHDR(&message, found);
        }
    }
    let address = Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr));
    Ok((len, SocketAddrV4::new(address, u16::from_be(from.sin_port)), tos))
}

/// Returns a non-blocking socket that sends whole IP packets through the qdisc of a device, and receives none.
pub fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes three numbers; the protocol 0 receives nothing.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the address of a device of the calling thread's namespace, for [`send_to_link`].
pub fn link_address(index: u32) -> libc::sockaddr_ll {
    // SAFETY: it consists of integers and arrays, for which all zeros is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_ifindex = index as libc::c_int;
    address
}

/// Sends an IP packet through a device's qdisc. Returns false if the qdisc drops it at once.
pub fn send_to_link(
    socket: impl AsFd,
    packet: &[u8],
    address: &libc::sockaddr_ll,
) -> io::Result<bool> {
    let mut address = *address;
    let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let protocol = if is_v6 { libc::ETH_P_IPV6 } else { libc::ETH_P_IP };
    address.sll_protocol = (protocol as u16).to_be();
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads `packet` and `address`, of the given lengths.
    let sent = unsafe {
        libc::sendto(fd, packet.as_ptr().cast(), packet.len(), 0, (&raw const address).cast(), len)
    };
    if sent >= 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ENOBUFS) { Ok(false) } else { Err(error) }
}

/// Bytes that the kernel still has of what a socket has sent: in a qdisc, since a device lets go of its packets.
pub fn unsent_bytes(socket: impl AsFd) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the request writes an int (SIOCOUTQ has the number of TIOCOUTQ).
    let rc = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes.unsigned_abs()) }
}

/// Sets a socket option to `value`.
pub fn set_option(socket: impl AsFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    let (fd, len) = (socket.as_fd().as_raw_fd(), value.len() as libc::socklen_t);
    // SAFETY: the kernel reads `len` bytes, all of them within `value`.
    let rc = unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), len) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads a socket option. Returns the number of bytes of `value` that the kernel has filled.
pub fn option(socket: impl AsFd, level: i32, name: i32, value: &mut [u8]) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    let mut len = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which `value` has, and then their number.
    let rc = unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &mut len) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(len as usize) }
}
