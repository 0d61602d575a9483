//! A host: a network namespace with one TUN device.
//!
//! All other hosts are behind that device, on one link. The device delivers bare and complete IP packets: without an
//! Ethernet header, and without offloaded segmentation or checksums.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use crate::namespace::Namespace;
use crate::{netlink, settings, system};

/// Name of every host's interface.
pub const DEVICE: &str = "tidegate0";
/// Device queue towards the forwarder, packets: 48 ms of full packets at 1 Gb/s.
const QUEUE_PACKETS: u32 = 4_000;
/// Minimum MTU of IPv6, RFC 8200, section 5.
pub const IPV6_MIN_MTU: u32 = 1280;
/// Number of attempts until the kernel makes an address usable: 5 s at most, where 1 ms is usual.
const ROUTE_ATTEMPTS: u32 = 5_000;
const ROUTE_PAUSE: Duration = Duration::from_millis(1);

/// IP version of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4, in 198.18.0.0/15 (RFC 2544).
    V4,
    /// IPv6, in 2001:2::/48 (RFC 5180).
    V6,
}

impl IpVersion {
    /// Returns the length of a header without options.
    pub fn header_bytes(self) -> u32 {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// Returns the length of the common prefix of all hosts.
    fn prefix(self) -> u8 {
        match self {
            IpVersion::V4 => 15,
            IpVersion::V6 => 48,
        }
    }

    /// Returns the address of the servers.
    pub fn server(self) -> IpAddr {
        match self {
            IpVersion::V4 => Ipv4Addr::new(198, 19, 0, 1).into(),
            IpVersion::V6 => Ipv6Addr::new(0x2001, 2, 0, 2, 0, 0, 0, 1).into(),
        }
    }

    /// Returns the address of a user.
    pub fn user(self, number: usize) -> IpAddr {
        match self {
            IpVersion::V4 => {
                Ipv4Addr::new(198, 18, (1 + number / 250) as u8, (1 + number % 250) as u8).into()
            }
            IpVersion::V6 => {
                let number = number + 1;
                Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, (number >> 16) as u16, number as u16).into()
            }
        }
    }
}

/// An end host.
#[derive(Debug)]
pub struct NetnsHost {
    /// Network namespace of its sockets.
    pub namespace: Namespace,
    /// Device from which its packets are read, and to which packets for it are written; non-blocking.
    pub device: OwnedFd,
    /// Its address.
    pub address: IpAddr,
    /// Largest packet, bytes.
    pub mtu: u32,
    index: u32,
}

impl AsFd for NetnsHost {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl NetnsHost {
    /// Builds a host in its own namespace, with a device whose largest packet is `mtu` bytes.
    pub fn build(ip: IpVersion, address: IpAddr, mtu: u32) -> io::Result<NetnsHost> {
        let namespace = Namespace::create()?;
        set_all(&namespace, settings::COMMON)?;
        let (device, index) = namespace.enter(|| {
            let device = system::create_tun(DEVICE)?;
            netlink::set_up(interface_index("lo")?)?;
            let index = interface_index(DEVICE)?;
            netlink::set_limits(index, mtu, QUEUE_PACKETS)?;
            io::Result::Ok((device, index))
        })??;
        silence(&namespace, ip)?;
        namespace.enter(|| {
            netlink::set_up(index)?;
            netlink::add_address(index, address, ip.prefix())?;
            await_own_route(address)
        })??;
        Ok(NetnsHost { namespace, device, address, mtu, index })
    }

    /// Lets each segment leave by itself, so that each has a header of its own at the device's egress. For connections
    /// that are opened later.
    pub fn cut_bursts(&self) -> io::Result<()> {
        self.namespace.enter(|| netlink::set_burst(self.index, 1))?
    }

    /// Sets the TCP metrics of the route to another host.
    pub fn set_route(&self, to: &NetnsHost, metrics: &netlink::Metrics) -> io::Result<()> {
        if *metrics == netlink::Metrics::default() {
            return Ok(());
        }
        self.namespace.enter(|| netlink::set_route(self.index, to.address, metrics))?
    }

    /// Returns the number of packets of the host that were not read in time: the device's queue was full.
    pub fn overruns(&self) -> io::Result<u64> {
        let table = self.namespace.enter(|| fs::read_to_string("/proc/thread-self/net/dev"))??;
        let line = table.lines().find_map(|line| line.trim().strip_prefix(DEVICE));
        // Eight columns of received counts, then bytes, packets, errors, drops of sent ones.
        let drops = line.and_then(|line| line.trim_start_matches(':').split_whitespace().nth(11));
        let drops = drops.and_then(|text| text.parse().ok());
        drops.ok_or_else(|| io::Error::other("the kernel does not count the device's drops"))
    }
}

/// Returns what this machine lacks for hosts, one line each.
pub fn missing() -> Vec<String> {
    let mut all = Vec::new();
    if !rustix::process::geteuid().is_root() {
        all.push("network namespaces need root: run as root, e.g. with sudo".to_owned());
    } else if let Err(error) = Namespace::create() {
        all.push(format!("network namespaces: {error} (a container needs CAP_SYS_ADMIN)"));
    }
    if let Err(error) = fs::File::options().read(true).write(true).open("/dev/net/tun") {
        all.push(format!("/dev/net/tun: {error} (load the module: modprobe tun)"));
    }
    all
}

/// Waits until the host accepts packets for its own address. In IPv6 that begins some time after the address is set,
/// and earlier packets are lost, such as the first of a connection.
fn await_own_route(address: IpAddr) -> io::Result<()> {
    let IpAddr::V6(address) = address else { return Ok(()) };
    let prefix = format!("{:032x} 80 ", u128::from(address));
    for _ in 0..ROUTE_ATTEMPTS {
        let routes = fs::read_to_string("/proc/thread-self/net/ipv6_route")?;
        let mut own = routes.lines().filter(|line| line.starts_with(&prefix));
        if own.any(|line| line.split_whitespace().nth(8).is_some_and(is_local)) {
            return Ok(());
        }
        thread::sleep(ROUTE_PAUSE);
    }
    Err(io::Error::other(format!("{address} has no route of its own")))
}

/// Whether these flags of a route, in hexadecimal, contain `RTF_LOCAL` (linux/ipv6_route.h).
fn is_local(flags: &str) -> bool {
    u32::from_str_radix(flags, 16).is_ok_and(|flags| flags >> 31 == 1)
}

/// Disables router and neighbour discovery, so that only the flows' packets leave a host.
fn silence(namespace: &Namespace, ip: IpVersion) -> io::Result<()> {
    if !fs::exists("/proc/sys/net/ipv6")? {
        return Ok(());
    }
    let of_device = |name: &str| format!("net.ipv6.conf.{DEVICE}.{name}");
    if ip == IpVersion::V4 {
        return match set(namespace, &of_device("disable_ipv6"), "1") {
            // For packets below 1,280 bytes the device has no IPv6 (RFC 8200, section 5).
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        };
    }
    for (name, value) in [("accept_ra", "0"), ("addr_gen_mode", "1"), ("dad_transmits", "0")] {
        set(namespace, &of_device(name), value)?;
    }
    set(namespace, &of_device("router_solicitations"), "0")
}

fn set_all(namespace: &Namespace, sysctls: &[(&str, &str)]) -> io::Result<()> {
    sysctls.iter().try_for_each(|(name, value)| set(namespace, name, value))
}

/// Sets a sysctl in a namespace.
pub fn set(namespace: &Namespace, name: &str, value: &str) -> io::Result<()> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{name} = {value}: {error}"));
    namespace.set_sysctl(name, value).map_err(named)
}

/// Returns the index of an interface of the calling thread's namespace.
pub fn interface_index(name: &str) -> io::Result<u32> {
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::DGRAM, None)?;
    Ok(rustix::net::netdevice::name_to_index(&socket, name)?)
}
