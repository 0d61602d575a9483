//! What a script says.

use std::fmt;

/// A script: settings, and events in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// `--option=value` lines.
    pub options: Vec<Setting>,
    /// What happens, and what has to.
    pub events: Vec<Event>,
}

/// An option of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Line, from 1.
    pub line: usize,
    /// Without the dashes.
    pub name: String,
    /// As written; empty if there is none.
    pub value: String,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Line, from 1.
    pub line: usize,
    /// When it happens or has to.
    pub when: When,
    /// What.
    pub action: Action,
}

/// Time of an event, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// From the start of the script.
    At(u64),
    /// After the event before.
    After(u64),
    /// Between two times from the start.
    Between(u64, u64),
    /// Between two times after the event before.
    AfterBetween(u64, u64),
    /// At any time.
    Any,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A TCP packet arrives at the host, or leaves it.
    ScriptPacket(ScriptPacket),
    /// A system call.
    Call(Call),
    /// Commands for a shell.
    Command(String),
    /// Assertions in Python.
    Code(String),
    /// Something that is not about TCP packets; its first word.
    Foreign(String),
}

/// Which direction a packet goes.
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
    /// Either of ECT(0) and ECT(1); in a packet that the host sends.
    Either,
}

/// A TCP packet, as a script writes it: sequence numbers count from 0 in each direction.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptPacket {
    /// Which direction it goes.
    pub direction: PacketDirection,
    /// The ECN field, where the script says something of it.
    pub ecn: Option<EcnField>,
    /// Other fields of the IP header that the script names (`tos`, `ttl`, `flowlabel`).
    pub other_ip: Option<String>,
    /// TCP's flags.
    pub flags: Flags,
    /// First sequence number.
    pub seq: u32,
    /// Bytes of payload.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: Option<u32>,
    /// Window field.
    pub window: Option<u16>,
    /// Urgent pointer.
    pub urgent: Option<u16>,
    /// TCP's options; `None` for `<...>`, whatever they are.
    pub options: Option<Vec<TcpOption>>,
}

/// TCP's flags, by their letters in a script.
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
    /// With AE, CWR and ECE instead of their number.
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
    /// Largest segment.
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
    /// Anything else, by its name and what follows it: `FO`, `FOEXP`, `md5`.
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

/// A system call and what it has to return.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// What it is given.
    pub args: Vec<Arg>,
    /// It returns as late as this, in microseconds on the clock of its event.
    pub blocks_until: Option<u64>,
    /// What it returns.
    pub result: Arg,
    /// `errno` with a result of -1.
    pub errno: Option<String>,
}

/// An argument or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// `...`: packetdrill fills it in.
    Any,
    /// A number.
    Number(i64),
    /// A constant, or several with `|` between them.
    Names(Vec<String>),
    /// Text.
    Text(String),
    /// `[a, b]`.
    List(Vec<Arg>),
    /// A structure, a call or anything else; by its first word.
    Other(String),
}

impl Arg {
    /// The number, if it is one; also the only one of a list.
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

    /// Whether it is this constant.
    pub fn is(&self, name: &str) -> bool {
        matches!(self, Arg::Names(names) if names.len() == 1 && names[0] == name)
    }

    /// Whether this constant is among its names.
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
    /// As a script writes it.
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
