//! Sentences about what became of packets: of all customers, and of one.

use crate::history::{Tally, Window};
use crate::maps::Direction;
use crate::scenario_text::rate_text;

/// A customer that loses more than this share of its packets is named.
const MUCH: f64 = 0.01;

/// Who lost what in a direction; `None` where no customer has sent.
pub fn summary(window: &Window, direction: Direction, enforces: bool) -> Option<String> {
    let tallies = window.customers.iter().map(|(_, tallies)| tallies[direction as usize]);
    let active: Vec<Tally> = tallies.filter(|tally| tally.packets > 0).collect();
    if active.is_empty() {
        return None;
    }
    let (much, others): (Vec<Tally>, Vec<Tally>) =
        active.iter().partition(|tally| tally.lost_share() > MUCH);
    let minutes = length(window.seconds);
    let word = direction.word();
    let lost = |all: &[Tally]| {
        let sum = |of: fn(&Tally) -> u64| all.iter().map(of).sum::<u64>();
        percent(sum(|tally| tally.lost) as f64 / sum(|tally| tally.packets).max(1) as f64)
    };
    let all = active.len();
    let have = if enforces { "lost" } else { "would have lost" };
    let with = if enforces { "" } else { "With ABC, " };
    if active.iter().all(|tally| tally.lost == 0) {
        return Some(match enforces {
            true => format!("No customer lost a packet of {word}s in the last {minutes}."),
            false => {
                format!(
                    "With ABC, no customer would have lost a packet of {word}s in the last {minutes}."
                )
            }
        });
    }
    let customers = if all == 1 { "customer" } else { "customers" };
    Some(match (much.len(), others.len()) {
        (0, _) => format!(
            "{with}{} of {all} {customers} {have} more than 1 % of the packets of {word}s in the last {minutes}; all \
             together {}.",
            if enforces { "None" } else { "none" },
            lost(&active),
        ),
        (few, 0) => format!(
            "{with}{} {customers} {have} {} of the packets of {word}s in the last {minutes}.",
            match (few, enforces) {
                (1, true) => "The one".to_owned(),
                (1, false) => "the one".to_owned(),
                (few, true) => format!("Together the {few}"),
                (few, false) => format!("together the {few}"),
            },
            lost(&active),
        ),
        (few, rest) => format!(
            "{with}{few} of {all} {customers} {have} {} of the packets of {word}s in the last {minutes}, and the other {} {}.",
            lost(&much),
            if rest == 1 { "one".to_owned() } else { rest.to_string() },
            lost(&others),
        ),
    })
}

/// What is known of a customer in a direction.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Uploads or downloads.
    pub direction: Direction,
    /// Whether packets are dropped and marked.
    pub enforces: bool,
    /// Length of the time that is looked at.
    pub seconds: f64,
    /// Of the customer.
    pub own: Tally,
    /// Of all.
    pub all: Tally,
    /// R_r.
    pub reference_bps: u64,
    /// Most that passes; `None` for no ceiling.
    pub ceiling_bps: Option<u64>,
    /// A now.
    pub activity: f64,
    /// A_avg now.
    pub average: f64,
}

impl Standing {
    /// Why packets were dropped, or that none was.
    pub fn sentences(&self) -> Vec<String> {
        let word = self.direction.word();
        let minutes = length(self.seconds);
        if self.own.packets == 0 {
            return vec![format!("No {word} in the last {minutes}.")];
        }
        let (was, were) =
            if self.enforces { ("was", "were") } else { ("would have been", "would have been") };
        let rate = rate_text(self.own.bytes as f64 * 8.0 / self.seconds.max(1e-9));
        let mut said =
            vec![format!("{}s: {rate} on average in the last {minutes}.", capital(word))];
        if self.own.limited > 0 {
            let ceiling = self
                .ceiling_bps
                .map_or(String::new(), |bps| format!(" of {}", rate_text(bps as f64)));
            said.push(format!(
                "{} of the packets {were} dropped because they were beyond the ceiling{ceiling} of the contract.",
                percent(self.own.limited_share())
            ));
        }
        let (lost, all) = (self.own.lost_share() + self.own.marked_share(), self.all);
        let usual = all.lost_share() + all.marked_share();
        if self.own.lost + self.own.marked > 0 {
            let more = if lost > usual { "More than" } else { "Not more than" };
            said.push(format!(
                "{} of the packets {were} dropped or marked because the link was congested. {more} for all customers \
                 together, of whose packets it {was} {}.",
                percent(lost),
                percent(usual)
            ));
            let step = rate_text(self.reference_bps as f64);
            let above = if self.activity > self.average { "above" } else { "not above" };
            said.push(format!(
                "At this moment its activity is {:.1} (doublings of the reference rate of {step}) and that of the average \
                 packet {:.1}: {above} the average. A customer that sends less than the others loses \
                 practically nothing.",
                self.activity, self.average
            ));
        } else if self.own.limited == 0 {
            said.push(format!("None of its packets {was} dropped or marked."));
        }
        said
    }
}

/// A share in percent, to two digits.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        10.0.. => format!("{percent:.0} %"),
        1.0.. => format!("{percent:.1} %"),
        0.01.. => format!("{percent:.2} %"),
        _ if percent > 0.0 => "less than 0.01 %".to_owned(),
        _ => "0 %".to_owned(),
    }
}

/// A time for people.
pub fn length(seconds: f64) -> String {
    match seconds {
        90.0.. => format!("{:.0} min", seconds / 60.0),
        _ => format!("{seconds:.0} s"),
    }
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Who;

    fn tally(packets: u64, lost: u64, limited: u64) -> Tally {
        Tally { bytes: 1_000 * packets, packets, lost, marked: 0, limited }
    }

    fn window(uploads: &[Tally]) -> Window {
        let customers = uploads.iter().enumerate();
        Window {
            seconds: 600.0,
            customers: customers
                .map(|(slot, up)| (Who::Listed(slot as u32), [*up, Tally::default()]))
                .collect(),
        }
    }

    #[test]
    fn a_few_of_many_are_counted() {
        let mut uploads = vec![tally(1_000, 0, 0); 409];
        uploads.extend([tally(10_000, 200, 0); 3]);
        let few = window(&uploads);
        assert_eq!(
            summary(&few, Direction::Upload, false).as_deref(),
            Some(
                "With ABC, 3 of 412 customers would have lost 2.0 % of the packets of uploads in the last 10 min, \
                 and the other 409 0 %."
            )
        );
        assert!(
            summary(&few, Direction::Upload, true)
                .expect("some")
                .starts_with("3 of 412 customers lost")
        );
        assert_eq!(summary(&few, Direction::Download, true), None);
        let none = summary(&window(&[tally(5, 0, 0)]), Direction::Upload, true);
        assert_eq!(
            none.as_deref(),
            Some("No customer lost a packet of uploads in the last 10 min.")
        );
        let little = summary(&window(&[tally(1_000, 5, 0)]), Direction::Upload, true).expect("one");
        assert!(little.starts_with("None of 1 customer lost more than 1 %"), "{little}");
        let all = summary(&window(&[tally(5, 5, 0); 2]), Direction::Upload, false).expect("two");
        assert!(
            all.starts_with("With ABC, together the 2 customers would have lost 100 %"),
            "{all}"
        );
    }

    #[test]
    fn a_customer_is_told_which_of_two_reasons_it_was() {
        let standing = Standing {
            direction: Direction::Upload,
            enforces: true,
            seconds: 600.0,
            own: tally(1_000, 90, 0),
            all: tally(10_000, 100, 0),
            reference_bps: 50_000,
            ceiling_bps: Some(10_000_000),
            activity: 8.5,
            average: 7.9,
        };
        let text = standing.sentences().join(" ");
        for part in
            ["9.0 % of the packets were dropped", "More than for all", "1.0 %.", "8.5", "50 kb/s"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("ceiling"), "{text}");
        let limited = Standing { own: tally(1_000, 0, 300), ..standing }.sentences().join(" ");
        assert!(limited.contains(
            "30 % of the packets were dropped because they were beyond the ceiling of 10 Mb/s"
        ));
        let quiet = Standing { own: tally(1_000, 0, 0), ..standing }.sentences().join(" ");
        assert!(quiet.contains("None of its packets was dropped"), "{quiet}");
        let absent = Standing { own: Tally::default(), ..standing }.sentences();
        assert_eq!(absent, ["No upload in the last 10 min."]);
    }
}
