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

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (keep, directory) = match words[..] {
        ["hold"] => (true, None),
        ["hold", "--cgroup", directory] => (true, Some(PathBuf::from(directory))),
        ["check"] => (false, None),
        ["check", "--cgroup", directory] => (false, Some(PathBuf::from(directory))),
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        ["--version"] => {
            println!("tidegate-bpf {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(keep, directory) {
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

fn run(keep: bool, directory: Option<PathBuf>) -> Result<(), Failure> {
    let directory = directory.map_or_else(cgroup::own, Ok)?;
    let attached = hold::Attached::new(&directory)?;
    if keep {
        println!("ready");
        hold::wait().map_err(|error| Failure::Other(format!("waiting: {error}")))?;
    }
    drop(attached);
    Ok(())
}
