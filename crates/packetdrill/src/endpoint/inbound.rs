//! Arrival of packets at the host: conversion of packets to segments.

use tidegate_mechanisms::units::{Span, Time};
use tidegate_simulator::host::handshake::{Cause, Mode};
use tidegate_simulator::host::{
    Ace, Acknowledgement, Blocks, Host, Kernel, OptionPlan, SegmentArrival,
};

use super::agreed::Agreed;
use super::marks::{ace_of, codepoint};
use super::{Endpoint, State};
use crate::script::{ScriptPacket, TcpOption};

/// Lower bound of measured round-trip times.
const SHORTEST_TRIP: Span = Span::from_micros(1);
/// Number of SYN retransmissions at linear intervals (`tcp_syn_linear_timeouts`).
const EVEN_REQUESTS: u32 = 4;
/// Maximum number of SACK blocks read from an acknowledgement.
const MOST_BLOCKS: usize = 3;

impl Endpoint {
    /// Processes a packet that arrives.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the simulated host cannot process the packet.
    pub fn arrive(&mut self, packet: &ScriptPacket) -> Result<(), String> {
        if packet.flags.rst {
            (self.state, self.host) = (State::Closed, None);
            return Ok(());
        }
        if packet.flags.urg {
            return Err("urgent data".to_owned());
        }
        if let Some(TcpOption::Timestamps { val, .. }) = option(packet, is_timestamps) {
            self.ts_is_newer = val.wrapping_sub(self.ts_recent) as i32 > 0;
            self.ts_recent = *val;
        } else {
            self.ts_is_newer = false;
        }
        match (self.state, packet.flags.syn, packet.flags.ack) {
            (State::Listening, true, false) => self.on_request(packet),
            (State::Requested, true, true) => self.on_answer(packet),
            (State::Answered, false, true) => self.on_last_of_handshake(packet),
            (State::Open, false, true) => self.on_packet(packet),
            // A repeated SYN: the SYN-ACK was lost.
            (State::Answered, true, false) => {
                self.agree_on_request(packet);
                self.send_request(Cause::Request);
                Ok(())
            }
            // A repeated SYN-ACK: the ACK was lost (RFC 9293, section 3.10.7.4).
            (State::Open, true, true) => {
                self.agree_on_repeated_answer(packet);
                self.send_own_ack();
                Ok(())
            }
            _ => Err("a packet that does not belong to a connection".to_owned()),
        }
    }

    pub(super) fn open_host(&mut self, agreed: Agreed) -> Result<(), String> {
        let mut host = Host::new(&agreed.tcp(&self.settings)?, agreed.mss);
        let tick = self.settings.tick;
        let even_requests = if self.requested { EVEN_REQUESTS } else { 0 };
        host.set_kernel(Kernel { tick, least_burst: self.settings.min_burst, even_requests });
        host.at(self.now).open();
        (self.host, self.agreed) = (Some(host), agreed);
        Ok(())
    }

    fn on_request(&mut self, packet: &ScriptPacket) -> Result<(), String> {
        if packet.len > 0 {
            return Err("data in a connection request (fast open)".to_owned());
        }
        let mode = self.agree_on_request(packet);
        let agreed = Agreed::with(&self.settings, packet, mode);
        self.peer_isn = packet.seq;
        self.state = State::Answered;
        self.open_host(agreed)?;
        if let Some(host) = &mut self.host {
            let counts = mode == Mode::Accurate;
            host.requested(
                if counts { ace_of(&packet.flags) } else { Ace::NONE },
                codepoint(packet),
            );
            // Off until the peer is known to support the option.
            host.send_options(OptionPlan::Off);
        }
        self.hand_over();
        Ok(())
    }

    fn on_answer(&mut self, packet: &ScriptPacket) -> Result<(), String> {
        if packet.ack != Some(self.seq_of(0)) {
            return Err("an answer to another request".to_owned());
        }
        let agreed = self.agree_on_answer(packet);
        self.peer_isn = packet.seq;
        // The parameters are final only now; the SYN itself is not retransmitted.
        self.open_host(agreed)?;
        if let Some(host) = &mut self.host {
            host.take_sent();
        }
        self.establish(packet);
        self.note_marks(packet);
        self.send_own_ack();
        self.send_written();
        Ok(())
    }

    fn on_last_of_handshake(&mut self, packet: &ScriptPacket) -> Result<(), String> {
        if packet.ack != Some(self.seq_of(0)) {
            return Err("an acknowledgement of another answer".to_owned());
        }
        self.agree_on_last_of_handshake(packet);
        // Its flags are not a counter yet.
        self.ts_is_newer = false;
        self.establish(packet);
        self.on_packet(packet)
    }

    fn establish(&mut self, packet: &ScriptPacket) {
        let sent = self.echoed(packet).unwrap_or(self.requested_at).min(self.at_latest());
        self.state = State::Open;
        let outcome = self.outcome();
        if let Some(host) = &mut self.host {
            host.at(self.now).answered(sent, outcome);
        }
        // The window of a packet with SYN is not scaled.
        let shift = if packet.flags.syn { 0 } else { self.peer_shift() };
        self.out.window = u64::from(packet.window.unwrap_or(0)) << shift;
        self.out.window_end = self.out.window;
        self.out.largest_window = self.out.window;
    }

    /// Returns the latest sending time of a packet that is acknowledged now.
    fn at_latest(&self) -> Time {
        Time::from_nanos(self.now.as_nanos().saturating_sub(SHORTEST_TRIP.as_nanos()))
    }

    fn peer_shift(&self) -> u8 {
        self.agreed.shifts.map_or(0, |(_, peer)| peer)
    }

    fn on_packet(&mut self, packet: &ScriptPacket) -> Result<(), String> {
        self.note_marks(packet);
        self.receive(packet)?;
        let ack = packet.ack.unwrap_or_default().wrapping_sub(self.seq_of(0));
        // Sequence numbers wrap; an acknowledged byte is close to the sent ones.
        let sent = self.out.cuts.end();
        let acked = if ack > u32::MAX / 2 { 0 } else { u64::from(ack) };
        if acked > sent {
            return Err("an acknowledgement of what was not sent".to_owned());
        }
        let window = u64::from(packet.window.unwrap_or(0)) << self.peer_shift();
        let updates = window != self.out.window;
        self.out.window = window;
        self.out.largest_window = self.out.largest_window.max(window);
        self.out.window_end = self.out.window_end.max(acked + window);
        if window == 0 {
            self.out.window_end = acked;
        }
        let reported = Acknowledgement {
            next: self.out.cuts.whole_by(acked),
            echo: self.echoed(packet).unwrap_or(Time::ZERO),
            marks: self.heard_marks(packet),
            newer: self.ts_is_newer,
            blocks: self.blocks(packet)?,
        };
        self.give(reported.next);
        let Some(host) = &mut self.host else { return Ok(()) };
        let (count, unacked) = (self.out.cuts.count(), host.info().unacked);
        let advances = reported.next + u64::from(unacked) > count;
        if unacked == 0 {
            // Written data held back by the peer's window is sent after idle time.
            host.at(self.now).send();
        }
        // RFC 5681, section 2: an acknowledgement with data or another window is no duplicate.
        let plain = packet.len == 0 && !packet.flags.fin && !updates;
        if self.agreed.sack || advances || plain {
            host.at(self.now).acknowledge(&reported);
        } else {
            host.at(self.now).send();
        }
        self.hand_over();
        Ok(())
    }

    fn blocks(&self, packet: &ScriptPacket) -> Result<Option<Blocks>, String> {
        let Some(TcpOption::Sack(blocks)) =
            option(packet, |option| matches!(option, TcpOption::Sack(_)))
        else {
            return Ok(None);
        };
        if blocks.len() > MOST_BLOCKS {
            return Err(format!("more than {MOST_BLOCKS} SACK blocks"));
        }
        let byte = |seq: u32| u64::from(seq.wrapping_sub(self.seq_of(0)));
        let segments = |&(start, end): &(u32, u32)| self.out.cuts.within(byte(start), byte(end));
        Ok(Some(blocks.iter().map(segments).filter(|(first, last)| first < last).collect()))
    }

    /// Returns the sending time of the packet whose timestamp this one echoes.
    fn echoed(&self, packet: &ScriptPacket) -> Option<Time> {
        match option(packet, is_timestamps) {
            Some(TcpOption::Timestamps { ecr, .. }) if self.agreed.timestamps => {
                self.ts_sent.get(ecr).copied()
            }
            _ => None,
        }
    }

    /// Receives payload and FIN, which counts as a byte.
    fn receive(&mut self, packet: &ScriptPacket) -> Result<(), String> {
        let bytes = u64::from(packet.len) + u64::from(packet.flags.fin);
        if bytes == 0 {
            return Ok(());
        }
        let start = packet.seq.wrapping_sub(self.peer_isn.wrapping_add(1));
        if start > u32::MAX / 2 {
            return Err("data from before the connection".to_owned());
        }
        let (start, end) = (u64::from(start), u64::from(start) + u64::from(packet.len));
        self.peer_closed |= packet.flags.fin;
        let mut parts = Vec::new();
        if packet.len > 0 {
            parts.push((start, end, packet.flags.psh));
        }
        if packet.flags.fin {
            parts.push((end, end + 1, true));
        }
        for (start, end, pushed) in parts {
            let segments = self.back.covering(start, end);
            let (first, last) =
                segments.map_err(|_| "retransmitted segments with other boundaries".to_owned())?;
            for number in first..last {
                self.receive_segment(number, pushed && number + 1 == last, packet);
            }
        }
        Ok(())
    }

    fn receive_segment(&mut self, number: u64, pushed: bool, packet: &ScriptPacket) {
        let arrival = SegmentArrival {
            number,
            // The receiver reads the length only if it is less than a full segment.
            bytes: self.back.len_of(number).min(u64::from(self.agreed.mss)) as u16,
            stamp: self.now,
            pushed,
            ecn: codepoint(packet),
            reduced: packet.flags.cwr,
        };
        if let Some(host) = &mut self.host {
            host.at(self.now).receive(&arrival);
        }
    }
}

fn option(packet: &ScriptPacket, wanted: impl Fn(&TcpOption) -> bool) -> Option<&TcpOption> {
    packet.options.as_deref().unwrap_or_default().iter().find(|option| wanted(option))
}

fn is_timestamps(option: &TcpOption) -> bool {
    matches!(option, TcpOption::Timestamps { .. })
}
