//! Detection of unsupported features before a script is played, so that the verdict does not depend on earlier
//! failures.

use super::{PlayOptions, calls, facts, settings};
use crate::code::{Code, Names, Value};
use crate::endpoint::Settings;
use crate::script::{Action, PacketDirection, Script, ScriptPacket, TcpOption};

/// Returns the settings that a script requests.
///
/// # Errors
///
/// Fails with the line and name of the first feature that the simulated host does not support.
pub fn check(script: &Script, options: &PlayOptions) -> Result<Settings, (usize, String)> {
    if let Some(beyond) = &options.beyond {
        return Err(beyond.clone());
    }
    // Events are checked first, since they describe the subject of the script better than the settings.
    let mut names = facts::known();
    let mut connections = 0;
    for event in &script.events {
        let outside = |reason: String| (event.line, reason);
        match &event.action {
            Action::Call(call) => {
                calls::check(call).map_err(outside)?;
                if matches!(call.name.as_str(), "connect" | "accept") {
                    connections += 1;
                }
            }
            Action::Foreign(what) => return Err(outside(what.clone())),
            Action::ScriptPacket(packet) => packet_is_plain(packet).map_err(outside)?,
            Action::Code(text) => code(text, &mut names).map_err(outside)?,
            Action::Command(_) => {}
        }
        if connections > 1 {
            return Err(outside("more than one connection".to_owned()));
        }
    }
    settings(script)
}

fn code(text: &str, names: &mut Names) -> Result<(), String> {
    let code = Code::parse(text).map_err(|failure| failure.message)?;
    if let Some(name) = code.unknown_names(names).first() {
        return Err(format!("{name} in an assertion"));
    }
    for name in code.names_set() {
        names.insert(name.to_owned(), Value::Number(0));
    }
    Ok(())
}

fn packet_is_plain(packet: &ScriptPacket) -> Result<(), String> {
    if let Some(field) = &packet.other_ip {
        return Err(format!("{field} of the IP header"));
    }
    if packet.flags.rst && packet.direction == PacketDirection::Out {
        return Err("resets".to_owned());
    }
    if packet.flags.urg || packet.urgent.is_some() {
        return Err("urgent data".to_owned());
    }
    if packet.flags.syn && packet.len > 0 {
        return Err("data in a connection request (fast open)".to_owned());
    }
    for option in packet.options.iter().flatten() {
        match option {
            TcpOption::Other(name) if name.starts_with("FO") => {
                return Err("fast open".to_owned());
            }
            TcpOption::Other(name) => return Err(format!("the option {name}")),
            _ => {}
        }
    }
    if packet.direction == PacketDirection::Out && packet.window.is_some() {
        return Err("the window that the host offers".to_owned());
    }
    Ok(())
}
