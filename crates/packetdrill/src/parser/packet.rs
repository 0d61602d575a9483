//! Packets:
//!
//! ```text
//! < [ect1] SEW 0:0(0) ack 1 win 32792 urg 0 <mss 1000,nop,nop,sackOK,nop,wscale 7>
//! │ │      │   │      │     │         │     └ options; <...> for any
//! │ │      │   │      └ what may be left out
//! │ │      │   └ first sequence number : the one after the last (bytes)
//! │ │      └ flags; "." is ACK, "-" is none
//! │ └ IP: noecn, ect0, ect1, ce, ect01, tos 0x.., ttl .., flowlabel 0x..
//! └ < arrives at the host, > leaves it
//! ```

use super::Parser;
use crate::error::ScriptError;
use crate::lexer::TokenKind;
use crate::script::{
    Action, ByteCounter, EcnField, Flags, PacketDirection, ScriptPacket, TcpOption,
};

/// First words of packets that are not plain TCP over IP.
const FOREIGN: [&str; 9] = ["icmp", "udp", "gre", "GREv0", "mpls", "ipv4", "ipv6", "encap", "sctp"];

impl Parser<'_> {
    pub(super) fn packet(&mut self) -> Result<Action, ScriptError> {
        let line = self.line();
        let direction = if self.take_sign('<') {
            PacketDirection::In
        } else {
            self.sign('>')?;
            PacketDirection::Out
        };
        let (ecn, other_ip) = self.ip()?;
        if let Some(TokenKind::Word(word)) = self.kind()
            && FOREIGN.contains(&word.as_str())
        {
            self.skip_line(line);
            return Ok(Action::Foreign(format!("{word} packets")));
        }
        let flags = self.flags()?;
        let (seq, len) = self.sequence()?;
        let ack =
            if self.take_word("ack") { Some(self.number("a sequence number")?) } else { None };
        let window = if self.take_word("win") { Some(self.number("0 to 65535")?) } else { None };
        let urgent = if self.take_word("urg") { Some(self.number("0 to 65535")?) } else { None };
        let options = self.options()?;
        Ok(Action::ScriptPacket(ScriptPacket {
            direction,
            ecn,
            other_ip,
            flags,
            seq,
            len,
            ack,
            window,
            urgent,
            options,
        }))
    }

    /// Parses `[ect0]` or `(ttl 255)`.
    fn ip(&mut self) -> Result<(Option<EcnField>, Option<String>), ScriptError> {
        let close = match self.kind() {
            Some(TokenKind::Sign('[')) => ']',
            Some(TokenKind::Sign('(')) => ')',
            _ => return Ok((None, None)),
        };
        self.at += 1;
        let (mut ecn, mut other) = (None, None);
        while !self.take_sign(close) {
            let Some(TokenKind::Word(word)) = self.kind() else {
                return self.expected("noecn, ect0, ect1, ect01, ce, tos, ttl or flowlabel");
            };
            self.at += 1;
            match word.as_str() {
                "noecn" => ecn = Some(EcnField::NotEct),
                "ect0" => ecn = Some(EcnField::Ect0),
                "ect1" => ecn = Some(EcnField::Ect1),
                "ect01" => ecn = Some(EcnField::Either),
                "ce" => ecn = Some(EcnField::Ce),
                "tos" | "ttl" | "flowlabel" => {
                    self.number::<i64>("a number")?;
                    other = Some(word.clone());
                }
                _ => {
                    self.at -= 1;
                    return self.expected("noecn, ect0, ect1, ect01, ce, tos, ttl or flowlabel");
                }
            }
            self.take_sign(',');
        }
        Ok((ecn, other))
    }

    fn flags(&mut self) -> Result<Flags, ScriptError> {
        let before = self.at;
        let text = self.run_of_characters();
        let mut flags = Flags::default();
        for letter in text.chars().filter(|_| text != "-") {
            match letter {
                'F' => flags.fin = true,
                'S' => flags.syn = true,
                'R' => flags.rst = true,
                'P' => flags.psh = true,
                '.' => flags.ack = true,
                'U' => flags.urg = true,
                'E' => flags.ece = true,
                'W' => flags.cwr = true,
                'A' => flags.ae = true,
                '0'..='7' if flags.ace.is_none() => flags.ace = Some(letter as u8 - b'0'),
                _ => {
                    self.at = before;
                    return self
                        .expected("TCP flags: letters of FSRPEWAU, 0 to 7, \".\", or \"-\"");
                }
            }
        }
        if text.is_empty() || (flags.ace.is_some() && (flags.ece | flags.cwr | flags.ae)) {
            self.at = before;
            return self.expected("TCP flags, and 0 to 7 instead of A, W and E");
        }
        Ok(flags)
    }

    /// Parses `1:1001(1000)`.
    fn sequence(&mut self) -> Result<(u32, u32), ScriptError> {
        let line = self.line();
        let seq: u32 = self.number("a sequence number")?;
        self.sign(':')?;
        let end: u32 = self.number("a sequence number")?;
        self.sign('(')?;
        let len: u32 = self.number("a number of bytes")?;
        self.sign(')')?;
        if end.wrapping_sub(seq) != len {
            let found = end.wrapping_sub(seq);
            let message = format!("{seq}:{end} are {found} bytes, not {len}");
            return Err(ScriptError::new(line, message));
        }
        Ok((seq, len))
    }

    fn options(&mut self) -> Result<Option<Vec<TcpOption>>, ScriptError> {
        // The next event may begin with a packet of its own, but never without a time.
        if !self.take_sign('<') {
            return Ok(Some(Vec::new()));
        }
        if self.kind() == Some(&TokenKind::Ellipsis) {
            self.at += 1;
            self.sign('>')?;
            return Ok(None);
        }
        let mut options = Vec::new();
        loop {
            options.push(self.tcp_option()?);
            if self.take_sign('>') {
                return Ok(Some(options));
            }
            self.sign(',')?;
        }
    }

    fn tcp_option(&mut self) -> Result<TcpOption, ScriptError> {
        let Some(TokenKind::Word(name)) = self.kind() else {
            return self.expected("a TCP option such as nop, mss 1460 or sack 1:1001");
        };
        self.at += 1;
        Ok(match name.as_str() {
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::Eol,
            "sackOK" => TcpOption::SackOk,
            "mss" if !matches!(self.kind(), Some(TokenKind::Word(_))) => {
                TcpOption::Mss(self.number("0 to 65535")?)
            }
            "wscale" => TcpOption::WindowScale(self.number("0 to 255")?),
            "sack" => TcpOption::Sack(self.sack_blocks()?),
            "TS" => self.timestamps()?,
            "ECN" => TcpOption::AccEcn(self.counters()?),
            "mss" | "FO" | "FOEXP" | "md5" => {
                let mut text = name.clone();
                if let Some(TokenKind::Word(value) | TokenKind::Number(value)) = self.kind() {
                    self.at += 1;
                    text = format!("{text} {value}");
                }
                TcpOption::Other(text)
            }
            _ => {
                self.at -= 1;
                return self.expected(
                    "a TCP option: nop, eol, mss, wscale, sackOK, sack, TS, ECN, FO, FOEXP or md5",
                );
            }
        })
    }

    fn sack_blocks(&mut self) -> Result<Vec<(u32, u32)>, ScriptError> {
        let mut blocks = Vec::new();
        while matches!(self.kind(), Some(TokenKind::Number(_))) {
            let start = self.number("a sequence number")?;
            self.sign(':')?;
            blocks.push((start, self.number("a sequence number")?));
        }
        if blocks.is_empty() { self.expected("a SACK block such as 1001:2001") } else { Ok(blocks) }
    }

    fn timestamps(&mut self) -> Result<TcpOption, ScriptError> {
        if !self.take_word("val") {
            return self.expected("\"val\" and a number");
        }
        let val = self.number("a timestamp")?;
        if !self.take_word("ecr") {
            return self.expected("\"ecr\" and a number");
        }
        Ok(TcpOption::Timestamps { val, ecr: self.number("a timestamp")? })
    }

    fn counters(&mut self) -> Result<Vec<(ByteCounter, u32)>, ScriptError> {
        let mut counters = Vec::new();
        while let Some(TokenKind::Word(name)) = self.kind() {
            let counter = match name.as_str() {
                "e0b" => ByteCounter::Ect0,
                "e1b" => ByteCounter::Ect1,
                "ceb" => ByteCounter::Ce,
                _ => return self.expected("e0b, e1b or ceb"),
            };
            self.at += 1;
            counters.push((counter, self.number("a counter")?));
        }
        Ok(counters)
    }
}
