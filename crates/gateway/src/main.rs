//! The command `tidegate-gateway`.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io, thread};

use tidegate_gateway::arguments::{Arguments, Command, Format, HELP};
use tidegate_gateway::capture::{self, Request};
use tidegate_gateway::check;
use tidegate_gateway::control::{self, Mode, Options, now_ns};
use tidegate_gateway::error::Error;
use tidegate_gateway::explain::Public;
use tidegate_gateway::lock::{LOOP, Lock};
use tidegate_gateway::maps::{Maps, Pins, word};
use tidegate_gateway::metrics::Shown;
use tidegate_gateway::netlink::Netlink;
use tidegate_gateway::programs::Attachment;
use tidegate_gateway::report::{Report, Snapshot};
use tidegate_gateway::settings::Settings;
use tidegate_gateway::{folder, reload, saved_state, switching};

/// Read if it is there and no other is named.
const SETTINGS: &str = "/etc/tidegate/gateway.toml";

/// Seconds between two lines of progress where standard error is no terminal.
const PROGRESS_S: u64 = 60;

fn main() -> ExitCode {
    let done = Arguments::parse(std::env::args_os().skip(1)).and_then(|arguments| run(&arguments));
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("tidegate-gateway: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(arguments: &Arguments) -> Result<u8, Error> {
    let pins = Pins::new(&arguments.pins);
    match arguments.command {
        Command::Help => print(HELP),
        Command::Version => print(&format!("tidegate-gateway {}\n", env!("CARGO_PKG_VERSION"))),
        Command::Init => print(&Settings::template()),
        Command::Observe => begin(Mode::Observe, arguments, pins),
        Command::Enforce => begin(Mode::Enforce, arguments, pins),
        Command::Reload => reload_customers(arguments, &pins),
        Command::Run => begin(settings(arguments)?.mode_of(&pins), arguments, pins),
        Command::Prepare => {
            folder::make(&pins)?;
            let user = arguments.user.as_deref();
            user.map_or(Ok(0), |user| folder::give(&pins, user).map(|()| 0))
        }
        Command::Status => status(arguments, &pins),
        Command::Capture => capture_scenario(arguments, &pins),
        Command::Explain => {
            let public = Public::take(&settings(arguments)?, &pins)?;
            match arguments.format {
                Format::Json => print(&format!("{}\n", public.json())),
                Format::Text => print(&public.text()),
            }
        }
        Command::Check => {
            let findings = check::all(&settings(arguments)?)?;
            match arguments.format {
                Format::Json => print(&format!("{}\n", check::json(&findings)))?,
                Format::Text => print(&check::text(&findings))?,
            };
            let is_bad = findings.iter().any(|finding| finding.grade == check::Grade::Error);
            Ok(u8::from(is_bad))
        }
        Command::Save => {
            saved_state::save(&pins, Path::new(&settings(arguments)?.state_folder)).map(|()| 0)
        }
        Command::Off => {
            // `off` works with a broken file of settings, too.
            if let Ok(settings) = settings(arguments) {
                saved_state::remove(Path::new(&settings.state_folder));
            }
            let text = match switching::off(&pins)? {
                true => "off: the programs and their maps are gone; packets pass as before\n",
                false => "off: there was nothing\n",
            };
            print(text)
        }
    }
}

fn print(text: &str) -> Result<u8, Error> {
    match io::stdout().write_all(text.as_bytes()) {
        // Who has read enough closes the pipe.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::of("output", &error)),
        _ => Ok(0),
    }
}

fn settings(arguments: &Arguments) -> Result<Settings, Error> {
    let path = arguments.settings.as_deref().unwrap_or(Path::new(SETTINGS));
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if arguments.settings.is_none() && error.kind() == io::ErrorKind::NotFound => {
            String::new()
        }
        Err(error) => return Err(Error::of(&path.display().to_string(), &error)),
    };
    Settings::read(&text, &arguments.overrides)
}

fn begin(mode: Mode, arguments: &Arguments, pins: Pins) -> Result<u8, Error> {
    let mut settings = settings(arguments)?;
    if switching::switch(mode, &settings, &pins)? {
        return print(&format!("{}: switched\n", mode.word()));
    }
    // A loop that has ended has left its interfaces' numbers behind.
    let [interface, uplink] = names(&pins);
    settings.interface = settings.interface.or(interface);
    settings.uplink = settings.uplink.or(uplink);
    let attachment = match arguments.attach.as_deref() {
        Some("clsact") => Attachment::Clsact,
        Some(_) => Attachment::Tcx,
        None => Attachment::of_kernel(),
    };
    let options = Options {
        mode,
        settings,
        pins,
        attachment,
        format: arguments.format,
        report_every: arguments.every,
    };
    control::run(options)?;
    Ok(0)
}

fn reload_customers(arguments: &Arguments, pins: &Pins) -> Result<u8, Error> {
    let done = reload::reload(&settings(arguments)?, pins, arguments.dry_run, arguments.yes)?;
    let change = done.change;
    match arguments.format {
        Format::Json => print(&format!(
            "{}\n",
            serde_json::json!({
                "done": done.is_done,
                "before": change.before,
                "added": change.added,
                "removed": change.removed,
                "changed": change.changed,
            })
        )),
        Format::Text => {
            let word = if done.is_done { "reloaded" } else { "would reload" };
            print(&format!("{word}: {change}\n"))
        }
    }
}

fn capture_scenario(arguments: &Arguments, pins: &Pins) -> Result<u8, Error> {
    let Arguments { length, every, direction, .. } = *arguments;
    let is_watched = io::stderr().is_terminal();
    let mut said_s = 0;
    let say = |passed: Duration, customers: usize| {
        let line = format!("{} of {} s, {customers} customers", passed.as_secs(), length.as_secs());
        if is_watched {
            eprint!("\r{line} ");
        } else if passed.as_secs() >= said_s + PROGRESS_S {
            said_s = passed.as_secs();
            eprintln!("{line}");
        }
    };
    let text = capture::run(pins, Request { length, every, direction }, say);
    if is_watched {
        eprintln!();
    }
    let Some(output) = &arguments.output else { return print(&text?) };
    capture::save(output, &text?)?;
    let shown = output.display();
    print(&format!("{shown}\nnext: tidegate simulate {shown}\n"))
}

/// Names of the customers' interface and of the uplink that the maps know.
fn names(pins: &Pins) -> [Option<String>; 2] {
    let Ok(Some(maps)) = Maps::open_settled(pins) else { return [None, None] };
    let Ok(mut netlink) = Netlink::open() else { return [None, None] };
    let words = maps.settings();
    [word::INTERFACE, word::UPLINK].map(|place| {
        let device = netlink.device_at(words[place] as u32).ok().flatten();
        device.map(|device| device.name)
    })
}

fn status(arguments: &Arguments, pins: &Pins) -> Result<u8, Error> {
    let Some(maps) = Maps::open_settled(pins)? else {
        return match arguments.format {
            Format::Json => print("{\"mode\":null}\n"),
            Format::Text => print("off: nothing of the gateway is here\n"),
        };
    };
    let before = Snapshot::take(&maps, now_ns());
    let before = if arguments.total { before.without_counts() } else { before };
    thread::sleep(arguments.every);
    let after = Snapshot::take(&maps, now_ns());
    let names = names(pins).map(|name| name.unwrap_or_else(|| "(gone)".to_owned()));
    // A broken file of settings is no reason to say nothing.
    let mut shown = settings(arguments).map_or(Shown::DEFAULT, |settings| settings.shown());
    shown.is_anonymous |= arguments.anonymous;
    let runs = Lock::is_taken(LOOP, pins);
    let report = Report::between(&maps, &before, &after, names, runs, shown).with_programs(pins);
    match arguments.format {
        Format::Json => print(&format!("{}\n", report.json())),
        Format::Text => print(&report.text()),
    }
}
