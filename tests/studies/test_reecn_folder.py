"""The data of studies/re-ecn: complete, consistent, and understood by the scenario reader."""

import csv
import tomllib
from collections import Counter

import pytest

from tidegate.studies.checks import KINDS
from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine

CLAIMS = {
    "functions": 6, "fig5": 1, "fig6": 4, "fig7": 3, "fig8": 6, "fig9": 2, "fig10": 6, "fig11": 3,
    "fig12": 1, "fig13": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def paper():
    return load_study("re-ecn")


def test_each_claim_belongs_to_one_experiment(paper):
    claims = Counter(claim.id for one in paper.experiments.values() for claim in one.claims)
    assert set(claims.values()) == {1}
    assert {name: len(one.claims) for name, one in paper.experiments.items()} == CLAIMS
    published = (paper.folder / "claims.toml").read_text(encoding="utf-8")
    assert published.count("[[claim]]") == sum(CLAIMS.values()) == 33


def test_kinds_of_checks_are_known(paper):
    for experiment in paper.experiments.values():
        for claim in experiment.claims:
            kinds = {part.get("check", {}).get("kind", claim.check["kind"]) for part in claim.parts}
            assert kinds <= set(KINDS), claim.id


def test_every_point_is_a_scenario(paper):
    texts = {
        native_engine(setting.base, setting.overrides).to_toml()
        for experiment in paper.experiments.values()
        for series in experiment.series.values()
        for setting in (series.settings if series.simulated else ())
    }
    assert len(texts) > 70


def test_mechanisms_differ_in_what_they_are(paper):
    scenarios = {
        setting.levels["mechanism"]: native_engine(setting.base, setting.overrides).to_toml()
        for setting in paper.experiments["fig8"].series["tcp"].settings
    }
    having = {
        part: {name for name, text in scenarios.items() if part in text}
        for part in (
            'kind = "red"',
            "re-ecn-policer",
            "re-ecn-dropper",
            'conex = { kind = "re-ecn"',
        )
    }
    assert having.pop('kind = "red"') == {"RED", "ECN", "Re-ECN"}
    assert all(names == {"Re-ECN"} for names in having.values()), having


def test_the_base_is_the_row_of_the_search_that_holds_most(paper):
    with (paper.folder / "search.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["stage"] == "again"]
    best = max(rows, key=lambda row: (int(row["held"]), float(row["parts"])))
    base = tomllib.loads((paper.folder / "base.toml").read_text(encoding="utf-8"))
    clients = base["users"]["clients"]
    (policer,) = (
        stage
        for value in clients.values() if isinstance(value, list)
        for stage in value if isinstance(stage, dict)
    )  # fmt: skip
    link = base["links"]["bottleneck"]
    buffer = int(best["buffer"])
    low, high = (
        buffer // {"tenth": 10, "half": 2}[part] for part in best["thresholds"].split(" and ")
    )
    assert link["buffer"] == f"{buffer} packets"
    assert link["aqm"]["min_threshold"] == f"{low} packets"
    assert link["aqm"]["max_threshold"] == f"{high} packets"
    assert link["aqm"]["max_probability"] == float(best["p_max"])
    assert base["links"]["cell"]["delay"] == f"{best['air_ms']} ms"
    wired = [name for name in base["links"] if name != "cell"]
    assert len(wired) == int(best["routers"]) + 1
    share_kbps = 50_000 / 10
    assert policer["fill_rate"] == f"{float(best['rate']) * share_kbps:.0f} kb/s"
    assert policer["depth"] == f"{float(best['depth_s']) * share_kbps / 8:.0f} kB"
    assert policer.get("initial", policer["depth"]) == policer["depth"]
    assert best["start_s"] == best["depth_s"]
    assert (base["warm_up"], base["duration"]) == ("10 s", f"{int(best['length_s']) - 10} s")
    assert clients["start"] == {"from": "0 s", "to": f"{float(best['start_within_s']):.0f} s"}
