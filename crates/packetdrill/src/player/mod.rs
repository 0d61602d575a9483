//! Plays a script against the host under test, in virtual time.
//!
//! Time advances from event to event: actions of the script happen at their time, those of the host in between by its
//! own timers, and packets of the host wait in a queue until the script expects them, as in packetdrill. Host and
//! script need no processing time, so a run is a function of the script.

mod calls;
mod clock;
mod compare;
mod facts;
mod limits;
mod options;

use tidegate_mechanisms::units::{Span, Time};
use tidegate_simulator::host::OptionPlan;

use crate::code::{Code, Names};
use crate::commands::{self, Request};
use crate::endpoint::{Endpoint, Settings, accurate_option};
use crate::error::ScriptError;
use crate::parser::parse;
use crate::script::{Action, Event, PacketDirection, Script, ScriptPacket};
use calls::Sockets;
use clock::ScriptClock;
pub use options::PlayOptions;

/// Additional time that packetdrill waits for a packet after the expected one.
const PATIENCE: Span = Span::from_secs(2);

/// Verdict on a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptVerdict {
    /// The host behaved as the script expects.
    Passed,
    /// The host behaved differently.
    Failed {
        /// Line of the script.
        line: usize,
        /// Expected and actual behaviour.
        message: String,
    },
    /// The script needs a feature that the simulated host does not support.
    Outside {
        /// Line of the script.
        line: usize,
        /// The feature.
        reason: String,
    },
}

/// Reason why a script ends early.
#[derive(Debug)]
enum Stop {
    Failed(String),
    Outside(String),
}

impl Stop {
    fn at(self, line: usize) -> ScriptVerdict {
        match self {
            Stop::Failed(message) => ScriptVerdict::Failed { line, message },
            Stop::Outside(reason) => ScriptVerdict::Outside { line, reason },
        }
    }
}

/// Ticks per second of the kernels for which scripts were written: `CONFIG_HZ`, which determines the timer resolution.
pub const TICKS: [u32; 2] = [1000, 250];

/// Parses and plays a script, with the first clock of [`TICKS`] with which it passes. Returns the verdict and the ticks
/// per second.
///
/// # Errors
///
/// Fails on an error in the script.
pub fn play_on_any_clock(text: &str) -> Result<(ScriptVerdict, u32), ScriptError> {
    let [first, second] = TICKS;
    let verdict = play_at(text, first)?;
    if matches!(verdict, ScriptVerdict::Failed { .. })
        && play_at(text, second)? == ScriptVerdict::Passed
    {
        return Ok((ScriptVerdict::Passed, second));
    }
    Ok((verdict, first))
}

/// Parses and plays a script.
///
/// # Errors
///
/// Fails on an error in the script.
pub fn play(text: &str) -> Result<ScriptVerdict, ScriptError> {
    play_at(text, TICKS[0])
}

fn play_at(text: &str, ticks: u32) -> Result<ScriptVerdict, ScriptError> {
    let script = parse(text)?;
    let options = PlayOptions::of(&script)?;
    let settings = match limits::check(&script, &options) {
        Ok(settings) => settings,
        Err((line, reason)) => return Ok(ScriptVerdict::Outside { line, reason }),
    };
    let tick = Span::from_nanos(1_000_000_000 / u64::from(ticks));
    Ok(Player::new(&script, options, Settings { tick, ..settings }).run())
}

struct Player<'a> {
    script: &'a Script,
    options: PlayOptions,
    host: Endpoint,
    sockets: Sockets,
    clock: ScriptClock,
    /// Names set by Python code.
    names: Names,
}

impl<'a> Player<'a> {
    fn new(script: &'a Script, options: PlayOptions, settings: Settings) -> Self {
        Player {
            script,
            clock: ScriptClock::new(&options),
            options,
            host: Endpoint::new(settings),
            sockets: Sockets::default(),
            names: Names::new(),
        }
    }

    fn run(mut self) -> ScriptVerdict {
        for event in &self.script.events {
            if let Err(stop) = self.perform(event) {
                return stop.at(event.line);
            }
        }
        match self.sockets.pending() {
            Some((line, what)) => {
                Stop::Failed(format!("{what} has not returned by the end of the script")).at(line)
            }
            None => ScriptVerdict::Passed,
        }
    }

    fn perform(&mut self, event: &Event) -> Result<(), Stop> {
        let arrives =
            matches!(&event.action, Action::ScriptPacket(p) if p.direction == PacketDirection::In);
        let due = self.clock.due(event.when, arrives)?;
        if let Action::ScriptPacket(packet) = &event.action
            && packet.direction == PacketDirection::Out
        {
            return self.expect(packet, due);
        }
        self.clock.wait_for(due, &mut self.host)?;
        self.sockets.look_after(&mut self.host, &self.clock)?;
        self.host.at(self.clock.now);
        match &event.action {
            Action::ScriptPacket(packet) => self.host.arrive(packet).map_err(Stop::Outside)?,
            Action::Call(call) => self.call(call, event.line, due)?,
            Action::Code(text) => self.check(text)?,
            // All other settings have been applied before the start.
            Action::Command(text) if commands::closes_interface(text) => {
                self.host.refuse_segments();
            }
            Action::Command(text) => {
                if let Some(option) = accurate_option_of(text) {
                    self.host.set_accurate_option(option);
                }
            }
            Action::Foreign(what) => return Err(Stop::Outside(what.clone())),
        }
        self.sockets.look_after(&mut self.host, &self.clock)
    }

    /// Expects a packet from the host, as one segment or as several of the same size.
    fn expect(&mut self, script: &ScriptPacket, due: clock::Due) -> Result<(), Stop> {
        let (_, last) = due.range();
        let mut pieces = Vec::new();
        let mut bytes = 0;
        loop {
            let Some(live) = self.clock.next_sent(&mut self.host, last + PATIENCE) else {
                let more = if bytes > 0 { " the rest of" } else { "" };
                return Err(Stop::Failed(format!("expected{more} {script}, but nothing was sent")));
            };
            bytes += live.packet.len;
            pieces.push(live);
            if bytes >= script.len || self.options.strict_segments {
                break;
            }
        }
        self.sockets.look_after(&mut self.host, &self.clock)?;
        let live = compare::joined(script, &pieces)?;
        let sent = live.at;
        if script.flags.syn {
            self.host.set_isn(script.seq);
        }
        compare::packet(script, &live.packet, &self.options, &mut self.clock, sent)?;
        if let Some(val) = compare::timestamp(script) {
            pieces.iter().for_each(|piece| self.host.note_timestamp(val, piece.at));
        }
        self.clock.check(due, sent, &format!("{script}"))
    }

    fn check(&mut self, text: &str) -> Result<(), Stop> {
        let given = facts::of(&self.host);
        let failed = match Code::parse(text) {
            Ok(code) => code.run(&mut self.names, &given),
            Err(failure) => Err(failure),
        };
        failed.map_err(|failure| {
            if failure.beyond {
                Stop::Outside(failure.message)
            } else {
                Stop::Failed(failure.message)
            }
        })
    }
}

/// Returns the settings that all commands of a script request, or the line and reason of a rejection. Only the option
/// of accurate ECN may change during the script.
fn settings(script: &Script) -> Result<Settings, (usize, String)> {
    let mut settings = Settings::default();
    let mut first_option = None;
    for event in &script.events {
        let text = match &event.action {
            Action::ScriptPacket(_) => {
                first_option.get_or_insert(settings.accurate_option);
                continue;
            }
            Action::Command(text) => text,
            _ => continue,
        };
        let requests = commands::read(text).map_err(|reason| (event.line, reason))?;
        for request in requests {
            settings.take(&request).map_err(|reason| (event.line, reason))?;
        }
    }
    settings.accurate_option = first_option.unwrap_or(settings.accurate_option);
    Ok(settings)
}

/// Returns the requested use of the option of accurate ECN.
fn accurate_option_of(text: &str) -> Option<OptionPlan> {
    let requests = commands::read(text).ok()?;
    requests.iter().rev().find_map(|request| match request {
        Request::Set(name, value) if name == "tcp_ecn_option" => accurate_option(value),
        _ => None,
    })
}

/// Start time of all runs. Timestamps count from it, and sending times before it are unknown.
const START: Time = Time::from_nanos(1_000_000_000);
