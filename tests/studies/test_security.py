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
from tidegate.studies.security.verdicts import LOST, Findings

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
            assert bool(stages(case.scenario, "entry")) == policed, case.name
            assert bool(stages(case.scenario, "exit")) == audited, case.name
    for case in field.audited():
        assert not stages(case.scenario, "entry")
        assert stages(case.scenario, "exit")


def test_the_liar_has_as_many_flows_as_his_column_says(field):
    for case in field.gains("none"):
        size = int(case.name.rpartition("-")[2])
        scenario = case.scenario
        of_group = [scenario.groups[number] for number in scenario.user_groups]
        flows = [of_group[flow["user"]] for flow in scenario.plan()["flows"]]
        assert sum(group not in ("honest", "light") for group in flows) == size, case.name
        assert set(GROUPS) <= set(scenario.groups)


def test_what_was_kept_is_of_these_scenarios_and_fails_beside_who_is_far_over_his_allowance(
    field, kept
):
    for case in [*field.gains(AUDITED), *field.audited()]:
        assert kept.book.read(case.book)[case.name].scenario == case.hash, case.name
        assert len(kept.book.read(case.book)[case.name].valid) >= 10
    # Over four honest flows no lie gains, but who answers to nothing and pays for what he meets
    # does; over sixteen, whose user gets next to nothing, seven do.
    failed = kept.failures()
    beside_sixteen = [one.endswith("of what an honest user with 16 gets") for one in failed]
    assert (len(failed), sum(beside_sixteen)) == (8, 7)
    assert failed[beside_sixteen.index(False)].startswith("blind-10 with 4 flows gets 2.")


def test_the_page_says_what_was_kept(kept):
    assert (ROOT / "docs/conex-security.md").read_text() == page(ROOT / "security/page.md", kept)


def test_an_honest_flow_as_cover_counts_as_the_liars():
    base = (ROOT / "security/base.toml").read_text()
    settings = {"users.cheat.flows": 3, "warm_up": "0 s", "duration": "1 s"}
    scenario = load_scenario(
        base, set=settings, add={"users.cover.flows": 1, "users.cover.hosts": "cheat"}
    )
    tables = run_tables(scenario.run(1), scenario)
    found = of_run(scenario, tables)
    rows = tables["flows"].to_pylist()
    own = sum(row["goodput_bps"] for row in rows if row["group"] in ("cheat", "cover"))
    assert found["cheat_bps"] == pytest.approx(own)
    assert 0.0 <= found["lost_to_auditor"] < LOST, "eighty flows in slow start at once"


@pytest.fixture
def checkout(tmp_path, field):
    """A study of which everything was run, and nobody gains."""
    shutil.copytree(ROOT / "security", tmp_path / "security")
    book = Book(tmp_path / "security/results")
    for defence in field.titles("defences"):
        book.write(defence, {case.name: runs(case.hash, 1e6) for case in field.gains(defence)})
    book.write(HONEST, {case.name: runs(case.hash, 1e6) for case in field.audited()})
    return tmp_path


def runs(scenario, cheat_bps, lost=0.0):
    noise = [0.99, 1.01] * 6
    of_each = [
        {"seed": seed, "cheat_bps": cheat_bps * factor, "lost_to_auditor": lost}
        for seed, factor in zip(SEEDS, noise, strict=True)
    ]
    return Entry.of(scenario, of_each)


@pytest.mark.parametrize(
    ("cheat_bps", "lost", "told"),
    [
        (1.04e6, 0.0, ""),
        (1.20e6, 0.0, "never with 16 flows gets 1.20 ± 0.01 of what an honest user with 4 gets"),
        (1.20e6, 0.0, "never with 16 flows gets 1.20 ± 0.01 of what an honest user with 16 gets"),
        (0.0, 0.002, "beside never with 16 flows honest users lose 0.200 %"),
    ],
)
def test_a_liar_who_gains_and_honest_users_who_lose_fail_the_check(
    checkout, capsys, cheat_bps, lost, told
):
    book = Book(checkout / "security/results")
    entries = book.read(AUDITED)
    name = entry("never", 16)
    entries[name] = runs(entries[name].scenario, cheat_bps, lost)
    book.write(AUDITED, entries)
    code = main(["--root", str(checkout), "--report", "--check"])
    said = capsys.readouterr().err
    assert code == (5 if told else 0)
    assert told in said
    written = (checkout / "docs/conex-security.md").read_text()
    assert ("Does not hold" in written) == bool(told)
    assert (checkout / "docs/images/conex-security.png").stat().st_size > 10_000
