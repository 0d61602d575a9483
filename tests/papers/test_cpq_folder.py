"""The data of papers/cpq: complete, consistent, and understood by the scenario reader."""

from collections import Counter

import pytest

from tidegate import reproduction
from tidegate.papers.checks import _KINDS
from tidegate.papers.experiments import load_paper
from tidegate.papers.runs import native_engine


@pytest.fixture(scope="module")
def paper():
    return load_paper("cpq")


def test_all_118_cells_belong_to_the_four_tables(paper):
    cells = {name: len(e.cells) for name, e in paper.experiments.items() if e.cells}
    assert cells == {"table2": 18, "table3": 28, "table4a": 36, "table4b": 36}


def test_each_of_the_36_claims_belongs_to_one_experiment(paper):
    claims = Counter(claim.id for e in paper.experiments.values() for claim in e.claims)
    published = (paper.folder / "expected" / "claims.toml").read_text(encoding="utf-8")
    assert len(claims) == published.count("[[claim]]") == 36
    assert set(claims.values()) == {1}


def test_kinds_of_checks_are_known_or_replaced(paper):
    for experiment in paper.experiments.values():
        missing = {claim for one in experiment.missing for claim in one.claims}
        for claim in experiment.claims:
            kinds = {part.get("check", {}).get("kind", claim.check["kind"]) for part in claim.parts}
            assert kinds <= set(_KINDS) or claim.id in missing, claim.id


def test_every_cell_has_one_point_or_a_reason_why_not(paper):
    for experiment in paper.experiments.values():
        for cell in experiment.cells:
            points = [
                setting
                for series in experiment.series.values()
                for setting in series.settings
                if all(setting.levels.get(k) == v for k, v in cell.levels.items())
            ]
            assert len(points) + any(one.covers(cell) for one in experiment.missing) == 1, cell.id


def test_what_is_missing_are_the_formulas(paper):
    missing = [one for e in paper.experiments.values() for one in e.missing]
    assert not any(
        o.covers(c) for e in paper.experiments.values() for c in e.cells for o in missing
    )
    assert sum(len(one.claims) for one in missing) == 3


def test_positions_take_the_policer_off_the_other_links(paper):
    settings = paper.experiments["table4a"].series["tcp"].settings
    (one,) = [s for s in settings if s.levels == {"mechanism": "AFCP-b", "cpq_positions": "2-4"}]
    text = native_engine(paper.base, list(one.overrides)).to_toml()
    assert text.count('kind = "afcp"') == 3


def test_missing_counts_not_as_held():
    short = {"warm_up": '"2 s"', "intervals": '{ count = 2, length = "3 s" }'}

    def engine(text, overrides):
        kept = [(key, value) for key, value in overrides if key not in short]
        return native_engine(text, [*kept, *short.items()])

    (summary,) = reproduction.run("cpq/table4b", quick=True, write=False, engine=engine)
    assert (summary["cells"], summary["claims"]) == (36, 11)
    formulas = {"cpq-afcp-drain-rule", "cpq-aicp-a-threshold-shift", "cpq-aicp-b-drop-probability"}
    assert formulas <= set(summary["unexplained"])
    assert summary["claims_held"] <= 8
