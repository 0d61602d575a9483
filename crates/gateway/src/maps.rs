//! The maps that programs, control loop and reports share, as `bpf/gateway/gateway.bpf.c` declares them. They are
//! pinned in a folder of a bpffs and outlive the process. Names are bytes, everything else is 64-bit words.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use aya::Pod;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, PerCpuValues};

use crate::average::{self, Own};
use crate::customer::{
    CEILING_WORDS, CUSTOMER_WORDS, Customer, LEARNED, NAME_BYTES, TERMS_WORDS, Terms,
};
use crate::error::Error;
use crate::exempt::ExemptFilter;
use crate::lock::WordsLock;
use crate::prefix::Prefix;

/// Version of the layout.
pub const LAYOUT: u64 = 3;
/// Words of the settings.
pub const SETTINGS_WORDS: usize = 25;
/// Words of a signal.
pub const SIGNAL_WORDS: usize = 12;

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
pub const REASONS: [(&str, &str); 15] = [
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
    ("limited", "dropped: beyond the customer's ceiling"),
    ("would-limit", "would have been dropped by enforce: beyond the customer's ceiling"),
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
    /// Four of the [filter](crate::exempt::ExemptFilter) of prefixes that are exempt.
    pub const EXEMPT: usize = 14;
    /// B of the meter, bytes.
    pub const BURST: usize = 18;
    /// Whether there are customers of a file.
    pub const HAS_FILE: usize = 19;
    /// Depth of the ceilings' buckets, ns.
    pub const CEILING_BURST: usize = 20;
    /// Index of the customers' interface.
    pub const INTERFACE: usize = 21;
    /// Index of the uplink.
    pub const UPLINK: usize = 22;
    /// 1 where the clsact qdisc is ours.
    pub const OWN_CLSACT: usize = 23;
    /// Counts how often maps were replaced by larger ones.
    pub const GENERATION: usize = 24;
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
    /// Later, ceilings do not count.
    pub const ALIVE: usize = 8;
    /// q₀ of the controller, ns.
    pub const TARGET: usize = 9;
    /// Which signal, as an index of [`KINDS`](crate::source::KINDS).
    pub const KIND: usize = 10;
    /// A_avg of all CPUs when they were last merged, in 2⁻³⁶.
    pub const AVERAGE: usize = 11;
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Segments of super-packets count one by one.
    pub packets: u64,
    /// On the wire, without what the physical layer adds.
    pub bytes: u64,
}

/// Entries of the maps whose size the settings or the customer file decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Customers that are learned.
    pub learned: u32,
    /// Customers of the file.
    pub listed: u32,
    /// Single addresses of the file.
    pub addresses: u32,
}

impl Sizes {
    /// Of a map, if it depends on them.
    pub fn of(self, map: &str) -> Option<u32> {
        match map {
            "customers" => Some(self.learned),
            "listed" | "ceilings" | "names" => Some(self.listed),
            "addresses" => Some(self.addresses),
            _ => None,
        }
    }
}

/// Maps that grow and keep what they hold.
pub const GROWING: [&str; 4] = ["listed", "ceilings", "names", "addresses"];

/// The maps that have a pin, with bytes of a value, and the number of entries where it is fixed.
const LAYOUTS: [(&str, usize, Option<u32>); 11] = [
    ("settings", 8 * SETTINGS_WORDS, Some(1)),
    ("signals", 8 * SIGNAL_WORDS, Some(2)),
    ("links", 16, Some(2)),
    ("customers", 8 * CUSTOMER_WORDS, None),
    ("counts", 16, Some(2 * REASONS.len() as u32)),
    ("listed", 8 * CUSTOMER_WORDS, None),
    ("ceilings", 8 * CEILING_WORDS, None),
    ("names", NAME_BYTES, None),
    ("addresses", 8 * TERMS_WORDS, None),
    ("prefixes", 8 * TERMS_WORDS, Some(MAX_PREFIXES as u32)),
    ("exempt", 8, Some(4096)),
];

/// Entries of the map of prefixes.
pub const MAX_PREFIXES: usize = 65_536;

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

    /// Entries of a pinned map; `None` if there is none.
    pub fn entries(&self, name: &str) -> Option<u32> {
        let info = MapData::from_pin(self.path(name)).and_then(|map| map.info());
        info.ok().map(|info| info.max_entries())
    }

    /// Removes the pins of maps that another version, or other settings, have made. Returns their names. Maps that
    /// grow may be larger than asked for.
    pub fn remove_misfits(&self, sizes: Sizes) -> Vec<&'static str> {
        let fits = |name: &str, value: usize, entries: Option<u32>| {
            let info = MapData::from_pin(self.path(name)).and_then(|map| map.info());
            info.is_ok_and(|info| {
                let entries = entries.or(sizes.of(name)).unwrap_or_default();
                let is_large_enough = GROWING.contains(&name) && info.max_entries() >= entries;
                info.value_size() as usize == value
                    && (info.max_entries() == entries || is_large_enough)
            })
        };
        let is_misfit = |(name, value, entries): &&(&'static str, usize, Option<u32>)| {
            self.path(name).exists() && !fits(name, *value, *entries)
        };
        let misfits: Vec<_> = LAYOUTS.iter().filter(is_misfit).map(|(name, ..)| *name).collect();
        self.remove(&misfits);
        misfits
    }

    /// Removes the pins of these maps.
    pub fn remove(&self, names: &[&str]) {
        for name in names {
            let _ = fs::remove_file(self.path(name));
        }
    }

    /// Removes the pins of all maps, and the folder.
    pub fn remove_all(&self) {
        for name in Pins::maps() {
            let _ = fs::remove_file(self.path(name));
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// How often, and after what time, maps that are being replaced are tried again.
const SETTLING_TRIES: u32 = 100;
const SETTLING_STEP: Duration = Duration::from_millis(20);
/// Of linux/bpf.h.
const BPF_NOEXIST: u64 = 1;

/// The open maps.
pub struct Maps {
    pins: Pins,
    settings: Array<MapData, [u64; SETTINGS_WORDS]>,
    signals: Array<MapData, [u64; SIGNAL_WORDS]>,
    links: PerCpuArray<MapData, [u64; 2]>,
    customers: HashMap<MapData, [u8; 16], [u64; CUSTOMER_WORDS]>,
    counts: PerCpuArray<MapData, [u64; 2]>,
    /// Customers of the file, by slot.
    pub listed: Array<MapData, [u64; CUSTOMER_WORDS]>,
    /// Buckets of their ceilings, by slot.
    pub ceilings: Array<MapData, [u64; CEILING_WORDS]>,
    /// Their names.
    pub names: Array<MapData, [u8; NAME_BYTES]>,
    /// Single addresses of the file.
    pub addresses: HashMap<MapData, [u8; 16], [u64; TERMS_WORDS]>,
    /// Other prefixes of customers.
    pub prefixes: LpmTrie<MapData, [u8; 16], [u64; TERMS_WORDS]>,
    exempt: LpmTrie<MapData, [u8; 16], u64>,
}

impl Maps {
    /// Opens what is pinned beside a reload, which may be about to replace maps by larger ones; `None` if nothing is.
    ///
    /// # Errors
    /// If they still cannot be opened after two seconds.
    pub fn open_settled(pins: &Pins) -> Result<Option<Maps>, Error> {
        for _ in 0..SETTLING_TRIES {
            match Maps::open(pins) {
                Err(Error::Failed(_)) => thread::sleep(SETTLING_STEP),
                settled => return settled,
            }
        }
        Maps::open(pins)
    }

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
            pins: pins.clone(),
            settings: open!(Array, "settings"),
            signals: open!(Array, "signals"),
            links: open!(PerCpuArray, "links"),
            customers: open!(LruHashMap, "customers"),
            counts: open!(PerCpuArray, "counts"),
            listed: open!(Array, "listed"),
            ceilings: open!(Array, "ceilings"),
            names: open!(Array, "names"),
            addresses: open!(HashMap, "addresses"),
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
        // The map has all words in one value, which several processes write.
        let _lock = WordsLock::wait(&self.pins);
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

    /// A_avg of a direction, when the CPUs were last merged.
    pub fn average_activity(&self, direction: Direction) -> f64 {
        self.average_q36(direction) as f64 / (1u64 << 36) as f64
    }

    /// The same in 2⁻³⁶.
    pub fn average_q36(&self, direction: Direction) -> u64 {
        self.signal(direction)[signal_word::AVERAGE]
    }

    /// What all CPUs have seen of a direction since the last merger.
    fn own_averages(&self, direction: Direction) -> Vec<Own> {
        let by_cpu = self.links.get(&(direction as u32), 0);
        by_cpu.map(|all| all.iter().copied().map(Own::from_words).collect()).unwrap_or_default()
    }

    /// Makes all CPUs continue from one A_avg, which is returned; `None` if no packet came. A packet that comes
    /// meanwhile may be left out.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn merge_averages(&mut self, direction: Direction) -> Result<Option<u64>, Error> {
        let merged = average::merged(self.own_averages(direction));
        if let Some(average_q36) = merged {
            self.set_own_averages(direction, average_q36)?;
        }
        Ok(merged)
    }

    fn set_own_averages(&mut self, direction: Direction, average_q36: u64) -> Result<(), Error> {
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| Error::of("links", &error))?;
        let all = PerCpuValues::try_from(vec![[average_q36, 0]; cpus]);
        let all = all.map_err(|error| Error::of("links", &error))?;
        let set = self.links.set(direction as u32, all, 0);
        set.map_err(|error| Error::of("links", &error))
    }

    /// Sets A_avg of a direction, in 2⁻³⁶.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_average(&mut self, direction: Direction, average_q36: u64) -> Result<(), Error> {
        let mut words = self.signal(direction);
        words[signal_word::AVERAGE] = average_q36;
        self.set_signal(direction, words)?;
        self.set_own_averages(direction, average_q36)
    }

    /// All customers that are learned and remembered.
    pub fn customers(&self) -> Vec<([u8; 16], Customer)> {
        let known = self.customers.iter().flatten();
        known.map(|(address, words)| (address, Customer::from_words(&words))).collect()
    }

    /// One of them.
    pub fn customer(&self, address: [u8; 16]) -> Option<Customer> {
        self.customers.get(&address, 0).ok().map(|words| Customer::from_words(&words))
    }

    /// Whether an address may be a customer that is learned.
    pub fn learns(&self, address: [u8; 16]) -> bool {
        let words = self.settings();
        if words[word::HAS_FILE] == 0 && words[word::HAS_PREFIXES] == 0 {
            return true;
        }
        let found = self.prefixes.get(&Key::new(128, address), 0);
        found.is_ok_and(|words| Terms::from_words(words).slot == LEARNED)
    }

    /// Sets t₀ of a customer that is learned and not known yet. Returns whether it was so.
    pub fn resume_learned(&mut self, address: [u8; 16], zero_ns: [u64; 2], now_ns: u64) -> bool {
        self.customers.insert(address, resumed(zero_ns, now_ns), BPF_NOEXIST).is_ok()
    }

    /// Sets t₀ of a customer of the file that has not been seen yet. Returns whether it was so.
    pub fn resume_listed(&mut self, slot: u32, zero_ns: [u64; 2], now_ns: u64) -> bool {
        let is_new = self.listed.get(&slot, 0).is_ok_and(|words| words == [0; CUSTOMER_WORDS]);
        is_new && self.listed.set(slot, resumed(zero_ns, now_ns), 0).is_ok()
    }

    /// Customers of the file that have sent or received, by slot.
    pub fn listed(&self) -> impl Iterator<Item = (u32, Customer)> {
        (0..self.listed.len()).filter_map(|slot| {
            let customer = Customer::from_words(&self.listed.get(&slot, 0).ok()?);
            let ceiling = || self.ceilings.get(&slot, 0).unwrap_or_default();
            (customer.seen_ns > 0).then(|| (slot, customer.with_ceiling(&ceiling())))
        })
    }

    /// Name of a slot; empty if the slot is free.
    pub fn name(&self, slot: u32) -> String {
        let bytes = self.names.get(&slot, 0).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    /// Terms of the customers of the file, by slot.
    pub fn terms(&self) -> BTreeMap<u32, Terms> {
        let single = self.addresses.iter().flatten().map(|(_, words)| words);
        let prefixes = self.prefixes.iter().flatten().map(|(_, words)| words);
        let terms = single.chain(prefixes).map(Terms::from_words);
        terms.filter(|terms| terms.slot != LEARNED).map(|terms| (terms.slot, terms)).collect()
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

    /// Makes the prefixes of customers these, with their terms.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_prefixes(&mut self, wanted: &[(Prefix, Terms)]) -> Result<(), Error> {
        let wanted: Vec<_> =
            wanted.iter().map(|(prefix, terms)| (*prefix, terms.words())).collect();
        replace(&mut self.prefixes, &wanted)
    }

    /// Makes the prefixes that are exempt these.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_exempt(&mut self, wanted: &[Prefix]) -> Result<(), Error> {
        let filter = ExemptFilter::of(wanted);
        let wanted: Vec<_> = wanted.iter().map(|prefix| (*prefix, 1)).collect();
        // While all bits are set the trie is asked for every packet, whatever the masks are.
        self.set_exempt_filter(ExemptFilter { bits: u64::MAX, ..self.exempt_filter() })?;
        replace(&mut self.exempt, &wanted)?;
        self.set_exempt_filter(ExemptFilter { bits: u64::MAX, ..filter })?;
        self.set_exempt_filter(filter)
    }

    fn exempt_filter(&self) -> ExemptFilter {
        let words = self.settings();
        let [bits, ipv4_mask, first, second] =
            [0, 1, 2, 3].map(|place| words[word::EXEMPT + place]);
        ExemptFilter { bits, ipv4_mask, ipv6_masks: [first, second] }
    }

    fn set_exempt_filter(&mut self, filter: ExemptFilter) -> Result<(), Error> {
        let _lock = WordsLock::wait(&self.pins);
        let mut words = self.settings();
        words[word::EXEMPT..word::EXEMPT + 4].copy_from_slice(&filter.words());
        self.set_settings(words)
    }
}

/// Words of a customer of whom only the activity is known.
fn resumed([up_ns, down_ns]: [u64; 2], now_ns: u64) -> [u64; CUSTOMER_WORDS] {
    [up_ns, down_ns, 0, 0, 0, 0, 0, now_ns]
}

/// Adds what is missing before it removes what is too much, so that none that stays is ever out.
fn replace<V: Pod + PartialEq>(
    trie: &mut LpmTrie<MapData, [u8; 16], V>,
    wanted: &[(Prefix, V)],
) -> Result<(), Error> {
    let mut known: BTreeMap<Prefix, V> =
        trie.iter().flatten().map(|(key, value)| (prefix(&key), value)).collect();
    for (prefix, value) in wanted {
        if known.remove(prefix).is_some_and(|before| before == *value) {
            continue;
        }
        let key = Key::new(prefix.bits, prefix.address);
        trie.insert(&key, *value, 0).map_err(|error| Error::of("prefixes", &error))?;
    }
    for prefix in known.keys() {
        let key = Key::new(prefix.bits, prefix.address);
        trie.remove(&key).map_err(|error| Error::of("prefixes", &error))?;
    }
    Ok(())
}

/// The prefix of a key.
pub fn prefix(key: &Key<[u8; 16]>) -> Prefix {
    Prefix { bits: key.prefix_len(), address: key.data() }
}

fn failed(pins: &Pins, error: &(dyn std::error::Error + 'static)) -> Error {
    Error::of(&pins.folder().display().to_string(), error)
}
