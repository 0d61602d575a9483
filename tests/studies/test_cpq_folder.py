"""The data of studies/cpq: complete, consistent, and understood by the scenario reader."""

import csv
import tomllib
from collections import Counter

import pytest

from tidegate.data import data_folder
from tidegate.studies import reproduce as reproduction
from tidegate.studies.baselines import stand_ins
from tidegate.studies.checks import KINDS
from tidegate.studies.factors import read_factors
from tidegate.studies.judge import judge_cell
from tidegate.studies.load import load_study
from tidegate.studies.model import Cell
from tidegate.studies.points import Point, Points, fill
from tidegate.studies.runner import Runner, native_engine
from tidegate.studies.wanted import wanted_series

from .synthetic import estimate


@pytest.fixture(scope="module")
def paper():
    return load_study("cpq")


def test_all_118_cells_belong_to_the_four_tables(paper):
    cells = {name: len(e.cells) for name, e in paper.experiments.items() if e.cells}
    assert cells == {"table2": 18, "table3": 28, "table4a": 36, "table4b": 36}


def test_each_of_the_36_claims_belongs_to_one_experiment(paper):
    claims = Counter(claim.id for e in paper.experiments.values() for claim in e.claims)
    published = (paper.folder / "claims.toml").read_text(encoding="utf-8")
    assert len(claims) == published.count("[[claim]]") == 36
    assert set(claims.values()) == {1}


def test_kinds_of_checks_are_known_or_replaced(paper):
    for experiment in paper.experiments.values():
        for claim in experiment.claims:
            kinds = {part.get("check", {}).get("kind", claim.check["kind"]) for part in claim.parts}
            assert kinds <= set(KINDS), claim.id


def test_every_cell_has_one_point(paper):
    for experiment in paper.experiments.values():
        for cell in experiment.cells:
            points = [
                setting
                for series in experiment.series.values()
                for setting in series.settings
                if all(setting.levels.get(k) == v for k, v in cell.levels.items())
            ]
            assert len(points) == 1, cell.id


def test_positions_take_the_policer_off_the_other_links(paper):
    settings = paper.experiments["table4a"].series["tcp"].settings
    (one,) = [s for s in settings if s.levels == {"mechanism": "AFCP-b", "cpq_positions": "2-4"}]
    text = native_engine(one.base, list(one.overrides)).to_toml()
    assert text.count('kind = "afcp"') == 3


def test_formulas_are_put_to_the_engine_and_count():
    (summary,) = reproduction.reproduce("cpq/formulas", quick=True, write=False)[0].summaries
    assert (summary["claims"], summary["claims_held"]) == (3, 2)
    # Read as the other tables need it, AICP-b lets a queue below the threshold alone.
    assert summary["by_another_reading"] == ["cpq-aicp-b-drop-probability"]


def test_every_cell_stands_beside_plain_red_and_is_told_from_it_or_not(paper):
    short = {"warm_up": '"2 s"', "intervals": '{ count = 3, length = "3 s" }'}

    def engine(text, overrides):
        kept = [(key, value) for key, value in overrides if key not in short]
        return native_engine(text, [*kept, *short.items()])

    book = Points()
    experiment = paper.experiments["table4b"]
    wanted, runner = wanted_series(paper, [experiment], []), Runner(engine, paper.measures)
    fill(book, wanted, runner, None)
    runs = runner.run_count
    bare = stand_ins(paper, wanted, book, runner, None).points
    assert runner.run_count == runs, "plain RED is one of the paper's own points"
    verdicts = [
        judge_cell(cell, book, bare.matching("table4b", cell.levels, cell.metric))
        for cell in experiment.cells
    ]
    bare = {verdict.without.mean for verdict in verdicts}
    assert len(bare) == 1
    # Buckets are full for longer than this: nobody is policed by AFCP, whose runs are RED's.
    for verdict in verdicts:
        if verdict.cell.levels["mechanism"] in ("RED", "AFCP-a", "AFCP-b"):
            assert verdict.ours.mean == verdict.without.mean
            assert not verdict.differs


def test_what_cannot_be_told_from_the_baseline():
    cell = Cell("e", {"mechanism": "A"}, "m", 1.0, "1")
    points = {"RED": estimate(1.0, 0.1), "A": estimate(1.1, 0.1)}
    rows = [Point({"mechanism": name}, {"m": value}) for name, value in points.items()]
    verdict = judge_cell(cell, Points({("e", "s"): rows}), rows[0])
    assert (verdict.within, verdict.without_it.within, verdict.differs) == (True, True, False)
    rows[1] = Point({"mechanism": "A"}, {"m": estimate(1.2, 0.1)})
    assert judge_cell(cell, Points({("e", "s"): rows}), rows[0]).differs


def test_aicp_is_read_in_one_way_in_the_reproduction_the_league_and_the_lab(paper):
    """What the paper leaves open; allowances are another matter."""
    choices = {"charge", "charge_dropped", "only_in_congestion"}

    def read(policer):
        return {key: value for key, value in policer.items() if key in choices}

    folder = data_folder("studies") / "league"
    league = read_factors({"mechanism": {"levels": "mechanisms.toml"}}, folder)["mechanism"].named
    lab = load_study("fidelity").experiments["cpq"].factors["mechanism"].named
    for name in ("AICP-a", "AICP-b"):
        (setting,) = (
            one for one in paper.experiments["table2"].series["tcp"].settings
            if one.levels["mechanism"] == name
        )  # fmt: skip
        reported = dict(setting.overrides)["links.bottleneck.differentiation"]
        ours = read(tomllib.loads(f"x = {reported}")["x"])
        assert len(ours) == 2 + (name == "AICP-b")
        assert read(league[name.lower()]["{link}.differentiation"]) == ours
        assert read(lab[name.lower()]["bottleneck.differentiation"]) == ours


READINGS = {
    "ICP-slope": ("start 0.0043", {"start": 0.0043}),
    "ICP-squared": ("start 0.0043", {"start": 0.0043}),
    "AICP-a": ("charge own, all packets", {"charge": "own", "charge_dropped": True}),
    "AICP-b": (
        "charge aqm, all packets, in congestion",
        {"charge": "aqm", "charge_dropped": True, "only_in_congestion": True},
    ),
}
"""How the table of the search calls what is taken of each mechanism."""


def test_the_search_has_what_is_taken_beside_its_alternatives(paper):
    with (paper.folder / "search.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    base = tomllib.loads((paper.folder / "base.toml").read_text(encoding="utf-8"))
    (red,) = {tuple(sorted(link["aqm"].items())) for link in base["links"].values()}
    red = dict(red)
    taken = {
        row["mechanism"]: row["reading"]
        for row in rows
        if row["min_th"] + " packets" == red["min_threshold"]
        and row["max_th"] + " packets" == red["max_threshold"]
        and (float(row["max_p"]), float(row["weight"])) == (red["max_probability"], red["weight"])
        and row["spacing"] == red["spacing"]
        and row["reading"] == READINGS.get(row["mechanism"], ("",))[0]
    }
    assert len(taken) == 8
    reds = {
        tuple(row[key] for key in ("min_th", "max_th", "max_p", "weight", "spacing"))
        for row in rows
    }
    assert len(reds) == 21
    settings = paper.experiments["table2"].series["tcp"].settings
    for mechanism, (_, keys) in READINGS.items():
        (setting,) = (s for s in settings if s.levels["mechanism"] == mechanism)
        reported = dict(setting.overrides)["links.bottleneck.differentiation"]
        assert keys.items() <= tomllib.loads(f"x = {reported}")["x"].items()
