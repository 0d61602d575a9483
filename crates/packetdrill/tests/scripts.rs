//! The project's own scripts (`tests/packetdrill`) pass; a kernel of 2025 passes them, too.

use std::path::Path;
use std::process::{Command, Output};

use proptest::prelude::*;
use tidegate_packetdrill::player::{ScriptVerdict, play};

fn scripts() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill")
}

#[test]
fn the_projects_own_scripts_pass() {
    let mut count = 0;
    for entry in std::fs::read_dir(scripts()).expect("a folder of scripts") {
        let path = entry.expect("a script").path();
        let text = std::fs::read_to_string(&path).expect("text");
        assert_eq!(play(&text), Ok(ScriptVerdict::Passed), "{}", path.display());
        count += 1;
    }
    assert!(count >= 10, "{count} scripts");
}

/// Returns a script with lines omitted, duplicated, exchanged and given other numbers.
fn changed(text: &str, changes: &[(usize, usize, u8)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for &(at, number, kind) in changes {
        let (at, other) = (at % lines.len(), number % lines.len());
        match kind {
            0 => lines[at].clear(),
            1 => lines.insert(at, lines[other].clone()),
            2 => lines.swap(at, other),
            _ => {
                let digits = lines[at].find(|c: char| c.is_ascii_digit());
                if let Some(place) = digits.map(|first| first + number % (lines[at].len() - first))
                {
                    let kept = lines[at].is_char_boundary(place);
                    let digit = char::from(b'0' + (number % 10) as u8);
                    lines[at].insert(if kept { place } else { 0 }, digit);
                }
            }
        }
    }
    lines.join("\n")
}

proptest! {
    #[test]
    fn no_change_to_a_script_makes_it_panic_or_play_otherwise_the_second_time(
        script in 0..12_usize,
        changes in prop::collection::vec((0..60_usize, 0..1000_usize, 0..4_u8), 1..12)
    ) {
        let mut paths: Vec<_> = std::fs::read_dir(scripts())
            .expect("a folder")
            .map(|entry| entry.expect("a script").path())
            .collect();
        paths.sort();
        let text = std::fs::read_to_string(&paths[script % paths.len()]).expect("text");
        let text = changed(&text, &changes);
        prop_assert_eq!(play(&text), play(&text));
    }
}

fn verdict(events: &str) -> ScriptVerdict {
    let start = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n";
    play(&format!("{start}{events}")).expect("a script")
}

const HANDSHAKE: &str = "+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop>\n\
    +0 > S. 0:0(0) ack 1 <...>\n+.1 < . 1:1(0) ack 1 win 65535\n+0 accept(3, ..., ...) = 4\n";

#[test]
fn a_script_that_expects_something_else_fails_at_its_line() {
    for (events, line, message) in [
        (
            "+0 write(4, ..., 3000) = 3000\n+0 > . 1:2001(2000) ack 1\n",
            8,
            "expected > . 1:2001(2000) ack 1, but > P. 1:2001(2000) ack 1 was sent",
        ),
        (
            "+0 > P. 1:1001(1000) ack 1\n",
            7,
            "expected > P. 1:1001(1000) ack 1, but nothing was sent",
        ),
        (
            "+0 %{ assert tcpi_snd_cwnd == 11 }%\n",
            7,
            "expected tcpi_snd_cwnd == 11, but tcpi_snd_cwnd is 10",
        ),
        (
            "+0 write(4, ..., 1000) = 1000\n+.01 > P. 1:1001(1000) ack 1\n",
            8,
            "expected > P. 1:1001(1000) ack 1 at 0.11 s, but it was at 0.1 s (tolerance 4 ms)",
        ),
    ] {
        let found = verdict(&format!("{HANDSHAKE}{events}"));
        assert_eq!(found, ScriptVerdict::Failed { line, message: message.to_owned() });
    }
}

#[test]
fn what_the_host_does_not_have_is_outside_wherever_it_is() {
    for (event, reason) in [
        ("+0 sendmsg(4, ..., 0) = 5", "the system call sendmsg"),
        ("+0 write(4, ..., 900) = 100", "a send buffer that fills"),
        ("+0 > R. 1:1(0) ack 1", "resets"),
        ("+0 < icmp unreachable", "icmp packets"),
        ("+0 > . 1:1(0) ack 1 win 500", "the window that the host offers"),
        ("+0 `nstat`", "the command \"nstat\""),
        ("+0 %{ assert tcpi_rcv_mss == 5 }%", "tcpi_rcv_mss in an assertion"),
        ("+0 `sysctl -q net.ipv4.tcp_ecn_option=3`", "the setting tcp_ecn_option = 3"),
    ] {
        // The previous packet fails, but does not hide it.
        let events = format!("{HANDSHAKE}+0 > P. 1:9(8) ack 1\n{event}\n");
        let reason = reason.to_owned();
        assert_eq!(verdict(&events), ScriptVerdict::Outside { line: 8, reason });
    }
}

fn program(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate-packetdrill")).args(args).output().expect("runs")
}

#[test]
fn the_program_prints_a_table_and_sums_and_reports_failures_by_its_exit_code() {
    let folder = std::env::temp_dir().join(format!("tidegate-packetdrill-{}", std::process::id()));
    // An earlier process with this number may have been killed here.
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a script");
    write("good.pkt", "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n");
    write("other.pkt", "0 poll(...) = 1\n");
    let path = folder.to_str().expect("a path");
    let output = program(&[path]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "good.pkt   passed\nother.pkt  outside at line 1: the system call poll\n\n\
         2 scripts: 1 passed, 0 failed, 1 outside the model\n"
    );
    write("wrong.pkt", "0 close(\n");
    let json = folder.join("table.json");
    let output = program(&["--json", json.to_str().expect("a path"), path]);
    assert_eq!(output.status.code(), Some(1));
    let text = std::fs::read_to_string(&json).expect("written");
    let table: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(table[2]["verdict"], "errorn");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn without_scripts_the_program_says_how_to_get_them() {
    for args in [&[][..], &["/nowhere/at/all"], &["--colour"]] {
        let output = program(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(reported.contains("git clone https://github.com/google/packetdrill"), "{reported}");
    }
}
