"""The tables of docs/mobile.md: who has to change what, and what it gains."""

import copy

import pytest
from support import ROOT

from tidegate.errors import UsageError
from tidegate.studies.mobile import filled, main, measure, mechanisms, read_rows, tables

FOLDER = ROOT / "studies/mobile"


@pytest.fixture(scope="module")
def wanted():
    return mechanisms(FOLDER)


@pytest.fixture(scope="module")
def rows():
    return read_rows(FOLDER / "results.csv")


def test_the_page_has_what_was_measured_of_each_mechanism(wanted, rows):
    page = (ROOT / "docs/mobile.md").read_text()
    assert filled(page, tables(wanted, rows)) == page
    assert [row.mechanism for row in rows if row.study == "network"] == [
        one["name"] for one in wanted["network"]["mechanism"]
    ]
    for study in ("errors", "radio"):
        levels = [f"{level:g}" for level in wanted[study]["levels"]]
        assert {row.level for row in rows if row.study == study} == set(levels)


def test_what_is_kept_is_what_runs_come_to_today(wanted, rows):
    few = copy.deepcopy(wanted)
    for study in ("network", "errors"):
        few[study]["mechanism"] = [
            one for one in few[study]["mechanism"] if one["name"].startswith("infrastructure")
        ][:1]
    few["errors"]["levels"] = [0.01]
    few["radio"]["levels"] = [0.001]
    few["radio"]["mechanism"] = [
        one for one in few["radio"]["mechanism"] if one["name"] == "told as congestion"
    ]
    kept = {(row.study, row.mechanism, row.level): row.cells() for row in rows}
    for row in measure(ROOT, few):
        assert row.cells() == kept[row.study, row.mechanism, row.level]


def test_each_mechanism_that_polices_holds_the_flood_and_no_other_does(rows):
    network = {row.mechanism.split()[0]: row for row in rows if row.study == "network"}
    assert all(network[name].kept < 0.1 for name in ("nothing", "tunnels"))
    others = [row for name, row in network.items() if name not in ("nothing", "tunnels")]
    assert len(others) == 5
    assert all(row.kept > 0.8 and row.flood.mean < 7.5e6 for row in others)


def test_what_is_told_as_congestion_is_charged_and_what_is_repaired_is_not_felt(rows):
    at = {(row.mechanism, row.level): row for row in rows if row.study == "radio"}
    apart, charged, repaired = (
        at[name, "0.01"].flood.mean for name in ("told apart", "told as congestion", "repaired")
    )
    assert charged < 0.5 * apart < 0.5 * repaired
    none, some = (at["repaired", level].victims for level in ("0", "0.01"))
    assert none == some


def test_a_page_without_a_place_for_a_table_is_told():
    with pytest.raises(UsageError, match="no place for the table 'errors'"):
        filled("nothing here", {"errors": "|"})


def test_tables_are_written_anew_into_the_page_alone(tmp_path, rows):
    (tmp_path / "studies/mobile").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    for file in ("studies/mobile/mechanisms.toml", "studies/mobile/results.csv"):
        (tmp_path / file).write_text((ROOT / file).read_text())
    page = tmp_path / "docs/mobile.md"
    empty = "a\n<!-- table: {} -->\n<!-- end -->\nb\n"
    page.write_text("".join(map(empty.format, ("mechanisms", "errors", "radio"))))
    assert main(["--report", "--root", str(tmp_path)]) == 0
    text = page.read_text()
    assert text.startswith("a\n")
    assert text.endswith("b\n")
    assert len(text.splitlines()) > len(rows) / 5 + 12
