//! Switches a control loop that runs, and removes everything.

use std::thread;
use std::time::Duration;

use crate::control::{Mode, device};
use crate::error::Error;
use crate::lock::{CHANGE, CHANGE_LASTS, LOOP, Lock};
use crate::maps::{Maps, Pins, word};
use crate::netlink::Netlink;
use crate::programs;
use crate::settings::Settings;

/// So long an ending loop is waited for.
const ENDING: Duration = Duration::from_secs(2);

/// So long `off` waits for another change.
const OFF_WAITS: Duration = Duration::from_secs(5);

/// Switches a loop that runs to another mode. Returns false if none runs.
///
/// # Errors
/// If the loop that runs has another interface than these, or the kernel refuses.
pub fn switch(mode: Mode, settings: &Settings, pins: &Pins) -> Result<bool, Error> {
    if !Lock::is_taken(LOOP, pins) {
        return Ok(false);
    }
    // A loop that begins writes its mode last, and a reload may be under way.
    let Some(_lock) = Lock::wait(CHANGE, pins, CHANGE_LASTS)? else {
        return Err(Error::Failed("another change does not come to its end".to_owned()));
    };
    let Some(mut maps) = Maps::open(pins)? else { return Ok(false) };
    let mut netlink = Netlink::open().map_err(|error| Error::of("netlink", &error))?;
    let words = maps.settings();
    for (name, place) in [(&settings.interface, word::INTERFACE), (&settings.uplink, word::UPLINK)]
    {
        let Some(name) = name else { continue };
        if u64::from(device(&mut netlink, name)?.index) != words[place] {
            return Err(Error::Failed(format!(
                "a gateway with other interfaces than {name} runs; first: tidegate-gateway off"
            )));
        }
    }
    maps.set_word(word::ENFORCE, u64::from(mode == Mode::Enforce))?;
    Ok(true)
}

/// Removes everything. Returns false if there was nothing.
///
/// # Errors
/// If the kernel refuses.
pub fn off(pins: &Pins) -> Result<bool, Error> {
    // It has to end in any case: after a time it waits for no other process.
    let _lock = Lock::wait(CHANGE, pins, OFF_WAITS)?;
    let runs = Lock::is_taken(LOOP, pins);
    let maps = match Maps::open(pins) {
        Ok(maps) => maps,
        // Maps of another version cannot be opened, and go all the same.
        Err(Error::Failed(_)) => None,
        Err(error) => return Err(error),
    };
    let has_programs = programs::PROGRAMS.iter().any(|(name, _)| pins.path(name).exists());
    if maps.is_none() && !has_programs && !runs {
        return Ok(false);
    }
    let mut device = None;
    let mut maps = maps;
    if let Some(maps) = &mut maps {
        let index = maps.settings()[word::INTERFACE];
        device = Netlink::open()
            .and_then(|mut netlink| netlink.device_at(index as u32))
            .map_err(|error| Error::of("netlink", &error))?;
        maps.set_word(word::READY, 0)?;
    }
    programs::detach(pins, maps.as_ref(), device.as_ref())?;
    let mut waited = Duration::ZERO;
    let step = Duration::from_millis(10);
    while Lock::is_taken(LOOP, pins) && waited < ENDING {
        thread::sleep(step);
        waited += step;
    }
    pins.remove_all();
    if Lock::is_taken(LOOP, pins) {
        return Err(Error::Failed(format!(
            "a control loop does not end: it hangs, or {} is another folder for it (`ip netns exec` gives each command a \
             /sys of its own); end it, and everything passes 0.5 s later",
            pins.folder().display()
        )));
    }
    Ok(true)
}
