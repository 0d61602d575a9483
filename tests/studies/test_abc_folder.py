"""The data of studies/abc: complete, consistent, and understood by the scenario reader."""

from collections import Counter

import pytest

from tidegate.studies.checks import KINDS
from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine


@pytest.fixture(scope="module")
def paper():
    return load_study("abc")


def test_all_194_cells_belong_to_the_six_tables(paper):
    cells = {name: len(e.cells) for name, e in paper.experiments.items() if e.cells}
    assert cells == {
        "table2": 24, "table3": 24, "table4": 24, "table5": 36, "table6": 30, "table7": 56,
    }  # fmt: skip


def test_each_of_the_80_claims_belongs_to_one_experiment(paper):
    claims = Counter(claim.id for e in paper.experiments.values() for claim in e.claims)
    published = (paper.folder / "claims.toml").read_text(encoding="utf-8")
    assert len(claims) == published.count("[[claim]]") == 80
    assert set(claims.values()) == {1}


def test_claims_per_experiment(paper):
    assert {name: len(e.claims) for name, e in paper.experiments.items()} == {
        "fig1": 11, "fig2": 3, "fig3": 12, "fig4": 3, "three-users": 3, "independence": 2,
        "utilization": 1, "table2": 7, "table3": 1, "fig6": 6, "weights": 2, "granularity": 2,
        "table4": 7, "table5": 4, "table6": 3, "table7": 7, "fig7": 6,
    }  # fmt: skip


def test_every_kind_of_check_is_known(paper):
    kinds = {claim.check["kind"] for e in paper.experiments.values() for claim in e.claims}
    assert kinds <= set(KINDS)


def test_every_cell_has_one_point_that_is_simulated(paper):
    for experiment in paper.experiments.values():
        for cell in experiment.cells:
            points = [
                setting
                for series in experiment.series.values()
                for setting in series.settings
                if series.model is None
                and all(setting.levels.get(k) == v for k, v in cell.levels.items())
            ]
            assert len(points) == 1, cell.id


def test_paper_counts(paper):
    replications = {
        (name, series.name): series.replications
        for name, e in paper.experiments.items()
        for series in e.series.values()
        if series.model is None and name != "fig1"  # one deterministic sender: one run
    }
    cbr_alone = {key for key, runs in replications.items() if runs == 100}
    assert cbr_alone == {
        ("fig3", "simulation"),
        ("fig3", "simulation-without-abc"),
        ("granularity", "cbr-simulated"),
    }  # fmt: skip
    assert {runs for key, runs in replications.items() if key not in cbr_alone} == {50}


def test_every_point_is_a_valid_scenario(paper):
    for experiment in [*paper.experiments.values(), paper.sensitivity]:
        for series in experiment.series.values():
            for setting in series.settings:
                if series.model is None:
                    native_engine(setting.base, list(setting.overrides))


def test_levels_reach_the_scenario(paper):
    def resolved(experiment, **levels):
        settings = paper.experiments[experiment].series["tcp"].settings
        (setting,) = [s for s in settings if levels.items() <= s.levels.items()]
        return native_engine(setting.base, list(setting.overrides)).to_toml()

    table5 = resolved("table5", D_b_ms=50, ecn="on", Q_max_pkts=24, u_0=3)
    assert "24 packets" in table5
    assert "50 ms" in table5
    table7 = resolved("table7", D_b_ms=5, abc="yes", burst_allowance_MB=1.25, f_1=4, u_1=20)
    assert "1.25 MB" in table7 or "1250000" in table7 or "1250 kB" in table7
