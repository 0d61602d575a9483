"""The page on accuracy says what is kept, and no scenario of the gate is off without a warning."""

import pytest
from support import ROOT

from tidegate.analysis.accuracy.measured import measured
from tidegate.runs.execution import Threads
from tidegate.studies.accuracy import gate, outcomes, page, sample
from tidegate.studies.accuracy.outcomes import Outcome, Quantity, Verdict


@pytest.fixture(scope="module")
def kept():
    return outcomes.read(ROOT / page.GATE)


@pytest.fixture(scope="module")
def drawn():
    return outcomes.read(ROOT / page.SAMPLE)


def test_the_page_is_what_the_results_make_of_its_template():
    written = (ROOT / page.PAGE).read_text(encoding="utf-8")
    assert written == page.text(ROOT), "run `make accuracy ARGS=--page`"


def test_the_gate_has_sixty_scenarios_and_none_is_off_without_a_warning(kept):
    assert [one.name for one in kept] == list(gate.read(ROOT))
    assert len(kept) == 60
    assert [one.name for one in kept if one.silent] == []


def test_a_warning_on_everything_is_no_answer(kept):
    near = [one for one in kept if one.verdict is Verdict.NEAR]
    assert sum(not one.warnings for one in near) >= len(near) / 2


def test_ranges_that_warnings_tell_are_those_of_the_sample(drawn):
    assert outcomes.ranges(drawn) == measured()
    assert len(drawn) == sample.COUNT


def test_few_scenarios_drawn_at_random_are_off_without_a_warning(drawn):
    silent = [one for one in drawn if not one.warnings and one.verdict is not Verdict.REFUSED]
    off = [one.name for one in silent if one.silent]
    assert len(off) <= 0.05 * len(silent), off


FEW = (
    "reno on pie, 20 ms",
    "cubic on dualpi2, 20 ms",
    "dctcp on red-drops, 20 ms",
    "sbrm on sbrm-queue, 100 ms",
    "cubic-and-prague on dualpi2, 20 ms",
    "two-customers on icp-on-red, 20 ms",
)


def test_some_of_the_gate_come_out_so_again():
    scenarios = {name: one for name, one in gate.read(ROOT).items() if name in FEW}
    found = outcomes.simulated(scenarios, 2, Threads(), lambda _done, _all: None)
    by_name = {one.name: one for one in found}
    for name in FEW[:4]:
        assert by_name[name].verdict is Verdict.NEAR, by_name[name]
        assert not by_name[name].warnings
    for name in FEW[4:]:
        assert by_name[name].verdict is not Verdict.NEAR
        assert by_name[name].warnings


def test_a_dropping_red_is_predicted_for_senders_that_answer_to_marks(kept):
    """DCTCP on RED without ecn: by the law for marks its queue would be several times as long."""
    of = {one.name: one for one in kept}
    for rtt_ms in (20, 100):
        [queue] = [
            one for one in of[f"dctcp on red-drops, {rtt_ms} ms"].quantities if not one.is_rate
        ]
        assert abs(queue.deviation) < 0.2


@pytest.mark.parametrize(
    ("name", "simulated", "ci95", "verdict"),
    [
        ("rate a", 1.09, 0.0, Verdict.NEAR),
        ("rate a", 0.89, 0.02, Verdict.UNDECIDED),
        ("rate a", 0.89, 0.005, Verdict.OFF),
        ("queue l", 1.19, 0.0, Verdict.NEAR),
        ("queue l", 1.25, 0.06, Verdict.UNDECIDED),
        ("queue l", 0.75, 0.04, Verdict.OFF),
    ],
)
def test_a_mean_is_off_where_chance_does_not_explain_it(name, simulated, ci95, verdict):
    quantity = Quantity(name, 1.0, simulated, ci95)
    assert quantity.verdict is verdict
    for warnings in ((), ("swings",)):
        one = Outcome("s", (Quantity("rate b", 1.0, 1.0, 0.0), quantity), warnings)
        assert one.verdict is verdict
        assert one.silent == (verdict is Verdict.OFF and not warnings)


def test_ranges_are_of_those_with_the_cause_alone_if_there_are_enough():
    def having(deviation, *kinds):
        return Outcome("s", (Quantity("rate a", 1.0, 1 + deviation, 0.0),), kinds)

    few = [having(0.1, "swings"), having(-0.5, "slow", "swings")]
    assert outcomes.ranges(few)["swings"].rates_percent == (-50, 10)
    enough = [*[having(d / 100, "swings") for d in range(8)], few[1]]
    assert outcomes.ranges(enough)["swings"].rates_percent == (0, 7)
    assert outcomes.ranges(enough)["swings"].scenarios == 8


def test_what_is_kept_is_read_again(tmp_path):
    found = [
        Outcome("a, 20 ms", (Quantity("rate all", 2.0, 2.5, 0.25),), ("slow", "swings")),
        Outcome("b", refused="bottleneck.aqm: codel has no law"),
    ]
    outcomes.write(tmp_path / "kept.csv", found)
    assert outcomes.read(tmp_path / "kept.csv") == found
