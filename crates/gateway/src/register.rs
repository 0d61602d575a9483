//! Brings the customers of a file into the maps, and keeps what is known of those that stay.
//!
//! A customer has a slot in the map `listed`, which holds its meter and counters, and its name stands in `names`; its
//! addresses lead to the slot and to its terms. The maps themselves are the register, so that a restart, an upgrade and a
//! reload find each customer where it was. Packets go on meanwhile: an address is always either as before or as after.

use std::collections::{BTreeMap, HashMap};

use aya::maps::lpm_trie::Key;
use tidegate_mechanisms::ingress::activity_meter::ActivityMeterParams;

use crate::customer::{CEILING_WORDS, CUSTOMER_WORDS, NAME_BYTES, Terms, ns_per_byte_q16};
use crate::customer_file::Record;
use crate::error::Error;
use crate::maps::{GROWING, MAX_PREFIXES, Maps, Pins, Sizes, prefix};
use crate::prefix::Prefix;

/// What the customers are to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Of the file.
    pub records: Vec<Record>,
    /// Whether an address without a record is no customer's, although there may be no records just now.
    pub is_listed: bool,
    /// Prefixes of the settings, whose addresses are a customer each.
    pub learned: Vec<Prefix>,
    /// Bits of an IPv6 address that count.
    pub ipv6_prefix: u32,
    /// Of customers that have none of their own.
    pub meter: ActivityMeterParams,
}

/// What an import does, in customers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Those that there were.
    pub before: usize,
    /// New ones.
    pub added: usize,
    /// Those that are gone.
    pub removed: usize,
    /// Those with other addresses or rates.
    pub changed: usize,
}

impl Change {
    /// From one file to another.
    pub fn of(before: &[Record], after: &[Record]) -> Change {
        let known: HashMap<&str, &Record> =
            before.iter().map(|record| (record.id.as_str(), record)).collect();
        let terms = |record: &Record| {
            let mut prefixes = record.prefixes.clone();
            prefixes.sort_unstable();
            (prefixes, record.reference_rate, record.ceiling)
        };
        let (mut added, mut changed) = (0, 0);
        for record in after {
            match known.get(record.id.as_str()) {
                None => added += 1,
                Some(old) if terms(old) != terms(record) => changed += 1,
                Some(_) => {}
            }
        }
        let removed = before.len() + added - after.len();
        Change { before: before.len(), added, removed, changed }
    }

    /// Customers that differ, as a share of those that there were; 0 for the first import.
    pub fn share(self) -> f64 {
        let differ = self.added + self.removed + self.changed;
        if self.before == 0 { 0.0 } else { differ as f64 / self.before as f64 }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Change { before, added, removed, changed } = self;
        write!(f, "{before} customers before; {added} added, {removed} removed, {changed} changed")
    }
}

impl Wanted {
    /// Whether a prefix is a key of the map `addresses`.
    fn is_single(&self, prefix: &Prefix) -> bool {
        prefix.bits == if prefix.is_ipv4() { 128 } else { self.ipv6_prefix }
    }

    /// Entries that the maps need, with some room; `max_learned` bounds the customers that are learned.
    ///
    /// # Errors
    /// If there are more prefixes than the map takes.
    pub fn sizes(&self, max_learned: u32) -> Result<Sizes, Error> {
        let prefixes = self.records.iter().flat_map(|record| &record.prefixes);
        let (single, others): (Vec<&Prefix>, Vec<&Prefix>) =
            prefixes.partition(|prefix| self.is_single(prefix));
        if others.len() + self.learned.len() > MAX_PREFIXES {
            return Err(Error::Failed(format!(
                "{} prefixes that are not single customers' addresses; at most {MAX_PREFIXES}",
                others.len() + self.learned.len()
            )));
        }
        let roomy = |count: usize| if count == 0 { 1 } else { (count + count / 64 + 64) as u32 };
        let learns = (self.records.is_empty() && !self.is_listed) || !self.learned.is_empty();
        Ok(Sizes {
            learned: if learns { max_learned } else { 16 },
            listed: roomy(self.records.len()),
            addresses: roomy(single.len()),
        })
    }
}

/// What the maps hold of a slot.
#[derive(Debug)]
struct Slot {
    slot: u32,
    name: [u8; NAME_BYTES],
    customer: [u64; CUSTOMER_WORDS],
    ceiling: [u64; CEILING_WORDS],
}

/// Contents of maps that are replaced by larger ones.
#[derive(Debug, Default)]
pub struct Saved {
    slots: Vec<Slot>,
    addresses: Vec<([u8; 16], Terms)>,
}

impl Saved {
    /// Takes the maps that are too small for these sizes out of the pins; `None` if all are large enough.
    ///
    /// # Errors
    /// If the maps cannot be opened.
    pub fn take(pins: &Pins, sizes: Sizes) -> Result<Option<Saved>, Error> {
        let is_small =
            |name: &&str| pins.entries(name).is_some_and(|has| Some(has) < sizes.of(name));
        if !GROWING.iter().any(is_small) {
            return Ok(None);
        }
        let Some(maps) = Maps::open(pins)? else { return Ok(None) };
        let mut saved = Saved::default();
        for slot in 0..maps.names.len() {
            let name = maps.names.get(&slot, 0).unwrap_or_default();
            if name[0] != 0 {
                let customer = maps.listed.get(&slot, 0).unwrap_or_default();
                let ceiling = maps.ceilings.get(&slot, 0).unwrap_or_default();
                saved.slots.push(Slot { slot, name, customer, ceiling });
            }
        }
        let addresses = maps.addresses.iter().flatten();
        saved.addresses =
            addresses.map(|(address, words)| (address, Terms::from_words(words))).collect();
        pins.remove(&GROWING);
        Ok(Some(saved))
    }

    /// Puts them into the new maps.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn restore(&self, maps: &mut Maps) -> Result<(), Error> {
        for Slot { slot, name, customer, ceiling } in &self.slots {
            maps.listed.set(*slot, customer, 0).map_err(refused)?;
            maps.ceilings.set(*slot, ceiling, 0).map_err(refused)?;
            maps.names.set(*slot, name, 0).map_err(refused)?;
        }
        for (address, terms) in &self.addresses {
            maps.addresses.insert(address, terms.words(), 0).map_err(refused)?;
        }
        Ok(())
    }
}

fn refused(error: aya::maps::MapError) -> Error {
    Error::of("the maps of customers", &error)
}

/// An import that is worked out and not yet done.
#[derive(Debug)]
pub struct Import {
    /// What it does.
    pub change: Change,
    /// Slots of new customers.
    new: Vec<(u32, [u8; NAME_BYTES])>,
    /// Slots of removed customers that no other customer takes over.
    gone: Vec<u32>,
    /// Addresses that are new, or whose terms are.
    addresses: Vec<([u8; 16], Terms)>,
    gone_addresses: Vec<[u8; 16]>,
    prefixes: Vec<(Prefix, Terms)>,
}

impl Import {
    /// Compares what is wanted with what the maps hold. `capacity` is the number of slots there will be.
    ///
    /// # Errors
    /// If there are fewer slots than customers.
    pub fn plan(maps: &Maps, wanted: &Wanted, capacity: u32) -> Result<Import, Error> {
        let mut slots: HashMap<[u8; NAME_BYTES], u32> = HashMap::new();
        let mut taken = vec![false; capacity as usize];
        for slot in 0..maps.names.len() {
            let name = maps.names.get(&slot, 0).unwrap_or_default();
            if name[0] != 0 {
                slots.insert(name, slot);
                taken[slot as usize] = true;
            }
        }
        let mut known: HashMap<[u8; 16], Terms> = maps
            .addresses
            .iter()
            .flatten()
            .map(|(address, words)| (address, Terms::from_words(words)))
            .collect();
        let mut known_prefixes: BTreeMap<Prefix, Terms> = maps
            .prefixes
            .iter()
            .flatten()
            .map(|(key, words): (Key<_>, _)| (prefix(&key), Terms::from_words(words)))
            .collect();
        let before = slots.len();
        let own: Vec<_> =
            wanted.records.iter().map(|record| slots.remove(&padded(&record.id))).collect();
        let mut gone: Vec<_> = slots.into_values().collect();
        gone.sort_unstable();
        let removed = gone.len();
        // Empty slots first: one that is given on has its old counters for a moment.
        let mut free: Vec<_> = (0..capacity).filter(|slot| !taken[*slot as usize]).rev().collect();
        let mut differs: HashMap<u32, bool> = HashMap::new();
        // Slots that have lost an address.
        let mut lost = Vec::new();
        let mut import = Import {
            change: Change { before, ..Change::default() },
            new: Vec::new(),
            gone: Vec::new(),
            addresses: Vec::new(),
            gone_addresses: Vec::new(),
            prefixes: wanted.learned.iter().map(|prefix| (*prefix, Terms::LEARNED)).collect(),
        };
        for (record, own) in wanted.records.iter().zip(own) {
            let full = || Error::Failed("there are more customers than slots".to_owned());
            let slot = own.or_else(|| free.pop()).or_else(|| gone.pop()).ok_or_else(full)?;
            if own.is_none() {
                import.new.push((slot, padded(&record.id)));
            }
            let terms = Terms {
                slot,
                ns_per_byte_q16: ns_per_byte_q16(
                    record.reference_rate.unwrap_or(wanted.meter.reference_rate),
                ),
                ceiling_ns_per_byte_q16: record.ceiling.map_or(0, ns_per_byte_q16),
            };
            let mut is_same = true;
            for prefix in &record.prefixes {
                if wanted.is_single(prefix) {
                    let before = known.remove(&prefix.address);
                    lost.extend(before.map(|before| before.slot).filter(|before| *before != slot));
                    if before != Some(terms) {
                        import.addresses.push((prefix.address, terms));
                        is_same = false;
                    }
                } else {
                    let before = known_prefixes.remove(prefix);
                    lost.extend(before.map(|before| before.slot).filter(|before| *before != slot));
                    is_same &= before == Some(terms);
                    import.prefixes.push((*prefix, terms));
                }
            }
            if own.is_some() {
                differs.insert(slot, !is_same);
            }
        }
        // What is left of those that stay was theirs.
        lost.extend(known.values().chain(known_prefixes.values()).map(|terms| terms.slot));
        for slot in lost {
            differs.entry(slot).and_modify(|differs| *differs = true);
        }
        import.gone = gone;
        import.gone_addresses = known.into_keys().collect();
        import.change.added = import.new.len();
        import.change.removed = removed;
        import.change.changed = differs.values().filter(|differs| **differs).count();
        Ok(import)
    }

    /// Does it. Customers that are new have their slot before an address leads there; slots of those that are gone are
    /// empty when nothing leads there any more.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn apply(&self, maps: &mut Maps) -> Result<(), Error> {
        for (slot, name) in &self.new {
            maps.listed.set(*slot, [0; CUSTOMER_WORDS], 0).map_err(refused)?;
            maps.ceilings.set(*slot, [0; CEILING_WORDS], 0).map_err(refused)?;
            maps.names.set(*slot, name, 0).map_err(refused)?;
        }
        // What goes makes room where a map is full.
        for address in &self.gone_addresses {
            maps.addresses.remove(address).map_err(refused)?;
        }
        for (address, terms) in &self.addresses {
            maps.addresses.insert(address, terms.words(), 0).map_err(refused)?;
        }
        maps.set_prefixes(&self.prefixes)?;
        for slot in &self.gone {
            maps.names.set(*slot, [0; NAME_BYTES], 0).map_err(refused)?;
            maps.listed.set(*slot, [0; CUSTOMER_WORDS], 0).map_err(refused)?;
            maps.ceilings.set(*slot, [0; CEILING_WORDS], 0).map_err(refused)?;
        }
        Ok(())
    }
}

fn padded(id: &str) -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    name[..id.len()].copy_from_slice(id.as_bytes());
    name
}
