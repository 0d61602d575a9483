//! `tidegate-packetdrill FOLDER...`: plays all scripts of some folders and reports the verdicts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::prelude::*;
use tidegate_packetdrill::error::ScriptError;
use tidegate_packetdrill::player;
use tidegate_packetdrill::report::{self, Outcome};

const USAGE: &str = "\
Plays packetdrill's scripts against the simulated end host, profile linux.

usage: tidegate-packetdrill [--json FILE] FOLDER_OR_SCRIPT...

  --json FILE   writes the table there as well

Exit code: 0 if none failed, 1 if one did, 2 if the command line or a folder is wrong.

The scripts are read from where you have them. To get them:

  git clone https://github.com/google/packetdrill
  git clone --depth 1 --filter blob:none --sparse https://github.com/torvalds/linux &&
    git -C linux sparse-checkout set tools/testing/selftests/net/packetdrill

then, for instance:  make packetdrill SCRIPTS=packetdrill/gtests/net/tcp/slow_start
";

/// Request of the command line.
enum Request {
    Help,
    Play { folders: Vec<PathBuf>, json: Option<PathBuf> },
}

fn main() -> ExitCode {
    match parse(lexopt::Parser::from_env()) {
        Err(error) => usage_error(&error.to_string()),
        Ok(Request::Help) => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Request::Play { folders, json }) => match play_all(&folders) {
            Err(message) => usage_error(&message),
            Ok(outcomes) => finish(&outcomes, json.as_deref()),
        },
    }
}

fn parse(mut args: lexopt::Parser) -> Result<Request, lexopt::Error> {
    let (mut folders, mut json) = (Vec::new(), None);
    while let Some(arg) = args.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Request::Help),
            Long("json") => json = Some(PathBuf::from(args.value()?)),
            Value(folder) => folders.push(PathBuf::from(folder)),
            _ => return Err(arg.unexpected()),
        }
    }
    if folders.is_empty() {
        return Err("which scripts? Name a folder, such as packetdrill/gtests/net/tcp".into());
    }
    Ok(Request::Play { folders, json })
}

fn usage_error(message: &str) -> ExitCode {
    eprint!("{message}\n\n{USAGE}");
    ExitCode::from(2)
}

fn finish(outcomes: &[Outcome], json: Option<&Path>) -> ExitCode {
    print!("{}\n{}\n", report::table(outcomes), report::sums(outcomes));
    if let Some(file) = json
        && let Err(error) = std::fs::write(file, report::json(outcomes))
    {
        return usage_error(&format!("{}: {error}", file.display()));
    }
    let failed = outcomes.iter().any(|outcome| matches!(outcome.word(), "failed" | "errorn"));
    ExitCode::from(u8::from(failed))
}

fn play_all(folders: &[PathBuf]) -> Result<Vec<Outcome>, String> {
    let mut outcomes = Vec::new();
    for folder in folders {
        let mut scripts = Vec::new();
        find(folder, &mut scripts).map_err(|error| format!("{}: {error}", folder.display()))?;
        if scripts.is_empty() {
            return Err(format!("{}: no scripts (*.pkt) here", folder.display()));
        }
        scripts.sort();
        for path in scripts {
            let verdict = match std::fs::read(&path) {
                Ok(bytes) => player::play_on_any_clock(&String::from_utf8_lossy(&bytes)),
                Err(error) => Err(ScriptError { line: 0, message: error.to_string() }),
            };
            let below = path.strip_prefix(folder).ok().filter(|p| !p.as_os_str().is_empty());
            let script = below.unwrap_or(&path).display().to_string();
            outcomes.push(Outcome { script, verdict });
        }
    }
    Ok(outcomes)
}

/// Appends the scripts in a folder and its subfolders, or the script itself.
fn find(path: &Path, scripts: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        std::fs::metadata(path)?;
        scripts.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "pkt") {
            find(&path, scripts)?;
        }
    }
    Ok(())
}
