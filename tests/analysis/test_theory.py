"""Predictions beside simulations."""

import csv

import pytest
from support import ROOT

import tidegate
from tidegate.analysis import beside_theory, theory
from tidegate.errors import AnalysisError

PARKING_LOT = ROOT / "scenarios/parking-lot.toml"


@pytest.fixture(scope="module")
def result():
    return tidegate.simulate(PARKING_LOT, replications=2)


def test_three_links_in_a_row_are_as_predicted(result):
    """Reno-friendly CUBIC over RED: rates, queues and round trips, which nothing was fitted to."""
    rows = [row for row in beside_theory(result).to_pylist() if row["predicted"] is not None]
    assert {row["metric"] for row in rows} >= {"throughput_bps", "mean_backlog_packets"}
    assert {row["name"] for row in rows} == {
        "long", "first", "second", "third", "r0-r1", "r1-r2", "r2-r3",
    }  # fmt: skip
    for row in rows:
        if row["metric"] in ("throughput_bps", "mean_backlog_packets"):
            limit = 0.2 if row["name"] == "long" else 0.1
            assert abs(row["deviation"]) < limit, row


def test_a_deviation_is_a_share_of_what_is_predicted(result):
    for row in beside_theory(result).to_pylist():
        if row["predicted"] is None:
            assert row["deviation"] is None
        else:
            assert row["mean"] == pytest.approx(row["predicted"] * (1 + row["deviation"]))


def test_without_a_model_there_is_a_sentence():
    with pytest.raises(AnalysisError, match="drop-tail"):
        theory(tidegate.load_scenario(ROOT / "scenarios/two-rtts.toml"))


def test_the_command_adds_columns_rows_and_lines(tidegate_command):
    options = ("--theory", "--no-save", "-r", "1")
    found = tidegate_command.json("simulate", PARKING_LOT, *options)
    assert found["theory"]["model"].startswith("several bottlenecks")
    [row] = [
        row for row in found["summary"]
        if (row["name"], row["metric"]) == ("first", "throughput_bps")
    ]  # fmt: skip
    assert row["predicted"] == pytest.approx(5.59e6, rel=0.01)
    reported = tidegate_command("simulate", PARKING_LOT, *options, "--format", "csv").stdout
    rows = list(csv.DictReader(reported.splitlines()))
    assert any(row["predicted"] and row["deviation"] for row in rows)
    codel = ("--set", "bottleneck.differentiation.kind=none", "--set", "bottleneck.aqm.kind=codel")
    done = tidegate_command("simulate", "small.toml", *codel, *options)
    assert done.returncode == 0, done.stderr
    assert "nothing is predicted: bottleneck.aqm: codel" in done.stderr
