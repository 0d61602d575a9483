//! Registry of all mechanisms with their parameters and sources.
//!
//! `tidegate list` and the pages of `docs/mechanisms/` are generated from this table and from the headers of the source
//! files, so that they agree with the code.

pub use crate::mechanism::{About, Category, Mechanism};
pub use crate::parameters::{ByProfile, DefaultValue, Parameter};

use crate::bottleneck::{aqm, differentiation, scheduler};
use crate::parameters::Parameters;
use crate::sender::{CubicParams, controller, slow_start};
use crate::stage;

/// Entry of a mechanism that is not part of a choice.
macro_rules! mechanism {
    ($category:ident $name:literal, $title:literal, $source:literal, $usage:literal, $file:literal, $parameters:expr) => {
        Mechanism::declared(
            Category::$category,
            About {
                name: $name,
                title: $title,
                source: $source,
                usage: $usage,
                file: $file,
                text: crate::mechanism::source_text!($file),
            },
            $parameters,
        )
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

/// All mechanisms, in the order of a packet's path.
pub const ALL: &[Mechanism] = &joined::<{ length(LISTS) }>(LISTS);

const fn length(lists: [&[Mechanism]; 8]) -> usize {
    let (mut list, mut sum) = (0, 0);
    while list < lists.len() {
        sum += lists[list].len();
        list += 1;
    }
    sum
}

/// Concatenates the lists.
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

/// Returns the mechanism of this name.
pub fn find(name: &str) -> Option<&'static Mechanism> {
    ALL.iter().find(|mechanism| mechanism.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_categories_in_the_order_of_a_packets_path() {
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
