"""Margins by python-control, of the exact loop at many frequencies: an oracle."""

import control
import numpy as np
import pytest

from tidegate.analysis import (
    Bottleneck,
    Cubic,
    Link,
    Network,
    Pi2,
    Pie,
    Red,
    Reno,
    RenoRed,
    Route,
    Sbrm,
    Scalable,
    loop,
    stability,
    to_control,
)
from tidegate.analysis.models import bottleneck_of
from tidegate.errors import AnalysisError

CASES = [
    RenoRed(n=30, c_pps=10e3, d_s=0.05),
    Sbrm(n=30, c_pps=10e3, d_s=0.07),
    Bottleneck(capacity_pps=8e3, signal=Pie(), sources=(Reno(count=50, base_rtt_s=0.08),)),
    Bottleneck(capacity_pps=8e3, signal=Pi2(), sources=(Scalable(count=20, base_rtt_s=0.04),)),
    Bottleneck(
        capacity_pps=8e3,
        signal=Red(spacing="uniform"),
        sources=(Cubic(count=20, base_rtt_s=0.03), Reno(count=20, base_rtt_s=0.06)),
    ),
]


@pytest.mark.parametrize("model", CASES, ids=range(len(CASES)))
def test_margins_are_python_controls(model):
    bottleneck = bottleneck_of(model)
    found = stability(bottleneck)
    middle = 2 * np.pi * float(found.critical_frequency_hz)
    omega = np.geomspace(middle / 30, middle * 3, 3000)
    gain, phase, crossing, _ = control.margin(control.frd(loop(bottleneck, 1j * omega), omega))
    assert found.gain_margin == pytest.approx(gain, rel=1e-5)
    assert found.phase_margin_deg == pytest.approx(phase, rel=1e-3)
    assert middle == pytest.approx(crossing, rel=1e-5)


@pytest.mark.parametrize("model", CASES[:2], ids=["red", "sbrm"])
def test_a_loop_is_given_to_python_control(model):
    exported = to_control(model)
    assert isinstance(exported, control.FrequencyResponseData)
    gain, _, crossing, _ = control.margin(exported)
    found = stability(model)
    assert found.gain_margin == pytest.approx(gain, rel=1e-4)
    assert 2 * np.pi * found.critical_frequency_hz == pytest.approx(crossing, rel=1e-4)
    few = to_control(model, omega=[1.0, 2.0])
    assert few(2j) == pytest.approx(complex(loop(model, 2j)))


def test_a_networks_loop_is_a_matrix_over_its_links():
    links = {name: Link(capacity_pps=1e4, signal=Red()) for name in "ab"}
    routes = tuple(
        Route(source=Reno(count=30, base_rtt_s=0.05), links=tuple(way)) for way in ("ab", "a", "b")
    )
    exported = to_control(Network(links=links, routes=routes), omega=[1.0])
    assert (exported.noutputs, exported.ninputs) == (2, 2)


def test_python_control_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "control", None)
    with pytest.raises(AnalysisError, match="python-control is not installed"):
        to_control(CASES[0])
    monkeypatch.undo()
    with pytest.raises(AnalysisError, match="none an array"):
        to_control(RenoRed(n=np.array([20, 30]), c_pps=10e3, d_s=0.05))
