"""Completion times by size, and those of blocks."""

import math

import numpy as np
import pytest
from support import ROOT

import tidegate
from tidegate.results.completions import by_size


def test_blocks_last_from_the_first_start_to_the_last_end():
    """Three blocks of two flows, of which the last has not ended, beside a group without blocks."""
    transfers = {
        "flow": np.array([0, 1, 1, 0, 0, 1, 2], float),
        "group": np.array([0, 0, 0, 0, 0, 0, 1], float),
        "start_s": np.array([0.0, 0.1, 1.0, 1.0, 2.0, 2.0, 0.0]),
        "size_bytes": np.array([500.0] * 6 + [20_000.0]),
        "completion_s": np.array([0.2, 0.4, 0.3, 0.1, 0.2, math.nan, 5.0]),
        "empty_path_s": np.array([0.1] * 7),
    }
    found = by_size(transfers, ["servers", "web"], [0])
    assert found["size_class"] == ["100 B to 1 kB", "10 kB to 100 kB", "block"]
    assert found["group"].to_pylist() == ["servers", "web", "servers"]
    assert found["transfers_finished"].tolist() == [5, 1, 2]
    assert found["transfers_unfinished"].tolist() == [1, 0, 1]
    assert found["mean_completion_s"][2] == pytest.approx((0.5 + 0.3) / 2)
    assert found["max_completion_s"][2] == pytest.approx(0.5)
    assert math.isnan(found["mean_slowdown"][2])


def test_a_result_has_the_blocks_of_its_groups():
    """Incast: each block takes a timeout, and the table of completions says so."""
    settings = {"duration": "4 s", "users.servers.count": 40}
    result = tidegate.simulate(ROOT / "scenarios" / "incast.toml", set=settings)
    rows = {row["size_class"]: row for row in result.completions.to_pylist()}
    block = rows["block"]
    assert block["transfers_finished"] == 4
    assert 0.205 < block["mean_completion_s"] < 0.24
    assert rows["10 kB to 100 kB"]["transfers_finished"] == 160
    means = result.applications.to_pylist()
    assert {row["what"] for row in means} == {"blocks", "block_s", "longest_block_s"}
    assert means[1]["amount"] == pytest.approx(block["mean_completion_s"], rel=1e-9)


def test_sizes_and_arrivals_come_from_files(tmp_path):
    """The names are seen from the scenario; what cannot be read is reported at its key."""
    (tmp_path / "sizes.csv").write_text("size_bytes,share\n1000,0.5\n9000,1\n")
    (tmp_path / "times.csv").write_text("time_s\n0.1\n0.2\n0.4\n")
    file = tmp_path / "flows.toml"
    traffic = 'size = { kind = "cdf", points = "sizes.csv" }, arrivals = "times.csv"'
    file.write_text(
        'version = 1\nwarm_up = "0 s"\nduration = "2 s"\n[bottleneck]\nrate = "10 Mb/s"\n'
        f'[users.a]\ntraffic = {{ kind = "short-flows", {traffic} }}\n'
    )
    transfers = tidegate.simulate(file).transfers
    assert sorted(transfers["start_s"].to_pylist()) == [0.1, 0.2, 0.4]
    assert all(1000 <= size <= 9000 for size in transfers["size_bytes"].to_pylist())
    (tmp_path / "times.csv").unlink()
    with pytest.raises(tidegate.ScenarioError, match=r"users\.a\.traffic\.arrivals: cannot read"):
        tidegate.simulate(file)
