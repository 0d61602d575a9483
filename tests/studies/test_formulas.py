"""The engine's own functions, asked for single packets."""

import pytest

from tidegate.studies.errors import ReproductionError
from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine
from tidegate.studies.sides.model import compute
from tidegate.studies.sides.model.formulas import FORMULAS, meter_trace


@pytest.fixture(scope="module")
def scenario_of():
    def of(paper):
        base = (load_study(paper).folder / "base.toml").read_text(encoding="utf-8")
        return lambda overrides: native_engine(base, list(overrides))

    return of


@pytest.mark.parametrize("burst_kb", [0, 100])
def test_the_engines_meter_is_the_papers_recursion(scenario_of, burst_kb):
    levels = {"R_r": 1.0, "R_t": 8.0, "I": 0.1, "B_KB": burst_kb, "stop_s": 2.0}
    trace = meter_trace(levels)
    meter = [
        ("users.ug0.meter.reference_rate", "1 Mb/s"),
        ("users.ug0.meter.inertia", "0.1 s"),
        ("users.ug0.meter.burst_allowance", f"{burst_kb} kB"),
    ]
    ours = scenario_of("abc")(meter).meter_activities(trace.time_s.tolist())
    assert ours == pytest.approx(trace.activity.tolist(), abs=1e-3)
    assert max(ours) == pytest.approx(3.0, abs=0.05)


def test_an_activity_decays_in_inertia_times_activity(scenario_of):
    levels = {"R_r": 1.0, "R_t": 8.0, "I": 1.0, "B_KB": 0, "stop_s": 5.0}
    found = FORMULAS["activity-meter"](levels, scenario_of("abc"))
    assert found["decay_s"] == pytest.approx(3.0, rel=0.05)
    assert found["midway_activity"] == pytest.approx(1.5, rel=0.05)


def test_a_formula_is_put_to_the_engines_own_function(scenario_of):
    aicp = [("links.bottleneck.differentiation", '{ kind = "aicp-b", only_in_congestion = true }')]

    def asked(text, **levels):
        return compute({"p": text}, levels, lambda more: scenario_of("cpq")([*aicp, *more]))["p"]

    assert asked("aicp_b_probability(fill, red)", fill=0.0, red=0.1) == pytest.approx(0.51)
    assert asked("2 * aicp_b_probability(1, red)", red=0.1) == pytest.approx(0.02)
    with pytest.raises(ReproductionError, match=r"no function \['aicp_c'\]"):
        asked("aicp_c(red)", red=0.1)


def test_a_mechanism_that_is_not_there_cannot_be_asked(scenario_of):
    with pytest.raises(ValueError, match="no policer"):
        scenario_of("cpq")([]).aicp_a_stretch(0.5)
    afcp = [("links.bottleneck.differentiation", '{ kind = "afcp" }')]
    with pytest.raises(ValueError, match="no AICP-b"):
        scenario_of("cpq")(afcp).aicp_b_probability(0.5, 0.1)
