"""Videos of one's own: sizes of frames from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tidegate

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
version = 1
warm_up = "1 s"
duration = "4 s"
[bottleneck]
rate = "10 Mb/s"
delay = "5 ms"
buffer = "1000 packets"
[users.one]
start = "0 s"
traffic = { kind = "frames", frames = "film.csv" }
"""


def _written(folder: Path, film: str) -> Path:
    (folder / "film.csv").write_text(film, encoding="utf-8")
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    return scenario


def test_a_scenario_names_a_file_beside_it_and_keeps_what_is_in_it(tmp_path: Path) -> None:
    # 1,000 B and a header each 40 ms.
    scenario = tidegate.load_scenario(_written(tmp_path, "bytes\n1000\n"))
    (tmp_path / "film.csv").unlink()
    (rate,) = tidegate.simulate(scenario).flows["throughput_bps"].to_pylist()
    assert rate == pytest.approx(1040 * 8 * 25, rel=0.02)
    assert "1000" in scenario.to_toml()


def test_a_film_can_be_set_from_outside(tmp_path: Path) -> None:
    path = _written(tmp_path, "1000\n")
    other = tmp_path / "other.csv"
    other.write_text("2000\n", encoding="utf-8")
    result = tidegate.simulate(path, set={"users.one.traffic.frames": other})
    (rate,) = result.flows["throughput_bps"].to_pylist()
    assert rate == pytest.approx(2080 * 8 * 25, rel=0.02)


def test_all_errors_of_a_film_are_reported_together_with_line_and_column(tmp_path: Path) -> None:
    path = _written(tmp_path, "1000\n  ten\n-5\n70000\n")
    with pytest.raises(tidegate.ScenarioError) as reported:
        tidegate.load_scenario(path)
    for place in ("line 2, column 3", "line 3, column 1", "line 4, column 1"):
        assert place in str(reported.value)


@pytest.mark.parametrize("film", ["", "bytes\n", "# nothing\n"])
def test_a_video_without_frames_is_refused(tmp_path: Path, film: str) -> None:
    with pytest.raises(tidegate.ScenarioError, match="has no rows"):
        tidegate.load_scenario(_written(tmp_path, film))


def test_a_film_that_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    path = _written(tmp_path, "1000\n")
    (tmp_path / "film.csv").unlink()
    with pytest.raises(tidegate.ScenarioError, match=r"users\.one\.traffic\.frames.*film\.csv"):
        tidegate.load_scenario(path)
    (tmp_path / "film.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(tidegate.ScenarioError, match="not UTF-8"):
        tidegate.load_scenario(path)


def test_a_film_that_is_not_there_hides_no_other_error(tmp_path: Path) -> None:
    path = _written(tmp_path, "no size\n")
    with path.open("a", encoding="utf-8") as file:
        file.write('[users.two]\ntraffic = { kind = "frames", frames = "none.csv" }\nflws = 2\n')
    with pytest.raises(tidegate.ScenarioError) as reported:
        tidegate.load_scenario(path)
    keys = [issue.key for issue in reported.value.issues]
    assert keys == ["users.two.traffic.frames", "users.one.traffic.frames", "users.two.flws"]
