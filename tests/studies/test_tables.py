"""Tables of what was measured."""

from types import SimpleNamespace

from tidegate.studies.points import Point, Points
from tidegate.studies.report.tables import tables_of

from .synthetic import estimate

MEASURED = Points({
    ("fig", "calls"): [
        Point({"load": load, "control": control}, {"blocked": estimate(share), "used": estimate(9)})
        for load, control, share in ((540, "a", 0.2), (540, "b", 0.3), (460, "a", 0.1))
    ]
})  # fmt: skip
ROWS = {"caption": "Blocked.", "series": ["calls"], "row": {"load": "Erlang"}, "digits": 1}


def shown(**spec):
    experiment = SimpleNamespace(name="fig", title="", tables=[{**ROWS, **spec}], factors={})
    (text,) = tables_of(experiment, MEASURED)
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]


def test_a_row_for_each_level_and_a_column_for_each_of_another():
    head, _, low, high = shown(
        columns=["control"], column_name="{control}", metric="blocked", scale=100
    )
    assert head == ["Erlang", "a", "b"]
    assert [low[0], low[1].split()[0]] == ["460", "10.0"], (
        "in their order; no run is at this point of b"
    )
    assert [high[0], *(one.split()[0] for one in high[1:])] == ["540", "20.0", "30.0"]


def test_several_metrics_have_a_column_each():
    head, _, row, *_ = shown(metrics={"used": "utilisation", "nothing": "of no run"})
    assert head == ["Erlang", "utilisation"]
    assert row[1].startswith("9.0")


def test_a_value_over_nothing_is_a_dash():
    over = estimate(0.2).over(estimate(0.0))
    points = Points({("fig", "calls"): [Point({"load": 540}, {"blocked": over})]})
    table = {**ROWS, "metrics": {"blocked": "share"}}
    experiment = SimpleNamespace(name="fig", title="", tables=[table], factors={})
    (text,) = tables_of(experiment, points)
    assert text.splitlines()[-1] == "| 540 | - |"


def test_rows_of_several_factors_stand_in_the_order_of_each():
    head, _, *rows = shown(
        row={"control": "control", "load": "Erlang"},
        column=[{"name": "used", "metric": "used", "digits": 0}],
    )
    assert head == ["control", "Erlang", "used"]
    assert [row[:2] for row in rows] == [["a", "460"], ["a", "540"], ["b", "540"]]


def test_points_are_counted_and_left_out_by_their_metrics():
    count = {"name": "low", "count": {"blocked": {"max": 0.1}}}
    all_of_it = {"name": "all", "count": {}, "having": {"blocked": {"min": 0.15}}}
    _, _, a, b = shown(row={"control": "control"}, column=[count, all_of_it])
    assert (a, b) == (["a", "1 of 2", "1"], ["b", "0 of 1", "1"])
    _, _, *rows = shown(having={"blocked": {"min": 0.15}}, column=[count])
    assert rows == [["540", "0 of 2"]]


def test_a_value_of_several_points_and_the_level_where_it_is():
    head, _, low, high = shown(
        column=[
            {"name": "most", "metric": "blocked", "derive": {"max": "control"}, "place": "control"},
            {"name": "mean", "metric": "blocked", "derive": {"mean": "control"}, "interval": False},
            {"name": "nothing", "metric": "of no run"},
        ]
    )
    assert head == ["Erlang", "most", "mean"]
    assert low[1:] == ["0.1 (a)", "0.1"]
    assert high[1:] == ["0.3 (b)", "0.2"]


def test_rows_may_be_named_and_have_the_points_of_several_levels():
    most = {"name": "most", "metric": "blocked", "derive": {"max": "all"}}
    _, _, *rows = shown(
        row={"control": "control"},
        rows={"both": {"like": "[ab]"}, "first": "a", "none": "c"},
        column=[most, {"name": "points", "count": {}}],
    )
    assert [row[0] for row in rows] == ["both", "first", "none"]
    assert rows[0][1:] == ["0.3", "3"]
    assert rows[1][1:] == ["0.2", "2"]
