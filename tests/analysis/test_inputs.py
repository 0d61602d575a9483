"""Whatever is put into the analysis: a sentence or numbers, never a traceback or an infinity."""

import contextlib
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT

import tidegate
from tidegate.analysis import (
    Bottleneck,
    Flow,
    Pie,
    Red,
    Reno,
    SbrmQueue,
    SbrmSource,
    admission_threshold,
    critical_delay,
    erlang_b,
    fluid,
    load_for,
    optimum,
    stability,
    to_control,
)
from tidegate.errors import TidegateError

STRANGE = st.sampled_from(
    [0.0, -1.0, 1e-12, 1e-3, 0.05, 0.5, 1.0, 30.0, 1e4, 1e12, math.nan, math.inf, -math.inf]
)
SETTINGS = {
    "bottleneck.rate": ["0 b/s", "1 b/s", "80 Mb/s", "100 Tb/s", math.nan, -1],
    "bottleneck.delay": ["0 s", "1 ns", "35 ms", "1 h", "NaN s"],
    "bottleneck.buffer": ["1 packets", "2000 packets"],
    "bottleneck.aqm": [
        "drop-tail", "pie", "codel", "adaptive-red",
        {"kind": "red", "min_threshold": "5 packets", "max_threshold": "6 packets"},
        {"kind": "red", "min_threshold": "5 packets", "max_threshold": "5 packets"},
        {"kind": "red", "min_threshold": "5 packets", "max_threshold": "15 packets",
         "max_probability": 1e-9},
        {"kind": "sbrm-queue", "gamma": 0.006, "target": "50 packets"},
        {"kind": "sbrm-queue", "gamma": 1e-12, "target": "0 packets"},
    ],
    "tcp.congestion_control": [
        "reno", "cubic", "bbr",
        {"kind": "sbrm", "willingness_to_pay": 4000},
        {"kind": "sbrm", "willingness_to_pay": 0},
        {"kind": "tcp-rm", "willingness_to_pay": 20},
    ],
    "users.all.count": [0, 1, 3, 20000],
    "users.all.traffic": [
        {"kind": "cbr", "rate": "1 Mb/s"}, {"kind": "cbr", "rate": "100 Gb/s"}, "nothing",
    ],
}  # fmt: skip
CHOICES = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(values) for key, values in SETTINGS.items()}
)
VIEWS = ["optimum", "equilibrium", "stability", "fluid", "activity", "blocking", "balance", None]


@settings(max_examples=12, deadline=None)
@given(CHOICES, st.sampled_from(VIEWS))
def test_a_scenario_has_numbers_or_sentences(chosen, view):
    with contextlib.suppress(TidegateError):
        found = tidegate.analyse(ROOT / "scenarios/s2-red-ecn.toml", view, set=chosen)
        json.dumps(found.to_dict(), allow_nan=False)


ASKED = [
    lambda a, b, c: stability(_red(a, b, c)),
    lambda a, b, c: critical_delay(_red(a, b, c)),
    lambda a, b, c: fluid(_red(a, b, c), duration_s=1.0),
    lambda a, b, c: to_control(_red(a, b, c), omega=[1.0]),
    lambda a, b, c: stability(_sbrm(a, b, c)),
    lambda a, b, c: fluid(_pie(a, b, c), duration_s=1.0),
    lambda a, b, c: optimum({"l": a}, [Flow(links=("l",), count=b, weight=c)]),
    lambda a, b, c: optimum({"l": a}, [Flow(links=("l",), count=b, weight=c)], fairness="sbrm"),
    lambda a, b, _: erlang_b(int(b) if abs(b) < 1e5 else 5, a),
    lambda a, b, _: load_for(int(b) if abs(b) < 1e5 else 5, a),
    lambda a, b, _: admission_threshold(a, b),
]


def _red(capacity_pps, count, base_rtt_s):
    sources = (Reno(count=count, base_rtt_s=base_rtt_s),)
    return Bottleneck(capacity_pps=capacity_pps, signal=Red(), sources=sources)


def _pie(capacity_pps, count, base_rtt_s):
    sources = (Reno(count=count, base_rtt_s=base_rtt_s),)
    return Bottleneck(capacity_pps=capacity_pps, signal=Pie(), sources=sources)


def _sbrm(capacity_pps, count, willingness_pps):
    sources = (SbrmSource(count=count, base_rtt_s=0.05, willingness_pps=willingness_pps),)
    return Bottleneck(capacity_pps=capacity_pps, signal=SbrmQueue(), sources=sources)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("asked", ASKED, ids=range(len(ASKED)))
@settings(max_examples=12, deadline=None)
@given(STRANGE, STRANGE, STRANGE)
def test_models_refuse_what_is_no_parameter(asked, a, b, c):
    with contextlib.suppress(TidegateError):
        asked(a, b, c)
