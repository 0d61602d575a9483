//! What a flow sends: TCP without end, TCP transfers, or UDP at a constant bit rate.

use std::sync::Arc;

use tidegate_mechanisms::units::{Bytes, NANOS_PER_SEC, Span, Time};
use tidegate_scenario::plan::{self, FlowPlan, PausePlan, TcpPlan, Traffic, WritesPlan};

use crate::event_queue::Wake;
use crate::packet::Packet;
use crate::random::Stream;
use crate::tcp::sender::SenderCounts;
use crate::tcp::{Connection, Door};

/// IPv4 and UDP headers.
pub const UDP_HEADER_BYTES: u16 = 28;

/// The sending application of one flow, and its receiver.
pub enum Source {
    /// TCP.
    Tcp(Box<Tcp>),
    /// UDP.
    Cbr(Cbr),
}

/// TCP, with one connection after the other.
pub struct Tcp {
    /// The connection in use.
    pub connection: Connection,
    /// The one before, for packets sent again in vain that arrive when the next has begun.
    previous: Option<Box<Connection>>,
    transfer: Option<Transfer>,
}

struct Transfer {
    plan: Arc<TcpPlan>,
    packet_size: u16,
    size_bytes: u64,
    pause: Option<PausePlan>,
    writes: Option<WritesPlan>,
    written_bytes: u64,
    rng: Stream,
    started: Option<Time>,
}

/// A transfer, finished or not.
#[derive(Clone, Copy, Debug)]
pub struct TransferRecord {
    /// The flow.
    pub flow: u32,
    /// When the connection was requested.
    pub start: Time,
    /// Application bytes.
    pub size_bytes: u64,
    /// From the request to the last ACK at the sender.
    pub completion: Option<Span>,
}

/// UDP at a constant bit rate.
pub struct Cbr {
    started: Time,
    sent: u64,
    len: u16,
    bits_per_s: u64,
}

impl Source {
    /// The source of a flow; `number` names its random stream.
    pub fn new(plan: &FlowPlan, number: usize, seed: u64) -> Self {
        let packet_size = plan.packet_size.get() as u16;
        let tcp = || plan.tcp.as_ref().expect("what is no UDP is TCP");
        match &plan.traffic {
            Traffic::Greedy(_) => Source::Tcp(Box::new(Tcp {
                connection: Connection::new(tcp(), packet_size).carrying(None),
                previous: None,
                transfer: None,
            })),
            Traffic::Transfer(planned) => {
                let transfer = Transfer {
                    plan: Arc::clone(tcp()),
                    packet_size,
                    size_bytes: planned.size.get(),
                    pause: planned.pauses(),
                    writes: planned.writes(),
                    written_bytes: 0,
                    rng: Stream::new(seed, &format!("flow/{number}/pause")),
                    started: None,
                };
                Source::Tcp(Box::new(Tcp {
                    connection: transfer.connection(),
                    previous: None,
                    transfer: Some(transfer),
                }))
            }
            Traffic::Cbr(plan::Cbr { rate }) => Source::Cbr(Cbr {
                started: Time::ZERO,
                sent: 0,
                len: packet_size,
                bits_per_s: rate.as_bps(),
            }),
        }
    }

    /// What has been sent so far.
    pub fn counts(&self) -> SenderCounts {
        match self {
            Source::Tcp(tcp) => tcp.connection.sender.counts,
            Source::Cbr(cbr) => SenderCounts { sent: cbr.sent, ..SenderCounts::default() },
        }
    }

    /// The flow starts, or starts its next transfer.
    pub fn start(&mut self, door: &mut Door) {
        match self {
            Source::Tcp(tcp) => tcp.start(door),
            Source::Cbr(cbr) => {
                cbr.started = door.now;
                cbr.send(door);
            }
        }
    }
}

impl Transfer {
    /// A connection for the next transfer, with all that it carries unless that is written piece by piece.
    fn connection(&self) -> Connection {
        let connection = Connection::new(&self.plan, self.packet_size);
        match self.writes {
            Some(_) => connection,
            None => connection.carrying(Some(self.size_bytes)),
        }
    }
}

impl Tcp {
    fn start(&mut self, door: &mut Door) {
        if let Some(transfer) = &mut self.transfer {
            if self.connection.sender.is_done() {
                let counts = self.connection.sender.counts;
                let next = transfer.connection().after(&self.connection);
                self.previous = Some(Box::new(core::mem::replace(&mut self.connection, next)));
                self.connection.sender.counts = counts;
            }
            transfer.started = Some(door.now);
            transfer.written_bytes = 0;
            self.write(door);
        }
        self.connection.sender.open(door);
    }

    /// The application hands over its next piece, where it does so in pieces.
    pub fn write(&mut self, door: &mut Door) {
        let Some(transfer) = &mut self.transfer else { return };
        let Some(writes) = transfer.writes else { return };
        // A transfer of nothing is one byte all the same.
        let size_bytes = transfer.size_bytes.max(1);
        let bytes = writes.size.get().min(size_bytes - transfer.written_bytes);
        transfer.written_bytes += bytes;
        let sender = &mut self.connection.sender;
        sender.write(bytes);
        if transfer.written_bytes < size_bytes {
            door.wake(door.now + writes.interval, Wake::Application(door.flow));
        } else {
            sender.end();
        }
        sender.on_written(door);
    }

    /// The connection that a packet belongs to.
    #[inline]
    pub fn connection_of(&mut self, packet: &Packet) -> &mut Connection {
        match &mut self.previous {
            Some(previous) if !self.connection.owns(packet) => previous,
            _ => &mut self.connection,
        }
    }

    /// Looks whether the transfer has just finished, and plans the next one.
    #[inline]
    pub fn check_finished(&mut self, door: &mut Door) -> Option<TransferRecord> {
        let transfer = self.transfer.as_mut()?;
        if !self.connection.sender.is_done() {
            return None;
        }
        let start = transfer.started.take()?;
        if let Some(pause) = transfer.pause {
            let length = transfer.rng.pause(pause, door.now - start);
            door.wake(door.now + length, Wake::Start(door.flow));
        }
        let completion = Some(door.now - start);
        Some(TransferRecord { flow: door.flow, start, size_bytes: transfer.size_bytes, completion })
    }

    /// The transfer under way, if any.
    pub fn unfinished(&self, flow: u32) -> Option<TransferRecord> {
        let transfer = self.transfer.as_ref()?;
        let start = transfer.started?;
        Some(TransferRecord { flow, start, size_bytes: transfer.size_bytes, completion: None })
    }

    /// Whether this is a single transfer, for whose end a run waits.
    pub fn is_awaited(&self) -> bool {
        self.transfer.as_ref().is_some_and(|transfer| transfer.pause.is_none())
    }
}

impl Cbr {
    /// Sends a packet and plans the next. The times are multiples of the exact interval, so that
    /// rounding never adds up.
    pub fn send(&mut self, door: &mut Door) {
        door.send_data(self.sent, self.len, 0);
        self.sent += 1;
        let bits = u128::from(self.sent) * u128::from(Bytes::new(self.len.into()).as_bits());
        let offset_ns = bits * u128::from(NANOS_PER_SEC) / u128::from(self.bits_per_s);
        door.wake(self.started + Span::from_nanos(offset_ns as u64), Wake::Application(door.flow));
    }
}
