"""The congestion pricing dissertation: what is read of it, and what it comes to."""

from collections import Counter

import pytest

from tidegate.errors import UsageError
from tidegate.scenarios.reading import parse
from tidegate.studies import reproduce as reproduction
from tidegate.studies.checks import KINDS
from tidegate.studies.load import load_study

CLAIMS = {
    "formulas": 11,
    "fig2.4.4": 2,
    "table5.4.1": 27,
    "fig4.3.6": 16,
    "table4.4.3": 0,
    "table4.4.4": 0,
    "table5.2.2": 0,
    "table5.2.3": 0,
    "fig4.4.3": 25,
    "fig5.4.4": 4,
    "table5.5.1": 7,
    "fig5.6.1": 5,
    "table5.6.1": 6,
    "table5.6.2": 3,
    "table5.6.3": 3,
    "table6.6.2": 10,
    "fig6.6.5": 4,
    "fig6.6.8": 4,
    "fig6.7.1": 2,
    "fig6.6.12": 3,
    "fig6.7.2": 3,
    "fig6.7.5": 8,
    "fig7.2.3": 5,
    "fig7.2.4": 4,
    "calls-parking-lot": 2,
    "fig7.3.3": 4,
    "fig7.3.4": 7,
    "queues-for-calls": 0,
    "a-third-lost": 0,
    "calls-that-adapt": 0,
    "flapping": 0,
    "who-pays": 0,
}


@pytest.fixture(scope="module")
def paper():
    return load_study("pricing")


def test_the_table_has_146_numbers_14_of_them_on_one_side_of_the_grid(paper):
    metrics = Counter(cell.metric for cell in paper.experiments["table6.6.2"].cells)
    assert metrics == {"critical_delay": 66, "critical_frequency": 66, "side_of_the_grid": 14}


def test_each_claim_belongs_to_one_experiment(paper):
    assert {name: len(e.claims) for name, e in paper.experiments.items()} == CLAIMS
    claims = Counter(claim.id for e in paper.experiments.values() for claim in e.claims)
    assert set(claims.values()) == {1}
    for experiment in paper.experiments.values():
        for claim in experiment.claims:
            kinds = {part.get("check", {}).get("kind", claim.check["kind"]) for part in claim.parts}
            assert kinds <= set(KINDS), claim.id


@pytest.mark.parametrize(
    ("name", "held", "explained"),
    [
        ("formulas", 11, []),
        ("table5.5.1", 7, []),
        ("fig5.6.1", 5, []),
        ("fig6.6.5", 3, ["cp-fig6.6.5-b0-little-effect"]),
    ],
)
def test_what_is_quickly_computed_holds(name, held, explained):
    [whole] = reproduction.reproduce(f"pricing/{name}", write=False)
    [summary] = whole.summaries
    assert (summary["claims_held"], summary["explained"], summary["unexplained"]) == (
        held,
        explained,
        [],
    )
    assert summary["part"] == "analysis"


def test_the_table_agrees_but_for_four_of_its_146_numbers():
    [whole] = reproduction.reproduce("pricing/table6.6.2", write=False)
    [summary] = whole.summaries
    assert (summary["cells"], summary["cells_within"]) == (146, 142)
    assert (summary["claims"], summary["claims_held"]) == (10, 10)


def test_a_part_is_all_its_experiments(paper):
    sets = (
        "there are analysis, simulation, chapters-4-5, parking-lot, chapter-6, chapter-7, "
        "calls-beyond, formulas"
    )
    with pytest.raises(UsageError, match=sets):
        reproduction.reproduce("pricing/nothing", write=False)
    parts = {name: experiment.part for name, experiment in paper.experiments.items()}
    assert set(parts.values()) == {"analysis", "simulation"}
    simulated = {name for name, part in parts.items() if part == "simulation"}
    assert simulated == {
        *("fig2.4.4", "table5.4.1", "fig4.3.6", "fig4.4.3", "fig5.4.4"),
        *("table4.4.3", "table4.4.4", "table5.2.2", "table5.2.3"),
        *("table5.6.1", "table5.6.2", "table5.6.3"),
        *("fig6.6.12", "fig6.7.2", "fig6.7.5"),
        *("fig7.2.3", "fig7.2.4", "calls-parking-lot", "fig7.3.3", "fig7.3.4"),
        *("queues-for-calls", "a-third-lost", "calls-that-adapt", "flapping", "who-pays"),
    }


def test_every_scenario_of_calls_and_films_can_be_run(paper):
    for name, experiment in paper.experiments.items():
        if name.startswith("fig7.") or experiment.page == "calls-beyond":
            for series in experiment.series.values():
                for setting in series.settings if series.simulated else ():
                    parse(setting.base, setting.overrides)


def test_explicit_prices_in_the_parking_lot_come_to_the_printed_numbers():
    [whole] = reproduction.reproduce("pricing/table4.4.3", quick=True, write=False)
    [summary] = whole.summaries
    assert (summary["cells"], summary["cells_within"]) == (10, 10)
