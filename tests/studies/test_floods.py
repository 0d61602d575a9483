"""What floods and lies gain against re-ECN: the study's data, its judgement, its page."""

import shutil
from pathlib import Path

import pytest

from tidegate.results.tables import run_tables
from tidegate.scenarios.reading import load_scenario
from tidegate.studies.book import Book, Entry
from tidegate.studies.security.__main__ import main
from tidegate.studies.security.field import read_toml
from tidegate.studies.security.floods import (
    BUCKET_BPS,
    DEFENCE,
    GROUPS,
    LIES,
    PHASES,
    TUNNEL,
    Floods,
    entry,
    of_flood,
    of_tunnel,
    study,
)

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "security/re-ecn"
SEEDS = range(1, 7)


@pytest.fixture(scope="module")
def shown():
    return study(FOLDER, Book(FOLDER / "results"))[1]


@pytest.fixture(scope="module")
def floods(shown) -> Floods:
    return shown.floods


def test_each_defence_has_its_stages_and_no_other(floods):
    ends = {"per-flow": {"ingress"}, "per-user": {"ingress"}, "both": {"ingress", "egress"}}
    ends |= {"oversold": ends["both"], "positive": ends["both"]}
    ends |= {"cap": {"ingress"}, "cap-oversold": {"ingress"}}
    for defence in floods.titles("defences"):
        cases = floods.cases(defence)
        assert len(cases) == len(floods.attackers) * len(floods.titles("floods"))
        for case in cases:
            there = {one["name"].split(".")[-2] for one in case.scenario.plan()["stages"]}
            assert there == ends.get(defence, set()), (defence, case.name)
            assert set(case.scenario.groups) == set(GROUPS)


def test_what_was_kept_is_of_these_scenarios_and_holds(floods):
    for defence in floods.titles("defences"):
        kept = floods.book.read(defence)
        for case in floods.cases(defence):
            assert kept[case.name].scenario == case.hash, (defence, case.name)
            assert len(kept[case.name].valid) >= 6
    for book, cases in ((LIES, floods.lies()), (TUNNEL, floods.tunnels())):
        kept = floods.book.read(book)
        assert all(kept[case.name].scenario == case.hash for case in cases)
    assert floods.failures() == []


def test_the_page_says_what_was_kept(shown):
    assert (ROOT / "docs/reecn-security.md").read_text() == shown.page()


def test_numbers_of_a_run_are_those_of_its_phases():
    scenario = load_scenario(FOLDER / "base.toml", set={"users.attack.count": 2})
    found = of_flood(scenario, run_tables(scenario.run(1), scenario))
    assert found["attack_before_bps"] == 0.0
    # What comes in, and what two buckets have at first.
    begin_s, end_s = PHASES["during"]
    held_bps = 2.5e6 + 100e3 * 8 / (end_s - begin_s)
    assert found["attack_during_bps"] == pytest.approx(held_bps, rel=0.02)
    assert found["kept_during"] == pytest.approx(1.0, abs=0.05)
    assert 0.1 < found["response_during_s"] < 0.5


def test_whoever_is_in_a_tunnel_is_the_customers(floods):
    case = next(case for case in floods.tunnels() if case.name == "mixed")
    scenario = case.scenario
    found = of_tunnel(scenario, run_tables(scenario.run(1), scenario))
    assert found["customer_bps"] == pytest.approx(BUCKET_BPS, rel=0.03)
    assert 2.5e6 < found["others_bps"] < BUCKET_BPS
    [gateway] = read_toml(FOLDER / "tunnel.toml")["links"]["g1-r1"]["ingress"]
    assert [one["fill_rate"] for one in gateway["policers"]] == [f"{BUCKET_BPS / 1e6:g} Mb/s"]


def test_each_way_to_share_a_tunnel_is_compared_with_one_that_sends_alike(floods):
    offered = {}
    for case in floods.tunnels():
        groups = [case.scenario.groups[one] for one in case.scenario.user_groups]
        flows = [flow for flow in case.scenario.plan()["flows"] if groups[flow["user"]] != "honest"]
        offered[case.name] = len(flows), len(groups) - 4
    assert offered["downloaders"] == (10, 5)
    assert offered["downloads"] == (10, 1)
    assert offered["flood"] == (1, 1)
    assert offered["floods"] == offered["mixed"] == (5, 5)


def test_who_gains_by_others_in_his_tunnel_and_slow_pages_fail_the_check(tmp_path, floods):
    shutil.copytree(FOLDER, tmp_path / "re-ecn")
    book = Book(tmp_path / "re-ecn/results")
    own = Floods(tmp_path / "re-ecn", floods.content, book)
    entries = book.read(TUNNEL)
    for name, bps in (("downloaders", 3.9e6), ("flood", 4.3e6), ("floods", 4.3e6)):
        runs = [{**run, "customer_bps": bps} for run in entries[name].runs]
        entries[name] = Entry.of(entries[name].scenario, runs)
    book.write(TUNNEL, entries)
    kept = book.read(DEFENCE)
    slow = [{**run, "response_during_s": 0.3} for run in kept["tcp-1"].runs]
    book.write(DEFENCE, kept | {"tcp-1": Entry.of(kept["tcp-1"].scenario, slow)})
    assert own.failures() == [
        "pages take 0.30 ± 0.00 s during ten TCP flows by 1",
        "two downloads each of five users: 3.90 ± 0.00 Mb/s in one tunnel",
        "UDP at 20 Mb/s of one user: 4.30 ± 0.00 Mb/s in one tunnel",
        "UDP at 4 Mb/s each of five users: 4.30 ± 0.00 Mb/s in one tunnel",
    ]


@pytest.mark.parametrize(
    ("kept", "lying_bps", "told"),
    [
        (0.86, 1.04e6, ""),
        (0.84, 1.04e6, "victims keep 0.84 ± 0.00 during UDP by 10"),
        (0.86, 1.20e6, "never positive: 1.20"),
    ],
)
def test_victims_who_lose_and_liars_who_gain_fail_the_check(
    tmp_path, capsys, floods, kept, lying_bps, told
):
    shutil.copytree(FOLDER, tmp_path / "security/re-ecn")
    book = Book(tmp_path / "security/re-ecn/results")
    entries = book.read(DEFENCE)
    name = entry("udp", 10)
    runs = [{**run, "kept_during": kept} for run in entries[name].runs]
    book.write(DEFENCE, entries | {name: Entry.of(entries[name].scenario, runs)})
    lies = book.read(LIES)
    for lie, bps in (("honest", 1e6), ("never", lying_bps)):
        noisy = [{"seed": seed, "cheat_bps": bps * (0.99, 1.01)[seed % 2]} for seed in SEEDS]
        lies[lie] = Entry.of(lies[lie].scenario, noisy)
    for lie in set(floods.titles("strategies")) - {"honest", "never"}:
        lies[lie] = Entry.of(lies[lie].scenario, [{"seed": 1, "cheat_bps": 1e5}])
    book.write(LIES, lies)
    code = main(["re-ecn", "--root", str(tmp_path), "--report", "--check"])
    assert code == (5 if told else 0)
    assert told in capsys.readouterr().err
    assert (tmp_path / "docs/images/reecn-security.png").stat().st_size > 10_000
