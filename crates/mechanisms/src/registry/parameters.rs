//! What can be set, mechanism by mechanism, with the keys of the scenario file.

use super::DefaultValue::{Profile, Required, Unset, Value};
use super::{DefaultValue, Parameter};

const fn parameter(
    name: &'static str,
    default: DefaultValue,
    unit: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter { name, default, unit, meaning, kind: None }
}

pub(super) const NONE: &[Parameter] = &[];

pub(super) const CUBIC: &[Parameter] =
    &[parameter("hystart", Profile, "off, rfc9406, linux", "leave slow start on growing delay")];

pub(super) const PRAGUE: &[Parameter] = &[parameter(
    "reference_rtt",
    Value("25 ms"),
    "s, or off",
    "R_ref: flows with shorter round trips get the rate of one with this",
)];

pub(super) const ACTIVITY_METER: &[Parameter] = &[
    parameter("reference_rate", Required, "bit/s", "rate R_r that the user is entitled to"),
    parameter("inertia", Value("0.6 s"), "s", "I: time in which activity falls by 1"),
    parameter("burst_allowance", Value("0 B"), "B", "B: what passes at activity 0 after a pause"),
    parameter("granularity", Unset, "1", "g: activity is rounded up to a multiple of it"),
    parameter(
        "meters",
        Value("1"),
        "1",
        "meters that a user's packets take in turn, each with its share of R_r and B",
    ),
];

pub(super) const PIECEWISE_LINEAR: &[Parameter] = &[
    parameter("function", Unset, "pf-Q₀-Q₁-Q₂-p₁", "the function by its name in the paper, or:"),
    parameter("points", Unset, "[packets, probability], …", "(Qᵢ, pᵢ), ascending in Q"),
];

pub(super) const RED: &[Parameter] = &[
    parameter("min_threshold", Required, "packets or B", "min_th: no signal below this average"),
    parameter(
        "max_threshold",
        Required,
        "as min_threshold",
        "max_th: every packet is signalled from this average on, unless gentle",
    ),
    parameter("max_probability", Value("0.1"), "1", "max_p: probability just below max_th"),
    parameter("weight", Value("0.002"), "1", "w_q: weight of a new sample in the average"),
    parameter("gentle", Value("false"), "true or false", "rise from max_p to 1 up to 2 max_th"),
    parameter(
        "spacing",
        Value("uniform"),
        "geometric, uniform, wait",
        "how the signals are spaced",
    ),
];

pub(super) const CODEL: &[Parameter] = &[
    parameter("target", Value("5 ms"), "s", "delay that may stand"),
    parameter("interval", Value("100 ms"), "s", "how long it may be exceeded"),
    parameter(
        "linux_arithmetic",
        Value("false"),
        "true or false",
        "time the signals as Linux does",
    ),
];

pub(super) const ADAPTIVE_RED: &[Parameter] = &[
    parameter("min_threshold", Unset, "packets or B", "min_th; if not set, by the target delay"),
    parameter("max_threshold", Unset, "as min_threshold", "max_th; if not set, 3 min_th"),
    parameter("target_delay", Value("5 ms"), "s", "queueing delay to aim at, if min_th is not set"),
    parameter("max_probability", Value("0.1"), "1", "max_p to begin with"),
    parameter("weight", Unset, "1", "w_q; if not set, 1 − exp(−1/C)"),
    parameter("interval", Value("0.5 s"), "s", "time between two adaptations of max_p"),
    parameter("increase", Value("0.01"), "1", "α: largest increase of max_p"),
    parameter("decrease", Value("0.9"), "1", "β: factor by which max_p decreases"),
    parameter(
        "spacing",
        Value("uniform"),
        "geometric, uniform, wait",
        "how the signals are spaced",
    ),
];

pub(super) const CSFQ: &[Parameter] = &[
    parameter("averaging", Value("100 ms"), "s", "K: over which a customer's rate is averaged"),
    parameter("link_averaging", Value("200 ms"), "s", "K_α: the same for A and F of the link"),
    parameter("window", Value("200 ms"), "s", "K_c: time between two changes of the fair share"),
];

pub(super) const PIE: &[Parameter] = &[
    parameter("target", Value("15 ms"), "s", "queueing delay to aim at (QDELAY_REF)"),
    parameter("update_interval", Value("15 ms"), "s", "T_UPDATE: time between two updates of p"),
    parameter(
        "burst_allowance",
        Value("150 ms"),
        "s",
        "MAX_BURST: how long a burst goes without signals",
    ),
    parameter("alpha", Value("0.125"), "1/s", "α: weight of the distance from the target"),
    parameter("beta", Value("1.25"), "1/s", "β: weight of the change of the delay"),
    parameter(
        "mark_limit",
        Value("0.1"),
        "1",
        "p from which on ECN-capable packets are dropped, not marked",
    ),
    parameter("derandomised", Value("false"), "true or false", "keep a distance between signals"),
];
