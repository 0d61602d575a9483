"""The data of studies/re-ecn: complete, consistent, and understood by the scenario reader."""

import csv
import importlib
import re
import sys
import tomllib
from collections import Counter
from dataclasses import replace

import pytest

from tidegate.studies.checks import KINDS
from tidegate.studies.load import load_study
from tidegate.studies.runner import native_engine

CLAIMS = {
    "functions": 6, "fig5": 1, "fig6": 4, "fig7": 3, "fig8": 6, "fig9": 2, "fig10": 6, "fig11": 3,
    "fig12": 1, "fig13": 1,
}  # fmt: skip

FULL_AT_FIRST = r'(depth = "([^"]+)"), initial = "\2"'
"""What a bucket is where it is not told otherwise."""


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


@pytest.fixture
def search(paper, monkeypatch):
    monkeypatch.syspath_prepend(str(paper.folder))
    for name in ("search", "search_readings"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    found = importlib.import_module("search")
    for name in ("search", "search_readings"):
        del sys.modules[name]
    return found


def test_what_the_search_takes_is_what_is_reproduced(paper, search):
    # The search is as it was run, by the engine of that time.
    with search.ROWS.open(newline="", encoding="utf-8") as file:
        (engine,) = {row["engine"] for row in csv.DictReader(file)}
    rows = search.read(engine)
    assert search.first_of(rows.values()) == search.TAKEN
    searched = search.Task(search.FIGURES, search.TAKEN)
    settings = [
        (setting, searched.applied(setting, name))
        for name in search.EXPERIMENTS[search.CHANGED] + ("fig5", "fig6", "fig7", "fig10", "fig13")
        for series in paper.experiments[name].series.values()
        for setting in series.settings
    ]
    assert len(settings) > 70
    for own, of_search in settings:
        texts = [native_engine(one.base, one.overrides).to_toml() for one in (own, of_search)]
        texts = [re.sub(FULL_AT_FIRST, r"\1", text) for text in texts]
        assert texts[0] == texts[1], own.levels


def test_the_search_shortens_runs_in_proportion(paper, search):
    (setting, *_) = paper.experiments["fig11"].series["tcp"].settings
    shorter = replace(search.TAKEN, length_s=40, start_within_s=3.0)
    applied = search.Task(search.TIMES, shorter).applied(setting, "fig11")
    plan = tomllib.loads(native_engine(applied.base, applied.overrides).to_toml())
    assert (plan["warm_up"], plan["duration"]) == ("4 s", "36 s")
    starts = {name: users["start"] for name, users in plan["users"].items()}
    within = {"from": "0 ns", "to": "3 s"}
    assert starts == {"clients": within, "pages": within, "attack": "20 s"}

    reads = search.Search(1).runner(40).measures.reads
    assert reads["early_bps"].where == {"time_s": {"max": 4}}
    assert reads["before_bps"].where == {"group": "clients", "time_s": {"min": 13, "max": 20}}
    assert reads["response_s"].where["start_s"] == {"min": 24}
    assert reads["response_s"].where["completion_s"] == {"min": 0}
