//! Packets sent by the host: conversion of segments to packets.

use tidegate_mechanisms::units::Span;
use tidegate_simulator::host::handshake::Cause;
use tidegate_simulator::host::{Ace, AckMarks, Blocks, Sent};

use super::marks::{options_of, with_ace};
use super::{Endpoint, LONGEST_PROBE, Live, Outgoing, Probe, State};
use crate::script::{EcnField, Flags, PacketDirection, ScriptPacket, TcpOption};

/// Maximum delay of a FIN's acknowledgement, in which the host's own FIN can carry it.
const ACK_DELAY: Span = Span::from_millis(40);
/// The window field: scripts seldom check it, and the simulated host offers more than any script sends.
const OFFERED_WINDOW: u16 = u16::MAX;

impl Endpoint {
    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the simulated host does not support the settings.
    pub fn connect(&mut self) -> Result<(), String> {
        (self.state, self.requested) = (State::Requested, true);
        let agreed = self.agreed.clone();
        self.open_host(agreed)?;
        self.hand_over();
        Ok(())
    }

    /// Passes written data to TCP within the peer's window. A segment that is not full waits while another such segment
    /// is in flight (Nagle, with Minshall's amendment, as in Linux); the first `acked` segments are acknowledged.
    pub(super) fn give(&mut self, acked: u64) {
        if self.pacing.is_some() {
            return;
        }
        let end = self.may_give();
        let Some(host) = &mut self.host else { return };
        let mss = u64::from(self.agreed.mss);
        let out = &mut self.out;
        if end < out.written {
            if end > out.given {
                host.write(end - out.given, false);
                out.given = end;
            }
            return;
        }
        let small = |segment: u64| out.cuts.len_of(segment) < mss;
        let unacked = u64::from(host.info().unacked);
        let count = out.cuts.count();
        let mut in_flight = acked.max(count.saturating_sub(unacked))..count;
        let waits = !out.no_delay && out.fin.is_none() && in_flight.any(small);
        host.write(out.written - out.given, !waits);
        out.given = out.written;
    }

    /// Returns the end of the data allowed by the peer's window, in whole segments: the last few bytes of the window
    /// stay unused.
    pub(super) fn may_give(&self) -> u64 {
        let out = &self.out;
        if out.window_end >= out.written {
            return out.written;
        }
        let (sent, mss) = (out.cuts.end(), u64::from(self.agreed.mss));
        sent + out.window_end.saturating_sub(sent) / mss * mss
    }

    /// Converts the segments sent by the host to packets, and sends paced data that is due.
    pub(super) fn hand_over(&mut self) {
        self.hand_over_now();
        self.pace();
        self.watch_window();
    }

    /// Converts the segments sent by the host to packets.
    pub(super) fn hand_over_now(&mut self) {
        let Some(host) = &mut self.host else { return };
        let sent = host.take_sent();
        let data = sent.iter().any(|sent| matches!(sent, Sent::Segment { .. }));
        let mut sent = sent.into_iter().peekable();
        while let Some(packet) = sent.next() {
            match packet {
                Sent::Request => {
                    // The first SYN-ACK answers the SYN, the following ones are caused by its retransmission timer.
                    let first = self.marks_nothing_sent();
                    self.send_request(if first { Cause::Request } else { Cause::Timeout });
                }
                Sent::Segment { number, bytes, pushed, capable, reduced } => {
                    let next = sent.peek().and_then(|next| match next {
                        Sent::Segment { number, .. } => Some(*number),
                        _ => None,
                    });
                    let pushed = self.out.note(number, u64::from(bytes), pushed, next);
                    self.send_segment(number, pushed, capable, reduced);
                }
                Sent::Ack { next, marks, blocks, .. } => {
                    self.echoes = marks.ace != Ace::NONE && !self.counts_marks();
                    // Data sent at the same time carries the acknowledgement. The acknowledgement of the peer's FIN
                    // waits for the host's own FIN (Linux, `tcp_fin`).
                    let ends = self.peer_closed && next == self.back.count();
                    if ends && self.out.fin.is_none() {
                        self.ack_by = Some(self.now + ACK_DELAY);
                    } else if !data {
                        let marks = self.reflected(marks);
                        self.send_ack(marks, &blocks);
                    }
                }
            }
        }
    }

    fn emit(&mut self, packet: ScriptPacket) {
        // Every sent packet acknowledges.
        self.ack_by = None;
        self.outbox.push_back(Live { at: self.now, packet });
    }

    fn timestamps(&self) -> TcpOption {
        let val = (self.now.as_nanos() / 1_000_000) as u32;
        TcpOption::Timestamps { val, ecr: self.ts_recent }
    }

    fn packet(&self, flags: Flags, seq: u32, len: u32) -> ScriptPacket {
        let mut options = Vec::new();
        if self.agreed.timestamps {
            options.extend([TcpOption::Nop, TcpOption::Nop, self.timestamps()]);
        }
        ScriptPacket {
            direction: PacketDirection::Out,
            ecn: Some(EcnField::NotEct),
            other_ip: None,
            flags,
            seq,
            len,
            ack: flags.ack.then(|| self.expected()),
            window: Some(OFFERED_WINDOW),
            urgent: None,
            options: Some(options),
        }
    }

    /// Returns the next sequence number expected from the peer.
    fn expected(&self) -> u32 {
        let arrived = self.host.as_ref().map_or(0, |host| self.back.end_of(host.expects()));
        self.peer_isn.wrapping_add(1).wrapping_add(arrived as u32)
    }

    /// Sends the SYN or the SYN-ACK.
    pub(super) fn send_request(&mut self, cause: Cause) {
        let answers = self.state == State::Answered;
        let (ace, received) = self.ask_or_answer(cause);
        let flags = with_ace(Flags { syn: true, ack: answers, ..Flags::default() }, ace);
        let mut packet = self.packet(flags, self.local_isn, 0);
        packet.options = Some(self.agreed.offer(self.timestamps(), received));
        self.requested_at = self.now;
        self.emit(packet);
    }

    fn send_segment(&mut self, number: u64, pushed: bool, capable: bool, reduced: bool) {
        let out = &self.out;
        let (start, end) = (out.cuts.end_of(number), out.cuts.end_of(number + 1));
        let fin = out.fin.is_some_and(|fin| end > fin);
        let len = end - start - u64::from(fin);
        let psh = len > 0 && pushed;
        let flags = Flags { ack: true, fin, psh, cwr: reduced, ..Flags::default() };
        let seq = self.seq_of(start);
        let marks = self.say_marks();
        let mut packet = self.packet(with_ace(flags, marks.ace), seq, len as u32);
        // Without data it is a control packet (RFC 3168, section 6.1.4).
        let capable = capable && (len > 0 || self.counts_marks());
        packet.ecn = Some(if capable { EcnField::Ect0 } else { EcnField::NotEct });
        let received = marks.received.iter().flat_map(|received| options_of(received, false));
        packet.options.get_or_insert_default().extend(received);
        self.emit(packet);
    }

    pub(super) fn seq_of(&self, byte: u64) -> u32 {
        self.local_isn.wrapping_add(1).wrapping_add(byte as u32)
    }

    /// Sends an acknowledgement that the host's receiver did not request.
    pub(super) fn send_own_ack(&mut self) {
        let marks = self.say_marks();
        self.send_ack(marks, &Blocks::new());
    }

    fn send_ack(&mut self, marks: AckMarks, blocks: &Blocks) {
        let flags = with_ace(Flags { ack: true, ..Flags::default() }, marks.ace);
        let seq = self.seq_of(self.out.cuts.end());
        let mut packet = self.packet(flags, seq, 0);
        packet.ecn = Some(if self.all_are_capable() { EcnField::Ect0 } else { EcnField::NotEct });
        let start = self.peer_isn.wrapping_add(1);
        let byte = |segments: u64| start.wrapping_add(self.back.end_of(segments) as u32);
        let options = packet.options.get_or_insert_default();
        match &marks.received {
            Some(received) => options.extend(options_of(received, !blocks.is_empty())),
            None if !blocks.is_empty() => options.extend([TcpOption::Nop, TcpOption::Nop]),
            None => {}
        }
        if !blocks.is_empty() {
            let blocks = blocks.iter().map(|&(first, last)| (byte(first), byte(last))).collect();
            options.push(TcpOption::Sack(blocks));
        }
        self.emit(packet);
    }

    /// Sets the window probe timer if only the peer's window keeps the host from sending (RFC 9293, section 3.8.6.1).
    fn watch_window(&mut self) {
        let info = self.info().filter(|info| info.unacked == 0);
        let stuck = info
            .filter(|_| self.out.cuts.end() == self.out.given)
            .filter(|_| self.out.given < self.out.written);
        match (stuck, self.probe) {
            (None, _) => self.probe = None,
            (Some(info), None) => {
                self.probe = Some(Probe { at: self.now + info.rto, wait: info.rto });
            }
            (Some(_), Some(_)) => {}
        }
    }

    pub(super) fn probe_window(&mut self) {
        let seq = self.seq_of(self.out.cuts.end()).wrapping_sub(1);
        let flags = Flags { ack: true, ..Flags::default() };
        let packet = self.packet(flags, seq, 0);
        self.emit(packet);
        if let Some(probe) = &mut self.probe {
            let wait = Span::from_nanos(probe.wait.as_nanos() * 2).min(LONGEST_PROBE);
            *probe = Probe { at: self.now + wait, wait };
        }
    }
}

impl Outgoing {
    /// Records a segment that is sent, where `next` is the following one at the same time. Returns whether it has PSH.
    ///
    /// Linux sets PSH on the last byte of some buffers ([`super::pushes`]), and on the last segment of a burst that the
    /// interface segments (since 5.4). A retransmitted burst is treated alike if it is still one burst.
    fn note(&mut self, number: u64, bytes: u64, pushed: bool, next: Option<u64>) -> bool {
        let again = number < self.cuts.count();
        if !again {
            self.cuts.push(bytes);
            self.pieces.push(self.piece);
            // The next segment at the same time belongs to the same burst, unless this was its last.
            self.piece += u64::from(pushed || next.is_none());
        }
        if self.pushes.contains(self.cuts.end_of(number + 1)) {
            return true;
        }
        if !again {
            return pushed;
        }
        let piece = |number: u64| self.pieces.get(usize::try_from(number).ok()?);
        let goes_on = next.is_some_and(|next| next == number + 1 && piece(next) == piece(number));
        let follows =
            self.last_again.is_some_and(|last| last + 1 == number && piece(last) == piece(number));
        self.last_again = next.map(|_| number);
        follows && !goes_on
    }
}
