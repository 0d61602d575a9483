//! Syntax tree of a script.

use std::fmt;

/// A script: options, and events in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// `--option=value` lines.
    pub options: Vec<Setting>,
    /// Events: actions and expectations.
    pub events: Vec<Event>,
}

/// An option of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Line, from 1.
    pub line: usize,
    /// Name without the dashes.
    pub name: String,
    /// Value as written; empty without a value.
    pub value: String,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Line, from 1.
    pub line: usize,
    /// Time of the event.
    pub when: When,
    /// Action of the event.
    pub action: Action,
}

/// Time of an event, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Since the start of the script.
    At(u64),
    /// Since the previous event.
    After(u64),
    /// Between two times since the start.
    Between(u64, u64),
    /// Between two times since the previous event.
    AfterBetween(u64, u64),
    /// At any time.
    Any,
}

/// Action of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A TCP packet arrives at the host, or is sent by it.
    ScriptPacket(ScriptPacket),
    /// A system call.
    Call(Call),
    /// Shell commands.
    Command(String),
    /// Assertions in Python.
    Code(String),
    /// An event without TCP packets, by its first word.
    Foreign(String),
}

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDirection {
    /// `<`: it arrives at the host under test.
    In,
    /// `>`: the host sends it.
    Out,
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// Not ECN-capable.
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
    /// ECT(0) or ECT(1); in a packet that the host sends.
    Either,
}

/// A TCP packet in a script's notation: sequence numbers count from 0 in each direction.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptPacket {
    /// Direction of the packet.
    pub direction: PacketDirection,
    /// ECN field, if the script specifies it.
    pub ecn: Option<EcnField>,
    /// Other fields of the IP header that the script specifies (`tos`, `ttl`, `flowlabel`).
    pub other_ip: Option<String>,
    /// TCP flags.
    pub flags: Flags,
    /// First sequence number.
    pub seq: u32,
    /// Length of the payload, bytes.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: Option<u32>,
    /// Window field.
    pub window: Option<u16>,
    /// Urgent pointer.
    pub urgent: Option<u16>,
    /// TCP options; `None` for `<...>`, which matches any.
    pub options: Option<Vec<TcpOption>>,
}

/// TCP flags, by their letters in a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `F`
    pub fin: bool,
    /// `S`
    pub syn: bool,
    /// `R`
    pub rst: bool,
    /// `P`
    pub psh: bool,
    /// `.`
    pub ack: bool,
    /// `U`
    pub urg: bool,
    /// `E`
    pub ece: bool,
    /// `W`
    pub cwr: bool,
    /// `A`: the third bit of accurate ECN (RFC 9768).
    pub ae: bool,
    /// `0` to `7`: the three bits of accurate ECN as a number, instead of `A`, `W` and `E`.
    pub ace: Option<u8>,
}

impl Flags {
    /// Returns the flags with AE, CWR and ECE instead of their number.
    pub fn in_letters(self) -> Self {
        let Some(ace) = self.ace else { return self };
        let bit = |bit: u8| ace & bit != 0;
        Flags { ae: bit(4), cwr: bit(2), ece: bit(1), ace: None, ..self }
    }
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Padding.
    Nop,
    /// End of the list.
    Eol,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackOk,
    /// SACK blocks.
    Sack(Vec<(u32, u32)>),
    /// Timestamps.
    Timestamps {
        /// TSval.
        val: u32,
        /// TSecr.
        ecr: u32,
    },
    /// Accurate ECN: byte counters in the order written (RFC 9768).
    AccEcn(Vec<(ByteCounter, u32)>),
    /// Any other option, by its name and the text after it: `FO`, `FOEXP`, `md5`.
    Other(String),
}

/// A byte counter of accurate ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteCounter {
    /// `e0b`: ECT(0).
    Ect0,
    /// `e1b`: ECT(1).
    Ect1,
    /// `ceb`: CE.
    Ce,
}

/// A system call and its expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Name of the call.
    pub name: String,
    /// Arguments.
    pub args: Vec<Arg>,
    /// Latest time of its return, in microseconds relative to its event.
    pub blocks_until: Option<u64>,
    /// Expected result.
    pub result: Arg,
    /// `errno` with a result of -1.
    pub errno: Option<String>,
}

/// An argument or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// `...`: filled in by packetdrill.
    Any,
    /// A number.
    Number(i64),
    /// A constant, or several joined by `|`.
    Names(Vec<String>),
    /// Text.
    Text(String),
    /// `[a, b]`.
    List(Vec<Arg>),
    /// A structure, a call or anything else, by its first word.
    Other(String),
}

impl Arg {
    /// Returns the number, if the argument is one or a list of only one.
    pub fn number(&self) -> Option<i64> {
        match self {
            Arg::Number(number) => Some(*number),
            Arg::List(args) => match &args[..] {
                [Arg::Number(number)] => Some(*number),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the argument is this constant.
    pub fn is(&self, name: &str) -> bool {
        matches!(self, Arg::Names(names) if names.len() == 1 && names[0] == name)
    }

    /// Whether this constant is among the names.
    pub fn has(&self, name: &str) -> bool {
        matches!(self, Arg::Names(names) if names.iter().any(|n| n == name))
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Any => f.write_str("..."),
            Arg::Number(number) => write!(f, "{number}"),
            Arg::Names(names) => f.write_str(&names.join("|")),
            Arg::Text(text) => write!(f, "{text:?}"),
            Arg::List(args) => {
                let args: Vec<String> = args.iter().map(Arg::to_string).collect();
                write!(f, "[{}]", args.join(", "))
            }
            Arg::Other(word) => f.write_str(word),
        }
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.fin, 'F'),
            (self.syn, 'S'),
            (self.rst, 'R'),
            (self.psh, 'P'),
            (self.ece, 'E'),
            (self.cwr, 'W'),
            (self.ae, 'A'),
            (self.urg, 'U'),
        ];
        let mut text: String = letters.iter().filter(|l| l.0).map(|l| l.1).collect();
        text.extend(self.ace.map(|ace| char::from(b'0' + ace)));
        text.extend(self.ack.then_some('.'));
        f.write_str(if text.is_empty() { "-" } else { &text })
    }
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpOption::Nop => f.write_str("nop"),
            TcpOption::Eol => f.write_str("eol"),
            TcpOption::Mss(mss) => write!(f, "mss {mss}"),
            TcpOption::WindowScale(shift) => write!(f, "wscale {shift}"),
            TcpOption::SackOk => f.write_str("sackOK"),
            TcpOption::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
            TcpOption::Timestamps { val, ecr } => write!(f, "TS val {val} ecr {ecr}"),
            TcpOption::AccEcn(counters) => {
                f.write_str("ECN")?;
                counters.iter().try_for_each(|(counter, value)| {
                    let name = match counter {
                        ByteCounter::Ect0 => "e0b",
                        ByteCounter::Ect1 => "e1b",
                        ByteCounter::Ce => "ceb",
                    };
                    write!(f, " {name} {value}")
                })
            }
            TcpOption::Other(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for EcnField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EcnField::NotEct => "noecn",
            EcnField::Ect0 => "ect0",
            EcnField::Ect1 => "ect1",
            EcnField::Ce => "ce",
            EcnField::Either => "ect01",
        })
    }
}

impl fmt::Display for ScriptPacket {
    /// Formats the packet in a script's notation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.direction == PacketDirection::In { "<" } else { ">" })?;
        if let Some(ecn) = self.ecn {
            write!(f, " [{ecn}]")?;
        }
        let (seq, end) = (self.seq, self.seq.wrapping_add(self.len));
        write!(f, " {} {seq}:{end}({})", self.flags, self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            None => f.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => {
                let options: Vec<String> = options.iter().map(TcpOption::to_string).collect();
                write!(f, " <{}>", options.join(","))
            }
        }
    }
}
