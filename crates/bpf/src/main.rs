//! `tidegate-bpf hold`: the congestion controls `tg_sbrm`, `tg_tcprm` and `tg_vegascp`, in the kernel while this
//! process runs. `tidegate-bpf declare`: ConEx senders ([`declare`]), likewise.
//!
//! The congestion controls and the programs for their parameters are held only by file descriptors of this process
//! ("links"): no pin, no file, no control group of its own. However it ends, by the end of its standard input, of its
//! parent process, or by SIGKILL, the kernel removes them. A connection that still uses the congestion control keeps it
//! until its end.

mod cgroup;
mod declare;
mod hold;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: tidegate-bpf hold [--cgroup DIR]
       tidegate-bpf check [--cgroup DIR]
       tidegate-bpf declare DEVICE[,KEY=VALUE]...
       tidegate-bpf check-declare

hold    registers the congestion controls tg_sbrm, tg_tcprm and tg_vegascp with the kernel, prints
        `ready`, and keeps them there until standard input ends or the process that started this one
        does
check   tries the same and takes them out again
declare lets the TCP flows that leave by a device declare the congestion that they meet (ConEx), in
        the ECN field and the RE bit of IPv4, and prints `ready`; several devices may be given
check-declare
        loads the program for that and takes it out again

--cgroup DIR   the cgroup v2 directory whose sockets can be asked for and given a flow's parameters
               (default: the one of this process)

keys of a device: netns=PATH (of its network namespace); unit=packets|bytes (a declaring packet for
each mark or loss, or for the bytes on the wire that were marked or lost); losses=yes|no; credit=off|
flight|half-flight; idle_ms=N (pause after which credit starts over); echo=each|round-trip (marks that
the receiver reports: each, or congestion until CWR); share=0..1 (of what was met, 1 if honest);
link_header=BYTES (14, or 0 of a TUN device); without_ecn=leave|declare (connections without ECN stay
as they are, or declare as well where no queue on the way marks)

exit code 0: done; 77: this machine lacks something, a line each; 2: usage; 1: other";

/// Reason why the congestion control is not in the kernel.
enum Failure {
    /// The machine lacks something; the line names it, and the remedy.
    Missing(String),
    Other(String),
}

/// What to put into the kernel.
#[derive(Clone, Copy, PartialEq)]
enum Task {
    Hold,
    Check,
    Declare,
    CheckDeclare,
}

/// Request of the command line.
struct Arguments {
    task: Task,
    /// The cgroup v2 directory whose sockets have parameters; this process's own if not named.
    directory: Option<PathBuf>,
    targets: Vec<declare::Target>,
}

impl Arguments {
    /// Returns [`None`] if a text was requested, which is then printed.
    fn parse(mut parser: lexopt::Parser) -> Result<Option<Self>, lexopt::Error> {
        use lexopt::prelude::*;
        let (mut task, mut directory, mut targets) = (None, None, Vec::new());
        while let Some(argument) = parser.next()? {
            match argument {
                Value(command) if task.is_none() => {
                    task = Some(match command.to_str() {
                        Some("hold") => Task::Hold,
                        Some("check") => Task::Check,
                        Some("declare") => Task::Declare,
                        Some("check-declare") => Task::CheckDeclare,
                        _ => return Err(Value(command).unexpected()),
                    });
                }
                Value(target) if task == Some(Task::Declare) => {
                    targets.push(declare::Target::parse(&target.string()?)?);
                }
                Long("cgroup") => directory = Some(PathBuf::from(parser.value()?)),
                Short('h') | Long("help") => {
                    println!("{USAGE}");
                    return Ok(None);
                }
                Long("version") => {
                    println!("tidegate-bpf {}", env!("CARGO_PKG_VERSION"));
                    return Ok(None);
                }
                _ => return Err(argument.unexpected()),
            }
        }
        let task = task.ok_or("missing command: hold, check, declare or check-declare")?;
        if task == Task::Declare && targets.is_empty() {
            return Err("declare: which device?".into());
        }
        Ok(Some(Arguments { task, directory, targets }))
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(lexopt::Parser::from_env()) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidegate-bpf: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Missing(line)) => {
            eprintln!("{line}");
            ExitCode::from(77)
        }
        Err(Failure::Other(line)) => {
            eprintln!("tidegate-bpf: {line}");
            ExitCode::FAILURE
        }
    }
}

fn run(Arguments { task, directory, targets }: Arguments) -> Result<(), Failure> {
    match task {
        Task::Declare => keep(&declare::Declaring::new(&targets)?),
        Task::CheckDeclare => declare::check(),
        Task::Hold | Task::Check => {
            let directory = directory.map_or_else(cgroup::own, Ok)?;
            let attached = hold::Attached::new(&directory)?;
            if task == Task::Hold { keep(&attached) } else { Ok(()) }
        }
    }
}

/// Keeps programs in the kernel until standard input or the parent process ends.
fn keep<T>(_programs: &T) -> Result<(), Failure> {
    println!("ready");
    hold::wait().map_err(|error| Failure::Other(format!("waiting: {error}")))
}
