"""Margins by python-control, of the exact loop at many frequencies: an oracle."""

import control
import numpy as np
import pytest

from tidegate.analysis import (
    Bottleneck,
    Cubic,
    Pi2,
    Pie,
    Red,
    Reno,
    RenoRed,
    Sbrm,
    Scalable,
    loop,
    stability,
)
from tidegate.analysis.models import bottleneck_of

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
