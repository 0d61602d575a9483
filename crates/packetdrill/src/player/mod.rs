//! Plays a script against the host under test, in virtual time.
//!
//! Time moves from event to event: what the script does happens at its time, what the host does in
//! between happens by its own timers, and what it sends waits in a queue until the script asks for it, as
//! in packetdrill. Host and script take no time to work, so a run is a function of the script.

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

/// packetdrill waits so much longer for a packet than the script says.
const PATIENCE: Span = Span::from_secs(2);

/// What became of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptVerdict {
    /// Everything was as the script says.
    Passed,
    /// The host did something else.
    Failed {
        /// Line of the script.
        line: usize,
        /// What was expected and what happened.
        message: String,
    },
    /// The script asks for what the simulated host does not have.
    Outside {
        /// Line of the script.
        line: usize,
        /// What that is.
        reason: String,
    },
}

/// Why a script ends before its end.
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

/// Ticks a second of the kernels that scripts were written on: `CONFIG_HZ`, of which timers are multiples.
pub const TICKS: [u32; 2] = [1000, 250];

/// Reads and plays a script, on a clock with so many ticks a second as it passes with.
///
/// # Errors
/// What is wrong with the script.
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

/// Reads and plays a script.
///
/// # Errors
/// What is wrong with the script.
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
    /// What Python has set.
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
            // Whatever else they ask for has been taken before the start.
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

    /// The host has to send this packet, in one piece or in several of the same size.
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

/// The settings that all commands of a script ask for, or the line and the reason why not. Which packets have
/// the option of accurate ECN is the only one that may change on the path.
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

/// What commands ask for with which packets the option of accurate ECN goes.
fn accurate_option_of(text: &str) -> Option<OptionPlan> {
    let requests = commands::read(text).ok()?;
    requests.iter().rev().find_map(|request| match request {
        Request::Set(name, value) if name == "tcp_ecn_option" => accurate_option(value),
        _ => None,
    })
}

/// The start of all runs. Timestamps count from it, and what was sent before it has been is not known.
const START: Time = Time::from_nanos(1_000_000_000);
