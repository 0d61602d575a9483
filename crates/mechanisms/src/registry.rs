//! Every mechanism with its parameters and its source, for people who look for one.
//!
//! `tidegate list` and the pages of `docs/mechanisms/` are made from this table and from the headers
//! of the source files themselves, so that they cannot say anything but what the code says.

use core::fmt;

use crate::bottleneck::{aqm, differentiation, scheduler};
use crate::parameters::{Kind, Parameters};
use crate::sender::{CubicParams, controller, slow_start};
use crate::stage;

/// One mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// Where on a packet's way it stands.
    pub category: Category,
    /// Its name in scenario files, and of its page.
    pub name: &'static str,
    /// Its name in words.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// How a scenario file asks for it.
    pub usage: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// Its file, below `crates/mechanisms/src/`.
    pub file: &'static str,
    /// The whole text of that file.
    text: &'static str,
}

/// Where on a packet's way a mechanism stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// In the sender: congestion controllers.
    Sender,
    /// At the network's edge, or anywhere else that is no queue: stages.
    Ingress,
    /// In front of a link: how congested it is.
    Bottleneck,
    /// On top of a bottleneck's signal: whose packet it falls on.
    Differentiation,
    /// Behind a queue: which packet leaves next.
    Scheduler,
}

impl Category {
    /// In the order in which a packet comes through.
    pub const ALL: [Category; 5] = [
        Category::Sender,
        Category::Ingress,
        Category::Bottleneck,
        Category::Differentiation,
        Category::Scheduler,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Category::Sender => "sender",
            Category::Ingress => "ingress",
            Category::Bottleneck => "bottleneck",
            Category::Differentiation => "differentiation",
            Category::Scheduler => "scheduler",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something that can be set in a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// What it is when not set, as written in a scenario file.
    pub default: DefaultValue,
    /// Its unit, or what else it may be.
    pub unit: &'static str,
    /// What it means, with its letter in the equations.
    pub meaning: &'static str,
    /// What may stand there.
    pub kind: Kind,
}

impl Parameter {
    /// Its unit, or the words to choose from.
    pub fn unit_or_words(&self) -> String {
        match self.kind {
            Kind::Word(words) => words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
            Kind::Choice(offer) => {
                offer.kinds.iter().map(|kind| kind.0).collect::<Vec<_>>().join(", ")
            }
            _ => self.unit.to_owned(),
        }
    }
}

/// What a parameter is when it is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// It has to be set.
    Required,
    /// The mechanism does without.
    Unset,
    /// It follows the profile of the scenario, and is one of these.
    ByProfile(ByProfile),
    /// This value.
    Value(&'static str),
}

/// A default for each profile, as written in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByProfile {
    /// As today's Linux has it.
    pub linux: &'static str,
    /// As research simulators have it: ns-2, and where that lacks the mechanism, ns-3.
    pub classic: &'static str,
    /// As Linux had it in 2009; today's where that did not have the mechanism.
    pub linux_2_6_29: &'static str,
}

impl ByProfile {
    /// All of them.
    pub const fn all(&self) -> [&'static str; 3] {
        [self.linux, self.classic, self.linux_2_6_29]
    }
}

impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DefaultValue::Required => "required",
            DefaultValue::Unset => "not set",
            DefaultValue::ByProfile(ByProfile { linux, classic, linux_2_6_29: old }) => {
                return write!(f, "{linux}; classic: {classic}; linux-2.6.29: {old}");
            }
            DefaultValue::Value(text) => text,
        })
    }
}

/// What a mechanism says of itself, beside its parameters.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name in scenario files, and of its page.
    pub name: &'static str,
    /// Its name in words.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// How a scenario file asks for it.
    pub usage: &'static str,
    /// Its file, below `crates/mechanisms/src/`.
    pub file: &'static str,
    /// The whole text of that file.
    pub text: &'static str,
}

impl Mechanism {
    /// The entry of a mechanism that declares itself.
    pub(crate) const fn declared(
        category: Category,
        about: About,
        parameters: &'static [Parameter],
    ) -> Self {
        let About { name, title, source, usage, file, text } = about;
        Mechanism { category, name, title, source, usage, parameters, file, text }
    }

    /// What its source file says about it: the `//!` comment at the top, as Markdown.
    pub fn header(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//!"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The first sentence of the header: what it does.
    pub fn summary(&self) -> String {
        let header = self.header();
        let paragraph = header.lines().take_while(|line| !line.is_empty());
        let text = paragraph.collect::<Vec<_>>().join(" ");
        let end = text.find(". ").unwrap_or(text.trim_end_matches('.').len());
        text[..end].to_owned()
    }
}

/// A mechanism that is no choice of its own.
macro_rules! mechanism {
    ($category:ident $name:literal, $title:literal, $source:literal, $usage:literal, $file:literal, $parameters:expr) => {
        Mechanism {
            category: Category::$category,
            name: $name,
            title: $title,
            source: $source,
            usage: $usage,
            parameters: $parameters,
            file: $file,
            text: include_str!($file),
        }
    };
}

#[rustfmt::skip]
const LINUX_CUBIC: Mechanism = mechanism!(
    Sender "linux-cubic", "CUBIC as in Linux", "Ha, Rhee and Xu, SIGOPS Operating Systems Review 42(5), 2008; Linux 3.18", r#"tcp.congestion_control = { kind = "cubic", growth = "linux" }"#, "sender/linux_cubic.rs", CubicParams::ALL
);
#[rustfmt::skip]
const CUBIC_2_1: Mechanism = mechanism!(
    Sender "cubic-2-1", "CUBIC 2.1", "Ha, Rhee and Xu, SIGOPS Operating Systems Review 42(5), 2008; Linux 2.6.22, ns-2.35", r#"tcp.congestion_control = { kind = "cubic", growth = "linux-2.6.22" }"#, "sender/cubic_2_1.rs", CubicParams::ALL
);
#[rustfmt::skip]
const DROP_TAIL: Mechanism = mechanism!(
    Bottleneck "drop-tail", "Drop-tail", "RFC 7567, section 2 (tail drop)", r#"bottleneck.aqm = { kind = "drop-tail" }"#, "bottleneck/drop_tail.rs", &[]
);

const LISTS: [&[Mechanism]; 8] = [
    controller::ALL,
    slow_start::ALL,
    &[LINUX_CUBIC, CUBIC_2_1],
    stage::ALL,
    &[DROP_TAIL],
    aqm::ALL,
    differentiation::ALL,
    scheduler::ALL,
];

/// All mechanisms, in the order in which a packet comes through.
pub const ALL: &[Mechanism] = &joined::<{ length(LISTS) }>(LISTS);

const fn length(lists: [&[Mechanism]; 8]) -> usize {
    let (mut list, mut sum) = (0, 0);
    while list < lists.len() {
        sum += lists[list].len();
        list += 1;
    }
    sum
}

/// All lists in one.
const fn joined<const N: usize>(lists: [&[Mechanism]; 8]) -> [Mechanism; N] {
    let mut all = [DROP_TAIL; N];
    let (mut list, mut i, mut placed) = (0, 0, 0);
    while placed < N {
        if i == lists[list].len() {
            (list, i) = (list + 1, 0);
            continue;
        }
        all[placed] = lists[list][i];
        (i, placed) = (i + 1, placed + 1);
    }
    all
}

/// The mechanism of this name.
pub fn find(name: &str) -> Option<&'static Mechanism> {
    ALL.iter().find(|mechanism| mechanism.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rooms_in_the_order_of_a_packets_way() {
        let place =
            |m: &Mechanism| Category::ALL.iter().position(|&category| category == m.category);
        assert!(ALL.is_sorted_by_key(place));
        for (i, mechanism) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|other| other.name != mechanism.name));
        }
    }

    #[test]
    fn every_source_file_opens_with_what_it_is_and_an_equation() {
        for mechanism in ALL {
            let header = mechanism.header();
            assert!(header.contains("```text"), "{} shows no equation", mechanism.name);
            assert!(!mechanism.summary().is_empty() && !mechanism.summary().contains("```"));
        }
    }

    #[test]
    fn a_summary_is_the_first_sentence() {
        assert_eq!(
            find("drop-tail").unwrap().summary(),
            "Drop-tail: a packet is lost when the buffer is full, and only then"
        );
    }
}
