//! TCP flows: the sending and the receiving application.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

use socket2::Socket;
use tidegate_mechanisms::units::{Span, Time};
use tidegate_scenario::plan::{PausePlan, Plan, Traffic};
use tidegate_simulator::random::Stream;

use super::endpoint::FlowEndpoints;
use super::poller::{Poller, Ready, Role, SocketToken};
use super::report::TransferReport;
use super::tcp_info::{TcpCounts, TcpInfo};
use crate::LabError;
use crate::system;

/// Payload; the network ignores its contents.
static ZEROS: [u8; 65_536] = [0; 65_536];
/// Maximum number of reads or writes before other sockets are served.
const TURN: usize = 16;

/// Sending and receiving application of one flow.
pub struct TcpFlow<'a> {
    endpoints: FlowEndpoints<'a>,
    listener: Socket,
    client: Option<Client>,
    accepted: Option<Socket>,
    transfer: Option<Transfer>,
    /// Whether another part of the load writes: [`TcpFlow::write`].
    is_written: bool,
    /// Counts of closed connections.
    past: TcpCounts,
    /// Payload that reached the server's application, bytes.
    pub received_bytes: u64,
}

/// User's end of a connection.
struct Client {
    socket: Socket,
    /// SYN retransmissions; `None` until it is connected.
    repeated_requests: Option<u64>,
    /// Bytes not yet written; `None` for unlimited.
    remaining_bytes: Option<u64>,
    /// Whether the connection ends with these.
    is_last: bool,
    /// Whether it waits for room to write, and not for the server's FIN.
    is_writing: bool,
}

struct Transfer {
    size_bytes: u64,
    pause: Option<PausePlan>,
    rng: Stream,
    started: Option<Time>,
    /// Bytes of the current transfer received by the server.
    received_bytes: u64,
}

impl<'a> TcpFlow<'a> {
    /// Returns a flow whose server listens.
    pub fn new(
        plan: &Plan,
        endpoints: FlowEndpoints<'a>,
        seed: u64,
        poller: &Poller,
    ) -> Result<Self, LabError> {
        let number = endpoints.number;
        let flow = &plan.flows[number];
        let transfer = match &*flow.traffic {
            Traffic::Transfer(transfer) => Some(Transfer {
                size_bytes: transfer.size.get(),
                pause: transfer.pauses(),
                rng: Stream::of_flow(seed, plan, number, "pause"),
                started: None,
                received_bytes: 0,
            }),
            _ => None,
        };
        let listener = endpoints.listen()?;
        let token = SocketToken { flow: number, role: Role::Listener };
        let watched = poller.add(&listener, token, Ready::IN);
        watched.map_err(|error| endpoints.error("epoll", &error))?;
        Ok(TcpFlow {
            endpoints,
            listener,
            client: None,
            accepted: None,
            transfer,
            is_written: matches!(*flow.traffic, Traffic::Video(_)),
            past: TcpCounts::NONE,
            received_bytes: 0,
        })
    }

    /// Opens a connection.
    pub fn start(&mut self, now: Time, poller: &Poller) -> Result<(), LabError> {
        if let Some(transfer) = &mut self.transfer {
            transfer.started = Some(now);
            transfer.received_bytes = 0;
        }
        let socket = self.endpoints.connect()?;
        let watched = poller.add(&socket, self.token(Role::Client), Ready::OUT);
        watched.map_err(|error| self.endpoints.error("epoll", &error))?;
        let remaining_bytes = match &self.transfer {
            Some(transfer) => Some(transfer.size_bytes),
            None => self.is_written.then_some(0),
        };
        self.client = Some(Client {
            socket,
            repeated_requests: None,
            remaining_bytes,
            is_last: self.transfer.is_some(),
            is_writing: true,
        });
        Ok(())
    }

    /// Writes more bytes to the connection, its last or not. They are sent once the socket is ready.
    pub fn write(&mut self, bytes: u64, is_last: bool, poller: &Poller) -> Result<(), LabError> {
        let token = self.token(Role::Client);
        let Some(client) = &mut self.client else { return Ok(()) };
        client.remaining_bytes = Some(client.remaining_bytes.unwrap_or(0) + bytes);
        client.is_last = is_last;
        client.is_writing = true;
        let watched = poller.change(&client.socket, token, Ready::OUT);
        watched.map_err(|error| self.endpoints.error("epoll", &error))
    }

    /// Returns the bytes written and not acknowledged.
    pub fn unacknowledged_bytes(&self) -> Result<u64, LabError> {
        let Some(client) = &self.client else { return Ok(0) };
        let waiting = client.remaining_bytes.unwrap_or(0);
        if client.repeated_requests.is_none() {
            return Ok(waiting); // not connected: only the request is under way
        }
        let sent = system::unsent_bytes(&client.socket);
        let sent = sent.map_err(|error| self.endpoints.error("SIOCOUTQ", &error))?;
        Ok(waiting + u64::from(sent))
    }

    /// Handles a ready socket. Returns a transfer that is finished by it.
    pub fn on_ready(
        &mut self,
        role: Role,
        now: Time,
        poller: &Poller,
    ) -> Result<Option<TransferReport>, LabError> {
        let (what, result) = match role {
            Role::Listener => ("the server cannot accept", self.accept(poller).map(|()| None)),
            Role::Sink => ("the server cannot receive", self.receive().map(|()| None)),
            Role::Client => ("the connection failed", self.serve_client(now, poller)),
        };
        result.map_err(|error| self.endpoints.error(what, &error))
    }

    /// Returns the start of the next transfer after one that finished `now` after the time `took`.
    pub fn next_start(&mut self, now: Time, took: Span) -> Option<Time> {
        let transfer = self.transfer.as_mut()?;
        Some(now + transfer.rng.pause(transfer.pause?, took))
    }

    /// Whether this is a single transfer, for whose end a run waits.
    pub fn is_awaited(&self) -> bool {
        self.transfer.as_ref().is_some_and(|transfer| transfer.pause.is_none())
    }

    /// Returns the unfinished transfer.
    pub fn unfinished(&self) -> Option<TransferReport> {
        self.record(None)
    }

    /// Returns the kernel's information about the connection, if there is one.
    pub fn info(&self) -> Result<Option<TcpInfo>, LabError> {
        let established = |client: &&Client| client.repeated_requests.is_some();
        let Some(client) = self.client.as_ref().filter(established) else { return Ok(None) };
        let read = TcpInfo::read(&client.socket);
        read.map(Some).map_err(|error| self.endpoints.error("TCP_INFO", &error))
    }

    /// Returns the counts so far, over all connections.
    pub fn counts(&self) -> Result<TcpCounts, LabError> {
        let Some(client) = &self.client else { return Ok(self.past) };
        let counts = client.counts().map_err(|error| self.endpoints.error("TCP_INFO", &error))?;
        Ok(self.past.plus(counts))
    }

    fn token(&self, role: Role) -> SocketToken {
        SocketToken { flow: self.endpoints.number, role }
    }

    fn record(&self, completion: Option<Span>) -> Option<TransferReport> {
        let transfer = self.transfer.as_ref()?;
        let (flow, start) = (self.endpoints.number as u32, transfer.started?);
        Some(TransferReport { flow, start, size_bytes: transfer.size_bytes, completion })
    }

    fn accept(&mut self, poller: &Poller) -> io::Result<()> {
        let (socket, _) = self.listener.accept()?;
        socket.set_nonblocking(true)?;
        poller.add(&socket, self.token(Role::Sink), Ready::IN)?;
        self.accepted = Some(socket);
        Ok(())
    }

    /// Reads at the server, and closes when the user has closed.
    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16_384];
        for _ in 0..TURN {
            let Some(mut socket) = self.accepted.as_ref() else { return Ok(()) };
            match socket.read(&mut buffer) {
                Ok(0) => {
                    // An orderly close: the user gets a FIN, not a RST.
                    socket.set_linger(None)?;
                    self.accepted = None;
                }
                Ok(len) => {
                    self.endpoints.clamp_window(socket)?;
                    self.received_bytes += len as u64;
                    if let Some(transfer) = &mut self.transfer {
                        transfer.received_bytes += len as u64;
                    }
                }
                Err(error) => return pending(error),
            }
        }
        Ok(())
    }

    fn serve_client(&mut self, now: Time, poller: &Poller) -> io::Result<Option<TransferReport>> {
        let token = self.token(Role::Client);
        let Some(client) = &mut self.client else { return Ok(None) };
        if let Some(error) = client.socket.take_error()? {
            return Err(error);
        }
        if client.repeated_requests.is_none() {
            client.repeated_requests = Some(TcpInfo::read(&client.socket)?.counts.retransmits);
        }
        if client.is_writing {
            client.write()?;
            if client.remaining_bytes == Some(0) {
                if client.is_last {
                    client.socket.shutdown(Shutdown::Write)?;
                }
                client.is_writing = false;
                poller.change(&client.socket, token, Ready::IN)?;
            }
            return Ok(None);
        }
        match client.socket.read(&mut [0; 16]) {
            Ok(0) => self.finish(now),
            Ok(_) => Err(io::Error::other("the server answers, which it should not")),
            Err(error) => pending(error).map(|()| None),
        }
    }

    /// Handles the server's FIN, which shows that it has all data.
    fn finish(&mut self, now: Time) -> io::Result<Option<TransferReport>> {
        let Some(client) = self.client.take() else { return Ok(None) };
        self.past = self.past.plus(client.counts()?);
        let Some(transfer) = &self.transfer else { return Ok(None) };
        if transfer.received_bytes != transfer.size_bytes {
            let (got, size) = (transfer.received_bytes, transfer.size_bytes);
            return Err(io::Error::other(format!("the server has {got} of {size} bytes")));
        }
        let record = self.record(transfer.started.map(|started| now.since(started)));
        if let Some(transfer) = &mut self.transfer {
            transfer.started = None;
        }
        Ok(record)
    }
}

impl Client {
    /// Returns the counts of the connection; until it is connected, only SYNs.
    fn counts(&self) -> io::Result<TcpCounts> {
        let counts = TcpInfo::read(&self.socket)?.counts;
        Ok(counts.with_requests(self.repeated_requests.unwrap_or(counts.retransmits)))
    }

    fn write(&mut self) -> io::Result<()> {
        for _ in 0..TURN {
            let len =
                self.remaining_bytes.map_or(ZEROS.len(), |left| ZEROS.len().min(left as usize));
            if len == 0 {
                return Ok(());
            }
            match (&self.socket).write(&ZEROS[..len]) {
                Ok(written) => {
                    self.remaining_bytes = self.remaining_bytes.map(|left| left - written as u64);
                }
                Err(error) => return pending(error),
            }
        }
        Ok(())
    }
}

/// Ignores the error of an operation that would block.
fn pending(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}
