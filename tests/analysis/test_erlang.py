"""Erlang's formula against its definition, its inverses, and what is printed of it."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

import tidegate
from tidegate.analysis import (
    accepted_by_probes,
    admission_threshold,
    erlang_b,
    load_for,
    servers_for,
)
from tidegate.errors import AnalysisError


@given(st.integers(1, 60), st.integers(1, 400))
def test_the_recursion_is_the_definition(servers, tenths):
    load = Fraction(tenths, 10)
    terms = [load**k / math.factorial(k) for k in range(servers + 1)]
    exact = float(terms[-1] / sum(terms))
    assert erlang_b(servers, float(load)) == pytest.approx(exact, rel=1e-9)


def test_20_000_servers_neither_overflow_nor_lose_digits():
    # Where load and servers are equal, B is about √(2/(πn)) (1 + ...)⁻¹; to first order.
    servers = 20_000
    first_order = math.sqrt(2 / (math.pi * servers))
    assert erlang_b(servers, float(servers)) == pytest.approx(first_order, rel=0.01)
    assert 0 < erlang_b(servers, 1000.0) < 1e-300 or erlang_b(servers, 1000.0) == 0


@given(st.integers(1, 500), st.floats(0.001, 0.9))
def test_the_inverses_are_inverses(servers, blocking):
    load = load_for(servers, blocking)
    assert erlang_b(servers, load) == pytest.approx(blocking, rel=1e-6)
    fewest = servers_for(load, blocking)
    assert fewest in (servers, servers + 1), "rounding may ask for one more"
    assert erlang_b(fewest, load) <= blocking * (1 + 1e-9)
    assert blocking * (1 - 1e-9) <= erlang_b(fewest - 1, load)


def test_one_probe_is_blocked_as_often_as_a_packet_is_marked():
    assert accepted_by_probes(0.1, 1) == pytest.approx(0.9)
    assert accepted_by_probes([0.0, 0.5], 3) == pytest.approx([1.0, 0.125])


def test_what_makes_no_sense_is_told():
    with pytest.raises(AnalysisError, match="between 0 and 1, not 1"):
        load_for(3, 1)
    with pytest.raises(AnalysisError, match="without servers"):
        load_for(0, 0.1)
    with pytest.raises(AnalysisError, match="at least one probe"):
        accepted_by_probes(0.1, 0)
    with pytest.raises(AnalysisError, match="must not be negative"):
        erlang_b(3, -1.0)


def test_what_a_call_is_worth_is_its_threshold():
    """Section 7.2: w/x; n probes of a call of rate x stand for w = x/n."""
    assert admission_threshold(2.0, [20.0, 40.0]).tolist() == [0.1, 0.05]
    with pytest.raises(AnalysisError, match="above 0"):
        admission_threshold(0.0, 20.0)


@pytest.mark.parametrize(
    ("admission", "threshold", "servers"),
    [
        ({"kind": "non-probing", "threshold": 0.03}, 0.03, 51),
        ({"kind": "probing", "probes": 50}, 0.02, 51),
        ({"kind": "counter", "limit": 46}, None, 46),
        ({"kind": "none"}, None, 51),
    ],
)
def test_calls_of_a_scenario_have_its_admission(admission, threshold, servers):
    settings = {"users.site.traffic.admission": admission}
    found = tidegate.analyse(ROOT / "scenarios/calls.toml", "blocking", set=settings)
    [row] = found["blocking"].tables["calls"]
    assert (row["threshold_p"], row["calls"]) == (threshold, servers)
    assert row["offered_erlang"] == pytest.approx(100 / 1.818)
    assert row["blocking"] == pytest.approx(float(erlang_b(servers, 100 / 1.818)))
    if threshold:
        assert row["willingness_pps"] == pytest.approx(threshold * 194880 / 12000)
