//! UDP at a constant bit rate, and its sink.

use std::io::{ErrorKind, Read};

use socket2::Socket;
use tidegate_mechanisms::units::{Bytes, NANOS_PER_SEC, Rate, Span, Time};

use super::endpoint::FlowEndpoints;
use super::poller::{Poller, Ready, Role, SocketToken};
use super::report::Lateness;
use crate::LabError;

/// Length of the packet's number, big-endian, at the start of the payload, bytes.
const NUMBER_BYTES: usize = 8;

/// Source and sink of one flow.
pub struct CbrFlow<'a> {
    endpoints: FlowEndpoints<'a>,
    source: Socket,
    sink: Socket,
    payload: Vec<u8>,
    /// Last payload received, truncated to the length sent.
    arrived: Vec<u8>,
    packet: Bytes,
    rate: Rate,
    started: Time,
    /// Counts so far.
    pub counts: CbrCounts,
}

/// Counts of packets sent and received by a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CbrCounts {
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Payload received, bytes.
    pub received_bytes: u64,
    /// Largest number received, plus one: the packets received if there were no losses.
    pub expected: u64,
}

impl<'a> CbrFlow<'a> {
    /// Returns a flow whose sink is open.
    pub fn new(
        endpoints: FlowEndpoints<'a>,
        packet: Bytes,
        rate: Rate,
        poller: &Poller,
    ) -> Result<Self, LabError> {
        let sink = endpoints.sink()?;
        let (source, payload_bytes) = endpoints.source()?;
        if payload_bytes < NUMBER_BYTES {
            let packet = packet.get();
            let line = format!("{}: packets of {packet} B are too small", endpoints.name);
            return Err(LabError::Setup(line));
        }
        let token = SocketToken { flow: endpoints.number, role: Role::Sink };
        let watched = poller.add(&sink, token, Ready::IN);
        watched.map_err(|error| endpoints.error("epoll", &error))?;
        Ok(CbrFlow {
            endpoints,
            source,
            sink,
            payload: vec![0; payload_bytes],
            arrived: vec![0; payload_bytes],
            packet,
            rate,
            started: Time::ZERO,
            counts: CbrCounts::default(),
        })
    }

    /// Schedules the first packet.
    pub fn start(&mut self, due: Time) {
        self.started = due;
    }

    /// Returns the due time of the next packet. Multiples of the exact interval, so that rounding errors do not
    /// accumulate and a late packet does not delay the next.
    pub fn due(&self) -> Time {
        let bits = u128::from(self.counts.sent) * u128::from(self.packet.as_bits());
        let offset_ns = bits * u128::from(NANOS_PER_SEC) / u128::from(self.rate.as_bps());
        self.started + Span::from_nanos(offset_ns as u64)
    }

    /// Sends all due packets.
    pub fn send(&mut self, now: Time, lateness: &mut Lateness) -> Result<(), LabError> {
        while self.due() <= now {
            self.payload[..NUMBER_BYTES].copy_from_slice(&self.counts.sent.to_be_bytes());
            self.source
                .send(&self.payload)
                .map_err(|error| self.endpoints.error("cannot send", &error))?;
            lateness.add(now.since(self.due()));
            self.counts.sent += 1;
        }
        Ok(())
    }

    /// Reads and counts all received packets.
    pub fn receive(&mut self) -> Result<(), LabError> {
        loop {
            match self.sink.read(&mut self.arrived) {
                Ok(len) => self.counts.take(&self.arrived[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    return Err(self.endpoints.error("the server cannot receive", &error));
                }
            }
        }
    }
}

impl CbrCounts {
    fn take(&mut self, payload: &[u8]) {
        let Some(number) = payload.first_chunk::<NUMBER_BYTES>() else { return };
        self.received += 1;
        self.received_bytes += payload.len() as u64;
        self.expected = self.expected.max(u64::from_be_bytes(*number) + 1);
    }

    /// Returns the difference to `before`.
    pub fn since(self, before: CbrCounts) -> CbrCounts {
        CbrCounts {
            sent: self.sent - before.sent,
            received: self.received - before.received,
            received_bytes: self.received_bytes - before.received_bytes,
            expected: self.expected - before.expected,
        }
    }
}
