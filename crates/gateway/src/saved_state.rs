//! What is known of customers and paths, on disk, so that a reboot or maps of another layout do not begin at nothing.
//!
//! The kernel's clock starts at zero with each boot. So activities are kept relative to the time of the copy, and that time by
//! the wall clock:
//!
//! ```text
//! t₀ = now + max(0, ahead − age)      ahead = t₀ − now when it was saved; age by the wall clock
//! ```
//!
//! An activity falls by 1 in the time of the inertia and is at most 40, so that nothing older than 40 inertias counts. The
//! least round trips of reflectors count for ten minutes, as in the signal. A copy from the future, from another
//! inertia or with an error is not taken.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value as Json, json};

use crate::control::now_ns;
use crate::error::Error;
use crate::log::Log;
use crate::maps::{Direction, LAYOUT, Maps, Pins, word};
use crate::prefix::{mapped, unmapped};

/// Of the format.
const VERSION: u64 = 1;
/// Name of the file in the state folder.
const NAME: &str = "activity.json";
/// Most bytes that are read.
const MAX_BYTES: u64 = 256 << 20;
/// Round trips that are older say nothing.
const PATHS_LAST_S: f64 = 600.0;

/// Least round trip of a reflector, in seconds, and the wall clock's time at which it was seen.
pub type Paths = HashMap<IpAddr, (f64, f64)>;

/// Seconds of the wall clock since 1970.
pub fn wall_s() -> f64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// A copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedState {
    /// Time by the wall clock.
    pub saved_s: f64,
    /// 40 I, in nanoseconds.
    pub longest_ns: u64,
    /// A_avg, in 2⁻³⁶.
    pub averages_q36: [u64; 2],
    /// t₀ − now of customers that are learned, where one is positive.
    pub learned: Vec<(IpAddr, [u64; 2])>,
    /// The same of customers of the file.
    pub listed: Vec<(String, [u64; 2])>,
    /// Of the signal `delay`.
    pub paths: Paths,
}

impl SavedState {
    /// What the maps hold.
    pub fn take(maps: &Maps, now_ns: u64, saved_s: f64, paths: Paths) -> SavedState {
        let ahead = |customer: &crate::customer::Customer| {
            let ahead = [0, 1].map(|way| customer.usage[way].zero_ns.saturating_sub(now_ns));
            (ahead != [0; 2]).then_some(ahead)
        };
        let learned = maps.customers().into_iter();
        let listed = maps.listed();
        SavedState {
            saved_s,
            longest_ns: maps.settings()[word::METER + 3],
            averages_q36: Direction::ALL.map(|direction| maps.average_q36(direction)),
            learned: learned
                .filter_map(|(address, one)| Some((unmapped(address), ahead(&one)?)))
                .collect(),
            listed: listed
                .filter_map(|(slot, one)| Some((maps.name(slot), ahead(&one)?)))
                .collect(),
            paths,
        }
    }

    fn json(&self) -> Json {
        let learned = self.learned.iter().map(|(address, [up, down])| json!([address, up, down]));
        let listed = self.listed.iter().map(|(name, [up, down])| json!([name, up, down]));
        let paths = self.paths.iter().map(|(address, (rtt_s, at_s))| json!([address, rtt_s, at_s]));
        json!({
            "version": VERSION,
            "saved_s": self.saved_s,
            "longest_ns": self.longest_ns,
            "averages_q36": self.averages_q36,
            "learned": learned.collect::<Vec<_>>(),
            "listed": listed.collect::<Vec<_>>(),
            "paths": paths.collect::<Vec<_>>(),
        })
    }

    /// `None` if anything is not as it is written.
    fn from_json(value: &Json) -> Option<SavedState> {
        let array = |key: &str| value[key].as_array();
        let pair = |row: &Json| Some([row[1].as_u64()?, row[2].as_u64()?]);
        let address = |value: &Json| value.as_str()?.parse::<IpAddr>().ok();
        if value["version"].as_u64()? != VERSION {
            return None;
        }
        let averages = array("averages_q36")?;
        Some(SavedState {
            saved_s: value["saved_s"].as_f64()?,
            longest_ns: value["longest_ns"].as_u64()?,
            averages_q36: [averages.first()?.as_u64()?, averages.get(1)?.as_u64()?],
            learned: array("learned")?
                .iter()
                .map(|row| Some((address(&row[0])?, pair(row)?)))
                .collect::<Option<_>>()?,
            listed: array("listed")?
                .iter()
                .map(|row| Some((row[0].as_str()?.to_owned(), pair(row)?)))
                .collect::<Option<_>>()?,
            paths: array("paths")?
                .iter()
                .map(|row| Some((address(&row[0])?, (row[1].as_f64()?, row[2].as_f64()?))))
                .collect::<Option<_>>()?,
        })
    }

    /// Reads the copy of a folder; `None` if there is none, or none that can be read.
    pub fn read(folder: &Path) -> Option<SavedState> {
        let path = path(folder);
        if fs::metadata(&path).ok()?.len() > MAX_BYTES {
            return None;
        }
        SavedState::from_json(&serde_json::from_slice(&fs::read(path).ok()?).ok()?)
    }

    /// Writes the copy, for the owner's eyes alone.
    ///
    /// # Errors
    /// If the disk or its rights do not allow it.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let (path, partial) = (path(folder), path(folder).with_extension("partial"));
        let write = || {
            fs::create_dir_all(folder)?;
            let _ = fs::remove_file(&partial);
            let mut options = fs::OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&partial)?;
            io::Write::write_all(&mut file, self.json().to_string().as_bytes())?;
            fs::rename(&partial, &path)
        };
        write().inspect_err(|_| {
            let _ = fs::remove_file(&partial);
        })
    }

    /// Time since it was saved, in nanoseconds; `None` if it says nothing about now.
    fn age_ns(&self, wall_s: f64, longest_ns: u64) -> Option<u64> {
        let age_s = wall_s - self.saved_s;
        let is_usable = self.longest_ns == longest_ns && age_s >= 0.0;
        let age_ns = (age_s * 1e9) as u64;
        (is_usable && age_ns < longest_ns).then_some(age_ns)
    }

    /// Brings into the maps what they do not know. Returns the number of customers.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn restore(&self, maps: &mut Maps, now_ns: u64, wall_s: f64) -> Result<usize, Error> {
        let Some(age_ns) = self.age_ns(wall_s, maps.settings()[word::METER + 3]) else {
            return Ok(0);
        };
        let zero_ns = |ahead: &[u64; 2]| {
            let left = ahead.map(|ahead| ahead.min(self.longest_ns).saturating_sub(age_ns));
            (left != [0; 2]).then(|| left.map(|left| if left > 0 { now_ns + left } else { 0 }))
        };
        for (direction, average) in Direction::ALL.into_iter().zip(self.averages_q36) {
            if maps.average_q36(direction) == 0 {
                maps.set_average(direction, average.min(MOST_AVERAGE_Q36))?;
            }
        }
        let mut restored = 0;
        for (address, ahead) in &self.learned {
            let Some(zero_ns) = zero_ns(ahead) else { continue };
            let address = mapped(*address);
            if maps.learns(address) {
                restored += usize::from(maps.resume_learned(address, zero_ns, now_ns));
            }
        }
        if self.listed.is_empty() {
            return Ok(restored);
        }
        let slots: HashMap<_, _> =
            (0..maps.names.len()).map(|slot| (maps.name(slot), slot)).collect();
        for (name, ahead) in &self.listed {
            if let (Some(slot), Some(zero_ns)) = (slots.get(name), zero_ns(ahead)) {
                restored += usize::from(maps.resume_listed(*slot, zero_ns, now_ns));
            }
        }
        Ok(restored)
    }

    /// Least round trip of a reflector, if it is not too old.
    pub fn path(&self, reflector: IpAddr, wall_s: f64) -> Option<f64> {
        let (rtt_s, at_s) = self.paths.get(&reflector)?;
        let is_recent = (0.0..PATHS_LAST_S).contains(&(wall_s - at_s));
        (is_recent && rtt_s.is_finite() && *rtt_s > 0.0).then_some(*rtt_s)
    }
}

/// 40 in 2⁻³⁶: no activity is above.
const MOST_AVERAGE_Q36: u64 = 40 << 36;

fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// Removes the copy of a folder.
pub fn remove(folder: &Path) {
    let _ = fs::remove_file(path(folder));
}

/// Saves once, with the round trips of the copy before.
///
/// # Errors
/// If no gateway is here, or the disk does not take it.
pub fn save(pins: &Pins, folder: &Path) -> Result<(), Error> {
    let absent = || Error::Failed("no gateway is here".to_owned());
    let maps = Maps::open(pins)?.ok_or_else(absent)?;
    let paths = SavedState::read(folder).unwrap_or_default().paths;
    let state = SavedState::take(&maps, now_ns(), wall_s(), paths);
    state.write(folder).map_err(|error| failed(folder, &error))
}

fn failed(folder: &Path, error: &io::Error) -> Error {
    Error::of(&path(folder).display().to_string(), error)
}

/// Saves again and again on a thread of its own, since a disk may take its time: the control loop does not wait for it.
///
/// # Errors
/// If there can be no thread.
pub fn keep_saving(
    pins: Pins,
    folder: PathBuf,
    every: Duration,
    paths: Arc<Mutex<Paths>>,
) -> Result<(), Error> {
    let save = move || {
        let (mut log, mut was_refused, mut had_any) = (Log::default(), false, true);
        loop {
            thread::sleep(every);
            let Some(maps) = Maps::open(&pins).ok().flatten() else { continue };
            if maps.settings()[word::READY] != LAYOUT {
                continue;
            }
            let paths = paths.lock().map(|paths| paths.clone()).unwrap_or_default();
            let state = SavedState::take(&maps, now_ns(), wall_s(), paths);
            let has_any = !(state.learned.is_empty() && state.listed.is_empty());
            // A quiet night needs no disk.
            if !has_any && !std::mem::replace(&mut had_any, has_any) && state.paths.is_empty() {
                continue;
            }
            had_any = has_any;
            let saved = state.write(&folder);
            let is_refused = saved.is_err();
            // The same line again says nothing new.
            if let (Err(error), false) = (saved, was_refused) {
                let line = format!("{}; activities are not saved", failed(&folder, &error));
                log.say(now_ns(), &line);
            }
            was_refused = is_refused;
        }
    };
    let started = thread::Builder::new().name("state".to_owned()).spawn(save);
    started.map(|_| ()).map_err(|error| Error::of("the thread that saves activities", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> SavedState {
        SavedState {
            saved_s: 1_000.0,
            longest_ns: 24_000_000_000,
            averages_q36: [3 << 36, 1],
            learned: vec![("192.0.2.7".parse().expect("one"), [5, u64::MAX])],
            listed: vec![("smith \"x\"".to_owned(), [0, 7])],
            paths: HashMap::from([("2001:db8::1".parse().expect("one"), (0.012, 990.0))]),
        }
    }

    #[test]
    fn what_is_written_is_read_and_anything_else_is_not() {
        let folder = std::env::temp_dir().join(format!("tidegate-state-{}", std::process::id()));
        assert_eq!(SavedState::read(&folder), None);
        state().write(&folder).expect("there is room");
        assert_eq!(SavedState::read(&folder), Some(state()));
        let whole = fs::read(path(&folder)).expect("it is there");
        for length in 0..whole.len() {
            fs::write(path(&folder), &whole[..length]).expect("there is room");
            assert_eq!(SavedState::read(&folder), None, "{length}");
        }
        let other =
            String::from_utf8(whole).expect("UTF-8").replace("\"version\":1", "\"version\":2");
        fs::write(path(&folder), other).expect("there is room");
        assert_eq!(SavedState::read(&folder), None);
        fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn a_copy_counts_for_the_time_in_which_an_activity_can_last() {
        let (state, longest_ns) = (state(), 24_000_000_000);
        assert_eq!(state.age_ns(1_010.0, longest_ns), Some(10_000_000_000));
        assert_eq!(state.age_ns(1_024.5, longest_ns), None);
        // Another inertia; a clock that has gone back.
        assert_eq!(state.age_ns(1_010.0, longest_ns + 1), None);
        assert_eq!(state.age_ns(999.0, longest_ns), None);
        let reflector = "2001:db8::1".parse().expect("one");
        assert_eq!(state.path(reflector, 1_500.0), Some(0.012));
        assert_eq!(state.path(reflector, 1_590.5), None);
    }
}
