//! Shell commands of a script: the settings of the host that they change.
//!
//! ```text
//! `../common/defaults.sh                              what all scripts begin with
//! sysctl -q net.ipv4.tcp_ecn=2 net.ipv4.tcp_sack=0    settings, one or several
//! ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_min_tso_segs=10
//! tc qdisc replace dev tun0 root fq                   the queue of the host's interface
//! /tmp/sysctl_restore_${PPID}.sh`                     takes settings back
//! ```

/// A change requested by a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A kernel setting, by its name below `net.ipv4.`, or a module parameter, by its name.
    Set(String, String),
    /// Queueing discipline of the host's interface, such as `pfifo` or `fq`, with its parameters.
    Queue(Vec<String>),
}

/// Parses commands.
///
/// # Errors
///
/// Fails on the first unknown command.
pub fn read(text: &str) -> Result<Vec<Request>, String> {
    let mut requests = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        let line = line.split(" #").next().unwrap_or_default();
        if line.trim_start().starts_with('#') {
            continue;
        }
        for command in line.split([';', '&']) {
            one(command, &mut requests)?;
        }
    }
    Ok(requests)
}

/// Whether commands set the queue limit of the host's interface to zero packets.
pub fn closes_interface(text: &str) -> bool {
    let none = ["pfifo", "limit", "0"];
    let is_none = |request: &Request| matches!(request, Request::Queue(queue) if *queue == none);
    read(text).is_ok_and(|requests| requests.iter().any(is_none))
}

fn one(command: &str, requests: &mut Vec<Request>) -> Result<(), String> {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((&program, rest)) = words.split_first() else { return Ok(()) };
    let name = program.rsplit('/').next().unwrap_or_default();
    match name {
        "defaults.sh" => {
            defaults(requests);
            Ok(())
        }
        _ if name.starts_with("sysctl_restore_") => Ok(()),
        "sysctl" | "set_sysctls.py" => assignments(rest, requests),
        "echo" => echo(rest, requests),
        "tc" => match rest {
            ["qdisc", "replace" | "add", "dev", "tun0", "root", queue @ ..] => {
                let queue = queue.iter().map(|&word| word.to_owned()).collect();
                requests.push(Request::Queue(queue));
                Ok(())
            }
            _ => unknown(command),
        },
        "true" | ":" => Ok(()),
        "ip" if rest.starts_with(&["tcp_metrics", "flush"]) => Ok(()),
        _ => unknown(command),
    }
}

fn unknown(command: &str) -> Result<(), String> {
    let short: String = command.trim().chars().take(60).collect();
    Err(format!("the command {short:?}"))
}

/// Appends the settings of `defaults.sh` that differ from the kernel's defaults or on which scripts rely.
fn defaults(requests: &mut Vec<Request>) {
    let settings = [
        ("tcp_rmem", "4096 540000 15728640"),
        ("tcp_timestamps", "1"),
        ("tcp_sack", "1"),
        ("tcp_congestion_control", "cubic"),
        ("tcp_slow_start_after_idle", "0"),
        ("tcp_early_retrans", "4"),
        ("tcp_recovery", "1"),
        ("tcp_tso_win_divisor", "3"),
        ("tcp_ecn", "0"),
    ];
    for (name, value) in settings {
        requests.push(Request::Set(name.to_owned(), value.to_owned()));
    }
    requests.push(Request::Queue(vec!["pfifo".to_owned()]));
}

fn assignments(words: &[&str], requests: &mut Vec<Request>) -> Result<(), String> {
    for word in words.iter().take_while(|word| !word.starts_with('>')) {
        if word.starts_with('-') {
            continue;
        }
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("the setting {word:?}, which has no value"));
        };
        requests.push(Request::Set(setting(name), value.to_owned()));
    }
    Ok(())
}

/// `echo VALUE > FILE`
fn echo(words: &[&str], requests: &mut Vec<Request>) -> Result<(), String> {
    match words {
        [value, ">", file] => {
            requests.push(Request::Set(setting(file), (*value).to_owned()));
            Ok(())
        }
        _ => unknown(&format!("echo {}", words.join(" "))),
    }
}

/// Returns `x` for `net.ipv4.x`, `net/ipv4/x` and `/proc/sys/net/ipv4/x`.
fn setting(name: &str) -> String {
    let dotted = name.replace('/', ".");
    let name = dotted.trim_start_matches(".proc.sys.").trim_start_matches("net.ipv4.");
    name.trim_start_matches(".sys.module.").to_owned()
}

/// Returns the words of a command; quotes join several words.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && (c == '"' || c == '\'') {
            quote = Some(c);
            word.get_or_insert_default();
        } else if quote.is_none() && c.is_whitespace() {
            words.extend(word.take());
        } else {
            word.get_or_insert_default().push(c);
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Request {
        Request::Set(name.to_owned(), value.to_owned())
    }

    #[test]
    fn settings_are_found_by_their_names_however_they_are_written() {
        let text = "sysctl -q net.ipv4.tcp_ecn=2 # agrees\n\
                    sysctl -e -q net/ipv4/tcp_pacing_ss_ratio=200\n\
                    ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_wmem=\"4096 50000 4194304\" \\\n\
                     /proc/sys/net/ipv4/tcp_min_tso_segs=10\n\
                    echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect";
        assert_eq!(
            read(text),
            Ok(vec![
                set("tcp_ecn", "2"),
                set("tcp_pacing_ss_ratio", "200"),
                set("tcp_wmem", "4096 50000 4194304"),
                set("tcp_min_tso_segs", "10"),
                set("tcp_cubic.parameters.hystart_detect", "3"),
            ])
        );
    }

    #[test]
    fn the_defaults_come_first_and_a_queue_may_follow() {
        let requests =
            read("../common/defaults.sh\ntc qdisc replace dev tun0 root fq").expect("known");
        assert!(requests.contains(&set("tcp_slow_start_after_idle", "0")));
        assert_eq!(requests.last(), Some(&Request::Queue(vec!["fq".to_owned()])));
    }

    #[test]
    fn unknown_commands_are_reported() {
        assert_eq!(read("nstat > /dev/null"), Err("the command \"nstat > /dev/null\"".to_owned()));
        assert_eq!(
            read("sysctl -w tcp_ecn"),
            Err("the setting \"tcp_ecn\", which has no value".to_owned())
        );
    }
}
