"""The table of completion times by size: who is in it, and whose numbers."""

import pytest
from support import SMALL

import tidegate
from tidegate.results.size_grid import size_grids

PAGES = {"kind": "pages", "objects": 5, "size": "20 kB", "off": "0.1 s"}


def test_groups_whose_transfers_differ_in_size_have_a_row_for_each_class():
    result = tidegate.simulate(SMALL, set={"users.light.traffic": PAGES}, replications=1)
    (grid,) = size_grids({"": result})
    rows = result.completions.to_pylist()
    assert [cells[:2] for cells in grid.cells] == [["light", row["size_class"]] for row in rows]
    finished = [float(cells[2]) for cells in grid.cells]
    assert finished == pytest.approx([row["transfers_finished"] for row in rows])
    both = size_grids({"one": result, "other": result})[0]
    assert [cells[0] for cells in both.cells] == ["one"] * len(rows) + ["other"] * len(rows)


def test_transfers_of_one_size_need_no_table():
    one_size = {"kind": "transfer", "size": "20 kB", "pause": "0.1 s"}
    for traffic in ("greedy", one_size):
        result = tidegate.simulate(SMALL, set={"users.light.traffic": traffic}, replications=1)
        assert size_grids({"": result}) == []
