//! The live page: files that are in the program, and the JSON that they ask for.
//!
//! The page asks for nothing elsewhere. Colours and tables are those of the page of `tidegate explore`.

use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};

use crate::control::now_ns;
use crate::customer::rate_bps;
use crate::history::{History, Tally};
use crate::maps::{Direction, LAYOUT, Maps, word};
use crate::measures::activity;
use crate::metrics::Shown;
use crate::signal::State;
use crate::snapshot::{Snapshot, Who};
use crate::why::{Standing, summary};

/// What the page may do: run its own script, and ask this server.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                          img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Files by path, with their type.
pub const FILES: [(&str, &str, &str); 4] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../page/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../page/page.css")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../../../web/src/style.css")),
];

/// What the page knows.
#[derive(Clone, Debug)]
pub struct Page {
    /// The last ten minutes.
    pub history: Arc<Mutex<History>>,
    /// Of the customers' interface and of the uplink.
    pub names: [String; 2],
    /// What is shown of customers.
    pub shown: Shown,
}

impl Page {
    /// The last ten minutes; without maps the gateway is off.
    pub fn history(&self, maps: Option<&Maps>, loop_runs: bool) -> Json {
        let maps = maps.filter(|maps| maps.settings()[word::READY] == LAYOUT);
        let Some(maps) = maps else { return json!({ "mode": null }) };
        // A thread that has panicked leaves what it had.
        let history = self.history.lock().unwrap_or_else(|error| error.into_inner()).clone();
        let enforces = maps.settings()[word::ENFORCE] == 1;
        let window = history.window();
        let now = now_ns();
        let times: Vec<f64> = history
            .points()
            .map(|point| -((now.saturating_sub(point.now_ns) as f64 / 1e9 * 10.0).round() / 10.0))
            .collect();
        let customers = window.customers.iter().take(self.shown.customers).enumerate();
        let customers = customers.map(|(rank, (who, tallies))| {
            let mut customer = json!({ "customer": self.name(maps, rank, *who) });
            for direction in Direction::ALL {
                customer[direction.word()] = tally(&tallies[direction as usize], window.seconds);
            }
            customer
        });
        let mut value = json!({
            "mode": if enforces { "enforce" } else { "observe" },
            "control_loop": loop_runs,
            "interface": self.names[0],
            "uplink": self.names[1],
            "anonymous": self.shown.is_anonymous,
            "seconds": window.seconds,
            "active": window.customers.len(),
            "times_s": times,
            "active_now": history.points().last().map(|point| point.active),
            "customers": customers.collect::<Vec<_>>(),
        });
        for direction in Direction::ALL {
            value[direction.word()] = of_direction(&history, direction, loop_runs);
            value[direction.word()]["sentence"] = json!(summary(&window, direction, enforces));
        }
        value
    }

    fn name(&self, maps: &Maps, rank: usize, who: Who) -> String {
        if self.shown.is_anonymous { format!("#{}", rank + 1) } else { who.name(maps) }
    }

    /// Why a customer was limited. It is known by the name that the page shows.
    pub fn why(&self, maps: &Maps, name: &str) -> Json {
        let history = self.history.lock().unwrap_or_else(|error| error.into_inner()).clone();
        let window = history.window();
        let mut ranked = window.customers.iter().enumerate();
        let found = ranked.find(|(rank, (who, _))| self.name(maps, *rank, *who) == name);
        let Some((_, (who, tallies))) = found else {
            return json!({ "customer": name, "found": false });
        };
        let now = Snapshot::take(maps, now_ns());
        let terms = match who {
            Who::Listed(slot) => maps.terms().remove(slot),
            Who::Learned(_) => None,
        };
        let default_bps = rate_bps(now.settings[word::METER]);
        let ways = Direction::ALL.map(|direction| {
            let place = direction as usize;
            let mut all = Tally::default();
            window.customers.iter().for_each(|(_, tallies)| all.add(&tallies[place]));
            let customer = now.customers.get(who).copied().unwrap_or_default();
            let standing = Standing {
                direction,
                enforces: history.enforces(),
                seconds: window.seconds,
                own: tallies[place],
                all,
                reference_bps: terms.map_or(default_bps, |terms| rate_bps(terms.ns_per_byte_q16)),
                ceiling_bps: terms
                    .map(|terms| terms.ceiling_ns_per_byte_q16)
                    .filter(|word| *word > 0)
                    .map(rate_bps),
                activity: activity(&customer, place, now.now_ns(), now.inertia_ns()),
                average: now.averages[place],
            };
            standing.sentences()
        });
        json!({ "customer": name, "found": true, "upload": ways[0], "download": ways[1] })
    }
}

fn tally(tally: &Tally, seconds: f64) -> Json {
    json!({
        "rate_bps": tally.bytes as f64 * 8.0 / seconds.max(1e-9),
        "lost": tally.lost_share(),
        "marked": tally.marked_share(),
        "limited": tally.limited_share(),
    })
}

/// Numbers to the digits that a figure can show.
fn rounded(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

fn of_direction(history: &History, direction: Direction, loop_runs: bool) -> Json {
    let levels = || history.points().map(|point| &point.levels[direction as usize]);
    let column = |of: &dyn Fn(&crate::history::Level) -> f64| levels().map(of).collect::<Vec<_>>();
    let last = levels().last().map(|level| &level.signal);
    let state = last.map_or(State::Off, |signal| signal.state);
    let is_fresh = last.is_some_and(|signal| signal.is_fresh);
    let (is_good, health) = match (state, is_fresh) {
        _ if last.is_none() => (true, "the first values come in a few seconds"),
        _ if !loop_runs => (false, "the control loop does not run: everything passes"),
        (State::Ok, true) => (true, "the signal is well"),
        (State::Ok, false) => (false, "the probability is old: everything passes"),
        (State::Off, _) => (true, "no signal is wanted: everything passes"),
        (state, _) => (false, state.text()),
    };
    let passes =
        matches!(state, State::Stalled | State::NoQueue | State::NoDevice | State::NoAnswer);
    let health =
        if passes && loop_runs { format!("{health}: everything passes") } else { health.into() };
    json!({
        "health": health,
        "good": is_good,
        "signal": state.text(),
        "fresh": is_fresh,
        "rate_bps": last.map(|signal| signal.rate_bps),
        "delays_ms": column(&|level| rounded(level.signal.delay_s * 1e3, 100.0)),
        "probabilities": column(&|level| rounded(level.signal.probability, 1e6)),
        "passed_mbps": column(&|level| rounded(level.passed_bps / 1e6, 1e3)),
        "rates_mbps": column(&|level| rounded(level.signal.rate_bps as f64 / 1e6, 1e3)),
    })
}
