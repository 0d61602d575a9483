//! Readiness of sockets: epoll(7) with typed tokens.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData};
use rustix::io::Errno;
use tidegate_mechanisms::units::{NANOS_PER_SEC, Span};

pub use rustix::event::epoll::EventFlags as Ready;

/// Role of a socket within its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Listening socket of the server.
    Listener,
    /// User's end of a connection.
    Client,
    /// Server's end of a connection, or its UDP socket.
    Sink,
}

/// Token of a flow's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketToken {
    /// Index of the flow.
    pub flow: usize,
    /// Role of the socket.
    pub role: Role,
}

impl SocketToken {
    fn data(self) -> EventData {
        EventData::new_u64((self.flow as u64) << 2 | self.role as u64)
    }

    fn of(event: &Event) -> SocketToken {
        let bits = event.data.u64();
        let role = match bits & 0b11 {
            0 => Role::Listener,
            1 => Role::Client,
            _ => Role::Sink,
        };
        SocketToken { flow: (bits >> 2) as usize, role }
    }
}

/// Poller of all sockets.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poller {
    /// Returns a poller without sockets.
    pub fn new() -> io::Result<Self> {
        Ok(Poller { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: Vec::with_capacity(256) })
    }

    /// Watches a socket, until it is closed.
    pub fn add(&self, socket: impl AsFd, token: SocketToken, ready: Ready) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, token.data(), ready)?)
    }

    /// Changes the events watched on a socket.
    pub fn change(&self, socket: impl AsFd, token: SocketToken, ready: Ready) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, token.data(), ready)?)
    }

    /// Waits until a socket is ready, at most for `limit`.
    pub fn wait(&mut self, limit: Span) -> io::Result<Vec<(SocketToken, Ready)>> {
        let timeout = Timespec {
            tv_sec: (limit.as_nanos() / NANOS_PER_SEC) as i64,
            tv_nsec: (limit.as_nanos() % NANOS_PER_SEC) as _,
        };
        self.events.clear();
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut self.events),
            Some(&timeout),
        ) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.events.iter().map(|event| (SocketToken::of(event), event.flags)).collect())
    }
}
