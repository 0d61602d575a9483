//! Endpoints of a flow: sockets in the right namespace with the options of the plan.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::net::sockopt::{set_socket_recv_buffer_size_force, set_tcp_congestion};
use socket2::{Domain, Protocol, Socket, Type};
use tidegate_mechanisms::dscp::Dscp;
use tidegate_mechanisms::price::Encoding;
use tidegate_mechanisms::sender::SenderParams;
use tidegate_mechanisms::units::Bytes;
use tidegate_scenario::plan::{FlowPlan, Plan, TcpPlan};
use tidegate_wire::activity::{Activity, ipv4, ipv6};

use super::pricing;
use crate::LabError;
use crate::declare;
use crate::host::{IpVersion, NetnsHost};
use crate::hosts::{NetnsHosts, server_port};
use crate::system;

const TCP_HEADER_BYTES: u32 = 20;
const UDP_HEADER_BYTES: u32 = 8;
/// Length of the option for the activity, IPv4 or IPv6, bytes.
const ACTIVITY_BYTES: u32 = 8;
/// Listen backlog: one connection at a time, and one being established.
const BACKLOG: i32 = 8;
/// Receive buffer of a UDP sink, bytes.
const SINK_BUFFER_BYTES: usize = 4_000_000;
/// From linux/in6.h; the libc crate lacks it on some platforms.
const IPV6_DSTOPTS: i32 = 59;
/// Connections are reset when the process ends. Otherwise the kernel would send the remaining data for minutes, and
/// keep the namespace and the congestion control in use.
const ABORT: Option<Duration> = Some(Duration::ZERO);

/// A flow between two hosts.
#[derive(Clone)]
pub struct FlowEndpoints<'a> {
    /// Index of the flow.
    pub number: usize,
    /// Name in messages.
    pub name: String,
    /// Host of the sender.
    pub user: &'a NetnsHost,
    /// Host of the receiver.
    pub server: &'a NetnsHost,
    /// IP version.
    pub ip: IpVersion,
    packet_bytes: u32,
    /// DiffServ codepoint of the user's packets. Those of the server have none, as Linux does not reflect it.
    dscp: Dscp,
    /// Whether stages write activities into its packets.
    pub metered: bool,
    tcp: Option<&'a TcpPlan>,
    /// Encoding of prices, if links have any.
    price_encoding: Option<Encoding>,
}

impl<'a> FlowEndpoints<'a> {
    /// Returns the endpoints of the plan's flow `number`.
    pub fn new(plan: &'a Plan, number: usize, hosts: &'a NetnsHosts) -> Self {
        let flow: &FlowPlan = &plan.flows[number];
        FlowEndpoints {
            number,
            name: format!("{}, flow {number}", plan.user_name(flow.user)),
            user: &hosts.users[flow.user],
            server: &hosts.server,
            ip: hosts.ip,
            packet_bytes: flow.packet_size.get() as u32,
            dscp: flow.dscp,
            metered: flow.carries_signal(plan),
            tcp: flow.tcp.as_deref(),
            price_encoding: plan.links.iter().find_map(|link| link.price_encoding),
        }
    }

    /// Returns an error with the flow's name.
    pub fn error(&self, what: &str, error: &io::Error) -> LabError {
        LabError::Run(format!("{}: {what}: {error}", self.name))
    }

    /// Returns the server's listening TCP socket.
    pub fn listen(&self) -> Result<Socket, LabError> {
        let socket = self.at(self.server, Type::STREAM, Protocol::TCP)?;
        self.set_tcp(&socket)?;
        if self.tcp.is_some_and(declare::needs_other_receiver) {
            // Their receivers report each mark, whatever the sender's congestion control (RFC 8257, section 3.2).
            let exact = |name| set_tcp_congestion(&socket, name).is_ok();
            if !declare::EXACT_RECEIVERS.into_iter().any(exact) {
                let names = declare::EXACT_RECEIVERS.join(" nor ");
                let line = format!(
                    "a receiver that reports each mark: the kernel has neither {names}; load it (modprobe tcp_dctcp), \
                     or write feedback = \"classic\""
                );
                return Err(LabError::Missing(vec![line]));
            }
        }
        let open = || {
            if let Some(limit) = self.window_limit() {
                // Set before listening, since connections inherit it with their window scale. A buffer of a fixed size
                // does not grow, so that the clamp is effective.
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

    /// Limits the server's receive window as in the plan. The kernel resets the limit when the first full segments show
    /// how much of its buffer is payload, so it has to be set again.
    pub fn clamp_window(&self, socket: &Socket) -> io::Result<()> {
        let Some(limit) = self.window_limit() else { return Ok(()) };
        let clamp = limit.to_ne_bytes();
        system::set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &clamp)
    }

    fn window_limit(&self) -> Option<u32> {
        self.tcp?.window_limit.map(|limit| limit.get().min(i32::MAX as u64 / 4) as u32)
    }

    /// Returns a connecting TCP socket of the user.
    pub fn connect(&self) -> Result<Socket, LabError> {
        let socket = self.at(self.user, Type::STREAM, Protocol::TCP)?;
        self.set_tcp(&socket)?;
        socket.set_tcp_mss(self.mss()).map_err(|error| {
            self.error(&format!("packets of {} B are too small", self.packet_bytes), &error)
        })?;
        self.leave_room(&socket)?;
        self.set_dscp(&socket)?;
        socket.set_linger(ABORT).map_err(|error| self.error("cannot set a socket up", &error))?;
        match socket.connect(&self.destination().into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                Err(self.error("cannot connect", &error))
            }
            _ => Ok(socket),
        }
    }

    /// Returns the server's UDP socket.
    pub fn sink(&self) -> Result<Socket, LabError> {
        let socket = self.at(self.server, Type::DGRAM, Protocol::UDP)?;
        let open = || {
            set_socket_recv_buffer_size_force(&socket, SINK_BUFFER_BYTES)?;
            socket.bind(&self.destination().into())
        };
        open().map_err(|error| self.error("the server cannot receive", &error))?;
        Ok(socket)
    }

    /// Returns a UDP socket of the user, and the payload of a full packet.
    pub fn source(&self) -> Result<(Socket, usize), LabError> {
        let socket = self.at(self.user, Type::DGRAM, Protocol::UDP)?;
        self.leave_room(&socket)?;
        self.set_dscp(&socket)?;
        let connected = socket.connect(&self.destination().into());
        connected.map_err(|error| self.error("cannot send", &error))?;
        Ok((socket, self.udp_payload(Bytes::new(self.packet_bytes.into()))))
    }

    /// Returns the maximum segment size: a full packet without the headers of IP and TCP. The kernel itself subtracts
    /// their options.
    pub fn mss(&self) -> u32 {
        self.packet_bytes.saturating_sub(self.ip.header_bytes() + TCP_HEADER_BYTES)
    }

    /// Returns the UDP payload in a packet of the user, bytes.
    pub fn udp_payload(&self, packet: Bytes) -> usize {
        let room = if self.metered { ACTIVITY_BYTES } else { 0 };
        self.udp_payload_back(packet).saturating_sub(room as usize)
    }

    /// Returns the UDP payload in a packet of the server, which carries no activity, bytes.
    pub fn udp_payload_back(&self, packet: Bytes) -> usize {
        let headers = self.ip.header_bytes() + UDP_HEADER_BYTES;
        packet.get().saturating_sub(headers.into()) as usize
    }

    /// Whether the flow is UDP.
    pub fn is_udp(&self) -> bool {
        self.tcp.is_none()
    }

    /// Returns the server's address and port.
    pub fn destination(&self) -> SocketAddr {
        SocketAddr::new(self.server.address, server_port(self.number))
    }

    /// Returns a socket of one of the hosts, bound to its address.
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
            // Any limit except "none" switches TCP's internal pacing on.
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

    /// Returns the traffic class of the user's packets without their ECN field, which is the kernel's.
    pub fn traffic_class(&self) -> u8 {
        self.dscp.bits() << 2
    }

    fn set_dscp(&self, socket: &Socket) -> Result<(), LabError> {
        if self.dscp == Dscp::Cs0 {
            return Ok(());
        }
        let (level, name) = match self.ip {
            IpVersion::V4 => (libc::IPPROTO_IP, libc::IP_TOS),
            IpVersion::V6 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        };
        let class = i32::from(self.traffic_class()).to_ne_bytes();
        let set = system::set_option(socket, level, name, &class);
        set.map_err(|error| self.error("cannot set the DSCP", &error))
    }

    /// Reserves room for the activity in every packet, since the meter cannot lengthen packets; TCP subtracts it from
    /// its segments by itself.
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
