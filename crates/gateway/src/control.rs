//! The control loop: puts the programs in, reads the queues every 16 ms and writes p into the programs' map.
//!
//! It can end at any time and by any means: a probability that is older than half a second does not count, so that
//! everything passes until a loop is there again, which adopts what is pinned.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sd_notify::NotifyState;

use crate::arguments::Format;
use crate::customer_file::Record;
use crate::error::Error;
use crate::folder;
use crate::http;
use crate::lock::{CHANGE, CHANGE_LASTS, LOOP, Lock};
use crate::log::Log;
use crate::maps::{
    Direction, LAYOUT, Maps, Pins, SETTINGS_WORDS, SIGNAL_WORDS, Sizes, signal_word, word,
};
use crate::netlink::{Device, Netlink};
use crate::prefix::Prefix;
use crate::programs::{self, Attachment};
use crate::register::Saved;
use crate::reload;
use crate::report::{Report, Snapshot};
use crate::saved_state::{self, Paths, SavedState, wall_s};
use crate::settings::{Settings, UPDATE_INTERVAL};
use crate::source::Source;

/// After so long a probability does not count.
pub const DEADLINE_NS: u64 = 500_000_000;
/// Devices and addresses are looked at so often.
const HOUSEKEEPING_NS: u64 = 1_000_000_000;
/// p′ of an ended loop that is older than this says nothing.
const RESUME_NS: u64 = 10_000_000_000;

/// Only counting, or dropping and marking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Touches no packet.
    Observe,
    /// Drops and marks.
    Enforce,
}

impl Mode {
    /// For people.
    pub const fn word(self) -> &'static str {
        match self {
            Mode::Observe => "observe",
            Mode::Enforce => "enforce",
        }
    }
}

/// The kernel's monotonic clock, which the programs read too.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A device that has to be there.
///
/// # Errors
/// If it is not.
pub fn device(netlink: &mut Netlink, name: &str) -> Result<Device, Error> {
    let found = netlink.device(name).map_err(|error| Error::of(name, &error))?;
    found.ok_or_else(|| Error::Failed(format!("{name}: there is no such interface")))
}

/// Name of the device of this number.
///
/// # Errors
/// If there is none.
pub fn device_name(index: u32) -> Result<String, Error> {
    let mut netlink = Netlink::open().map_err(|error| Error::of("netlink", &error))?;
    let found = netlink.device_at(index).map_err(|error| Error::of("netlink", &error))?;
    let gone = || Error::Failed("the interface of the customers is gone".to_owned());
    found.map(|device| device.name).ok_or_else(gone)
}

/// What a loop is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only counting, or not.
    pub mode: Mode,
    /// The file.
    pub settings: Settings,
    /// Where everything is pinned.
    pub pins: Pins,
    /// How programs are held.
    pub attachment: Attachment,
    /// Of the reports.
    pub format: Format,
    /// Time between two reports.
    pub report_every: Duration,
}

/// Runs until `off` ends it.
///
/// # Errors
/// If it cannot begin, or the maps are taken from it.
pub fn run(options: Options) -> Result<(), Error> {
    let mut control = Control::start(options)?;
    control.serve()?;
    control.save()?;
    let Options { settings, pins, .. } = &control.options;
    reload::follow_sessions(pins.clone(), settings.clone(), control.file.take())?;
    control.announce();
    // Where no service manager waits, nothing happens.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    let mut next_ns = now_ns();
    loop {
        if !control.step(now_ns())? {
            return Ok(());
        }
        next_ns += UPDATE_INTERVAL.as_nanos();
        let now = now_ns();
        // A loop that came late does not hurry after what it has missed.
        next_ns = next_ns.max(now);
        thread::sleep(Duration::from_nanos(next_ns - now));
    }
}

struct Control {
    options: Options,
    interface: String,
    uplink: String,
    netlink: Netlink,
    maps: Maps,
    sources: Vec<Source>,
    exempt: Vec<Prefix>,
    sizes: Sizes,
    /// Customers of the file, where they are known.
    file: Option<Vec<Record>>,
    /// Of the maps that are open.
    generation: u64,
    is_attached: bool,
    housekeeping_ns: u64,
    report_ns: u64,
    snapshot: Option<Snapshot>,
    paths: Arc<Mutex<Paths>>,
    log: Log,
    _lock: Lock,
}

impl Control {
    fn start(options: Options) -> Result<Control, Error> {
        let Options { settings, pins, .. } = &options;
        let named = |name: &Option<String>, what: &str| {
            let missing = || Error::Usage(format!("which {what}? {NAMING}"));
            name.clone().ok_or_else(missing)
        };
        let interface = named(&settings.interface, "interface towards the customers")?;
        let uplink = named(&settings.uplink, "interface towards the bottleneck (--uplink)")?;
        let mut netlink = Netlink::open().map_err(|error| Error::of("netlink", &error))?;
        let at = device(&mut netlink, &interface)?;
        let towards = device(&mut netlink, &uplink)?;
        if at.index == towards.index {
            return Err(Error::Usage("the uplink is the customers' interface".to_owned()));
        }
        folder::make(pins)?;
        let Some(change) = Lock::wait(CHANGE, pins, CHANGE_LASTS)? else {
            return Err(Error::Failed("another change does not come to its end".to_owned()));
        };
        let Some(lock) = Lock::take(LOOP, pins)? else {
            return Err(Error::Failed("another gateway runs here".to_owned()));
        };
        let beginning = reload::begin(settings, pins)?;
        let sizes = beginning.sizes;
        // Before some of the maps are taken away; those of another layout say nothing.
        let before = Maps::open(pins).ok().flatten().map(|maps| maps.settings());
        let saved = Saved::take(pins, sizes)?;
        let misfits = pins.remove_misfits(sizes);
        if !misfits.is_empty() {
            eprintln!(
                "begun anew, since the layout or the size has changed: {}",
                misfits.join(", ")
            );
        }
        if before.is_some_and(|words| words[word::INTERFACE] != u64::from(at.index)) {
            programs::detach(pins, None, None)?;
        }
        let mut object = programs::load(pins, sizes)?;
        let mut maps = Maps::open(pins)?.expect("they were just loaded");
        beginning.install(settings, saved, &mut maps)?;
        let mut words = words(&options, &at, &towards, before);
        let is_listed =
            maps.addresses.keys().next().is_some() || settings.sessions_folder.is_some();
        words[word::HAS_FILE] = u64::from(is_listed);
        words[word::HAS_PREFIXES] = u64::from(maps.prefixes.keys().next().is_some());
        let mut sources = Vec::new();
        for direction in Direction::ALL {
            let (params, device) = match direction {
                Direction::Upload => (&settings.upload, &towards),
                Direction::Download => (&settings.download, &at),
            };
            let base = resumed_base(&maps, direction, now_ns());
            sources.extend(Source::open(direction, params, device.index, base)?);
        }
        for direction in Direction::ALL {
            if sources.iter().all(|source| source.direction != direction) {
                maps.set_signal(direction, [0; SIGNAL_WORDS])?;
            }
        }
        let mut control = Control {
            interface,
            uplink,
            netlink,
            maps,
            sources,
            exempt: Vec::new(),
            sizes,
            file: beginning.file,
            generation: words[word::GENERATION],
            is_attached: true,
            housekeeping_ns: 0,
            report_ns: 0,
            snapshot: None,
            paths: Arc::default(),
            log: Log::default(),
            _lock: lock,
            options,
        };
        control.exempt_own_addresses()?;
        let filter = word::EXEMPT..word::EXEMPT + 4;
        words[filter.clone()].copy_from_slice(&control.maps.settings()[filter]);
        control.maps.set_settings(words)?;
        control.resume()?;
        control.attach(&mut object)?;
        drop(change);
        Ok(control)
    }

    fn attach(&mut self, object: &mut aya::Ebpf) -> Result<(), Error> {
        let Options { pins, attachment, .. } = &self.options;
        if programs::attach(object, pins, &self.interface, *attachment)? {
            self.maps.set_word(word::OWN_CLSACT, 1)?;
        }
        Ok(())
    }

    /// Continues with what is on disk of a time before, such as before a reboot.
    fn resume(&mut self) -> Result<(), Error> {
        let folder = Path::new(&self.options.settings.state_folder);
        let Some(saved) = SavedState::read(folder) else { return Ok(()) };
        let (now, wall_s) = (now_ns(), wall_s());
        let restored = saved.restore(&mut self.maps, now, wall_s)?;
        if restored > 0 {
            eprintln!("activities of {restored} customers are those of before");
        }
        for source in &mut self.sources {
            source.resume_paths(|reflector| saved.path(reflector, wall_s), now);
        }
        Ok(())
    }

    /// Saves activities from now on.
    fn save(&self) -> Result<(), Error> {
        let Options { settings, pins, .. } = &self.options;
        let folder = Path::new(&settings.state_folder).to_owned();
        let every = Duration::from_nanos(settings.state_interval.as_nanos());
        saved_state::keep_saving(pins.clone(), folder, every, self.paths.clone())
    }

    /// What the thread that saves needs of this one.
    fn note_paths(&self) {
        let wall_s = wall_s();
        let seen = self.sources.iter().flat_map(Source::paths);
        let seen = seen.map(|(reflector, rtt_s)| (reflector, (rtt_s, wall_s)));
        if let Ok(mut paths) = self.paths.lock() {
            *paths = seen.collect();
        }
    }

    /// Serves metrics where the settings ask for it.
    fn serve(&self) -> Result<(), Error> {
        let Options { settings, pins, .. } = &self.options;
        let Some(listen) = &settings.listen else { return Ok(()) };
        let at = http::address(listen).expect("it was checked");
        let names = [self.interface.clone(), self.uplink.clone()];
        http::serve(at, pins.clone(), names, settings.shown())
    }

    fn announce(&self) {
        eprintln!(
            "{}: customers at {}, uplink {}; Ctrl-C ends the control loop, and {} s later everything passes; \
             `tidegate-gateway off` removes the programs",
            self.options.mode.word(),
            self.interface,
            self.uplink,
            DEADLINE_NS as f64 / 1e9,
        );
    }

    /// Returns false when the loop is to end.
    fn step(&mut self, now: u64) -> Result<bool, Error> {
        if self.maps.settings()[word::READY] != LAYOUT {
            eprintln!("ended by `off`");
            return Ok(false);
        }
        let generation = self.maps.settings()[word::GENERATION];
        if generation != self.generation
            && let Ok(Some(maps)) = Maps::open(&self.options.pins)
        {
            // A reload has replaced maps by larger ones; if another one does so just now, the next step has them.
            (self.maps, self.generation) = (maps, generation);
        }
        if now >= self.housekeeping_ns {
            self.housekeeping_ns = now + HOUSEKEEPING_NS;
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
            self.look_at_devices()?;
            self.exempt_own_addresses()?;
            self.note_paths();
        }
        for place in 0..self.sources.len() {
            self.update(place)?;
        }
        for direction in Direction::ALL {
            let merged = self.maps.merge_averages(direction)?;
            let mut words = self.maps.signal(direction);
            words[signal_word::ALIVE] = now + DEADLINE_NS;
            words[signal_word::AVERAGE] = merged.unwrap_or(words[signal_word::AVERAGE]);
            self.maps.set_signal(direction, words)?;
        }
        if now >= self.report_ns {
            self.report_ns = now + self.options.report_every.as_nanos() as u64;
            self.report();
        }
        Ok(true)
    }

    /// Asks a signal and writes p.
    fn update(&mut self, place: usize) -> Result<(), Error> {
        let acts = self.maps.settings()[word::ENFORCE] == 1;
        let source = &mut self.sources[place];
        let mut words = self.maps.signal(source.direction);
        let before = source.state;
        let now = source.update(&mut self.netlink, &self.maps, acts, &mut words);
        if source.state != before {
            let line = format!("{}: {}", source.direction.word(), source.state.text());
            self.log.say(now, &line);
        }
        self.maps.set_signal(source.direction, words)
    }

    /// Follows interfaces that come back with another number.
    fn look_at_devices(&mut self) -> Result<(), Error> {
        let find = |netlink: &mut Netlink, name: &str| netlink.device(name).ok().flatten();
        let at = find(&mut self.netlink, &self.interface);
        let towards = find(&mut self.netlink, &self.uplink);
        let is_back = at.is_some() && !self.is_attached;
        if at.is_some() != self.is_attached {
            self.is_attached = at.is_some();
            let what = if is_back { "is back" } else { "is gone; waiting for it" };
            self.log.say(now_ns(), &format!("{} {what}", self.interface));
        }
        let words = self.maps.settings();
        let index = |device: &Option<Device>| device.as_ref().map(|device| u64::from(device.index));
        if let Some(index) = index(&towards)
            && index != words[word::UPLINK]
        {
            self.maps.set_word(word::UPLINK, index)?;
            self.redirect(Direction::Upload, index as u32);
        }
        if let Some(index) = index(&at)
            && (is_back || index != words[word::INTERFACE])
        {
            let mut object = programs::load(&self.options.pins, self.sizes)?;
            self.attach(&mut object)?;
            self.maps.set_word(word::INTERFACE, index)?;
            self.redirect(Direction::Download, index as u32);
        }
        Ok(())
    }

    fn redirect(&mut self, direction: Direction, device: u32) {
        for source in self.sources.iter_mut().filter(|source| source.direction == direction) {
            source.device = device;
        }
    }

    /// Nothing to or from this box is dropped.
    fn exempt_own_addresses(&mut self) -> Result<(), Error> {
        let Ok(own) = self.netlink.addresses() else { return Ok(()) };
        let [_, mut wanted] = self.options.settings.prefixes();
        wanted.extend(own.into_iter().map(Prefix::host));
        wanted.sort();
        wanted.dedup();
        if wanted != self.exempt {
            self.maps.set_exempt(&wanted)?;
            self.exempt = wanted;
        }
        Ok(())
    }

    fn report(&mut self) {
        let is_watched = self.options.format == Format::Json || io::stdout().is_terminal();
        if !is_watched {
            return;
        }
        let snapshot = Snapshot::take(&self.maps, now_ns());
        if let Some(before) = self.snapshot.replace(snapshot) {
            let after = self.snapshot.as_ref().expect("it was just taken");
            let names = [self.interface.clone(), self.uplink.clone()];
            let report = Report::between(
                &self.maps,
                &before,
                after,
                names,
                true,
                self.options.settings.shown(),
            );
            let clear = if io::stdout().is_terminal() { "\x1b[H\x1b[2J" } else { "" };
            // The reader may be gone; the loop goes on.
            let _ = match self.options.format {
                Format::Json => writeln!(io::stdout(), "{}", report.json()),
                Format::Text => write!(io::stdout(), "{clear}{}", report.text()),
            };
        }
    }
}

const NAMING: &str = "write e.g. `tidegate-gateway observe eth1 --uplink eth0`, or name both in the file of settings";

/// What the programs are told.
fn words(
    options: &Options,
    at: &Device,
    towards: &Device,
    before: Option<[u64; SETTINGS_WORDS]>,
) -> [u64; SETTINGS_WORDS] {
    let mut words = options.settings.words();
    words[word::READY] = LAYOUT;
    words[word::ENFORCE] = u64::from(options.mode == Mode::Enforce);
    words[word::LINK_HEADER] = at.link_header;
    words[word::INTERFACE] = at.index.into();
    words[word::UPLINK] = towards.index.into();
    words[word::GENERATION] = before.map_or(0, |before| before[word::GENERATION]);
    words[word::OWN_CLSACT] = before.map_or(0, |before| before[word::OWN_CLSACT]);
    words
}

/// p′ that a loop has left behind, if it has just ended.
fn resumed_base(maps: &Maps, direction: Direction, now: u64) -> f64 {
    let words = maps.signal(direction);
    let age = now.saturating_sub(words[signal_word::UPDATED]);
    match age < RESUME_NS {
        true => words[signal_word::BASE] as f64 / (1u64 << 32) as f64,
        false => 0.0,
    }
}
