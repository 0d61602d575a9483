//! The customer file: read, compared with what is in force, and taken as a whole or not at all.
//!
//! A file with an error, or one that changes more customers than an operator means to change, is not taken: what is in force
//! stays. The last file that was taken is kept in the state folder and serves after a reboot.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::control::{device_name, now_ns};
use crate::customer_file::{self, Record};
use crate::error::Error;
use crate::lock::{CHANGE, CHANGE_LASTS, Lock};
use crate::log::Log;
use crate::maps::{LAYOUT, Maps, Pins, Sizes, word};
use crate::programs::{self, Attachment};
use crate::register::{Change, Import, Saved, Wanted};
use crate::sessions::{self, Listing};
use crate::settings::Settings;

/// A larger share of customers is not changed without `--yes`.
pub const MOST_CHANGED: f64 = 0.2;
/// The largest share of a CPU that looks at the folder take is 1 over this.
const SESSIONS_MOST_SHARE: u32 = 10;
/// Time between two looks at the folder of sessions.
const SESSIONS_STEP: Duration = Duration::from_secs(1);
/// Name of the last file that was taken.
const LAST_GOOD: &str = "customers.csv";

/// Reads the customer file of the settings; no customers if there is none.
///
/// # Errors
/// All errors of the file.
pub fn records(settings: &Settings) -> Result<Vec<Record>, Error> {
    match &settings.customer_file {
        Some(path) => read(Path::new(path)),
        None => Ok(Vec::new()),
    }
}

fn read(path: &Path) -> Result<Vec<Record>, Error> {
    let shown = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| Error::of(&shown, &error))?;
    customer_file::read(&bytes).map_err(|errors| Error::Customers { path: shown, errors })
}

fn last_good(settings: &Settings) -> PathBuf {
    Path::new(&settings.state_folder).join(LAST_GOOD)
}

/// Keeps the file that was taken. The next start can do without it, so that an error is a line.
fn keep(settings: &Settings) {
    let Some(path) = &settings.customer_file else { return };
    let (kept, folder) = (last_good(settings), Path::new(&settings.state_folder));
    let partial = kept.with_extension("partial");
    let copy = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::copy(path, &partial)?;
        fs::File::open(&partial)?.sync_all()?;
        fs::rename(&partial, &kept)
    };
    if let Err(error) = copy() {
        let _ = fs::remove_file(&partial);
        eprintln!(
            "{}: {error}; a broken customer file after a reboot will not start",
            kept.display()
        );
    }
}

/// What the settings and these customers ask for.
pub fn wanted(settings: &Settings, records: Vec<Record>) -> Wanted {
    let [learned, _] = settings.prefixes();
    Wanted {
        is_listed: !records.is_empty() || settings.sessions_folder.is_some(),
        records,
        learned,
        ipv6_prefix: settings.ipv6_prefix.0,
        meter: settings.meter_params(),
    }
}

/// Customers of the file with those of the sessions, and what is not taken of these.
fn with_sessions(settings: &Settings, file: &[Record]) -> (Vec<Record>, Vec<String>) {
    let Some(folder) = &settings.sessions_folder else { return (file.to_vec(), Vec::new()) };
    match sessions::list(Path::new(folder)) {
        Ok(listing) => sessions::of_folder(Path::new(folder), &listing, file),
        Err(error) => (file.to_vec(), vec![format!("{folder}: {error}; no sessions")]),
    }
}

/// Of a change, that of the customer file: sessions come and go.
fn of_file(settings: &Settings, all: Change, file: &[Record]) -> Change {
    match (&settings.customer_file, &settings.sessions_folder) {
        (None, Some(_)) => Change::default(),
        (_, None) => all,
        (Some(_), Some(_)) => {
            read(&last_good(settings)).map_or(Change::default(), |before| Change::of(&before, file))
        }
    }
}

/// What a control loop begins with.
#[derive(Debug)]
pub struct Beginning {
    /// Customers; `None` if those that are in force stay.
    pub wanted: Option<Wanted>,
    /// Those of the file; `None` likewise.
    pub file: Option<Vec<Record>>,
    /// Entries that the maps need.
    pub sizes: Sizes,
}

/// Which customers a control loop begins with. A file that cannot be taken leaves those that are in force, else those of
/// the last file that could.
///
/// # Errors
/// If there are neither.
pub fn begin(settings: &Settings, pins: &Pins) -> Result<Beginning, Error> {
    let max_learned = settings.max_customers.0;
    let in_force = Maps::open(pins).ok().flatten().filter(|maps| {
        let words = maps.settings();
        words[word::READY] == LAYOUT && words[word::HAS_FILE] == 1
    });
    let stay = |why: &str| {
        eprintln!("{why}; the customers that are in force stay");
        let in_use = |name| pins.entries(name).unwrap_or(1);
        let learns = !settings.customers.is_empty();
        let sizes = Sizes {
            learned: if learns { max_learned } else { in_use("customers") },
            listed: in_use("listed"),
            addresses: in_use("addresses"),
        };
        Beginning { wanted: None, file: None, sizes }
    };
    let (file, is_in_force) = match (records(settings), &in_force) {
        (Ok(file), _) => (file, in_force.is_some()),
        (Err(error), Some(_)) => return Ok(stay(&error.to_string())),
        (Err(error), None) => {
            let kept = last_good(settings);
            let Ok(file) = read(&kept) else { return Err(error) };
            eprintln!("{error}\n{} is taken instead", kept.display());
            (file, false)
        }
    };
    let (records, lines) = with_sessions(settings, &file);
    lines.iter().for_each(|line| eprintln!("{line}"));
    let wanted = wanted(settings, records);
    if let (true, Some(maps)) = (is_in_force, &in_force) {
        let capacity = wanted.sizes(max_learned)?.listed.max(maps.names.len());
        let change = of_file(settings, Import::plan(maps, &wanted, capacity)?.change, &file);
        if settings.customer_file.is_some() && change.share() > MOST_CHANGED {
            return Ok(stay(&format!("{change}: {TOO_MUCH}")));
        }
    }
    let sizes = wanted.sizes(max_learned)?;
    Ok(Beginning { wanted: Some(wanted), file: Some(file), sizes })
}

const TOO_MUCH: &str = "more than 20 % change, which `tidegate-gateway reload --yes` takes";

impl Beginning {
    /// Brings the customers into the maps, after those that were in maps of another size.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn install(
        &self,
        settings: &Settings,
        saved: Option<Saved>,
        maps: &mut Maps,
    ) -> Result<(), Error> {
        if let Some(saved) = saved {
            saved.restore(maps)?;
        }
        let Some(wanted) = &self.wanted else { return Ok(()) };
        Import::plan(maps, wanted, maps.names.len())?.apply(maps)?;
        keep(settings);
        Ok(())
    }
}

/// What a reload does, or would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reloaded {
    /// In customers.
    pub change: Change,
    /// Whether it was done.
    pub is_done: bool,
}

/// Reads the customer file and the sessions again while packets are forwarded.
///
/// # Errors
/// All errors of the file; if it changes too much without `yes`; if no gateway is here.
pub fn reload(
    settings: &Settings,
    pins: &Pins,
    dry_run: bool,
    yes: bool,
) -> Result<Reloaded, Error> {
    let file = records(settings)?;
    let (records, lines) = with_sessions(settings, &file);
    lines.iter().for_each(|line| eprintln!("{line}"));
    let done = apply(pins, settings, &wanted(settings, records), |all| {
        let change = of_file(settings, all, &file);
        if !dry_run && !yes && change.share() > MOST_CHANGED {
            return Err(Error::Failed(format!("{change}: more than 20 % change; --yes takes it")));
        }
        Ok(!dry_run)
    })?;
    if done.is_done {
        keep(settings);
        // The control loop reads the file, too, where it has sessions.
        if let Some(mut maps) = Maps::open(pins)? {
            let generation = maps.settings()[word::GENERATION] + 1;
            maps.set_word(word::GENERATION, generation)?;
        }
    }
    Ok(done)
}

/// Brings customers into the maps of a gateway that runs, if `agree` does.
///
/// # Errors
/// If there is no gateway, or the kernel refuses.
pub fn apply(
    pins: &Pins,
    settings: &Settings,
    wanted: &Wanted,
    agree: impl FnOnce(Change) -> Result<bool, Error>,
) -> Result<Reloaded, Error> {
    let absent = || {
        Error::Failed("no gateway is here; observe and enforce read the customer file".to_owned())
    };
    let Some(_lock) = Lock::wait(CHANGE, pins, CHANGE_LASTS)? else {
        return Err(Error::Failed("another change does not come to its end".to_owned()));
    };
    let mut maps = Maps::open(pins)?.ok_or_else(absent)?;
    let max_learned = settings.max_customers.0;
    // The maps of learned customers stay as they are.
    let learned = pins.entries("customers").unwrap_or(max_learned);
    let sizes = Sizes { learned, ..wanted.sizes(max_learned)? };
    let import = Import::plan(&maps, wanted, sizes.listed.max(maps.names.len()))?;
    let change = import.change;
    if !agree(change)? {
        return Ok(Reloaded { change, is_done: false });
    }
    if let Some(saved) = Saved::take(pins, sizes)? {
        // Larger maps: programs that have them take the place of those that do not.
        let by = match pins.path(programs::PROGRAMS[0].0).exists() {
            true => Attachment::Tcx,
            false => Attachment::Clsact,
        };
        let mut object = programs::load(pins, sizes)?;
        maps = Maps::open(pins)?.ok_or_else(absent)?;
        saved.restore(&mut maps)?;
        import.apply(&mut maps)?;
        let interface = device_name(maps.settings()[word::INTERFACE] as u32)?;
        programs::attach(&mut object, pins, &interface, by)?;
        let generation = maps.settings()[word::GENERATION] + 1;
        maps.set_word(word::GENERATION, generation)?;
    } else {
        import.apply(&mut maps)?;
    }
    maps.set_word(word::HAS_FILE, u64::from(wanted.is_listed))?;
    let has_prefixes = maps.prefixes.keys().next().is_some();
    maps.set_word(word::HAS_PREFIXES, u64::from(has_prefixes))?;
    Ok(Reloaded { change, is_done: true })
}

/// Follows the folder of sessions on a thread of its own. `file` are the customers of the file that are in force; while they
/// are not known, sessions wait for a reload.
///
/// # Errors
/// If there can be no thread.
pub fn follow_sessions(
    pins: Pins,
    settings: Settings,
    file: Option<Vec<Record>>,
) -> Result<(), Error> {
    let Some(folder) = settings.sessions_folder.clone() else { return Ok(()) };
    let mut follower = Follower {
        generation: 0,
        pins,
        settings,
        folder: PathBuf::from(folder),
        file,
        seen: None,
        said: Vec::new(),
        log: Log::default(),
    };
    let follow = move || {
        if let Ok(Some(maps)) = Maps::open(&follower.pins) {
            follower.generation = maps.settings()[word::GENERATION];
        }
        let mut pause = SESSIONS_STEP;
        loop {
            thread::sleep(pause);
            let begun_ns = now_ns();
            follower.look();
            // Many sessions that change all the time are taken together.
            let taken = Duration::from_nanos(now_ns() - begun_ns);
            pause = SESSIONS_STEP.max(taken * SESSIONS_MOST_SHARE);
        }
    };
    let started = thread::Builder::new().name("sessions".to_owned()).spawn(follow);
    started.map(|_| ()).map_err(|error| Error::of("the thread of sessions", &error))
}

struct Follower {
    pins: Pins,
    settings: Settings,
    folder: PathBuf,
    file: Option<Vec<Record>>,
    /// Of the maps; another reload has changed it.
    generation: u64,
    /// What is in force.
    seen: Option<Listing>,
    /// What the last look has said.
    said: Vec<String>,
    log: Log,
}

impl Follower {
    fn look(&mut self) {
        let Ok(Some(maps)) = Maps::open(&self.pins) else { return };
        let words = maps.settings();
        if words[word::READY] != LAYOUT {
            return;
        }
        if words[word::GENERATION] != self.generation {
            self.generation = words[word::GENERATION];
            (self.file, self.seen) = (records(&self.settings).ok(), None);
        }
        let listing = match sessions::list(&self.folder) {
            Ok(listing) => listing,
            Err(error) => {
                let shown = self.folder.display();
                return self
                    .say(vec![format!("{shown}: {error}; the sessions that are in force stay")]);
            }
        };
        if self.seen.as_ref() == Some(&listing) {
            return;
        }
        let Some(file) = &self.file else {
            let line = "sessions wait until `tidegate-gateway reload` takes the customer file";
            return self.say(vec![line.to_owned()]);
        };
        let (records, mut lines) = sessions::of_folder(&self.folder, &listing, file);
        match apply(&self.pins, &self.settings, &wanted(&self.settings, records), |_| Ok(true)) {
            Ok(_) => self.seen = Some(listing),
            Err(error) => lines.push(format!("sessions: {error}")),
        }
        if let Ok(Some(maps)) = Maps::open(&self.pins) {
            self.generation = maps.settings()[word::GENERATION];
        }
        self.say(lines);
    }

    /// Lines that were not said the last time.
    fn say(&mut self, lines: Vec<String>) {
        for line in lines.iter().filter(|line| !self.said.contains(line)) {
            self.log.say(now_ns(), line);
        }
        self.said = lines;
    }
}
