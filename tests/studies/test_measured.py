"""Points of a series that was measured elsewhere."""

import csv

import pytest

from tidegate.data import data_folder
from tidegate.results.statistics import Estimate
from tidegate.studies.errors import ReproductionError
from tidegate.studies.load import _Reader
from tidegate.studies.metrics import Measures
from tidegate.studies.numbers import Numbers
from tidegate.studies.points import Points, fill
from tidegate.studies.runner import Runner
from tidegate.studies.sides.measured import measured

TABLE = """case,gamma,metric,mean,ci95,runs,kernel,machine
a,1,ratio,2.5,0.25,5,6.12,two cores
a,1,ratio_least,2.0,,,6.12,two cores
b,1,ratio,4.0,nan,1,6.12,two cores
"""


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "lab.csv"
    file.write_text(TABLE)
    return file


def series(folder, **entry):
    reader = _Reader(folder, {}, {}, 3, {}, {}, frozenset(), False, False, Numbers())
    factors = {"case": ["a", "b"], "gamma": [1]}
    return reader.series("linux", {"setup": "", "factors": factors, **entry}, {})


def test_a_point_has_the_numbers_of_its_levels(table):
    found = measured(table, {"case": "a", "gamma": 1})
    assert found == {"ratio": Estimate(2.5, 0.25, 5), "ratio_least": Estimate(2.0)}


def test_a_series_of_a_side_takes_its_points_from_the_table_and_runs_nothing(table):
    def engine(_text, _overrides):
        raise AssertionError

    linux = series(table.parent, side="lab", measured="lab.csv")
    points = Points()
    fill(points, {("e", "linux"): linux}, Runner(engine, Measures()), 1)
    assert not linux.simulated
    assert [one.metrics["ratio"].mean for one in points.series(("e", "linux"))] == [2.5, 4.0]


@pytest.mark.parametrize("levels", [{"case": "c", "gamma": 1}, {"case": "a"}])
def test_a_point_that_was_not_measured_is_an_error(table, levels):
    with pytest.raises(ReproductionError, match="nothing measured"):
        measured(table, levels)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (TABLE + "a,1,ratio,3.0,0.1,5,,\n", ":5: ratio of .* once more"),
        (TABLE.replace("2.5", "much"), ":2: could not convert"),
        (TABLE.replace("ci95", "half"), "no column ci95"),
    ],
)
def test_a_table_that_cannot_be_read_is_an_error(table, text, error):
    table.write_text(text)
    with pytest.raises(ReproductionError, match=error):
        measured(table, {"case": "a", "gamma": 1})


def test_a_table_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(ReproductionError, match="No such file"):
        measured(tmp_path / "none.csv", {"case": "a"})


@pytest.mark.parametrize("entry", [{"side": "moon", "measured": "lab.csv"}, {"side": "lab"}])
def test_a_side_has_to_be_known_and_to_have_a_table(tmp_path, entry):
    with pytest.raises(ReproductionError, match="one of lab, kernel, uml, ns2, paper"):
        series(tmp_path, **entry)


TABLES = sorted(data_folder("studies").glob("*/measured/*.csv"))


@pytest.mark.parametrize("file", TABLES, ids=lambda file: file.stem)
def test_each_kept_table_has_each_number_once(file):
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    points = {
        tuple((name, row[name]) for name in list(row)[: list(row).index("metric")]) for row in rows
    }
    assert sum(len(measured(file, dict(point))) for point in points) == len(rows)


@pytest.mark.parametrize(
    ("table", "scenarios"),
    [
        ("ns2", "ns2"),
        ("lab", "."),
        ("first-kernel", "."),
        ("uml", "held-out"),
    ],
)
def test_all_scenarios_of_a_folder_were_measured(table, scenarios):
    folder = data_folder("studies") / "fidelity"
    for file in (folder / scenarios).glob("[0-9]*.toml"):
        assert measured(folder / "measured" / f"{table}.csv", {"case": file.stem})
