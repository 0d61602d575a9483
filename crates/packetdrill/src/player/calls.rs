//! System calls: sockets, and a single connection.

use tidegate_mechanisms::units::Time;

use super::clock::{Due, ScriptClock};
use super::{Player, Stop};
use crate::endpoint::{Endpoint, State};
use crate::script::{Arg, Call};

/// Socket options without effect on the simulated host.
const HARMLESS: [&str; 9] = [
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_SNDBUF",
    "SO_SNDBUFFORCE",
    "SO_RCVBUF",
    "IP_TOS",
    "IP_MTU_DISCOVER",
    "TCP_QUICKACK",
    "SO_LINGER",
];

/// Maximum number of bytes of a write.
const MOST_WRITTEN: i64 = 1 << 30;

/// File descriptors and their objects.
#[derive(Debug, Default)]
pub struct Sockets {
    /// File descriptors of the listener and of the connection.
    listener: Option<i64>,
    stream: Option<i64>,
    nonblocking: bool,
    /// A blocking call: its line, its name and the time range of its return.
    blocked: Option<(usize, &'static str, Time, Time)>,
}

impl Sockets {
    /// Returns a call that has not returned.
    pub fn pending(&self) -> Option<(usize, &'static str)> {
        self.blocked.map(|(line, name, ..)| (line, name))
    }

    /// Lets a call return that waits for a connection.
    pub fn look_after(&mut self, host: &mut Endpoint, clock: &ScriptClock) -> Result<(), Stop> {
        if host.state() != State::Open {
            return Ok(());
        }
        let Some((_, name, first, last)) = self.blocked.take() else { return Ok(()) };
        clock.check(Due::between(first, last, clock), clock.now, &format!("the return of {name}"))
    }
}

/// Checks that the simulated host supports a call with these arguments.
///
/// # Errors
///
/// Fails with a description of what is not supported.
pub fn check(call: &Call) -> Result<(), String> {
    let arg = |n: usize| call.args.get(n);
    let result = match call.result {
        Arg::Number(number) => number,
        _ => return Err(format!("a result of {} that is not a number", call.name)),
    };
    if result < 0 && call.errno.as_deref() != Some("EINPROGRESS") {
        let errno = call.errno.as_deref().unwrap_or("an error");
        return Err(format!("{errno} from {}", call.name));
    }
    match call.name.as_str() {
        "socket" => match (arg(1), arg(2)) {
            (Some(kind), Some(protocol))
                if kind.has("SOCK_STREAM")
                    && (protocol.is("IPPROTO_TCP") || protocol.number() == Some(0)) =>
            {
                Ok(())
            }
            _ => Err("sockets that are not TCP's".to_owned()),
        },
        "bind" | "listen" | "accept" | "connect" | "close" => Ok(()),
        "fcntl" => match arg(1) {
            Some(command) if command.is("F_GETFL") || command.is("F_SETFL") => Ok(()),
            _ => Err("fcntl but for O_NONBLOCK".to_owned()),
        },
        "setsockopt" => match arg(2) {
            Some(name) if HARMLESS.iter().any(|known| name.is(known)) => Ok(()),
            Some(name) if name.is("TCP_NODELAY") => Ok(()),
            Some(name) => Err(format!("the socket option {name}")),
            None => Err("setsockopt without an option".to_owned()),
        },
        "getsockopt" => match arg(2) {
            Some(name) if name.is("SO_ERROR") => Ok(()),
            Some(name) => Err(format!("getsockopt of {name}")),
            None => Err("getsockopt without an option".to_owned()),
        },
        "write" | "send" | "sendto" => {
            let flags = arg(3).filter(|flags| flags.number() != Some(0));
            match (flags, arg(2).and_then(Arg::number)) {
                (Some(flags), _) => Err(format!("{} with {flags}", call.name)),
                (None, Some(bytes)) if bytes > MOST_WRITTEN => {
                    Err(format!("a write of more than {MOST_WRITTEN} bytes"))
                }
                (None, Some(bytes)) if bytes == result => Ok(()),
                (None, Some(_)) => Err("a send buffer that fills".to_owned()),
                (None, None) => Err(format!("{} of no number of bytes", call.name)),
            }
        }
        "read" | "recv" => match arg(3).filter(|flags| flags.number() != Some(0)) {
            Some(flags) => Err(format!("{} with {flags}", call.name)),
            None => Ok(()),
        },
        "shutdown" if arg(1).is_some_and(|how| how.is("SHUT_WR")) => Ok(()),
        name => Err(format!("the system call {name}")),
    }?;
    if call.blocks_until.is_some() && call.name != "connect" {
        return Err(format!("{} that blocks", call.name));
    }
    Ok(())
}

impl Player<'_> {
    pub(super) fn call(&mut self, call: &Call, line: usize, due: Due) -> Result<(), Stop> {
        let result = call.result.number().unwrap_or(0);
        let arg = |n: usize| call.args.get(n).and_then(Arg::number);
        let fd = arg(0);
        match call.name.as_str() {
            "listen" => {
                self.sockets.listener = fd;
                self.host.listen();
            }
            "accept" => {
                if self.host.state() != State::Open {
                    return Err(Stop::Failed("there is no connection to accept".to_owned()));
                }
                self.sockets.stream = Some(result);
            }
            "connect" => self.connect(call, fd, line, due)?,
            "fcntl" => {
                self.sockets.nonblocking |=
                    call.args.get(2).is_some_and(|flags| flags.has("O_NONBLOCK"));
            }
            "setsockopt" => {
                let no_delay = call.args.get(2).is_some_and(|name| name.is("TCP_NODELAY"));
                if no_delay && arg(3) != Some(0) {
                    self.host.set_no_delay();
                }
            }
            "getsockopt" => {
                let error = call.args.get(3).and_then(Arg::number);
                if error.is_some_and(|error| error != 0) {
                    return Err(Stop::Failed("the connection has no error".to_owned()));
                }
            }
            "write" | "send" | "sendto" => {
                if fd.is_none() || fd != self.sockets.stream {
                    return Err(Stop::Failed("this is no connection to write to".to_owned()));
                }
                self.host.write(u64::try_from(result).unwrap_or(0));
            }
            "read" | "recv" => {
                let there = self.host.readable();
                let wanted = u64::try_from(arg(2).unwrap_or(0)).unwrap_or(0);
                let got = there.min(wanted);
                if got == 0 && !self.host.is_read_to_the_end() {
                    return Err(Stop::Outside(format!("{} that blocks", call.name)));
                }
                if i64::try_from(got) != Ok(result) {
                    let message =
                        format!("expected {result} bytes to be read, but there are {got}");
                    return Err(Stop::Failed(message));
                }
                self.host.read(got);
            }
            "close" | "shutdown" if fd == self.sockets.stream => self.host.close(),
            _ => {}
        }
        Ok(())
    }

    fn connect(&mut self, call: &Call, fd: Option<i64>, line: usize, due: Due) -> Result<(), Stop> {
        self.sockets.stream = fd;
        let waits = call.result.number() == Some(0);
        if waits == self.sockets.nonblocking {
            let does = if waits { "block" } else { "return at once" };
            return Err(Stop::Failed(format!("this socket's connect does not {does}")));
        }
        if waits {
            let last = call.blocks_until.map_or(due.range().1, |us| self.clock.at(us));
            self.sockets.blocked = Some((line, "connect", last, last));
        }
        self.host.connect().map_err(Stop::Outside)
    }
}
