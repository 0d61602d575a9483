//! The spool of sessions: a folder with a file for each session, which a hook of DHCP or RADIUS writes and removes.
//!
//! ```toml
//! customer = "smith"
//! addresses = "192.0.2.7 2001:db8:7::/64"
//! reference_rate = "200 kb/s"      # or that of the customer file, or the default
//! ceiling = "50 Mb/s"
//! ```
//!
//! A file counts as a whole or not at all. Of two customers with the same address the customer file's has it, else the one
//! whose session is newer: an address that was given to somebody else is not the first one's any more. Files whose names begin
//! with a dot are being written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use tidegate_mechanisms::parameters;

use crate::customer_file::{Record, record};
use crate::prefix::Prefix;

/// Most bytes of a file.
const MAX_BYTES: u64 = 4_096;
/// Most sessions.
const MAX_SESSIONS: usize = 1_000_000;

parameters! {
    /// A session.
    pub struct SessionFile {
        /// Name of the customer in reports, at most 32 bytes.
        pub customer: String,
        /// Its addresses and prefixes, between spaces.
        pub addresses: String,
        /// R_r, such as "50 kb/s".
        pub reference_rate: String = "",
        /// Most that passes in each direction, such as "50 Mb/s".
        pub ceiling: String = "",
    }
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Name of the file.
    pub name: String,
    /// When it was written, in nanoseconds since 1970.
    pub written_ns: u128,
    /// Whose it is, and on which terms.
    pub record: Record,
}

/// What the folder looks like: sessions change only if this does.
pub type Listing = BTreeMap<String, (u128, u64)>;

/// Names, times and sizes of the files.
///
/// # Errors
/// If the folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Listing> {
    let mut listing = Listing::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // One that is gone meanwhile is gone.
        let Ok(data) = entry.metadata() else { continue };
        if name.starts_with('.') || !data.is_file() {
            continue;
        }
        let written = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        listing.insert(name, (written.map_or(0, |time| time.as_nanos()), data.len()));
    }
    Ok(listing)
}

/// Reads the files, and what is wrong with some.
pub fn read(folder: &Path, listing: &Listing) -> (Vec<Session>, Vec<String>) {
    let (mut sessions, mut errors) = (Vec::new(), Vec::new());
    if listing.len() > MAX_SESSIONS {
        errors.push(format!("{} sessions; at most {MAX_SESSIONS} are read", listing.len()));
    }
    for (name, (written_ns, bytes)) in listing.iter().take(MAX_SESSIONS) {
        if *bytes > MAX_BYTES {
            errors.push(format!("session {name}: {bytes} bytes; at most {MAX_BYTES}"));
            continue;
        }
        let text = match fs::read_to_string(folder.join(name)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                errors.push(format!("session {name}: {error}"));
                continue;
            }
        };
        match parse(&text) {
            Ok(record) => {
                let (name, written_ns) = (name.clone(), *written_ns);
                sessions.push(Session { name, written_ns, record });
            }
            Err(found) => {
                errors.extend(found.iter().map(|error| format!("session {name}: {error}")))
            }
        }
    }
    (sessions, errors)
}

fn parse(text: &str) -> Result<Record, Vec<String>> {
    let file = tidegate_scenario::settings::read::<SessionFile>(text, &[])
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let SessionFile { customer, addresses, reference_rate, ceiling } = file;
    record([&customer, &addresses, &reference_rate, &ceiling], 0)
}

/// Customers of the file with those of a folder, and what is not taken of these.
pub fn of_folder(folder: &Path, listing: &Listing, file: &[Record]) -> (Vec<Record>, Vec<String>) {
    let (sessions, mut lines) = read(folder, listing);
    let (records, refusals) = merged(file, sessions);
    lines.extend(refusals);
    (records, lines)
}

/// Customers of the file with those of the sessions, and what is not taken of these.
pub fn merged(file: &[Record], mut sessions: Vec<Session>) -> (Vec<Record>, Vec<String>) {
    let mut records = file.to_vec();
    let mut taken = Taken::default();
    for record in file {
        record.prefixes.iter().for_each(|prefix| taken.add(*prefix, &record.id));
    }
    let mut places: HashMap<String, usize> =
        file.iter().enumerate().map(|(place, record)| (record.id.clone(), place)).collect();
    let mut refusals = Vec::new();
    sessions.sort_by(|a, b| (b.written_ns, &a.name).cmp(&(a.written_ns, &b.name)));
    for Session { name, record, .. } in sessions {
        let mut free = Vec::new();
        for prefix in record.prefixes {
            match taken.by(&prefix) {
                None => {
                    taken.add(prefix, &record.id);
                    free.push(prefix);
                }
                // A renewed lease may have its old file beside the new one.
                Some((own, true)) if own == record.id => {}
                Some((other, _)) => refusals.push(format!(
                    "session {name}: {prefix} or a part is {other}'s, in the customer file or a newer session"
                )),
            }
        }
        match places.get(&record.id) {
            Some(place) => {
                let own = &mut records[*place];
                let differs = |new: Option<_>, old: Option<_>| new.is_some() && new != old;
                if *place < file.len()
                    && (differs(record.reference_rate, own.reference_rate)
                        || differs(record.ceiling, own.ceiling))
                {
                    refusals.push(format!(
                        "session {name}: the terms of {} are those of the customer file",
                        own.id
                    ));
                } else if *place >= file.len() {
                    // The newest session that says something says it.
                    own.reference_rate = own.reference_rate.or(record.reference_rate);
                    own.ceiling = own.ceiling.or(record.ceiling);
                }
                own.prefixes.extend(free);
            }
            None if free.is_empty() => {}
            None => {
                places.insert(record.id.clone(), records.len());
                records.push(Record { prefixes: free, ..record });
            }
        }
    }
    (records, refusals)
}

/// Prefixes that are somebody's.
#[derive(Default)]
struct Taken {
    owners: BTreeMap<([u8; 16], u32), String>,
    lengths: BTreeSet<u32>,
}

impl Taken {
    fn add(&mut self, prefix: Prefix, owner: &str) {
        self.owners.insert((prefix.address, prefix.bits), owner.to_owned());
        self.lengths.insert(prefix.bits);
    }

    /// Who has this prefix or one around it (true), or a part of it.
    fn by(&self, prefix: &Prefix) -> Option<(&str, bool)> {
        let around = self.lengths.range(..=prefix.bits).find_map(|bits| {
            let outer = prefix.shortened(*bits);
            self.owners.get(&(outer.address, outer.bits))
        });
        let within = || {
            let mut from = self.owners.range((prefix.address, prefix.bits)..);
            let (found, owner) = from.next()?;
            let found = Prefix { address: found.0, bits: found.1 };
            prefix.contains(&found).then_some((owner.as_str(), false))
        };
        around.map(|owner| (owner.as_str(), true)).or_else(within)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session(name: &str, written_ns: u128, text: &str) -> Session {
        Session { name: name.to_owned(), written_ns, record: parse(text).expect("it is right") }
    }

    fn of(customer: &str, addresses: &str) -> String {
        format!("customer = \"{customer}\"\naddresses = \"{addresses}\"\n")
    }

    fn shown(records: &[Record]) -> Vec<String> {
        let all = |record: &Record| {
            let prefixes: Vec<_> = record.prefixes.iter().map(ToString::to_string).collect();
            format!("{}: {}", record.id, prefixes.join(" "))
        };
        records.iter().map(all).collect()
    }

    #[test]
    fn a_file_counts_as_a_whole_or_not_at_all() {
        let whole = "customer = \"smith\"\naddresses = \"192.0.2.7 2001:db8:7::/64\"\nceiling = \"50 Mb/s\"\n";
        let read = parse(whole).expect("it is right");
        assert_eq!((read.id.as_str(), read.prefixes.len()), ("smith", 2));
        assert_eq!(read.ceiling.map(|rate| rate.as_bps()), Some(50_000_000));
        for (text, want) in [
            ("", "customer"),
            ("customer = \"a\"\n", "addresses"),
            ("customer = \"a\"\naddresses = \"192.0.2.1/24\"\n", "bits beyond"),
            ("customer = \"a\"\naddresses = \"224.0.0.1\"\n", "multicast"),
            ("customer = \"a\"\naddresses = \"192.0.2.1\"\nceiling = \"50\"\n", "ceiling"),
            ("customer = \"a\"\naddresses = \"192.0.2.1\"\nadress = \"x\"\n", "did you mean"),
            ("customer = \"a\"\naddresses = \"192.0.", "line 2"),
        ] {
            let errors = parse(text).expect_err(text).join("; ");
            assert!(errors.contains(want), "{text:?}: {errors}");
        }
        for length in 0..whole.len() - 1 {
            // Cut off inside a value it is none; between lines it is another session's, and no hook writes that.
            let _ = parse(&whole[..length]);
        }
    }

    #[test]
    fn sessions_add_addresses_and_the_newer_one_has_an_address() {
        let file = crate::customer_file::read(b"id,addresses,ceiling\nsmith,192.0.2.1,5 Mb/s\n");
        let file = file.expect("it is right");
        let sessions = vec![
            session("a", 1, &of("smith", "2001:db8::/64")),
            session("b", 2, &of("jones", "192.0.2.2 192.0.2.9")),
            session("c", 3, &(of("brown", "192.0.2.2") + "reference_rate = \"100 kb/s\"\n")),
            session("d", 4, &of("thief", "192.0.2.0/24")),
            session("e", 5, &of("brown", "192.0.2.2")),
            session("f", 6, &(of("smith", "192.0.2.8") + "ceiling = \"9 Mb/s\"\n")),
        ];
        let (records, refusals) = merged(&file, sessions);
        assert_eq!(
            shown(&records),
            [
                "smith: 192.0.2.1/32 192.0.2.8/32 2001:db8::/64",
                "brown: 192.0.2.2/32",
                "jones: 192.0.2.9/32",
            ]
        );
        assert_eq!(records[1].reference_rate.map(|rate| rate.as_bps()), Some(100_000));
        assert_eq!(records[0].ceiling.map(|rate| rate.as_bps()), Some(5_000_000));
        assert_eq!(refusals.len(), 3, "{refusals:?}");
        assert!(refusals[0].contains("session f: the terms of smith"), "{refusals:?}");
        assert!(refusals[1].contains("session d: 192.0.2.0/24 or a part is"), "{refusals:?}");
        assert!(
            refusals[2].contains("session b: 192.0.2.2/32 or a part is brown's"),
            "{refusals:?}"
        );
    }

    #[test]
    fn files_that_are_being_written_are_left_alone() {
        let folder = std::env::temp_dir().join(format!("tidegate-spool-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("there is room");
        fs::write(folder.join(".a"), "customer").expect("there is room");
        fs::write(folder.join("b"), of("smith", "192.0.2.1")).expect("there is room");
        fs::write(folder.join("c"), [0xff]).expect("there is room");
        fs::write(folder.join("d"), vec![b'#'; 5_000]).expect("there is room");
        fs::create_dir_all(folder.join("e")).expect("there is room");
        let listing = list(&folder).expect("it is there");
        let (sessions, errors) = read(&folder, &listing);
        assert_eq!((listing.len(), sessions.len(), errors.len()), (3, 1, 2), "{errors:?}");
        fs::remove_dir_all(&folder).expect("it is there");
        assert!(list(&folder).is_err());
    }

    proptest! {
        /// Whatever sessions say: no two customers have an address, so that the customer file would be taken as well.
        #[test]
        fn no_two_customers_have_an_address(
            all in prop::collection::vec((0u8..6, 0u128..9, prop::collection::vec((any::<u8>(), 24u32..33), 1..4)), 0..30),
        ) {
            let sessions = all.into_iter().enumerate().map(|(number, (customer, written_ns, prefixes))| {
                let prefixes = prefixes.into_iter().map(|(last, bits)| {
                    Prefix::host([192, 0, 2, last].into()).shortened(96 + bits)
                });
                let record = Record {
                    line: 0, id: customer.to_string(), prefixes: prefixes.collect(), reference_rate: None, ceiling: None,
                };
                Session { name: number.to_string(), written_ns, record }
            });
            let (records, _) = merged(&[], sessions.collect());
            let mut text = "id,addresses\n".to_owned();
            for record in &records {
                text += &format!("{},{}\n", record.id, shown(std::slice::from_ref(record))[0].split_once(": ").expect("it is shown").1);
            }
            prop_assert!(crate::customer_file::read(text.as_bytes()).is_ok(), "{text}");
        }
    }
}
