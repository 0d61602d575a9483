"""The search for what the CPQ paper leaves open: what is tried, gone on with, and counted."""

import csv
import importlib
import sys
import tomllib

import pytest

from tidegate.data import data_folder


@pytest.fixture
def search(monkeypatch, tmp_path):
    """The program, with rows that are made up instead of measured."""
    monkeypatch.syspath_prepend(str(data_folder("studies") / "cpq"))
    for name in ("search", "search_page"):
        sys.modules.pop(name, None)
    module = importlib.import_module("search")
    page = importlib.import_module("search_page")
    monkeypatch.setattr(module, "ROWS", tmp_path / "search.csv")
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    monkeypatch.setattr(module.Search, "_fingerprint", lambda _: "engine-1")
    yield module
    for name in ("search", "search_page"):
        sys.modules.pop(name, None)


def made_up(module, measured, value):
    """Rows in which every cell is `value` of a task and a place, to within a thousandth."""

    def row(self, task):
        measured.append(task)
        found = dict.fromkeys(self.places, "")
        for place in self.cells.get(task.mechanism, self.places):
            found[place] = f"{value(self, task, place):.6g}"
        if task.mechanism == "RED":
            found = dict.fromkeys(self.places, "0.5")
        return (
            dict(zip(module.HEAD, (self.engine, *task.key), strict=True))
            | {module.column_of(place): text for place, text in found.items()}
            | {f"{module.column_of(place)} ±": text and "0.001" for place, text in found.items()}
        )

    return row


def test_it_begins_with_what_is_taken(search):
    base = tomllib.loads((data_folder("studies") / "cpq" / "base.toml").read_text(encoding="utf-8"))
    taken = search.TAKEN
    for link in search.LINKS:
        assert base["links"][link]["aqm"] == {
            "kind": "red",
            "min_threshold": f"{taken.min_th} packets",
            "max_threshold": f"{taken.max_th} packets",
            "max_probability": taken.max_p,
            "weight": taken.weight,
            "spacing": taken.spacing,
        }
    one = search.Search()
    for mechanism, readings in search.READINGS.items():
        settings = one.paper.experiments["table2"].series["tcp"].settings
        (setting,) = (s for s in settings if s.levels["mechanism"] == mechanism)
        told = dict(setting.overrides)["links.bottleneck.differentiation"] if readings else None
        parsed = [tomllib.loads(f"x = {text}") for text in readings.values()]
        assert not readings or tomllib.loads(f"x = {told}") in parsed, mechanism


def test_it_goes_on_where_it_was_and_never_mixes_engines(search, monkeypatch):
    measured = []
    monkeypatch.setattr(search.Search, "measured", made_up(search, measured, lambda *_: 1.0))
    tasks = search.tasks([search.TAKEN], whole=False)
    search.do(search.Search(), tasks[:5], 1)
    assert len(measured) == 5
    search.do(search.Search(), tasks, 1)
    assert len(measured) == len(tasks)
    search.do(search.Search(), tasks, 1)
    assert len(measured) == len(tasks)
    monkeypatch.setattr(search.Search, "_fingerprint", lambda _: "engine-2")
    search.do(search.Search(), tasks, 1)
    assert len(measured) == 2 * len(tasks)
    with search.ROWS.open(encoding="utf-8", newline="") as file:
        assert {row["engine"] for row in csv.DictReader(file)} == {"engine-2"}


def test_what_equals_plain_red_is_not_counted_as_told_from_it(search, monkeypatch, tmp_path):
    def value(found, task, place):
        """AFCP-b is RED; all others are as the paper has them."""
        if task.mechanism == "AFCP-b":
            return 0.5
        return found.cells[task.mechanism][place].value

    monkeypatch.setattr(search.Search, "measured", made_up(search, [], value))
    one = search.Search()
    search.do(one, search.tasks([search.TAKEN], whole=False), 2)
    page = sys.modules["search_page"]
    rows = list(search.read(one.engine).values())
    scores = {scored.row["mechanism"]: scored.score for scored in page.scored(one, rows)}
    assert scores["AICP-b"].told == scores["AICP-b"].within == scores["AICP-b"].cells == 10
    assert scores["AFCP-b"].told == 0
    assert page.best_reds(one, rows) == {search.TAKEN: None}
    page.write_page(one, rows)
    text = (tmp_path / "SEARCH.md").read_text(encoding="utf-8")
    assert "| AICP-b | 10 + 0 of 10 |" in text
    assert "nan" not in text
