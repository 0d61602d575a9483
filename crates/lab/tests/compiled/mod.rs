//! The kernel programs' arithmetic (`bpf/*.h`), compiled for this machine. Needs a C compiler and nothing of BPF.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the results of the pricing headers for each line; `None`, with a message on standard output, without a C
/// compiler.
pub fn answers(lines: &[String]) -> Option<Vec<u64>> {
    answers_of("sbrm_trace.c", lines)
}

/// Returns what a program of `bpf/test` prints for these lines; `None` as [`answers`].
pub fn answers_of(program: &str, lines: &[String]) -> Option<Vec<u64>> {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bpf/test").join(program);
    // Tests run in parallel, and a running program cannot be overwritten.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}_{number}", env!("CARGO_CRATE_NAME"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-o"])
        .args([&program, &source])
        .status();
    let Ok(status) = compiled else {
        println!("skipped: there is no C compiler (cc)");
        return None;
    };
    assert!(status.success(), "{} does not compile", source.display());
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("was compiled just now");
    let mut input = child.stdin.take().expect("is a pipe");
    let text = lines.join("\n");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("has started");
    writer.join().expect("does not panic").expect("reads to the end");
    assert!(output.status.success(), "a line was not understood");
    let text = String::from_utf8(output.stdout).expect("prints digits");
    Some(text.lines().map(|line| line.parse().expect("prints numbers")).collect())
}
