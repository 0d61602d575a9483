//! What a gateway does to whose packets, in words that its operator can publish.

use std::fmt::Write;

use serde_json::{Value as Json, json};
use tidegate_mechanisms::fixed_point::MAX_ACTIVITY;
use tidegate_mechanisms::units::{Rate, Span};

use crate::control::Mode;
use crate::customer::rate_bps;
use crate::error::Error;
use crate::maps::{Direction, LAYOUT, Maps, Pins, SETTINGS_WORDS, signal_word, word};
use crate::reload;
use crate::scenario_text::rate_text;
use crate::settings::Settings;
use crate::source::KINDS;

/// Example of the text: p of a packet of average activity.
const EXAMPLE_P: f64 = 0.01;

/// A direction's signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SignalTerms {
    kind: &'static str,
    target: Span,
}

/// What the text depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Public {
    /// Of the gateway that runs; `None` if these are settings alone.
    mode: Option<Mode>,
    words: [u64; SETTINGS_WORDS],
    signals: [Option<SignalTerms>; 2],
    /// R_r of customers of the file.
    references_bps: Vec<u64>,
    /// Customers that have a ceiling.
    ceilings: usize,
    has_exempt: bool,
    max_learned: u32,
}

impl Public {
    /// Of the gateway that runs, else of the settings.
    ///
    /// # Errors
    /// If maps cannot be opened or the customer file has errors.
    pub fn take(settings: &Settings, pins: &Pins) -> Result<Public, Error> {
        let running =
            Maps::open_settled(pins)?.filter(|maps| maps.settings()[word::READY] == LAYOUT);
        let has_exempt = !settings.exempt.trim().is_empty();
        let Some(maps) = running else {
            let records = reload::records(settings)?;
            let default_bps = settings.meter.reference_rate.as_bps();
            let reference =
                |rate: Option<Rate>| rate.map_or(default_bps, |rate: Rate| rate.as_bps());
            return Ok(Public {
                mode: None,
                words: settings.words(),
                signals: [&settings.upload, &settings.download].map(|signal| {
                    Some(SignalTerms { kind: signal.word(), target: signal.target()? })
                }),
                references_bps: records.iter().map(|one| reference(one.reference_rate)).collect(),
                ceilings: records.iter().filter(|one| one.ceiling.is_some()).count(),
                has_exempt,
                max_learned: settings.max_customers.0,
            });
        };
        let words = maps.settings();
        let terms = maps.terms();
        Ok(Public {
            mode: Some(if words[word::ENFORCE] == 1 { Mode::Enforce } else { Mode::Observe }),
            words,
            signals: Direction::ALL.map(|direction| {
                let signal = maps.signal(direction);
                let kind = *KINDS.get(signal[signal_word::KIND] as usize)?;
                let target = Span::from_nanos(signal[signal_word::TARGET]);
                (kind != "none").then_some(SignalTerms { kind, target })
            }),
            references_bps: terms.values().map(|terms| rate_bps(terms.ns_per_byte_q16)).collect(),
            ceilings: terms.values().filter(|terms| terms.ceiling_ns_per_byte_q16 > 0).count(),
            has_exempt,
            max_learned: pins.entries("customers").unwrap_or(settings.max_customers.0),
        })
    }

    fn gamma(&self) -> f64 {
        (self.words[word::ABC] as f64 / 65_536.0 * 1e3).round() / 1e3
    }

    fn inertia(&self) -> Span {
        Span::from_nanos(self.words[word::METER + 3] / MAX_ACTIVITY)
    }

    fn ipv6_prefix(&self) -> u32 {
        u64::from_be(self.words[word::IPV6_MASK]).leading_ones()
    }

    /// The numbers.
    pub fn json(&self) -> Json {
        let signal = |direction: usize| {
            self.signals[direction]
                .map(|signal| json!({ "signal": signal.kind, "target_s": signal.target.as_secs() }))
        };
        json!({
            "mode": self.mode.map(Mode::word),
            "reference_rate_bps": rate_bps(self.words[word::METER]),
            "inertia_s": self.inertia().as_secs(),
            "burst_allowance_bytes": self.words[word::BURST],
            "gamma": self.gamma(),
            "ecn": self.words[word::ECN] == 1,
            "ipv6_prefix": self.ipv6_prefix(),
            "listed_customers": self.references_bps.len(),
            "ceilings": self.ceilings,
            "upload": signal(0),
            "download": signal(1),
            "text": self.text(),
        })
    }

    /// The paragraphs.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("strings take everything");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        text.push_str(
            "When a link of this network is congested, its capacity is shared fairly by customer (activity-based \
             congestion management).",
        );
        match self.mode {
            Some(Mode::Observe) => text.push_str(
                " At present this is only measured: no packet is dropped or marked for it.",
            ),
            Some(Mode::Enforce) | None => text.push_str(
                " While the link is not congested, no packet is dropped or marked for it.",
            ),
        }
        text.push_str("\n\n");
        self.write_how(text)?;
        text.push_str(
            "\n\nWhat a customer does makes no difference. Only the addresses, the length and the two congestion bits (ECN) of \
             the IP header are read, and a packet's treatment does not depend on the application, the content, the \
             protocol, the ports or the other end",
        );
        text.push_str(match self.has_exempt {
            true => ", but for addresses of the operator's own services, whose packets are neither metered nor dropped.",
            false => ".",
        });
        text.push_str("\n\n");
        self.write_kept(text)
    }

    fn write_how(&self, text: &mut String) -> std::fmt::Result {
        let own_bps = rate_bps(self.words[word::METER]);
        let mut references = self.references_bps.clone();
        references.sort_unstable();
        references.dedup();
        text.push_str("Each customer's rate, up and down on its own, is compared with ");
        match references[..] {
            [] | [_] => {
                let all_bps = references.first().copied().unwrap_or(own_bps);
                write!(
                    text,
                    "a reference rate of {}, the same for all,",
                    rate_text(all_bps as f64)
                )?;
            }
            [least, .., most] => write!(
                text,
                "its reference rate, from {} to {} by contract, which is its weight,",
                rate_text(least as f64),
                rate_text(most as f64)
            )?,
        }
        write!(
            text,
            " over about {}: each doubling beyond it is one step of activity.",
            self.inertia()
        )?;
        let burst = self.words[word::BURST];
        if burst > 0 {
            write!(text, " After a pause, {burst} bytes do not count.")?;
        }
        let [higher, lower] = [1.0, -1.0]
            .map(|steps| 100.0 * libm::pow(EXAMPLE_P, libm::exp2(-self.gamma() * steps)));
        let marked = if self.words[word::ECN] == 1 {
            ", or marked instead where the sender understands marks"
        } else {
            ""
        };
        let all = match self.signals {
            [up, down] if up == down => vec![("packets", up)],
            [up, down] => vec![("uploads", up), ("downloads", down)],
        };
        for (what, terms) in all {
            match terms {
                Some(SignalTerms { kind: "rate", .. }) => write!(
                    text,
                    " When {what} exceed a rate that the operator has set, some packets are dropped{marked}."
                )?,
                Some(SignalTerms { target, .. }) => write!(
                    text,
                    " When {what} wait longer than {target} at the link, some are dropped{marked}."
                )?,
                None => write!(text, " Nothing is done to {what}.")?,
            }
        }
        write!(
            text,
            " The more active a customer is at that moment, compared with the average packet, the more likely it is one of its \
             packets (γ = {}): where of 100 packets of average activity one is dropped, it is {} of a customer of \
             twice that rate and {} of one of half of it.",
            self.gamma(),
            of_100(higher),
            of_100(lower),
        )?;
        match self.ceilings {
            0 => Ok(()),
            1 => write!(
                text,
                " One customer has a ceiling by contract, beyond which packets are dropped."
            ),
            ceilings => write!(
                text,
                " {ceilings} customers have a ceiling by contract, beyond which packets are dropped."
            ),
        }
    }

    fn write_kept(&self, text: &mut String) -> std::fmt::Result {
        let whose = match self.references_bps.len() {
            0 => format!("an IPv4 address or an IPv6 /{}", self.ipv6_prefix()),
            listed => format!("one of {listed} in the operator's list"),
        };
        write!(
            text,
            "Of each customer ({whose}) the memory of the device holds the activity, counts of packets and bytes, and the time of the \
             last packet. There is no record of destinations, connections, applications or contents. The operator sees sums of at most ten minutes. "
        )?;
        match self.references_bps.len() {
            0 => write!(
                text,
                "A customer is forgotten when {} others have been seen since, and all when the service is switched off.",
                self.max_learned
            )?,
            _ => write!(
                text,
                "It is forgotten when the customer leaves the list, and all when the service is switched off."
            )?,
        }
        writeln!(
            text,
            " The device keeps addresses or names with activities on its disk, too, so that a restart does not lose them: {} \
             later they are worthless and are not used. If the device fails, packets pass as if it were not there.",
            Span::from_nanos(self.words[word::METER + 3])
        )
    }
}

/// A number of 100 packets.
fn of_100(packets: f64) -> String {
    match packets {
        10.0.. => format!("{packets:.0}"),
        0.1.. => format!("{packets:.1}"),
        _ => "practically none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(file: &str) -> String {
        let settings = Settings::read(file, &[]).expect("it is right");
        Public::take(&settings, &Pins::new("/nowhere".as_ref())).expect("no file").text()
    }

    #[test]
    fn the_text_follows_the_parameters() {
        let usual = text("");
        for part in [
            "reference rate of 50 kb/s, the same for all, over about 600 ms",
            "When packets wait longer than 15 ms at the link, some are dropped, or marked",
            "γ = 3): where of 100 packets of average activity one is dropped, it is 56 of a customer",
            "practically none of one of half",
            "an IPv4 address or an IPv6 /64",
            "or the other end.",
            "when 16384 others",
            "24 s later they are worthless",
        ] {
            assert!(usual.contains(part), "{part}: {usual}");
        }
        let other = text(
            "exempt = \"192.0.2.0/24\"\ndownload = \"none\"\necn = false\nipv6_prefix = 56\n\
             [meter]\nburst_allowance = \"250 kB\"\n[abc]\ngamma = 1.0\n",
        );
        for part in [
            "Nothing is done to downloads.",
            "but for addresses of the operator's own services",
            "it is 10 of a customer of twice that rate and practically none",
            "an IPv6 /56",
            "250000 bytes do not count",
        ] {
            assert!(other.contains(part), "{part}: {other}");
        }
        assert!(!other.contains("marked instead"), "{other}");
    }

    /// A reader is no engineer: sentences have at most 45 words.
    #[test]
    fn sentences_are_short() {
        for sentence in text("").split(['.', ':', ';']) {
            assert!(sentence.split_whitespace().count() <= 45, "{sentence}");
        }
    }
}
