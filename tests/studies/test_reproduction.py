"""A reproduction from end to end, with an engine that tests make up, and once with the real one."""

from collections import defaultdict

import pytest

from tidegate.errors import UsageError
from tidegate.studies.factors import (
    Setting,
    combinations,
    overrides,
    read_factors,
    settings,
)
from tidegate.studies.load import load_study
from tidegate.studies.metrics import Measures, read_measures
from tidegate.studies.model import Series
from tidegate.studies.points import Point, Points, capped, repeatable
from tidegate.studies.reproduce import ReproductionError, reproduce
from tidegate.studies.runner import Runner

from .synthetic import FakeSimulation


def test_one_experiment_with_a_made_up_engine():
    (done,) = reproduce("abc/table2", quick=True, write=False, engine=FakeSimulation)
    (summary,) = done.summaries
    # A ratio of 10 whatever gamma: right without differentiation, wrong with.
    assert (summary["cells"], summary["cells_within"]) == (24, 4)
    assert summary["claims"] == 7
    assert 0 < summary["claims_held"] < 7
    assert not summary["ok"]
    assert_each_stands_once(summary)


def assert_each_stands_once(summary):
    lists = (
        summary[name] for name in ("undecided", "explained", "by_another_reading", "unexplained")
    )
    ids = [one for names in lists for one in names]
    assert len(set(ids)) == len(ids)
    assert summary["claims_undecided"] == len(summary["undecided"])
    good = summary["cells_within"] + summary["claims_held"]
    assert summary["cells"] + summary["claims"] == good + len(ids)


@pytest.mark.parametrize("quick", [False, True])
def test_an_undecided_claim_gets_three_times_the_runs_unless_in_a_hurry(quick):
    seeds = defaultdict(set)

    class Wobbling(FakeSimulation):
        """Uploads take longer at 50 ms, but in the first 50 runs it is the other way round."""

        def run(self, seed):
            seeds[self.text].add(seed)
            longer = ("50 ms" in self.text) == (seed > 50)
            noise = 0.5 if seed % 2 else -0.5
            by = 0.4 if seed > 50 else 0.15
            tables = super().run(seed)
            return tables | {
                "transfers": {"start_s": [15.0], "completion_s": [2.7 + noise + by * longer]}
            }

    (done,) = reproduce("abc/table7", quick=quick, write=False, engine=Wobbling)
    (summary,) = done.summaries
    assert_each_stands_once(summary)
    assert ("abc-table7-no-abc-longer-at-50ms" in summary["undecided"]) is quick
    without_abc = [
        found for text, found in seeds.items() if '"none"' in text and "late" not in text
    ]
    assert without_abc
    most = 8 if quick else 150
    assert all(found == set(range(1, most + 1)) for found in without_abc[:8])
    assert max(map(max, seeds.values())) == most


def test_unknown_targets_are_errors_that_name_what_exists():
    with pytest.raises(UsageError, match="no study 'abd'; there are abc"):
        reproduce("abd")
    with pytest.raises(UsageError, match=r"there are fig1, .*; did you mean table2\?"):
        reproduce("abc/tabel2")


def test_same_scenario_and_seed_run_once():
    runs = []

    class Counting(FakeSimulation):
        def run(self, seed):
            runs.append(seed)
            return super().run(seed)

        def to_toml(self):
            return "the same"

    runner = Runner(Counting, Measures())
    one, two = (Setting({}, (("a", value),)) for value in "12")
    runner.prepare([(one, 3), (two, 5)])
    assert sorted(runs) == [1, 2, 3, 4, 5]
    assert len(runner.runs(one, 4)) == 4
    assert runner.run_count == 5


@pytest.mark.parametrize(
    ("most", "own", "want"), [(None, 10, 30), (3, None, 3), (3, 10, 10), (20, 10, 20)]
)
def test_a_series_may_need_more_runs_in_a_hurry(most, own, want):
    assert capped(Series("s", (), 30, quick_replications=own), most) == want
    assert capped(Series("s", (), 2, quick_replications=own), 3) == 2


def test_points_of_a_series_that_takes_long_are_not_run_more_often():
    long, short = Series("long", (), 1, more_runs=False), Series("short", (), 1)
    one, two = Point({"u": 1}, {}), Point({"u": 2}, {})
    measured = Points({("e", "long"): [one], ("e", "short"): [two]})
    wanted = {("e", "long"): long, ("e", "short"): short}
    assert repeatable(measured, wanted, [one, two]) == [two]


def test_an_error_in_a_run_is_not_swallowed():
    class Failing(FakeSimulation):
        def run(self, seed):  # noqa: ARG002
            raise RuntimeError("conservation")

    with pytest.raises(RuntimeError, match="conservation"):
        Runner(Failing, Measures()).prepare([(Setting({}, ()), 2)])


def test_factors_that_vary_together_and_levels_with_changes_of_their_own():
    assert combinations({"a/b": [[1, 2], [3, 4]], "c": [5]}) == [
        {"a": 1, "b": 2, "c": 5},
        {"a": 3, "b": 4, "c": 5},
    ]
    factors = read_factors(
        {"d": {"set": {"x.delay": "{} ms"}}, "abc": {"named": {"no": {"y": {"kind": "none"}}}}}
    )
    always = overrides({"duration": "5 s"})
    (setting,) = settings({"d": [5], "abc": ["no"]}, factors, always, "base")
    assert (setting.base, setting.levels) == ("base", {"d": 5, "abc": "no"})
    assert setting.overrides == (
        ("duration", '"5 s"'),
        ("x.delay", '"5 ms"'),
        ("y", '{ kind = "none" }'),
    )
    with pytest.raises(ReproductionError, match="no level 'maybe'"):
        settings({"abc": ["maybe"]}, factors, (), "")


def test_a_level_may_be_made_of_others():
    template = {"entry": [{"kind": "policer", "rate": "{r} packets/s", "shape": "{}"}]}
    factors = read_factors({
        "policer": {"set": template, "named": {"none": {"entry": []}}}, "r": {},
        "way": {"named": {"other": {"entry": "{policer} at {r}"}}},
    })  # fmt: skip
    (harsh, none) = settings({"r": [5], "policer": ["strict", "none"]}, factors, (), "")
    rule = '[{ kind = "policer", rate = "5 packets/s", shape = "strict" }]'
    assert (harsh.overrides, none.overrides) == ((("entry", rule),), (("entry", "[]"),))
    levels = {"r": [5], "policer": ["strict"], "way": ["other"]}
    assert settings(levels, factors, (), "")[0].overrides[-1] == ("entry", '"strict at 5"')


LEVELS = """
[red]
title = "RED"
kind = "aqm"
set."{link}.aqm" = "red"
[red-met]
title = "RED, metered"
kind = "other"
like = "red"
why = "as RED"
set."users.{all}.meter" = "{round(rate / 12)} packets"
set."users.{offers}.pays" = "{offers}"
"""


def test_levels_may_stand_in_a_file_and_call_by_name_what_the_set_up_has(tmp_path):
    (tmp_path / "rules.toml").write_text(LEVELS)
    factors = read_factors({"rule": {"levels": "rules.toml"}, "at": {}}, tmp_path)
    assert factors["rule"].title("red-met") == "RED, metered"
    names = {"setup": "x", "link": "hop", "all": ["a", "b"], "rate": 20, "offers": {"a": 5, "b": 7}}
    levels = {"at": ["{setup}"], "rule": {"kind": ["other"]}}
    (setting,) = settings(levels, factors, (), "", names)
    assert setting.levels == {"at": "x", "rule": "red-met"}
    assert setting.overrides == (
        ("hop.aqm", '"red"'),
        ("users.a.meter", '"2 packets"'),
        ("users.b.meter", '"2 packets"'),
        ("users.a.pays", "5"),
        ("users.b.pays", "7"),
    )


def test_set_ups_that_differ_in_names_alone_are_read_each_by_its_own():
    head = {
        "reads": {
            "those": {"table": "flows", "column": "throughput_bps", "where": {"group": "{who}"}},
            "for_s": {"table": "flows", "column": "end_s - begin_s", "fold": "max"},
        },
        "metrics": {"rate": "those", "time": "for_s"},
    }
    runner = Runner(FakeSimulation, read_measures(head))
    found = [
        runner.measures.of(runner.runs(Setting({}, (), "base", {"who": who}), 1))
        for who in ("ug1", ["ug0", "ug1"], [])
    ]
    light, all_bps, none = (one["rate"].mean for one in found)
    assert 0 == none < light < all_bps
    assert found[0]["time"].mean == FakeSimulation.duration_s
    assert runner.run_count == 3


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("[a]\nkind = 'k'\n", "title"),
        ("[a]\ntitle = 'A'\nkind = 'k'\nlink = 1\n", "link"),
        ("[a]\ntitle = 'A'\nkind = 'k'\nlike = 'b'\n", "'b', not above it"),
        ("[a\n", r"rules\.toml"),
    ],
)
def test_an_error_in_a_file_of_levels_is_named(tmp_path, text, output):
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(ReproductionError, match=output):
        read_factors({"rule": {"levels": "rules.toml"}}, tmp_path)


PAPER = """
title = "t"
experiments = ["e"]
replications = 1
quick_replications = 1
[setups.video]
base = "video.toml"
set = { duration = "600 s", seed = 1 }
quick_set = { duration = "60 s" }
[factors.u]
set = { users = "{}" }
"""
EXPERIMENT = """
title = "t"
setup = "video"
[series.own]
factors = { u = [2] }
set = { seed = 3 }
[series.usual]
setup = ""
factors = { u = [2] }
[series.many]
setup = ""
factors = { u = [100] }
replications = 3
[series.many.quick]
factors = { u = [10] }
replications = 1
"""


@pytest.fixture
def paper_with_a_set_up(tmp_path, monkeypatch):
    monkeypatch.setenv("TIDEGATE_STUDIES", str(tmp_path))
    folder = tmp_path / "p"
    files = {
        "study.toml": PAPER, "base.toml": "usual", "video.toml": "long",
        "experiments/e.toml": EXPERIMENT, "claims.toml": "claim = []",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_set_up_has_a_base_scenario_of_its_own(paper_with_a_set_up):
    series = load_study("p").experiments["e"].series
    (own,), (usual,) = series["own"].settings, series["usual"].settings
    assert (own.base, usual.base) == ("long", "usual")
    set_up = (("duration", '"600 s"'), ("seed", "1"))
    assert own.overrides == (*set_up, ("seed", "3"), ("users", "2"))
    assert usual.overrides == (("users", "2"),)
    (paper_with_a_set_up / "experiments/e.toml").write_text(
        EXPERIMENT.replace('"video"', '"audio"')
    )
    with pytest.raises(ReproductionError, match="no set-up 'audio'; there are video"):
        load_study("p")


def test_in_a_hurry_a_set_up_may_have_shorter_runs(paper_with_a_set_up):
    in_full, quick = load_study("p"), load_study("p", quick=True)
    (own,), (usual,) = (quick.experiments["e"].series[name].settings for name in ("own", "usual"))
    assert own.overrides == (("duration", '"60 s"'), ("seed", "1"), ("seed", "3"), ("users", "2"))
    assert usual.overrides == (("users", "2"),)
    assert (in_full.shortened, quick.shortened) == (False, True)


@pytest.mark.usefixtures("paper_with_a_set_up")
def test_in_a_hurry_a_series_may_have_less():
    in_full, quick = (load_study("p", quick=how).experiments["e"].series for how in (False, True))
    (full,), (less,) = in_full["many"].settings, quick["many"].settings
    assert (full.levels, less.levels) == ({"u": 100}, {"u": 10})
    assert (in_full["many"].replications, quick["many"].replications) == (3, 1)
    assert [name for name, one in quick.items() if one.reduced] == ["many"]
    assert not in_full["many"].reduced


def test_analytic_experiments_hold_completely_and_need_no_simulation():
    for name in ("abc/fig2", "abc/fig4", "abc/three-users", "abc/independence"):
        (done,) = reproduce(name, write=False)
        (summary,) = done.summaries
        assert summary["ok"], summary


def test_claims_are_judged_over_the_papers_own_runs_as_well():
    (few,) = reproduce("re-ecn/fig12", replications=1, write=False)
    assert not any(outcome.with_own_runs for outcome in few.outcomes), "no more than its own"
    (more,) = reproduce("re-ecn/fig12", replications=6, write=False)
    (outcome,) = more.outcomes
    assert set(outcome.with_own_runs) == {verdict.claim.id for verdict in outcome.claims}
    for ours, own in outcome.otherwise:
        assert ours.verdict is not own.verdict
