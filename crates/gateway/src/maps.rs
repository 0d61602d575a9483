//! The maps that programs, control loop and reports share, as `bpf/gateway/gateway.bpf.c` declares them. All hold 64-bit
//! words. They are pinned in a folder of a bpffs and outlive the process.

use std::fs;
use std::path::{Path, PathBuf};

use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray};

use crate::error::Error;
use crate::prefix::Prefix;

/// Version of the layout.
pub const LAYOUT: u64 = 1;
/// Words of the settings.
pub const SETTINGS_WORDS: usize = 19;
/// Words of a signal.
pub const SIGNAL_WORDS: usize = 8;
/// Words of a customer.
pub const CUSTOMER_WORDS: usize = 11;

/// Uploads or downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From customers.
    Upload,
    /// To customers.
    Download,
}

impl Direction {
    /// Both, in the order of the maps.
    pub const ALL: [Direction; 2] = [Direction::Upload, Direction::Download];

    /// As reports have it.
    pub const fn word(self) -> &'static str {
        match self {
            Direction::Upload => "upload",
            Direction::Download => "download",
        }
    }
}

/// What became of a packet, in the order of `enum tg_reason`: a name, and what it means.
pub const REASONS: [(&str, &str); 13] = [
    ("passed", "judged, and passed"),
    ("dropped", "dropped"),
    ("marked", "marked with CE"),
    ("would-drop", "would have been dropped by enforce"),
    ("would-mark", "would have been marked by enforce"),
    ("clear", "passed: no congestion"),
    ("no-signal", "passed: there is no probability, or it is older than 0.5 s"),
    ("exempt", "passed: an address that is exempt"),
    ("no-customer", "passed: an address that is no customer's"),
    ("local", "passed: multicast, link-local and the like"),
    ("not-ip", "passed: neither IPv4 nor IPv6"),
    ("not-understood", "passed: cannot be read"),
    ("not-ready", "passed: the programs have no settings, or no room for the customer"),
];

/// Where the words of the settings are.
pub mod word {
    /// Version of the layout; 0 lets everything pass and ends the control loop.
    pub const READY: usize = 0;
    /// 1 drops and marks, 0 only counts.
    pub const ENFORCE: usize = 1;
    /// Bytes before the IP header that the device has.
    pub const LINK_HEADER: usize = 2;
    /// Four of the meter.
    pub const METER: usize = 3;
    /// Two of the differentiation.
    pub const ABC: usize = 7;
    /// Whether ECT(0) is marked.
    pub const ECN: usize = 9;
    /// Whether ECT(1) is marked.
    pub const ECT1: usize = 10;
    /// log₂ k.
    pub const COUPLING: usize = 11;
    /// Mask of the first eight bytes of an IPv6 address.
    pub const IPV6_MASK: usize = 12;
    /// Whether there are prefixes of customers.
    pub const HAS_PREFIXES: usize = 13;
    /// Whether there are prefixes that are exempt.
    pub const HAS_EXEMPT: usize = 14;
    /// Index of the customers' interface.
    pub const INTERFACE: usize = 15;
    /// Index of the uplink.
    pub const UPLINK: usize = 16;
    /// 1 where the clsact qdisc is ours.
    pub const OWN_CLSACT: usize = 17;
}

/// Where the words of a signal are.
pub mod signal_word {
    /// −log₂ p.
    pub const MINUS_LOG2_P: usize = 0;
    /// Later, p does not count.
    pub const DEADLINE: usize = 1;
    /// Delay of the queue, ns.
    pub const DELAY: usize = 2;
    /// Rate at which the queue is served, bit/s.
    pub const RATE: usize = 3;
    /// Bytes in the queue.
    pub const BACKLOG: usize = 4;
    /// Time of the last update.
    pub const UPDATED: usize = 5;
    /// [`State`](crate::signal::State).
    pub const STATE: usize = 6;
    /// p′ in 2⁻³².
    pub const BASE: usize = 7;
}

/// A customer's counters in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// t₀ of the meter.
    pub zero_ns: u64,
    /// Bytes that came, dropped ones among them.
    pub bytes: u64,
    /// Packets that came.
    pub packets: u64,
    /// Packets dropped, or that would have been.
    pub dropped: u64,
    /// Packets marked, or that would have been.
    pub marked: u64,
}

/// A customer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Customer {
    /// By direction.
    pub usage: [Usage; 2],
    /// Time of the last packet.
    pub seen_ns: u64,
}

impl Customer {
    fn from_words(words: [u64; CUSTOMER_WORDS]) -> Customer {
        let usage = [0, 1].map(|direction| Usage {
            zero_ns: words[direction],
            bytes: words[2 + direction],
            packets: words[4 + direction],
            dropped: words[6 + direction],
            marked: words[8 + direction],
        });
        Customer { usage, seen_ns: words[10] }
    }
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Segments of super-packets count one by one.
    pub packets: u64,
    /// On the wire, without what the physical layer adds.
    pub bytes: u64,
}

/// The maps that have a pin, with bytes of a value; `None` for the number of entries where the settings say it.
const LAYOUTS: [(&str, usize, Option<u32>); 7] = [
    ("settings", 8 * SETTINGS_WORDS, Some(1)),
    ("signals", 8 * SIGNAL_WORDS, Some(2)),
    ("links", 8, Some(2)),
    ("customers", 8 * CUSTOMER_WORDS, None),
    ("counts", 16, Some(2 * REASONS.len() as u32)),
    ("prefixes", 8, Some(4096)),
    ("exempt", 8, Some(4096)),
];

/// The folder of a bpffs in which everything is pinned.
#[derive(Clone, Debug)]
pub struct Pins(PathBuf);

impl Pins {
    /// This folder.
    pub fn new(folder: &Path) -> Pins {
        Pins(folder.to_owned())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Where something of this name is pinned.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Names of all maps.
    pub fn maps() -> impl Iterator<Item = &'static str> {
        LAYOUTS.iter().map(|(name, ..)| *name)
    }

    /// Removes the pins of maps that another version, or other settings, have made. Returns their names.
    pub fn remove_misfits(&self, max_customers: u32) -> Vec<&'static str> {
        let fits = |name: &str, value: usize, entries: Option<u32>| {
            let info = MapData::from_pin(self.path(name)).and_then(|map| map.info());
            info.is_ok_and(|info| {
                info.value_size() as usize == value
                    && info.max_entries() == entries.unwrap_or(max_customers)
            })
        };
        let is_misfit = |(name, value, entries): &&(&'static str, usize, Option<u32>)| {
            self.path(name).exists() && !fits(name, *value, *entries)
        };
        let misfits: Vec<_> = LAYOUTS.iter().filter(is_misfit).map(|(name, ..)| *name).collect();
        for name in &misfits {
            let _ = fs::remove_file(self.path(name));
        }
        misfits
    }

    /// Removes the pins of all maps, and the folder.
    pub fn remove_all(&self) {
        for name in Pins::maps() {
            let _ = fs::remove_file(self.path(name));
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// The open maps.
pub struct Maps {
    settings: Array<MapData, [u64; SETTINGS_WORDS]>,
    signals: Array<MapData, [u64; SIGNAL_WORDS]>,
    links: Array<MapData, [u64; 1]>,
    customers: HashMap<MapData, [u8; 16], [u64; CUSTOMER_WORDS]>,
    counts: PerCpuArray<MapData, [u64; 2]>,
    prefixes: LpmTrie<MapData, [u8; 16], u64>,
    exempt: LpmTrie<MapData, [u8; 16], u64>,
}

impl Maps {
    /// Opens what is pinned; `None` if nothing is.
    ///
    /// # Errors
    /// If the maps are there and cannot be opened.
    pub fn open(pins: &Pins) -> Result<Option<Maps>, Error> {
        if !pins.path("settings").try_exists().map_err(|error| failed(pins, &error))? {
            return Ok(None);
        }
        let data = |name| MapData::from_pin(pins.path(name)).map_err(|error| failed(pins, &error));
        macro_rules! open {
            ($kind:ident, $name:literal) => {
                Map::$kind(data($name)?).try_into().map_err(|error| failed(pins, &error))?
            };
        }
        Ok(Some(Maps {
            settings: open!(Array, "settings"),
            signals: open!(Array, "signals"),
            links: open!(Array, "links"),
            customers: open!(LruHashMap, "customers"),
            counts: open!(PerCpuArray, "counts"),
            prefixes: open!(LpmTrie, "prefixes"),
            exempt: open!(LpmTrie, "exempt"),
        }))
    }

    /// The words of the settings.
    pub fn settings(&self) -> [u64; SETTINGS_WORDS] {
        self.settings.get(&0, 0).unwrap_or([0; SETTINGS_WORDS])
    }

    /// Sets all words of the settings.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_settings(&mut self, words: [u64; SETTINGS_WORDS]) -> Result<(), Error> {
        self.settings.set(0, words, 0).map_err(|error| Error::of("settings", &error))
    }

    /// Sets one word of the settings.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_word(&mut self, place: usize, value: u64) -> Result<(), Error> {
        let mut words = self.settings();
        words[place] = value;
        self.set_settings(words)
    }

    /// The words of a direction's signal.
    pub fn signal(&self, direction: Direction) -> [u64; SIGNAL_WORDS] {
        self.signals.get(&(direction as u32), 0).unwrap_or([0; SIGNAL_WORDS])
    }

    /// Sets a direction's signal.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_signal(
        &mut self,
        direction: Direction,
        words: [u64; SIGNAL_WORDS],
    ) -> Result<(), Error> {
        let set = self.signals.set(direction as u32, words, 0);
        set.map_err(|error| Error::of("signals", &error))
    }

    /// A_avg of a direction.
    pub fn average_activity(&self, direction: Direction) -> f64 {
        let [average_q36] = self.links.get(&(direction as u32), 0).unwrap_or([0]);
        average_q36 as f64 / (1u64 << 36) as f64
    }

    /// Sets A_avg of a direction, in 2⁻³⁶.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_average(&mut self, direction: Direction, average_q36: u64) -> Result<(), Error> {
        let set = self.links.set(direction as u32, [average_q36], 0);
        set.map_err(|error| Error::of("links", &error))
    }

    /// All customers that are remembered.
    pub fn customers(&self) -> Vec<([u8; 16], Customer)> {
        let known = self.customers.iter().flatten();
        known.map(|(address, words)| (address, Customer::from_words(words))).collect()
    }

    /// One of them.
    pub fn customer(&self, address: [u8; 16]) -> Option<Customer> {
        self.customers.get(&address, 0).ok().map(Customer::from_words)
    }

    /// Packets of a direction by what became of them, as [`REASONS`] has it.
    pub fn counts(&self, direction: Direction) -> [Count; REASONS.len()] {
        std::array::from_fn(|reason| {
            let place = (direction as usize * REASONS.len() + reason) as u32;
            let Ok(by_cpu) = self.counts.get(&place, 0) else { return Count::default() };
            let add = |sum: Count, one: &[u64; 2]| Count {
                packets: sum.packets + one[0],
                bytes: sum.bytes + one[1],
            };
            by_cpu.iter().fold(Count::default(), add)
        })
    }

    /// Makes the prefixes of customers these.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_prefixes(&mut self, wanted: &[Prefix]) -> Result<(), Error> {
        replace(&mut self.prefixes, wanted)
    }

    /// Makes the prefixes that are exempt these.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_exempt(&mut self, wanted: &[Prefix]) -> Result<(), Error> {
        replace(&mut self.exempt, wanted)
    }
}

/// Adds what is missing before it removes what is too much, so that none that stays is ever out.
fn replace(trie: &mut LpmTrie<MapData, [u8; 16], u64>, wanted: &[Prefix]) -> Result<(), Error> {
    let known: Vec<Key<[u8; 16]>> = trie.keys().flatten().collect();
    let is = |key: &Key<[u8; 16]>, prefix: &Prefix| {
        key.prefix_len() == prefix.bits && key.data() == prefix.address
    };
    for prefix in wanted.iter().filter(|prefix| !known.iter().any(|key| is(key, prefix))) {
        let key = Key::new(prefix.bits, prefix.address);
        trie.insert(&key, 1, 0).map_err(|error| Error::of("prefixes", &error))?;
    }
    for key in known.iter().filter(|key| !wanted.iter().any(|prefix| is(key, prefix))) {
        trie.remove(key).map_err(|error| Error::of("prefixes", &error))?;
    }
    Ok(())
}

fn failed(pins: &Pins, error: &(dyn std::error::Error + 'static)) -> Error {
    Error::of(&pins.folder().display().to_string(), error)
}
