"""What the explanations of differences from Linux say of the simulator, simulated."""

import numpy as np
import pytest
from support import ROOT

from tidegate.runs.execution import Threads
from tidegate.scenarios.reading import parse
from tidegate.studies.fidelity.measures import of_run
from tidegate.studies.running import Trial, simulate


def lost(file, *settings, runs):
    """Mean share of packets that are lost."""
    trial = Trial(parse(ROOT / file, settings), range(1, runs + 1), of_run)
    (done,) = simulate([trial], Threads(), lambda *_: None)
    return np.mean([run["loss_ratio"] for run in done])


def test_no_jitter_of_the_hosts_takes_the_udp_source_out_of_step():
    """Linux lost 0.278 % of what two sources sent that come in step with the link."""
    file = "studies/fidelity/13-udp-tcp.toml"
    jitters = ("off", "20 us", "50 us", "100 us", "300 us", "600 us", "1.2 ms")
    found = [lost(file, ("host_jitter", jitter), runs=15) for jitter in jitters]
    assert 0.00285 < min(found) < max(found) < 0.0048


def test_what_icp_drops_depends_on_the_repair_and_not_on_bursts_or_frto():
    def dropped(*settings):
        icp = '{ kind = "icp", curve = "step", fill_rate = "550 B/s", depth = "350 kB" }'
        return lost(
            "studies/fidelity/cpq/scenario.toml",
            ("bottleneck.differentiation", icp),
            *settings,
            runs=20,
        )

    usual = dropped()
    assert usual == pytest.approx(0.0454, rel=0.02)
    assert dropped(("tcp.loss_recovery", "fack")) == pytest.approx(0.0416, rel=0.02)
    assert dropped(("tcp.segment_bursts", "false")) == pytest.approx(usual, rel=0.04)
    assert dropped(("tcp.frto", "false")) == pytest.approx(usual, rel=0.04)
