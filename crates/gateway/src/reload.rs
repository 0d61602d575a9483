//! The customer file: read, compared with what is in force, and taken as a whole or not at all.
//!
//! A file with an error, or one that changes more customers than an operator means to change, is not taken: what is in force
//! stays. The last file that was taken is kept in the state folder and serves after a reboot.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::control::device_name;
use crate::customer_file::{self, Record};
use crate::error::Error;
use crate::lock::{CHANGE, CHANGE_LASTS, Lock};
use crate::maps::{LAYOUT, Maps, Pins, Sizes, word};
use crate::programs::{self, Attachment};
use crate::register::{Change, Import, Saved, Wanted};
use crate::settings::Settings;

/// A larger share of customers is not changed without `--yes`.
pub const MOST_CHANGED: f64 = 0.2;
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
    Wanted { records, learned, ipv6_prefix: settings.ipv6_prefix.0, meter: settings.meter_params() }
}

/// What a control loop begins with.
#[derive(Debug)]
pub struct Beginning {
    /// Customers; `None` if those that are in force stay.
    pub wanted: Option<Wanted>,
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
        Beginning { wanted: None, sizes }
    };
    let wanted = match (records(settings), in_force) {
        (Ok(records), None) => wanted(settings, records),
        (Ok(records), Some(maps)) => {
            let wanted = wanted(settings, records);
            let capacity = wanted.sizes(max_learned)?.listed.max(maps.names.len());
            let change = Import::plan(&maps, &wanted, capacity)?.change;
            if settings.customer_file.is_some() && change.share() > MOST_CHANGED {
                return Ok(stay(&format!("{change}: {TOO_MUCH}")));
            }
            wanted
        }
        (Err(error), Some(_)) => return Ok(stay(&error.to_string())),
        (Err(error), None) => {
            let kept = last_good(settings);
            let Ok(records) = read(&kept) else { return Err(error) };
            eprintln!("{error}\n{} is taken instead", kept.display());
            wanted(settings, records)
        }
    };
    let sizes = wanted.sizes(max_learned)?;
    Ok(Beginning { wanted: Some(wanted), sizes })
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

/// Reads the customer file again while packets are forwarded.
///
/// # Errors
/// All errors of the file; if it changes too much without `yes`; if no gateway is here.
pub fn reload(
    settings: &Settings,
    pins: &Pins,
    dry_run: bool,
    yes: bool,
) -> Result<Reloaded, Error> {
    let wanted = wanted(settings, records(settings)?);
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
    let import = Import::plan(&maps, &wanted, sizes.listed.max(maps.names.len()))?;
    let change = import.change;
    if dry_run {
        return Ok(Reloaded { change, is_done: false });
    }
    if change.share() > MOST_CHANGED && !yes {
        return Err(Error::Failed(format!("{change}: more than 20 % change; --yes takes it")));
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
    maps.set_word(word::HAS_FILE, u64::from(!wanted.records.is_empty()))?;
    let has_prefixes = maps.prefixes.keys().next().is_some();
    maps.set_word(word::HAS_PREFIXES, u64::from(has_prefixes))?;
    keep(settings);
    Ok(Reloaded { change, is_done: true })
}
