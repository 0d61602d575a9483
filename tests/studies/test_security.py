"""What lying about congestion gains: the study's data, its judgement, its page."""

import shutil
from pathlib import Path

import pytest

from tidegate import load_scenario
from tidegate.results.tables import run_tables
from tidegate.studies.book import Book, Entry
from tidegate.studies.security.__main__ import main
from tidegate.studies.security.field import AUDITED, GROUPS, HONEST, entry, read
from tidegate.studies.security.measures import of_run
from tidegate.studies.security.page import page
from tidegate.studies.security.verdicts import Findings

ROOT = Path(__file__).resolve().parents[2]
SEEDS = range(1, 13)


@pytest.fixture(scope="module")
def field():
    return read(ROOT / "security")


@pytest.fixture(scope="module")
def kept(field):
    return Findings(field, Book(ROOT / "security/results"))


def stages(scenario, end):
    return [one for one in scenario.plan()["stages"] if f".{end}." in one["name"]]


def test_each_defence_is_there_and_nothing_else(field):
    for defence, policed, audited in (
        ("none", False, False), ("policer", True, False), (AUDITED, True, True),
    ):  # fmt: skip
        cases = field.gains(defence)
        assert len(cases) == len(field.sizes) * len(field.titles("strategies"))
        for case in cases:
            assert bool(stages(case.scenario, "ingress")) == policed, case.name
            assert bool(stages(case.scenario, "egress")) == audited, case.name
    for case in field.audited():
        assert not stages(case.scenario, "ingress")
        assert stages(case.scenario, "egress")


def test_the_liar_has_as_many_flows_as_his_column_says(field):
    for case in field.gains("none"):
        size = int(case.name.rpartition("-")[2])
        scenario = case.scenario
        of_group = [scenario.groups[number] for number in scenario.user_groups]
        flows = [of_group[flow["user"]] for flow in scenario.plan()["flows"]]
        assert sum(group not in ("honest", "light") for group in flows) == size, case.name
        assert set(GROUPS) <= set(scenario.groups)


def test_what_was_kept_is_of_these_scenarios_and_no_lie_gains(field, kept):
    for case in [*field.gains(AUDITED), *field.audited()]:
        assert kept.book.read(case.book)[case.name].scenario == case.hash, case.name
        assert len(kept.book.read(case.book)[case.name].valid) >= 10
    assert kept.failures() == []


def test_lies_pay_beside_who_stays_far_over_his_allowance_and_the_page_says_so(field, kept):
    few = field.sizes[0]
    paying = kept.pays_beside_as_many()
    assert paying
    assert str(few) not in {flows for _, flows, _, _ in paying}


def test_every_strategy_is_measured_by_one_that_sends_alike(field):
    def answers(strategy):
        given = field.content["strategies"][strategy].get("set", {})
        return given.get("users.cheat.traffic", {}).get("kind") != "cbr"

    for strategy in field.titles("strategies"):
        assert answers(strategy) == answers(field.honest_of(strategy)), strategy


def test_the_page_says_what_was_kept(kept):
    assert (ROOT / "docs/conex-security.md").read_text() == page(ROOT / "security/page.md", kept)


def test_an_honest_flow_as_cover_counts_as_the_liars():
    base = (ROOT / "security/base.toml").read_text()
    settings = {"users.cheat.flows": 3, "warm_up": "0 s", "duration": "1 s"}
    scenario = load_scenario(
        base, set=settings, add={"users.cover.flows": 1, "users.cover.hosts": "cheat"}
    )
    lost = []
    for seed in range(1, 6):
        tables = run_tables(scenario.run(seed), scenario)
        found = of_run(scenario, tables)
        rows = tables["flows"].to_pylist()
        own = sum(row["goodput_bps"] for row in rows if row["group"] in ("cheat", "cover"))
        assert found["cheat_bps"] == pytest.approx(own)
        lost.append(found["lost_to_auditor"])
    # Eighty flows are in slow start at once: a round trip has more marks than their credit covers.
    assert all(0.0 <= share < 0.05 for share in lost)
    assert sum(lost) / len(lost) < 0.01


@pytest.fixture
def checkout(tmp_path, field):
    """A study of which everything was run, and nobody gains."""
    shutil.copytree(ROOT / "security", tmp_path / "security")
    book = Book(tmp_path / "security/results")
    for defence in field.titles("defences"):
        book.write(defence, {case.name: runs(case.hash, 1e6) for case in field.gains(defence)})
    book.write(HONEST, {case.name: runs(case.hash, 1e6) for case in field.audited()})
    return tmp_path


def runs(scenario, cheat_bps, lost=0.0, declared_of_met=1.2, refused=0.0):
    noise = [0.99, 1.01] * 6
    of_each = [
        {
            "seed": seed,
            "cheat_bps": cheat_bps * factor,
            "lost_to_auditor": lost,
            "declared_of_met": declared_of_met,
            "refused": refused,
        }
        for seed, factor in zip(SEEDS, noise, strict=True)
    ]
    return Entry.of(scenario, of_each)


@pytest.mark.parametrize(
    ("name", "found", "told"),
    [
        (entry("never", 16), {"cheat_bps": 1.04e6}, ""),
        (
            entry("never", 16),
            {"cheat_bps": 1.20e6},
            "never with 16 flows gets 1.20 ± 0.01 of what honest gets with as many flows or fewer",
        ),
        (
            entry("blind-5", 4),
            {"cheat_bps": 1.20e6},
            "blind-5 with 4 flows gets 1.20 ± 0.01 of what honest-udp gets",
        ),
        # Who insists on more flows than he may have is no measure of who lies with as many.
        (entry("honest", 16), {"cheat_bps": 0.1e6}, ""),
        (
            entry("never", 16),
            {"cheat_bps": 0.0, "lost": 0.002},
            "beside never with 16 flows honest users lose 0.200 %",
        ),
        (
            entry("honest-udp", 4),
            {"cheat_bps": 1e6, "declared_of_met": 0.9},
            "honest-udp declares 0.90 ± 0.00 of the marks that it meets",
        ),
        (
            entry("honest-udp", 4),
            {"cheat_bps": 1e6, "refused": 0.01},
            "honest-udp loses 1.000 % of its packets to policers",
        ),
    ],
)
def test_a_liar_who_gains_and_honest_users_who_lose_or_lie_fail_the_check(
    checkout, capsys, name, found, told
):
    book = Book(checkout / "security/results")
    entries = book.read(AUDITED)
    entries[name] = runs(entries[name].scenario, **found)
    book.write(AUDITED, entries)
    code = main(["--root", str(checkout), "--report", "--check"])
    said = capsys.readouterr().err
    assert code == (5 if told else 0)
    assert told in said
    written = (checkout / "docs/conex-security.md").read_text()
    assert ("Does not hold" in written) == bool(told)
    assert (checkout / "docs/images/conex-security.png").stat().st_size > 10_000
