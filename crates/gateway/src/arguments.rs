//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;

use crate::error::Error;
use crate::maps::Direction;

/// What `--help` says.
pub const HELP: &str = "\
Shares a bottleneck fairly by customer. The kernel forwards; this judges.

Usage: tidegate-gateway COMMAND [OPTIONS]

Commands:
  observe [DEV] --uplink DEV   count only: who is active, who would lose what; touches no packet
  enforce [DEV] --uplink DEV   drop and mark; where a control loop runs, switch it and return
  run                          go on in the mode of before, else in that of the file of settings: for a service
  status                       what happens now
  explain --public             what is done to whose packets and what is kept, in words to publish
  capture                      what is seen, as a scenario for `tidegate simulate`: predict before enforcing
  reload                       read the customer file again, as a whole or not at all
  off                          remove everything; packets go on
  check [DEV] --uplink DEV     what stands in the way
  save                         keep the activities in state_folder, for a service that ends with the box
  prepare                      make the folder of pins, for a service that does not run as root
  init                         print a file of settings with all defaults

DEV is the interface towards the customers. observe and enforce run the control loop until they are
ended; while one runs, they only switch it.

Options:
  --uplink DEV       interface towards the bottleneck
  --settings FILE    file of settings [default: /etc/tidegate/gateway.toml if it is there]
  --set KEY=VALUE    override a key of the file, e.g. --set abc.gamma=2.0; may be repeated
  --format FORMAT    text or json [default: text]
  --every SECONDS    time between two reports or samples, and that status looks at [default: 1]
  --public           explain writes the text for everybody
  --seconds N        capture looks for so long [default: 60]
  --output FILE      capture writes here [default: standard output]
  --direction WORD   capture looks at upload or download [default: the one with more bytes]
  --dry-run          reload says what would change, and changes nothing
  --yes              reload changes more than 20 % of the customers
  --anonymous        status has the rank of a customer instead of its name
  --total            status counts packets since the programs were attached
  --pins FOLDER      folder in a bpffs [default: /run/tidegate/bpf/gateway]
  --user NAME        prepare gives the folder to this user
  --attach HOW       tcx or clsact [default: the best that the kernel has]
  --help, --version

Examples:
  tidegate-gateway observe eth1 --uplink eth0
  tidegate-gateway capture --seconds 600 --output tonight.toml
  tidegate-gateway enforce
  tidegate-gateway status --format json
  tidegate-gateway reload --dry-run
  tidegate-gateway init > /etc/tidegate/gateway.toml
  tidegate-gateway check --settings /etc/tidegate/gateway.toml

Exit codes: 0 done, 1 failed, 2 usage, 3 error in the settings or the customer file, 77 a right or
something of the kernel is missing.
";

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Count only.
    Observe,
    /// Drop and mark.
    Enforce,
    /// Go on.
    Run,
    /// Make the folder of pins.
    Prepare,
    /// Report.
    Status,
    /// Write a scenario.
    Capture,
    /// Write what is done to whose packets.
    Explain,
    /// Read the customer file again.
    Reload,
    /// Keep the activities on disk.
    Save,
    /// Remove everything.
    Off,
    /// Look for what stands in the way.
    Check,
    /// Print a file.
    Init,
    /// Print [`HELP`].
    Help,
    /// Print the version.
    Version,
}

/// Of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The command line, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// What to do.
    pub command: Command,
    /// File of settings.
    pub settings: Option<PathBuf>,
    /// Overrides of its keys, those of DEV and --uplink among them.
    pub overrides: Vec<(String, String)>,
    /// Of reports.
    pub format: Format,
    /// Time between two reports.
    pub every: Duration,
    /// An explanation is for everybody.
    pub public: bool,
    /// Length of a capture.
    pub length: Duration,
    /// Where it is written; `None` is standard output.
    pub output: Option<PathBuf>,
    /// What it looks at; `None` for the direction with more bytes.
    pub direction: Option<Direction>,
    /// A reload changes nothing.
    pub dry_run: bool,
    /// A reload may change much.
    pub yes: bool,
    /// Customers have no names.
    pub anonymous: bool,
    /// Packets are counted from the beginning.
    pub total: bool,
    /// Whose the folder of pins becomes.
    pub user: Option<String>,
    /// Folder of pins.
    pub pins: PathBuf,
    /// tcx or clsact.
    pub attach: Option<String>,
}

impl Arguments {
    /// Reads what follows the program's name.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, Error> {
        let usage = |error: lexopt::Error| {
            Error::Usage(format!("{error}; `tidegate-gateway --help` lists commands and options"))
        };
        read(lexopt::Parser::from_args(arguments)).map_err(usage)
    }
}

fn read(mut parser: lexopt::Parser) -> Result<Arguments, lexopt::Error> {
    let mut read = Arguments {
        command: Command::Help,
        settings: None,
        overrides: Vec::new(),
        format: Format::Text,
        every: Duration::from_secs(1),
        public: false,
        length: Duration::from_secs(60),
        output: None,
        direction: None,
        dry_run: false,
        yes: false,
        anonymous: false,
        total: false,
        user: None,
        pins: PathBuf::from("/run/tidegate/bpf/gateway"),
        attach: None,
    };
    let mut has_command = false;
    // A name is a text, whatever it looks like.
    let name = |value: OsString| {
        let text = value.string()?;
        let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        Ok::<_, lexopt::Error>(quoted)
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => {
                return Ok(Arguments { command: Command::Help, ..read });
            }
            Long("version") => return Ok(Arguments { command: Command::Version, ..read }),
            Long("uplink") => {
                let value = name(parser.value()?)?;
                read.overrides.push(("uplink".to_owned(), value));
            }
            Long("settings") => read.settings = Some(parser.value()?.into()),
            Long("set") => {
                let text = parser.value()?.string()?;
                let Some((key, value)) = text.split_once('=') else {
                    return Err(format!("--set {text}: write KEY=VALUE").into());
                };
                read.overrides.push((key.trim().to_owned(), value.trim().to_owned()));
            }
            Long("format") => {
                read.format = match parser.value()?.string()?.as_str() {
                    "text" => Format::Text,
                    "json" => Format::Json,
                    other => return Err(format!("--format {other}: text or json").into()),
                };
            }
            Long("every") => {
                let seconds: f64 = parser.value()?.parse()?;
                if !(0.1..=3600.0).contains(&seconds) {
                    return Err(format!("--every {seconds}: from 0.1 to 3600").into());
                }
                read.every = Duration::from_secs_f64(seconds);
            }
            Long("seconds") => {
                let seconds: f64 = parser.value()?.parse()?;
                if !(1.0..=604_800.0).contains(&seconds) {
                    return Err(format!("--seconds {seconds}: from 1 to 604800").into());
                }
                read.length = Duration::from_secs_f64(seconds);
            }
            Long("output") => read.output = Some(parser.value()?.into()),
            Long("direction") => {
                let word = parser.value()?.string()?;
                let known = Direction::ALL.into_iter().find(|known| known.word() == word);
                let unknown = || format!("--direction {word}: upload or download");
                read.direction = Some(known.ok_or_else(unknown)?);
            }
            Long("public") => read.public = true,
            Long("dry-run") => read.dry_run = true,
            Long("yes") => read.yes = true,
            Long("anonymous") => read.anonymous = true,
            Long("total") => read.total = true,
            Long("user") => read.user = Some(parser.value()?.string()?),
            Long("pins") => read.pins = parser.value()?.into(),
            Long("attach") => {
                let how = parser.value()?.string()?;
                if !["tcx", "clsact"].contains(&how.as_str()) {
                    return Err(format!("--attach {how}: tcx or clsact").into());
                }
                read.attach = Some(how);
            }
            Value(value) if !has_command => {
                has_command = true;
                read.command = match value.string()?.as_str() {
                    "observe" => Command::Observe,
                    "enforce" => Command::Enforce,
                    "status" => Command::Status,
                    "capture" => Command::Capture,
                    "explain" => Command::Explain,
                    "reload" => Command::Reload,
                    "run" => Command::Run,
                    "prepare" => Command::Prepare,
                    "save" => Command::Save,
                    "off" => Command::Off,
                    "check" => Command::Check,
                    "init" => Command::Init,
                    "help" => Command::Help,
                    other => return Err(format!("there is no command {other}").into()),
                };
            }
            Value(value)
                if matches!(read.command, Command::Observe | Command::Enforce | Command::Check)
                    && read.overrides.iter().all(|(key, _)| key != "interface") =>
            {
                let value = name(value)?;
                read.overrides.push(("interface".to_owned(), value));
            }
            other => return Err(other.unexpected()),
        }
    }
    match has_command {
        true if read.command == Command::Explain && !read.public => {
            Err("explain what? write explain --public".into())
        }
        true => Ok(read),
        false => Err("which command?".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Arguments, Error> {
        Arguments::parse(words.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_first_ten_minutes() {
        let read = parse("observe eth1 --uplink eth0 --set abc.gamma=2.0").expect("it is right");
        assert_eq!(read.command, Command::Observe);
        let overrides: Vec<_> =
            read.overrides.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(
            overrides,
            [("interface", "\"eth1\""), ("uplink", "\"eth0\""), ("abc.gamma", "2.0")]
        );
        for (words, want) in [
            ("enforce", Command::Enforce),
            ("off", Command::Off),
            ("status --format json", Command::Status),
            ("capture --seconds 600 --output tonight.toml", Command::Capture),
            ("explain --public", Command::Explain),
            ("reload --dry-run", Command::Reload),
            ("init", Command::Init),
            ("check eth1", Command::Check),
            ("--help", Command::Help),
            ("observe --help", Command::Help),
        ] {
            assert_eq!(parse(words).map(|read| read.command).ok(), Some(want), "{words}");
        }
    }

    #[test]
    fn what_is_not_understood_says_where_help_is() {
        for words in [
            "",
            "watch",
            "off eth1",
            "observe a b",
            "observe --set gamma",
            "status --every 0",
            "capture --seconds 0",
            "capture --direction up",
            "explain",
            "--wat",
        ] {
            let error = parse(words).expect_err(words);
            assert_eq!(error.exit_code(), 2, "{words}");
            assert!(error.to_string().contains("--help"), "{error}");
        }
    }
}
