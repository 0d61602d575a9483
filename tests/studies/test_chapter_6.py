"""Chapter 6 of the congestion pricing dissertation in packets: what its points and reasons are."""

import numpy as np
import pytest

from tidegate.analysis import AdaptiveRed, Bottleneck, Red, Reno, stability
from tidegate.analysis.spectra import fourier_spectrum, music_spectrum, strongest
from tidegate.studies.factors import Factor
from tidegate.studies.load import load_study
from tidegate.studies.sides.model.control import settled
from tidegate.studies.sides.model.pricing import margins


@pytest.fixture(scope="module")
def experiments():
    return load_study("pricing").experiments


def test_the_cases_are_those_of_the_table_whose_delay_is_on_the_grid(experiments):
    cells = experiments["table6.6.2"].cells
    printed = {
        (*(cell.levels[name] for name in ("tcp", "N", "c_pkts_per_ms")), cell.value)
        for cell in cells
        if cell.metric == "critical_delay"
    }
    series = experiments["fig6.6.12"].series
    for name in ("packets", "model"):
        points = [setting.levels for setting in series[name].settings]
        names = ("tcp", "N", "c_pkts_per_ms", "d_ms")
        assert {tuple(levels[name] for name in names) for levels in points} == printed
        assert len(points) == len(printed) == 66


def test_a_factor_may_make_something_of_its_levels():
    half = Factor({"delay": "{d_ms / 2 - 0.1} ms"})
    assert half.overrides(62, {"d_ms": 62}) == [("delay", '"30.9 ms"')]


def test_both_spectra_find_the_stronger_of_two_swings_in_noise():
    time_s = np.arange(1200) / 20
    noise = np.random.default_rng(3).normal(size=1200)
    queue = 60 + 5 * np.sin(2 * np.pi * 0.8 * time_s) + 2 * np.sin(2 * np.pi * 3.1 * time_s) + noise
    for spectrum in (fourier_spectrum, music_spectrum):
        assert strongest(spectrum(queue, sampling_hz=20.0)) == pytest.approx(0.8, abs=0.02)
    assert fourier_spectrum(queue)[1].max() == pytest.approx(5, rel=0.05)


def test_adaptive_red_at_its_floor_is_red_with_a_lower_queue():
    """Table 6.7.1 beside table 6.6.1: 0.01/(75 − 25) is 0.1/(550 − 50), and its queue 25 lower."""
    for base_rtt_s in (0.086, 0.102, 0.15, 0.2):
        sources = (Reno(count=30, base_rtt_s=base_rtt_s),)
        adaptive = AdaptiveRed(min_threshold_packets=25, max_threshold_packets=75)
        plain, adapts = (
            Bottleneck(capacity_pps=1e4, signal=signal, sources=sources)
            for signal in (Red(), adaptive)
        )
        at = adapts.equilibrium
        reached = adaptive.reached(at.probability)
        assert float(reached.max_probability) == pytest.approx(0.01)
        lower = float(plain.equilibrium.queue_packets - at.queue_packets)
        assert lower == pytest.approx(25, abs=1)
        margins = [float(stability(one).gain_margin) for one in (adapts, plain)]
        assert margins[0] == pytest.approx(margins[1], rel=0.1)


def test_a_target_stands_in_the_loop_only_through_the_round_trip():
    """Figure 6.6.5's targets, 10 to 200 packets: the queue adds b0/c to the round trip."""
    at = {
        b0: margins({"N": 30, "c_pkts_per_ms": 10, "d_ms": 86, "tcp": "SBRM", "b0": b0})
        for b0 in (10, 200)
    }
    assert at[200]["gain_margin"] < 0.95 * at[10]["gain_margin"]
    assert at[200]["gain_margin_at_same_rtt"] == pytest.approx(at[10]["gain_margin_at_same_rtt"])


def test_acks_that_clock_the_senders_keep_sbrm_stable_for_longer():
    """Where (6.5.21) has its critical delay, 88 ms, the clocked loop is far from its own."""
    at = {d: settled({"tcp": "SBRM", "N": 30, "c_pkts_per_ms": 10, "d_ms": d}) for d in (86, 139)}
    assert at[86]["critical_delay"] == pytest.approx(87.3, abs=0.1)
    assert at[86]["beyond_clocked"] == pytest.approx(0.62, abs=0.01)
    assert at[139]["beyond_clocked"] == pytest.approx(1.0, abs=0.01)
    assert at[86]["clocked_frequency"] / at[86]["critical_frequency"] > 1.3
