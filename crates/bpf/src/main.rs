//! `tidegate-bpf hold`: the congestion controls `tg_sbrm`, `tg_tcprm` and `tg_vegascp`, in the kernel while this
//! process runs.
//!
//! The congestion controls and the programs for their parameters are held only by file descriptors of this process
//! ("links"): no pin, no file, no control group of its own. However it ends, by the end of its standard input, of its
//! parent process, or by SIGKILL, the kernel removes them. A connection that still uses the congestion control keeps it
//! until its end.

mod cgroup;
mod hold;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: tidegate-bpf hold [--cgroup DIR]
       tidegate-bpf check [--cgroup DIR]

hold    registers the congestion controls tg_sbrm, tg_tcprm and tg_vegascp with the kernel, prints
        `ready`, and keeps them there until standard input ends or the process that started this one
        does
check   tries the same and takes them out again

--cgroup DIR   the cgroup v2 directory whose sockets can be asked for and given a flow's parameters
               (default: the one of this process)

exit code 0: done; 77: this machine lacks something, a line each; 2: usage; 1: other";

/// Reason why the congestion control is not in the kernel.
enum Failure {
    /// The machine lacks something; the line names it, and the remedy.
    Missing(String),
    Other(String),
}

/// Request of the command line.
struct Arguments {
    /// Keep the congestion controls until standard input ends.
    keep: bool,
    /// The cgroup v2 directory whose sockets have parameters; this process's own if not named.
    directory: Option<PathBuf>,
}

impl Arguments {
    /// Returns [`None`] if a text was requested, which is then printed.
    fn parse(mut parser: lexopt::Parser) -> Result<Option<Self>, lexopt::Error> {
        use lexopt::prelude::*;
        let (mut keep, mut directory) = (None, None);
        while let Some(argument) = parser.next()? {
            match argument {
                Value(command) if keep.is_none() && command == "hold" => keep = Some(true),
                Value(command) if keep.is_none() && command == "check" => keep = Some(false),
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
        let keep = keep.ok_or("missing command: hold or check")?;
        Ok(Some(Arguments { keep, directory }))
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

fn run(arguments: Arguments) -> Result<(), Failure> {
    let directory = arguments.directory.map_or_else(cgroup::own, Ok)?;
    let attached = hold::Attached::new(&directory)?;
    if arguments.keep {
        println!("ready");
        hold::wait().map_err(|error| Failure::Other(format!("waiting: {error}")))?;
    }
    drop(attached);
    Ok(())
}
