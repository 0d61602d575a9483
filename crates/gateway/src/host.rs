//! The hosts of a plan: one network namespace per user, one for all servers.
//!
//! Each has one TUN device and thinks that all the others are behind it, on one link. What comes
//! out of the device is a bare IP packet, complete: without an Ethernet header to answer for, and
//! without segmentation or checksums left to hardware that is not there.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidegate_scenario::plan::{FlowPlan, Plan, TcpPlan};

use crate::LabError;
use crate::namespace::Namespace;
use crate::node::Node;
use crate::{netlink, settings, system, traffic};

/// The name of every host's interface.
pub const DEVICE: &str = "tidegate0";
/// The server's port of flow 0; the others follow.
pub const FIRST_PORT: u16 = 10_000;
/// Packets that wait for the forwarder: 48 ms of full packets at 1 Gb/s.
const QUEUE_PACKETS: u32 = 4_000;
/// RFC 8200, section 5.
const IPV6_MIN_MTU: u32 = 1280;
/// For the kernel to make an address usable: 5 s at most, where 1 ms is usual.
const ROUTE_ATTEMPTS: u32 = 5_000;
const ROUTE_PAUSE: Duration = Duration::from_millis(1);
/// Descriptors of a flow (listener and both ends), of a host, and of the rest.
const FDS_PER_FLOW: u64 = 4;
const FDS_PER_HOST: u64 = 2;
const FDS_REST: u64 = 64 + 3 * crate::node::MOST as u64;

/// The version of the Internet Protocol that hosts speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4, in 198.18.0.0/15 (RFC 2544).
    V4,
    /// IPv6, in 2001:2::/48 (RFC 5180).
    V6,
}

impl IpVersion {
    /// Of a header without options.
    pub fn header_bytes(self) -> u32 {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// The length of the prefix that all hosts share.
    fn prefix(self) -> u8 {
        match self {
            IpVersion::V4 => 15,
            IpVersion::V6 => 48,
        }
    }

    fn server(self) -> IpAddr {
        match self {
            IpVersion::V4 => Ipv4Addr::new(198, 19, 0, 1).into(),
            IpVersion::V6 => Ipv6Addr::new(0x2001, 2, 0, 2, 0, 0, 0, 1).into(),
        }
    }

    fn user(self, number: usize) -> IpAddr {
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
pub struct Host {
    /// Where its sockets are.
    pub namespace: Namespace,
    /// Packets it sends are read here, packets for it written; neither blocks.
    pub device: OwnedFd,
    /// Its address.
    pub address: IpAddr,
    /// Its largest packet, bytes.
    pub mtu: u32,
    index: u32,
}

/// The hosts of a plan.
#[derive(Debug)]
pub struct Hosts {
    /// By the plan's users.
    pub users: Vec<Host>,
    /// All servers in one.
    pub server: Host,
    /// Where tunnels begin and end.
    pub nodes: Vec<Node>,
    /// The version of IP that they speak.
    pub ip: IpVersion,
    /// In what the kernel's TCP differs from the plan, whatever it is told.
    pub deviations: Vec<String>,
}

impl AsFd for Host {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Host {
    /// A host alone in its namespace, with a device whose largest packet is `mtu` bytes.
    pub fn build(ip: IpVersion, address: IpAddr, mtu: u32) -> io::Result<Host> {
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
        Ok(Host { namespace, device, address, mtu, index })
    }

    /// Sets what TCP takes from the route to another host.
    fn set_route(&self, to: &Host, metrics: &netlink::Metrics) -> io::Result<()> {
        if *metrics == netlink::Metrics::default() {
            return Ok(());
        }
        self.namespace.enter(|| netlink::set_route(self.index, to.address, metrics))?
    }

    /// Packets that the host sent and nobody read in time: the device's queue was full.
    pub fn overruns(&self) -> io::Result<u64> {
        let table = self.namespace.enter(|| fs::read_to_string("/proc/thread-self/net/dev"))??;
        let line = table.lines().find_map(|line| line.trim().strip_prefix(DEVICE));
        // Eight columns of what was received, then bytes, packets, errors, drops of what was sent.
        let drops = line.and_then(|line| line.trim_start_matches(':').split_whitespace().nth(11));
        let drops = drops.and_then(|text| text.parse().ok());
        drops.ok_or_else(|| io::Error::other("the kernel does not count the device's drops"))
    }
}

impl Hosts {
    /// Builds all hosts. They vanish when this value is dropped, or the process ends.
    ///
    /// # Errors
    /// [`LabError::Missing`] without the rights or the device; [`LabError::Setup`] with what the
    /// plan asks for and Linux has not.
    pub fn build(plan: &Plan, ip: IpVersion) -> Result<Hosts, LabError> {
        let missing = missing();
        if !missing.is_empty() {
            return Err(LabError::Missing(missing));
        }
        check(plan, ip)?;
        raise_descriptor_limit(plan)?;
        let mtus: Vec<u32> = (0..plan.users.len()).map(|user| mtu(plan, user)).collect();
        let largest = mtus.iter().copied().max().unwrap_or(IPV6_MIN_MTU);
        let server = Host::build(ip, ip.server(), largest).map_err(|e| setup("server", &e))?;
        let tcps: Vec<&TcpPlan> =
            plan.flows.iter().filter_map(|flow| flow.tcp.as_deref()).collect();
        for (name, value) in settings::server_sysctls(&tcps) {
            set(&server.namespace, name, &value).map_err(|e| setup("server", &e))?;
        }
        let mut users = Vec::new();
        let mut deviations = Vec::new();
        for (number, &mtu) in mtus.iter().enumerate() {
            let name = name_of(plan, number);
            let user = Host::build(ip, ip.user(number), mtu).map_err(|e| setup(&name, &e))?;
            let tcps: Vec<&TcpPlan> =
                flows_of(plan, number).filter_map(|flow| flow.tcp.as_deref()).collect();
            if let Some(tcp) = tcps.first() {
                settle(tcp, &user, &server).map_err(|e| setup(&name, &e))?;
            }
            deviations.extend(deviations_of(&plan.groups[plan.users[number].group].name, &tcps));
            users.push(user);
        }
        deviations.dedup();
        let nodes = Node::build_all(plan)?;
        Ok(Hosts { users, server, nodes, ip, deviations })
    }
}

/// What this machine lacks for hosts, one line each.
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

/// The server's port of a flow.
pub fn server_port(flow: usize) -> u16 {
    FIRST_PORT + flow as u16
}

/// A user as messages call it, such as `heavy.0`.
pub fn name_of(plan: &Plan, user: usize) -> String {
    let group = plan.users[user].group;
    let first = plan.users.iter().position(|u| u.group == group).unwrap_or(user);
    format!("{}.{}", plan.groups[group].name, user - first)
}

fn flows_of(plan: &Plan, user: usize) -> impl Iterator<Item = &FlowPlan> {
    plan.flows.iter().filter(move |flow| flow.user == user)
}

fn mtu(plan: &Plan, user: usize) -> u32 {
    let sizes = flows_of(plan, user).map(traffic::largest_packet);
    // A device takes no less than what RFC 791 demands.
    sizes.max().unwrap_or(IPV6_MIN_MTU).max(68)
}

fn check(plan: &Plan, ip: IpVersion) -> Result<(), LabError> {
    let room = usize::from(u16::MAX - FIRST_PORT) + 1;
    if plan.flows.len() > room || plan.users.len() > room {
        return Err(LabError::Setup(format!("Linux has ports for {room} flows, no more")));
    }
    let mut lines = traffic::not_made(plan, ip);
    for user in 0..plan.users.len() {
        let mtu = mtu(plan, user);
        if ip == IpVersion::V6 && mtu < IPV6_MIN_MTU {
            lines.push(format!(
                "{}: packets of {mtu} B are too small for IPv6, which needs {IPV6_MIN_MTU} B; \
                 use --ip 4",
                name_of(plan, user)
            ));
        }
    }
    if lines.is_empty() { Ok(()) } else { Err(LabError::Setup(lines.join("\n"))) }
}

/// Tells both ends what a user's TCP is like.
fn settle(tcp: &TcpPlan, user: &Host, server: &Host) -> io::Result<()> {
    for (name, value) in settings::sysctls(tcp) {
        set(&user.namespace, name, &value)?;
    }
    user.set_route(server, &settings::user_route(tcp))?;
    server.set_route(user, &settings::server_route(tcp))
}

fn deviations_of(group: &str, tcps: &[&TcpPlan]) -> Vec<String> {
    let mut all = Vec::new();
    let mut note = |text: &str| {
        let line = format!("{group}: {text}");
        if !all.contains(&line) {
            all.push(line);
        }
    };
    for tcp in tcps {
        settings::deviations(tcp).into_iter().for_each(&mut note);
    }
    if tcps.windows(2).any(|pair| !settings::agree(pair[0], pair[1])) {
        note("a host has one TCP, so that all flows of a user have the settings of the first");
    }
    all
}

/// Waits until the host takes packets for its own address. In IPv6 that begins some time after the
/// address is there, and what comes before is lost: the first packet of a connection, say.
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

/// Whether these flags of a route, in hexadecimal, have `RTF_LOCAL` (linux/ipv6_route.h).
fn is_local(flags: &str) -> bool {
    u32::from_str_radix(flags, 16).is_ok_and(|flags| flags >> 31 == 1)
}

/// Nothing but the flows' packets shall leave a host: no router or neighbour is looked for.
fn silence(namespace: &Namespace, ip: IpVersion) -> io::Result<()> {
    if !fs::exists("/proc/sys/net/ipv6")? {
        return Ok(());
    }
    let of_device = |name: &str| format!("net.ipv6.conf.{DEVICE}.{name}");
    if ip == IpVersion::V4 {
        return match set(namespace, &of_device("disable_ipv6"), "1") {
            // Where packets are smaller than 1,280 bytes the device has no IPv6 (RFC 8200, section 5).
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

fn set(namespace: &Namespace, name: &str, value: &str) -> io::Result<()> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{name} = {value}: {error}"));
    namespace.set_sysctl(name, value).map_err(named)
}

fn interface_index(name: &str) -> io::Result<u32> {
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::DGRAM, None)?;
    Ok(rustix::net::netdevice::name_to_index(&socket, name)?)
}

/// Many users need many descriptors, more than a shell hands out.
fn raise_descriptor_limit(plan: &Plan) -> Result<(), LabError> {
    let need =
        FDS_PER_FLOW * plan.flows.len() as u64 + FDS_PER_HOST * plan.users.len() as u64 + FDS_REST;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|limit| limit >= need) {
        return Ok(());
    }
    let maximum = maximum.map(|limit| limit.max(need));
    let raised = Rlimit { current: Some(need), maximum };
    setrlimit(Resource::Nofile, raised)
        .map_err(|error| LabError::Setup(format!("{need} open files (ulimit -n): {error}")))
}

fn setup(host: &str, error: &io::Error) -> LabError {
    LabError::Setup(format!("host {host}: {error}"))
}
