"""The control before the runs of a stock kernel: does its own CAKE share as it must?

In a guest whose clock is not right, CAKE serves ten flows several times as much as one although it
knows the rate. So a session counts only where it shares equally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tidegate.errors import OverloadError
from tidegate.scenarios.reading import load_scenario

if TYPE_CHECKING:
    from tidegate.laboratory.guest import Kernel
    from tidegate.laboratory.process import Children, Measured

LEAST, MOST = 0.9, 1.1
"""Bounds of the ratio of throughputs of the host with ten flows and the host with one."""

_SCENARIO = {
    "version": 1, "name": "control", "warm_up": "3 s", "duration": "8 s",
    "bottleneck": {
        "rate": "10 Mb/s", "delay": "10 ms",
        "kernel_qdisc": {"kind": "cake", "dual-srchost": True, "rtt": "300ms"},
    },
    "access": {"rate": "100 Mb/s", "delay": "0.1 ms"},
    "users": {"ten": {"flows": 10}, "one": {"flows": 1}},
}  # fmt: skip


def checked(kernel: Kernel, children: Children) -> float:
    """Run the control; return the ratio, or refuse the session."""
    run = children.run(
        load_scenario(_SCENARIO), 1, ip=4, generator="own", verbose=False,
        tell=lambda _done, _all: None, kernel=kernel,
    )  # fmt: skip
    found = ratio(run)
    if not LEAST <= found <= MOST:
        raise OverloadError(
            f"the control of Linux {kernel.release} failed: through CAKE, ten flows got {found:.2f}"
            f" times as much as one, not {LEAST} to {MOST}; no run of this session would count"
        )
    return found


def ratio(run: Measured) -> float:
    """Throughput of the first user over that of the second."""
    flows = run.columns["flows"]
    users, rates = (np.asarray(flows[name]) for name in ("user", "throughput_bps"))
    return float(rates[users == 0].sum() / rates[users == 1].sum())
