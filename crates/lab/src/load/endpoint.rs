//! Both ends of a flow: sockets in the right namespace with the options that the plan asks for.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::net::sockopt::{set_socket_recv_buffer_size_force, set_tcp_congestion};
use socket2::{Domain, Protocol, Socket, Type};
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::sender::SenderParams;
use tidegate_mechanisms::units::Bytes;
use tidegate_scenario::plan::{FlowPlan, Plan, TcpPlan};
use tidegate_wire::activity::{Activity, ipv4, ipv6};

use super::pricing;
use crate::LabError;
use crate::host::{IpVersion, NetnsHost};
use crate::hosts::{NetnsHosts, server_port};
use crate::system;

const TCP_HEADER_BYTES: u32 = 20;
const UDP_HEADER_BYTES: u32 = 8;
/// Of the option that carries the activity, IPv4 or IPv6.
const ACTIVITY_BYTES: u32 = 8;
/// A connection at a time, and one on the path.
const BACKLOG: i32 = 8;
/// A sink is never far behind.
const SINK_BUFFER_BYTES: usize = 4_000_000;
/// Of linux/in6.h, which the C library's crate does not have for all platforms.
const IPV6_DSTOPTS: i32 = 59;
/// A connection ends with its process, however that ends. Else the kernel would go on sending what is
/// left for minutes, and keep the namespace and the congestion control for it.
const ABORT: Option<Duration> = Some(Duration::ZERO);

/// A flow between two hosts.
#[derive(Clone)]
pub struct FlowEndpoints<'a> {
    /// Index of the flow.
    pub number: usize,
    /// As messages call it.
    pub name: String,
    /// Where the sender is.
    pub user: &'a NetnsHost,
    /// Where the receiver is.
    pub server: &'a NetnsHost,
    /// What they speak.
    pub ip: IpVersion,
    packet_bytes: u32,
    /// Stages write activities into its packets.
    pub metered: bool,
    tcp: Option<&'a TcpPlan>,
    /// How prices travel, where links ask any.
    price_encoding: Option<Encoding>,
}

impl<'a> FlowEndpoints<'a> {
    /// Those of the plan's flow `number`.
    pub fn new(plan: &'a Plan, number: usize, hosts: &'a NetnsHosts) -> Self {
        let flow: &FlowPlan = &plan.flows[number];
        FlowEndpoints {
            number,
            name: format!("{}, flow {number}", plan.user_name(flow.user)),
            user: &hosts.users[flow.user],
            server: &hosts.server,
            ip: hosts.ip,
            packet_bytes: flow.packet_size.get() as u32,
            metered: flow.carries_signal(plan),
            tcp: flow.tcp.as_deref(),
            price_encoding: plan.links.iter().find_map(|link| link.price_encoding),
        }
    }

    /// Puts the flow's name before an error.
    pub fn error(&self, what: &str, error: &io::Error) -> LabError {
        LabError::Run(format!("{}: {what}: {error}", self.name))
    }

    /// The server's listening TCP socket.
    pub fn listen(&self) -> Result<Socket, LabError> {
        let socket = self.at(self.server, Type::STREAM, Protocol::TCP)?;
        self.set_tcp(&socket)?;
        let open = || {
            if let Some(limit) = self.window_limit() {
                // Before listening, for connections inherit it with their window scale. A buffer of
                // a given size does not grow, so that the clamp decides.
                set_socket_recv_buffer_size_force(&socket, 2 * limit as usize)?;
                self.clamp_window(&socket)?;
            }
            socket.set_linger(ABORT)?;
            socket.bind(&self.destination().into())?;
            socket.listen(BACKLOG)
        };
        open().map_err(|error| self.error("the server cannot listen", &error))?;
        Ok(socket)
    }

    /// Lets the server offer no larger window than the plan allows. The kernel forgets it when the
    /// first full segments tell it how much of its buffer is payload, so it has to be told again.
    pub fn clamp_window(&self, socket: &Socket) -> io::Result<()> {
        let Some(limit) = self.window_limit() else { return Ok(()) };
        let clamp = limit.to_ne_bytes();
        system::set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &clamp)
    }

    fn window_limit(&self) -> Option<u32> {
        self.tcp?.window_limit.map(|limit| limit.get().min(i32::MAX as u64 / 4) as u32)
    }

    /// A TCP socket of the user, connecting.
    pub fn connect(&self) -> Result<Socket, LabError> {
        let socket = self.at(self.user, Type::STREAM, Protocol::TCP)?;
        self.set_tcp(&socket)?;
        socket.set_tcp_mss(self.mss()).map_err(|error| {
            self.error(&format!("packets of {} B are too small", self.packet_bytes), &error)
        })?;
        self.leave_room(&socket)?;
        socket.set_linger(ABORT).map_err(|error| self.error("cannot set a socket up", &error))?;
        match socket.connect(&self.destination().into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                Err(self.error("cannot connect", &error))
            }
            _ => Ok(socket),
        }
    }

    /// The server's UDP socket.
    pub fn sink(&self) -> Result<Socket, LabError> {
        let socket = self.at(self.server, Type::DGRAM, Protocol::UDP)?;
        let open = || {
            set_socket_recv_buffer_size_force(&socket, SINK_BUFFER_BYTES)?;
            socket.bind(&self.destination().into())
        };
        open().map_err(|error| self.error("the server cannot receive", &error))?;
        Ok(socket)
    }

    /// A UDP socket of the user, and the payload of a full packet.
    pub fn source(&self) -> Result<(Socket, usize), LabError> {
        let socket = self.at(self.user, Type::DGRAM, Protocol::UDP)?;
        self.leave_room(&socket)?;
        let connected = socket.connect(&self.destination().into());
        connected.map_err(|error| self.error("cannot send", &error))?;
        Ok((socket, self.udp_payload(Bytes::new(self.packet_bytes.into()))))
    }

    /// The maximum segment size: a full packet without the headers of IP and TCP. The kernel itself
    /// takes their options off.
    pub fn mss(&self) -> u32 {
        self.packet_bytes.saturating_sub(self.ip.header_bytes() + TCP_HEADER_BYTES)
    }

    /// Bytes of UDP payload in a packet of the user.
    pub fn udp_payload(&self, packet: Bytes) -> usize {
        let room = if self.metered { ACTIVITY_BYTES } else { 0 };
        self.udp_payload_back(packet).saturating_sub(room as usize)
    }

    /// Bytes of UDP payload in a packet of the server, which carries no activity.
    pub fn udp_payload_back(&self, packet: Bytes) -> usize {
        let headers = self.ip.header_bytes() + UDP_HEADER_BYTES;
        packet.get().saturating_sub(headers.into()) as usize
    }

    /// Whether the flow is UDP.
    pub fn is_udp(&self) -> bool {
        self.tcp.is_none()
    }

    /// The server's address and port.
    pub fn destination(&self) -> SocketAddr {
        SocketAddr::new(self.server.address, server_port(self.number))
    }

    /// A socket of one of the two hosts, bound to its address for good.
    fn at(&self, host: &NetnsHost, kind: Type, protocol: Protocol) -> Result<Socket, LabError> {
        let domain = match self.ip {
            IpVersion::V4 => Domain::IPV4,
            IpVersion::V6 => Domain::IPV6,
        };
        let socket = host
            .namespace
            .enter(|| Socket::new(domain, kind.nonblocking(), Some(protocol)))
            .flatten();
        socket.map_err(|error| self.error("cannot open a socket", &error))
    }

    fn set_tcp(&self, socket: &Socket) -> Result<(), LabError> {
        let Some(tcp) = self.tcp else { return Ok(()) };
        let name = tcp.congestion_control.linux_name();
        set_tcp_congestion(socket, name).map_err(|error| {
            let remedy = match tcp.congestion_control {
                SenderParams::Sbrm(_) | SenderParams::TcpRm(_) | SenderParams::VegasCp(_) => {
                    "load it: tidegate-bpf hold".to_owned()
                }
                SenderParams::Prague(_) => {
                    "no released Linux kernel has it; simulate it, or take dctcp".to_owned()
                }
                _ => format!("load it: modprobe tcp_{name}"),
            };
            let line = format!("congestion control {name}: {error} ({remedy})");
            LabError::Missing(vec![line])
        })?;
        if tcp.pacing == Some(true) {
            // Any limit but "none" switches TCP's internal pacing on.
            let rate = (u64::MAX - 1).to_ne_bytes();
            system::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate)
                .map_err(|error| self.error("cannot pace a connection", &error))?;
        }
        let options = pricing::options(&tcp.congestion_control, self.price_encoding)
            .map_err(|line| LabError::Refused(vec![line]))?;
        for (option, numbers) in options {
            let bytes = numbers.map(u32::to_ne_bytes);
            system::set_option(socket, pricing::LEVEL, option, bytes.as_flattened()).map_err(
                |error| self.error(&format!("the parameters of {name} are refused"), &error),
            )?;
        }
        Ok(())
    }

    /// Leaves room in every packet for the activity, which the meter writes: no router may lengthen
    /// a packet, and TCP takes the room off its segments by itself.
    fn leave_room(&self, socket: &Socket) -> Result<(), LabError> {
        if !self.metered {
            return Ok(());
        }
        let none = Activity::from_bits(0);
        let set = match self.ip {
            IpVersion::V4 => {
                system::set_option(socket, libc::IPPROTO_IP, libc::IP_OPTIONS, &ipv4::emit(none))
            }
            // The kernel fills in the protocol that follows.
            IpVersion::V6 => {
                let header = ipv6::emit(0, none);
                system::set_option(socket, libc::IPPROTO_IPV6, IPV6_DSTOPTS, &header)
            }
        };
        set.map_err(|error| self.error("no room for the activity", &error))
    }
}
