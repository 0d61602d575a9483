"""What claims and cells come to without the mechanism."""

from dataclasses import replace

import pytest

from tidegate.studies.baselines import stand_ins, without
from tidegate.studies.errors import ReproductionError
from tidegate.studies.load import load_study, study_names
from tidegate.studies.matching import matches
from tidegate.studies.model import Baseline, Cell, Claim
from tidegate.studies.points import Points, fill
from tidegate.studies.reproduce import reproduce
from tidegate.studies.runner import Runner, native_engine
from tidegate.studies.wanted import wanted_series

from .synthetic import FakeSimulation

SHORT = {"warm_up": '"0 s"', "duration": '"2 s"'}


def short_engine(text, overrides):
    kept = [(key, value) for key, value in overrides if key not in SHORT]
    return native_engine(text, [*kept, *SHORT.items()])


def bare_of(paper, name, engine=FakeSimulation, **baseline):
    """The experiment alone, its own points and those of its baseline."""
    experiment = paper.experiments[name]
    if baseline:
        experiment = replace(experiment, baseline=Baseline(name="plain", **baseline))
    paper = replace(paper, experiments={name: experiment}, sensitivity=None)
    wanted = wanted_series(paper, [experiment], [])
    wanted = {key: replace(one, replications=2) for key, one in wanted.items()}
    measured, runner = Points(), Runner(engine, paper.measures)
    fill(measured, wanted, runner, 2)
    runs = runner.run_count
    return stand_ins(paper, wanted, measured, runner, 2), runner.run_count - runs


def claim(experiment, **part):
    check = {"kind": "threshold", "op": ">", "value": 5.0}
    return Claim("c", experiment, "", "", "", check, (part,))


def test_points_that_differ_in_the_mechanism_alone_share_the_baselines_runs():
    """Table 2: six differentiation factors, and two delays by two loads."""
    bare, runs = bare_of(load_study("abc"), "table2", short_engine)
    levels = {
        tuple(sorted(setting.levels.items())) for setting in bare.points.points["table2", "tcp"]
    }
    assert len(levels) == 24
    assert runs == 2 * 4


def test_a_claim_is_judged_with_the_baseline_in_place_of_every_point():
    class OnlyWith(FakeSimulation):
        def __init__(self, text, overrides):
            off = ("bottleneck.differentiation", '{ kind = "none" }') in overrides
            super().__init__(text, overrides, ratio=20.0 if off else 2.0)

    bare, _ = bare_of(load_study("abc"), "table2", OnlyWith)
    asked = claim("table2", series="tcp", metric="throughput_ratio_T_R")
    assert bare.claim(asked).held
    cell = Cell(
        "table2", {"D_b_ms": 5, "u_0": 1, "u_1": 10, "gamma": 3}, "throughput_ratio_T_R", 2.0, "1"
    )
    assert (bare.cell(cell).asked, bare.cell(cell).held) == (True, False)


def test_what_is_without_the_mechanism_is_itself(tmp_path):
    """An unpoliced curve is about no policer; a policed one is judged without it."""
    bare, _ = bare_of(load_study("conex"), "fig20", short_engine)
    about = {
        name: bare.claim(claim("fig20", series=name, metric="heavy_completion_s"))
        for name in ("unpoliced", "tcp")
    }
    assert {name: one.itself for name, one in about.items()} == {"unpoliced": True, "tcp": False}
    assert str(about["unpoliced"]).endswith("(itself)")


def test_what_a_baseline_does_not_have_and_what_is_computed_is_not_asked():
    bare, _ = bare_of(load_study("abc"), "table2")
    assert not bare.claim(claim("table2", series="tcp", metric="no_such_metric")).asked
    assert not bare.claim(claim("fig1", series="tcp", metric="onset_s")).asked
    computed, runs = bare_of(load_study("abc"), "fig2")
    known = load_study("abc").experiments["fig2"].claims
    assert runs == 0
    assert not any(computed.claim(one).asked for one in known)
    assert str(computed.claim(known[0])) == "–"


def test_a_number_may_stand_in_place_of_a_metric():
    bare, runs = bare_of(load_study("abc"), "table2", values={"throughput_ratio_T_R": 9.5})
    assert runs == 0
    assert bare.claim(claim("table2", series="tcp", metric="throughput_ratio_T_R")).held
    # Nothing is known of other metrics.
    assert not bare.claim(claim("table2", series="tcp", metric="utilization")).asked


def test_stars_are_those_of_what_is_ranked_without_the_mechanism():
    """Table IV: 4 variants at 14 filling rates are 4 scenarios without a policer."""
    bare, runs = bare_of(load_study("conex"), "table4", short_engine)
    assert runs == 4 * 2
    stars = bare.points.points["table4", "stars"]
    assert {point.levels["case"] for point in stars} == {
        "DTConEx", "REDConEx", "ECNConEx", "FullConEx"
    }  # fmt: skip
    cells = load_study("conex").experiments["table4"].cells
    assert all(bare.cell(cell).asked for cell in cells if not cell.cannot_fail)


@pytest.mark.parametrize("name", study_names())
def test_the_engine_understands_every_baseline(name):
    paper = load_study(name)
    for experiment in paper.experiments.values():
        baseline = experiment.baseline
        if baseline is None:
            continue
        assert baseline.set or baseline.levels or baseline.values, experiment.name
        for one in experiment.series.values() if baseline.set else ():
            there = [setting for setting in one.settings if matches(setting.levels, baseline.where)]
            for setting in (*there[:1], *there[-1:]) if one.simulated else ():
                native_engine(setting.base, without(setting, baseline).overrides)


def test_a_baseline_of_another_key_is_an_error(tmp_path, monkeypatch):
    from tidegate.studies import load as experiments

    real = experiments._read

    def wrong(file):
        data = real(file)
        return data | {"baseline": {"title": "x"}} if file.name == "table2.toml" else data

    monkeypatch.setattr(experiments, "_read", wrong)
    with pytest.raises(ReproductionError, match=r"table2\.toml: baseline: .*'title'"):
        load_study("abc")


def test_the_page_counts_what_would_be_there_without_the_mechanism(tmp_path):
    (done,) = reproduce("abc/table2", quick=True, out=tmp_path, engine=FakeSimulation)
    page = (tmp_path / "reproduce-abc-table2-quick/RESULTS.md").read_text("utf-8")
    (summary,) = done.summaries
    held, asked = summary["without_mechanism_held"], summary["without_mechanism"]
    assert asked == 24 + 7
    assert f"Without the mechanism **{held} of the {asked}** cells and claims" in page
    head = "| claim | the paper says | asked for | measured | no differentiation | verdict |"
    assert head in page
    assert f"| **{held} of {asked}** |" in page
